"""The game of the arena that ``tomeval init game --domain arena`` writes, as an extension."""

import importlib.util
import sys
from contextlib import contextmanager
from unittest import mock

from tomeval.core.parts import ADDED
from tomeval.core.resources import shipped


@contextmanager
def contest():
    """Have the example as an extension; yield its module."""
    path = shipped("examples") / "game/arena/example_name/example_name/__init__.py"
    spec = importlib.util.spec_from_file_location("example_name", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["example_name"] = module
    try:
        with mock.patch.dict(ADDED["games"]):
            spec.loader.exec_module(module)
            yield module
    finally:
        del sys.modules["example_name"]  # alone: what was imported meanwhile stays
