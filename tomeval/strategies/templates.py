"""Prompt templates: files with a front matter, rendered in a sandbox.

Jinja's sandbox gives no way to Python's inside, and there is no loader, so a template from a
stranger reaches no file.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.resources import read_text, shipped
from tomeval.core.text import check_text

_FENCE = "+++"
_KEYS = ("title", "source", "version", "prefill", "instead")
_MAX_SOURCE = 200_000  # characters of a template's file
_MAX_TEXT = 4_000_000  # characters of a prompt
_SETS, _PARTS, DEFAULT_SET = "sets", "parts", "default"
CHOSEN = "frame/"
"""The folder of templates that an option of players names: own ones come in addition."""

# What expressions of a template can raise.
_FAILURES = (
    *(TypeError, ValueError, AttributeError, ArithmeticError, LookupError),
    *(RecursionError, MemoryError),
)

# What parsing can raise: of jinja2, and of Python for what is nested too deeply.
_NO_TEMPLATE = (jinja2.TemplateSyntaxError, SyntaxError, TomevalError, *_FAILURES)


@dataclass(frozen=True, eq=False)
class Template:
    """One prompt part; title, source and version are the front matter's."""

    name: str  # path below the prompts folder without the suffix, such as ``answer/qa_act``
    title: str
    source: str
    version: str
    sha256: str  # of the whole file; stored with every run
    # What is asked, how the answer begins (empty for a free answer), and what is asked for where a
    # model cannot go on from such a beginning.
    body: jinja2.Template
    prefill: jinja2.Template
    instead: jinja2.Template


_USED: ContextVar[dict[str, Prompts] | None] = ContextVar("used", default=None)


@contextmanager
def using() -> Iterator[dict[str, Prompts]]:
    """Collect the names of all templates that are used inside the block, and whose they are."""
    used: dict[str, Prompts] = {}
    before = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(before)


