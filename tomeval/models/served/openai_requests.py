"""Requests for one model: by its options, and by what its start-up test found out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.models.base import GenerateRequest, Prompt
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.http_mends import Refused
from tomeval.models.served.openai_fields import choice_fields, sampling_fields, thinking_fields
from tomeval.models.served.openai_options import OpenAIOptions
from tomeval.models.served.openai_text import chat_fields, plain_text, without_prefill

CHAT, COMPLETIONS = "chat/completions", "completions"


@dataclass
class Requests:
    """How a model is asked; the fields after `options` are settled by `OpenAIModel.start`."""

    name: str  # for messages
    model: str  # as the server calls it
    options: OpenAIOptions
    kind: str = ""  # of server, see `openai_about`
    codec: PromptCodec | None = None  # the tokenizer, if there is one
    renders: bool = False  # whether scored prompts are put together here or token by token
    prefill_by_ids: bool = False  # whether prefills go through the completions API, in token ids
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
        path, fields = self._prompt_fields(prompt)
        choices = request.choices if self.options.structured != "off" else ()
        sampling = replace(request.sampling, max_tokens=request.sampling.max_tokens + room)
        return path, {
            **self.options.extra_body,
            "model": self.model,
            **fields,
            **sampling_fields(sampling, request.seed, self.kind),
            **self.thinking_fields(path),
            **choice_fields(self.options.structured, choices),
        }

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
        by_chat = "continue_final_message" in refusal.message
        by_ids = self.prefill_by_ids and refusal.status in (400, 404, 405, 422)
        if not prompt.prefill or not self.chat or not (by_chat or by_ids):
            return refusal
        return TomevalError(self._no_prefill(str(refusal)))

    def _prompt_fields(self, prompt: Prompt) -> tuple[str, dict[str, Any]]:
        """Return the path of the API to use and the fields that hold the prompt."""
        if self.chat and not (prompt.prefill and self.prefill_by_ids):
            return CHAT, chat_fields(prompt)
        if self.chat and self.codec:  # ids, so that the server adds no second start token
            return COMPLETIONS, {"prompt": self.codec.encode(prompt)[0]}
        return COMPLETIONS, {"prompt": plain_text(prompt)}

    def _no_prefill(self, why: str) -> str:
        return (
            f"{self.name}: this server does not go on from a begun answer (prefill): {why}; "
            "use api='completions', prefill='omit' or, where it takes token ids, a tokenizer"
        )
