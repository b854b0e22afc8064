"""How K trades miscommunication against interception: python figures/decrypto_k.py OUT [GAMES].

Plays embedding players with the same embedding in Alice's and Bob's seats against either Eve, for
K from 4 to 256 (2,000 games a point, minutes in all), and writes decrypto_k.csv, .png and .svg.
"""

from __future__ import annotations

import csv
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tomeval.core.outcomes import run_now
from tomeval.games.decrypto.experiment import DecryptoCell
from tomeval.games.played import PlayedGame
from tomeval.lexicon.embeddings import SHIPPED
from tomeval.plots.style import COLOURS, WIDTHS, in_style, new_figure
from tomeval.runs.experiment import make_experiment
from tomeval.statistics.estimates import clustered_share

KS = (4, 8, 16, 32, 64, 128, 256)
SEED = 1
SHARES = {name: (name, "both") for name in ("miscommunication", "interception")}
"""Outcomes that count: a game lost both ways counts for both."""


def main(out: Path, games: int) -> None:
    """Play, write, draw."""
    out.mkdir(parents=True, exist_ok=True)
    rows = [
        row
        for pair, eve, k in itertools.product(SHIPPED, SHIPPED, KS)
        for row in measure(pair, eve, k, games)
    ]
    with (out / "decrypto_k.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draw(rows, out / "decrypto_k")


def measure(pair: str, eve: str, k: int, games: int) -> list[dict[str, Any]]:
    """Return a row per measure: share of games lost either way, and mean turns."""
    data = {
        "domain": "decrypto",
        "seed": SEED,
        "players": {
            pair: {"embedding": pair, "k": k},
            "listening": {"embedding": eve},
        },
        "pairings": [{"encoder": pair, "decoder": pair, "interceptor": "listening"}],
    }
    [cell] = make_experiment(data).cells
    assert isinstance(cell, DecryptoCell)
    played = [run_now(cell.play(game, {}, lambda: None)) for game in range(games)]
    about = {"alice_and_bob": pair, "eve": eve, "k": k, "games": games}
    return [
        {
            **about,
            "measure": name,
            "value": round(value, 5),
            "low": round(low, 5),
            "high": round(high, 5),
        }
        for name, (value, low, high) in summary(played).items()
    ]


def summary(played: list[PlayedGame]) -> dict[str, tuple[float, float, float]]:
    """Return each measure with its 95 % interval."""
    games = len(played)
    turns = np.array([game.decisions[-1].round for game in played])
    found = {}
    for name, counted in SHARES.items():
        found[name] = clustered_share([g.ending in counted for g in played], range(games))[:3]
    mean = float(turns.mean())
    half = 1.96 * float(turns.std(ddof=1)) / games**0.5
    found["turns"] = (mean, mean - half, mean + half)
    return found


@in_style
def draw(rows: list[dict[str, Any]], stem: Path) -> None:
    """Draw shares above, turns below, a column for each pair and Eve."""
    from matplotlib.lines import Line2D

    columns = list(itertools.product(SHIPPED, SHIPPED))
    figure, panels = new_figure(WIDTHS["double"], 3.9, 2, len(columns), sharex=True, sharey="row")
    for place, (pair, eve) in enumerate(columns):
        above, below = panels[place], panels[place + len(columns)]
        above.set_title(f"Alice and Bob {pair}\nEve {eve}")
        some = [row for row in rows if (row["alice_and_bob"], row["eve"]) == (pair, eve)]
        curve(above, some, "miscommunication", 0, 100)
        curve(above, some, "interception", 1, 100)
        curve(below, some, "turns", 2, 1)
        above.set_ylim(-3, 103)
        below.set_ylim(0, 8.2)
        below.set_xscale("log", base=2)
        below.set_xticks(KS, [str(k) for k in KS], rotation=45)
        below.set_xlabel("K (candidate hints)")
    panels[0].set_ylabel("Games lost, %")
    panels[len(columns)].set_ylabel("Turns per game")
    names = ("lost by miscommunication", "lost by interception", "turns")
    marks: list[Any] = [
        Line2D([], [], color=COLOURS[i], marker="os^"[i], ms=3, lw=1, label=name)
        for i, name in enumerate(names)
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False)
    for ending in ("png", "svg"):
        path = stem.with_suffix(f".{ending}")
        figure.savefig(path, metadata={"Date": None} if ending == "svg" else None)
        print(path)


def curve(panel: Any, rows: list[dict[str, Any]], measure: str, style: int, scale: float) -> None:
    """Draw one measure over K with its interval as a band."""
    some = [row for row in rows if row["measure"] == measure]
    k = [row["k"] for row in some]
    value, low, high = (
        scale * np.array([row[name] for row in some]) for name in ("value", "low", "high")
    )
    line = {"color": COLOURS[style], "marker": "os^"[style], "ms": 3, "lw": 1}
    panel.plot(k, value, **line)
    panel.fill_between(k, low, high, color=COLOURS[style], alpha=0.2, lw=0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2000)
