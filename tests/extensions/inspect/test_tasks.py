"""Tasks of inspect_ai against runs with the same scripted replies; their logs as run folders."""

import gc
import hashlib
import json
import math
import re
import shutil
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from asking import query

from tomeval.cli import main
from tomeval.core.errors import TomevalError
from tomeval.extensions.inspect.episodes import KEPT, recorded_log
from tomeval.games.arena.cells import ArenaCell
from tomeval.games.arena.scripts import play_arena
from tomeval.games.decrypto.scripts import play_decrypto
from tomeval.models.base import GenerateRequest, Message, Prompt, Sampling
from tomeval.play.runner import run_experiment
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import make_experiment
from tomeval.runs.folder import import_games
from tomeval.runs.results import Run

inspect_ai = pytest.importorskip("inspect_ai", reason="needs inspect-ai")

from inspect_ai._util.error import PrerequisiteError  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelOutput,
    ModelUsage,
    get_model,
)

from tomeval.extensions.inspect import InspectModel, tasks  # noqa: E402

# Of the package itself, on each call; older versions leave files open.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SMALL = {"games": "RPS", "horizon": 3, "episodes": 4}


def drawn(request):
    """Answer by a hash of prompt and seed: an action, or now and then nothing readable."""
    text = f"{[m.content for m in request.prompt.messages]} {request.seed}"
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    names = re.findall(r"Rock|Paper|Scissors", request.prompt.messages[-1].content)
    return f"Final answer: {names[number % len(names)]}" if names and number % 5 else "no idea"


def mock(script):
    """Return a model of inspect_ai's that answers as a script does."""

    def answer(messages, tools, choice, config):
        said = tuple(Message(m.role, m.text) for m in messages)
        request = GenerateRequest(Prompt(said), Sampling(), config.seed or 0)
        text = "word" if "a word of your choice" in said[-1].content else script(request)
        if isinstance(text, Exception):
            raise text
        message = ChatMessageAssistant(content=text, model="mock-1", source="generate")
        usage = ModelUsage(input_tokens=50, output_tokens=2, total_tokens=52)
        return ModelOutput(
            model="mock-1", choices=[ChatCompletionChoice(message=message)], usage=usage
        )

    return get_model("mockllm/model", custom_outputs=answer, memoize=False)


def evaluated(task, model, folder, **more):
    """Return the log of an eval, read from its file, and the file."""
    with warnings.catch_warnings(action="ignore"):  # of the package, and what it leaves open
        (log,) = inspect_ai.eval(
            task, model=model, log_dir=str(folder), display="none", log_level="error", **more
        )
        path = Path(log.location.removeprefix("file://"))
        log = read_eval_log(str(path), resolve_attachments=True)
        gc.collect()
    return log, path


@pytest.fixture(autouse=True)
def _nothing_left():
    yield
    with warnings.catch_warnings(action="ignore"):
        gc.collect()


def missing(value):
    """Tell whether a score is NaN, for which older versions write null."""
    return value is None or math.isnan(value)


def played(task, model, folder, monkeypatch):
    """Return the run of a task's experiment with the same model; line-ups play once."""
    monkeypatch.setattr(InspectModel, "_open", lambda self: model)
    data = dict(task.metadata[KEPT]["experiment"])
    get_domain(data["domain"]).experiment.use_model(data, "inspect:mockllm/model")
    experiment = make_experiment(data)
    if data["name"] == "arena_reference" and experiment.cells:  # whose schedule is checked by now
        monkeypatch.setattr(ArenaCell, "wanted", lambda self, planned: 1)
    run_experiment(experiment, folder)
    return Run(folder)


def imported(path, folder):
    domain, games = recorded_log(path)
    import_games(get_domain(domain), lambda: games, folder)
    return Run(folder), games.notes


def made(name):
    if name == "repeated_games":
        both = {"partners": ["tit_for_tat", "single_action"], "strategies": ["QA", "Social QA"]}
        return tasks.repeated_games(**{**SMALL, **both}), drawn
    if name == "decrypto":
        task = tasks.decrypto(strategies="QA", horizon=3, episodes=2)
        return task, play_decrypto
    return tasks.arena_reference(games="blotto", episodes=1), play_arena


