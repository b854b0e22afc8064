"""How one model is asked, by its options and what its server can do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.extras import LOCAL, need
from tomeval.models.base import GenerateRequest, Prompt
from tomeval.models.local.load import why_not_loaded
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.served.fields import (
    CHOICE_FORMS,
    SCHEMA,
    SGLANG,
    VLLM,
    form_fields,
    greedy_fields,
    sampling_fields,
    thinking_fields,
)
from tomeval.models.served.options import OpenAIOptions
from tomeval.models.served.prompts import chat_fields, plain_text, without_prefill

CHAT, COMPLETIONS = "chat/completions", "completions"


@dataclass
class Requests:
    """How a model is asked; the fields after `options` are settled by `OpenAIModel.start`."""

    name: str  # for messages
    model: str  # as the server calls it
    options: OpenAIOptions
    kind: str = ""  # of server, see `fields`
    codec: PromptCodec | None = None  # the tokenizer, if there is one
    holds: bool = False  # whether answers are held to choices and schemas, see `form_fields`
    renders: bool = False  # whether scored prompts are put together here or token by token
    chat: bool = field(init=False)
    room: int = field(init=False)  # tokens for thinking, on top of the answer's
    cap: int | None = field(init=False)  # where the server is told to end the thinking

    def __post_init__(self) -> None:
        self.chat = self.options.api != "completions"
        self.cap = self.options.thinking_budget
        self.room = self.cap or 0

    def generation(
        self, request: GenerateRequest, prompt: Prompt, room: int
    ) -> tuple[str, dict[str, Any]]:
        """Return path and body of a request to generate, with `room` tokens for thinking."""
        path = CHAT if self.chat else COMPLETIONS
        form = self.form(request)
        sampling = replace(request.sampling, max_tokens=request.sampling.max_tokens + room)
        thinking = thinking_fields(
            self.kind,
            chat=self.chat,
            switch=self.options.thinking,
            budget=self.cap,
            effort=self.options.reasoning_effort,
        )
        return path, {
            **self.options.extra_body,
            "model": self.model,
            **(chat_fields(prompt) if self.chat else {"prompt": plain_text(prompt)}),
            **sampling_fields(sampling, request.seed, self.kind),
            **thinking,
            **(form_fields(form, request.choices, request.schema) if form else {}),
        }

    def scoring(self, **fields: Any) -> dict[str, Any]:
        """Return a request for one greedy token on an OpenAI-compatible path."""
        extra = self.options.extra_body
        return {**extra, "model": self.model, "max_tokens": 1, **self.greedy(), **fields}

    def greedy(self) -> dict[str, Any]:
        """Return the sampling of requests that score."""
        return greedy_fields(self.kind)

    def form(self, request: GenerateRequest) -> str:
        """Return how a reply is held to what the request asks for; empty if it is not."""
        if not self.holds or not (request.schema or request.choices):
            return ""
        return SCHEMA if request.schema else CHOICE_FORMS.get(self.kind, SCHEMA)

    @property
    def omits_prefill(self) -> bool:
        """Whether the server would begin a new answer instead of going on from a prefill."""
        goes_on = self.renders or not self.chat or self.kind in (VLLM, SGLANG)
        option = self.options.prefill
        return option == "omit" or (option == "auto" and not goes_on)

    def shown(self, prompt: Prompt) -> Prompt:
        """Return the prompt as this server can read it: maybe without its prefill.

        Raises `TomevalError` if the prefill must go and the prompt has nothing instead, unless the
        option `prefill` asks for just that.
        """
        if not prompt.prefill or not self.chat or not self.omits_prefill:
            return prompt
        if self.options.prefill == "auto" and not prompt.instead:
            raise TomevalError(
                f"{self.name}: this server is not known to go on from a begun answer (prefill); "
                "use api='completions', prefill='continue' or prefill='omit'"
            )
        return without_prefill(prompt)


def load_tokenizer(name: str) -> Any:
    """Load a tokenizer from the Hub or a folder; `TomevalError` if that fails."""
    transformers = need("transformers", LOCAL, f"tokenizers such as {name!r}")
    try:
        return transformers.AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = why_not_loaded(name, error)
        raise TomevalError(f"tokenizer {name!r} cannot be loaded: {reason}") from None
