"""Ratings: players by one likelihood over their games, where a domain has games between them."""
