"""Turn a conversation into the tokens a Hugging Face model reads."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Sequence
from typing import Any, Literal

from jinja2 import TemplateError

from tomeval.core.errors import TomevalError, unknown
from tomeval.models.base import Message, Prompt, ScoreRequest, plain_text
from tomeval.models.local.control import ControlTokens
from tomeval.models.local.tasks import LabelQuery, split_labels

ROLES = ("system", "user", "assistant")
_PROBE, _OTHER = "Zebra", "Xylem"
_OPENED = re.compile(r"<think>\s*\Z")  # a thinking block, as templates begin it

logger = logging.getLogger(__name__)


class PromptCodec:
    """Render, tokenise and decode for one tokenizer.

    System messages go into the first user message where the chat template does not show them.

    Parameters
    ----------
    tokenizer
        A transformers tokenizer.
    chat : bool or "auto"
        Whether to use the chat template; ``auto``: if there is one.
    thinking : bool, optional
        The template's thinking switch; None leaves the template's default.

    Attributes
    ----------
    control : ControlTokens
        Keeps what messages say apart from what the template says.
    thinks : bool
        Whether prompts of generated replies make the model think.
    turn_ends : frozenset of int
        Tokens that the template ends an answer with.

    Raises
    ------
    TomevalError
        A template is wanted but missing, it cannot be rendered, or it does not show what a
        message says.
    """

    def __init__(
        self,
        tokenizer: Any,
        *,
        chat: bool | Literal["auto"] = "auto",
        thinking: bool | None = None,
    ) -> None:
        # A few short lines at a time are encoded: threads for them would only wait for each other.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        if chat is True and not tokenizer.chat_template:
            raise TomevalError("chat=True, but the tokenizer has no chat template; use chat='auto'")
        self.tokenizer, self.thinking = tokenizer, thinking
        self.control = ControlTokens(tokenizer)
        self.chat = bool(tokenizer.chat_template) if chat == "auto" else chat
        self._start = _start_tokens(tokenizer)
        self._merges = False  # whether system messages go into the first one of the user
        self._glue = ""  # what the template writes before an answer
        self.thinks = False
        self.turn_ends: frozenset[int] = frozenset()
        if self.chat:
            self._probe()

    def render(self, prompt: Prompt, *, scoring: bool = False) -> tuple[str, str]:
        """Return the prompt as text, and the thinking block that it leaves open or an empty text.

        Control tokens in messages are no longer such. Scoring switches thinking off.
        """
        for role, _ in prompt.messages:
            if role not in ROLES:
                raise unknown("role", role, ROLES)
        messages = [Message(role, self.control.defuse(text)) for role, text in prompt.messages]
        prefill = self.control.defuse(prompt.prefill)
        if not self.chat:
            return plain_text(Prompt(tuple(messages), prefill)), ""
        text = self._apply(self._merged(messages), False if scoring else self.thinking)
        opened = _opened(text)
        if opened and (scoring or prefill or self.thinking is False):
            # An answer (and a label is one) cannot begin inside the thinking: close the block.
            text += "\n</think>\n\n" if text.endswith("\n") else "\n\n</think>\n\n"
            opened = ""
        return text + self._glue + prefill if prefill else text, opened

    def encode(self, prompt: Prompt) -> tuple[list[int], str]:
        """Return the prompt's tokens, and the thinking block that it opens or an empty text."""
        text, opened = self.render(prompt)
        [ids] = self._encoded([text])
        return ids or [self._first()], opened

    def label_query(self, request: ScoreRequest) -> LabelQuery:
        """Return the tokens of a request's labels and of what is before them.

        Raises `TomevalError` if the tokens cannot tell labels apart or thinking is switched on.
        """
        if self.thinking:
            raise TomevalError("labels cannot be scored with thinking=True: thinking comes first")
        text, _ = self.render(request.prompt, scoring=True)
        [bare] = self._encoded([text])
        touching = not text or text[-1].isspace() or bare[-1] in self.control.ids
        gap = "" if touching else " "
        joint = self._encoded([text + gap + self.control.defuse(one) for one in request.labels])
        if any(ids[:1] != bare[:1] or not bare for ids in joint):
            # No token before the labels is left to read: begin with one that starts a text.
            bare, joint = [self._first(), *bare], [[self._first(), *ids] for ids in joint]
        unknown_id = self.tokenizer.unk_token_id
        if unknown_id in (self.tokenizer.eos_token_id, self.tokenizer.bos_token_id):
            unknown_id = None  # byte-level tokenizers name one; it stands for no character
        return split_labels(bare, joint, request.labels, group=request.group, unknown=unknown_id)

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

    def _encoded(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of texts, each with those that a sequence starts with once."""
        return [self._once(ids) for ids in self.control.encode(texts)]

    def _once(self, ids: list[int]) -> list[int]:
        prefix = self._start or [t for t in ids[:1] if t == self.tokenizer.bos_token_id]
        start, n = 0, len(prefix)
        while n and ids[start : start + n] == prefix:
            start += n
        return prefix + ids[start:]

    def _first(self) -> int:
        """Return a token that starts a text of which no other token is left."""
        for token in (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id):
            if token is not None:
                return int(token)
        raise TomevalError("the prompt is empty, and the tokenizer has no start or end token")

    def _merged(self, messages: list[Message]) -> list[Message]:
        system = [content for role, content in messages if role == "system"]
        if not self._merges or not system:
            return messages
        rest = [message for message in messages if message.role != "system"]
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
        chat = [{"role": role, "content": text} for role, text in messages]
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    chat, tokenize=False, add_generation_prompt=generation, **options
                )
            )
        except (TemplateError, ValueError, TypeError) as error:
            raise TomevalError(f"the chat template cannot render this prompt: {error}") from error

    def _probe(self) -> None:
        """Find out by rendering what the template supports; warn of a switch that it ignores."""
        user = Message("user", _PROBE)
        asked = self._apply([user], self.thinking)
        if _PROBE not in asked:
            where = self.tokenizer.name_or_path or "this tokenizer"
            raise TomevalError(
                f"the chat template of {where} leaves out the text of messages: use another, or "
                "chat = false"
            )
        try:
            shown = self._apply([Message("system", _OTHER), user], self.thinking)
        except TomevalError:
            shown = ""
        self._merges = _OTHER not in shown
        off, on = self._apply([user], False), self._apply([user], True)
        # A template that reacts to the switch may think by default or not.
        by_default = off != on and asked != off
        self.thinks = self.thinking is not False and (bool(_opened(asked)) or by_default)
        if self.thinking and off == on:
            logger.warning("the chat template ignores enable_thinking = on")
        try:
            answered = self._apply(
                [user, Message("assistant", _OTHER)], self.thinking, generation=False
            )
        except TomevalError:
            return  # no assistant messages: nothing to learn from
        head, _, tail = answered.rpartition(_OTHER)
        if head.startswith(asked) and head[len(asked) :].isspace():
            self._glue = head[len(asked) :]
        ends = [token for token in self.control.encode([tail])[0] if token in self.control.ids]
        self.turn_ends = frozenset(ends[:1])


def _start_tokens(tokenizer: Any) -> list[int]:
    """Return the tokens that the tokenizer puts before any text."""
    bare, full = (tokenizer.encode("a", add_special_tokens=special) for special in (False, True))
    starts = (n for n in range(len(full)) if full[n : n + len(bare)] == bare)
    return list(full[: next(starts, int(full[:1] == [tokenizer.bos_token_id]))])


def _opened(text: str) -> str:
    """Return the end of a text from a thinking block that it leaves open, or an empty text."""
    found = _OPENED.search(text)
    return found.group() if found else ""