@pytest.mark.parametrize("name", ["repeated_games", "decrypto", "arena_reference"])
def test_the_numbers_are_those_of_a_run_on_the_same_replies(name, tmp_path, monkeypatch):
    task, script = made(name)
    log, path = evaluated(task, mock(script), tmp_path / "logs")
    assert log.status == "success", log.error
    run = played(task, mock(script), tmp_path / "run", monkeypatch)
    back, notes = imported(path, tmp_path / "back")
    assert not notes
    scored = {
        (s.metadata["cell"], s.metadata["episode"]): s.scores["episode"].value for s in log.samples
    }
    told = {key: one.value for key, one in log.results.scores[0].metrics.items()}
    seen = 0
    numbers = sorted({number for number, _ in scored})
    for cell in (run.cells[number] for number in numbers):
        other = back.cells[cell.number]
        assert cell.definition == other.definition
        whole = cell.estimate(list(run.measures)), other.estimate(list(run.measures))
        assert str(whole[0]) == str(whole[1])
        for at, (measure, values) in enumerate(cell.metrics().items()):
            for episode, value in zip(cell.episodes.tolist(), values, strict=True):
                mine = scored[cell.number, episode].get(measure)
                mine = math.nan if mine is None else mine
                assert mine == pytest.approx(value, abs=1e-9, nan_ok=True)
                seen += math.isfinite(value)
            for end, part in (("", "mean"), (" low", "low"), (" high", "high")):
                value = float(getattr(whole[0], part)[at])
                keys = [k for k in told if k == measure + end or k.endswith(f": {measure}{end}")]
                if math.isfinite(value):
                    near = [told[k] for k in keys if abs(told[k] - value) < 1e-9]
                    assert near, (measure, end)
    assert seen > 20
    for table in ("steps", "answers"):
        mine = ", ".join(map(str, numbers))
        sql = f"SELECT * FROM {table} WHERE cell IN ({mine}) ORDER BY 1, 2, 3, 4"
        assert query(run, sql, ()) == query(back, sql, ())


@pytest.fixture(scope="module")
def log_of_qa(tmp_path_factory):
    """The file of an eval of one cell."""
    task = tasks.repeated_games(partners="tit_for_tat", **SMALL)
    log, path = evaluated(task, mock(drawn), tmp_path_factory.mktemp("logs"))
    assert not any("," in str(sample.id) for sample in log.samples)  # where --sample-id splits
    return path


def test_void_episodes_are_counted_and_have_no_score(tmp_path):
    def script(request):
        first = any("round 1 of 3" in m.content for m in request.prompt.messages)
        return drawn(request) if first and request.seed % 2 else "no idea"

    task = tasks.repeated_games(partners="tit_for_tat", **SMALL)
    log, path = evaluated(task, mock(script), tmp_path)
    told = {key: one.value for key, one in log.results.scores[0].metrics.items()}
    assert told["episodes"] == told["void"] == 4
    assert "delta_functional_per_step" not in told
    for sample in log.samples:
        score = sample.scores["episode"]
        assert score.answer == "void"
        assert score.explanation == "void: unparsable"
        assert missing(score.value["delta_functional_per_step"])
        assert (score.value["void"], score.value["invalid_percent"] > 0) == (1, True)
    run, _ = imported(path, tmp_path / "back")
    assert len(run.cells[0].episodes) == 0


def changed(path, folder, change):
    """Return a copy of a log whose members were changed as JSON."""
    copy = folder / f"changed{len(list(folder.iterdir()))}.eval"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            data = json.loads(old.read(name))
            change(name, data)
            new.writestr(name, json.dumps(data))
    return copy


def refused(path):
    with pytest.raises(TomevalError) as error:
        recorded_log(path)
    assert "\n" not in str(error.value)
    return str(error.value)


DAMAGE = {
    "cell -1, episode 0: is none of a run": {"cell": -1},
    "other than those named": {"digest": ""},
    "000: is none of a run": {"rows": {"episode": 10**30}},
    "damaged: TypeError": {"rows": {"surplus": 1}},
}


