"""The contract of a model backend: generate text, score labels. Models know nothing of games."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tomeval.core.errors import TomevalError

if TYPE_CHECKING:
    from tomeval.models.served import Budget


class BackendError(Exception):
    """The backend gave no reply: no network, a server error. Never an answer."""


class ContextExceeded(BackendError):
    """The prompt, with room for the reply, is longer than the model's context.

    Asking again does not help, and every later prompt of the episode is longer still.
    """


class Unlisted(BackendError):
    """A label is not among the likeliest tokens, which are all that the backend tells.

    The model was asked and would say something else: this is an answer that cannot be read, and
    asking again gives the same.
    """


class Unusable(BackendError):
    """A reply came, but what was asked for is not in it, or it cannot be read at all."""


class Stopped(TomevalError):
    """Why a run asks no more of a model: no room under a cap, no access, or a server that is gone.

    What was answered is kept. Other episodes under way end at their own next question.
    """


class Message(NamedTuple):
    """One turn of a conversation; `role` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """What a model reads."""

    # The conversation. A backend without chat template joins the contents by blank lines.
    messages: tuple[Message, ...]
    # How the answer begins, without a trailing space; the model goes on from there.
    prefill: str = ""
    # What the last message ends in where the backend cannot go on from a prefill, which then is
    # left out; empty: nothing.
    instead: str = ""


def plain_text(prompt: Prompt) -> str:
    r"""Return the prompt without roles: the contents and the prefill, joined by blank lines.

    Examples
    --------
    >>> plain_text(Prompt((Message("system", "S"), Message("user", "U")), prefill="Answer:"))
    'S\n\nU\n\nAnswer:'
    """
    parts = [message.content for message in prompt.messages]
    return "\n\n".join([*parts, prompt.prefill] if prompt.prefill else parts)


@dataclass(frozen=True)
class Sampling:
    """How text is drawn. Servers with defaults of their own are sent every value explicitly."""

    temperature: float = 1.0  # 0 is greedy
    # Truncation; 1.0, 0 and 0.0 switch it off.
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    max_tokens: int = 256  # longest reply


@dataclass(frozen=True)
class GenerateRequest:
    """One text to generate."""

    prompt: Prompt
    sampling: Sampling
    # Seed of this draw (63 bits); an equal request with an equal seed gives an equal reply where
    # the backend allows it, whatever else is in its batch.
    seed: int
    group: str = ""  # which episode the request belongs to: requests of a group share long prefixes
    # Texts one of which the reply must be, for models whose `Capabilities.holds` say so.
    choices: tuple[str, ...] = ()
    attempt: int = 1  # how often the question has been asked with this one; for counting
    # A JSON schema, as JSON, that the reply must fit, where `Capabilities.holds` says so.
    schema: str = ""


THINKING_ROOM = 8192
"""Tokens for thinking, if a model is seen to think and the experiment sets none."""


