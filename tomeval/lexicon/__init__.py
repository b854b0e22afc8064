"""Words for word games: lists, forms of words, and embeddings; knows no game.

``words.py`` has the lists and tells forms of a word, ``embeddings.py`` holds vectors on a grid;
``data/`` is what ships.
"""
