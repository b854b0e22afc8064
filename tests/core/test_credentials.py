"""What looks like a credential, in models' options and in addresses."""

from __future__ import annotations

import pytest

from tomeval.core.credentials import credential_among, credential_in, opaque_part

CANARY = "c4n4ry-7e57-9d1f-0b2a"


@pytest.mark.parametrize(
    "options",
    [
        {"api_key": CANARY},
        {"apiKey": CANARY},
        {"headers": {"Authorization": CANARY}},
        {"deep": [{"client_secret": CANARY}]},
        {"api_keys": ["a", "b"]},
        {"password": 1234},
        {"auth": CANARY},
        {"secretkey": CANARY},
        {"x-auth-token": CANARY},
        {"api_key_2": CANARY},
        {"auth_header": CANARY},
        {"Authorization-Value": CANARY},
        {"headers": {"Authorization": {"value": CANARY}}},
        {"tools": [{"credentials": [{"user": CANARY}]}]},
        {"cookies": {"session": CANARY}},
        {"user": "sk-0123456789abcdefghij"},
        {"note": "Bearer 0123456789abcdefghij"},
        {"note": f"the one of the environment, {CANARY}, in a text"},
        {"callback": "https://example.org/hook/9f8c1b7e2d3a4f5b"},
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
        {
            "schema": {
                "$defs": {"Token": {"enum": ["a"]}},
                "properties": {"key": {"type": "integer"}},
            }
        },
        {"eos_token_id": 2, "max_completion_tokens": 5, "tokenizer": "x", "keys": []},
        {"value": 1, "header": "a", "chat_template_kwargs": {"author": "x"}},
        {"provider": {"order": ["DeepInfra"], "allow_fallbacks": False}},
        {"api_key": "", "token": None, "secret": False},
        {"picture": "https://example.org/pictures/cat.png"},
    ],
)
def test_what_servers_are_told_otherwise_is_not_taken_for_one(options):
    assert credential_among({"extra_body": options, "key_env": "MY_KEY"}) is None


@pytest.mark.parametrize(
    "part",
    [
        "sk-canary-0123456789",
        "0123456789abcdef0123456789abcdef",
        "3f2a9c1e-7b4d-4e8a-9f60-1c2d3e4f5a6b",
        "s3cr3t-c4n4ry-t0k3n",
        "api-key-of-mine",
        "%73k-canary-0123456789",
    ],
)
def test_a_part_of_a_path_that_nobody_reads_is_found(part):
    assert opaque_part(f"https://proxy.example.org/{part}/v1") != ""


@pytest.mark.parametrize(
    "path",
    [
        *("v1", "api/v1", "v1beta/openai", "openai/v1", "inference/v1", "compatible-mode/v1"),
        *("api/paas/v4", "api/v3", "serving-endpoints", "tokenize", "v1/openai", "lmstudio/v1"),
        "openai/deployments/gpt-4o-mini-2024-07-18",
        "models/meta-llama/Llama-3.1-8B-Instruct/v1",
        "v1/projects/my-project/locations/us-central1/endpoints/openapi",
    ],
)
def test_paths_of_servers_are_read(path):
    assert opaque_part(f"https://api.example.org/{path}") == ""


def test_short_values_of_the_environment_are_no_credentials(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    assert credential_in(b"EMPTY") == ""
    monkeypatch.setenv("OPENAI_API_KEY", "not so empty")
    assert credential_in(b"it is not so empty") == "the value of OPENAI_API_KEY"
