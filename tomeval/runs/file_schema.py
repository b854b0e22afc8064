"""A JSON schema of experiment files, for editors: keys with their types, defaults and meanings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tomeval.runs.domain import Domain
from tomeval.runs.experiment import Experiment, keys_of

Json = dict[str, Any]
DRAFT = "http://json-schema.org/draft-07/schema#"
"""Editors of TOML read this draft."""

DEFINITIONS = "definitions"
"""Where parts of a schema are that others refer to."""

_SECTIONS = ("Parameters", "Attributes", "Options")


def experiment_schema(domain: Domain) -> Json:
    """Return the schema of a domain's experiment files, JSON-ready.

    What a domain knows beyond the types of its keys, such as the kinds of its players, comes from
    `Describe.keys`, with parts that are referred to under `DEFINITIONS`. A file that fits
    can still be refused: whether its parts fit each other is checked when it is loaded.
    """
    keys = keys_of(domain)
    schema = keys.model_json_schema(ref_template="#/definitions/{model}")
    definitions = schema.pop("$defs", {})
    described(schema, keys)
    tables = {cls.__name__: cls for cls in _tables(keys)}
    for name, definition in definitions.items():
        if name in tables:
            described(definition, tables[name])
    properties = schema["properties"]
    properties["domain"] = {"const": domain.name, **_kept(properties["domain"])}
    properties["on_invalid"] |= one_or_many({"enum": list(keys.POLICIES)})
    if domain.name != Experiment.model_fields["domain"].default:
        schema["required"] = sorted({"domain", *schema.get("required", ())})
    definitions["model"] = model_schema()
    for key, value in domain.describe.keys().items():
        if key == DEFINITIONS:
            definitions |= value
        else:
            properties[key] = {**_kept(properties[key]), **value}
    head = {"$schema": DRAFT, "title": f"An experiment of tomeval: {domain.title}"}
    schema.pop("title", None)
    schema["description"] = "See docs/runs.md, and `tomeval list` for what can be named."
    return {**head, **schema, "definitions": dict(sorted(definitions.items()))}


def described(schema: Json, keys: type[BaseModel]) -> None:
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
        if name in loose and value.get("type") == "array":
            schema["properties"][name] = value = one_or_many(value.pop("items", {}), value)
        if name in said:
            value["description"] = said[name]
    schema.pop("title", None)
    schema["description"] = (inspect.getdoc(keys) or "").partition("\n")[0]


def one_or_many(item: Json, more: Mapping[str, Any] | None = None) -> Json:
    """Return the schema of a key that is one value, or a list of values: an axis of the grid."""
    kept = {key: value for key, value in (more or {}).items() if key in ("default", "description")}
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}], **kept}


def table(properties: Mapping[str, Json], required: Iterable[str] = (), about: str = "") -> Json:
    """Return the schema of a table with these keys and no others."""
    schema: Json = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    if needed := list(required):
        schema["required"] = needed
    return schema | ({"description": about} if about else {})


def model_schema() -> Json:
    """Return the schema of a language model: a name, or a table with its name and options."""
    name = {"type": "string", "description": "See `tomeval list models`."}
    options = {"type": "object", "properties": {"name": name}, "required": ["name"]}
    return {"anyOf": [name, options], "description": "A language model, see docs/models.md."}


def ref(name: str) -> Json:
    """Refer to a part of the schema."""
    return {"$ref": f"#/{DEFINITIONS}/{name}"}


MODEL = ref("model")


def of_default(value: Any, meaning: str = "", axis: bool = False) -> Json:
    """Return the schema of an option, by its default; with `axis` it may be a list of values.

    Whole numbers are fine where a number is the default. An option without a default, or whose
    default is empty, can be anything.
    """
    kinds: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
    kind = kinds.get(type(value))
    schema: Json = {"type": kind} if kind else {}
    if axis and schema:
        schema = one_or_many(schema)
    if kind:
        schema["default"] = value
    return schema | ({"description": meaning} if meaning else {})


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


def _kept(value: Mapping[str, Any]) -> Json:
    """Return what of a key's schema stays if its type is described anew."""
    return {key: value[key] for key in ("default", "description") if key in value}


def _tables(keys: type[BaseModel]) -> Iterable[type[BaseModel]]:
    """Yield the models of tables that the keys hold."""
    for field in keys.model_fields.values():
        for model in _models(field):
            yield model
            yield from _tables(model)


def _models(field: FieldInfo) -> list[type[BaseModel]]:
    """Return the models in a field's annotation."""
    todo, models = [field.annotation], []
    while todo:
        one = todo.pop()
        if isinstance(one, type) and issubclass(one, BaseModel):
            models.append(one)
        todo += getattr(one, "__args__", ())
    return models
