"""Games of a run taken together by who sits in a seat."""

from __future__ import annotations

from collections.abc import Callable

from tomeval.domains.decrypto.played import Played, pool
from tomeval.domains.decrypto.results import pairings
from tomeval.runs.results import Run

INTERVALS = "95 % intervals over games"


def by_player(run: Run, role: str, wanted: Callable[[Played], bool]) -> dict[str, Played]:
    """Return the games of every player in a seat, of pairings with the wanted data."""
    parts: dict[str, list[Played]] = {}
    for pairing in pairings(run):
        if pairing.played.games and wanted(pairing.played):
            parts.setdefault(pairing.names[role], []).append(pairing.played)
    return {name: pool(found) for name, found in parts.items()}
