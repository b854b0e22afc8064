"""Games that TextArena played elsewhere, in MindGames' shape, as runs of the arena."""
