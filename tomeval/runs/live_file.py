"""The file ``live.json`` of a run folder: how a run goes, for those who did not start it."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from tomeval.core.errors import TomevalError
from tomeval.core.files import write_text
from tomeval.core.text import excerpt
from tomeval.core.ticking import Ticking
from tomeval.models.naming import said_without_address
from tomeval.runs.live import LONGEST, Live, State
from tomeval.runs.store import LIVE, STORE
from tomeval.runs.writer import this_process

logger = logging.getLogger(__name__)

EVERY = 2.0
"""Seconds between two states that are written."""


@contextmanager
def live_file(folder: Path, live: Live, name: str, experiment: str) -> Iterator[Ticking]:
    """Write how a run goes into its folder inside the block, and at its end how it ended.

    Yield what is to be told of every step. What keeps the file from being written is logged once.
    """
    live.name, live.experiment, live.process = name, experiment, this_process()
    live.began, live.over, live.why = time.time(), "", ""
    told: list[str] = []

    def write() -> None:
        state = asdict(live.now())
        state["models"] = {model["name"]: model for model in state["models"].values()}
        try:
            write_text(folder / LIVE, json.dumps(state))
        except TomevalError as error:
            if not told:
                logger.warning("%s; the run goes on, tomeval watch does not see it", error)
            told.append(str(error))

    write()
    over = "failed"
    try:
        with Ticking(EVERY, write) as ticking:
            yield ticking
        over = "finished"
    except (KeyboardInterrupt, SystemExit):
        over = "stopped"
        raise
    except Exception as error:
        live.why = excerpt(said_without_address(error) or type(error).__name__, LONGEST)
        raise
    finally:
        live.over = over
        write()


def read_live(folder: Path, experiment: str) -> State | None:
    """Return what a folder's file says; None if there is none.

    Raises
    ------
    TomevalError
        It cannot be read, is no such file, or is of another experiment than the one of this hash.
    """
    from pydantic import TypeAdapter, ValidationError

    path = folder / LIVE
    try:
        state = TypeAdapter(State).validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TomevalError(f"{path}: cannot be read ({error.strerror})") from None
    except ValidationError as error:
        (first, *_) = error.errors()
        where = "".join(f"{part}: " for part in first["loc"])
        raise TomevalError(f"{path}: {where}{first['msg']}") from None
    if experiment and state.experiment != experiment:
        raise TomevalError(
            f"{path}: is of another experiment than {STORE} ({state.name!r}); the next "
            "`tomeval run` into the folder writes it anew"
        )
    return state
