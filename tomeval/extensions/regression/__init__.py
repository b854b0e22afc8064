"""Regression on single steps: who learns faster, and what a step's regret depends on."""
