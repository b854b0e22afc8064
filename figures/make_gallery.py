"""Run what needs no network, draw the figures of the gallery and write its index.

python figures/make_gallery.py [RUNS]   (RUNS: folder for the run folders, default: runs)
"""

import argparse
import shlex
import subprocess
import sys
from pathlib import Path

from tomeval import Run
from tomeval.plots import Drawing, Options, draw, save
from tomeval.plots.registry import safe_stems

GALLERY = Path(__file__).parent / "gallery"
RUNS = {
    "quickstart": "tomeval run quickstart --out runs/quickstart",
    "known_players": "tomeval run known_players --out runs/known_players",
    "sixteen_subjects": "tomeval run sixteen_subjects --out runs/sixteen_subjects",
}
# Run, figure, column, and part of the file's name where the run gives several.
SHOWN = [
    ("quickstart", "forest", "screen", "regret"),
    ("quickstart", "tom", "screen", ""),
    ("known_players", "regret", "screen", "IPD_canonical_tit_for_tat"),
    ("known_players", "tom", "screen", "RPS_canonical_tit_for_tat"),
    ("sixteen_subjects", "regret", "screen", "IPD_canonical_tit_for_tat"),
    ("sixteen_subjects", "forest", "screen", "regret_1"),
    ("sixteen_subjects", "forest", "single", "regret_2"),
]
# Made by commands of their own, which do not run here: file, title, command.
DECRYPTO = [
    (
        "decrypto_k",
        "Decrypto: the encoder's K against miscommunication and interception",
        "python figures/decrypto_k.py figures/gallery",
    ),
]


def main(folder: Path) -> None:
    """Make every run that is not there yet, and all pictures."""
    lines = [
        "# Gallery",
        "",
        "Figures of runs that need no network, made by `python figures/make_gallery.py`. Every "
        "picture is also there as SVG. How to read them: [docs/figures.md](../../docs/figures.md).",
        "Language models are those inside the package ([docs/pocket.md](../../docs/pocket.md)); "
        "of the others, `simulated(p, q)` predicts rightly with probability p and acts on it with "
        "probability q.",
    ]
    for name, command in RUNS.items():
        words = shlex.split(command.replace("runs/", f"{folder}/"))
        if not (folder / name).exists():
            subprocess.run([str(Path(sys.executable).parent / words[0]), *words[1:]], check=True)
        lines += ["", f"## {name}", "", f"Run: `{command}`"]
        with Run(folder / name) as run:
            for drawing, command in drawings(run, name):
                lines += ["", f"### {drawing.title}", "", f"![{drawing.title}]({drawing.stem}.png)"]
                lines += ["", drawing.caption, "", f"Figure: {command}"]
    for stem, title, command in DECRYPTO:
        lines += ["", f"## {title}", "", f"![{title}]({stem}.png)", "", f"Figure: `{command}`"]
    (GALLERY / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def drawings(run: Run, name: str) -> list[tuple[Drawing, str]]:
    """Draw and save a run's pictures of the gallery; return each with what makes it."""
    result = []
    for figure, column, part in [shown[1:] for shown in SHOWN if shown[0] == name]:
        found = [d for d in draw(run, [figure], Options(column)) if part in d.stem]
        more = "" if column == "screen" else f" --column {column}"
        command = f"tomeval plot runs/{name} --out plots --only {figure}{more}"
        end = f"_{column}" if column == "single" else ""
        for drawing in found[:1]:
            (kept,) = safe_stems([drawing._replace(stem=f"{name}_{drawing.stem}{end}")])
            save([kept], GALLERY, ("png", "svg"))
            result.append((kept, f"`{command}`, file `{drawing.stem}`"))
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the figures of the gallery.")
    parser.add_argument("runs", nargs="?", type=Path, default=Path("runs"), help="run folders")
    main(parser.parse_args().runs)
