"""Figures that need the game: curves by step, and the plane of scores."""
