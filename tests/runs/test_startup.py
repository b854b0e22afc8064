"""Start-up questions: what is asked of served models, what is said of the replies, what is kept."""

from __future__ import annotations

import contextlib
import json
import logging
import threading

import pytest
from every_domain import experiment
from fake_server import FakeServer
from support import dump

from tomeval.core.errors import TomevalError
from tomeval.models.served.http_patience import ServerGone
from tomeval.models.served.limits import Budget, BudgetExceeded, SelfTest
from tomeval.runs.experiment import make_experiment
from tomeval.runs.results import Run
from tomeval.runs.runner import run_experiment
from tomeval.runs.startup import SELF_TEST
from tomeval.strategies.readers import MARKER


class Game(FakeServer):
    """Answers questions of games by `say`: a text, or a chat message with a finish reason."""

    def __init__(self, say) -> None:
        super().__init__("vllm")
        self.say, self.down = say, False
        self._one = threading.Lock()

    def tested(self) -> int:
        """Return how many requests of the backend's own test have run the model."""
        return len(self.requests) - len(self.asked())

    def asked(self) -> list[str]:
        """Return the questions of games so far; the backend's own test mentions none."""
        texts = ["\n\n".join(m["content"] for m in b.get("messages", ())) for _, b in self.requests]
        return [text for text in texts if "game" in text]

    def _chat(self, body):
        text = "\n\n".join(message["content"] for message in body["messages"])
        if "game" not in text:
            return super()._chat(body)
        said = self.say(text)
        with self._one:  # start-up questions are asked side by side
            self.reply = {"content": said} if isinstance(said, str) else dict(said)
            answer = super()._chat(body)
            self.reply = {}
        return answer

    def post(self, path, body):
        if self.down and "game" in json.dumps(body):
            return 503, {"error": {"message": "down"}}
        return super().post(path, body)


def everything(text: str) -> str:
    if '{"code"' in text:
        return f'{MARKER} {{"code": [1, 2, 3]}}'
    return f"{MARKER} J" if MARKER in text else "They always choose J."


def play(server, folder, domain="matrix", **more):
    spec = {"name": f"openai:toy@{server.url}", "scoring": "off", "retry_budget": 0}
    options = {k: more.pop(k) for k in ("startup_test", "budget") if k in more}
    made = make_experiment(experiment(domain, more.pop("spec", spec), **{"episodes": 1} | more))
    return run_experiment(made, folder, concurrency=1, **options)


def log(folder) -> list[dict]:
    """Return what was kept of start-up questions, without the answers of self-tests."""
    entries = json.loads((folder / "startup.json").read_text())
    return [entry for entry in entries if entry["purpose"] != SELF_TEST]


STRATEGIES = ["QA", "CoT", "S2A", "Reflexion 1", "Social QA", "Plans + Insights"]
MANY = [{"strategy": STRATEGIES, "max_attempts": 2}]


@pytest.fixture
def said(caplog):
    """Return what was said of the start-up questions, on one line."""
    caplog.set_level(logging.INFO, "tomeval.runs.startup")
    return lambda: " ".join(" ".join(caplog.messages).split())


def test_one_question_of_each_kind(tmp_path, said) -> None:
    with Game(everything) as server:
        play(server, tmp_path / "run", subjects=MANY)
        found = log(tmp_path / "run")
        kinds = [(entry["purpose"], entry["kind"], entry["explained"]) for entry in found]
        assert sorted(kinds) == [
            ("act", "cot", True),
            ("act", "qa", False),
            ("act", "qa", True),  # with notes
            ("predict", "cot", True),
            ("predict", "qa", False),
            ("reflect", "lesson", False),
            ("summarise", "summary", False),
        ]
        assert "start-up questions to toy: 7 of 7 readable (" in said()
        assert said().count("(") == 1  # nothing is notable
        # Really sent, in full, before any other, with a past; and they never become rows.
        first = server.asked()[:7]
        assert sorted(f"[user]\n{text}" for text in first) == sorted(
            entry["call"]["prompt_rest"] for entry in found
        )
        assert {entry["call"]["step"] for entry in found} == {2, 3}  # a reflection is on round 2
        asked = len(server.asked())
        play(server, tmp_path / "without", subjects=MANY, startup_test=False)
        assert len(server.asked()) == 2 * asked - 7
    for tables in (one := dump(tmp_path / "run"), dump(tmp_path / "without")):
        tables["calls"] = [_timeless(row) for row in tables["calls"]]
        assert tables == one
    assert log(tmp_path / "without") == []


