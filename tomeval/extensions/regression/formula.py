"""The formula of a regression: a grammar of four forms, read by hand; nothing of it is evaluated.

formula  = response "~" term { "+" term } [ "+" "(" "1" "|" group ")" ]
term     = "1" | crossing { "*" crossing }
crossing = factor { ":" factor }
factor   = column | "log" "(" column ")" | "factor" "(" column ")"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from tomeval.core.errors import TomevalError
from tomeval.core.text import excerpt

FORM = "write RESPONSE ~ TERM + TERM * TERM + (1|GROUP), as in regret ~ subject * log(step)"
EPISODE = "episode"
"""The group that stands for the sampling unit, and that of a formula which names none."""
FUNCTIONS = ("log", "factor")
MOST_PARTS = 6
"""Parts of a product, whose terms are the products of some of them: 63 of six."""
_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|[~+:*()|]|1(?!\w))", re.ASCII)


class Factor(NamedTuple):
    """A column, its logarithm (``log``), or its values as categories (``factor``)."""

    column: str
    function: str = ""

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.function}({self.column})" if self.function else self.column


Term = tuple[Factor, ...]
"""A product of factors; empty: the intercept, which every model has."""


class Formula(NamedTuple):
    """A response, its terms, those of fewer factors first, and the column of the clusters."""

    response: str
    terms: tuple[Term, ...]
    group: str

    @property
    def columns(self) -> list[str]:
        """The columns that it reads, each once."""
        used = [factor.column for term in self.terms for factor in term]
        return list(dict.fromkeys([self.response, *used]))

    def __str__(self) -> str:
        """Return it with every term written out."""
        terms = [":".join(map(str, term)) for term in self.terms] or ["1"]
        return f"{self.response} ~ {' + '.join(terms)} + (1|{self.group})"


def read_formula(text: str) -> Formula:
    """Read a formula.

    ``a * b`` is ``a + b + a:b``. Names are not checked here.

    Raises
    ------
    TomevalError
        What does not fit the grammar, and where; two groups; the response among the terms; a
        product without the terms that it is made of.

    Examples
    --------
    >>> str(read_formula("regret ~ subject * log(step)"))
    'regret ~ subject + log(step) + subject:log(step) + (1|episode)'
    """
    return _Reader(text).formula()


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.shown = f"--formula {excerpt(text, 200)!r}"
        self.tokens: list[tuple[str, int]] = []
        end = len(text.rstrip())
        while self.at < end:
            token = _TOKEN.match(text, self.at)
            if not token:
                self.at += len(text[self.at :]) - len(text[self.at :].lstrip())
                raise self.wrong(text[self.at], self.at)
            self.tokens.append((token[1], token.start(1)))
            self.at = token.end()
        self.at = 0

    def wrong(self, token: str, where: int) -> TomevalError:
        said = repr(excerpt(token)) if token else "the end"
        return TomevalError(f"{self.shown}: {said} at character {where + 1}; {FORM}")

    def take(self, *allowed: str) -> str:
        """Return the next token if it is one of these, or a name if none is given; else raise."""
        token, where = self.next()
        if (
            token not in allowed
            if allowed
            else not (token and token[0].isalpha() | (token[0] == "_"))
        ):
            raise self.wrong(token, where)
        self.at += 1
        return token

    def next(self) -> tuple[str, int]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", len(self.text))

    def formula(self) -> Formula:
        response = self.take()
        self.take("~")
        terms: dict[frozenset[Factor], Term] = {}
        groups = []
        while True:
            if self.next()[0] == "(":
                for token in ("(", "1", "|"):
                    self.take(token)
                groups.append(self.take())
                self.take(")")
            elif self.next()[0] == "1":
                self.take("1")
            else:
                for term in self.product():
                    terms.setdefault(frozenset(term), term)
            if self.at == len(self.tokens):
                break
            self.take("+")
        if len(groups) > 1:
            raise TomevalError(f"{self.shown}: one group only, (1|GROUP)")
        self.check(response, list(terms.values()))
        ordered = sorted(terms.values(), key=len)
        return Formula(response, tuple(ordered), *(groups or [EPISODE]))

    def product(self) -> list[Term]:
        """Return the terms of ``a * b * c``: every product of some of them."""
        parts = [self.crossing()]
        while self.next()[0] == "*":
            self.take("*")
            parts.append(self.crossing())
        if len(parts) > MOST_PARTS:
            raise TomevalError(
                f"{self.shown}: a product of {len(parts)} parts, at most {MOST_PARTS}: use fewer, "
                "or write out the terms that matter"
            )
        chosen = (some for n in range(1, len(parts) + 1) for some in combinations(parts, n))
        return [tuple(dict.fromkeys(f for part in some for f in part)) for some in chosen]

    def crossing(self) -> Term:
        factors = [self.factor()]
        while self.next()[0] == ":":
            self.take(":")
            factors.append(self.factor())
        return tuple(dict.fromkeys(factors))

    def factor(self) -> Factor:
        name = self.take()
        if self.next()[0] != "(":
            return Factor(name)
        if name not in FUNCTIONS:
            raise TomevalError(
                f"{self.shown}: unknown function {excerpt(name)}(); known: {', '.join(FUNCTIONS)}"
            )
        self.take("(")
        column = self.take()
        self.take(")")
        return Factor(column, name)

    def check(self, response: str, terms: Sequence[Term]) -> None:
        known = {frozenset(term) for term in terms}
        for term in terms:
            if any(factor.column == response for factor in term):
                raise TomevalError(f"{self.shown}: {response} is on both sides")
            parts = (part for n in range(1, len(term)) for part in combinations(term, n))
            for part in parts:
                if frozenset(part) not in known:
                    whole, missing = (":".join(map(str, each)) for each in (term, part))
                    raise TomevalError(
                        f"{self.shown}: {excerpt(whole)} needs the term {missing} too; write "
                        f"{excerpt(' * '.join(map(str, term)))}"
                    )
