"""What a model's activations hold of the partner when it acts, and whether that is used."""
