"""Parameters of the three-player prisoner's dilemma, as experiments give them."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tomeval.core.errors import TomevalError


class Payoffs(BaseModel):
    """What a pair pays to one of its two players: reward, temptation, sucker, punishment."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    R: float = 3
    T: float = 5
    S: float = 0
    P: float = 1


class Rules(BaseModel):
    """Parameters of a game.

    Attributes
    ----------
    rounds : int
    talk : int
        Turns of talk per round and player: 0 or 1.
    reward : str
        ``points``: `scale` times the points of both pairs and all rounds; ``rank``: by points, the
        first 1, the second 0, the third -1; see `Ipd3.rewards` for ties.
    payoffs : Payoffs
    dilemma : bool
        Whether the payoffs are to be a dilemma, which is then checked; false says that they may be
        anything.
    scale : float
        Reward per point.
    message_limit : int
        Characters of a message; at least 100, which scripted players never need.
    rules : str
        ``own``, or ``textarena-0.7.4``: a message that is too long loses its beginning instead of
        breaking the rules, white space in messages is closed up, and tied ranks are spread as
        TextArena does.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    rounds: int = Field(default=5, ge=1, le=1000)
    talk: int = Field(default=1, ge=0, le=1)
    reward: Literal["points", "rank"] = "points"
    payoffs: Payoffs = Payoffs()
    dilemma: bool = True
    scale: float = Field(default=1, gt=0)
    message_limit: int = Field(default=1000, ge=100, le=100_000)
    rules: Literal["own", "textarena-0.7.4"] = "own"


def check_dilemma(payoffs: Payoffs) -> None:
    """Raise unless T > R > P > S and mutual cooperation beats taking turns."""
    r, t, s, p = payoffs.R, payoffs.T, payoffs.S, payoffs.P
    if not (t > r > p > s and 2 * r > t + s):
        raise TomevalError(
            f"ipd3: payoffs R = {r:g}, T = {t:g}, S = {s:g}, P = {p:g} are not a prisoner's "
            "dilemma (T > R > P > S and 2 R > T + S); for another game set dilemma = false"
        )
