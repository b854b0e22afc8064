"""Turn what an experiment or command line writes into partners and partner sets."""

from __future__ import annotations

import ast
import math
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, Strict

from tomeval.core.errors import TomevalError
from tomeval.core.parts import part
from tomeval.games.matrix.games import MatrixGame
from tomeval.games.matrix.partner_files import build_partner, partner_file, partner_names
from tomeval.games.matrix.partners import Partner, PartnerSet
from tomeval.games.matrix.personas import FRAME, NONE, PERSONAS, TRUE, Told
from tomeval.runs.experiment import located, read_table

if TYPE_CHECKING:
    from tomeval.games.matrix.subject_specs import PartnerPlayer

_CALL = re.compile(r"^\s*([^()]+?)\s*(?:\((.*)\))?\s*$", re.DOTALL)
_JOINED = re.compile(r"\+(?![^(]*\))")  # a plus outside brackets
SETS = ("single_action",)


class _Table(BaseModel):
    """A partner set as an experiment writes it."""

    model_config = ConfigDict(extra="forbid")
    partners: list[str] = Field(min_length=1)
    weights: list[Annotated[float, Strict()]] = []
    name: str | None = None
    tell: Literal["true", "swapped", "withheld"] | None = None


class _Member(BaseModel):
    """A partner, who it is said to be, and the story that is told around the game with it."""

    model_config = ConfigDict(extra="forbid")
    partner: str
    persona: str
    frame: str = NONE

    def said(self) -> dict[str, str]:
        frame = {FRAME: self.frame} if self.frame != NONE else {}
        return {PERSONAS[1]: self.persona.strip()} | frame


class PartnerLibrary(NamedTuple):
    """A source of partners that an extension brings.

    `build` is called with the whole name, ``SOURCE:...``, the game, and what the partner is to be
    called; `fits`, `title` and `source` are for lists.
    """

    build: Callable[[str, MatrixGame, str], Partner]
    fits: str
    title: str
    source: str


PartnerSets = Callable[[dict[str, Any], MatrixGame, Path | None], PartnerSet]
"""A kind of partner set that an extension brings: what inline tables with its name as a key mean.

It is called with such a table, the game, and the folder that relative paths start from.
"""

Partners = Callable[[MatrixGame], "list[PartnerSet | PartnerPlayer]"]
"""Returns the partner sets that an experiment means in a game."""


class GameSets(NamedTuple):
    """A kind of set of games that an extension brings: tables of ``games`` with its name as key.

    `keys` are those of the table. `build` is called with the table, with what returns the partners
    that the experiment means in a game, and with the folder that relative paths start from; it
    returns games with their partners. Sets of a kind that `brings_partners` take none from the
    experiment.
    """

    keys: type[BaseModel]
    build: Callable[
        [Any, Partners, Path | None],
        Sequence[tuple[MatrixGame, Sequence[PartnerSet | PartnerPlayer]]],
    ]
    brings_partners: bool = False