def _timeless(row):
    record = json.loads(row[-1])
    record["reply"].pop("latency")
    return (*row[:-1], json.dumps(record))


def test_they_are_asked_once(tmp_path, said) -> None:
    with Game(everything) as server:
        play(server, tmp_path / "run")
        assert len(log(tmp_path / "run")) == 2
        play(server, tmp_path / "run", episodes=2)
        assert len(log(tmp_path / "run")) == 2
        assert said().count("2 of 2 readable") == 1
        before = len(server.asked())
        play(server, tmp_path / "run", episodes=2)  # nothing is left to play
        assert len(server.asked()) == before


def test_a_resumed_run_asks_none_in_the_words_of_another_cell(tmp_path) -> None:
    two = {"games": ["RPS", "IPD"], "horizon": 2, "subjects": [{"strategy": "QA"}]}
    with Game(everything) as server:
        play(server, tmp_path / "whole", **two)
        needed = server.asked()
        assert len(needed) == 2 + 2 * 2 * 2
        own = len(server.requests) - len(needed)  # calls of the backend's own test
        with pytest.raises(BudgetExceeded):
            play(server, tmp_path / "run", **two, budget=Budget(own + 2 + 4 + 1))
        with Run(tmp_path / "run") as run:
            assert [row["complete"] for row in run.status()] == [1, 0]
        play(server, tmp_path / "run", **two)
        assert sorted(server.asked()[len(needed) :]) == sorted(needed)
    assert len(log(tmp_path / "run")) == 2


@pytest.mark.parametrize("startup_test", [True, False])
def test_a_resumed_run_pays_for_no_self_test(tmp_path, startup_test) -> None:
    options = {"episodes": 3, "startup_test": startup_test}
    with Game(everything) as server:
        play(server, tmp_path / "whole", **options)
        needed, tested = server.asked(), server.tested()
        assert tested >= 3
        asked = []
        for session in range(9):  # each is stopped by its cap
            server.requests.clear()
            with contextlib.suppress(BudgetExceeded):
                play(server, tmp_path / "run", **options, budget=Budget(tested + 2))
            assert server.tested() == (0 if session else tested)
            asked += server.asked()
    assert sorted(asked) == sorted(needed)
    one, other = dump(tmp_path / "whole"), dump(tmp_path / "run")
    for tables in (one, other):
        tables["calls"] = [_timeless(row) for row in tables["calls"]]
    assert one == other


def test_a_self_test_that_failed_is_asked_anew(tmp_path) -> None:
    with Game(everything) as server:
        options = {
            "spec": {"name": f"openai:toy@{server.url}", "retry_budget": 0},
            "subjects": [{"strategy": "LM"}],
        }
        server.lie = "missing"
        with pytest.raises(TomevalError, match="labels cannot be scored"):
            play(server, tmp_path / "run", **options)
        assert not (tmp_path / "run" / "startup.json").exists()
        server.lie = ""
        play(server, tmp_path / "run", **options)
        entries = json.loads((tmp_path / "run" / "startup.json").read_text())
        answers = [entry["answer"] for entry in entries if entry["purpose"] == SELF_TEST]
        assert len(answers) >= 5  # draws, and two prompts scored


def test_answers_are_of_one_question_one_time_and_one_server() -> None:
    class Kept(dict):
        kept_answer = dict.get

        def keep_answers(self, model, answers) -> None:
            self.update(answers)

    kept = Kept()
    first = SelfTest(kept, "toy", "http://one", "version=1")
    for said in ("a", "b"):  # the same question twice
        mark = first.mark("chat", {"seed": 1})
        assert first.answer(mark) is None
        first.note(mark, said)
    assert not kept
    first.passed()
    again = SelfTest(kept, "toy", "http://one", "version=1")
    marks = [again.mark("chat", {"seed": 1}) for _ in range(3)]
    assert list(map(again.answer, marks)) == ["a", "b", None]
    for about in (("http://two", "version=1"), ("http://one", "version=2")):
        test = SelfTest(kept, "toy", *about)
        assert test.answer(test.mark("chat", {"seed": 1})) is None
    assert again.answer(again.mark("chat", {"seed": 2})) is None


