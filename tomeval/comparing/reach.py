"""What a comparison's test can reach, and where its interval says something else than its p."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tomeval.comparing.result import Comparison

ALPHA = 0.05
_SHOWN = 3


def reach_notes(found: Comparison) -> list[str]:
    """Say in which scopes no test can reject, whatever the pairs show, and what would be enough."""
    tested = ~np.isnan(found.p_smallest)
    stuck = tested & ~found.identical & ~(found.p_smallest < ALPHA) & ~(found.p_holm < ALPHA)
    notes: dict[tuple[str, ...], list[str]] = {}
    for s, scope in enumerate(found.scopes):
        levels = np.flatnonzero(stuck[s].any(axis=1)).tolist()
        free = (tested[s] & ~stuck[s] & ~found.identical[s]).any(axis=1)
        for key, mine in _alike(found, stuck, s, levels).items():
            where = scope
            if free.any() or len(mine) < len(levels):  # not all that this scope compares
                where += f" ({_some(found.levels[k] for k in mine)})"
            notes.setdefault(key, []).append(where)
    return [f"{key[0]} in {_some(where, '; ')}: {key[1]}" for key, where in notes.items()]


def _alike(
    found: Comparison, stuck: NDArray[np.bool_], s: int, levels: Sequence[int]
) -> dict[tuple[str, str], list[int]]:
    """Return the levels of a scope that are stuck, by what is to be said of them."""
    said: dict[tuple[str, str], list[int]] = {}
    for k in levels:
        m = int(np.flatnonzero(stuck[s, k])[0])
        tests, pairs = int(found.family_size[s, k, m]), int(found.pairs[s, k])
        enough = found.enough((s, k, m))
        if enough is None:
            continue  # the number of resamples is what is too small, which has its own note
        if pairs < enough:
            lead = f"no test can reject at {100 * ALPHA:g} %"
            best = f"{pairs} pairs that all differ in one direction"
            least = min(1.0, tests * 2.0 ** (1 - pairs))
        else:
            lead = f"a test cannot reject at {100 * ALPHA:g} %"
            best = f"{int(found.differing[s, k, m])} of {pairs} pairs that differ"
            least = float(found.p_smallest[s, k, m])
        p = f"{best} give a p of {least:.2g} at the least"
        p += f" after correction for {tests} tests" if tests > 1 else ""
        said.setdefault((lead, f"{p}; {enough} pairs that differ could reject"), []).append(k)
    return said


def kind_notes(found: Comparison) -> list[str]:
    """Say how many intervals exclude 0 without a find, or include it with one, and why."""
    finds = found.p_holm < ALPHA
    excludes = (found.t_low > 0) | (found.t_high < 0)
    counted = ~np.isnan(found.p_holm) & ~np.isnan(found.t_low) & ~found.identical
    alone, without = int((counted & excludes & ~finds).sum()), int((finds & ~excludes).sum())
    if not alone + without:
        return []
    parts = [f"{alone} exclude 0 although the test finds nothing"] if alone else []
    parts += [f"{without} include 0 although the test finds a difference"] if without else []
    return [
        f"of {int(counted.sum())} intervals in all scopes {' and '.join(parts)}: an interval is "
        "Student's, of one difference alone; p and verdict are a permutation's, corrected for the "
        "family"
    ]


def _some(names: Iterable[str], separator: str = ", ") -> str:
    """Return the first names of a list, and how many more there are."""
    listed = list(names)
    more = len(listed) - _SHOWN
    return separator.join(listed[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
