"""From an experiment to cells, episodes, the store and results, for every kind of game.

May import core, statistics, models and strategies; a domain is reached through its contract.
"""
