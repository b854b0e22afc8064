from __future__ import annotations

import os

import pytest

from tomeval.core.errors import TomevalError
from tomeval.strategies.templates import Prompts

HEAD = '+++\ntitle = "t"\nsource = "s"\nversion = "1"\n+++\n'
DOUBLING = "{% set ns = namespace(x=START) %}{% for i in range(60) %}STEP{% endfor %}{{ ns.x }}"


def doubling(start: str, step: str) -> str:
    return DOUBLING.replace("START", start).replace("STEP", step)


TOO_MUCH = (
    '{{ "a" * 10**9 }}',
    "{{ 10**(10**8) }}",
    "{{ [0] * 10**9 }}",
    "{% for i in range(10**9) %}{% endfor %}",
    doubling('"ab"', "{% set ns.x = ns.x ~ ns.x %}"),
    doubling('"ab"', "{% set ns.x = ns.x + ns.x %}"),
    doubling('"ab"', "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}"),
    '{{ "a"|center(1000000000) }}',
    '{{ "a".ljust(1000000000) }}',
    '{{ "%01000000000d" % 1 }}',
    '{{ "%*d" % (1000000000, 1) }}',
    '{{ "%01000000000d"|format(1) }}',
    '{{ "{:>1000000000}".format(1) }}',
    '{{ "{:>{w}}".format(1, w=1000000000) }}',
    '{{ ("a" * 1000000)|replace("a", "b" * 1000) }}',
    '{{ range(100000)|map("string")|join("b" * 1000000) }}',
    "{{ [1]|slice(1000000000)|list }}",
)
# Nothing is large until it has been done many times.
TOO_LONG = (
    "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}",
    "{% set r = range(90000)|list %}{% for i in r %}{% for j in r %}{% endfor %}{% endfor %}",
    doubling("[1]", "{% set ns.x = [ns.x, ns.x] %}"),
    doubling("[1]", "{% set ns.x = ns.x + ns.x %}"),
    "{% macro f(n) %}{% if n %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(40) }}",
)


def own(folder, body: str) -> Prompts:
    path = folder / "matrix" / "answer" / "qa_act.j2"
    path.parent.mkdir(parents=True)
    path.write_text(HEAD + body)
    return Prompts("matrix", folder)


@pytest.mark.parametrize("body", TOO_MUCH)
def test_work_and_memory_are_limited(tmp_path, body) -> None:
    prompts = own(tmp_path, body)
    with pytest.raises(TomevalError, match="takes too much work or memory") as caught:
        prompts.render("answer/qa_act")
    assert "answer/qa_act" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_loops_are_counted(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tomeval.strategies.sandbox.MOST", 100_000)
    for number, body in enumerate(TOO_LONG):
        with pytest.raises(TomevalError, match="takes too much work or memory"):
            own(tmp_path / str(number), body).render("answer/qa_act")


def test_a_pipe_in_place_of_a_template_is_refused(tmp_path) -> None:
    prompts = own(tmp_path, "x")
    path = tmp_path / "matrix" / "answer" / "qa_act.j2"
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(TomevalError, match="cannot be read"):
        prompts.render("answer/qa_act")
