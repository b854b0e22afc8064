"""Attacks on the instrument, one module each; `benchmarks/reliability.py` runs them."""
