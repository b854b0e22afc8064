"""``python -m tomeval``."""

from tomeval.cli import main

if __name__ == "__main__":
    main()
