"""What a player is asked and what a domain tells it: the seam between strategies and games."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeVar

from tomeval.core.errors import TomevalError
from tomeval.core.outcomes import Invalid
from tomeval.models.base import Message, Prompt
from tomeval.strategies.asking import Asker
from tomeval.strategies.beliefs import Belief
from tomeval.strategies.readers import Reader
from tomeval.strategies.templates import Prompts

T = TypeVar("T")

Form = Literal["functional", "literal", "advice"]
"""Whether a question asks for a move, for what others do, or for something that advice needs."""


@dataclass(frozen=True)
class Question(Generic[T]):
    """One thing asked of a player."""

    purpose: str  # names it in the call log and in the seeds of its requests
    form: Form
    template: str  # how the domain words it; see `Scene.phrase`
    reader: Reader[T]
    step: int  # from 1
    values: dict[str, Any] = field(default_factory=dict)
    kind: str = ""  # kind of call in the log; if empty, the kind of answer
    # Words what is said to a reply that cannot be read, given its `fault`; None: nothing is.
    repair: Callable[..., str] | None = None


class Style(NamedTuple):
    """How a question is answered: ``lm``, ``qa`` or ``cot``; whether worked examples precede it."""

    kind: str
    shots: bool = False

    @property
    def scored(self) -> bool:
        """Whether labels are scored: nothing is written."""
        return self.kind == "lm"


class Phrased(NamedTuple):
    """A question in words: its paragraphs, of which empty ones do not count.

    For `prefill` and `instead` see `tomeval.models.base.Prompt`.
    """

    parts: tuple[str, ...]
    prefill: str = ""
    instead: str = ""


class Told(NamedTuple):
    """What advice adds to a question: a paragraph before it, or what it is asked given."""

    text: str = ""
    given: str = ""


class Scene(Protocol):
    """What a domain tells one player in one episode; it grows as steps are played."""

    @property
    def prompts(self) -> Prompts:
        """The domain's templates."""

    @property
    def step(self) -> int:
        """The coming step, from 1."""

    @property
    def earlier(self) -> tuple[Message, ...]:
        """The conversation so far; empty where every question stands alone."""

    def context(self) -> str:
        """Return what the conversation does not tell yet of rules and past."""

    def summary_request(self, use: str) -> str:
        """Return the request to summarise the past, to ``act`` or to ``predict`` by it.

        It is empty if there is no past to summarise yet.
        """

    def summarised(self, summary: str) -> str:
        """Return the context with a summary in place of the past."""

    def note_request(self, template: str, context: str, memory: str, step: int) -> str:
        """Return the request for a note on a step, below what it is to be based on."""

    def group(self, purpose: str) -> str:
        """Return a mark for requests that begin differently from the questions."""

    def phrase(self, question: Question[Any], style: Style, extra: str) -> Phrased:
        """Word a question; `extra` is what it asks for besides the answer."""


class Foresight:
    """What others do in a step, as values for the templates `social` and ``oracle``.

    This class serves seats that have nobody to predict, where strategies that ask are refused, and
    parts that did not declare that they ask: what is declared decides which seats a strategy fits.
    """

    social: ClassVar[str] = "advice/social"

    async def expected(self, kind: str) -> dict[str, Any] | Invalid:
        """Ask the player itself, for answers of a kind: ``lm`` or ``qa``."""
        raise TomevalError("a strategy part that predicts must have predicts_first = True")

    async def truth(self) -> dict[str, Any] | Invalid:
        """Look up what others truly do; that this was done is recorded."""
        raise TomevalError("a strategy part that looks up the truth must have is_told = True")

    async def planted(self, belief: Belief) -> dict[str, Any] | Invalid:
        """State what others do, as often right as the belief; the statement is recorded."""
        return await self.truth()


def join(*parts: str) -> str:
    """Join paragraphs; empty ones are left out."""
    return "\n\n".join(part for part in parts if part)


def user_prompt(
    earlier: tuple[Message, ...], *parts: str, prefill: str = "", instead: str = ""
) -> Prompt:
    """Return one more user turn, of several paragraphs."""
    return Prompt((*earlier, Message("user", join(*parts))), prefill, instead)


class Context:
    """Rules and past as the domain tells them, or the player's own summary of the past (S2A).

    A summary is written once per step for moves and once for predictions, before the first question
    of each kind, because what matters to them differs. If it cannot be written, no question of its
    kind is asked.
    """

    def __init__(self, scene: Scene, summarises: bool) -> None:
        self.scene, self.summarises = scene, summarises
        self._written: dict[str, tuple[int, str | Invalid]] = {}

    async def text(self, line: Asker, form: Form = "functional") -> str | Invalid:
        """Return the head of the next step's question; write its summary first if needed."""
        scene = self.scene
        if not self.summarises:
            return scene.context()
        use = "act" if form == "functional" else "predict"
        step, text = self._written.get(use, (0, ""))
        if step != scene.step:
            text = await self._summary(line, use)
            self._written[use] = (scene.step, text)
        return text

    async def _summary(self, line: Asker, use: str) -> str | Invalid:
        scene = self.scene
        request = scene.summary_request(use)
        if not request:
            return scene.context()
        prompt, group = user_prompt(scene.earlier, request), scene.group("summarise")
        purpose = "summarise" if use == "act" else f"summarise for {use}"
        written = await line.write(purpose, "summary", prompt, scene.step, group)
        return written if isinstance(written, Invalid) else scene.summarised(written)
