"""Results as records of Every Eval Ever (evalevalai.com), by its schema 0.3.0."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tomeval import __version__
from tomeval.core.errors import TomevalError, unknown
from tomeval.core.files import write_text
from tomeval.extensions.inspect import stored
from tomeval.extensions.inspect.stored import Facts
from tomeval.plots.output import distinct
from tomeval.report import exchange
from tomeval.runs.cell import RunCell
from tomeval.runs.results import Run

_SCHEMA = "0.3.0"
_LEVEL = 0.95
_RELATIONS = ("first_party", "third_party", "collaborative", "other")
_TWO_PARTS = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


def export_every_eval(
    run: Run,
    out: Path,
    organization: str = "unknown",
    relationship: str = "other",
    developer: str = "",
    repo: str = "",
) -> list[Path]:
    """Write a record per language model and player, and return the files.

    They are ``data/tomeval/DEVELOPER/MODEL/UUID.json``, as the shared data store has them; the same
    run gives the same names. Left out are cells of several models, cells whose measured player is
    none, such as Decrypto with a model as interceptor only, and measures of which neither more nor
    less is better, since a record must say which.

    Parameters
    ----------
    run : Run
    out : Path
        A folder.
    organization, relationship : str
        Who evaluated, and what they are to the model's developer: ``first_party``,
        ``third_party``, ``collaborative`` or ``other``.
    developer : str
        Of models whose names do not say it. Default: the kind of model, such as ``openai``;
        ``tomeval`` of embedded ones.
    repo : str
        The dataset on the Hub that holds the run, ``OWNER/NAME``.

    Raises
    ------
    TomevalError
        No such relationship, or no cell of one language model with a complete episode.
    """
    if relationship not in _RELATIONS:
        raise unknown("relationship", relationship, _RELATIONS)
    facts = stored.facts(run)
    groups: dict[tuple[str, str], list[RunCell]] = {}
    for cell in run.cells:
        model = exchange.only_model(cell)
        if model and len(cell.episodes):
            groups.setdefault((model, cell.player), []).append(cell)
    if not groups:
        raise TomevalError(f"{run.folder}: no cell with one language model has complete episodes")
    source = {
        "source_name": "tomeval",
        "source_type": "evaluation_run",
        "source_organization_name": organization,
        "evaluator_relationship": relationship,
    }
    written = []
    began = str(int(facts.started.timestamp()))
    abouts = {
        (model, player): _model(model, developer, stored.revision_text(cells[0], facts))
        for (model, player), cells in groups.items()
    }
    named = [f"tomeval_{exchange.safe(p)}/{about['id']}" for (_, p), about in abouts.items()]
    for (key, cells), at in zip(groups.items(), distinct(named), strict=True):
        about = abouts[key]
        digest = bytes.fromhex(stored.digest(facts.sha256, *key))
        record = {
            "schema_version": _SCHEMA,
            "evaluation_id": f"{at}/{began}",
            "evaluation_timestamp": facts.started.isoformat(timespec="seconds"),
            "retrieved_timestamp": began,
            "source_metadata": source,
            "eval_library": {"name": "tomeval", "version": __version__},
            "model_info": about,
            "evaluation_results": _results(run, cells, facts, repo),
        }
        text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False)
        name = f"{uuid.UUID(bytes=digest[:16], version=4)}.json"
        written.append(write_text(out / "data" / "tomeval" / about["id"] / name, text))
    return written


def _model(name: str, developer: str, revision: str) -> dict[str, Any]:
    """Return what a record says of a model: its name by the Hub, and where it ran."""
    kind, _, rest = name.partition(":") if ":" in name else ("", "", name)
    short = rest.partition("@")[0]
    if not _TWO_PARTS.fullmatch(short):  # no owner, or a path of this machine
        owner = exchange.safe(developer or kind or "tomeval")
        short = f"{owner}/{exchange.safe(short.rpartition('/')[2])}"
    details = {
        "deployment_type": "self_deployed" if kind in ("", "hf") else "unknown",
        "model_availability": "unknown" if kind else "open_weights",
    }
    if revision:
        details["revision"] = revision
    return {
        "name": short.partition("/")[2],
        "id": short,
        "developer": short.partition("/")[0],
        "additional_details": details,
    }


def _results(run: Run, cells: Sequence[RunCell], facts: Facts, repo: str) -> list[dict[str, Any]]:
    """Return an entry per cell and measure."""
    entries = []
    for cell in cells:
        task = facts.names[cell.number]
        said = {name: str(value) for name, value in cell.facts.items()}
        data = {"dataset_name": task, "source_type": "hf_dataset" if repo else "other"}
        data |= {"hf_repo": repo} if repo else {}
        shared = {
            "source_data": {**data, "additional_details": said},
            "generation_config": {
                "additional_details": {**said, "definition": json.dumps(cell.definition)}
            },
        }
        for name, mean, error in exchange.means(cell):
            measure = run.measures[name]
            if measure.better:
                entries.append(
                    {
                        "evaluation_result_id": f"{task}.{name}",
                        "evaluation_name": task,
                        **shared,
                        "metric_config": _metric(measure.heading, name, measure.meaning)
                        | {"lower_is_better": measure.better < 0, "metric_unit": measure.unit},
                        "score_details": {"score": mean} | _spread(cell, name, error),
                    }
                )
    return entries


def _metric(heading: str, name: str, meaning: str) -> dict[str, Any]:
    """Return what a score is; sample means of regret can fall below what its expectation can."""
    low, high = (0.0, 100.0) if name.endswith("_percent") else ("-Infinity", "Infinity")
    return {
        "evaluation_description": meaning,
        "metric_id": f"tomeval.{name}",
        "metric_name": heading,
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
    }


def _spread(cell: RunCell, name: str, error: float | None) -> dict[str, Any]:
    """Return the sampling error of a mean, as tables have it, or nothing."""
    around = cell.estimate([name])
    low, high = float(around.low[0]), float(around.high[0])
    spread: dict[str, Any] = {"num_samples": cell.units}
    if error is not None:
        spread["standard_error"] = {"value": error, "method": "analytic"}
    if math.isfinite(low) and math.isfinite(high):
        method = cell.interval_kind("auto")
        ends = {"lower": low, "upper": high, "confidence_level": _LEVEL, "method": method}
        spread["confidence_interval"] = ends
    return {"uncertainty": spread, "details": {"episodes": str(len(cell.episodes))}}
