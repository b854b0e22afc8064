"""The JSON schema of experiment files: as shipped, and as a validator of its own reads it.

After a change of keys: ``python tests/runs/test_file_schema.py --write``.
"""

from __future__ import annotations

import itertools
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from support import ROOT

from tomeval.runs.domain import Domain, get_domain
from tomeval.runs.experiment import Experiment

SHIPPED = ("matrix", "decrypto", "arena")
FILES = sorted([*ROOT.glob("experiments/*.toml"), *ROOT.glob("examples/experiment/*/*.toml")])


Json = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"
"""Editors of TOML read this draft."""


def experiment_schema(domain: Domain) -> Json:
    """Return the schema of a domain's experiment files, JSON-ready.

    A file that fits can still be refused: what stands in tables of games and players is checked
    when it is loaded.
    """
    keys = domain.experiment
    schema = keys.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs", {})
    _loosen(schema, keys)
    for table in keys.tables().values():
        if table.__name__ in definitions:
            _loosen(definitions[table.__name__], table)
    schema["properties"]["domain"]["const"] = domain.name
    if domain.name != Experiment.model_fields["domain"].default:
        schema["required"] = sorted({"domain", *schema.get("required", ())})
    about = "See docs/runs.md, and `tomeval list` for what can be named."
    head = {"$schema": DRAFT, "title": f"An experiment of tomeval: {domain.title}"}
    return {**schema, **head, "description": about, "definitions": definitions}


def _loosen(schema: Json, keys: type[BaseModel]) -> None:
    """Allow single values where a list may be left out."""
    loose = {
        field
        for decorator in keys.__pydantic_decorators__.field_validators.values()
        if decorator.info.mode == "before"
        for field in decorator.info.fields
    }
    for name, value in schema.get("properties", {}).items():
        value.pop("title", None)
        if name in loose and value.get("type") == "array":
            value["anyOf"] = [value["items"], {"type": value.pop("type"), "minItems": 1}]
            value["anyOf"][1]["items"] = value.pop("items")
            value.pop("minItems", None)
    schema.pop("title", None)
    schema.pop("description", None)


def path_of(domain: str) -> Path:
    return ROOT / "experiments" / "schema" / f"{domain}.json"


def stored(domain: str) -> dict:
    return json.loads(path_of(domain).read_text(encoding="utf-8"))


@pytest.mark.parametrize("domain", SHIPPED)
def test_the_shipped_schema_is_that_of_the_keys(domain) -> None:
    assert experiment_schema(get_domain(domain)) == stored(domain)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_shipped_files_are_linked_to_the_schema_and_fit_it(path) -> None:
    text = path.read_text(encoding="utf-8")
    data = tomllib.loads(text)
    domain = data.get("domain", "matrix")
    if path.parent.name == "experiments":
        # Editors read it among the comments before the first key, relative to the file.
        comments = list(itertools.takewhile(lambda x: x.startswith("#"), text.splitlines()))
        assert comments[-1] == f"#:schema schema/{domain}.json"
        assert (path.parent / comments[-1].removeprefix("#:schema ")).is_file()
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft7Validator(stored(domain))
    assert [error.message for error in validator.iter_errors(data)] == []


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    for name in SHIPPED:
        text = json.dumps(experiment_schema(get_domain(name)), indent=1, ensure_ascii=False)
        path_of(name).write_text(f"{text}\n", encoding="utf-8")
