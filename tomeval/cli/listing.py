"""Rows for ``tomeval list``: what experiments can name, in every domain."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tomeval.core.errors import TomevalError, did_you_mean, unknown
from tomeval.core.parts import (
    KINDS,
    is_installed,
    known,
    loaded_plugins,
    parts,
    resolved,
)
from tomeval.core.parts import shipped as shipped_extensions
from tomeval.core.resources import read_text, shipped
from tomeval.runs.analyses import known_figures, known_measures, known_tables
from tomeval.runs.domain import domain_names, get_domain

Rows = list[dict[str, Any]]


def list_rows(what: str, holding: str = "") -> Rows:
    """Return the rows of a list: one that all domains share, or one of a domain's own.

    Without a name, the lists themselves. `holding` keeps the rows in which a text stands, in any
    case; if there are none, that is an error with the nearest name.
    """
    lists = {name: ("all", make) for name, make in (LISTS | parts("lists")).items()}
    for domain in map(get_domain, domain_names()):
        lists |= {name: (domain.name, resolved(make)) for name, make in domain.lists.items()}
    if not what:
        return [
            {"list": name, "domain": domain, "holds": _holds(make)}
            for name, (domain, make) in lists.items()
        ]
    if what not in lists:
        raise unknown("list", what, lists)
    rows: Rows = lists[what][1]()
    kept = [row for row in rows if any(holding.lower() in str(v).lower() for v in row.values())]
    if rows and not kept:
        names = [str(next(iter(row.values()))) for row in rows]
        raise TomevalError(f"list {what}: no rows with {holding!r}{did_you_mean(holding, names)}")
    return kept


def _holds(make: Callable[..., Any]) -> str:
    """Return what a list holds, or a figure shows: the first sentence of what makes it."""
    first = " ".join((inspect.getdoc(make) or "").partition("\n\n")[0].split())
    return first.removeprefix("Return ").rstrip(".").replace("``", "")


def experiments() -> Rows:
    """Return the shipped experiments."""
    rows = []
    for path in sorted(shipped("experiments").glob("*.toml")):
        lines = (line for line in read_text(path).splitlines() if not line.startswith("#:"))
        first = next(lines, "")
        rows.append({"experiment": path.stem, "about": first.removeprefix("#").strip()})
    return rows


def measures() -> Rows:
    """Return every measure of every domain, as ``--metric`` takes them."""
    better = {1: "more", -1: "less", 0: "neither"}
    return [
        {
            "domain": domain.name,
            "measure": measure.name,
            "short": measure.short,
            "heading": measure.heading,
            "unit": measure.unit,
            "better": better[measure.better],
            "meaning": measure.meaning,
            "source": measure.source,
        }
        for domain in map(get_domain, domain_names())
        for measure in known_measures(domain).values()
    ]


def strategies() -> Rows:
    """Return the named strategies, with parts from outside; every other combination is legal.

    Parts with parameters are there with some values of them.
    """
    from tomeval.strategies import NAMED, Strategy, parse_strategy
    from tomeval.strategies.beliefs import EXAMPLES
    from tomeval.strategies.parts import ANSWER_PARTS, PARTS

    sees = {"full": "rules, payoffs, history", "-history": "rules, payoffs"}
    sees |= {"-payoffs": "rules, history with its rewards", "-rewards": "rules, history"}
    sees |= {"s2a": "its own summary of rules and history"}
    parts("strategies")  # loads what brings any
    shown = {strategy.name: strategy for strategy in NAMED}
    shown |= {own.shown: Strategy(advice=key) for key, own in PARTS.items()}
    shown |= {name: parse_strategy(name) for name in EXAMPLES}
    shown |= {own.shown: Strategy(answer=key) for key, own in ANSWER_PARTS.items()}
    answers = _ANSWERS | {key: own.about for key, own in ANSWER_PARTS.items()}
    return [
        {
            "strategy": name if name == strategy.name else f"{name} = {strategy.name}",
            "sees": ", ".join(filter(None, (sees[strategy.context], strategy.part.about))),
            "answer": answers[strategy.answer],
        }
        for name, strategy in shown.items()
    ]


_ANSWERS = {
    "lm": "scored labels",
    "qa": "a marked line",
    "cot": "reasoning, then a marked line",
    "cot_3_shot": "reasoning after three examples, then a marked line",
}


def prompts() -> Rows:
    """Return the prompt templates of every domain that has any, set by set."""
    from tomeval.strategies.templates import load_prompts, prompt_sets

    folders = [name for name in domain_names() if (shipped("prompts") / name).is_dir()]
    return [
        {
            "set": name,
            "domain": folder,
            "prompt": template.name,
            "version": template.version,
            "title": template.title,
            "source": template.source,
        }
        for folder in folders
        for name in prompt_sets(folder)
        for templates in [load_prompts(folder, name)]
        for template in map(templates.get, templates.names())
    ]


def models() -> Rows:
    """Return the kinds of language model, as experiments and ``--model`` write them."""
    from tomeval.models import all_backends
    from tomeval.models.scripted import script_names

    domain_names()  # with the plugins
    rows = [
        {
            "model": backend.form,
            "runs": "behind a server" if backend.served else "in this process",
            "about": backend.about,
        }
        for backend in all_backends().values()
    ]
    for name in script_names():
        rows.append({"model": f"scripted:{name}", "runs": "in this process", "about": "a script"})
    return rows


def figures() -> Rows:
    """Return the figures that ``tomeval plot --only`` can name."""
    from tomeval.plots.registry import FIGURES

    by_domain: list[tuple[str, str, Any]] = [
        ("all", name, where) for name, where in FIGURES.items()
    ]
    for domain in map(get_domain, domain_names()):
        by_domain += [(domain.name, name, where) for name, where in known_figures(domain).items()]
    return [
        {"figure": name, "domain": domain, "about": _holds(resolved(where))}
        for domain, name, where in by_domain
    ]


def tables() -> Rows:
    """Return the tables that ``tomeval table --what`` can name."""
    rows = [{"table": "cells", "domain": "all", "about": "a row per cell, with every measure"}]
    for domain in map(get_domain, domain_names()):
        rows += [
            {"table": name, "domain": domain.name, "about": table.about}
            for name, table in known_tables(domain).items()
        ]
    return rows


def extensions() -> Rows:
    """Return the extensions: those that ship, and those of installed packages and of --plugin."""
    sources = [(n, n, "tomeval", one.about) for n, one in shipped_extensions().items()]
    for plugin in loaded_plugins():
        sources.append((plugin.where, plugin.name, plugin.package or "--plugin", plugin.about))
    return [
        {
            "extension": name,
            "brings": ", ".join(
                kind for kind in KINDS if whose in {one.extension for one in known(kind).values()}
            ),
            "from": source,
            "about": about if is_installed(whose) else f"is not here: {about}",
        }
        for whose, name, source, about in sources
    ]


LISTS: dict[str, Callable[[], Rows]] = {
    "experiments": experiments,
    "models": models,
    "measures": measures,
    "figures": figures,
    "tables": tables,
    "strategies": strategies,
    "prompts": prompts,
    "extensions": extensions,
}
"""The lists that all domains share."""
