"""The rooms of the package: what each may import, and that each says what it is for."""

import ast
from pathlib import Path

import tomeval

PACKAGE = Path(tomeval.__file__).parent
ORDER = ("core", "statistics", "models", "lexicon", "strategies", "runs", "comparing", "plots")
ORDER += ("domains", "report", "web", "interchange", "api", "cli")
DOMAINS = sorted(path.parent.name for path in (PACKAGE / "domains").glob("*/__init__.py"))


def imports() -> set[tuple[str, str]]:
    """Return every (importing module, imported module) inside the package."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            inside = (name.removeprefix("tomeval.") for name in names if "tomeval." in name)
            found |= {(module, name) for name in inside}
    return found


def room(module: str) -> str:
    return module.partition(".")[0]


def test_imports_run_downward():
    found = {(a, b) for a, b in imports() if room(a) != "__init__"}
    assert {room(a) for a, _ in found} == set(ORDER)
    back = {(a, b) for a, b in found if ORDER.index(room(a)) < ORDER.index(room(b))}
    assert not back


def test_domains_do_not_know_each_other():
    inside = [(a.split("."), b.split(".")) for a, b in imports() if a.startswith("domains.")]
    pairs = {(a[1], b[1]) for a, b in inside if b[0] == "domains" and len(b) > 1}
    assert pairs == {(name, name) for name in DOMAINS}


def test_modules_of_a_room_make_no_circle():
    arrows: dict[str, set[str]] = {}
    for a, b in imports_at_the_top():
        arrows.setdefault(a, set()).add(b)
    done: set[str] = set()

    def visit(module: str, way: tuple[str, ...]) -> None:
        assert module not in way, f"a circle: {' -> '.join((*way, module))}"
        if module not in done:
            for following in sorted(arrows.get(module, ())):
                visit(following, (*way, module))
            done.add(module)

    for module in sorted(arrows):
        visit(module, ())


def imports_at_the_top() -> set[tuple[str, str]]:
    """Return the imports that run when a module is loaded, packages told by their ``__init__``."""
    modules = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts) for path in PACKAGE.rglob("*.py")
    }
    found = set()
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
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
    for folder in (*rooms, *(f"domains/{name}" for name in DOMAINS)):
        source = (PACKAGE / folder / "__init__.py").read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source))
        assert text, folder
        assert len(text.splitlines()) <= 8, folder
