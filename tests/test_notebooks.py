"""The notebooks run from the first cell to the last, and are kept without outputs."""

from __future__ import annotations

import json

import pytest
from support import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_left_out(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem != "first_contact"))
        for path in NOTEBOOKS
    ],
)
@pytest.mark.filterwarnings("ignore")  # of the libraries around kernels
def test_it_runs(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="needs nbclient and ipykernel")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient and ipykernel")
    pytest.importorskip("ipykernel", reason="needs nbclient and ipykernel")
    if path.stem == "own_model":
        pytest.importorskip("torch", reason="the model of this notebook needs torch")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    )
    client.execute()
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", ())]
    pages = ["".join(one.get("data", {}).get("text/html", "")) for one in outputs]
    printed = "".join(one.get("text", "") for one in outputs)
    watched = [page for page in pages if "<progress" in page]
    assert watched, "the run is watched below its cell"
    assert "0 void, 0 failed" in watched[-1]
    assert "subject  " in printed or any("<table" in page for page in pages)
    if path.stem != "reading_a_run":
        assert any("<img" in page and "<figcaption" in page for page in pages)
