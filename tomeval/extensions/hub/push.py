"""Put a run on the Hugging Face Hub as a dataset: gather it, look it over, upload it."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from tomeval import __version__
from tomeval.core.credentials import credential_in, without_credentials
from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.text import markdown
from tomeval.extensions.hub.entries import check_repo, needs_hub
from tomeval.report import ReportOptions, exchange, write_report
from tomeval.report.exporting import export_run
from tomeval.report.tables import render
from tomeval.runs.checksums import SEAL, signed
from tomeval.runs.columns import is_interval
from tomeval.runs.database import ROWS_AT_A_TIME
from tomeval.runs.results import Run
from tomeval.runs.store import EXPERIMENT, STORE, Store
from tomeval.runs.stored import identity_sha256

_COPIED = ("experiment.json", "sessions.json")
_CHUNK = 1 << 22
_OVERLAP = 256


class Staged(NamedTuple):
    """A run gathered for upload: the folder, its files with their sizes in bytes, the card."""

    folder: Path
    files: list[tuple[str, int]]
    card: str


def stage(run: Run, repo: str, folder: Path, *, report: bool = False) -> Staged:
    """Gather in an existing, empty folder what goes to the dataset `repo`, ``OWNER/NAME``.

    That is the store as one consistent file (a copy, even of a run that is being played),
    experiment.json, sessions.json, cells.csv, episodes.csv, the dataset card README.md and, with
    `report`, report.html.

    Raises
    ------
    TomevalError
        A wrong name; a folder that cannot be written; a file that seems to hold a credential.
    """
    check_repo(repo)
    if any(folder.iterdir()):
        raise TomevalError(f"{folder}: is not empty")
    place = folder / "run"  # outputs lie outside run folders
    try:
        place.mkdir()
        _copy_store(run, place)
        for name in _COPIED:
            if (run.folder / name).is_file():
                shutil.copyfile(run.folder / name, place / name)
        _leave_out_addresses(run, place)
    except (OSError, sqlite3.Error) as error:
        raise TomevalError(f"{folder}: cannot be written ({error})") from None
    with Run(place) as copy:  # which says no more than it may
        export_run(copy, "cells", "csv", folder / "cells.csv")
        export_run(copy, "episodes", "csv", folder / "episodes.csv")
        if report:
            write_report(copy, folder / "report.html", ReportOptions())
        card = dataset_card(copy, repo, report=report)
    write_text(folder / "README.md", card)
    for path in place.iterdir():
        path.replace(folder / path.name)
    place.rmdir()
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    addresses = {name.partition("@")[2].encode() for name in run.public_names}
    for path in paths:
        if any(address in part for part in _parts(path) for address in addresses):
            raise TomevalError(
                f"{path.name} holds the address of a server: nothing is uploaded. Give the model "
                'an alias, models = { "NAME" = "openai:..." }, and play the run again'
            )
        credential = next(filter(None, map(credential_in, _parts(path))), "")
        if credential:
            raise TomevalError(
                f"{path.name} seems to hold {credential}: nothing is uploaded. Take it out of the "
                "experiment (or the prompts) and play the run again"
            )
    return Staged(folder, [(path.name, path.stat().st_size) for path in paths], card)


def upload(staged: Staged, repo: str, *, private: bool = True, endpoint: str | None = None) -> str:
    """Upload a gathered run in one commit and return the dataset's address.

    A dataset that does not exist is made; one that exists keeps its visibility and its other files.
    huggingface-hub finds the credential (``hf auth login`` or HF_TOKEN), which is never read, shown
    or stored here.

    Raises
    ------
    TomevalError
        huggingface-hub is missing, nobody is logged in, or the Hub refuses.
    """
    needs_hub()
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, LocalTokenNotFoundError

    api = HfApi(endpoint=endpoint)
    try:
        url = api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=staged.folder,
            commit_message="Upload a tomeval run",
        )
    except LocalTokenNotFoundError:
        raise TomevalError("not logged in to the Hub: run hf auth login, or set HF_TOKEN") from None
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", "no")
        raise TomevalError(
            f"the Hub refused to take {repo} (status {status}): {_first_line(error)}"
        ) from None
    except httpx2.HTTPError as error:
        raise TomevalError(
            f"the Hub cannot be reached ({type(error).__name__}): {_first_line(error)}"
        ) from None
    return str(url)


def size_text(count: int) -> str:
    """Return a number of bytes for reading.

    Examples
    --------
    >>> size_text(999), size_text(1_540_000)
    ('999 B', '1.5 MB')
    """
    size = float(count)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _first_line(error: Exception) -> str:
    """Return an error's first line, without what looks like a credential."""
    return without_credentials((str(error).strip().splitlines() or [""])[0])


