"""A sandbox for templates from strangers: no code, no other file, no endless work.

jinja2's sandbox keeps a template from Python's inside, and no loader is set, so it reaches no file.
It does not limit what a template may cost. Here every pass of a loop, every call of a macro and
every character that is made is counted, and what can make much out of little is left out.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_PASSES = 50_000
"""Passes of loops and calls of macros, for one rendering."""

MAX_TEXT = 4_000_000
"""Characters and list entries that one rendering may make or go through."""

_MAX_BITS = 10_000  # of a whole number
_FILTERS = (
    *(
        "abs",
        "attr",
        "capitalize",
        "count",
        "d",
        "default",
        "dictsort",
        "e",
        "escape",
        "first",
        "float",
    ),
    *("format", "groupby", "int", "items", "join", "last", "length", "list", "lower", "map"),
    *("max", "min", "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr"),
    *(
        "sort",
        "string",
        "sum",
        "title",
        "tojson",
        "trim",
        "truncate",
        "unique",
        "upper",
        "wordcount",
    ),
)
_HOLDS = (list, tuple, set, frozenset)
_SIZED = (str, list, tuple, dict, set, frozenset, range)
# Methods that make much text out of little; there are filters for what a prompt needs of them.
_GROWING = ("center", "ljust", "rjust", "zfill", "expandtabs", "join", "replace", "translate")
_WIDE = re.compile(r"\*|\d{4}")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Renders templates that its user has not written; `begin` starts the count anew.

    What goes over a limit is a `SecurityError`, which is a `jinja2.TemplateError`.
    """

    intercepted_binops = frozenset(("*", "**", "+", "%"))

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, finalize=self._finalized)
        kept = {name: self._counted(name, self.filters[name]) for name in _FILTERS}
        self.filters = {**kept, _PASS: self._passed, _READ: self._read, _JOINED: self._joined}
        self.filters[_WHOLE] = self._whole
        self.tests = {name: self._counted(name, work) for name, work in self.tests.items()}
        del self.globals["lipsum"]
        self.begin()

    def begin(self) -> None:
        """Forget what earlier renderings have cost."""
        self._passes = self._text = 0

    def spend(self, amount: int) -> None:
        """Count characters or entries."""
        self._text += amount
        if self._text > MAX_TEXT:
            raise SecurityError(f"it makes or reads more than {MAX_TEXT:,} characters")

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Leave out methods that make much text out of little."""
        growing = isinstance(obj, str) and attr in _GROWING
        return not growing and super().is_safe_attribute(obj, attr, value)

    def wrap_str_format(self, value: Any) -> Any:
        """Leave out `str.format`, whose widths may come from its arguments."""
        if super().wrap_str_format(value) is not None:
            raise SecurityError("the method format is left out; use the filter format")

    def call(self, context: Any, obj: Any, /, *args: Any, **more: Any) -> Any:  # noqa: D102
        own = getattr(obj, "__self__", None)
        self._weigh((own, *args, *more.values()))
        return super().call(context, obj, *args, **more)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Work out ``*``, ``**``, ``+`` and ``%`` if the result is not too large."""
        for one, other in ((left, right), (right, left)):
            if operator == "*" and isinstance(one, _SIZED) and isinstance(other, int):
                self._weigh(one, max(0, other))
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length()
            bits = bits * abs(right) if operator == "**" else bits + right.bit_length()
            if bits > _MAX_BITS:
                raise SecurityError("it works with a number that is too large")
        elif operator == "%" and isinstance(left, str):
            _check_format(left)
        self._weigh((left, right))
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        found: nodes.Template = _Counting().visit(super()._parse(source, name, filename))
        return found

    def _finalized(self, value: Any) -> Any:
        self._weigh(value)
        self.spend(len(str(value)))
        return value

    def _weigh(self, value: Any, times: int = 1) -> None:
        """Count a value with all that is in it, as often as it is in it, before it is worked on."""
        todo = [value]
        while todo:
            one = todo.pop()
            self.spend(times * _size(one))
            if isinstance(one, dict):
                todo += [*one.keys(), *one.values()]
            elif isinstance(one, _HOLDS):
                todo += one

    def _counted(self, name: str, work: Any) -> Callable[..., Any]:
        """Return a filter or a test that counts what it goes through."""

        @functools.wraps(work)
        def counted(*args: Any, **more: Any) -> Any:
            given = args if not hasattr(work, "jinja_pass_arg") else args[1:]
            self._weigh((*given, *more.values()))
            if name == "format":
                _check_format(str(given[0]))
            if name == "replace":
                text, old, new = (str(value) for value in (*given, "", "")[:3])
                self.spend((text.count(old) if old else len(text) + 1) * len(new))
            if name == "join":
                between = more.get("d", given[1] if len(given) > 1 else "")
                values = list(given[0])
                self.spend(len(values) * len(str(between)) + sum(len(str(v)) for v in values))
                args = (*args[: len(args) - len(given)], values, *given[1:])
            return work(*args, **more)

        return counted

    @staticmethod
    @jinja2.pass_context  # so that it is not worked out once, when the template is compiled
    def _passed(context: Any, static: int) -> str:
        """Count a pass of a loop, or a call of a macro, and the text that stands in it."""
        environment = context.environment
        environment._passes += 1
        if environment._passes > MAX_PASSES:
            raise SecurityError(f"it takes more than {MAX_PASSES:,} passes of loops and macros")
        environment.spend(max(0, int(static)))
        return ""

    def _read(self, values: Any) -> Any:
        """Count what a loop goes through, which its condition may leave out."""
        self.spend(_size(values))
        return values

    def _whole(self, value: Any) -> Any:
        """Count what is put together or compared."""
        self._weigh(value)
        return value

    def _joined(self, values: list[Any]) -> str:
        """Return what ``~`` makes of values."""
        self._weigh(values)
        texts = list(map(str, values))
        self.spend(sum(map(len, texts)))
        return "".join(texts)


