"""The sandbox of prompt templates: no way to Python's inside, and a limit of work and memory.

What could take long or grow is counted before it is done: loops, calls, filters, arithmetic, lists
and what is printed. Nothing is measured in seconds, so a template that renders does so everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from tomeval.core.errors import TomevalError

MOST = 50_000_000
"""What one rendering may cost: characters and entries, and more for what takes longer."""

_STEP, _CALL = 10, 100  # what an iteration or a value costs at least, and a call
_BITS = 10_000  # of a whole number
_NUMBER = re.compile(r"\d+")


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment whose templates raise `TomevalError` when they cost more than `MOST`."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def __init__(self) -> None:
        self._spent = 0
        super().__init__(
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=self._counted,
        )
        del self.filters["random"], self.globals["lipsum"]  # a prompt does not draw
        self.filters = {name: self._limited(name, one) for name, one in self.filters.items()}
        self.filters |= {"(counted)": self._counted, "(each)": self._each}

    def begin(self) -> None:
        """Begin to count anew."""
        self._spent = 0

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Calculate, unless the result would be too large."""
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length()
            bits = bits * right if operator == "**" else bits + right.bit_length()
            self._spend(MOST + 1 if bits > _BITS else _STEP)
        elif operator == "*":
            self._spend(_product((left, right)))
        elif operator == "%" and isinstance(left, str):
            values = right if isinstance(right, tuple) else (right,)
            self._spend(_product((_widths(left), *values)))
        else:
            self._spend(_size(left) + _size(right))
        return super().call_binop(context, operator, left, right)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call, unless the arguments are too large."""
        method = getattr(obj, "__wrapped__", obj)  # the sandbox wraps `format`
        owner = getattr(method, "__self__", None)
        owned: tuple[Any, ...] = (owner,) if isinstance(owner, str | list | tuple | dict) else ()
        if isinstance(owner, str) and method.__name__ in ("format", "format_map"):
            owned = (_widths(owner),)
        self._spend(_CALL + _product((*owned, *args, *kwargs.values())))
        return super().call(context, obj, *args, **kwargs)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        """Put what is counted in place of loops, lists and concatenations."""
        parsed: nodes.Template = self._visited(super()._parse(source, name, filename))
        return parsed

    def _visited(self, node: Any) -> Any:
        for field, value in node.iter_fields():
            if isinstance(value, nodes.Node):
                setattr(node, field, self._visited(value))
            elif isinstance(value, list):
                new = [self._visited(v) if isinstance(v, nodes.Node) else v for v in value]
                setattr(node, field, new)
        if isinstance(node, nodes.For):
            if node.recursive:
                raise jinja2.TemplateSyntaxError("recursive loops are not allowed", node.lineno)
            node.iter = _filtered(node.iter, "(each)")
        elif isinstance(node, nodes.Concat):
            texts = [_filtered(part, "string") for part in node.nodes]
            node = texts[0]
            for text in texts[1:]:
                node = nodes.Add(node, text, lineno=text.lineno)
        elif isinstance(node, nodes.List | nodes.Dict) or (
            isinstance(node, nodes.Tuple) and node.ctx == "load"
        ):
            node = _filtered(node, "(counted)")
        return node

    def _limited(self, name: str, filter_: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(filter_)
        def limited(*args: Any, **kwargs: Any) -> Any:
            wide = _widths(args[0]) if name == "format" and isinstance(args[0], str) else 1
            self._spend(_CALL + _product((wide, *args, *kwargs.values())))
            return filter_(*args, **kwargs)

        return limited

    def _counted(self, value: Any) -> Any:
        self._spend(_size(value))
        return value

    def _each(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._spend(_STEP)
            yield value

    def _spend(self, cost: int) -> None:
        self._spent += cost
        if self._spent > MOST:
            raise TomevalError("takes too much work or memory")


def _filtered(node: Any, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _widths(text: str) -> int:
    """Return how wide a text can become as a format: its length and the numbers in it."""
    return len(text) + sum(int(width.lstrip("0")[:9] or 0) for width in _NUMBER.findall(text))


def _product(values: Iterable[Any]) -> int:
    """Return how large what is made of texts, lists and numbers of repetitions can become."""
    product = 1
    for value in values:
        product *= max(1, value if isinstance(value, int) else _size(value))
    return product


def _size(value: Any) -> int:
    """Return what the characters and entries of a value cost, up to more than `MOST`."""
    size, left = 0, [value]
    while left and size <= MOST:
        one = left.pop()
        if isinstance(one, Namespace):
            one = one._Namespace__attrs
        size += len(one) if isinstance(one, str) else _STEP
        if isinstance(one, list | tuple):
            left += one
        elif isinstance(one, dict):
            left += [*one, *one.values()]
    return size
