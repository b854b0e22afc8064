"""Wording: how far measures move where the same questions are asked in other words."""
