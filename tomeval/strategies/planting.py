"""Advice: a belief of set accuracy, stated before the player acts."""

from __future__ import annotations

from typing import ClassVar

from tomeval.core.outcomes import Invalid
from tomeval.strategies.advice import Advice, Desk
from tomeval.strategies.questions import Foresight, Told


class Planting(Advice):
    """Given a prediction of what others do; the literal question is asked without it."""

    is_told: ClassVar[bool] = True

    async def before_act(self, desk: Desk, foresight: Foresight) -> Told | Invalid:
        """Have it drawn, and say it."""
        belief = self.strategy.part.belief
        assert belief is not None  # only parts with one are made by this class
        found = await foresight.planted(belief)
        if isinstance(found, Invalid):
            return found
        how = {"percent": belief.accuracy, "rated": belief.rated}
        return Told(desk.render(f"advice/belief_{belief.wording}", **how, **found))
