"""A prompting strategy for tomeval: before it acts, the player takes the other side's view.

The part goes with every context and every way to answer: "Example Name", "Example Name + CoT",
"S2A + Example Name + LM". Try it without installing anything:

    tomeval --plugin example_name/example_name prompt "Example Name + CoT"
"""

from __future__ import annotations

from pathlib import Path

from tomeval import Invalid, register_advice
from tomeval.strategies.advice import Advice
from tomeval.strategies.player import LLMPlayer
from tomeval.strategies.questions import Foresight, Told

HERE = Path(__file__).parent


@register_advice("Example Name", about="a view from the other side", templates=HERE / "prompts")
class ExampleName(Advice):
    """Writes what the other player sees and wants, and acts below that.

    A part is made anew for every episode. Its other hooks, each with a default that does nothing:
    `memory` (what all questions show of earlier steps), `ask_along` and `after_act` (what is asked
    for besides the answer, and what came), `after_step`.
    """

    writes = True  # it has a text written in every step

    async def before_act(self, player: LLMPlayer, foresight: Foresight) -> Told | Invalid:
        """Have the view written; what is told stands above the question for a move, no other."""
        context = await player.context.text(player.line)
        if isinstance(context, Invalid):  # a summary that could not be had: do not ask on
            return context
        step = player.scene.step
        request = player.scene.note_request("advice/example_name_write", context, "", step)
        # "look" names the call in logs and in the seeds of requests; "plan" is its kind, whose
        # longest length experiments can set.
        view = await player.write("look", "plan", request, step)
        if isinstance(view, Invalid):
            return view
        return Told(player.render("advice/example_name", view=view))
