"""Figures of Decrypto: pairings as heat maps, turns as lines, probes as points."""

INTERVALS = "95 % intervals over games"
