"""What is noted of each session."""

import json
from importlib import metadata

from tomeval.runs.folder import add_session


def test_a_package_that_is_not_installed_is_left_out(tmp_path, monkeypatch):
    def version(name, found=metadata.version):
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr(metadata, "version", version)
    add_session(tmp_path, 5)
    (session,) = json.loads((tmp_path / "sessions.json").read_text())
    assert {"numpy", "scipy"} < session["versions"].keys()
    assert "torch" not in session["versions"]
