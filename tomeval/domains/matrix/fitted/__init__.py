"""Regret against a fitted model of the other player."""
