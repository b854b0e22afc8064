"""Prompts as servers take them."""

from __future__ import annotations

from typing import Any

from tomeval.models.base import Message, Prompt


def messages_of(prompt: Prompt) -> list[dict[str, str]]:
    """Return the conversation without the prefill, as the chat API takes it."""
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


def chat_fields(prompt: Prompt) -> dict[str, Any]:
    """Return the fields that hold the prompt in a chat request.

    A prefill is the last message, with the two switches by which vLLM and SGLang go on from there;
    llama.cpp and Ollama do so without them.
    """
    messages = messages_of(prompt)
    if not prompt.prefill:
        return {"messages": messages}
    messages.append({"role": "assistant", "content": prompt.prefill})
    return {"messages": messages, "continue_final_message": True, "add_generation_prompt": False}


def without_prefill(prompt: Prompt) -> Prompt:
    r"""Return the prompt for a server that cannot go on from a prefill.

    Examples
    --------
    >>> prompt = Prompt((Message("user", "Q?"),), prefill="I choose", instead="Answer J or F.")
    >>> without_prefill(prompt).messages[-1].content
    'Q?\n\nAnswer J or F.'
    """
    messages = prompt.messages
    if prompt.prefill and prompt.instead:
        *before, last = messages
        messages = (*before, Message(last.role, f"{last.content}\n\n{prompt.instead}"))
    return Prompt(messages)


def omission(asked: Prompt, sent: Prompt) -> dict[str, str]:
    """Return what to record where a prompt was sent without its prefill."""
    if asked.prefill == sent.prefill:
        return {}
    return {"prefill": "omitted", **({"instead": asked.instead} if asked.instead else {})}


def plain_text(prompt: Prompt) -> str:
    r"""Return the prompt without roles: the contents and the prefill, joined by blank lines.

    Examples
    --------
    >>> plain_text(Prompt((Message("system", "S"), Message("user", "U")), prefill="Answer:"))
    'S\n\nU\n\nAnswer:'
    """
    parts = [message.content for message in prompt.messages]
    return "\n\n".join([*parts, prompt.prefill] if prompt.prefill else parts)


def label_texts(prompt: Prompt, labels: tuple[str, ...], text: str | None, rule: str) -> list[str]:
    """Return the labels as they continue the prompt: with a space before them where it needs one.

    `text` is the rendered prompt, None if only the server knows it: then a prompt without prefill
    is taken to end in a control token or a line break, as chat templates do. Of the rules ``auto``,
    ``space`` and ``bare`` the last two fix the choice.
    """
    end = prompt.prefill or text or "\n"
    space = rule == "space" or (rule == "auto" and not end[-1].isspace())
    return [f" {label}" if space else label for label in labels]
