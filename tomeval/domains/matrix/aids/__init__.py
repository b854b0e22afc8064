"""The ladder of aids: which link between knowing and doing fails."""
