"""Models on this machine, through transformers."""
