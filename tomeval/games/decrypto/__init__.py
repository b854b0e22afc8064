"""Decrypto, the word game: rules, seats, players, probes and measures.

``domain.py`` is what the contract asks for; ``game.py`` has the rules and what each seat may see.
"""