def test_a_damaged_log_is_kept_aside(tmp_path, caplog) -> None:
    with Game(everything) as server:
        play(server, tmp_path / "run")
        (tmp_path / "run" / "startup.json").write_text("[{")
        play(server, tmp_path / "run", episodes=2)
    assert "startup.json: damaged; it is kept as startup.json.damaged" in caplog.text
    assert (tmp_path / "run" / "startup.json.damaged").read_text() == "[{"
    assert len(log(tmp_path / "run")) == 2


@pytest.mark.parametrize("domain", ["matrix", "decrypto"])
@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("Well, why not?\nOne is fine.\n", "it explains before its answer (6 words)"),
        ("<think>J? F?</think>", "it thinks first (3 tokens including the answer)"),
        ({"reasoning_content": "J? F?"}, "it thinks first (3 tokens including the answer)"),
        ({"content": "Now let", "finish_reason": "length"}, "truncated ({kind}, at most "),
        ({"content": "no\x1b[2J\n"}, r': "no\x1b[2J\n"'),
        ({"content": "no", "finish_reason": "content_filter"}, "refusal ({kind}, at most"),
    ],
)
def test_what_is_notable(tmp_path, said, caplog, domain, message, words) -> None:
    def say(text):
        if isinstance(message, str):
            return message + everything(text)
        return {"content": everything(text)} | message

    kind, number = ("code", 1) if domain == "decrypto" else ("qa", 2)
    with Game(say) as server:
        play(server, tmp_path / "run", domain)
    assert said().count(words.format(kind=kind)) >= number
    readable = number if words.startswith("it ") else 0
    assert f"{readable} of {number} readable" in said()
    level = caplog.records[0].levelname
    assert level == ("INFO" if readable else "WARNING")
    assert all(words.format(kind=kind) in " ".join(e["remarks"]) for e in log(tmp_path / "run"))


def test_explanations_that_were_asked_for_are_not_notable(tmp_path, said) -> None:
    with Game(lambda text: "I think so.\n" + everything(text)) as server:
        play(server, tmp_path / "run", subjects=[{"strategy": "CoT"}])
    assert "2 of 2 readable" in said()
    assert "explains" not in said()


def test_each_model_is_asked_and_only_served_ones(tmp_path, said) -> None:
    with Game(everything) as one, Game(everything) as two:
        specs = [{"name": f"openai:toy@{s.url}", "scoring": "off"} for s in (one, two)]
        play(one, tmp_path / "run", spec=specs, games=["IPD", "IBS"])
        assert len(log(tmp_path / "run")) == 4
        assert said().count("to toy: 2 of 2") == 2
        assert "127.0.0.1" not in said()
    from support import scripts

    with scripts(rule=lambda request: f"{MARKER} J"):
        play(one, tmp_path / "scripted", spec="scripted:rule")
    assert not (tmp_path / "scripted" / "startup.json").exists()


def test_they_count_against_caps_and_paid_replies_are_kept(tmp_path) -> None:
    with Game(everything) as server:
        play(server, tmp_path / "probe")
        own = len(server.requests) - len(server.asked())  # calls of the backend's own test
        with pytest.raises(BudgetExceeded, match=f"before call {own + 2}"):
            play(server, tmp_path / "run", budget=Budget(own + 1))
        assert len(log(tmp_path / "run")) == 1
        before = len(server.asked())
        play(server, tmp_path / "run")
        assert len(log(tmp_path / "run")) == 2
        assert len(server.asked()) - before == 1 + 6  # the other question; two in each of 3 steps


def test_no_reply_is_told_and_the_question_asked_again_later(tmp_path, said) -> None:
    with Game(everything) as server:
        server.down = True
        with pytest.raises(ServerGone, match=r"3 requests in a row were not answered.*503: down"):
            play(server, tmp_path / "run")
        assert "0 of 2 readable" in said()
        assert said().count("there was no reply") == 2
        server.down = False
        play(server, tmp_path / "run")
        assert "2 of 2 readable" in said()


def test_a_question_longer_than_the_context_is_told(tmp_path, said, monkeypatch) -> None:
    from tomeval.models.base import ContextExceeded
    from tomeval.models.served.openai_api import OpenAIModel

    async def generate(self, request):
        raise ContextExceeded("needs 9,000 tokens")

    with Game(everything) as server:
        monkeypatch.setattr(OpenAIModel, "generate", generate)
        play(server, tmp_path / "run")
    assert said().count("the question is longer than the model's context: needs 9,000") == 2
