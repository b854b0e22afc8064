"""Which key goes to which host, and what is really sent."""

from __future__ import annotations

import asyncio
import re

import pytest
from attacks.commands import call
from listener import Listener, chat

from tomeval.core.credentials import trusting
from tomeval.core.errors import TomevalError
from tomeval.models import open_model
from tomeval.models.base import Stopped
from tomeval.models.served.client import Client
from tomeval.models.served.keys import check_key_name, read_key
from tomeval.models.served.options import OpenAIOptions

HOST = "https://llm.example.org/v1"
KEY = "sk-canary-0123456789"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "HF_TOKEN", "VLLM_API_KEY", "MY_KEY"):
        monkeypatch.setenv(name, f"{KEY}-{name}")


@pytest.mark.parametrize(
    ("url", "named", "variable"),
    [
        ("https://api.openai.com/v1", None, "OPENAI_API_KEY"),
        ("https://openrouter.ai/api/v1", None, "OPENROUTER_API_KEY"),
        ("https://openrouter.ai:443/api/v1", "OPENROUTER_API_KEY", "OPENROUTER_API_KEY"),
        ("https://router.huggingface.co/v1", None, "HF_TOKEN"),
    ],
)
def test_keys_go_to_their_provider(url, named, variable):
    assert read_key(url, named) == (variable, f"{KEY}-{variable}")


LOOPBACK = ["http://127.0.0.1:8000/v1", "http://localhost:8000/v1", "http://[::1]:8000/v1"]


@pytest.mark.parametrize("url", LOOPBACK)
@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "MY_KEY"])
def test_a_port_of_this_machine_gets_what_its_user_confirmed_and_nothing_else(url, name):
    assert read_key(url, None) == ("", "")
    with pytest.raises(TomevalError, match=f"{name} would be sent to .*:8000, which you") as raised:
        read_key(url, name)
    (flag,) = re.findall(r"--trust-host (\S+)\. ", str(raised.value))
    with trusting([flag]):
        assert read_key(url, None) == read_key(url, name) == (name, f"{KEY}-{name}")
        for other in (url.replace(":8000", ":8001"), url.replace(":8000", "")):
            assert read_key(other, None) == ("", "")
            with pytest.raises(TomevalError, match="not confirmed"):
                read_key(other, name)


def test_an_experiment_that_names_a_variable_and_a_port_of_this_machine_gets_nothing(tmp_path):
    file = tmp_path / "stranger.toml"
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "MY_KEY", None):
        with Listener(lambda _: chat("Final answer: J")) as server:
            spec = f'name = "openai:m@{server.url}/v1"' + (f', key_env = "{name}"' * bool(name))
            file.write_text(
                f'games = "IPD"\npartners = "tit_for_tat"\nhorizon = 2\nepisodes = 1\n'
                f'labels = "neutral"\nmodel = {{{spec}}}\n[[subjects]]\nstrategy = "QA"\n'
            )
            told = call("run", file, "--out", tmp_path / f"run {name}")
            assert told.crash == ""
            assert not any(KEY in f"{asked}" for asked in server.asked)
            if name:
                assert (told.code, server.asked) == (2, [])
                assert f"--trust-host {server.url}={name}" in told.errors


@pytest.mark.parametrize(
    ("url", "named"),
    [
        (HOST, "MY_KEY"),
        ("http://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.openai.com:8443/v1", "OPENAI_API_KEY"),
        ("https://api.openai.com.example.org/v1", "OPENAI_API_KEY"),
        ("http://localhost.example.org/v1", "OPENAI_API_KEY"),
        ("http://192.168.1.20:8000/v1", "VLLM_API_KEY"),
        ("http://[fd00::7]:8000/v1", "VLLM_API_KEY"),
        ("https://llm.example.org:80/v1", "VLLM_API_KEY"),
        ("https://evil.openai.azure.com/v1", "OPENAI_API_KEY"),
    ],
)
def test_a_host_that_is_not_confirmed_is_refused_with_the_remedy(url, named):
    """What is to be added is taken from the message, as a user copies it."""
    with pytest.raises(TomevalError) as raised:
        read_key(url, named)
    text = str(raised.value)
    assert KEY not in text
    assert 'key_env = ""' in text
    (flag,) = re.findall(r"--trust-host (\S+)\. ", text)
    with trusting([flag]):
        assert read_key(url, named) == (named, f"{KEY}-{named}")


