"""Eve's belief probes, and how often Alice predicts her listeners rightly."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tomeval.domains.decrypto.figures.groups import INTERVALS, by_player
from tomeval.domains.decrypto.measures import turn_share
from tomeval.domains.decrypto.played import NONE, Played
from tomeval.plots.drawing import DEFAULT, Drawing, Options
from tomeval.plots.style import COLOURS, add_legend, fold, in_style, new_figure, point_style
from tomeval.runs.results import Run
from tomeval.statistics.shares import Share

BELIEFS = {
    "weak_rc": "weak RC",
    "strong_rc": "strong RC",
    "weak_fb": "weak FB",
    "strong_fb": "strong FB",
    "consistent": "B = C",
}
PREDICTIONS = {
    "tom_eve": "Alice predicts Eve",
    "tom_eve_reminded": "Alice predicts Eve, reminded",
    "tom_bob": "Alice predicts Bob",
}


def probe_rates(run: Run, options: Options = DEFAULT) -> list[Drawing]:
    """Draw Eve's belief probes and the accuracy of Alice's predictions, a mark per player."""
    found = []
    eves = by_player(run, "interceptor", lambda p: bool(p.beliefs))
    if eves:
        title = "Eve's beliefs about her own and another's beliefs"
        caption = (
            f"{title}: share of the turns on which she does not know the keywords; {INTERVALS}. "
            "RC: representational change, FB: false belief; weak: the answer is not the true "
            "keywords, strong: it is her own earlier answer; B = C: she answers for herself and "
            "for another alike."
        )
        found.append(_drawing("probes_beliefs", eves, BELIEFS, title, caption, options))
    alices = by_player(
        run, "encoder", lambda p: any((codes != NONE).any() for codes in p.predicted.values())
    )
    if alices:
        title = "Accuracy of Alice's predictions (ToM %)"
        caption = f"{title}, over turns; {INTERVALS}."
        found.append(_drawing("probes_predictions", alices, PREDICTIONS, title, caption, options))
    return found


@in_style
def _drawing(
    stem: str,
    players: Mapping[str, Played],
    words: Mapping[str, str],
    title: str,
    caption: str,
    options: Options,
) -> Drawing:
    """Draw shares of turns with intervals: a group of points per measure."""
    shares = {
        name: {measure: turn_share(played, measure) for measure in words}
        for name, played in players.items()
    }
    shown = [m for m in words if any(found[m].items for found in shares.values())]
    width = min(options.width, 6.9 if len(shown) > 3 else 4.6)
    figure, (axis,) = new_figure(width, 2.5)
    step = 0.7 / max(len(shares), 1)
    told = []
    for index, (name, found) in enumerate(shares.items()):
        offset = (index - (len(shares) - 1) / 2) * step
        for place, measure in enumerate(shown):
            share: Share = found[measure]
            if math.isfinite(share.low):
                ends = [100 * share.low, 100 * share.high]
                colour = COLOURS[index % len(COLOURS)]
                axis.plot([place + offset] * 2, ends, color=colour, lw=1.4)
            label = name if place == 0 else None
            axis.plot([place + offset], [100 * share.share], label=label, **point_style(index))
            told.append(f"{name}, {words[measure]}: {100 * share.share:.0f} % of {share.items}")
    axis.set_xticks(range(len(shown)), [fold(words[m], options.fits(10, 16)) for m in shown])
    axis.set_ylim(-3, 103)
    axis.set_ylabel("share of turns (%)")
    axis.set_title(fold(title, options.fits(50, 100)))
    add_legend(figure, axis.get_legend_handles_labels()[0])
    return Drawing("probes", stem, figure, title, caption, "; ".join(told))
