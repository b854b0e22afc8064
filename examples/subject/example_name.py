"""A subject of matrix games for tomeval: it repeats what paid, and expects the same of others.

    tomeval --plugin example_name.py list subjects example_name
    tomeval --plugin example_name.py run EXPERIMENT       with subjects = ["example_name"]

In a package with an entry point, as `tomeval init strategy` makes one, it needs no --plugin.
"""

from __future__ import annotations

import tomeval


@tomeval.register_subject("example_name")
class ExampleName(tomeval.Subject):
    """Win-stay, lose-shift: repeats an action that paid at least `aspiration`.

    The arguments after the seat are its options: subjects = [{ kind = "example_name", aspiration =
    [0, 2] }]. One is made for every episode. Chance comes from ``self.seat.rng`` alone.
    """

    def __init__(self, seat, aspiration: float = 1.0) -> None:
        super().__init__(seat)
        self.aspiration = aspiration

    def act(self, observation):
        """Choose the own action; `observation` has the game, the labels and the past."""
        if not observation.past:
            return tomeval.Decision(0)
        last = observation.past[-1]  # own, partner, own_reward, partner_reward
        stays = last.own_reward >= self.aspiration
        return tomeval.Decision(last.own if stays else (last.own + 1) % observation.game.n)

    def predict(self, observation, own_action):
        """Say what the partner plays in this step: what it played last."""
        return tomeval.Decision(observation.past[-1].partner if observation.past else 0)
