"""The arena: games of more than two, with talk, hidden roles and teams."""
