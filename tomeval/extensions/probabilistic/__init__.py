"""Predictions graded as probabilities."""
