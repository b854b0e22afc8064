"""Caps, prices and the usage that servers report."""

import asyncio

import pytest

from tomeval.core.errors import TomevalError
from tomeval.models import check_options
from tomeval.models.base import Usage
from tomeval.models.served import Budget, BudgetExceeded, OpenAIOptions, Price
from tomeval.models.served.replies import read_usage


def test_prices_give_costs():
    """600 fresh at 2, 400 cached at 0.5, 100 written at 8, per million."""
    price = Price(prompt=2, completion=8.0, cached=0.5)
    assert price.cost(Usage(1000, 100, 400)) == pytest.approx(2.2e-3)
    assert Price(prompt=1, completion=1).cost(Usage(1000, 0, 400)) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("price", "message"),
    [
        (3, "price: .*valid dictionary"),
        ({"prompt": 1}, "price.completion: Field required"),
        ({"prompt": 1, "completion": -1}, "price.completion: .*greater than or equal to 0, is -1"),
        ({"prompt": True, "completion": 1}, "price.prompt: .*valid number, is True"),
        ({"prompt": 1, "completion": 1, "cache": 1}, "price.cache: Extra inputs"),
    ],
)
def test_a_wrong_price_names_what_is_wrong(price, message):
    with pytest.raises(TomevalError, match=message):
        check_options(OpenAIOptions, {"price": price}, "model")


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}, Usage(5, 2, 0)),
        (
            {"usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}},
            Usage(5, 0, 4),
        ),
        ({"usage": {"prompt_tokens": 5, "prompt_tokens_details": None}}, Usage(5, 0, 0)),
        ({"tokens_evaluated": 5, "tokens_predicted": 1}, Usage(5, 1, 0)),
        *(
            ({"usage": usage}, None)
            for usage in (
                {"prompt_tokens": "9", "completion_tokens": 2},
                {"prompt_tokens": 9, "completion_tokens": -2},
                {"prompt_tokens": float("nan")},
                {"prompt_tokens": True},
                None,
            )
        ),
        ({}, None),
    ],
)
def test_usage_is_read_from_every_servers_shape(data, usage):
    assert read_usage(data) == usage


async def call(budget, tokens, usage=None, over=None):
    """Make a call that ends with an event."""
    async with budget.call(tokens) as one:
        if over is not None:
            await over.wait()
        one.usage = usage


def test_a_call_waits_for_room_that_calls_under_way_may_give_back():
    async def run():
        budget, over = Budget(max_tokens=100), [asyncio.Event() for _ in range(2)]
        uses = (Usage(prompt=10, completion=5), Usage(prompt=20, completion=30), None)
        calls = [
            asyncio.create_task(call(budget, 60, usage, event))
            for usage, event in zip(uses, [*over, None], strict=True)
        ]
        await asyncio.sleep(0.01)
        assert (budget.calls, budget.tokens) == (1, 60)
        over[0].set()
        await asyncio.sleep(0.01)  # 85 are left: room for one
        assert (budget.calls, budget.tokens) == (2, 15 + 60)
        assert [one.done() for one in calls] == [True, False, False]
        over[1].set()  # 35 are left, and nobody is under way
        said = "65 of 100 tokens are used, and it may take 60"
        with pytest.raises(BudgetExceeded, match=said):
            await calls[2]
        return budget.tokens

    assert asyncio.run(run()) == 65


def test_a_call_that_failed_gives_its_room_back():
    async def run():
        budget = Budget(max_calls=1, max_cost=1)
        with pytest.raises(RuntimeError):
            async with budget.call(5, Price(prompt=1, completion=1)):
                raise RuntimeError
        assert (budget.calls, budget.tokens, budget.cost) == (0, 0, 0)
        await call(budget, 5)
        return budget.calls, budget.tokens

    assert asyncio.run(run()) == (1, 5)  # no usage: the most stays counted
