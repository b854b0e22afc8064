"""Matrix games: payoffs, label sets, the built-in games and games from TOML files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.resources import read_toml
from tomeval.core.text import ascii_signs, check_text, excerpt

WORDINGS = ("score", "points")
MOST_STORY = 2_000
MAX_PAYOFF = 1e100
"""Sums over an episode, and their cubes in the bootstrap, must stay finite."""

NEUTRAL = "JFBKMQVXZHLWDGNT"
NONSENSE = ("Pasta", "Rice", "Bread", "Soup", "Salad", "Cheese", "Honey", "Pepper")


@dataclass(frozen=True)
class Labels:
    """What the actions are called: one name per action of the subject and of the partner."""

    name: str
    own: tuple[str, ...]
    partner: tuple[str, ...]


@dataclass(frozen=True)
class Disguise:
    """How a game was made of another one, whose strategies and optima it shares.

    Attributes
    ----------
    of : str
        The name of the other game. Both meet the same chance in episodes of one number.
    kinds : tuple of str
        What was disguised, such as ``labels``.
    own, partner : tuple of int
        Which of its actions each of the subject's and the partner's actions is.
    scale, shift : tuple of float
        Of (subject, partner): payoff = scale times its payoff + shift; scales are above 0.
    """

    of: str
    kinds: tuple[str, ...]
    own: tuple[int, ...]
    partner: tuple[int, ...]
    scale: tuple[float, float] = (1.0, 1.0)
    shift: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class MatrixGame:
    """A two-player game in normal form, seen from the subject's seat.

    Parameters
    ----------
    name : str
        Short name, as experiments and tables write it.
    payoffs : array_like, shape (n, m, 2)
        ``payoffs[a, b]`` is (subject's payoff, partner's payoff) when the subject plays `a` and
        the partner plays `b`. Finite; n and m at least 2.
    labels : mapping of str to Labels
        The label sets. The first one is the default.
    title : str
        Full name.
    wording : {"score", "points"}
        How payoffs are worded: "score" where some are negative, else "points".
    source : str
        Where the payoffs come from.
    story : str
        Text that language models read before the rules, at most `MOST_STORY` characters.
    disguise : Disguise, optional
        For a game that was made of another one: how.

    Raises
    ------
    TomevalError
        Wrong shape, a payoff that is not finite, labels that do not fit or are not unique.

    Examples
    --------
    >>> game = get_game("IPD")
    >>> game.n, game.m
    (2, 2)
    >>> game.own[1, 0]
    np.float64(10.0)
    """

    name: str
    payoffs: NDArray[np.float64]
    labels: Mapping[str, Labels]
    title: str = ""
    wording: str = ""
    source: str = ""
    story: str = ""
    disguise: Disguise | None = None

    def __post_init__(self) -> None:
        payoffs = _read_payoffs(self.name, self.payoffs)
        where = f"game {self.name!r}"
        if payoffs.ndim != 3 or payoffs.shape[2] != 2 or min(payoffs.shape[:2]) < 2:
            raise TomevalError(
                f"{where}: payoffs have shape {payoffs.shape}, "
                "need (n, m, 2) with n and m at least 2"
            )
        if not np.isfinite(payoffs).all():
            a, b, who = (int(i) for i in np.argwhere(~np.isfinite(payoffs))[0])
            raise TomevalError(
                f"{where}: payoffs[{a}][{b}][{who}] is {payoffs[a, b, who]}, payoffs must be finite"
            )
        if np.abs(payoffs).max() > MAX_PAYOFF:
            raise TomevalError(f"{where}: payoffs must not exceed {MAX_PAYOFF:g} in size")
        payoffs.setflags(write=False)
        object.__setattr__(self, "payoffs", payoffs)
        wording = self.wording or ("score" if payoffs.min() < 0 else "points")
        if wording not in WORDINGS:
            raise unknown("wording", wording, WORDINGS, where)
        object.__setattr__(self, "wording", wording)
        object.__setattr__(self, "title", self.title or self.name)
        check_text(self.story, f"{where}: story")
        if len(self.story) > MOST_STORY:
            raise TomevalError(
                f"{where}: story has {len(self.story):,} characters (limit: {MOST_STORY:,})"
            )
        if not self.labels:
            raise TomevalError(f"{where}: needs at least one label set")
        for label_set in self.labels.values():
            _check_labels(self.name, label_set, payoffs.shape[0], payoffs.shape[1])

    @property
    def n(self) -> int:
        """Number of the subject's actions."""
        return int(self.payoffs.shape[0])

    @property
    def m(self) -> int:
        """Number of the partner's actions."""
        return int(self.payoffs.shape[1])

    @property
    def own(self) -> NDArray[np.float64]:
        """The subject's payoffs, shape (n, m)."""
        return self.payoffs[:, :, 0]

    @property
    def partner(self) -> NDArray[np.float64]:
        """The partner's payoffs, shape (n, m)."""
        return self.payoffs[:, :, 1]

    @property
    def chance(self) -> str:
        """What its draws are named after: a disguise meets the chance of what it disguises."""
        return self.disguise.of if self.disguise else self.name

    def label_set(self, name: str | None = None) -> Labels:
        """Return the label set called `name` (default: the first one)."""
        if name is None:
            return next(iter(self.labels.values()))
        if name not in self.labels:
            raise unknown(f"label set of game {self.name}", name, self.labels)
        return self.labels[name]


