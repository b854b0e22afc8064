"""What the decisions of measured seats were worth, and how right their answers to probes are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tomeval.core.outcomes import VALID
from tomeval.games.game import Action, ArenaGame, Stage
from tomeval.games.played import COUNTED, Decision, Probed, Worth
from tomeval.games.solver import Values


def value(game: ArenaGame[Any], view: Any, decision: Decision) -> None:
    """Record V* and Q* of a decision, and the regret of acting on its predictions."""
    values, worth = decision.values, Worth()
    decision.worth = worth
    said = {p.probe: p.answer.action for p in decision.probed if p.answer.outcome == VALID}
    worth.step_reply = game.step_reply(view, said) if said else None
    if values is None:
        return
    for probed in decision.probed:
        probed.attainable = values.attainable(probed.probe)
    worth.best = values.best
    if decision.verdict in COUNTED:
        worth.counted = values.regret(decision.action)
    if decision.verdict == "valid":
        worth.chosen, worth.regret = values.of(decision.action), worth.counted
    worth.reply = values.reply(said) if said else None
    if worth.reply is not None:
        worth.tom_regret = values.regret(worth.reply)


def weigh(game: ArenaGame[Any], decisions: Iterable[Decision], stage: Stage[Any]) -> None:
    """Note one-step payoffs, now that all actions of a stage are known."""
    for one in decisions:
        if one.worth is not None and one.verdict == "valid":
            reply = one.worth.step_reply
            one.worth.step = game.stepwise(stage.state, one.seat, stage.actions, reply)


def judge(
    game: ArenaGame[Any], decisions: Iterable[Decision], trail: Sequence[Stage[Any]], end: Any
) -> None:
    """Compare answers to probes with the truth, once a game is over."""
    for decision in decisions:
        if (at := decision.at) is None:
            continue
        view = game.view(trail[at].state, decision.seat)
        for probed in decision.probed:
            truth = game.truth(probed.probe, decision.seat, trail, at, end)
            if truth is not None:
                _judge(game, view, decision.values, probed, truth)


def _judge(
    game: ArenaGame[Any], view: Any, values: Values | None, probed: Probed, truth: Action
) -> None:
    probed.truth = truth
    if values is not None and (seen := values.observer(probed.probe)) is not None:
        probed.observer, probed.observer_brier = scored(seen, truth)
    if probed.answer.outcome == VALID:
        probed.hit = game.hit(probed.probe, probed.answer.action, truth)
        if probed.answer.probs is not None:
            given = _given(game, view, probed, probed.answer.probs)
            probed.probability, probed.brier = scored(given, truth)


def _given(
    game: ArenaGame[Any], view: Any, probed: Probed, probs: Sequence[float]
) -> Mapping[Action, float]:
    """Return the probabilities that were given, by what the labels mean."""
    form = game.form(view, probed.probe)
    given: dict[Action, float] = {}
    for label, p in zip(form.labels, probs, strict=True):
        what = game.read(view, probed.probe, form.items(label))
        given[what] = given.get(what, 0.0) + float(p)
    return given


def scored(given: Mapping[Action, float], truth: Action) -> tuple[float, float]:
    """Return the probability of the truth, and the Brier score of all probabilities."""
    hit = float(given.get(truth, 0.0))
    return hit, 1.0 - 2.0 * hit + sum(float(p) ** 2 for p in given.values())
