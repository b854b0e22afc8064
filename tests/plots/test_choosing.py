"""Which figures are drawn, what their files are called, and the captions beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from layout import NEED_MORE
from toy_domain import TOY

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.plots import Options, chosen, draw, figures_of, plot_run
from tomeval.runs.capabilities import Show
from tomeval.runs.domain import DOMAINS, get_domain, register_domain


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    subjects = ["rmax", {"kind": "simulated", "name": "half | <b> *x*", "p": 0.5}]
    experiment = {"games": ["RPS", "IPD"], "subjects": subjects, "horizon": 4, "episodes": 3}
    partners = ["single_action", "tit_for_tat"]
    with tomeval.run(
        experiment | {"partners": partners}, tmp_path_factory.mktemp("choosing") / "run"
    ) as run:
        yield run


FIRST = ["plane", "forest_regret", "forest_tom", "literal_against_functional", "decomposition"]


def test_first_pictures_of_matrix_games_and_their_captions(opened, tmp_path) -> None:
    files = [path.name for path in plot_run(opened, tmp_path)]
    assert files == [*(f"{stem}.png" for stem in FIRST), "captions.md"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_first_figures_of_every_domain_are_few_and_its_own(domain) -> None:
    found = get_domain(domain).show
    known = ["forest", "differences", *found.figures]
    assert "forest" in found.first_figures[:2]
    for name in found.first_figures:
        assert any(name == one or name.startswith(f"{one}_") for one in known)
    plain = [name for name in found.first_figures if name not in NEED_MORE]
    assert 1 < len(plain) < 5  # those that extensions add stand behind them
    assert plain == list(found.first_figures[: len(plain)])


@pytest.mark.slow
def test_names_of_files_are_names_of_only(opened, tmp_path) -> None:
    every = draw(opened, every=True)
    drawn = {drawing.name for drawing in every}
    assert {"forest", "regret", "decomposition"} <= drawn <= {*figures_of(opened)}
    for name in drawn:  # others need data that this run has not
        drawings = draw(opened, [name])
        assert all(d.stem == name or d.stem.startswith(f"{name}_") for d in drawings)
        if name in [d.stem for d in every]:
            assert [d.stem for d in drawings] == [name]
    for drawing in every:
        if drawing.stem != drawing.name:
            assert [d.stem for d in draw(opened, [drawing.stem])] == [drawing.stem]
    assert [d.stem for d in draw(opened, ["forest_tom", "decomposition"])] == [
        "forest_tom",
        "decomposition",
    ]
    assert len(draw(opened, ["tom_RPS"])) == 2  # the beginning of two files


def test_a_wrong_name_of_a_file_lists_the_right_ones(opened) -> None:
    with pytest.raises(TomevalError, match=r"'forest_tim' \(did you mean 'forest_tom'\?\)"):
        draw(opened, ["forest_tim"])
    with pytest.raises(TomevalError, match=r"did you mean 'decomposition'"):
        draw(opened, ["decompositoin"])
    with pytest.raises(TomevalError, match="--only and --all cannot be combined"):
        chosen(opened, ["forest"], every=True)


def test_metrics_choose_what_forests_and_differences_show(opened) -> None:
    options = Options(metrics=("reward_per_step", "self_consistency_percent"))
    assert chosen(opened, options=options) == ["forest"]
    assert chosen(opened, options=options, every=True) == ["forest", "differences"]
    found = draw(opened, ["forest", "differences"], options)
    assert [drawing.stem for drawing in found] == [
        "forest_reward",
        "forest_self_consistency",
        "differences_by_subject_reward",
        "differences_by_subject_self_consistency",
    ]
    means = [
        line.get_xdata()[0]
        for axes in found[0].figure.axes
        for line in axes.lines
        if line.get_marker() in ("o", "D")
    ]
    by_task = sorted(opened.rows(), key=lambda row: row["partners"])
    assert means == pytest.approx([row["reward_per_step"] for row in by_task])
    with pytest.raises(TomevalError, match="does not apply to the figure 'decomposition'"):
        draw(opened, ["decomposition"], options)


def test_tasks_that_do_not_fit_one_picture_have_one_for_each_set_of_partners(tmp_path) -> None:
    games = ["RPS", "IBS", "IPD"]
    experiment = {"games": games, "partners": ["single_action", "tit_for_tat", "always(0)"]}
    experiment |= {"subjects": "random", "horizon": 3, "episodes": 2}
    with tomeval.run(experiment, tmp_path / "run") as run:
        stems = [drawing.stem for drawing in draw(run, ["forest_tom"])]
        assert stems == [f"forest_tom_{p}_3" for p in ("single_action", "tit_for_tat", "always-0-")]
        with tomeval.Run(run.folder, where=["partners=tit_for_tat"]) as some:
            (one,) = draw(some, ["forest_tom"])
    assert one.stem == "forest_tom"
    assert [axes.get_title() for axes in one.figure.axes] == games


def test_captions_say_what_every_file_shows(opened, tmp_path) -> None:
    plot_run(opened, tmp_path, formats=["png", "pdf"])
    text = (tmp_path / "captions.md").read_text(encoding="utf-8")
    sections = text.split("\n## ")[1:]
    assert [section.split("\n")[0] for section in sections] == FIRST
    for stem, section, drawing in zip(FIRST, sections, draw(opened), strict=True):
        assert f"Files: `{stem}.png`, `{stem}.pdf`" in section
        assert f"]({stem}.png)" in section
        assert "3 complete episodes each" in section
        assert "single\\_action and tit\\_for\\_tat" in section or "tit_for_tat" in section
        assert drawing.caption.split(":")[0].split(",")[0][:20] in section
    assert "half \\| \\<b\\> \\*x\\*" in text
    assert "<b>" not in text


def test_captions_of_earlier_pictures_stay_as_long_as_these(opened, tmp_path) -> None:
    plot_run(opened, tmp_path)
    plot_run(opened, tmp_path, only=["tom"], formats=["svg"])
    headings = _headings(tmp_path)
    assert headings[: len(FIRST)] == FIRST
    assert len(headings) == 9
    (tmp_path / "decomposition.png").unlink()
    plot_run(opened, tmp_path, only=["forest_tom"])
    assert _headings(tmp_path) == [stem for stem in headings if stem != "decomposition"]


def _headings(folder):
    text = (folder / "captions.md").read_text(encoding="utf-8")
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def test_progress_names_every_figure_before_it_is_drawn(opened, tmp_path) -> None:
    told = []

    def note(name, number, of) -> None:
        told.append((name, number, of, len(list(tmp_path.iterdir())) if told else 0))

    plot_run(opened, tmp_path, on_figure=note)
    assert told == [
        ("plane", 1, 4, 0),
        ("forest", 2, 4, 1),
        ("literal_against_functional", 3, 4, 3),
        ("decomposition", 4, 4, 4),
    ]


def test_a_domain_of_ones_own_has_forests_unless_it_says_more(tmp_path) -> None:
    experiment = {"domain": "toy", "guessers": ["one"], "size": [3], "episodes": 3}
    register_domain(TOY)
    with tomeval.run(experiment, tmp_path / "run") as run:
        assert chosen(run) == ["forest"]
        run.domain = replace(TOY, show=Show(first_figures=("differences",)))
        with pytest.raises(TomevalError, match="supports none of the figures differences; --all"):
            plot_run(run, tmp_path / "plots")
