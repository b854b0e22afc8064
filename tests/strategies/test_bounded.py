"""What a stranger's template may cost: nothing but a message, whatever it tries."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from attacks.commands import call
from attacks.strange_files import BOMBS, ESCAPES, SECRET, linked_templates, template

from tomeval.core.errors import TomevalError
from tomeval.core.resources import shipped
from tomeval.strategies.templates import Prompts

NAME = "answer/qa_act"


@pytest.mark.parametrize("body", BOMBS, ids=range(len(BOMBS)))
def test_a_bomb_is_one_message_in_bounded_time(tmp_path, body):
    prompts = Prompts("matrix", template(tmp_path / "p", body))
    started = time.process_time()
    with pytest.raises(TomevalError) as raised:
        prompts.render(NAME)
    assert time.process_time() - started < 60
    assert "cannot be rendered" in str(raised.value) or "not a valid template" in str(raised.value)


@pytest.mark.parametrize("body", ESCAPES)
def test_no_template_reaches_beyond_itself(tmp_path, body):
    (tmp_path / "secret.txt").write_text(SECRET)
    with pytest.raises(TomevalError) as raised:
        Prompts("matrix", template(tmp_path / "p", body)).render(NAME)
    assert SECRET not in str(raised.value)


def test_links_do_not_lead_out_of_the_folder(tmp_path):
    (tmp_path / "secret.txt").write_text(SECRET)
    for folder in linked_templates(tmp_path):
        with pytest.raises(TomevalError) as raised:
            Prompts("matrix", folder).render(NAME)
        assert SECRET not in str(raised.value)
    inside = tmp_path / "inside"
    (inside / "matrix" / "answer").mkdir(parents=True)
    (inside / "kept.j2").write_text((tmp_path / "secret.j2").read_text())
    (inside / "matrix" / "answer" / "qa_act.j2").symlink_to(inside / "kept.j2")
    assert Prompts("matrix", inside).render(NAME) == SECRET


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("{{ rounds | tojson }} {{ 'j' | upper }} {{ rounds == ['J', 'F'] }}", '["J", "F"] J True'),
        ("{{ 'J' in rounds }} {{ 2 is even }} {{ {'a': [(2, 3)]} }}", "True True {'a': [(2, 3)]}"),
        ("{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }}{% endfor %}", "37"),
        ("{% for r in rounds %}{{ loop.index }}: {{ r }}\n{% endfor %}", "1: J\n2: F"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(1) }}{{ m(2) }}", "<1><2>"),
        ("{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}a{% endcall %}", "<a>"),
        ("{{ 'a' ~ 1 ~ rounds[0] }} {{ 2 ** 10 }} {{ 3 * 'x' }}", "a1J 1024 xxx"),
        ("{{ '%5.2f' | format(1.234) }} {{ '%s' % 2 }}", "1.23 2"),
        ("{{ rounds | join(', ') }} {{ rounds | map('lower') | join('') }}", "J, F jf"),
        ("{{ 'aXb' | replace('X', '-') }} {{ rounds | length }}", "a-b 2"),
        ("{% for x in rounds if x == 'F' %}{{ x }}{% else %}none{% endfor %}", "F"),
        (
            "{% for x in [[1, [[2, []]]]] recursive %}{{ x[0] }}{{ loop(x[1]) }}{% endfor %}",
            "12",
        ),
        ("{% set n = namespace(k=0) %}{% for r in rounds %}{% set n.k = n.k + 1 %}{% endfor %}"
         "{{ n.k }}", "2"),
    ],
)  # fmt: skip
def test_what_prompts_need_is_there(tmp_path, body, text):
    prompts = Prompts("matrix", template(tmp_path / "p", body))
    for _ in range(2):
        assert prompts.render(NAME, rounds=["J", "F"]) == text


def test_a_long_history_fits_and_every_rendering_counts_anew(tmp_path):
    """10,000 rounds of 100 characters, ten times over: more than one rendering may make."""
    body = "{% for r in rounds %}{{ r }}\n{% endfor %}"
    prompts = Prompts("matrix", template(tmp_path / "p", body))
    rounds = ["x" * 99] * 10_000
    for _ in range(10):
        assert len(prompts.render(NAME, rounds=rounds)) == 1_000_000 - 1


@pytest.mark.parametrize("name", sorted(Prompts("matrix").names()))
def test_own_copies_of_shipped_templates_give_the_same_words(tmp_path, name):
    """The bounded sandbox renders every shipped template as the plain one does."""
    source = Path(shipped("prompts") / "matrix" / f"{name}.j2")
    target = tmp_path / "p" / "matrix" / f"{name}.j2"
    target.parent.mkdir(parents=True)
    target.write_bytes(source.read_bytes())
    plain, bounded = Prompts("matrix"), Prompts("matrix", tmp_path / "p")
    values = _Anything()

    def rendered(prompts):
        try:
            return prompts.render(name, **values)
        except TomevalError as error:
            return str(error)

    assert rendered(bounded) == rendered(plain)


class _Anything(dict):
    """Values of every name that the templates use; what is missing fails in both alike."""

    def __init__(self) -> None:
        words = (
            "own_options",
            "partner_options",
            "own_action",
            "history",
            "title",
            "step",
            "round",
        )
        super().__init__({word: f"<{word}>" for word in words})
        self.update(own_labels=["J", "F"], partner_labels=["X", "Y"], rounds=[], round=2)


STRATEGIES = (
    *("QA", "LM", "CoT", "CoT + 3-Shot", "S2A", "S2A + CoT", "Social QA", "Social LM"),
    *("Reflexion 2", "Plans + Insights", "Oracle", "Oracle + Max", "Oracle + Max -Payoffs"),
)


@pytest.mark.parametrize(
    ("domain", "base", "options"),
    [
        ("matrix", "matrix", ("--form", "act")),
        ("matrix", "matrix", ("--form", "predict")),
        ("matrix", "sets/akata/matrix", ("--form", "act")),
        *(("decrypto", "decrypto", ("--seat", s)) for s in ("encoder", "decoder", "interceptor")),
    ],
)
def test_every_strategy_asks_the_same_with_a_copy_of_the_shipped_templates(
    tmp_path, domain, base, options
):
    """As a user begins templates of their own: with a copy, which the bounded sandbox renders."""
    shutil.copytree(Path(shipped("prompts")) / base, tmp_path / "own" / domain)
    shown = set()
    for strategy in STRATEGIES:
        ask = ("prompt", strategy, "--domain", domain, *options)
        given = ("--prompts", base.split("/")[1]) if base.startswith("sets/") else ()
        one, other = call(*ask, *given), call(*ask, "--prompts", tmp_path / "own")
        assert (other.code, other.out, other.crash) == (one.code, one.out, "")
        shown.add(one.out)
    assert len(shown) > 3  # most strategies exist here, and differ
