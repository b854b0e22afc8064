"""Prompts as one model is asked them, by its options and its start-up test, and its replies."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tomeval.core.errors import TomevalError
from tomeval.core.extras import LOCAL, need
from tomeval.models.base import GenerateRequest, Message, Prompt, Reply, Unusable, Usage
from tomeval.models.local.load import why_not_loaded
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.http_client import Answer
from tomeval.models.served.http_reading import Refused
from tomeval.models.served.limits import read_usage
from tomeval.models.served.openai_fields import (
    OPTIONAL,
    OpenAIOptions,
    form_fields,
    sampling_fields,
    thinking_fields,
)

CHAT, COMPLETIONS = "chat/completions", "completions"


@dataclass
class Requests:
    """How a model is asked; the fields after `options` are settled by `OpenAIModel.start`."""

    name: str  # for messages
    model: str  # as the server calls it
    options: OpenAIOptions
    kind: str = ""  # of server, see `openai_fields`
    codec: PromptCodec | None = None  # the tokenizer, if there is one
    choice_form: str = ""  # how answers are held to choices, see `form_fields`; empty: not at all
    schema_form: str = ""  # the same for schemas
    renders: bool = False  # whether scored prompts are put together here or token by token
    chat: bool = field(init=False)
    omits_prefill: bool = field(init=False)
    room: int = field(init=False)  # tokens for thinking, on top of the answer's
    cap: int | None = field(init=False)  # where the server is told to end the thinking

    def __post_init__(self) -> None:
        self.chat = self.options.api != "completions"
        self.omits_prefill = self.options.prefill == "omit"
        self.cap = self.options.thinking_budget
        self.room = self.cap or 0

    def generation(
        self, request: GenerateRequest, prompt: Prompt, room: int
    ) -> tuple[str, dict[str, Any]]:
        """Return path and body of a request to generate, with `room` tokens for thinking."""
        path = CHAT if self.chat else COMPLETIONS
        fields = chat_fields(prompt) if self.chat else {"prompt": plain_text(prompt)}
        form = self.form(request)
        sampling = replace(request.sampling, max_tokens=request.sampling.max_tokens + room)
        return path, {
            **self.options.extra_body,
            "model": self.model,
            **fields,
            **sampling_fields(sampling, request.seed, self.kind),
            **self.thinking_fields(path),
            **(form_fields(form, request.choices, request.schema) if form else {}),
        }

    def form(self, request: GenerateRequest) -> str:
        """Return how a reply is held to what the request asks for; empty if it is not."""
        return self.schema_form if request.schema else self.choice_form if request.choices else ""

    def thinking_fields(self, path: str) -> dict[str, Any]:
        """Return the fields of a path that say how much to think."""
        return thinking_fields(
            self.kind,
            chat=path == CHAT,
            switch=self.options.thinking,
            budget=self.cap,
            effort=self.options.reasoning_effort,
        )

    def shown(self, prompt: Prompt) -> Prompt:
        """Return the prompt as this server can read it: maybe without its prefill.

        Raises `TomevalError` if the prefill must go and the prompt has nothing instead, unless the
        option `prefill` asks for just that.
        """
        if not prompt.prefill or not self.chat or not self.omits_prefill:
            return prompt
        if self.options.prefill == "auto" and not prompt.instead:
            raise TomevalError(self._no_prefill("it begins a new answer"))
        return without_prefill(prompt)

    def explained(self, refusal: Refused, prompt: Prompt) -> Exception:
        """Return the error to raise for a refusal: a clear one if a prefill is the reason."""
        if not prompt.prefill or not self.chat or "continue_final_message" not in refusal.message:
            return refusal
        return TomevalError(self._no_prefill(str(refusal)))

    def _no_prefill(self, why: str) -> str:
        return (
            f"{self.name}: this server does not go on from a begun answer (prefill): {why}; "
            "use api='completions' or prefill='omit'"
        )


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
    >>> from tomeval.models.base import Message
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
    >>> from tomeval.models.base import Message
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


def load_tokenizer(name: str) -> Any:
    """Load a tokenizer from the Hub or a folder; `TomevalError` if that fails."""
    transformers = need("transformers", LOCAL, f"tokenizers such as {name!r}")
    try:
        return transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = why_not_loaded(name, error)
        raise TomevalError(f"tokenizer {name!r} cannot be loaded: {reason}") from None


_SENT = ("max_tokens", "max_completion_tokens", *OPTIONAL)  # what a call's record repeats
_FINISHES: dict[str, Literal["stop", "length", "refusal"]] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
}
_BROKEN = ("error", "abort", "cancelled")


def read_reply(
    answer: Answer, stop: tuple[str, ...], form: str = "", wrapped: bool = False
) -> Reply:
    """Read a reply of the chat or the completions API.

    The text is cut at the first of `stop`: not every server takes stop texts. `form` is how it was
    held to a form; a `wrapped` choice is taken out of its JSON object. Raises `Unusable` if no text
    can be found, or the server says that it broke off.
    """
    data = answer.data
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        raise Unusable(f"the reply has no choices: {json.dumps(data)[:300]}")
    raw = choice.get("finish_reason")
    if raw in _BROKEN:
        raise Unusable(f"the server broke the reply off (finish_reason {raw!r})")
    message = choice.get("message")
    if message is None and "text" in choice:
        message = {"content": choice["text"]}
    if not isinstance(message, dict):
        raise Unusable(f"the reply has no message: {json.dumps(data)[:300]}")
    text, reasoning = _text(message)
    finish = _FINISHES.get(raw, "stop") if isinstance(raw, str) else "stop"
    details = _details(answer, raw)
    if refusal := message.get("refusal") or _refused_part(message):
        finish, details["refusal"] = "refusal", refusal
    cut = min((text.find(mark) for mark in stop if mark in text), default=None)
    if cut is not None:
        text, finish = text[:cut], "stop" if finish == "length" else finish
    if form:
        text, details["enforced"] = _unwrapped(text) if wrapped else text, form
    usage = read_usage(data) or Usage()
    return Reply(text, reasoning, finish, usage, answer.latency, details)


def _refused_part(message: dict[str, Any]) -> Any:
    """Return the refusal among the parts of a message whose content is a list of parts."""
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    refusals = (part.get("refusal") for part in parts if isinstance(part, dict))
    return next(filter(None, refusals), None)


def _text(message: dict[str, Any]) -> tuple[str, str | None]:
    """Return a message's text and its reasoning; some servers send a list of parts.

    No content at all is an empty answer: so servers write one whose tokens all went into thinking,
    and one that was declined.
    """
    content = message.get("content")
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part["text"] for part in content if "text" in part]
        content = "".join(texts) if all(isinstance(text, str) for text in texts) else content
    if content is not None and not isinstance(content, str):
        raise Unusable(f"the reply's content is no text: {content!r:.80}")
    return content or "", reasoning if isinstance(reasoning, str) else None


def _details(answer: Answer, finish: Any) -> dict[str, Any]:
    data = answer.data
    details = {
        "sent": {name: answer.sent[name] for name in _SENT if name in answer.sent},
        **answer.mended,
        "finish": finish,
        "attempts": answer.attempts if answer.attempts > 1 else None,
        "model": data.get("model"),
        "fingerprint": data.get("system_fingerprint"),
        "id": data.get("id"),
        "reasoning_tokens": _reasoning_tokens(data),
    }
    return {name: value for name, value in details.items() if value is not None}


def _reasoning_tokens(data: dict[str, Any]) -> int | None:
    """Return how many of the reply's tokens were thinking, where the server says so."""
    usage = data.get("usage")
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    count = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return count if isinstance(count, int) and count > 0 else None


def _unwrapped(text: str) -> str:
    """Return the answer inside the JSON object that `form_fields` asks for, else the text."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return text
    answer = data.get("answer") if isinstance(data, dict) and len(data) == 1 else None
    return answer if isinstance(answer, str) else text