def mirrored_labels(labels: Labels) -> Labels:
    """Return a label set as the other seat has it."""
    return Labels(labels.name, labels.partner, labels.own)


@lru_cache(maxsize=256)
def mirrored(game: MatrixGame) -> MatrixGame:
    """Return a game as the player in the partner's seat sees it, under the same name.

    Examples
    --------
    >>> mirrored(get_game("IBS")).payoffs.tolist()
    [[[7.0, 10.0], [0.0, 0.0]], [[0.0, 0.0], [10.0, 7.0]]]
    """
    payoffs = np.ascontiguousarray(game.payoffs.transpose(1, 0, 2)[:, :, ::-1])
    labels = {key: mirrored_labels(one) for key, one in game.labels.items()}
    said = (game.title, game.wording, game.source, game.story)
    return MatrixGame(game.name, payoffs, labels, *said)


def _read_payoffs(game: str, payoffs: Any) -> NDArray[np.float64]:
    """Return payoffs as a new array; numpy alone would also read text and truth values."""
    try:
        cells = np.array(payoffs, dtype=object)
        if all(isinstance(x, int | float | np.number) and type(x) is not bool for x in cells.flat):
            return cells.astype(np.float64)
    except (ValueError, OverflowError):
        pass
    raise TomevalError(
        f"game {game!r}: payoffs must be numbers in the shape (n, m, 2); "
        "every row needs the same number of [own, partner] pairs"
    )


def _check_labels(game: str, labels: Labels, n: int, m: int) -> None:
    """Raise unless `labels` names n own and m partner actions, each once and legibly."""
    for side, names, count in (("own", labels.own, n), ("partner", labels.partner, m)):
        where = f"game {game!r}: labels.{labels.name}.{side}"
        if len(names) != count:
            raise TomevalError(f"{where} has {len(names)} labels, the payoffs have {count} actions")
        for label in names:
            if not isinstance(label, str) or not label or label != label.strip():
                raise TomevalError(f"{where}: {label!r} is not a label (text, no outer spaces)")
            if not label.isprintable():
                raise TomevalError(f"{where}: {label!r} contains unprintable characters")
        folded = [ascii_signs(label).casefold() for label in names]
        for i, label in enumerate(folded):
            if label in folded[:i]:
                raise TomevalError(
                    f"{where}: {names[i]!r} appears twice (labels must differ beyond case and "
                    "typographic signs)"
                )