def _copy_store(run: Run, folder: Path) -> None:
    """Copy a run's store into a folder."""
    uri = f"{run.store.read_from.resolve().as_uri()}?mode=ro"
    with (
        closing(sqlite3.connect(uri, uri=True, timeout=60)) as old,
        closing(sqlite3.connect(folder / STORE)) as new,
    ):
        old.backup(new)


def _leave_out_addresses(run: Run, folder: Path) -> None:
    """Name models in a copied run as tables do, without addresses of servers, and no hosts.

    The copy is one file that needs no log beside it.
    """
    store, identity = Store(folder, run.domain), {}
    try:
        store.leave_out_hosts()
        if run.public_names:
            identity = store.rename(run.public_names)
    finally:
        store.close()
    (folder / SEAL).unlink(missing_ok=True)
    with closing(sqlite3.connect(folder / STORE)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("VACUUM")  # what was written over is gone from the file too
    path = folder / EXPERIMENT
    if identity and path.is_file():
        resolved = json.loads(path.read_text(encoding="utf-8"))
        resolved |= {"sha256": identity_sha256(identity), **identity}
        write_text(path, json.dumps(signed(resolved), indent=1), own=True)


def _parts(path: Path) -> Iterator[bytes]:
    """Yield a file in parts that overlap, so that nothing is missed where they meet.

    Of a store also what it holds packed.
    """
    if path.name == STORE:
        yield from _unpacked(path.parent)
    kept = b""
    with path.open("rb") as file:
        while part := file.read(_CHUNK):
            yield kept + part
            kept = part[-_OVERLAP:]


def _unpacked(folder: Path) -> Iterator[bytes]:
    """Yield all records of model calls and all kept replies of a store, some at a time."""
    with closing(Store(folder)) as store:
        texts = store.texts()
        while some := list(itertools.islice(texts, ROWS_AT_A_TIME)):
            yield "\n".join(some).encode()


# The card


def dataset_card(run: Run, repo: str, *, report: bool = False) -> str:
    """Return the README.md of a run's dataset: what it holds, its table, how to read it.

    Names from the experiment are quoted in the front matter and escaped in the text.
    """
    name = run.name or repo.partition("/")[2]
    rows = run.rows()
    headline = [run.measures[measure] for measure in run.headline]
    named = sorted({model for cell in run.cells for model in cell.models.values()})
    invalid = [row["invalid_rate"] for row in rows if not math.isnan(row["invalid_rate"])]
    models_said = markdown(", ".join(named)) or "none"
    worst = f"{100 * max(invalid):.1f} %" if invalid else "unknown"
    lines = [
        f"# {markdown(name)}",
        "",
        f"Functional and literal theory of mind measured on the same steps with tomeval "
        f"{__version__}: {run.domain.title}.",
        "",
        f"- {len(run.cells)} cells, {sum(row['episodes'] for row in rows):,} complete episodes; "
        f"largest invalid rate of a cell: {worst}",
        f"- models: {models_said}",
        f"- played: {exchange.started(run).date().isoformat()}",
        f"- identity of the experiment (SHA-256): `{run.store.meta().get('sha256', '')}`",
        "",
        _table(run, rows),
        "",
        "Over complete episodes, with 95 % intervals.",
        "",
        *(f"- {markdown(f'{m.heading}: {m.meaning}')}" for m in headline),
        "",
        "## Files",
        "",
        "- `run.sqlite`: every step, and every prompt and reply of a language model",
        "- `cells.csv`, `episodes.csv`: measures per cell and per episode",
        "- `experiment.json`, `sessions.json`: what was run, with which versions",
        *(["- `report.html`: everything above to read and browse, in one file"] if report else []),
        "",
        "## Reading it",
        "",
        "```bash",
        f"hf download {repo} --repo-type dataset --local-dir run",
        "tomeval table run",
        "tomeval report run -o report.html",
        "```",
        "",
    ]
    return "\n".join([*_front_matter(name), *lines])


def _front_matter(name: str) -> list[str]:
    """Return the lines that the Hub reads."""
    return [
        "---",
        f"pretty_name: {json.dumps(f'tomeval run: {name}')}",
        "tags:",
        *(f"- {tag}" for tag in ("theory-of-mind", "repeated-games", "evaluation", "tomeval")),
        "configs:",
        "- config_name: cells",
        "  data_files: cells.csv",
        "- config_name: episodes",
        "  data_files: episodes.csv",
        "---",
    ]


def _table(run: Run, rows: list[dict[str, Any]]) -> str:
    """Return the table of cells with the headline measures."""
    hidden = set(run.measures) - set(run.headline)
    kept: list[str] = []
    gone = False
    for column in rows[0]:
        if not is_interval(column):  # which follows its measure
            gone = column in hidden
        kept += [] if gone else [column]
    shown = [{key: row[key] for key in kept} for row in rows]
    return render(shown, "markdown", run.measures, (*run.domain.compare.task, "seed"))
