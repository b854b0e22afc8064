"""Figures that need the game: curves, the plane of scores, decomposition."""
