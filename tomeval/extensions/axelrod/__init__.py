"""Players of the Axelrod library as partners of matrix games: ``axelrod:NAME``."""
