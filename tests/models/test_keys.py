"""Which key goes to which host, what is really sent, and that results keep no credential."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest
from attacks.commands import call
from listener import Listener, chat

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError
from tomeval.models import look_ahead, open_model
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling, ScoreRequest
from tomeval.models.batching import request_hash
from tomeval.models.naming import check_host, check_url, key_for
from tomeval.models.served import OpenAIOptions
from tomeval.models.served.client import Client

CANARY = "c4n4ry7e579d1f0b2a"
EXPERIMENT = """games = "IPD"
partners = "tit_for_tat"
labels = "neutral"
horizon = 2
episodes = 1
{model}
[[subjects]]
strategy = "QA"
"""


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("v1", f', extra_body = {{api_key = "{CANARY}"}}'),
        ("v1", f', extra_body = {{headers = {{X-Token = "{CANARY}"}}}}'),
        ("v1", f', extra_body = {{user = "sk-{CANARY}{CANARY}"}}'),
        (f"sk-{CANARY}{CANARY}/v1", ""),
        (f"v1?key={CANARY}", ""),
        (f"v1#{CANARY}", ""),
    ],
)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_credential_in_a_spec_is_one_error_before_anything_is_sent(
    path, options, command, tmp_path
):
    file = tmp_path / "experiment.toml"
    with Listener(lambda _: chat("Final answer: J")) as server:
        name = f"openai:m@{server.url}/{path}"
        file.write_text(EXPERIMENT.format(model=f'model = {{name = "{name}"{options}}}'))
        told = call(command, file, *(("--out", tmp_path / "run") if command == "run" else ()))
        assert (told.code, told.is_one_error, server.asked) == (2, True, [])
    assert "stored with results" in told.errors
    assert "environment variable" in told.errors
    assert CANARY not in told.errors + told.out
    assert not (tmp_path / "run").exists()


def test_a_spec_is_looked_at_as_it_is_opened():
    spec = {"name": "inspect:openai/m", "model_args": {"headers": {"x-api-key": "k"}}}
    for check in (open_model, look_ahead):
        with pytest.raises(TomevalError, match=r"model_args.headers.x-api-key: its name is"):
            check(spec)


PROMPT = Prompt((Message("user", "Play."),), prefill="I choose")


def hash_of(prompt):
    return request_hash("scripted", "", GenerateRequest(prompt, Sampling(), 1))


def test_what_stands_in_for_a_prefill_counts():
    assert hash_of(replace(PROMPT, instead="Answer J or F.")) != hash_of(PROMPT)


def test_without_it_a_request_is_what_it_always_was():
    # Kept replies of runs made before are found again.
    score = request_hash("scripted", "", ScoreRequest(PROMPT, ("J", "F")))
    assert score == "9703d435fcf5c5affac810e8633f3346c3c972026f844dd982da52db798b6800"


HOST = "https://llm.example.org/v1"
KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "HF_TOKEN", "VLLM_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, f"{KEY}-{name}")


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://openrouter.ai:443/api/v1", "OPENROUTER_API_KEY"),
        ("https://router.huggingface.co/v1", "HF_TOKEN"),
    ],
)
def test_keys_go_to_their_provider_or_as_the_user_says(url, variable, monkeypatch):
    assert key_for(url) == (variable, f"{KEY}-{variable}")
    with trusting([f"{url.split('/')[2]}=MY_KEY"]):
        assert key_for(url) == ("MY_KEY", f"{KEY}-MY_KEY")
    monkeypatch.delenv(variable)
    assert key_for(url) == ("", "")


@pytest.mark.parametrize(
    "url",
    [
        HOST,
        "http://127.0.0.1:8000/v1",
        "http://localhost:8000/v1",
        "http://[::1]:8000/v1",
        "http://192.168.1.20:8000/v1",
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.example.org/v1",
        "https://evil.openai.azure.com/v1",
    ],
)
def test_a_host_gets_what_was_given_to_it_and_nothing_else(url):
    assert key_for(url) == ("", "")
    with pytest.raises(TomevalError) as raised:
        check_host(url, "MY_KEY")
    assert KEY not in str(raised.value)
    (flag,) = re.findall(r"--trust-host (\S+)", str(raised.value))  # as a user copies it
    with trusting([flag]):
        check_host(url, "MY_KEY")
        assert key_for(url) == ("MY_KEY", f"{KEY}-MY_KEY")
        with pytest.raises(TomevalError):
            check_host(url, "HF_TOKEN")


def test_a_host_is_given_for_one_variable_one_port_and_one_scheme():
    with trusting(["llm.example.org=MY_KEY", "http://gpu:81=MY_KEY"]):
        for url in (HOST, "https://LLM.example.org:443/v1", "http://gpu:81/v1"):
            assert key_for(url) == ("MY_KEY", f"{KEY}-MY_KEY")
        for url in (
            "http://llm.example.org/v1",
            "https://llm.example.org:8443/v1",
            "http://gpu:82/v1",
            "http://gpu/v1",
            "https://gpu:81/v1",
            "https://x.llm.example.org/v1",
        ):
            assert key_for(url) == ("", "")
    assert key_for(HOST) == ("", "")


@pytest.mark.parametrize(
    "url",
    [
        *("127.0.0.1:8000", "ftp://x/v1", "http://", "model", "https://a%2eb", "https://[::1"),
        "https://api.opena\u0131.com/v1",
        "https://api.openai.com\\@example.org/v1",
        "https://me:s3cret@host/v1",
        "https://host/v1#s3cret",
        "https://host/v1?key=s3cret",
    ],
)
def test_what_is_no_base_url_or_holds_a_secret_is_refused_without_repeating_it(url):
    with pytest.raises(TomevalError, match=r"is not a base URL.*environment variables") as raised:
        check_url(url)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("https://a@b=MY_KEY", "is not a host"),
        ("llm.example.org", "write HOST=VARIABLE"),
        ("llm.example.org=NO_SUCH_KEY", "NO_SUCH_KEY, for .*, is not set"),
        ("llm.example.org=TWO_LINES", "TWO_LINES, for .*, has characters that no API key has"),
    ],
)
def test_what_is_given_wrong_is_an_error_that_names_it(flag, message, monkeypatch):
    monkeypatch.setenv("TWO_LINES", "sk-one\nsk-two")
    with trusting([flag]), pytest.raises(TomevalError, match=message) as raised:
        key_for(HOST)
    assert "sk-" not in str(raised.value)


async def asked_of(url, *work):
    client = Client(url, key_for(url), "m", OpenAIOptions())
    try:
        for one in work:
            await one(client)
    finally:
        await client.close()


def test_nothing_of_the_environment_goes_to_another_host(monkeypatch):
    """The SDK would send headers and names of organisations to any host."""
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, f"{KEY}-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}\nX-Other: {KEY}")
    with Listener(lambda _: chat("J")) as server:
        work = (lambda c: c.ask("models"), lambda c: c.ask("chat/completions", {"model": "m"}))
        asyncio.run(asked_of(f"{server.url}/v1", *work))
    assert [asked.method for asked in server.asked] == ["GET", "POST"]
    for asked in server.asked:
        assert KEY not in str(asked)
        assert "authorization" not in map(str.lower, asked.headers)


@pytest.mark.parametrize("status", [302, 308])
def test_a_redirect_is_told_and_not_followed(status):
    with Listener(lambda _: chat("J")) as other:
        moved = {"Location": f"{other.url}/v1/models"}
        with Listener(lambda _: (status, moved, "")) as server:
            url = f"{server.url}/v1"
            with (
                trusting([f"{server.url}=OPENAI_API_KEY"]),
                pytest.raises(Exception, match=r"it redirects to '.*', which is not followed"),
            ):
                asyncio.run(asked_of(url, lambda c: c.ask("models")))
            assert server.asked[0].headers["authorization"] == f"Bearer {KEY}-OPENAI_API_KEY"
        assert other.asked == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("inspect:openai/m", {"model_args": {"base_url": HOST}}, "OPENAI_API_KEY would be sent"),
        (
            "inspect:openai-api/my-lab/m",
            {"model_args": {"base_url": HOST}},
            "MY_LAB_API_KEY would be sent",
        ),
        (
            "inspect:openai/m",
            {"model_args": {"base_url": "https://a:b@127.0.0.1/v1"}},
            "is not a base URL",
        ),
        ("inspect:openai/m", {"model_args": {"api_key": "k"}}, "put keys into environment"),
        ("inspect:hf/m", {"model_args": {"trust_remote_code": True}}, "would run code"),
        ("inspect:vllm/m", {"model_args": {"a": [{"trust-remote-code": ""}]}}, "would run code"),
    ],
)
def test_inspect_gets_no_address_and_no_code_that_is_not_confirmed(name, options, message):
    with pytest.raises(TomevalError, match=message):
        open_model({"name": name, **options}, scores=False)


def test_the_code_of_a_model_folder_is_not_run(tmp_path):
    with pytest.raises(TomevalError, match="would run code by the model's authors"):
        open_model({"name": f"hf:{tmp_path}", "trust_remote_code": True})
