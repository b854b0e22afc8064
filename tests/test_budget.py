"""No room grows: the lines and files of each, and the words of the manual, have an upper limit.

``python tests/test_budget.py --write`` lowers the limits in ``budget.json`` to what is there, and
never raises one. Run it in the commit that makes a room smaller.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
LIMITS = Path(__file__).with_name("budget.json")


def rooms_of(path: Path) -> list[str]:
    """Return the names of what a file counts for: its top folder, and its room there."""
    top, *rest = path.parent.parts
    deep = 2 if rest[:1] in (["games"], ["extensions"]) else 1
    return [top, *(["/".join([top, *rest[:deep]])] if rest else [])]


def counts() -> dict[str, list[int]]:
    """Return lines and files of Python by room, and words and pages of the manual."""
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for top in ("tomeval", "tests", "benchmarks"):
        for path in (ROOT / top).rglob("*.py"):
            for name in rooms_of(path.relative_to(ROOT)):
                lines[name] += path.read_text(encoding="utf-8").count("\n")
                files[name] += 1
    for path in (ROOT / "docs").rglob("*.md"):
        lines["docs, words"] += len(path.read_text(encoding="utf-8").split())
        files["docs, words"] += 1
    return {name: [lines[name], files[name]] for name in sorted(lines)}


def test_no_room_is_larger_than_its_budget() -> None:
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))
    here = counts()
    larger = {
        name: f"{size} (lines, files); budget {limits.get(name, 'missing')}"
        for name, size in here.items()
        if name not in limits or any(n > most for n, most in zip(size, limits[name], strict=True))
    }
    assert larger == {}
    assert set(limits) == set(here), "a room is gone: python tests/test_budget.py --write"


def lowered(limits: dict[str, list[int]], here: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return the smaller of limit and size of each room that is still there."""
    return {
        name: [min(pair) for pair in zip(limit, here[name], strict=True)]
        for name, limit in limits.items()
        if name in here
    }


def main() -> None:
    limits = lowered(json.loads(LIMITS.read_text(encoding="utf-8")), counts())
    rows = [f" {json.dumps(name)}: {json.dumps(size)}" for name, size in sorted(limits.items())]
    LIMITS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("python tests/test_budget.py --write")
    main()
