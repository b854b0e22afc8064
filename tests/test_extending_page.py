"""The page on parts of one's own shows what ``tomeval init`` writes, which other tests run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import ROOT

import tomeval
from tomeval.cli.starting import KINDS, write_example

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> str:
    """Return all that ``tomeval init`` writes under default names, as one text."""
    into = tmp_path_factory.mktemp("init")
    paths = [path for kind in KINDS for path in write_example(kind, "", "matrix", into)]
    paths += write_example("game", "my_contest", "arena", into)
    return "\n".join(Path(path).read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split("\n")[0][:40])
def test_code_on_the_page_is_that_of_the_examples(written, block) -> None:
    assert block in written


def test_every_kind_has_its_place_on_the_page() -> None:
    for kind in KINDS:
        assert re.search(rf"tomeval init [^|]*`?{kind}", PAGE), kind
    decorators = {name for name in tomeval.__all__ if name.startswith("register_")}
    assert len(decorators) == 5
    assert [name for name in decorators if name not in PAGE] == []
