"""Lines and files by room: ``python benchmarks/size.py``, from the project's folder.

With ``--rooms`` the table of rooms as Markdown, which CONTRIBUTING.md has without the numbers.
Lines are all lines of Python files, with comments, docstrings and blank ones.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
BUDGETS = {
    "spine": 29_000,
    "games": 27_000,
    "extensions": 14_000,
    "tomeval": 70_000,
    "tests": 45_000,
    "benchmarks": 7_000,
}


def part_of(path: Path) -> str:
    """Return the part of the budget that a file of the package belongs to."""
    room = path.parts[0]
    return room if room in ("games", "extensions") else "spine"


def room_of(path: Path) -> str:
    """Return the room as people name it: two folders deep in games and extensions."""
    deep = path.parts[0] in ("games", "extensions")
    return "/".join(path.parent.parts[: 2 if deep else 1]) or "."


def rooms() -> list[tuple[str, str, int, int]]:
    """Return every room in the order of imports: name, what lives there, lines, files.

    Extensions are one room. What lives there is the first sentence of the package's docstring.
    """
    order = ["core", "statistics", "models", "lexicon", "strategies", "runs", "play", "comparing"]
    order += ["plots", "report", "api", "cli", "games"]
    seated = ["llm", "people", "decrypto", "arena", "blotto", "codenames", "ipd3", "mafia"]
    order += [f"games/{name}" for name in ("matrix", *seated)]
    order += ["extensions"]
    rows = []
    for name in order:
        folder = HOME / "tomeval" / name
        texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*.py")]
        said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
        about = (said or "").split("\n")[0].split(". ")[0].rstrip(".").replace("``", "`")
        rows.append((name, about, sum(text.count("\n") for text in texts), len(texts)))
    return rows


def rooms_table(counts: bool) -> str:
    """Return the table of rooms as Markdown, with lines and files if asked for."""
    head = ["room", "what lives there", *(["lines", "files"] if counts else [])]
    body = [[f"`{name}/`", about, f"{n:,}", str(files)] for name, about, n, files in rooms()]
    rows = [head, ["---"] * len(head), *(row[: len(head)] for row in body)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Lines and files by room.")
    parser.add_argument("--rooms", action="store_true", help="a Markdown table of the rooms")
    if parser.parse_args().rooms:
        print(rooms_table(counts=True))
        return
    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for top in ("tomeval", "tests", "benchmarks"):
        for path in (HOME / top).rglob("*.py"):
            inside = path.relative_to(HOME / top)
            names = [top]
            if top == "tomeval":
                names += [part_of(inside), f"tomeval/{room_of(inside)}"]
            for name in names:
                lines[name] += path.read_text(encoding="utf-8").count("\n")
                files[name] += 1
    print(f"{'part':<28}{'lines':>9}{'budget':>9}{'files':>7}")
    for name in sorted(lines, key=lambda name: (name not in BUDGETS, -lines[name])):
        budget = f"{BUDGETS[name]:,}" if name in BUDGETS else ""
        print(f"{name:<28}{lines[name]:>9,}{budget:>9}{files[name]:>7}")


if __name__ == "__main__":
    main()
