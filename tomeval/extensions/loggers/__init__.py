"""A run that was played in Weights & Biases or MLflow: ``run --log NAME``."""
