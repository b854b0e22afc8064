"""Values of 29 settings, as solvers of their own said before they were one."""

import json

import pytest
from games.arena.codenames.known import FILE, settings, values_of

KNOWN = json.loads(FILE.read_text(encoding="utf-8"))
SETTINGS = settings()


@pytest.mark.parametrize("name", KNOWN)
def test_values_are_those_of_solvers_that_are_gone(name, tmp_path):
    found = json.loads(json.dumps(values_of(*SETTINGS[name], tmp_path)))
    assert len(found) == len(KNOWN[name])
    for now, before in zip(found, KNOWN[name], strict=True):
        assert (now["guess"], now["reply"]) == (before["guess"], before["reply"])
        for key in ("best", "q", "regret", "attainable"):
            assert flat(now[key]) == pytest.approx(flat(before[key]), abs=1e-12)


def flat(values):
    """Return numbers in lists as one list; None is no number."""
    if isinstance(values, list):
        return [number for one in values for number in flat(one)]
    return [float("inf") if values is None else values]