def check_keys(
    where: object, given: Iterable[str], known: Sequence[str], required: Iterable[str] = ()
) -> None:
    """Raise unless a table has known keys only, and all required ones."""
    for key in given:
        if key not in known:
            raise TomevalError(f"{where}: unknown key {key!r}{did_you_mean(key, known)}")
    for key in required:
        if key not in given:
            raise TomevalError(f"{where}: missing key {key!r}")


def check_unit(name: str, value: object) -> float:
    """Return `value` as a probability or raise a `TomevalError` that names it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise TomevalError(f"{name} must be a number from 0 to 1, is {value!r}")
    return float(value)


def load_game(path: str | Path) -> MatrixGame:
    """Load a game from a TOML file.

    The file holds ``name``, ``payoffs`` (n rows of m pairs ``[own, partner]``) and ``labels``: a
    table of label sets, each either one list of names for both players or a table with ``own``
    and ``partner``. ``title``, ``wording``, ``source`` and ``story`` are optional.

    Raises
    ------
    TomevalError
        The file is missing or malformed, has an unknown or missing key, or is not a valid game.
    """
    data = read_toml(Path(path))
    if isinstance(name := data.get("name"), str) and name.lower() in map(str.lower, GAMES):
        raise TomevalError(f"{path}: name {name!r} is a built-in game, choose another")
    return _read_game(path, data)


def _read_game(where: object, data: Mapping[str, Any]) -> MatrixGame:
    """Read a game from the keys of its file; `where` is named by errors."""
    texts = ("name", "title", "source", "wording", "story")
    check_keys(where, data, (*texts, "payoffs", "labels"), ("name", "payoffs", "labels"))
    for key in texts:
        if not isinstance(data.get(key, ""), str):
            raise TomevalError(f"{where}: {key} must be text, is {data[key]!r}")
    if not isinstance(data["labels"], dict):
        raise TomevalError(f"{where}: labels must be a table of label sets")
    try:
        return MatrixGame(
            payoffs=data["payoffs"],
            labels={name: _read_labels(name, raw) for name, raw in data["labels"].items()},
            **{key: data.get(key, "") for key in texts},
        )
    except TomevalError as error:
        raise TomevalError(f"{where}: {error}") from None


def _read_labels(name: str, raw: Any) -> Labels:
    """Read one label set of a game file."""
    if isinstance(raw, list):
        return Labels(name, tuple(raw), tuple(raw))
    if isinstance(raw, dict) and set(raw) == {"own", "partner"}:
        own, partner = raw["own"], raw["partner"]
        if isinstance(own, list) and isinstance(partner, list):
            return Labels(name, tuple(own), tuple(partner))
    raise TomevalError(
        f"labels.{name} must be a list of names, or a table with the lists 'own' and 'partner'"
    )


_FILE = Path(__file__).with_name("games.toml")
GAMES = {name: _read_game(_FILE, {"name": name, **of}) for name, of in read_toml(_FILE).items()}
"""The built-in games by name."""


def get_game(name: str | Path | MatrixGame, base: Path | None = None) -> MatrixGame:
    """Return a built-in game by name (case does not matter) or load a ``.toml`` game file.

    A relative path starts from `base` (default: the working folder); a game is returned as it is.
    Raises `TomevalError` for an unknown name or a file that is not a valid game.
    """
    if isinstance(name, MatrixGame):
        return name
    if not isinstance(name, str | Path):
        raise TomevalError(f"game must be a name, a file or a MatrixGame, is {name!r}")
    name = str(name)
    for known, game in GAMES.items():
        if name.lower() == known.lower():
            return game
    if name.endswith(".toml"):
        return load_game((base or Path()) / name)
    check_ending(name, "game")
    raise unknown("game", name, GAMES)


def check_ending(name: str, kind: str) -> None:
    """Raise if the name of a game or partner is that of a file in another format than TOML."""
    if re.search(r"\.[a-z]{2,5}$", name, re.IGNORECASE):
        raise TomevalError(
            f"{excerpt(name)}: a {kind} is a file that ends in .toml; `tomeval init {kind}` writes "
            f"an example, and docs/{kind}s.md says how it is written"
        )
