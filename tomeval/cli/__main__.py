"""``python -m tomeval.cli``."""

from tomeval.cli import main

main()
