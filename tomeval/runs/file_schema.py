"""A JSON schema of experiment files, for editors: keys with their types, defaults and meanings."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic import BaseModel

from tomeval.runs.domain import Domain
from tomeval.runs.experiment import Experiment, keys_of, tables_of

Json = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"
"""Editors of TOML read this draft."""

_SECTIONS = ("Parameters", "Attributes", "Options")


def experiment_schema(domain: Domain) -> Json:
    """Return the schema of a domain's experiment files, JSON-ready.

    It is that of pydantic, with what docstrings say of the keys. A file that fits can still be
    refused: what stands in tables of games and players is checked when it is loaded.
    """
    keys = keys_of(domain)
    schema = keys.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs", {})
    _describe(schema, keys)
    for table in tables_of(keys).values():
        if table.__name__ in definitions:
            _describe(definitions[table.__name__], table)
    schema["properties"]["domain"]["const"] = domain.name
    if domain.name != Experiment.model_fields["domain"].default:
        schema["required"] = sorted({"domain", *schema.get("required", ())})
    about = "See docs/runs.md, and `tomeval list` for what can be named."
    head = {"$schema": DRAFT, "title": f"An experiment of tomeval: {domain.title}"}
    return {**schema, **head, "description": about, "definitions": definitions}


def _describe(schema: Json, keys: type[BaseModel]) -> None:
    """Add what docstrings say of the keys, and single values where a list may be left out."""
    said = meanings(keys)
    loose = {
        field
        for decorator in keys.__pydantic_decorators__.field_validators.values()
        if decorator.info.mode == "before"
        for field in decorator.info.fields
    }
    for name, value in schema.get("properties", {}).items():
        value.pop("title", None)
        if name in said:
            value["description"] = said[name]
        if name in loose and value.get("type") == "array":
            value["anyOf"] = [value["items"], {"type": value.pop("type"), "minItems": 1}]
            value["anyOf"][1]["items"] = value.pop("items")
            value.pop("minItems", None)
    schema.pop("title", None)
    schema["description"] = (inspect.getdoc(keys) or "").partition("\n")[0]


def meanings(cls: type) -> dict[str, str]:
    """Return what the docstrings of a class and its bases say of each parameter or attribute.

    Examples
    --------
    >>> from tomeval.runs.experiment import Experiment
    >>> meanings(Experiment)["episodes"]
    'Episodes per cell.'
    """
    said: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        said |= _sections(inspect.cleandoc(base.__doc__ or "")) if base is not object else {}
    return said


def _sections(text: str) -> dict[str, str]:
    """Read the sections of a NumPy docstring that list names."""
    sections: dict[str, str] = {}
    for title in _SECTIONS:
        pattern = rf"^{title}\n-+\n(.*?)(?=\n\n?\S+\n-+\n|\Z)"
        match = re.search(pattern, text, re.DOTALL | re.MULTILINE)
        names: list[str] = []
        body = re.sub(r",\n(?=\S)", ", ", match[1]) if match else ""  # names over several lines
        for line in body.splitlines():
            if line and not line.startswith(" "):
                names = [name.strip(" *") for name in line.partition(":")[0].split(",")]
            elif line.strip():
                for name in names:
                    sections[name] = f"{sections.get(name, '')} {line.strip()}".strip()
    return {name: _plain(said) for name, said in sections.items() if not said.startswith("As for ")}


def _plain(text: str) -> str:
    """Return a docstring's words without its marks of code."""
    return text.replace("``", "")
