"""Repeated matrix games: a subject against finite-state partners, with exact optima.

``domain.py`` is what the contract asks for; games, partners and optima know nothing of models.
"""