@pytest.mark.parametrize(
    "url",
    [
        "https://api.opena\u0131.com/v1",
        "https://api.openai.com\\@example.org/v1",
        "https://a%2eb",
        "https://a:99999",
        "https://[::1",
    ],
)
def test_an_address_that_programs_read_differently_is_refused(url):
    with pytest.raises(TomevalError, match=r"is not a host|cannot be read"):
        read_key(url, "OPENAI_API_KEY")


@pytest.mark.parametrize("url", [HOST, "http://10.0.0.7:8000/v1", "http://api.openai.com.x.org/v1"])
def test_hosts_for_which_no_key_was_given_get_none(url):
    assert read_key(url, None) == ("", "")


def test_the_key_of_a_provider_never_goes_to_another():
    with trusting(["openrouter.ai=OPENAI_API_KEY"]), pytest.raises(TomevalError) as raised:
        read_key("https://openrouter.ai/api/v1", "OPENAI_API_KEY")
    assert "never sent" in str(raised.value)
    assert "OPENROUTER_API_KEY" in str(raised.value)


def test_a_host_is_confirmed_for_one_variable_one_port_and_one_scheme():
    with trusting(["llm.example.org=MY_KEY", "http://gpu:81=MY_KEY"]):
        for url in (HOST, "https://LLM.example.org:443/v1", "http://gpu:81/v1", "https://gpu:81/"):
            assert read_key(url, "MY_KEY") == ("MY_KEY", f"{KEY}-MY_KEY")
            assert read_key(url, None)[0] == "MY_KEY"  # the one that is confirmed
        for url, name in (
            (HOST, "HF_TOKEN"),
            ("http://llm.example.org/v1", "MY_KEY"),
            ("https://llm.example.org:8443/v1", "MY_KEY"),
            ("http://gpu:82/v1", "MY_KEY"),
            ("http://gpu/v1", "MY_KEY"),
            ("https://x.llm.example.org/v1", "MY_KEY"),
        ):
            with pytest.raises(TomevalError, match="not confirmed"):
                read_key(url, name)
    with pytest.raises(TomevalError, match="not confirmed"):
        read_key(HOST, "MY_KEY")


def test_without_a_key_nothing_need_be_confirmed(monkeypatch):
    assert read_key(HOST, "") == ("", "")
    assert read_key(HOST, "OTHER_KEY") == ("OTHER_KEY", "")
    monkeypatch.delenv("OPENAI_API_KEY")
    assert read_key("https://api.openai.com/v1", None) == ("", "")


@pytest.mark.parametrize(
    "name", ["PATH", "DATABASE_URL", "AWS_SECRET_ACCESS_KEY", "SSH_PRIVATE_KEY", "KEY", "A B_KEY"]
)
def test_names_that_are_not_of_api_keys_are_refused(name, monkeypatch):
    monkeypatch.setenv(name, KEY)
    with pytest.raises(TomevalError, match="not the name of an API key"):
        read_key("http://127.0.0.1:1/v1", name)
    for good in ("OPENAI_API_KEY", "HF_TOKEN", "my_key", "AZURE_OPENAI_API_KEY"):
        check_key_name(good)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("llm.example.org/path=MY_KEY", "is not a host"),
        ("https://a@b=MY_KEY", "is not a host"),
        ("llm.example.org=PATH", "not the name of an API key"),
        ("llm.example.org", "write HOST=VARIABLE, as llm.example.org=MY_KEY"),
    ],
)
def test_a_wrong_host_is_an_error_that_names_it(flag, message):
    with trusting([flag]), pytest.raises(TomevalError, match=message):
        read_key(HOST, "MY_KEY")


