"""Planted beliefs: what a player does with a prediction whose accuracy is set."""