def get_partner(spec: str, game: MatrixGame, base: Path | None = None) -> Partner:
    """Build a partner from text such as ``tit_for_tat``, ``always(1)`` or ``mine.toml(p=0.2)``.

    Parameters
    ----------
    spec : str
        Name of a shipped partner or path of a TOML file, with parameters in parentheses; or
        ``axelrod:`` and the name of a player, or another source that an extension brings.
    base : Path, optional
        Folder that a relative path starts from (default: the working folder).

    Raises
    ------
    TomevalError
        Unknown partner or parameter, or a partner that does not fit the game.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> get_partner("tit_for_tat", get_game("IPD")).emissions.tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    name, args, options = _parse(spec)
    inside = ", ".join([*map(str, args), *(f"{k}={v}" for k, v in options.items())])
    stem = Path(name).stem if name.endswith(".toml") else name
    full_name = f"{stem}({inside})" if inside else stem
    if name in SETS:
        raise TomevalError(f"{name!r} is a partner set, not one partner; use always(0), always(1)")
    source, colon, _ = name.partition(":")
    if colon and (library := part("partners", source)):
        if args or options:
            raise TomevalError(f"partner {spec!r}: partners of {source} take no parameters")
        partner: Partner = library.build(name, game, full_name)
        return partner
    return build_partner(partner_file(name, base), game, full_name, args, options)


def get_partner_set(
    spec: str | Path | dict[str, Any] | PartnerSet, game: MatrixGame, base: Path | None = None
) -> PartnerSet:
    """Build a partner set; one that is given already is returned as it is.

    Parameters
    ----------
    spec : str, Path, dict or PartnerSet
        ``"single_action"`` (every ``always(k)``, uniformly); one partner; several joined by ``+``
        (uniform); or a table, or the text of a table in TOML, with ``partners`` (list of specs),
        optional ``weights`` and ``name``; or one of a kind that an extension brings, such as
        ``switch``. In place of specs, tables ``{partner, persona, frame}``, and ``tell`` for the
        set; one such table is a set of one.
    game, base
        As for `get_partner`.

    Examples
    --------
    >>> from tomeval.games.matrix.games import get_game
    >>> get_partner_set("single_action", get_game("RPS")).weights
    (0.3333333333333333, 0.3333333333333333, 0.3333333333333333)
    """
    if isinstance(spec, PartnerSet):
        if (spec.partners[0].n, spec.partners[0].m) != (game.n, game.m):
            raise TomevalError(f"partner set {spec.name!r} is for a game of another size")
        return spec
    if not isinstance(spec, str | Path | dict):
        raise TomevalError(f"partner must be a name, a file, a table or a PartnerSet, is {spec!r}")
    spec = str(spec) if isinstance(spec, Path) else spec
    if isinstance(spec, str) and spec.lstrip().startswith("{"):
        spec = _inline(spec)
    if isinstance(spec, dict):
        for key in spec:
            if key not in _Table.model_fields and (kind := part("partner_sets", key)):
                built: PartnerSet = kind(spec, game, base)
                return built
        return _from_table(spec, game, base)
    if spec.strip() == "single_action":
        specs = [f"always({k})" for k in range(game.m)]
        return PartnerSet("single_action", tuple(get_partner(s, game, base) for s in specs))
    partners = tuple(get_partner(one, game, base) for one in _JOINED.split(spec))
    return PartnerSet(spec.strip() if len(partners) > 1 else partners[0].name, partners)


def _from_table(spec: dict[str, Any], game: MatrixGame, base: Path | None) -> PartnerSet:
    """Build a partner set from an inline table of an experiment file."""
    if isinstance(spec.get("partner"), str):
        member = {key: spec[key] for key in _Member.model_fields if key in spec}
        spec = {"partners": [member]} | {k: v for k, v in spec.items() if k not in member}
    given = spec["partners"] if isinstance(spec.get("partners"), list) else []
    members = [
        read_table(_Member, one, f"partner set: partners[{index}]")
        for index, one in enumerate(given)
        if isinstance(one, dict)
    ]
    if members and len(members) < len(given):
        raise TomevalError("partner set: either all of its partners have a persona, or none has")
    specs = {"partners": [member.partner for member in members]} if members else {}
    table = read_table(_Table, spec | specs, "partner set")
    partners = tuple(get_partner(one, game, base) for one in table.partners)
    drawn, weights = " + ".join(table.partners), tuple(table.weights)
    name = drawn if table.name is None else table.name
    if not members and table.tell is None:
        return PartnerSet(name, partners, weights)
    with located("partner set"):
        told = Told(tuple(member.said() for member in members), table.tell or TRUE)
    return PartnerSet(f"{name}, {told}", partners, weights, told, drawn)


def _inline(spec: str) -> dict[str, Any]:
    """Read the text of an inline table, as the command line takes it."""
    try:
        table = tomllib.loads(f"partners = {spec}")["partners"]
    except tomllib.TOMLDecodeError as error:
        raise TomevalError(f"partner set {spec!r}: is not a TOML table ({error})") from None
    return dict(table)


def _parse(spec: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Split ``name(1, p=0.5)`` into name, positional and named arguments, which are numbers."""
    match = _CALL.match(spec) if isinstance(spec, str) else None
    try:
        if match is None:
            raise ValueError
        call: Any = ast.parse(f"f({match[2] or ''})", mode="eval").body
        args = [_number(one) for one in call.args]
        return match[1], args, {one.arg: _number(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise TomevalError(
            f"partner {spec!r} cannot be read; write a name, or a name with numbers as parameters "
            f"such as always(1); known: {', '.join(partner_names())}"
        ) from None


def _number(given: Any) -> int | float:
    value = ast.literal_eval(given)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError
    return value  # type: ignore[no-any-return]
