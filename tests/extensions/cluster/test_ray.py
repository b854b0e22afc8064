"""What is decided about Ray without it: addresses, places, reasons, and what goes together."""

from __future__ import annotations

import pickle
import socket

import pytest

from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.extensions.cluster import ray_cluster
from tomeval.games.codenames.clues import OWN, Bank
from tomeval.play.engines import make_engine
from tomeval.runs.experiment import load_experiment


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rey", None), "unknown engine 'rey' (did you mean 'ray'?)"),
        (("ray:", None), "--engine 'ray:': no address after the colon"),
        (("ray", None, 0), "--replicas must be at least 1, is 0"),
        (("ray", None, 1, -1.0), "--gpus-per-replica must be a whole number or"),
        (("ray", None, 1, 1.5), "between 0 and 1; is 1.5"),
        (("ray", None, 1, float("nan")), "is nan"),
        (("ray", 4, 2), "--workers cannot be combined with --engine"),
        ((None, None, 2), "--replicas needs --engine"),
        ((None, None, None, 1.0), "--gpus-per-replica needs --engine"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, said) -> None:
    name, workers, *values = arguments
    options = dict(zip(("replicas", "gpus_per_replica"), values, strict=False))
    with pytest.raises(TomevalError) as told:
        make_engine(name, workers, **options)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "ray://head:10001", "head:port", ":6379", "a:70000"]
)
def test_an_address_in_another_form_is_refused(address) -> None:
    assert [ray_cluster.find(name) for name in ("", "auto", "local")] == [None, "auto", "local"]
    with pytest.raises(TomevalError, match="this is not HOST:PORT") as told:
        ray_cluster.find(address)
    assert address in str(told.value)


def test_where_nobody_listens_is_said_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(TomevalError, match="no server answers there"):
        ray_cluster.find(f"127.0.0.1:{port}")


def test_replicas_have_to_fit() -> None:
    resources = {"CPU": 16.0, "GPU": 4.0}
    for replicas, gpus in ((16, 0), (4, 1), (8, 0.5), (2, 2)):
        ray_cluster.check_room(resources, replicas, gpus)
    for replicas, gpus in ((17, 0), (5, 1), (9, 0.5), (3, 2)):
        with pytest.raises(TomevalError, match="Ray has 16 cores and 4 GPUs"):
            ray_cluster.check_room(resources, replicas, gpus)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (OSError("AF_UNIX path length\ncannot exceed 107 bytes"), "AF_UNIX path length cannot exc"),
        (NotADirectoryError(20, "Not a directory", "/x/ray"), "[Errno 20] Not a directory: '/x/r"),
        (ValueError(), "ValueError"),
        (RuntimeError("x" * 9999), "xxxx"),
    ],
)
def test_a_ray_that_does_not_start_is_one_line(error, why) -> None:
    class Broken:
        ended = False

        def init(self, **_):
            raise error

        def shutdown(self):
            self.ended = True

    ray = Broken()
    with pytest.raises(TomevalError) as told:
        ray_cluster.connect(ray, "local")
    said = str(told.value)
    assert said.startswith(f"--engine ray:local: Ray cannot be used: {why}")
    assert "\n" not in said
    assert len(said) < 400
    assert ray.ended


@pytest.mark.parametrize(
    "path", sorted(shipped("experiments").glob("*.toml")), ids=lambda p: p.stem
)
def test_cells_of_what_ships_can_be_sent(path) -> None:
    cells = load_experiment(str(path)).cells
    there = pickle.loads(pickle.dumps(list(cells)))
    assert [cell.definition for cell in there] == [cell.definition for cell in cells]


def test_a_bank_of_clues_is_the_same_at_the_other_end() -> None:
    bank = Bank(("ocean", "wooden", "sun", "stars"), OWN)
    board = ("wood", "star")
    before = list(bank.legal(board))
    assert list(pickle.loads(pickle.dumps(bank)).legal(board)) == before
    assert 0 < len(before) < 4
