"""``python -m tomeval.cli``."""

from tomeval.cli import main

if __name__ == "__main__":
    main()
