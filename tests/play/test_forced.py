"""Answers of local models that are held to their form: ``structured = "auto"``."""

from __future__ import annotations

import json
import math
from collections import Counter

import pytest
from support import stored

import tomeval
from tomeval.core.outcomes import run_now
from tomeval.games.arena.records import game_records
from tomeval.models.base import Capabilities, Message, Prompt, Reply, Sampling, Scores
from tomeval.models.scripted import ScriptedModel
from tomeval.runs.notes import enforced_notes
from tomeval.strategies import compose
from tomeval.strategies.asking import Asker, Asking
from tomeval.strategies.labels import Labels
from tomeval.strategies.recording import Overheard
from tomeval.strategies.shapes import JsonShape


@pytest.fixture(scope="module")
def garbage(tmp_path_factory):
    """Return a model of random weights: no reply of it can be read."""
    pytest.importorskip("torch", reason="needs torch")
    pytest.importorskip("transformers", reason="needs transformers")
    from tiny import make_model

    folder = make_model(tmp_path_factory.mktemp("model") / "tiny", template="chatml")
    config = json.loads((folder / "config.json").read_text()) | {"max_position_embeddings": 8192}
    (folder / "config.json").write_text(json.dumps(config))
    # Thinking that never ends leaves no notes, and voids an episode whatever its answers are.
    for name in ("tokenizer.json", "tokenizer_config.json"):
        text = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text.replace("think>", "other>"), encoding="utf-8")
    return folder


def model(folder, **more):
    return {"name": f"hf:{folder}", "structured": "auto", **more}


SIXTEEN = [point.name for point in compose.NAMED]


def test_every_strategy_is_measured_whatever_the_model_writes(garbage, tmp_path) -> None:
    subjects = [{"strategy": SIXTEEN, "max_tokens": 8, "max_attempts": 1}]
    data = {"games": "RPS", "partners": "single_action", "labels": "neutral", "horizon": 2}
    data |= {"episodes": 1, "model": model(garbage), "subjects": subjects}
    with tomeval.run(data, tmp_path / "run", go_on=True) as run:
        assert all(row["episodes"] >= 1 for row in run.rows())
        assert len(run.cells) == len(SIXTEEN)
        [note] = enforced_notes(run)
    assert "answers were held to their form" in note
    assert " 0 say the same" in note


def test_rows_do_not_depend_on_the_batch(garbage, tmp_path) -> None:
    subjects = [{"strategy": ["QA", "CoT"], "max_tokens": 8}]
    data = {"games": "IPD", "partners": "tit_for_tat", "horizon": 3, "episodes": 4, "seed": 5}
    data |= {"model": model(garbage, dtype="float32"), "subjects": subjects}
    rows = []
    for concurrency in (1, 4):
        with tomeval.run(data, tmp_path / str(concurrency), concurrency=concurrency) as run:
            rows.append(list(stored(run, "steps", "own_action", "predicted_action")))
    assert rows[0] == rows[1]


def test_codes_and_votes_are_held_too(garbage, tmp_path) -> None:
    decrypto = {
        "domain": "decrypto",
        "players": {"m": {"model": model(garbage), "max_tokens": 8}, "e": {"embedding": "minilm"}},
        "pairings": [{"encoder": "e", "decoder": "m", "interceptor": "m"}],
        "episodes": 1,
    }
    with tomeval.run(decrypto, tmp_path / "decrypto") as run:
        assert run.rows()[0]["episodes"] == 1
    arena = {
        "domain": "arena",
        "games": {"g": {"game": "mafia", "talk": "none"}},
        "players": {"m": {"model": model(garbage), "max_tokens": 8}, "f": {"kind": "follower"}},
        "lineups": [{"game": "g", "subject": "m", "others": "f"}],
        "episodes": 1,
        "values": False,
    }
    with tomeval.run(arena, tmp_path / "arena") as run:
        assert run.rows()[0]["episodes"] == 1
        # What the model wrote freely could not be read, and is no error of the game.
        (spent,) = run.store.summary(0).spent.values()
        assert (spent.free > 0, spent.agree) == (True, 0)
        tried = stored(run, "steps", "slot", "tries", "attempts", "answered")
        mine = {tuple(rest) for slot, *rest in tried if slot == 0}
        assert mine == {(None, 1, "valid")}
        assert game_records(run)[0].caused("m") == []


