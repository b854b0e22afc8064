"""The command that draws figures."""

from __future__ import annotations

import pytest

EXPERIMENT = {
    "games": ["RPS", "IPD"],
    "subjects": ["rmax", "random"],
    "horizon": 4,
    "episodes": 3,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    import tomeval

    folder = tmp_path_factory.mktemp("plotting") / "run"
    tomeval.run(EXPERIMENT, folder).close()
    return folder


def names(out: str) -> list[str]:
    return [line.rsplit("/", 1)[-1] for line in out.splitlines()]


def test_only_the_named_cells_and_measures(tomeval, run, tmp_path) -> None:
    some = ("--where", "game=IPD", "--where", "subject!=random", "--metric", "ToM %")
    code, out, _ = tomeval("plot", run, "--out", tmp_path, *some)
    assert (code, names(out)) == (0, ["forest_tom.png", "captions.md"])
    text = (tmp_path / "captions.md").read_text(encoding="utf-8")
    assert "rmax" in text
    assert "random" not in text
    assert "RPS" not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "forest_tim"), "did you mean 'forest_tom'?"),
        (("--only", "forest", "--all"), "--only and --all cannot be combined"),
        (("--where", "game=IPX"), "did you mean 'IPD'?"),
        (
            ("--metric", "tomm"),
            "unknown metric 'tomm' (did you mean 'tom'?); known: knows_percent, ",
        ),
        (("--metric", "regret", "--only", "tom"), "--metric delta_functional_per_step does"),
        (("--column", "wide"), "unknown column 'wide'; known: screen, single, double"),
        (("--format", "jpg"), "unknown format 'jpg'"),
    ],
)
def test_what_cannot_be_drawn_is_one_message(tomeval, run, tmp_path, options, message) -> None:
    code, out, err = tomeval("plot", run, "--out", tmp_path / "none", *options)
    assert (code, out) == (2, "")
    assert message in " ".join(err.split())
    assert not (tmp_path / "none").exists()