# Names that nobody can write.
_PASS, _READ, _JOINED, _WHOLE = "counted pass", "counted entries", "joined texts", "counted whole"


class _Counting(NodeTransformer):
    """Puts the count of passes into loops and macros, and a filter in place of ``~``."""

    def visit_For(self, node: nodes.For) -> nodes.For:
        self._counted(node)
        node.iter = nodes.Filter(node.iter, _READ, [], [], None, None, lineno=node.lineno)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Macro:
        self._counted(node)
        return node

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.CallBlock:
        self._counted(node)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        self.generic_visit(node)
        items = nodes.List(node.nodes, lineno=node.lineno)
        return nodes.Filter(items, _JOINED, [], [], None, None, lineno=node.lineno)

    def visit_List(self, node: nodes.List) -> nodes.Expr:
        return self._whole(node)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Expr:
        return self._whole(node)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Expr:
        return self._whole(node) if node.ctx == "load" else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Expr:
        self.generic_visit(node)
        node.expr = _filtered(node.expr, _WHOLE)
        for operand in node.ops:
            operand.expr = _filtered(operand.expr, _WHOLE)
        return node

    def _whole(self, node: nodes.Expr) -> nodes.Expr:
        self.generic_visit(node)
        return _filtered(node, _WHOLE)

    def _counted(self, node: Any) -> None:
        self.generic_visit(node)
        static = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
        amount = nodes.Const(static, lineno=node.lineno)
        count = nodes.Filter(amount, _PASS, [], [], None, None, lineno=node.lineno)
        node.body.insert(0, nodes.ExprStmt(count, lineno=node.lineno))


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _size(value: Any) -> int:
    return len(value) if isinstance(value, _SIZED) else 1


def _check_format(text: str) -> None:
    """Refuse widths of four digits and more, which fill up with spaces."""
    if _WIDE.search(text):
        raise SecurityError("a format with a width of more than three digits, or a variable one")