class Prompts:
    """The prompt templates of one domain: those below ``prompts/DOMAIN`` and no others.

    Those in ``folder/DOMAIN``, a shipped set or one's own, take the place of these. Own ones may be
    a stranger's: they reach no other file. `more` are folders of strategy parts from outside, whose
    templates come in addition. Of a `variant` those in ``parts/VARIANT/DOMAIN`` take the place of
    the shipped ones, and those in ``folder/VARIANT/DOMAIN`` of all.
    """

    def __init__(
        self, domain: str, folder: Path | None = None, *more: Path, variant: str = ""
    ) -> None:
        self._made_of: tuple[Any, ...] = (domain, folder, *more)
        self._variant = variant
        twins = folder / variant / domain if folder and variant else None
        folder = folder and folder / domain
        if folder is not None and not folder.is_dir():
            sets = prompt_sets(domain)
            raise TomevalError(
                f"{folder}: no such folder of prompts{did_you_mean(folder.parent.name, sets)}; the "
                f"shipped sets are {', '.join(sets)}"
            )
        self._shipped = shipped("prompts") / domain
        self._more = [part / domain for part in more]
        plain = [shipped("prompts") / _PARTS / variant / domain] if variant else []
        own = [one for one in (twins, folder) if one is not None]
        self._folders = [*own, *plain, self._shipped, *self._more]
        self._env = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        del self._env.filters["random"], self._env.globals["lipsum"]  # a prompt does not draw
        self._cache: dict[str, Template] = {}
        self._sha256 = ""
        if folder is not None:
            self._check_names(folder)

    def beside(self, folder: Path | None) -> Prompts:
        """Return these templates and those of one more folder, such as of a game from outside."""
        return self if folder is None else _beside(self, folder)

    def names(self) -> list[str]:
        """Return all template names, sorted."""
        return sorted(set().union(*map(_names, self._folders)))

    def _check_names(self, folder: Path) -> None:
        """Raise if a file replaces no shipped template: it would have no effect."""
        own, known = _names(folder), set().union(*map(_names, (self._shipped, *self._more)))
        if not own:
            example = sorted(known)[0]
            raise TomevalError(f"{folder}: holds no prompt template, such as {example}.j2")
        # One folder words all players of an experiment, also the parts that only some of them have.
        parts = (shipped("prompts") / _PARTS).glob(f"*/{folder.name}")
        known = known.union(*map(_names, parts))
        if any(name.startswith(CHOSEN) for name in known):
            own = {name for name in own if not name.startswith(CHOSEN)}
        for name in sorted(own - known):
            raise unknown("prompt template", name, sorted(known), str(folder))

    def get(self, name: str) -> Template:
        """Return a template by name."""
        if (used := _USED.get()) is not None:
            used[name] = self
        if name not in self._cache:
            self._cache[name] = self._load(name)
        return self._cache[name]

    def render(self, name: str, **values: Any) -> str:
        """Render a template's body; outer white space is dropped."""
        return self._run(name, self.get(name).body, values)

    def prefill(self, name: str, **values: Any) -> str:
        """Render how the answer to a template begins."""
        return self._run(name, self.get(name).prefill, values)

    def instead(self, name: str, **values: Any) -> str:
        """Render what is asked for in place of a prefill."""
        return self._run(name, self.get(name).instead, values)

    def sha256(self) -> str:
        """Return one hash over all templates, which are read once."""
        if not self._sha256:
            digest = hashlib.sha256()
            for name in self.names():
                digest.update(f"{name} {self.get(name).sha256}\n".encode())
            self._sha256 = digest.hexdigest()
        return self._sha256

    def _run(self, name: str, template: jinja2.Template, values: dict[str, Any]) -> str:
        pieces, size = [], 0
        try:
            for piece in template.generate(values):
                size += len(piece)
                if size > _MAX_TEXT:
                    raise TomevalError(f"it produces more than {_MAX_TEXT:,} characters")
                pieces.append(piece)
        except (TomevalError, jinja2.TemplateError, *_FAILURES) as error:
            why = str(error) or type(error).__name__
            raise TomevalError(f"prompt {name!r}: cannot be rendered: {why}") from None
        return "".join(pieces).strip()

    def naming(self, value: str) -> Path | None:
        """Return the file of a template that shows a value, by its name; None without one."""
        for path in map(self.path, self.names()):
            try:
                shown = jinja2.meta.find_undeclared_variables(self._env.parse(read_text(path)))
            except _NO_TEMPLATE:  # which loading it explains
                continue
            if value in shown:
                return path
        return None

    def path(self, name: str) -> Path:
        """Return the file of a template."""
        path = next((p for f in self._folders if (p := f / f"{name}.j2").exists()), None)
        if path is None:
            raise unknown("prompt template", name, self.names())
        return path

    def _load(self, name: str) -> Template:
        path = self.path(name)
        home = next(f for f in self._folders if path.is_relative_to(f))
        if not path.resolve().is_relative_to(home.parent.resolve()):
            raise TomevalError(f"{path}: points outside the folder of prompts, to {path.resolve()}")
        text = read_text(path)
        if len(text) > _MAX_SOURCE:
            raise TomevalError(f"{path}: has more than {_MAX_SOURCE:,} characters")
        start, fence, rest = text.partition(f"{_FENCE}\n")
        head, fence_2, body = rest.partition(f"\n{_FENCE}\n")
        if start.strip() or not fence or not fence_2:
            raise TomevalError(f"{path}: needs front matter between two lines {_FENCE}")
        try:
            data = tomllib.loads(head)
        except (ValueError, RecursionError) as error:  # also numbers with thousands of digits
            raise TomevalError(f"{path}: front matter is not valid TOML: {error}") from None
        check_text(data, str(path))
        for key, value in data.items():
            if key not in _KEYS:
                raise TomevalError(f"{path}: unknown key {key!r}{did_you_mean(key, _KEYS)}")
            if not isinstance(value, str):
                raise TomevalError(f"{path}: {key} must be text, is {value!r}")
        for key in _KEYS[:3]:
            if key not in data:
                raise TomevalError(f"{path}: front matter lacks {key!r}")
        try:
            texts = (body, *(data.get(key, "") for key in _KEYS[3:]))
            compiled = [self._compile(part) for part in texts]
        except _NO_TEMPLATE as error:
            why = str(error) or type(error).__name__
            raise TomevalError(f"{path}: not a valid template: {why}") from None
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        return Template(name, data["title"], data["source"], data["version"], sha256, *compiled)

    def _compile(self, text: str) -> jinja2.Template:
        template = self._env.from_string(text)
        # A chain of two tables is walked entry by entry whenever a prompt is rendered.
        template.globals = dict(template.globals)
        return template


def _names(folder: Path) -> set[str]:
    """Return the names of the templates in a folder."""
    return {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.j2")}


def prompt_sets(domain: str) -> list[str]:
    """Return the names of the sets of templates that word a domain."""
    folder = shipped("prompts") / _SETS
    others = sorted(path.name for path in folder.glob("*") if (path / domain).is_dir())
    return [DEFAULT_SET, *others]


@lru_cache(maxsize=32)
def _beside(prompts: Prompts, folder: Path) -> Prompts:
    domain, own, *more = prompts._made_of
    return type(prompts)(domain, own, *more, folder, variant=prompts._variant)


@lru_cache(maxsize=32)
def load_prompts(
    domain: str,
    name: str = "",
    base: Path | None = None,
    more: tuple[Path, ...] = (),
    variant: str = "",
) -> Prompts:
    """Return the templates of a domain in a shipped set or a folder; read once.

    The name of a set goes first; a relative folder starts from `base`. Others as for `Prompts`.
    """
    folder: Path | None = (base or Path()) / name
    if name in ("", DEFAULT_SET):
        folder = None
    elif name in prompt_sets(domain):
        folder = shipped("prompts") / _SETS / name
    return Prompts(domain, folder, *more, variant=variant)
