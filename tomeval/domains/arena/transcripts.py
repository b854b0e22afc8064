"""A game for readers: who sat where, what happened and who knew of it, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tomeval.domains.arena.game import Event
from tomeval.domains.arena.results import ArenaRunCell
from tomeval.domains.arena.retelling import MOOT, Decided, Happened, Retold, ToldProbe, retell
from tomeval.domains.arena.solver import Bound
from tomeval.domains.arena.storing import calls_by_step
from tomeval.runs.capabilities import Line
from tomeval.runs.results import Run

VERDICTS = {
    "default": "not its own: another action counts in place of the refused one",
    "invalid": "refused for good, so that the game could not go on",
    "fatal": "refused for good, which cost it the game or its place in it",
    MOOT: "refused for good, at no cost: the game had ended with another player's error",
}
"""What verdicts other than ``valid`` mean."""


def game_lines(run: Run, cell: ArenaRunCell, episode: int) -> Iterator[Line]:
    """Yield a game of a run: players, decisions with what they cost, events, and the ending.

    Seats that say nothing one after the other share a line, unless something else is to be told of
    such a decision.
    """
    store = run.store
    told = retell(store, cell, episode)
    yield Line(0, f"{cell.name}; seed {cell.seed}, game {episode}, deal {told.deal}: {told.status}")
    for seat in range(len(told.names)):
        yield Line(0, _seat_line(told, seat))
    called = set(calls_by_step(store, cell.number, episode))
    events: dict[int, list[Happened]] = {}
    for one in told.happened:
        events.setdefault(one.step, []).append(one)
    yield from (Line(0, _event(told, one)) for one in events.pop(0, ()))
    silent: list[Decided] = []
    now = 0
    for row in told.decided:
        if row.round != now:
            yield from _silence(told, silent)
            now = row.round
            yield Line(row.step, f"{cell.table.game.round_word.capitalize()} {now}", heading=True)
        mine = events.get(row.step, [])
        notes = list(_notes(told, row))
        if row.silent and len(mine) == 1 and not notes and row.step not in called:
            silent.append(row)
            continue
        yield from _silence(told, silent)
        shared = any(events.get(other.step) for other in told.decided if other.stage == row.stage)
        if not row.own and (notes or row.step in called or not shared):
            yield Line(row.step, f"{_who(told, row.seat)}, {_kind(row)}: {row.action or 'nothing'}")
        yield from (Line(row.step, _event(told, one)) for one in mine if one.own)
        yield from (Line(row.step, note) for note in notes)
        yield from (Line(row.step, _event(told, one)) for one in mine if not one.own)
    yield from _silence(told, silent)
    yield from (Line(-1, line) for line in _ending(cell, told))


def _seat_line(told: Retold, seat: int) -> str:
    """Say who sits in a seat."""
    role = f", {told.roles[seat]}" if len(set(told.roles)) > 1 else ""
    measured = ", measured" if seat == told.measured else ""
    return f"{told.names[seat]}: {told.players[seat]}{role}{measured}"


def _silence(told: Retold, rows: list[Decided]) -> Iterator[Line]:
    """Yield one line for seats that said nothing, and forget them."""
    if rows:
        names = list(dict.fromkeys(told.names[row.seat] for row in rows))
        text = f"{', '.join(names)} say{'s' if len(names) == 1 else ''} nothing"
        every = len(names) == len(told.names) > 1
        yield Line(rows[-1].step, "nobody says anything" if every else text)
        rows.clear()


def _who(told: Retold, seat: int) -> str:
    return f"{told.names[seat]} ({told.players[seat]})"


def _kind(row: Decided) -> str:
    return row.kind.replace("_", " ")


def _event(told: Retold, one: Happened) -> str:
    """Return an event, with who knew of it in front if not everybody did."""
    known = known_to(told.names, one.event)
    return f"[{known}] {one.text}" if known else one.text


def known_to(names: Sequence[str], event: Event) -> str:
    """Say who knows of an event; empty: everybody does."""
    if event.to is None:
        return ""
    if event.to == (event.seat,):
        return "private"
    return f"only {', '.join(names[seat] for seat in event.to)}" if event.to else "hidden"


def _notes(told: Retold, row: Decided) -> Iterator[str]:
    """Yield what went wrong with a decision, its worth, what was stated and what predicted."""
    yield from (f"[refused attempt, {error} error: {why}]" for error, why in row.tries)
    if row.verdict in VERDICTS:
        yield f"[{VERDICTS[row.verdict]}]"
    regret = row.worth["regret"]
    if any(row.worth.values()) and not (row.silent and regret == (0.0, 0.0)):
        yield f"[{'; '.join(_worth(row))}]"
    for question, answer, right in row.stated:
        yield f"[told, {'rightly' if right else 'wrongly'}: {question}: {answer}]"
    yield from (f"[predicts {probe}]" for probe in map(_probe, row.probes))


def _worth(row: Decided) -> Iterator[str]:
    """Yield V*, Q* and regret, each as a number or with its bounds, and that of the reply."""
    shown = (("best", "V*"), ("chosen", "Q*"), ("regret", "regret"))
    known = ((heading, row.worth[name]) for name, heading in shown)
    yield ", ".join(f"{heading} {bound_text(value)}" for heading, value in known if value)
    value = row.worth["tom_regret"]
    if value is not None:
        yield f"best reply to its predictions: {row.reply}, regret {bound_text(value)}"


def bound_text(value: Bound) -> str:
    """Return a value, or the two ends of what is known of it.

    Examples
    --------
    >>> bound_text(Bound(0.5, 0.5)), bound_text(Bound(-1 / 3, 1.0))
    ('0.5', '-0.3333 to 1')
    """
    low = f"{value.low:.4g}"
    return low if value.exact else f"{low} to {value.high:.4g}"


def _probe(probe: ToldProbe) -> str:
    """Return a prediction, the truth, and what the exact observer knew."""
    parts = [f"{probe.question}: {probe.said}"]
    if probe.truth:
        parts.append("right" if probe.hit == 1 else f"true: {probe.truth}")
        if probe.hit is not None and 0 < probe.hit < 1:
            parts.append(f"{100 * probe.hit:.0f} % right")
    if probe.probability is not None:
        parts.append(f"gave it {probe.probability:.3g}")
    return "; ".join(parts) + _observed(probe)


def _observed(probe: ToldProbe) -> str:
    """Say what an exact observer gave to the truth, and what it could attain."""
    if probe.observer == 1 or (probe.observer is None and probe.attainable == 1):
        return " (certain to an exact observer)"
    said = [] if probe.observer is None else [f"gives it {probe.observer:.3g}"]
    if probe.attainable is not None:
        said.append(f"attains {100 * probe.attainable:.0f} %")
    return f" (an exact observer {', '.join(said)})" if said else ""


def _ending(cell: ArenaRunCell, told: Retold) -> Iterator[str]:
    """Yield how the game ended, and what every seat got."""
    if not told.ending:
        return
    meaning = cell.table.kind.endings.get(told.ending, "")
    yield f"ending: {told.ending.replace('_', ' ')}" + (f" ({meaning})" if meaning else "")
    width = max(len(_who(told, seat)) for seat in range(len(told.names)))
    for seat, (reward, won) in enumerate(zip(told.rewards, told.wins, strict=True)):
        share = f"  {_share(won)}" if won else ""
        yield f"{_who(told, seat).ljust(width)}  reward {reward:g}{share}"


def _share(won: float) -> str:
    return "wins" if won == 1 else f"{won:.3g} of the win"
