"""The JSON schema of experiment files: as shipped, and as a validator of its own reads it.

After a change of keys: ``python tests/runs/test_file_schema.py --write``.
"""

from __future__ import annotations

import itertools
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from support import ROOT

from tomeval.core.errors import TomevalError
from tomeval.runs.domain import get_domain
from tomeval.runs.experiment import keys_of, make_experiment
from tomeval.runs.file_schema import experiment_schema

SHIPPED = ("matrix", "decrypto", "arena")
FILES = sorted([*ROOT.glob("experiments/*.toml"), *ROOT.glob("examples/experiment/*.toml")])


def path_of(domain: str) -> Path:
    return ROOT / "experiments" / "schema" / f"{domain}.json"


def stored(domain: str) -> dict:
    return json.loads(path_of(domain).read_text(encoding="utf-8"))


@pytest.mark.parametrize("domain", SHIPPED)
def test_the_shipped_schema_is_that_of_the_keys(domain) -> None:
    assert experiment_schema(get_domain(domain)) == stored(domain)


@pytest.mark.parametrize("domain", SHIPPED)
def test_every_key_and_every_option_is_described(domain) -> None:
    schema = stored(domain)
    assert set(schema["properties"]) == set(keys_of(get_domain(domain)).model_fields)
    bare = [name for name, key in schema["properties"].items() if not key.get("description")]
    assert bare == ["domain"] or bare == []
    text = json.dumps(schema)
    assert not re.search(r"/(?:home|root|work|tmp)/|https?://(?!json-schema\.org)\S+\.\w+/", text)


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


GOOD = {"games": ["RPS"], "subjects": ["rmax"]}
WRONG = [
    {"subjects": ["rmax"]},
    {**GOOD, "game": ["RPS"]},
    {**GOOD, "episodes": 0},
    {**GOOD, "episodes": "many"},
    {**GOOD, "horizon": "long"},
    {**GOOD, "games": []},
    {"domain": "decrypto", "players": {}, "pairings": [{"encoder": "all"}]},
    {"domain": "decrypto", "players": {}, "rules": {"turn": 3}},
    {"domain": "arena", "lineups": [{"game": "ipd3", "subjects": "a", "others": "b"}]},
]


@pytest.mark.parametrize("data", WRONG, ids=lambda data: json.dumps(data)[:60])
def test_wrong_files_do_not_fit(data) -> None:
    with pytest.raises(TomevalError):  # what is wrong for an editor is wrong for `run`
        make_experiment(json.loads(json.dumps(data)))
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft7Validator(stored(data.get("domain", "matrix")))
    assert not validator.is_valid(data)
    assert jsonschema.Draft7Validator(stored("matrix")).is_valid(GOOD)


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    for name in SHIPPED:
        text = json.dumps(experiment_schema(get_domain(name)), indent=1, ensure_ascii=False)
        path_of(name).write_text(f"{text}\n", encoding="utf-8")