READER = Labels(("J", "F"))
LOGPROBS = (math.log(0.3), math.log(0.1))


class Comparing(ScriptedModel):
    """Writes one text, and finds the first label three times as likely as the second."""

    def __init__(self, text: str) -> None:
        self.prompts: list[Prompt] = []
        super().__init__(self._say)
        self.capabilities = Capabilities(compares=True)
        self.text = text

    def _say(self, request):
        self.prompts.append(request.prompt)
        if hasattr(request, "labels"):
            assert request.labels == READER.labels
            return Scores(LOGPROBS, 0.4, "scripted")
        return Reply(self.text)


def ask(text: str, step: int, kind: str = "qa", temperature: float = 1.0, seed: str = "s"):
    """Ask a question; return answer, text, the prompts and the log."""
    line = Asker(mine := Comparing(text), Asking(Sampling(temperature=temperature)), seed)
    prompt = Prompt((Message("user", "J or F?"),))
    asked = Overheard(line.how, "act", kind, prompt, step, READER, 50, kind == "cot")
    return (*run_now(line.answer(asked, READER)), mine.prompts, line.drain())


def test_a_free_answer_is_read_beside_the_first_of_an_episode() -> None:
    said, text, prompts, calls = ask("Final answer: J", 1, temperature=0)
    assert (said.value, text) == (0, "Final answer: J")
    assert said.details == {"method": "scripted", "mass": 0.4, "enforced": "compared"}
    assert [prompt.prefill for prompt in prompts] == ["", "Final answer:"]
    assert (calls[0]["free"], calls[0]["agrees"]) == ("valid", True)
    _, _, prompts, calls = ask("Well, F.", 2, temperature=0)
    assert [prompt.prefill for prompt in prompts] == ["Final answer:"]
    assert len(calls) == 1


def test_reasoning_stands_above_the_answer_and_its_own_answer_does_not() -> None:
    said, text, prompts, calls = ask("F repeats.\nFinal answer: F\nBye", 7, "cot", 0)
    assert prompts[-1].prefill == "F repeats.\nFinal answer:"
    assert (said.value, text) == (0, "F repeats.\nFinal answer: J")
    assert (calls[0]["free"], calls[0]["agrees"]) == ("valid", False)
    said, *_ = ask("Final answer: F\nFinal answer: F", 7, "cot", 0)
    assert said.value == 0  # whatever was marked before
    *_, calls = ask("I do not know", 7, "cot", 0)
    assert (calls[0]["free"], calls[0]["agrees"]) == ("unparsable", False)


@pytest.mark.parametrize(("temperature", "share"), [(1.0, 0.75), (0.5, 0.9), (2.0, 0.634)])
def test_answers_are_drawn_as_likely_as_the_model_has_them(temperature, share) -> None:
    # By hand: odds 3 to 1, to the power of 1 / temperature.
    drawn = Counter(ask("", 2, temperature=temperature, seed=str(n))[0].value for n in range(600))
    assert drawn[0] / 600 == pytest.approx(share, abs=0.06)


def test_what_cannot_be_listed_is_written() -> None:
    line = Asker(mine := Comparing('Final answer: {"n": [3]}'), Asking(Sampling()), "s")
    shape = JsonShape("n", int, 1, lambda items: items[0])
    asked = Overheard(line.how, "act", "qa", Prompt((Message("user", "?"),)), 2, shape, 50)
    said, _ = run_now(line.answer(asked, shape))
    assert (said.value, said.details) == (3, None)
    assert len(mine.prompts) == 1


def test_a_model_that_thinks_is_not_held(garbage, tmp_path, caplog) -> None:
    from tiny import make_model

    from tomeval.models.local.transformers import TransformersModel

    folder = make_model(tmp_path / "thinks", template="always")
    made = TransformersModel(str(folder), structured="auto")
    assert not made.capabilities.compares
    assert "the model thinks before it answers" in caplog.text
    assert TransformersModel(str(garbage), structured="auto").capabilities.compares
    assert not TransformersModel(str(garbage)).capabilities.compares
