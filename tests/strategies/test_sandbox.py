"""What a stranger's template gets: a prompt or a message, and no file, code or chance."""

from __future__ import annotations

import pytest
from attacks.strange_files import BOMBS, ESCAPES, SECRET, linked_templates, template

from tomeval.core.errors import TomevalError
from tomeval.strategies.templates import Prompts

NAME = "answer/qa_act"


@pytest.mark.parametrize("body", [*BOMBS, *ESCAPES])
def test_a_template_that_makes_too_much_or_reaches_out_is_one_message(tmp_path, body):
    (tmp_path / "secret.txt").write_text(SECRET)
    with pytest.raises(TomevalError, match=r"cannot be rendered|not a valid template") as raised:
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


def test_a_long_history_fits_as_often_as_it_is_asked_for(tmp_path):
    """10,000 rounds of 100 characters: a quarter of what one rendering may make."""
    body = "{% for r in rounds %}{{ r }}\n{% endfor %}"
    prompts = Prompts("matrix", template(tmp_path / "p", body))
    for _ in range(5):
        assert len(prompts.render(NAME, rounds=["x" * 99] * 10_000)) == 1_000_000 - 1
