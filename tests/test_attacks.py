"""Attacks at a small size: nothing may be lost."""

from __future__ import annotations

import random
import re
import signal

import pytest

pytest.importorskip("attacks")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "told"),
    [("HTTP 404", 5), ("429, Retry-After of ten days", 5), ("choices empty", 35)],
)
def test_faults_of_servers(tmp_path, case, told):
    from attacks.fault_kinds import KINDS
    from attacks.faults import play

    (row,) = play(1, 0, tmp_path, [kind for kind in KINDS if kind.case == case])
    assert (row.lost, row.note) == (0, "")
    assert row.told < told * 4  # the machine may be busy


@pytest.mark.slow
def test_caps_at_every_number_of_requests_at_a_time(tmp_path):
    from attacks.caps import AT_ONCE, play

    rows = play(0.02, 0, tmp_path)
    assert len(rows) == 2 * len(AT_ONCE)
    assert [row.note for row in rows] == [""] * len(rows)
    assert all(row.tried > 1 for row in rows)
    assert not [row.case for row in rows if not re.search(r"at a time$", row.case)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["served", "served, three shards in one folder"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_kills(tmp_path, kind, number):
    from attacks.kills import Killer, SlowServer

    with SlowServer() as server:
        tally = Killer(kind, server, tmp_path).kill(number, 2, random.Random(1))
    assert tally.kills >= 2
    assert tally.wrong == []


@pytest.mark.slow
def test_damage(tmp_path):
    from attacks.damage import KINDS, play

    rows = play(0.02, 1, tmp_path)
    assert {row.case.rpartition(": ")[0] for row in rows} == {*KINDS}
    assert [(row.case, row.note) for row in rows if row.lost] == []


@pytest.mark.slow
def test_disks(tmp_path):
    from attacks.disks import play

    rows = play(0.02, 1, tmp_path)
    assert [(row.case, row.note) for row in rows if row.lost] == []
    assert len(rows) >= 5
