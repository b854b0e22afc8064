"""Levels of recursion: players that reason about players, and where a player stands."""
