"""Any Hugging Face causal language model in this process: label scoring and seeded generation."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tomeval.models import check_options
from tomeval.models.base import (
    TOKENS,
    Capabilities,
    GenerateRequest,
    LocalModel,
    Reply,
    ScoreRequest,
    Scores,
    Usage,
    thinking_room,
)
from tomeval.models.local.engine import Engine
from tomeval.models.local.load import Loaded, LocalOptions, context_length, load
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.local.tasks import LabelQuery, Scored, Text, exclusive
from tomeval.models.local.trials import settle

logger = logging.getLogger(__name__)

_BEFORE = 8  # prompt tokens that generated ones are decoded behind


class TransformersModel(LocalModel):
    """A causal language model and its tokenizer, from a local folder or the Hub.

    Parameters
    ----------
    path_or_repo : str
        A folder with ``config.json``, or a Hub name such as ``org/model``.
    revision : str, optional
        Branch, tag or commit on the Hub.
    given : Loaded, optional
        A model and tokenizer that are loaded already; `path_or_repo` is then their name only.
    **options
        See `tomeval.models.local.load.LocalOptions`.

    Attributes
    ----------
    revision : str
        The Hub's commit, or a hash of the folder.
    engine : Engine
        Runs the model.
    ends : frozenset of int
        Tokens that end an answer.

    Raises
    ------
    TomevalError
        A missing library, an unknown model, files that do not load, options that do not fit.

    Notes
    -----
    Batches change a model's arithmetic in the last bits. Draws and greedy choices are independent
    of the batch up to that rounding. Where the model's own `generation_config` has sampling
    settings they take no part; only its end tokens do.
    """

    def __init__(
        self,
        path_or_repo: str,
        revision: str | None = None,
        *,
        given: Loaded | None = None,
        **options: Any,
    ) -> None:
        how = check_options(LocalOptions, options, f"model 'hf:{path_or_repo}'")
        self.model, self.tokenizer, self.revision = given or load(path_or_repo, revision, how)
        self.name = f"hf:{path_or_repo}" + (f"@{revision}" if revision else "")
        self.codec = PromptCodec(self.tokenizer, chat=how.chat, thinking=how.thinking)
        context = context_length(self.model.config)
        self.thinking_budget = how.thinking_budget or 0
        if how.thinking_budget is None and self.codec.thinks:
            self.thinking_budget = thinking_room(context)
        tokens = how.batch_tokens or (32_768 if self.model.device.type == "cuda" else 8_192)
        self.engine = Engine(self.model, tokens, context)
        settle(self.engine, how.prefix_reuse, how.cache_memory)
        self.ends = self._end_tokens()
        self._texts: dict[Any, list[list[str]]] = {}  # of tokens, by what was scored
        held = how.structured == "auto"
        if held and self.codec.thinks:
            note = (
                "%s: structured = 'auto': answers are not held to a form: the model thinks before"
            )
            logger.warning(f"{note} it answers; set thinking = false", self.name)
        self.capabilities = Capabilities(compares=held and not self.codec.thinks)

    def slots(self) -> int | None:
        """See `LocalModel.slots`."""
        return self.engine.reader.slots()

    def forget(self, groups: Iterable[str]) -> None:
        """See `LocalModel.forget`."""
        self.engine.reader.forget(groups)

    def score_batch(self, requests: list[ScoreRequest]) -> list[Scores]:
        """Score labels by forward passes.

        Labels are tokenised together with the prompt. Where one merges with the prompt's end, all
        are scored from the last common token (method ``forward_backoff``): the numbers then hold
        the prompt's re-read end too, equally for every label. A label whose tokens begin another's
        gets the probability that the text does *not* go on to the other, so that labels are
        disjoint and `mass` never counts twice.

        Raises `TomevalError` for labels that the tokenizer cannot tell apart, thinking on, or when
        out of memory, and `ContextExceeded` for a prompt beyond the context.
        """
        start = time.perf_counter()
        queries = [self.codec.label_query(request) for request in requests]
        results = self.engine.score(queries)
        seconds = time.perf_counter() - start
        return [self._scores(*pair, seconds) for pair in zip(queries, results, strict=True)]

    def generate_batch(self, requests: list[GenerateRequest]) -> list[Reply]:
        """Generate replies; each draw depends on its own request alone.

        A thinking block that the prompt itself opens is put back before the text, so that the text
        shows it like one that the model opened.

        Raises `ContextExceeded` for a prompt beyond the context, `BackendError` if logits are not
        numbers, and `TomevalError` when out of memory.
        """
        start = time.perf_counter()
        encoded = [self.codec.encode(request.prompt) for request in requests]
        texts = [
            self._text(request, tuple(ids))
            for request, (ids, _) in zip(requests, encoded, strict=True)
        ]
        self.engine.write(texts)
        pairs, seconds = zip(texts, encoded, strict=True), time.perf_counter() - start
        return [self._reply(text, opened, seconds) for text, (_, opened) in pairs]

    def _text(self, request: GenerateRequest, ids: tuple[int, ...]) -> Text:
        most = request.sampling.max_tokens + self.thinking_budget
        sampling = replace(request.sampling, max_tokens=most)
        context = self.engine.context
        return Text(ids, sampling, request.seed, self.ends, request.group, context)

    def _reply(self, text: Text, opened: str, seconds: float) -> Reply:
        details: dict[str, Any] = {"route": "transformers"}
        if self.thinking_budget:
            details["thinking_budget"] = self.thinking_budget
        return Reply(
            text=opened + self.codec.decode(text.tokens, text.ids[: text.prompt][-_BEFORE:]),
            finish=text.ended or "length",
            usage=Usage(text.prompt, text.drawn, max(0, text.prompt - text.fed)),
            latency=seconds,
            details=details,
        )

    def _scores(self, query: LabelQuery, result: Scored, seconds: float) -> Scores:
        logprobs = tuple(exclusive(result.logprobs, query.sequences))
        details: dict[str, Any] = {"processed": result.fed, TOKENS: self._pieces(query)}
        if query.backoff:  # what comes next is the prompt's own end, said once more
            details["backoff"] = query.backoff
        else:
            details["argmax_is_label"] = result.argmax in {ids[0] for ids in query.sequences}
        read = len(query.prefix)
        return Scores(
            logprobs=logprobs,
            mass=math.fsum(map(math.exp, logprobs)),
            method="forward_backoff" if query.backoff else "forward",
            usage=Usage(read + query.backoff, cached=max(0, read - result.fed)),
            latency=seconds,
            details=details,
        )

    def _pieces(self, query: LabelQuery) -> list[list[str]]:
        """Return the tokens of each label as texts; looked up once for what is asked alike."""
        known = query.prefix[-1:], query.sequences
        if known not in self._texts:
            begun = [(*known[0], *ids) for ids in query.sequences]
            self._texts[known] = [
                [self.codec.decode(ids[n : n + 1], ids[n - 1 : n]) for n in range(1, len(ids))]
                for ids in begun
            ]
        return self._texts[known]

    def _end_tokens(self) -> frozenset[int]:
        """Collect the tokens that end an answer; models list them in up to four places."""
        ends: set[Any] = set(self.codec.turn_ends)
        generation = getattr(self.model, "generation_config", None)
        for owner in (generation, self.model.config, self.tokenizer):
            value = getattr(owner, "eos_token_id", None)
            ends.update(value if isinstance(value, (list, tuple)) else [value])
        return frozenset(token for token in ends if isinstance(token, int))
