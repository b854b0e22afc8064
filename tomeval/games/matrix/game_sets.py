"""Sets of games that experiments write as one table, and what a disguised game was made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

if TYPE_CHECKING:
    from tomeval.games.matrix.games import MatrixGame
    from tomeval.games.matrix.partners import PartnerSet
    from tomeval.games.matrix.subject_specs import PartnerPlayer


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

    def data(self) -> dict[str, Any]:
        """Return it as definitions of cells have it."""
        return asdict(self)

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Disguise:
        """Return what `data` returned, after it went through JSON."""
        rest = {name: tuple(value) for name, value in told.items() if name != "of"}
        return cls(of=told["of"], **rest)


Partners = Callable[["MatrixGame"], "list[PartnerSet | PartnerPlayer]"]
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
