"""The game of the arena that ``tomeval init game --domain arena`` writes, as an extension."""

import importlib.util
import sys
from contextlib import contextmanager
from unittest import mock

from tomeval.core import extensions
from tomeval.core.resources import shipped


@contextmanager
def contest():
    """Have the example as an extension; yield its module."""
    path = shipped("examples") / "arena_game" / "example_name" / "__init__.py"
    spec = importlib.util.spec_from_file_location("example_name", path)
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {"example_name": module}):
        spec.loader.exec_module(module)
        known = {**extensions._LOADED, "example_name": module.EXTENSION}
        with mock.patch.object(extensions, "_LOADED", known):
            yield module
