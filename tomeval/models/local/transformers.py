"""Any Hugging Face causal language model in this process: label scoring and seeded generation."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tomeval.models import check_options
from tomeval.models.base import (
    Capabilities,
    GenerateRequest,
    LocalModel,
    Prompt,
    Reply,
    ScoreRequest,
    Scores,
    Usage,
    thinking_room,
)
from tomeval.models.local.architecture import context_length
from tomeval.models.local.forward import PlainEngine
from tomeval.models.local.load import LOADED, Loaded, load
from tomeval.models.local.prefix import PrefixEngine
from tomeval.models.local.prompt import PromptCodec
from tomeval.models.local.tasks import (
    Generated,
    LabelQuery,
    Scored,
    Task,
    check_sampling,
    exclusive,
    extensions,
)
from tomeval.models.local.threads import Threads
from tomeval.models.local.trials import prefix_engine, settle

_BEFORE = 8  # prompt tokens that generated ones are decoded behind

logger = logging.getLogger(__name__)


class LocalOptions(BaseModel):
    """What can be set for a model of this machine; unknown fields are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    # As the weights are stored (float16 on a CPU becomes float32, which is exact and faster there),
    # or a torch dtype's name.
    dtype: str = "auto"
    device: str | None = None  # of torch; by default a GPU if there is one
    device_map: Any = (
        None  # for `from_pretrained`: models spread over devices, in place of `device`
    )
    quantization: dict[str, Any] | None = None  # given to `from_pretrained`
    chat: bool | Literal["auto"] = (
        "auto"  # chat template or plain text; the template if there is one
    )
    # The template's thinking switch for generated text; None leaves its default. Labels are always
    # scored with thinking off, and not at all where it is switched on.
    thinking: bool | None = None
    # Tokens for thinking, on top of those that a request allows for the answer. By default 8,192,
    # or half of a shorter context, if the chat template makes the model think, else 0.
    thinking_budget: int | None = Field(None, ge=0)
    system: Literal["auto", "native", "merge", "drop"] = "auto"  # what becomes of system messages
    batch_tokens: int | None = Field(None, ge=1)  # of a batch; 32,768 on a GPU, else 8,192
    # Encode every token of an episode once where the model allows it; otherwise every prompt whole.
    prefix_reuse: bool = True
    # Most bytes of the caches of prefixes; default: 40 % of what is free, and for a small model no
    # more than 512 MiB or eight times its weights, see `tomeval.models.local.cache`.
    cache_memory: int | None = Field(None, ge=0)
    # Threads of a pass on a CPU, see `tomeval.models.local.threads.Threads`.
    threads: int | None = Field(None, ge=1)
    local_files_only: bool = False  # this and the next as for `from_pretrained`
    trust_remote_code: bool = False


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
        See `LocalOptions`.

    Attributes
    ----------
    revision : str
        The Hub's commit, or a hash of the folder.
    engine, plain : PrefixEngine or PlainEngine
        Runs the model, replaceable; and the one that reads every prompt whole.
    warnings : list of str
        What the template or the labels do not support as asked.

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
        if given is None:
            asked = {name: getattr(how, name) for name in LOADED}
            given = load(str(path_or_repo), revision, **asked)
        self.model, self.tokenizer, self.revision = given
        self.name = f"hf:{path_or_repo}" + (f"@{revision}" if revision else "")
        self.capabilities = Capabilities(local=True)
        self.codec = PromptCodec(
            self.tokenizer, chat=how.chat, thinking=how.thinking, system=how.system
        )
        self.warnings = self.codec.warnings
        self._context = context_length(self.model.config)
        self.thinking_budget = how.thinking_budget or 0
        if how.thinking_budget is None and self.codec.thinks:
            self.thinking_budget = thinking_room(self._context)
        usual = 32_768 if self.model.device.type == "cuda" else 8_192
        self._threads = Threads(self.model, how.threads)
        plain = PlainEngine(self.model, how.batch_tokens or usual, self._context, self._threads)
        self.plain = plain
        self.engine: PlainEngine | PrefixEngine = plain
        with self._threads.taking():
            settle(plain)
            if how.prefix_reuse:
                self.engine = prefix_engine(plain, how.cache_memory)
        self._ends = self._end_tokens()

    def describe(self) -> dict[str, Any]:
        """Return JSON-ready facts that the numbers depend on, for a run's records."""
        return {
            "name": self.name,
            "revision": self.revision,
            "dtype": str(self.model.dtype).removeprefix("torch."),
            "device": str(self.model.device),
            "attention": getattr(self.model.config, "_attn_implementation", None),
            "chat": self.codec.chat,
            "thinking": self.codec.thinking,
            "thinking_budget": self.thinking_budget,
            "system": self.codec.system_policy,
            "bos": self.codec.bos,
            "context_length": self._context,
            "end_tokens": sorted(self._ends),
            "warnings": list(self.warnings),
        }

    def count_tokens(self, prompt: Prompt) -> int:
        """Return the prompt's length in tokens, as for generation."""
        return len(self.codec.encode(prompt)[0])

    def context_length(self) -> int | None:
        """See `LocalModel.context_length`."""
        return self._context

    def slots(self) -> int | None:
        """See `LocalModel.slots`."""
        return self.engine.slots()

    def forget(self, groups: Iterable[str]) -> None:
        """See `LocalModel.forget`."""
        self.engine.forget(groups)

    def score_batch(self, requests: list[ScoreRequest]) -> list[Scores]:
        """Score labels by forward passes.

        Labels are tokenised together with the prompt. Where one merges with the prompt's end, all
        are scored from the last common token (method ``forward_backoff``): the numbers then hold
        the prompt's re-read end too, equally for every label. A label whose tokens begin another's
        gets the probability that the text does *not* go on to the other, so that labels are
        disjoint and `mass` never counts twice.

        Raises `TomevalError` for labels that the tokenizer cannot tell apart or thinking on,
        `ContextExceeded` for a prompt beyond the context, `BackendError` when out of memory.
        """
        start = time.perf_counter()
        queries = [self.codec.label_query(request) for request in requests]
        with self._threads.taking():
            results = self.engine.score(queries)
        for request, query in zip(requests, queries, strict=True):
            self._warn_of_prefixes(request, query)
        return [_scores(*pair, start) for pair in zip(queries, results, strict=True)]

    def generate_batch(self, requests: list[GenerateRequest]) -> list[Reply]:
        """Generate replies; each draw depends on its own request alone.

        A thinking block that the prompt itself opens is put back before the text, so that the text
        shows it like one that the model opened.

        Raises `TomevalError` for sampling values out of range, `ContextExceeded` for a prompt
        beyond the context, `BackendError` when out of memory or if logits are not numbers.
        """
        start = time.perf_counter()
        tasks, opened = [], []
        for request in requests:
            check_sampling(request.sampling)
            ids, thinking = self.codec.encode(request.prompt)
            opened.append(thinking)
            tasks.append(self._task(request, tuple(ids)))
        with self._threads.taking():
            results = self.engine.generate(tasks)
        return [self._reply(*parts, start) for parts in zip(tasks, results, opened, strict=True)]

    def _task(self, request: GenerateRequest, ids: tuple[int, ...]) -> Task:
        most = request.sampling.max_tokens + self.thinking_budget
        return Task(
            ids,
            replace(request.sampling, max_tokens=most),
            request.seed,
            self._ends,
            _stop_check(self.codec, ids, request.sampling.stop),
            request.group,
        )

    def _reply(self, task: Task, result: Generated, opened: str, start: float) -> Reply:
        text = self.codec.decode(result.tokens, task.ids[-_BEFORE:])
        if result.ended == "stop":
            text = text[: _first_stop(text, task.sampling.stop)]
        cached = max(0, len(task.ids) - result.processed) if result.processed else 0
        details: dict[str, Any] = {"route": "transformers", "ended": result.ended}
        if self.thinking_budget:
            details["thinking_budget"] = self.thinking_budget
        return Reply(
            text=opened + text,
            finish="stop" if result.ended in ("eos", "stop") else "length",
            usage=Usage(len(task.ids), result.sampled, cached),
            latency=result.finished - start,
            details=details,
        )

    def _end_tokens(self) -> frozenset[int]:
        """Collect the tokens that end an answer; models list them in up to four places."""
        ends: set[Any] = set(self.codec.turn_ends)
        generation = getattr(self.model, "generation_config", None)
        for owner in (generation, self.model.config, self.tokenizer):
            value = getattr(owner, "eos_token_id", None)
            ends.update(value if isinstance(value, (list, tuple)) else [value])
        return frozenset(token for token in ends if isinstance(token, int))

    def _warn_of_prefixes(self, request: ScoreRequest, query: LabelQuery) -> None:
        for index, longer in enumerate(extensions(query.sequences)):
            if longer:
                text = (
                    f"label {request.labels[index]!r} begins label {request.labels[longer[0]]!r}: "
                    "its score excludes the longer label"
                )
                if text not in self.warnings:
                    self.warnings.append(text)
                    logger.warning(text)


