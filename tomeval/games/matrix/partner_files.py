"""Read partner files: explicit tables, and compact rules that expand for any game."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, unknown
from tomeval.core.resources import read_toml, shipped
from tomeval.games.matrix.games import MatrixGame, check_ending, check_keys, check_unit, mirrored
from tomeval.games.matrix.partners import Partner, reachable
from tomeval.games.matrix.responses import MOST_ORDER, order_replies

_Table = tuple[NDArray[np.float64], NDArray[np.int64], list[str]]
MAX_STATES = 100_000
"""States of a partner; more would fill the memory of whoever opens the file."""

_KEYS = ("title", "source", "actions", "parameters", "start", "states", "rule")


def partner_names() -> list[str]:
    """Return the names of the shipped partners, sorted."""
    return sorted(path.stem for path in shipped("partners").glob("*.toml"))


def partner_file(name: str, base: Path | None = None) -> Path:
    """Return the file of a shipped partner, or of a path that ends in ``.toml``."""
    if name.endswith(".toml"):
        return (base or Path()) / name
    path = shipped("partners") / f"{name}.toml"
    if name not in partner_names():
        check_ending(name, "partner")
        raise unknown("partner", name, partner_names())
    return path


def build_partner(
    path: Path, game: MatrixGame, name: str, args: list[Any], options: dict[str, Any]
) -> Partner:
    """Build the partner that a file describes, for one game.

    Parameters
    ----------
    path : Path
        The TOML file: ``title``, ``source``, optional ``actions`` ``[n, m]`` that it fits, optional
        ``parameters`` with defaults, and either ``start`` + ``states`` (an explicit table) or
        ``rule`` (a compact form).
    name : str
        What the built partner is called.
    args, options
        Parameter values by position (the file's order; a list parameter takes the rest) and name.

    Raises
    ------
    TomevalError
        Malformed file, unknown key or parameter, a game the partner does not fit, a bad table.
    """
    data = read_toml(path)
    where = str(path) if path.parent != shipped("partners") else f"partner {name!r}"
    check_keys(where, data, _KEYS)
    _check_common(where, data, game)
    if ("rule" in data) == ("states" in data):
        raise TomevalError(f"{where}: needs either 'states' (a table) or 'rule' (a compact form)")
    parameters = _bind(where, data.get("parameters", {}), args, options)
    if "rule" in data:
        rule = _fill(where, data["rule"], parameters)
        emissions, next_state, states = _expand(where, rule, game)
        start = 0
    else:
        table = _fill(where, data["states"], parameters)
        emissions, next_state, states = _explicit(where, table, game)
        if data.get("start") not in states:
            raise unknown("state", data.get("start"), states, f"{where}: start")
        start = states.index(data["start"])
    try:
        about = (data.get("title", name), data.get("source", ""))
        return Partner(name, emissions, next_state, start, tuple(states), *about)
    except TomevalError as error:
        file = "" if path.parent == shipped("partners") else f"{path}: "
        raise TomevalError(f"{file}{error}") from None


def _check_common(where: str, data: dict[str, Any], game: MatrixGame) -> None:
    """Raise unless the common keys hold what they should, and ``actions`` admits `game`."""
    for key in ("title", "source"):
        if not isinstance(data.get(key, ""), str):
            raise TomevalError(f"{where}: {key} must be text, is {data[key]!r}")
    actions = data.get("actions", [game.n, game.m])
    if not isinstance(actions, list) or len(actions) != 2:
        raise TomevalError(f"{where}: actions must be two numbers [own, partner], is {actions!r}")
    if actions != [game.n, game.m]:
        raise TomevalError(
            f"{where}: does not fit game {game.name} with {game.n} x {game.m} actions; "
            f"fits games with {' x '.join(str(k) for k in actions)}"
        )


def _bind(
    where: str, defaults: dict[str, Any], args: list[Any], options: dict[str, Any]
) -> dict[str, Any]:
    """Return parameter values from defaults, positional and named arguments."""
    if not isinstance(defaults, dict):
        raise TomevalError(f"{where}: parameters must be a table of names and defaults")
    values = dict(defaults)
    names = list(defaults)
    if names and isinstance(defaults[names[-1]], list) and len(args) >= len(names):
        args = [*args[: len(names) - 1], args[len(names) - 1 :]]
    if len(args) > len(names):
        raise TomevalError(f"{where}: takes {len(names)} parameters, got {len(args)}")
    given = dict(zip(names, args, strict=False))
    for key, value in options.items():
        if key not in defaults:
            raise unknown("parameter", key, names, where)
        if key in given:
            raise TomevalError(f"{where}: parameter {key!r} is given twice")
        given[key] = value
    return values | given


def _fill(where: str, value: Any, parameters: dict[str, Any]) -> Any:
    """Replace every ``"$name"`` in a nested TOML value by that parameter's value."""
    if isinstance(value, str) and value.startswith("$"):
        if value[1:] not in parameters:
            raise unknown("parameter", value[1:], parameters, where)
        return parameters[value[1:]]
    if isinstance(value, list):
        return [_fill(where, item, parameters) for item in value]
    if isinstance(value, dict):
        return {key: _fill(where, item, parameters) for key, item in value.items()}
    return value


def _action(where: str, value: Any, count: int) -> int:
    """Check an action index."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise TomevalError(f"{where}: {value!r} is not an action index 0..{count - 1}")
    return value


def _emission(where: str, play: Any, m: int) -> NDArray[np.float64]:
    """Read ``play``: an action index, or m probabilities; one may be "rest": 1 minus the others."""
    if not isinstance(play, list):
        point: NDArray[np.float64] = np.eye(m)[_action(f"{where}: play", play, m)]
        return point
    if len(play) != m:
        raise TomevalError(f"{where}: play has {len(play)} probabilities, the game {m} actions")
    given = [check_unit(f"{where}: play", p) for p in play if p != "rest"]
    if len(given) == m - 1:
        rest = check_unit(f"{where}: play: the rest", 1 - math.fsum(given))
        play = [rest if p == "rest" else p for p in play]
    return np.array([check_unit(f"{where}: play", p) for p in play])


def _explicit(where: str, table: Any, game: MatrixGame) -> _Table:
    """Read ``states``: for each a ``play`` and a ``next``."""
    if not isinstance(table, dict) or not table:
        raise TomevalError(f"{where}: states must be a table with at least one state")
    _check_size(where, len(table))
    numbers = {state: number for number, state in enumerate(table)}
    emissions, following = [], []
    for state, row in table.items():
        here = f"{where}: states.{state}"
        if not isinstance(row, dict):
            raise TomevalError(f"{here} must be a table with 'play' and 'next'")
        check_keys(here, row, ("play", "next"), ("play", "next"))
        emissions.append(_emission(here, row["play"], game.m))
        following.append(_next(here, row["next"], numbers, game))
    return np.array(emissions), np.array(following), list(table)


def _check_size(where: str, count: int) -> None:
    if count > MAX_STATES:
        raise TomevalError(f"{where}: has {count:,} states, at most {MAX_STATES:,} can be read")


def _next(where: str, value: Any, states: dict[str, int], game: MatrixGame) -> list[list[int]]:
    """Read ``next``: one state, one per subject's action, or one per joint action."""
    by_own = value if isinstance(value, list) else [value] * game.n
    rows = [item if isinstance(item, list) else [item] * game.m for item in by_own]
    if len(rows) != game.n or any(len(row) != game.m for row in rows):
        raise TomevalError(
            f"{where}: incomplete, next needs a state, one for each of the subject's {game.n} "
            f"actions, or one for each of them and the partner's {game.m}"
        )
    for name in (name for row in rows for name in row):
        if not isinstance(name, str) or name not in states:
            raise unknown("state", name, states, f"{where}: next")
    return [[states[name] for name in row] for row in rows]


def _expand(where: str, rule: Any, game: MatrixGame) -> _Table:
    """Expand a compact rule for `game`; states that no play reaches are dropped."""
    kind = rule.get("kind") if isinstance(rule, dict) else rule
    if not isinstance(rule, dict) or not isinstance(kind, str) or kind not in _RULES:
        raise unknown("rule", kind, _RULES, f"{where}: rule.kind")
    expand, keys = _RULES[kind]
    check_keys(f"{where}: rule", rule, ("kind", *keys))
    emissions, next_state, states = expand(f"{where}: rule", rule, game)
    keep = np.flatnonzero(reachable(emissions, next_state, 0))
    renumber = np.zeros(len(states), dtype=np.int64)
    renumber[keep] = np.arange(len(keep))
    return emissions[keep], renumber[next_state[keep]], [states[i] for i in keep]


def _constant_next(size: int, game: MatrixGame, targets: Any) -> NDArray[np.int64]:
    """Return next states that do not depend on what was played: `targets` by state."""
    shape = (size, game.n, game.m)
    return np.broadcast_to(np.asarray(targets, dtype=np.int64)[:, None, None], shape).copy()


def _sequence(where: str, rule: dict[str, Any], game: MatrixGame) -> _Table:
    """Play a fixed list of actions over and over."""
    actions = rule.get("actions", "all")
    actions = list(range(game.m)) if actions == "all" else actions
    if not isinstance(actions, list) or not actions:
        raise TomevalError(f"{where}: actions must be a list of action indices, or 'all'")
    _check_size(where, len(actions))
    emissions = np.eye(game.m)[[_action(where, k, game.m) for k in actions]]
    size = len(actions)
    following = (np.arange(size) + 1) % size
    return emissions, _constant_next(size, game, following), [f"turn {i + 1}" for i in range(size)]


def _mixture(where: str, rule: dict[str, Any], game: MatrixGame) -> _Table:
    """Draw every action afresh from fixed probabilities."""
    probabilities = rule.get("probabilities", "uniform")
    if probabilities == "uniform":
        row = np.full(game.m, 1 / game.m)
    else:
        if not isinstance(probabilities, list) or not probabilities:
            raise TomevalError(f"{where}: needs {game.m} probabilities, for example (0.5, 0.5)")
        row = _emission(where, probabilities, game.m)
    return row[None, :], _constant_next(1, game, [0]), ["always"]


def _switch(where: str, rule: dict[str, Any], game: MatrixGame) -> _Table:
    """Play one action, and another one from a given step on (steps count from 1)."""
    first = _action(f"{where}: first", rule.get("first"), game.m)
    second = _action(f"{where}: second", rule.get("second"), game.m)
    step = rule.get("step")
    if isinstance(step, bool) or not isinstance(step, int) or not 2 <= step <= MAX_STATES:
        raise TomevalError(f"{where}: step {step!r} must be a whole number from 2 to {MAX_STATES}")
    emissions = np.eye(game.m)[[first] * (step - 1) + [second]]
    targets = np.minimum(np.arange(step) + 1, step - 1)
    states = [f"step {i + 1}" for i in range(step - 1)] + ["after"]
    return emissions, _constant_next(step, game, targets), states


def _react(where: str, rule: dict[str, Any], game: MatrixGame) -> _Table:
    """Answer the subject's last action by copying it or by a best response to it.

    ``forgive`` is the chance to play action 0 where the answer is another one; ``noise`` the chance
    to play, instead of what is meant, one of the other actions (each equally likely).
    """
    kinds = ("copy", "best_response")
    by_game = rule.get("response_in", {})
    if not isinstance(by_game, dict):
        raise TomevalError(f"{where}: response_in must be a table of games, is {by_game!r}")
    response = by_game.get(game.name, rule.get("response", "copy"))
    if response not in kinds:
        raise unknown("response", response, kinds, where)
    if response == "copy" and game.n != game.m:
        raise TomevalError(
            f"{where}: cannot copy in game {game.name}, the sides have {game.n} and {game.m} "
            "actions; use best_responder"
        )
    meant = [_action(f"{where}: first", rule.get("first", 0), game.m)]
    for a in range(game.n):
        meant.append(a if response == "copy" else int(np.argmax(game.partner[a])))
    emissions = np.eye(game.m)[meant]
    forgive = check_unit(f"{where}: forgive", rule.get("forgive", 0))
    emissions[1:] = (1 - forgive) * emissions[1:] + forgive * np.eye(game.m)[0]
    noise = check_unit(f"{where}: noise", rule.get("noise", 0))
    emissions = (1 - noise) * emissions + noise * (1 - emissions) / (game.m - 1)
    target = np.arange(1, game.n + 1)[None, :, None]
    next_state = np.broadcast_to(target, (game.n + 1, game.n, game.m)).copy()
    return emissions, next_state, ["start", *(f"after {a}" for a in range(game.n))]


def _win_stay_lose_shift(where: str, rule: dict[str, Any], game: MatrixGame) -> _Table:
    """Repeat an action that paid at least the mean payoff, else go on to the next action."""
    first = _action(f"{where}: first", rule.get("first", 0), game.m)
    order = (np.arange(game.m) + first) % game.m  # state i plays action order[i]
    paid = game.partner[:, order] >= game.partner.mean()  # (n, states)
    shift = (np.arange(game.m) + 1) % game.m
    target = np.where(paid.T, np.arange(game.m)[:, None], shift[:, None])  # (states, n)
    next_state = np.repeat(target[:, :, None], game.m, axis=2)
    return np.eye(game.m)[order], next_state, [f"plays {k}" for k in order]


def _theory_of_mind(where: str, rule: dict[str, Any], game: MatrixGame) -> _Table:
    """Play the best reply to a player of one order less, see `order_replies`."""
    order, m = rule.get("order"), game.m
    if isinstance(order, bool) or not isinstance(order, int) or not 0 <= order <= MOST_ORDER:
        raise TomevalError(
            f"{where}: order {order!r} must be a whole number from 0 to {MOST_ORDER}"
        )
    replies = order_replies(mirrored(game), order)
    played = [_action(f"{where}: first", rule.get("first", 0), m), *replies.tolist()]
    own, partner = np.ogrid[1 : game.n + 1, 1 : m + 1]
    last = np.broadcast_to(partner if order % 2 else own, (len(played), game.n, m)).copy()
    whose = "own " if order % 2 else ""
    states = ["start", *(f"after {whose}{action}" for action in range(len(replies)))]
    return np.eye(m)[played], last, states


_Expand = Callable[[str, dict[str, Any], MatrixGame], _Table]
_RULES: dict[str, tuple[_Expand, tuple[str, ...]]] = {
    "sequence": (_sequence, ("actions",)),
    "mixture": (_mixture, ("probabilities",)),
    "switch": (_switch, ("first", "second", "step")),
    "react": (_react, ("first", "response", "response_in", "forgive", "noise")),
    "theory_of_mind": (_theory_of_mind, ("order", "first")),
    "win_stay_lose_shift": (_win_stay_lose_shift, ("first",)),
}
