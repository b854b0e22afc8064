"""A run folder at an address, worked on in a copy on this machine.

At the address, every checkpoint is a folder of its own, whose name no other process uses; the file
``checkpoint.json`` names the last one and is written last. So a reader never sees half of one, and
of two processes that write to the same address one finds that it has moved on, and stops. Which
checkpoint the copy on this machine was made from stands beside it, in ``place.json``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.runs import checksums
from tomeval.runs.folder import locked, make_folder
from tomeval.runs.places.checkpoint import NAMED, Checkpoint, parsed
from tomeval.runs.places.remote import Remote, Unreachable
from tomeval.runs.places.snapshot import copy_folder
from tomeval.runs.seal import read_seal
from tomeval.runs.store import HOLDER, LOCK, STORE
from tomeval.runs.writer import this_process

logger = logging.getLogger(__name__)

CHECKPOINT, NOTE = "checkpoint.json", "place.json"
_TEST = "write-test-"
_OWN = re.compile(rf"{NAMED.pattern}$|{_TEST}")
_DAY = 86_400.0
_AGAIN = 3
"""So often a fetch is begun anew if the checkpoint has been replaced by later ones meanwhile."""


class Moved(TomevalError):
    """Somebody else has written to an address."""


def cache_home() -> Path:
    """Return the folder for copies of what lies at addresses.

    ``TOMEVAL_CACHE``, else ``tomeval`` in ``XDG_CACHE_HOME``, else ``~/.cache/tomeval``.
    """
    if own := os.environ.get("TOMEVAL_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tomeval"


class Mirror:
    """The copy on this machine of a run folder at an address.

    Parameters
    ----------
    address : str

    Raises
    ------
    TomevalError
        The address cannot be used.

    Attributes
    ----------
    shown : str
        The address, without credentials.
    folder : Path
        The copy, a run folder.
    """

    def __init__(self, address: str) -> None:
        self._remote = Remote(address)
        self.shown = self._remote.shown
        digest = hashlib.sha256(self.shown.encode()).hexdigest()[:10]
        words = re.sub(r"[^\w.-]+", "-", self.shown.partition("://")[2]).strip("-.")[-40:]
        self._home = cache_home() / "runs" / f"{words}-{digest}"
        self.folder = self._home / "run"
        self._note: dict[str, Any] = self._read_note()

    # What stands beside the copy

    def _read_note(self) -> dict[str, Any]:
        """Return which checkpoint the copy was made from; empty if there is no whole copy."""
        if not (self.folder / STORE).exists():
            return {}
        try:
            found = json.loads((self._home / NOTE).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            found = None
        if not (isinstance(found, dict) and checksums.holds(found)):
            raise TomevalError(
                f"{self.folder}: what it is a copy of is not known, for {self._home / NOTE} is "
                "missing or damaged; move that folder away"
            )
        return {} if found.get("fetching") else found

    def _write_note(self, base: Checkpoint | None, **more: Any) -> None:
        noted = {"address": self.shown, "name": "", "commits": -1, **more}
        if base is not None:
            noted |= {"name": base.name, "commits": base.commits}
        self._note = checksums.signed(noted)
        write_text(self._home / NOTE, json.dumps(self._note, indent=1))

    def changed(self) -> bool:
        """Tell whether the copy holds what was not sent to the address."""
        seal = read_seal(self.folder)
        return (self.folder / STORE).exists() and (
            seal is None or seal.commits != self._note.get("commits")
        )

    # From the address

    def checkpoint(self) -> Checkpoint | None:
        """Return the last checkpoint at the address; None if there is none."""
        data = self._remote.read(CHECKPOINT)
        if data is None:
            return None
        found = parsed(data, self.shown)
        if found is not None:
            return found
        # Where files are not written at once, a kill may have torn it; each folder has its own.
        for name in sorted(filter(NAMED.fullmatch, self._remote.names()), reverse=True):
            found = parsed(self._remote.read(f"{name}/{CHECKPOINT}") or b"", self.shown)
            if found is not None:
                logger.warning("%s: %s is damaged; %s is used", self.shown, CHECKPOINT, name)
                return found
        raise TomevalError(f"{self.shown}: its {CHECKPOINT} is damaged or not of tomeval")

    def bring(self) -> Checkpoint | None:
        """Bring the copy up to date; return the checkpoint if one was fetched.

        Raises
        ------
        Moved
            Both the copy and the address hold what the other does not.
        TomevalError
            The address cannot be read, or the copy cannot be written.
        """
        for _ in range(_AGAIN):
            there = self.checkpoint()
            self._note = self._read_note()  # after it: a process that sends notes that first
            if self._is_base(there):
                return None
            if there is None:
                if not self._note.get("name"):
                    return None
                raise Moved(
                    f"{self.shown}: no longer holds the run that {self.folder} was copied from; "
                    f"to begin anew at the address, move {self.folder} away"
                )
            if self._note and self.changed():
                if self.checkpoint() != there:
                    continue
                raise self._moved(there)
            if self._fetched(there):
                return there
        raise Unreachable(f"{self.shown}: its files are not those that {CHECKPOINT} names")

    def _is_base(self, there: Checkpoint | None) -> bool:
        """Tell whether the copy was made from a checkpoint, or has just sent it."""
        name = "" if there is None else there.name
        if there is not None and name == self._note.get("sending"):
            self._write_note(there)
        return bool(self._note) and name == self._note["name"]

    def _moved(self, there: Checkpoint | None) -> Moved:
        who = f"{there.by} wrote there on {there.written}" if there else "what was there is gone"
        return Moved(
            f"{self.shown}: changed by somebody else ({who}); nothing there was overwritten, and "
            f"what this machine has played stays in {self.folder}: to go on from the address, move "
            "that folder away"
        )

    def _fetched(self, there: Checkpoint) -> bool:
        """Fetch a checkpoint; false if it is not there any more."""
        draft = self._draft()
        try:
            for name, (size, crc) in there.files.items():
                try:
                    self._remote.get(f"{there.name}/{name}", draft / name)
                except Unreachable:
                    now = self.checkpoint()
                    if now is not None and now.name != there.name:
                        return False
                    raise
                if (draft / name).stat().st_size != size or _crc(draft / name) != crc:
                    return False
            self.folder.mkdir(parents=True, exist_ok=True)
            with locked(self.folder):
                self._write_note(None, fetching=True)
                for path in self.folder.iterdir():
                    if path.is_file() and path.name not in (LOCK, HOLDER):
                        path.unlink()
                for name in there.files:
                    os.replace(draft / name, self.folder / name)
                self._write_note(there)
        except OSError as error:
            raise TomevalError(f"{self._home}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        return True

    # To the address

    def check_writable(self) -> None:
        """Raise if the address holds something else, or nothing can be written there."""
        others = [name for name in self._remote.names() if not _OWN.match(name)]
        if others and CHECKPOINT not in others:
            raise TomevalError(
                f"{self.shown}: holds other files (such as {others[0]!r}) and no run; choose "
                "another address with --out"
            )
        name = f"{_TEST}{secrets.token_hex(4)}"
        self._remote.write(name, b"tomeval")
        self._remote.remove(name)

    def begin(self) -> None:
        """Have a folder to work in, without what killed processes left beside it."""
        make_folder(self.folder)
        for draft in self._home.glob("draft-*"):
            if time.time() - draft.stat().st_mtime > _DAY:
                shutil.rmtree(draft, ignore_errors=True)
        if not self._note:
            self._write_note(None)

    def send(self) -> Checkpoint | None:
        """Copy the folder to the address as it is at one moment; None if nothing is new.

        Raises
        ------
        Moved
            Somebody else has written there since.
        TomevalError
            It could not be copied.
        """
        there = self.checkpoint()
        if not self._is_base(there):
            raise self._moved(there)
        draft = self._draft()
        try:
            commits = copy_folder(self.folder, draft)
            files = {path.name: (path.stat().st_size, _crc(path)) for path in draft.iterdir()}
            if not files or (there is not None and files == there.files):
                return None
            sent = self._sent(draft, files, commits, there)
        except OSError as error:
            raise TomevalError(f"{self._home}: {error.strerror or error}") from None
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        if there is not None and there.before:
            with suppress(Unreachable):  # it stays until somebody deletes it
                self._remote.remove(there.before)
        return sent

    def _sent(
        self,
        draft: Path,
        files: dict[str, tuple[int, str]],
        commits: int,
        there: Checkpoint | None,
    ) -> Checkpoint:
        """Write a checkpoint to the address, its own file last."""
        if orphan := self._note.get("sending"):
            with suppress(Unreachable):
                self._remote.remove(orphan)
        generation = 1 if there is None else there.generation + 1
        made = Checkpoint(
            generation,
            f"{generation:06d}-{secrets.token_hex(4)}",
            commits,
            files,
            this_process(),
            datetime.now(UTC).isoformat(timespec="seconds"),
            "" if there is None else there.name,
        )
        self._write_note(there, sending=made.name)
        for name in files:
            self._remote.put(draft / name, f"{made.name}/{name}")
        self._remote.write(f"{made.name}/{CHECKPOINT}", made.text())
        now = self.checkpoint()  # an upload may take minutes
        if (now and now.name) != (there and there.name):
            self._remote.remove(made.name)
            raise self._moved(now)
        self._remote.write(CHECKPOINT, made.text())
        if (now := self.checkpoint()) != made:
            raise self._moved(now)
        self._write_note(made)
        return made

    def _draft(self) -> Path:
        """Return an empty folder beside the copy, for this process."""
        draft = self._home / f"draft-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            draft.mkdir(parents=True)
        except OSError as error:
            raise TomevalError(f"{draft}: cannot be made ({error.strerror or error})") from None
        return draft


def _crc(path: Path) -> str:
    return f"{checksums.of_file(path):08x}"
