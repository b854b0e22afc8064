"""Turn a conversation into the tokens a Hugging Face model reads."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tomeval.core.errors import TomevalError, unknown
from tomeval.models.base import Message, Prompt, ScoreRequest
from tomeval.models.local.control import ControlTokens, SmuggledControlToken
from tomeval.models.local.load import require
from tomeval.models.local.tasks import LabelQuery, split_labels

ROLES = ("system", "user", "assistant")
SYSTEM_POLICIES = ("native", "merge", "drop")
_OPEN, _CLOSE = "<think>", "</think>"
_PROBE = "Zebra"
_SHORT = 16  # tokens, too few to be worth keeping apart

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Rendered:
    """A prompt as one text."""

    text: str  # marked as `ControlTokens.mark` does
    opened: str = ""  # the text from a thinking block that it leaves open, or empty


class PromptCodec:
    """Render, tokenise and decode for one tokenizer.

    Parameters
    ----------
    tokenizer
        A transformers tokenizer.
    chat : bool or "auto"
        Whether to use the chat template; ``auto``: if there is one.
    thinking : bool, optional
        The template's thinking switch; None leaves the template's default.
    system : str
        ``native``, ``merge`` (into the first user message), ``drop``, or ``auto``: native where the
        template shows a system message, else merge.

    Raises
    ------
    TomevalError
        A template is wanted and there is none, it cannot be rendered, or it does not show what a
        message says.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        chat: bool | Literal["auto"] = "auto",
        thinking: bool | None = None,
        system: str = "auto",
    ) -> None:
        # A few short lines at a time are encoded: threads for them would only wait for each other.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        self.tokenizer = tokenizer
        self.control = ControlTokens(tokenizer)
        self.thinking = thinking
        self.warnings: list[str] = []  # what the template does not do that was asked of it
        if system != "auto" and system not in SYSTEM_POLICIES:
            raise unknown("system policy", system, ["auto", *SYSTEM_POLICIES])
        if chat is True and not tokenizer.chat_template:
            raise TomevalError("chat=True, but the tokenizer has no chat template; use chat='auto'")
        self.chat = bool(tokenizer.chat_template) if chat == "auto" else chat
        self._prefix = self._usual_prefix()
        self._start = [t for t in (tokenizer.bos_token_id, tokenizer.eos_token_id) if t is not None]
        self.system_policy = "native" if system == "auto" else system
        self._switch: dict[bool, bool | None] = {False: thinking, True: thinking}  # by "scoring"
        self._opens = {False: False, True: False}
        self._glue = ""
        self._parts = False  # whether the template takes a message's text as a list of parts
        self.thinks = False  # whether prompts of generated replies make the model think
        self.turn_ends: frozenset[int] = frozenset()  # tokens that the template ends an answer with
        # Who writes the tokens that a sequence starts with: template, added or none.
        self.bos = "added" if self._prefix else "none"
        if self.chat:
            self._probe(system)

    def render(self, prompt: Prompt, *, scoring: bool = False, hard: bool = False) -> Rendered:
        """Return the prompt as text; `hard` marks every character of the messages as plain text."""
        mark = self.control.mark
        for message in prompt.messages:
            if message.role not in ROLES:
                raise unknown("role", message.role, ROLES)
        marked = [Message(role, mark(content, every=hard)) for role, content in prompt.messages]
        prefill = mark(prompt.prefill, every=hard) if prompt.prefill else ""
        if not self.chat:
            contents = [content for _, content in marked] + ([prefill] if prefill else [])
            return Rendered("\n\n".join(contents))
        text = self._apply(self._fit_system(marked), self._switch[scoring])
        opened = _opened(text) if self._opens[scoring] else ""
        if opened and (scoring or prefill or self.thinking is False):
            # An answer (and a label is one) cannot begin inside the thinking: close the block.
            text += "\n</think>\n\n" if text.endswith("\n") else "\n\n</think>\n\n"
            opened = ""
        return Rendered(
            text + self._glue + prefill if prefill else text, self.control.plain(opened)
        )

    def encode(self, prompt: Prompt) -> tuple[list[int], str]:
        """Return the prompt's tokens, and the thinking block that it opens or an empty text."""
        rendered = self.render(prompt)
        try:
            [ids] = self.control.encode([rendered.text])
        except SmuggledControlToken:
            ids = self.control.encode([self.render(prompt, hard=True).text])[0]
        ids = self._once(ids)
        return list(ids) or self._started(ids), rendered.opened

    def label_query(self, request: ScoreRequest) -> LabelQuery:
        """Return the tokens of a request's labels and of what is before them.

        Raises `TomevalError` if the tokens cannot tell labels apart or thinking is switched on.
        """
        if self.thinking:
            raise TomevalError("labels cannot be scored with thinking=True: thinking comes first")
        try:
            return self._label_query(request, hard=False)
        except SmuggledControlToken:
            return self._label_query(request, hard=True)

    def decode(self, tokens: Sequence[int], before: Sequence[int] = ()) -> str:
        """Return the text of generated tokens, given the last tokens before them.

        Special tokens are kept, so that thinking marked by them stays apart from the answer.
        """
        keep = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        # Some tokenizers drop a leading space: decode behind the context and take the difference.
        head = str(self.tokenizer.decode(list(before), **keep)) if before else ""
        whole = str(self.tokenizer.decode([*before, *tokens], **keep))
        if whole.startswith(head):
            return whole[len(head) :]
        return str(self.tokenizer.decode(list(tokens), **keep))

    def _label_query(self, request: ScoreRequest, *, hard: bool) -> LabelQuery:
        text = self.render(request.prompt, scoring=True, hard=hard).text
        plain = self.control.plain(text)
        [bare] = self._encoded([text])
        touching = not plain or plain[-1].isspace() or bare[-1] in self.control.ids
        gap = "" if touching else " "
        joint = self._encoded([text + gap + self.control.mark(one) for one in request.labels])
        if any(ids[:1] != bare[:1] or not bare for ids in joint):
            # No token before the labels is left to read: begin with one that starts a text.
            bare, joint = self._started(bare), [self._started(ids) for ids in joint]
        unknown_id = self.tokenizer.unk_token_id
        if unknown_id in (self.tokenizer.eos_token_id, self.tokenizer.bos_token_id):
            unknown_id = None  # byte-level tokenizers name one; it stands for no character
        return split_labels(bare, joint, request.labels, group=request.group, unknown=unknown_id)

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._once(ids) for ids in self.control.encode(texts)]

    def _once(self, ids: list[int]) -> list[int]:
        """Return tokens with exactly one copy of those that a sequence starts with."""
        prefix = self._prefix or [t for t in ids[:1] if t == self.tokenizer.bos_token_id]
        start, n = 0, len(prefix)
        while n and ids[start : start + n] == prefix:
            start += n
        return ids if start == n else [*prefix, *ids[start:]]

    def _started(self, ids: list[int]) -> list[int]:
        if not self._start:
            raise TomevalError("the prompt is empty, and the tokenizer has no start or end token")
        return [self._start[0], *ids]

    def _fit_system(self, messages: list[Message]) -> list[Message]:
        if self.system_policy == "native":
            return messages
        system = [content for role, content in messages if role == "system"]
        rest = [message for message in messages if message.role != "system"]
        if self.system_policy == "drop" or not system:
            return rest
        first = next((i for i, m in enumerate(rest) if m.role == "user"), None)
        if first is None:
            return [Message("user", "\n\n".join(system)), *rest]
        rest[first] = Message("user", "\n\n".join([*system, rest[first].content]))
        return rest

    def _apply(
        self, messages: Sequence[Message], switch: bool | None, *, generation: bool = True
    ) -> str:
        """Render messages with the chat template, without tokenising."""
        # Two names are in use for the switch; a template ignores what it does not know.
        options = {} if switch is None else {"enable_thinking": switch, "thinking": switch}
        chat: list[dict[str, Any]] = [
            {"role": role, "content": [{"type": "text", "text": text}] if self._parts else text}
            for role, text in messages
        ]
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    chat, tokenize=False, add_generation_prompt=generation, **options
                )
            )
        except (require("jinja2").TemplateError, ValueError, TypeError) as error:
            raise TomevalError(f"the chat template cannot render this prompt: {error}") from error

    def _probe(self, system: str) -> None:
        """Find out by rendering what the template supports."""
        self._parts = not self._shows("user")
        if self._parts and not self._shows("user"):
            self._apply([Message("user", _PROBE)], self.thinking)  # may say why
            where = self.tokenizer.name_or_path or "this tokenizer"
            raise TomevalError(
                f"the chat template of {where} leaves out the text of messages: use another, or "
                "chat = false"
            )
        user = Message("user", "x")
        if system == "auto" and not self._shows("system"):
            self.system_policy = "merge"
        if system == "native" and self._shows("system") is False:
            raise TomevalError(
                "system = 'native', but the chat template leaves system messages out: use 'merge'"
            )
        self._probe_thinking(user)
        switch = self._switch[False]
        asked = self._apply([user], switch)
        self._opens[False] = bool(_opened(asked))
        self._opens[True] = bool(_opened(self._apply([user], self._switch[True])))
        ids = self.control.encode([asked])[0]
        start = self._prefix or [self.tokenizer.bos_token_id]
        if ids[: len(start)] == start:
            self.bos = "template"
        # A template that reacts to the switch may think by default or not.
        by_default = self._switch[True] is False and asked != self._apply([user], False)
        self.thinks = self.thinking is not False and (self._opens[False] or by_default)
        try:
            answered = self._apply([user, Message("assistant", _PROBE)], switch, generation=False)
        except TomevalError:
            return  # no assistant messages: nothing to learn from
        head, probe, tail = answered.rpartition(_PROBE)
        if probe and head.startswith(asked) and head[len(asked) :].isspace():
            self._glue = head[len(asked) :]
        ends = [token for token in self.control.encode([tail])[0] if token in self.control.ids]
        self.turn_ends = frozenset(ends[:1])

    def _shows(self, role: str) -> bool | None:
        """Tell whether a role's text stands in a rendering; None if it cannot be rendered."""
        chat = [Message(role, _PROBE), Message("user", "x")][: 1 + (role == "system")]
        try:
            return _PROBE in self._apply(chat, self.thinking)
        except TomevalError:
            return None

    def _probe_thinking(self, user: Message) -> None:
        """Switch thinking off for scoring where the template can; note what it ignores."""
        off = self._apply([user], False)
        reacts = off != self._apply([user], True)
        if reacts:
            self._switch[True] = False
        thinks = _OPEN in str(self.tokenizer.chat_template)
        if self.thinking is not None and not reacts and (self.thinking or thinks):
            state = "on" if self.thinking else "off"
            closed = _opened(off) and not self.thinking
            cure = "; it opens <think>, which is closed at once" if closed else ""
            self._warn(f"the chat template ignores enable_thinking = {state}{cure}")
        elif self.thinking is False and _opened(off):
            self._warn("the chat template opens <think> with thinking off; it is closed at once")

    def _warn(self, text: str) -> None:
        self.warnings.append(text)
        logger.warning(text)

    def _usual_prefix(self) -> list[int]:
        """Return the tokens that the tokenizer puts before any text."""
        bare = self.tokenizer.encode("a", add_special_tokens=False)
        full = self.tokenizer.encode("a", add_special_tokens=True)
        for start in range(len(full) - len(bare) + 1):
            if full[start : start + len(bare)] == bare:
                return list(full[:start])
        return [token for token in full[:1] if token == self.tokenizer.bos_token_id]


def _opened(text: str) -> str:
    """Return the end of a text from a thinking block that it leaves open, or an empty text."""
    start = text.rfind(_OPEN)
    return text[start:] if start > text.rfind(_CLOSE) else ""
