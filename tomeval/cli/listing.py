"""Rows for ``tomeval list``: what experiments can name, in every domain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tomeval.core.errors import unknown
from tomeval.core.resources import read_text, shipped
from tomeval.runs.domain import domain_names, get_domain

Rows = list[dict[str, Any]]


def list_rows(what: str) -> Rows:
    """Return the rows of a list: one that all domains share, or one of a domain's own."""
    known = dict(LISTS)
    for name in domain_names():  # loaded one by one until the list is found
        if what not in known:
            known |= get_domain(name).lists
    if what not in known:
        raise unknown("list", what, known)
    return known[what]()


def domains() -> Rows:
    """Return the kinds of game."""
    return [
        {
            "domain": domain.name,
            "title": domain.title,
            "measures": len(domain.measures),
            "lists": ", ".join(domain.lists),
        }
        for domain in map(get_domain, domain_names())
    ]


def experiments() -> Rows:
    """Return the shipped experiments with the first line of each, which says what it is."""
    rows = []
    for path in sorted(shipped("experiments").glob("*.toml")):
        first = read_text(path).partition("\n")[0]
        rows.append({"experiment": path.stem, "about": first.removeprefix("#").strip()})
    return rows


def measures() -> Rows:
    """Return every measure of every domain."""
    better = {1: "more", -1: "less", 0: "neither"}
    return [
        {
            "domain": name,
            "measure": measure.name,
            "heading": measure.heading,
            "unit": measure.unit,
            "better": better[measure.better],
            "meaning": measure.meaning,
            "source": measure.source,
        }
        for name in domain_names()
        for measure in get_domain(name).measures.values()
    ]


def strategies() -> Rows:
    """Return the sixteen named strategies; every other combination is legal too."""
    from tomeval.strategies import NAMED

    sees = {"full": "rules, payoffs, history", "-history": "rules, payoffs"}
    sees |= {"-payoffs": "rules, history with its rewards", "-rewards": "rules, history"}
    sees |= {"s2a": "its own summary of rules and history"}
    return [
        {
            "strategy": strategy.name,
            "calls per step": strategy.calls_per_step,
            "literal probe": strategy.probes_per_step,
            "sees": sees[strategy.context] + _SEES.get(strategy.advice, ""),
            "answer": _ANSWERS[strategy.answer],
        }
        for strategy in NAMED
    ]


_SEES = {
    "social_qa": ", its own generated prediction",
    "social_lm": ", its own scored prediction",
    "oracle": ", the partner's true action",
    "oracle_max": ", the partner's true action and to maximise against it",
    "reflexion_1": ", its last lesson",
    "reflexion_2": ", its last 2 lessons",
    "reflexion_3": ", its last 3 lessons",
    "plans_insights": ", its last plans and insights",
}
_ANSWERS = {
    "lm": "scored labels",
    "qa": "a marked line",
    "cot": "reasoning, then a marked line",
    "cot_3_shot": "reasoning after three examples, then a marked line",
}


def prompts() -> Rows:
    """Return the shipped prompt templates of every domain that has any, set by set."""
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


LISTS: dict[str, Callable[[], Rows]] = {
    "domains": domains,
    "experiments": experiments,
    "measures": measures,
    "strategies": strategies,
    "prompts": prompts,
}
"""The lists that all domains share."""
