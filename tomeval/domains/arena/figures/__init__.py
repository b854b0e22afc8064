"""Figures of the arena: ratings, errors, literal against functional by role, belief over days."""

INTERVALS = "95 % intervals take games on one deal as one unit"


def size(index: int, count: int) -> float:
    """Return the size of the index-th of some marks: later ones are smaller.

    So marks that lie on each other can be seen.
    """
    return 5.5 + 3.5 * (1 - index / max(count - 1, 1))