@pytest.mark.parametrize("said", DAMAGE)
def test_a_damaged_log_is_refused_in_a_line(said, log_of_qa, tmp_path):
    def change(name, data):
        if name.startswith("samples/"):
            kept, new = data["store"][KEPT], DAMAGE[said]
            if "rows" in new:
                new = {"rows": json.dumps(json.loads(kept["rows"]) | new["rows"])}
            kept |= new

    assert said in refused(changed(log_of_qa, tmp_path, change))


def test_logs_of_others_are_refused_in_a_line(log_of_qa, tmp_path, monkeypatch, capsys):
    path = log_of_qa

    def version(name, data):
        if name in ("header.json", "_journal/start.json"):
            data["eval"]["metadata"][KEPT]["version"] = "0.0.1"

    def stranger(name, data):
        if name in ("header.json", "_journal/start.json"):
            data["eval"]["metadata"] = None

    assert "was written by tomeval '0.0.1'" in refused(changed(path, tmp_path, version))
    assert "not of tomeval's own" in refused(changed(path, tmp_path, stranger))
    cut = tmp_path / "cut.eval"
    cut.write_bytes(path.read_bytes()[:2000])
    assert "cannot be read as a log" in refused(cut)
    assert "cannot be read as a log" in refused(tmp_path / "none.eval")
    imported(path, tmp_path / "back")[0].close()
    monkeypatch.chdir(tmp_path)
    shutil.copy(path, "log.eval")
    for code in (0, 2):  # then the folder is there
        monkeypatch.setattr(sys, "argv", ["tomeval", "import", "log.eval"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert (ended.value.code or 0) == code
    said = capsys.readouterr()
    assert said.out.split() == ["runs/log"]
    assert "already exists" in said.err


@pytest.mark.parametrize(
    ("task", "given", "said"),
    [
        ("repeated_games", {"partners": "tit_for_tatt"}, "did you mean 'tit_for_tat'"),
        ("repeated_games", {"gamess": "IPD"}, "unknown parameter 'gamess' (did you mean 'games'?)"),
        ("arena_reference", {"games": "bloto"}, "did you mean 'blotto'"),
    ],
)
def test_bad_parameters_are_one_line_with_the_near_match(task, given, said):
    with pytest.raises(PrerequisiteError) as error:
        getattr(tasks, task)(**given)
    assert said in str(error.value.message)
    assert "\n" not in str(error.value.message)


def test_what_an_eval_cannot_be_told_is_said(tmp_path):
    task = tasks.repeated_games(partners="tit_for_tat", **SMALL)
    for more, said in (
        ({"temperature": 0.0}, "use -T temperature"),
        ({"epochs": 2}, "raise -T episodes"),
        ({"system_message": "Defect."}, "system_message: is set for the model"),
    ):
        log, _ = evaluated(task, mock(drawn), tmp_path, **more)
        assert log.status == "error"
        assert said in log.error.message
    log, _ = evaluated(task, "none/none", tmp_path)
    assert "name one with --model" in log.error.message
    scored = tasks.repeated_games(partners="tit_for_tat", strategies="LM", **SMALL)
    log, _ = evaluated(scored, mock(drawn), tmp_path)
    assert "labels cannot be scored by inspect_ai" in log.error.message


def test_errors_and_limits_end_samples_and_no_episode_is_made_of_them(tmp_path):
    def script(request):
        lost = "round 2 of 3" in request.prompt.messages[-1].content and request.seed % 3 == 0
        return RuntimeError("the server is down") if lost else drawn(request)

    task = tasks.repeated_games(partners="tit_for_tat", **{**SMALL, "episodes": 12})
    log, path = evaluated(task, mock(script), tmp_path / "a", fail_on_error=False)
    lost = [s for s in log.samples if s.error]
    assert 0 < len(lost) < 12
    assert all("the server is down" in s.error.message for s in lost)
    run, notes = imported(path, tmp_path / "back")
    assert query(run, "SELECT COUNT(*) FROM episodes", ())[0][0] == 12 - len(lost)
    assert notes[0].startswith(f"{len(lost)} of 12 samples")
    log, path = evaluated(task, mock(drawn), tmp_path / "b", token_limit=120)
    assert all(sample.limit.type == "token" for sample in log.samples)
    assert all(missing(sample.scores["episode"].value) for sample in log.samples)
