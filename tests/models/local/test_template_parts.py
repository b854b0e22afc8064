"""Chat templates that take content as a list of parts, and those that leave out what is said."""

import pytest

pytest.importorskip("transformers", reason="the transformers backend needs transformers")

from tiny import CHATML, make_tokenizer

from tomeval.core.errors import TomevalError
from tomeval.models.base import Message, Prompt
from tomeval.models.local.prompt import PromptCodec

LOOP = "{% for part in m.content if part['type'] == 'text' %}{{ part['text'] }}{% endfor %}"
FIRST = "{{ m.content[0].text }}"
STRICT = "{% if m.content is string %}{{ raise_exception('a list is needed') }}{% endif %}" + LOOP
PARTS = {"skips": LOOP, "first": FIRST, "throws": STRICT, "length": "{{ m['content'][0]['text'] }}"}
PROMPT = Prompt((Message("system", "Rules <|im_end|>"), Message("user", "Question"),
                 Message("assistant", "J"), Message("user", "Again")))  # fmt: skip


def codec(content, template=CHATML, **options):
    tokenizer = make_tokenizer("chatml")
    tokenizer.chat_template = template.replace("{{ m.content }}", content)
    return PromptCodec(tokenizer, **options)


@pytest.mark.parametrize("content", PARTS.values(), ids=PARTS)
def test_a_template_of_parts_reads_what_one_of_text_reads(content):
    """All messages, of the system too; control tokens in them stay text."""
    plain, parts = codec("{{ m.content }}"), codec(content)
    assert parts.encode(PROMPT) == plain.encode(PROMPT)
    assert parts.system_policy == "native"
    assert parts.turn_ends == plain.turn_ends


def test_a_template_that_takes_both_is_given_text():
    both = "{% if m.content is string %}T:{{ m.content }}{% else %}" + LOOP + "{% endif %}"
    assert codec(both).render(PROMPT).text.count("T:") == 4


def test_parts_of_users_alone_take_in_the_system_message():
    only = CHATML.replace("in messages %}", "in messages if m.role != 'system' %}")
    made = codec(LOOP, only)
    assert made.system_policy == "merge"
    assert "Rules" in made.render(PROMPT).text


@pytest.mark.parametrize("content", ["", "hello", "{{ m.image }}"])
def test_a_template_without_the_question_is_refused(content):
    with pytest.raises(TomevalError, match=r"template of .* leaves out the text of messages: use"):
        codec(content)
    assert codec(content, chat=False).render(PROMPT).text.endswith("Again")


def test_a_template_that_cannot_be_rendered_says_why():
    with pytest.raises(TomevalError, match="cannot render this prompt: not today"):
        codec("{{ raise_exception('not today') }}")


def test_native_system_messages_that_are_left_out_are_refused():
    silent = CHATML.replace("in messages %}", "in messages if m.role != 'system' %}")
    with pytest.raises(TomevalError, match="leaves system messages out: use 'merge'"):
        codec("{{ m.content }}", silent, system="native")
