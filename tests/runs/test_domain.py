"""Domains: what does not fit one is refused in one clear line."""

import pytest

from tomeval.core.errors import TomevalError
from tomeval.models import open_model
from tomeval.runs.experiment import make_experiment

DECRYPTO = {"domain": "decrypto", "players": {"chance": {"kind": "random"}}, "episodes": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"domain": "decripto"}, "x.toml: domain: unknown domain 'decripto' (did you mean 'decry"),
        ({"domain": 3}, "x.toml: domain: unknown domain 3"),
        (
            {"players": {}},
            "'players' is a key of the domain 'decrypto', but the experiment is of 'm",
        ),
        ({**DECRYPTO, "horizon": 3}, 'write domain = "matrix" or drop the key'),
        ({"horizn": 3}, "unknown key 'horizn' (did you mean 'horizon'?)"),
        ({"on_invalid": "viod"}, "on_invalid: unknown policy 'viod' (did you mean 'void'?)"),
        ({"seed": [1, 1]}, "seed: contains a value twice"),
    ],
)
def test_keys_and_domains_that_do_not_fit(data, message):
    with pytest.raises(TomevalError) as caught:
        make_experiment(data, where="x.toml")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_script_of_a_game_is_opened_by_name():
    assert open_model("scripted:arena").name == "scripted:arena"
    with pytest.raises(TomevalError, match=r"unknown script 'decripto' \(did you mean 'decrypto'"):
        open_model("scripted:decripto")
