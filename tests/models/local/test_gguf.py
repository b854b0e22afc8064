"""GGUF files: which one is meant, and what is missing to read it."""

from __future__ import annotations

import importlib.util

import pytest

from tomeval.core.errors import MissingExtra, TomevalError
from tomeval.models.local.load import LocalOptions, folder_revision, load, local_path, source_of


def test_which_file_is_meant(tmp_path) -> None:
    one = tmp_path / "one.gguf"
    one.write_bytes(b"GGUF")
    assert local_path(str(one)) == local_path(str(tmp_path)) == one
    assert source_of("hf:one.gguf", tmp_path) == (str(one), None)
    assert local_path("org/model") is None
    (tmp_path / "two.gguf").write_bytes(b"GGUF2")
    with pytest.raises(TomevalError, match=r"name one of its files: one\.gguf, two\.gguf"):
        local_path(str(tmp_path))
    assert folder_revision(one) != folder_revision(tmp_path / "two.gguf")
    (tmp_path / "config.json").write_text("{}")  # a folder with weights of its own
    assert local_path(str(tmp_path)) == tmp_path
    with pytest.raises(TomevalError, match="no such file"):
        local_path(str(tmp_path / "three.gguf"))


def test_the_extra_is_named_where_it_is_missing(tmp_path) -> None:
    if importlib.util.find_spec("gguf"):
        pytest.skip("gguf is installed")
    pytest.importorskip("transformers", reason="needs transformers")
    (tmp_path / "one.gguf").write_bytes(b"GGUF")
    with pytest.raises(MissingExtra, match=r"tomeval\[gguf\]"):
        load(str(tmp_path), None, LocalOptions())
