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


def test_a_handful_of_files_and_how_to_get_the_others(tomeval, run, tmp_path) -> None:
    code, out, err = tomeval("plot", run, "--out", tmp_path)
    assert code == 0
    assert names(out) == [
        "plane.png",
        "forest_regret.png",
        "forest_tom.png",
        "literal_against_functional.png",
        "decomposition.png",
        "captions.md",
    ]
    assert err.splitlines() == [
        "note: more figures: differences, regret, tom (--all, or --only NAME)",
    ]


def test_all_of_them(tomeval, run, tmp_path) -> None:
    code, out, err = tomeval("plot", run, "--out", tmp_path, "--all")
    assert code == 0
    assert {name.split("_")[0] for name in names(out)} == {
        *("forest", "differences", "regret", "tom", "literal"),
        *("plane.png", "decomposition.png", "captions.md"),
    }
    assert "not drawn" not in err


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


def test_signs_that_the_font_lacks_are_named_once(tomeval, tmp_path) -> None:
    import tomeval as package

    player = {"kind": "simulated", "name": "模型 b", "p": 1.0, "q": 1.0}
    experiment = {"games": ["RPS"], "subjects": [player], "episodes": 2, "horizon": 3}
    package.run(experiment, tmp_path / "run").close()
    code, _, errors = tomeval("plot", tmp_path / "run", "-o", tmp_path, "--only", "forest")
    assert code == 0
    lines = [line for line in errors.splitlines() if "模型" in line]
    assert [line.partition(";")[0] for line in lines] == [
        "note: the font lacks 模型 and draws boxes instead"
    ]
    assert "Glyph" not in errors
