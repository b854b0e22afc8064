"""Which figures are drawn, what their files are called, and the captions beside them."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.plots import Options, chosen, draw, plot_run


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    subjects = ["rmax", {"kind": "simulated", "name": "half | <b> *x*", "p": 0.5}]
    experiment = {"games": ["RPS", "IPD"], "subjects": subjects, "horizon": 4, "episodes": 3}
    partners = ["single_action", "tit_for_tat"]
    with tomeval.run(
        experiment | {"partners": partners}, tmp_path_factory.mktemp("choosing") / "run"
    ) as run:
        yield run


FIRST = ["plane", "forest_regret", "forest_tom"]


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
    with pytest.raises(TomevalError, match="does not apply to the figure 'plane'"):
        draw(opened, ["plane"], options)


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
