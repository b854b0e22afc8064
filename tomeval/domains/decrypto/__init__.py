"""Decrypto: a word game of two teams, its players, its theory-of-mind probes, and its measures."""
