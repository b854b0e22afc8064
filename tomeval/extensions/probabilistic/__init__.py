"""Predictions graded as probabilities, and a player that states them to order."""
