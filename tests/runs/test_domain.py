"""The contract of a domain: what is refused in one clear line, and runs of one from outside."""

import pytest
import toy_domain  # noqa: F401, registers it
from support import break_off_writes, dump

from tomeval.core.errors import TomevalError
from tomeval.models import open_model
from tomeval.play.runner import run_experiment
from tomeval.runs.analyses import LOADED
from tomeval.runs.experiment import make_experiment

TOYS = {"domain": "toy", "episodes": 5, "seed": [1, 2]}
DECRYPTO = {"domain": "decrypto", "players": {"chance": {"kind": "random"}}, "episodes": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"domain": "decripto"}, "x.toml: domain: unknown domain 'decripto' (did you mean 'decry"),
        ({"domain": 3}, "x.toml: domain: unknown domain 3"),
        (
            {"players": {}},
            "'players' is a key of the domain 'decrypto', but the experiment is of 'matr",
        ),
        (
            {**TOYS, "partners": "x"},
            "'partners' is a key of the domain 'matrix', but the experiment",
        ),
        ({**DECRYPTO, "horizon": 3}, 'write domain = "matrix" or drop the key'),
        ({**TOYS, "guesers": ["one"]}, "unknown key 'guesers' (did you mean 'guessers'?)"),
        (
            {**TOYS, "on_invalid": "viod"},
            "on_invalid: unknown policy 'viod' (did you mean 'void'?)",
        ),
        ({**TOYS, "seed": [1, 1]}, "seed: contains a value twice"),
    ],
)
def test_keys_and_domains_that_do_not_fit(data, message):
    with pytest.raises(TomevalError) as caught:
        make_experiment(data, where="x.toml")
    assert message in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_script_that_a_domain_brings_loads_the_domain(monkeypatch):
    for name in ("arena", "decrypto"):
        monkeypatch.delitem(LOADED, name, raising=False)
    monkeypatch.setattr("tomeval.models.scripted.SCRIPTS", {})
    assert open_model("scripted:arena").name == "scripted:arena"
    assert "arena" in LOADED
    with pytest.raises(TomevalError, match=r"unknown script 'decripto' \(did you mean 'decrypto'"):
        open_model("scripted:decripto")


def test_rows_do_not_depend_on_workers_or_interruption(tmp_path, monkeypatch):
    run_experiment(make_experiment(TOYS), tmp_path / "whole")
    run_experiment(make_experiment(TOYS), tmp_path / "workers", workers=3)
    break_off_writes(monkeypatch)
    for episodes in (2, 5):
        for _ in range(30):
            try:
                run_experiment(make_experiment({**TOYS, "episodes": episodes}), tmp_path / "parts")
            except KeyboardInterrupt:
                continue
            break
    assert dump(tmp_path / "whole") == dump(tmp_path / "workers") == dump(tmp_path / "parts")
    assert len(dump(tmp_path / "whole")["episodes"]) == 20
