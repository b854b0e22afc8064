"""Prompt templates: front matter, folders of one's own, and what a template cannot do."""

import pytest
from known import Known, fixed, make_setup, play

from tomeval.core.errors import TomevalError
from tomeval.games.matrix.games import get_game
from tomeval.strategies import all_strategies
from tomeval.strategies.templates import Prompts, load_prompts, prompt_sets

HEAD = '+++\ntitle = "t"\nsource = "s"\nversion = "1"\n'
GAME = get_game("IPD")


def write(folder, body="Hello", name="answer/qa_act", head=HEAD):
    path = folder / "matrix" / f"{name}.j2"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}+++\n{body}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Hello", "needs front matter"),
        ("+++\nHello", "needs front matter"),
        ("Hello\n+++\ntitle = 't'\n+++\nbody", "needs front matter"),
        ("+++\ntitle = t\n+++\nbody", "front matter is not valid TOML"),
        ("+++\ntitle = 't'\nsource = 's'\n+++\nbody", "lacks 'version'"),
        (HEAD + "verson = '1'\n+++\nbody", "unknown key 'verson' \\(did you mean 'version'"),
        ("+++\ntitle = 't'\nsource = 's'\nversion = 1\n+++\nbody", "version must be text, is 1"),
        (HEAD + "+++\n{% if %}", "not a valid template"),
        (HEAD + "+++\n{{ x | nofilter }}", "not a valid template"),
        (HEAD + "prefill = '{{'\n+++\nx", "not a valid template"),
    ],
)
def test_malformed(tmp_path, text, message):
    path = tmp_path / "matrix" / "answer" / "qa_act.j2"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TomevalError, match=message) as caught:
        Prompts("matrix", tmp_path).get("answer/qa_act")
    assert str(path) in str(caught.value)


def test_folders(tmp_path):
    with pytest.raises(TomevalError, match="no such folder"):
        Prompts("matrix", tmp_path / "none")
    (tmp_path / "empty" / "matrix").mkdir(parents=True)
    with pytest.raises(TomevalError, match="holds no prompt template"):
        Prompts("matrix", tmp_path / "empty")
    own = Prompts("matrix", write(tmp_path, "Mine {{ round }}"))
    assert own.render("answer/qa_act", round=3) == "Mine 3"
    assert own.get("answer/qa_predict").sha256 == Prompts("matrix").get("answer/qa_predict").sha256
    assert own.names() == Prompts("matrix").names()
    assert own.sha256() != Prompts("matrix").sha256()
    with pytest.raises(TomevalError, match="unknown prompt template 'answer/qa'"):
        own.get("answer/qa")


def test_sets_have_names_and_word_the_same_strategies_differently(tmp_path):
    load_prompts.cache_clear()
    assert prompt_sets("matrix") == ["default", "akata"]
    assert prompt_sets("decrypto") == ["default"]
    assert load_prompts("matrix", "default").sha256() == Prompts("matrix").sha256()
    default, akata = Prompts("matrix"), load_prompts("matrix", "akata")
    assert default.names() == akata.names()
    assert all(default.get(n).sha256 != akata.get(n).sha256 for n in default.names())
    with pytest.raises(
        TomevalError, match=r"prompts \(did you mean 'akata'\?\); the shipped sets are def"
    ):
        load_prompts("matrix", "akta", tmp_path)
    # What a question asks instead where its answer cannot be begun names every label once.
    values = {"own_options": "J or F", "partner_options": "X or Y", "own_action": "J", "round": 2}
    values |= {"own_labels": ["J", "F"], "partner_labels": ["X", "Y"]}
    for templates in (default, akata):
        for name in (name for name in templates.names() if "/lm_" in name):
            asked = templates.instead(name, **values)
            labels = ("J", "F") if name.endswith("act") and "react" not in name else ("X", "Y")
            assert all(asked.count(f" {label}") == 1 for label in labels), asked
            assert "only" in asked
            assert templates.prefill(name, **values)


@pytest.mark.parametrize(
    "body",
    [
        "{{ ''.__class__ }}",
        "{{ ('' | attr('__class__')) }}",
        "{{ own_options.__init__.__globals__ }}",
        "{{ '{0.__class__}'.format(own_options) }}",
        "{{ self.__init__.__globals__ }}",
        "{{ lipsum.__globals__['os'].popen('id').read() }}",
        "{% set x = [] %}{{ x.append(1) }}",
        "{{ range(10000000) | list }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}{{ os }}",
        "{% extends 'answer/qa_act' %}",
        "{{ open('/etc/passwd').read() }}",
        "{{ __import__('os') }}",
        "{{ partner_table }}",
        "{{ 1 / 0 }}",
        "{{ own_options + 1 }}",
        "{% macro f(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}",
    ],
)
def test_sandbox(tmp_path, body):
    """Nothing of Python's inside can be reached, and every failure is a message."""
    load_prompts.cache_clear()
    setup = make_setup(GAME, fixed(GAME, [0, 1]), "QA", 2, prompts=str(write(tmp_path, body)))
    with pytest.raises(TomevalError, match=r"prompt 'answer/qa_act': cannot be rendered: ."):
        play(setup, Known(GAME, GAME.label_set()))


def plain(value):
    """Yield what lists and tables hold in the end."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from plain(item)
    else:
        yield value


def test_every_template_is_used_is_given_plain_values_and_leaves_nothing_open(monkeypatch):
    """Whatever a template could do with its values, there is no object behind them."""
    used, given = set(), []
    load, run = Prompts.get, Prompts._run
    monkeypatch.setattr(Prompts, "get", lambda self, name: used.add(name) or load(self, name))
    monkeypatch.setattr(
        Prompts, "_run", lambda self, *args: given.append(args[2]) or run(self, *args)
    )
    for strategy in all_strategies():
        script = Known(GAME, GAME.label_set())
        play(make_setup(GAME, fixed(GAME, [0, 1, 0]), strategy, 3, conditional=True), script)
        for *_, text in script.log:
            assert "{" not in text
            assert "\n\n\n" not in text
            assert not any(line != line.rstrip() for line in text.splitlines())
            assert text == text.strip()
    assert used == set(Prompts("matrix").names())
    assert {type(value) for value in plain(given)} <= {str, int, bool, float}
