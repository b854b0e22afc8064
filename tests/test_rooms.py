"""The rooms of the package: what each may import, and that each says what it is for."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import tomeval

PACKAGE = Path(tomeval.__file__).parent
ORDER = (
    "core",
    "statistics",
    "models",
    "lexicon",
    "strategies",
    "runs",
    "play",
    "comparing",
    "plots",
)
ORDER += ("report", "api", "cli", "games", "extensions")
GAMES = sorted(path.parent.name for path in (PACKAGE / "games").glob("*/__init__.py"))
EXTENSIONS = sorted(path.parent.name for path in (PACKAGE / "extensions").glob("*/__init__.py"))


@cache
def sources() -> dict[str, ast.Module]:
    """Return what every module of the package says, by its name inside it."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in PACKAGE.rglob("*.py")
    }


@cache
def imports() -> set[tuple[str, str]]:
    """Return every (importing module, imported module) inside the package."""
    found = set()
    for module, source in sources().items():
        for node in ast.walk(source):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            inside = (name.removeprefix("tomeval.") for name in names if "tomeval." in name)
            found |= {(module, name) for name in inside}
    return found


def room(module: str) -> str:
    return module.partition(".")[0]


def test_imports_run_downward():
    found = {(a, b) for a, b in imports() if room(a) not in ("__init__", "__main__")}
    assert {room(a) for a, _ in found} <= set(ORDER)
    back = {(a, b) for a, b in found if ORDER.index(room(a)) < ORDER.index(room(b))}
    assert not back


SHARED = {name: {"llm", "people"} for name in ("arena", "decrypto")}
SHARED |= {"people": {"llm", "arena", "decrypto"}}
SHARED |= {name: {"arena"} for name in ("blotto", "codenames", "ipd3", "mafia")}
"""The folders of `games` that others import; no game knows another."""


def test_games_do_not_know_each_other():
    inside = [(a.split("."), b.split(".")) for a, b in imports() if a.startswith("games.")]
    pairs = {(a[1], b[1]) for a, b in inside if b[0] == "games" and len(b) > 1}
    crossing = {(a, b) for a, b in pairs if a != b and {a, b} <= {*GAMES}}
    assert crossing <= {(a, b) for a, known in SHARED.items() for b in known}
    assert not {(a, b) for a, b in pairs if a not in GAMES and b in GAMES}


def test_extensions_do_not_know_each_other():
    inside = [(a.split("."), b.split(".")) for a, b in imports() if a.startswith("extensions.")]
    crossing = {(a[1], b[1]) for a, b in inside if b[0] == "extensions" and len(b) > 1}
    assert all(one == other for one, other in crossing)


def test_every_module_can_be_imported_first():
    # To import q.x runs q's __init__ first. A module then fails if and only if it is asked for
    # while it is being loaded: if the arrows with those to such __init__ make a circle.
    arrows = set(imports_at_the_top())
    for module, target in list(arrows):
        folders = target.split(".")[:-1]
        for depth in range(1, len(folders) + 1):
            package = ".".join(folders[:depth])
            if not module.startswith(f"{package}."):
                arrows.add((module, f"{package}.__init__"))
    order = TopologicalSorter()
    for module, target in arrows:
        order.add(module, target)
    order.prepare()  # raises a `CycleError` that names the circle


@cache
def imports_at_the_top() -> set[tuple[str, str]]:
    """Return the imports that run when a module is loaded, packages told by their ``__init__``."""
    modules = sources()
    found = set()
    for module, text in modules.items():
        for node in text.body:
            source = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            if not source.startswith("tomeval."):
                continue
            source = source.removeprefix("tomeval.")
            for alias in node.names:
                names = (f"{source}.{alias.name}", source, f"{source}.__init__")
                target = next(name for name in names if name in modules)
                if target != module:
                    found.add((module, target))
    return found


def test_every_room_says_what_it_is_for():
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms == set(ORDER)
    inside = [f"games/{name}" for name in GAMES] + [f"extensions/{name}" for name in EXTENSIONS]
    for folder in (*rooms, *inside):
        source = (PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source))
        assert text, folder
        assert len(text.splitlines()) <= 8, folder
