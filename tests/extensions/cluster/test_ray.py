"""What is decided about Ray without it: what goes together, places, reasons, what is sent."""

from __future__ import annotations

import pickle

import pytest

from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.extensions.cluster import RayEngine
from tomeval.games.codenames.clues import OWN, Bank
from tomeval.play.engines import make_engine
from tomeval.runs.experiment import load_experiment


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rey", None), "unknown engine 'rey' (did you mean 'ray'?)"),
        (("ray:", None), "--engine 'ray:': no address after the colon"),
        (("ray", None, 0), "--replicas must be at least 1, is 0"),
        (("ray", None, 1, 1.5), "between 0 and 1; is 1.5"),
        (("ray", None, 1, float("nan")), "is nan"),
        (("ray", 4, 2), "--workers cannot be combined with --engine"),
        ((None, None, 2), "--replicas needs --engine"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, said) -> None:
    name, workers, *values = arguments
    options = dict(zip(("replicas", "gpus_per_replica"), values, strict=False))
    with pytest.raises(TomevalError) as told:
        make_engine(name, workers, **options)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


class FakeRay:
    """Ray on a machine with 16 cores and 4 GPUs, or one that does not start."""

    def __init__(self, error=None):
        self.error, self.ended = error, False

    def is_initialized(self):
        return False

    def init(self, **_):
        if self.error is not None:
            raise self.error

    def cluster_resources(self):
        return {"CPU": 16.0, "GPU": 4.0}

    def shutdown(self):
        self.ended = True


def check(monkeypatch, ray, *arguments):
    monkeypatch.setattr("tomeval.extensions.cluster.need", lambda *_: ray)
    RayEngine(*arguments).check()


@pytest.mark.parametrize(("replicas", "gpus"), [(17, 0), (5, 1), (9, 0.5), (3, 2)])
def test_replicas_have_to_fit(monkeypatch, replicas, gpus) -> None:
    check(monkeypatch, FakeRay(), "", replicas - 1, gpus)
    with pytest.raises(TomevalError, match="Ray has 16 cores and 4 GPUs"):
        check(monkeypatch, ray := FakeRay(), "", replicas, gpus)
    assert ray.ended


@pytest.mark.parametrize(
    ("address", "error", "why"),
    [
        ("local", OSError("AF_UNIX path length\ncannot exceed 107"), "AF_UNIX path length cannot"),
        ("10.0.0.1", ValueError("Invalid address format: 10.0.0.1"), "Invalid address format"),
        ("127.0.0.1:1", None, "[Errno 111] Connection refused"),
        ("head:70000", None, ""),
        ("", ValueError(), "ValueError"),
    ],
)
def test_a_ray_that_does_not_start_is_one_line(monkeypatch, address, error, why) -> None:
    ray = FakeRay(error)
    with pytest.raises(TomevalError) as told:
        check(monkeypatch, ray, address, 1, 0)
    said = str(told.value)
    assert said.startswith(f"--engine ray:{address}: Ray cannot be used: {why}")
    assert "\n" not in said
    assert ray.ended


def test_cells_of_what_ships_can_be_sent() -> None:
    for name in ("quickstart", "decrypto_quickstart", "arena_quickstart"):
        cells = load_experiment(str(shipped("experiments") / f"{name}.toml")).cells
        there = pickle.loads(pickle.dumps(list(cells)))
        assert [cell.definition for cell in there] == [cell.definition for cell in cells], name


def test_a_bank_of_clues_is_the_same_at_the_other_end() -> None:
    bank = Bank(("ocean", "wooden", "sun", "stars"), OWN)
    board = ("wood", "star")
    before = list(bank.legal(board))
    assert list(pickle.loads(pickle.dumps(bank)).legal(board)) == before
    assert 0 < len(before) < 4
