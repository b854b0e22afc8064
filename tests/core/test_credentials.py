"""What looks like a credential in models' options."""

from __future__ import annotations

import pytest

from tomeval.core.credentials import credential_among

CANARY = "c4n4ry-7e57-9d1f-0b2a"


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": CANARY},
        {"apiKey": CANARY},
        {"headers": {"Authorization": CANARY}},
        {"deep": [{"client_secret": CANARY}]},
        {"password": 1234},
        {"x-auth-token": CANARY},
        {"auth_header": {"bearer": CANARY}},
        {"headers": {"Authorization": {"value": CANARY}}},
        {"cookies": {"session": CANARY}},
        {"user": "sk-0123456789abcdefghij"},
        {"note": "Bearer 0123456789abcdefghij"},
        {"note": f"the one of the environment, {CANARY}, in a text"},
    ],
)
def test_what_names_or_holds_a_credential_is_found_with_its_place(options, monkeypatch):
    monkeypatch.setenv("MY_OWN_KEY", CANARY)
    place, why = credential_among({"extra_body": options})
    assert place.startswith(f"extra_body.{next(iter(options))}")
    assert CANARY not in why


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 5, "stop_token_ids": [1, 2], "add_special_tokens": True},
        {"thinking_token_budget": 100, "prompt_cache_key": "a", "stop": ["keys"]},
        {"guided_json": {"properties": {"token": {"type": "string"}}, "required": ["token"]}},
        {"eos_token_id": 2, "max_completion_tokens": 5, "tokenizer": "x", "keys": []},
        {"value": 1, "header": "a", "chat_template_kwargs": {"author": "x"}},
        {"api_key": "", "token": None, "secret": False},
    ],
)
def test_what_servers_are_told_otherwise_is_not_taken_for_one(options):
    assert credential_among({"extra_body": options}) is None