def thinking_room(context: int | None) -> int:
    """Return the tokens for thinking where none are set: at most half of the context.

    Examples
    --------
    >>> thinking_room(None), thinking_room(4096)
    (8192, 2048)
    """
    return THINKING_ROOM if context is None else min(THINKING_ROOM, context // 2)


TOKENS = "tokens"
"""In `Scores.details`: the tokens of each label, as texts, where the backend knows them."""

LOW_MASS = 0.01
"""Labels that together have less of the probability are hardly what the model would say."""


@dataclass(frozen=True)
class ScoreRequest:
    """Labels to score as continuations of a prompt."""

    # Ends without a trailing space; the backend puts one before each label where the prompt text
    # does not end in a line break or a control token.
    prompt: Prompt
    labels: tuple[str, ...]  # at least two, different
    group: str = ""  # as for `GenerateRequest`


@dataclass(frozen=True)
class Usage:
    """Tokens of one request; `cached` of the prompt's tokens were not encoded again."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
        )


@dataclass(frozen=True)
class Reply:
    """A generated text."""

    text: str  # the answer, without the prefill and without reasoning that the backend separates
    reasoning: str | None = None  # thinking that the backend reports apart from the text
    finish: Literal["stop", "length", "refusal"] = "stop"  # ``length``: cut off at `max_tokens`
    usage: Usage = Usage()
    latency: float = 0.0  # seconds from sending to having the reply
    # JSON-ready facts worth keeping: route, effective parameters, server fingerprint.
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of labels."""

    # log P(label | prompt) in nats, one per label, summed over the label's tokens.
    logprobs: tuple[float, ...]
    # Probability that the labels share: the sum of exp(logprobs) over the whole vocabulary's 1.
    mass: float
    # The route the numbers came by, such as ``forward`` or ``token_ids``; never pooled by accident
    # because it is stored with every row.
    method: str
    # As for `Reply`; ``argmax_is_label``, where the route tells: whether the most probable next
    # token is a label or the beginning of one.
    usage: Usage = Usage()
    latency: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do."""

    # Whether questions of one episode that do not depend on each other may be asked at once.
    concurrent: bool = True
    # Whether answers can be held to choices or a schema; `Reply.details` then have how, as
    # ``enforced``.
    holds: bool = False
    # Whether answers are held to their form by comparing how likely all of them are, behind what
    # the model wrote before.
    compares: bool = False


@dataclass(frozen=True)
class Opening:
    """The settings with which a backend opens a model."""

    base: Path | None = None  # folder that relative paths start from
    budget: Budget | None = None  # caps on calls and tokens, for served models
    # Whether labels will be scored: a server that cannot is then refused at the start, and asked
    # nothing about it otherwise.
    scores: bool = True


class Model(ABC):
    """A model backend that runs elsewhere, or one episode's line to a `LocalModel`."""

    name: str  # as the experiment names it, such as ``hf:org/model`` or ``openai:gpt@http://...``
    revision: str = ""  # what was really used: a commit, a file hash, what a server says of itself
    capabilities: Capabilities = Capabilities()

    @abstractmethod
    async def generate(self, request: GenerateRequest) -> Reply:
        """Generate one reply; `BackendError` if the backend gives no reply."""

    async def score(self, request: ScoreRequest) -> Scores:
        """Score labels; `BackendError` unless a backend can."""
        raise BackendError(f"{self.name} does not score labels")

    def episode(self, answered: int) -> Model:
        """Return the model as one episode uses it; `answered` of its requests were answered before.

        Almost always the model itself; a script, though, starts anew with every episode.
        """
        return self

    def judged(self, outcome: str, call: Mapping[str, Any]) -> None:  # noqa: B027 (who counts)
        """Record how a reply was read: ``valid``, or why not; and its call as logged."""

    def settled(self, outcome: str, call: Mapping[str, Any]) -> None:  # noqa: B027 (the same)
        """Record the outcome of a question after all attempts, and its last call as logged."""

    async def start(self) -> None:  # noqa: B027 (most backends have nothing to do here)
        """Get ready inside the running event loop: connect, test the endpoint."""

    def stop(self) -> None:  # noqa: B027 (for those who wait before they ask)
        """Begin no request and repeat none; those under way end by themselves."""

    async def close(self) -> None:  # noqa: B027
        """Release what `start` took."""


class WrappedModel(Model):
    """A model that passes requests on to another one; subclasses add what happens on the way."""

    def __init__(self, model: Model | LocalModel) -> None:
        self.model = model
        self.name, self.revision, self.capabilities = model.name, model.revision, model.capabilities

    async def generate(self, request: GenerateRequest) -> Reply:
        """Ask for a reply."""
        reply: Reply = await self.ask(request)
        return reply

    async def score(self, request: ScoreRequest) -> Scores:
        """Ask for scores."""
        scores: Scores = await self.ask(request)
        return scores

    async def ask(self, request: GenerateRequest | ScoreRequest) -> Any:
        """Pass a request on; what it returns is of the request's kind."""
        model: Any = self.model
        scores = isinstance(request, ScoreRequest)
        return await (model.score(request) if scores else model.generate(request))


class LocalModel(ABC):
    """A backend that runs in this process, many requests at a time, without an event loop."""

    name: str
    revision: str = ""
    capabilities: Capabilities = Capabilities()

    @abstractmethod
    def generate_batch(self, requests: list[GenerateRequest]) -> list[Reply]:
        """Generate replies; each draw depends on its own request alone."""

    @abstractmethod
    def score_batch(self, requests: list[ScoreRequest]) -> list[Scores]:
        """Score labels."""

    def slots(self) -> int | None:
        """Return for how many growing prompts the backend keeps what it has read; None: no limit.

        More than that, played in turn, would have to be read again and again.
        """
        return None

    def forget(self, groups: Iterable[str]) -> None:  # noqa: B027 (for those who keep something)
        """Forget what is kept for groups of requests that have ended."""
