"""Price files and the usage that servers report."""

import pytest

from tomeval.core.errors import TomevalError
from tomeval.models.base import Usage
from tomeval.models.served.limits import Price, load_prices, price_of, read_usage

FILE = """
["org/model"]
prompt = 2
completion = 8.0
cached = 0.5

["other"]
prompt = 1
completion = 1
"""


def test_a_price_file_gives_costs_per_model(tmp_path):
    file = tmp_path / "prices.toml"
    file.write_text(FILE)
    prices = load_prices(file)
    # 600 fresh at 2, 400 cached at 0.5, 100 written at 8, per million
    assert prices["org/model"].cost(Usage(1000, 100, 400)) == pytest.approx(2.2e-3)
    assert prices["other"] == Price(1, 1)
    assert prices["other"].cost(Usage(1000, 0, 400)) == pytest.approx(1e-3)


def test_a_model_without_a_price_is_told_with_the_near_match(tmp_path, caplog):
    file = tmp_path / "prices.toml"
    file.write_text(FILE)
    assert price_of("other", str(file)) == Price(1, 1)
    assert price_of("other", None) is None
    assert not caplog.messages
    assert price_of("othr", str(file)) is None
    assert caplog.messages == [f"{file}: no price for 'othr' (did you mean 'other'?)"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m = 3", "m: must be a table"),
        ("[m]\nprompt = 1", "no price for completion"),
        ("[m]\nprompt = 1\ncompletion = -1", "completion is a price per million tokens, not -1"),
        ("[m]\nprompt = true\ncompletion = 1", "not True"),
        ("[m]\nprompt = 1\ncompletion = 1\ncache = 1", "did you mean 'cached'"),
        ("[m\n", "not valid TOML"),
    ],
)
def test_a_wrong_price_file_names_what_is_wrong(tmp_path, text, message):
    file = tmp_path / "prices.toml"
    file.write_text(text)
    with pytest.raises(TomevalError, match=message):
        load_prices(file)


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, Usage(5, 2, 0)),
        (
            {"usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}},
            Usage(5, 0, 4),
        ),
        ({"usage": {"prompt_tokens": 5, "prompt_tokens_details": None}}, Usage(5, 0, 0)),
        (
            {"meta_info": {"prompt_tokens": 5, "completion_tokens": 1, "cached_tokens": 3}},
            Usage(5, 1, 3),
        ),
        ({"tokens_evaluated": 5, "tokens_predicted": 1}, Usage(5, 1, 0)),
        ({"prompt_eval_count": 5, "eval_count": 1}, Usage(5, 1, 0)),
        ({"usage": None}, None),
        ({}, None),
    ],
)
def test_usage_is_read_from_every_servers_shape(data, usage):
    assert read_usage(data) == usage
