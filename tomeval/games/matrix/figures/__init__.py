"""Figures that need the game: curves, literal against functional, decomposition."""