def _scores(query: LabelQuery, result: Scored, start: float) -> Scores:
    logprobs = tuple(exclusive(result.logprobs, query.sequences))
    details: dict[str, Any] = {"processed": result.processed}
    if query.backoff:  # what comes next is the prompt's own end, said once more
        details["backoff"] = query.backoff
    else:
        details["argmax_is_label"] = result.argmax in {ids[0] for ids in query.sequences}
    if any(extensions(query.sequences)):
        details["exclusive"] = True
    return Scores(
        logprobs=logprobs,
        mass=math.fsum(map(math.exp, logprobs)),
        method="forward_backoff" if query.backoff else "forward",
        usage=Usage(
            len(query.prefix) + query.backoff, cached=max(0, len(query.prefix) - result.processed)
        ),
        latency=result.finished - start,
        details=details,
    )


def _stop_check(
    codec: PromptCodec, ids: Sequence[int], stops: Sequence[str]
) -> Callable[[Sequence[int]], bool]:
    """Return a check that decodes only as many tokens as a stop text could have come in."""
    reach = 4 * max(map(len, stops), default=0) + 8  # a character takes at most four byte tokens
    before = ids[-_BEFORE:]

    def stopped(tokens: Sequence[int]) -> bool:
        if len(tokens) > reach:
            tail = codec.decode(tokens[-reach:], tokens[-reach - 1 : -reach])
            if _first_stop(tail, stops) is None:
                return False
        return _first_stop(codec.decode(tokens, before), stops) is not None

    return stopped


def _first_stop(text: str, stops: Sequence[str]) -> int | None:
    """Return where the earliest stop text begins, or None."""
    starts = [at for at in (text.find(stop) for stop in stops) if at >= 0]
    return min(starts, default=None)
