"""The Hugging Face Hub: the tables of a run as a dataset."""
