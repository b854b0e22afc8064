"""A kind of partner set that an extension brings to matrix games."""

from __future__ import annotations

import pytest

import tomeval
from tomeval.core.errors import TomevalError
from tomeval.core.extensions import Extension, add
from tomeval.domains.matrix.games import get_game
from tomeval.domains.matrix.partner_specs import PartnerSets, get_partner, get_partner_set
from tomeval.domains.matrix.partners import PartnerSet


def test_a_key_makes_a_set(tmp_path) -> None:
    def build(spec, game, base):
        return PartnerSet("twins", (get_partner(f"always({spec['twins']})", game, base),))

    sets = PartnerSets(build)
    add(Extension("mine", partner_sets={"twins": sets}))
    experiment = {"games": "RPS", "horizon": 4, "episodes": 1, "subjects": "random"}
    with tomeval.run(experiment | {"partners": {"twins": 1}}, tmp_path / "run") as run:
        assert run.cells[0].columns["partners"] == "twins"


def test_without_the_extension_it_is_one_clear_error() -> None:
    with pytest.raises(TomevalError, match="'twins'"):
        get_partner_set({"twins": 1}, get_game("RPS"))