def test_nothing_of_the_environment_goes_to_another_host(monkeypatch):
    """The SDK would send headers and names of organisations to any host."""
    planted = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY")
    for name in planted:
        monkeypatch.setenv(name, f"{KEY}-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"Authorization: Bearer {KEY}\nX-Other: {KEY}")
    with Listener(lambda _: chat("J")) as server:

        async def ask():
            client = Client(f"{server.url}/v1", OpenAIOptions())
            await client.get("models")
            await client.post("chat/completions", {"model": "m"})
            await client.close()

        asyncio.run(ask())
    assert [asked.method for asked in server.asked] == ["GET", "POST"]
    for asked in server.asked:
        assert KEY not in str(asked)
        assert "authorization" not in map(str.lower, asked.headers)


def test_a_refusal_for_want_of_a_key_says_how_to_name_it(monkeypatch):
    """A server with a key of its own, such as vLLM's, whose variable nobody has named."""
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    with Listener(lambda _: (401, {}, "no")) as server:
        client = Client(f"{server.url}/v1", OpenAIOptions())

        async def ask():
            try:
                await client.get("models")
            finally:
                await client.close()

        with pytest.raises(
            Stopped, match=r"no key was sent: name the .* that holds it with key_env"
        ):
            asyncio.run(ask())
    assert not any(KEY in str(asked.headers) for asked in server.asked)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed(status):
    with Listener(lambda _: chat("J")) as other:
        moved = {"Location": f"{other.url}/v1/models"}
        with Listener(lambda _: (status, moved, "")) as server:
            with trusting([f"{server.url}=OPENAI_API_KEY"]):
                client = Client(f"{server.url}/v1", OpenAIOptions())

            async def ask():
                try:
                    await client.get("models")
                finally:
                    await client.close()

            with pytest.raises(Exception, match=r"it redirects to '.*', which is not followed"):
                asyncio.run(ask())
            assert server.asked[0].headers["authorization"] == f"Bearer {KEY}-OPENAI_API_KEY"
        assert other.asked == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("inspect:openai/m", {"base_url": HOST}, "OPENAI_API_KEY would be sent"),
        ("inspect:openai/m", {"model_args": {"base_url": HOST}}, "OPENAI_API_KEY would be sent"),
        ("inspect:openai-api/my-lab/m", {"base_url": HOST}, "MY_LAB_API_KEY would be sent"),
        ("inspect:anthropic/m", {"base_url": "https://api.openai.com/v1"}, "never sent"),
        ("inspect:openai/m", {"base_url": "http://127.0.0.1:81/v1"}, "OPENAI_API_KEY would be"),
        ("inspect:openai/m", {"base_url": "https://a:b@127.0.0.1/v1"}, "holds a user name"),
        ("inspect:openai/m", {"model_args": {"api_key": "k"}}, "put keys into environment"),
        ("inspect:hf/m", {"model_args": {"trust_remote_code": True}}, "--trust-remote-code"),
        ("inspect:vllm/m", {"model_args": {"a": [{"trust-remote-code": ""}]}}, "--trust-remote"),
    ],
)
def test_inspect_gets_no_address_and_no_code_that_is_not_confirmed(name, options, message):
    with pytest.raises(TomevalError, match=message):
        open_model({"name": name, **options}, scores=False)


def test_the_code_of_a_model_folder_needs_the_users_word(tmp_path):
    spec = {"name": f"hf:{tmp_path}", "trust_remote_code": True}
    with pytest.raises(TomevalError, match="confirm it with --trust-remote-code"):
        open_model(spec)
    with trusting(code=True), pytest.raises(TomevalError, match="has no config"):
        open_model(spec)
    with pytest.raises(TomevalError, match="confirm it"):
        open_model(spec)
