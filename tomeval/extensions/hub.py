"""Put the tables of a run on the Hugging Face Hub as a dataset."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from tomeval import __version__
from tomeval.core.credentials import credential_in, without_credentials
from tomeval.core.errors import TomevalError, need, unknown
from tomeval.core.files import replacing, write_text
from tomeval.runs.results import Run, iterate_export

_TABLES = ("cells", "episodes", "steps")
_REPO = re.compile(r"(?!.*(?:--|\.\.))[A-Za-z0-9_][\w.-]{0,95}/[A-Za-z0-9_][\w.-]{0,95}", re.ASCII)


def export_hub(run: Run, out: Path, repo: str = "", upload: str = "no") -> list[Path]:
    """Write cells.csv, episodes.csv, steps.csv and a card into a folder; return the files.

    They name no host and no address of a server. With ``upload="yes"`` they go, in one commit, into
    the dataset `repo`, which is private if it is new; huggingface-hub finds the credential.

    Raises
    ------
    TomevalError
        A wrong name; a file that seems to hold a credential; huggingface-hub is missing, nobody is
        logged in, or the Hub refuses.
    """
    if not _REPO.fullmatch(repo) or repo.endswith((".", "-", ".git")):
        raise TomevalError(f"--format hub needs --set repo=OWNER/NAME, not {repo!r}")
    if upload not in ("yes", "no"):
        raise unknown("upload", upload, ("yes", "no"))
    files = [_write_table(run, what, out / f"{what}.csv") for what in _TABLES]
    files.append(write_text(out / "README.md", _card(run)))
    for path in files:
        if held := credential_in(path.read_bytes()):
            raise TomevalError(f"{path}: seems to hold {held}; nothing was uploaded")
    if upload == "yes":
        _upload(out, repo)
    return files


def _write_table(run: Run, what: str, path: Path) -> Path:
    columns, rows = iterate_export(run, what)
    with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    return path


def _card(run: Run) -> str:
    configs = [f"- config_name: {name}\n  data_files: {name}.csv" for name in _TABLES]
    front = [f"pretty_name: {json.dumps(f'tomeval run: {run.name}')}", "configs:", *configs]
    about = f"Theory of mind measured with tomeval {__version__}: {run.domain.title}."
    return "\n".join(["---", *front, "---", about, ""])


def _upload(folder: Path, repo: str) -> None:
    hub = need("huggingface_hub", "hub", "datasets of the Hub")
    names = [*(f"{what}.csv" for what in _TABLES), "README.md"]
    api = hub.HfApi()
    try:
        api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True)
        api.upload_folder(
            repo_id=repo, repo_type="dataset", folder_path=folder, allow_patterns=names
        )
    except (OSError, hub.errors.HfHubHTTPError) as error:
        said = without_credentials((str(error).strip().splitlines() or [""])[0])
        raise TomevalError(f"the Hub refused {repo}: {said}") from None
