"""Plots of a run: regret and ToM % by step, and literal against functional theory of mind."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tomeval.errors import TomevalError
from tomeval.metrics import FloatArray
from tomeval.results import Run, RunCell
from tomeval.statistics import estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which colour-blind people tell apart; with each its own line and marker.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C6D31")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))
FILLINGS = ("full", "none", "left", "top")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
CURVE_LABELS = {
    "delta_functional_per_step": "regret, mean of 5 steps (payoff units)",
    "tom_percent": "ToM %, mean of 5 steps",
}
_SMOOTH = 5


def plot_run(run: Run, folder: Path, interval: str = "normal") -> list[Path]:
    """Draw all plots of a run as PNG and SVG and return the files.

    One pair of curve plots (regret, ToM %) per game, label set, partner set and horizon, with one
    line per subject; one plot of literal against functional.
    """
    written = plot_curves(run, folder, interval)
    return written + plot_scatter(run, folder, interval, written)


def plot_curves(run: Run, folder: Path, interval: str = "normal") -> list[Path]:
    """Draw regret and ToM % by step and return the files; see `plot_run`."""
    written: list[Path] = []
    for key, cells in _played(run, folder).items():
        game, labels, partners, horizon = key
        title = f"{game} ({labels}), {partners}, T = {horizon}"
        for metric, stem in (("delta_functional_per_step", "regret"), ("tom_percent", "tom")):
            figure = curve_figure(cells, metric, title, interval)
            name = f"{stem}_{game}_{labels}_{partners}_{horizon}"
            written += _save(figure, folder, name, written)
    return written


def plot_scatter(
    run: Run, folder: Path, interval: str = "normal", written: Sequence[Path] = ()
) -> list[Path]:
    """Draw literal against functional and return the files; names in `written` are taken."""
    cells = [cell for group in _played(run, folder).values() for cell in group]
    return _save(scatter_figure(cells, interval), folder, "literal_against_functional", written)


def _played(run: Run, folder: Path) -> dict[tuple[str, ...], list[RunCell]]:
    """Return the cells with complete episodes by task, and make the folder."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TomevalError(f"{folder}: cannot be made ({error.strerror})") from None
    groups: dict[tuple[str, ...], list[RunCell]] = {}
    for cell in run.cells:
        if cell.played.episodes:
            row = cell.labels_of_row()
            keys = ("game", "labels", "partners", "horizon")
            groups.setdefault(tuple(str(row[key]) for key in keys), []).append(cell)
    if not groups:
        raise TomevalError(f"{run.folder}: has no complete episode yet, nothing to plot")
    return groups


def curve_figure(
    cells: Sequence[RunCell], metric: str, title: str, interval: str = "normal"
) -> Figure:
    """Draw one metric by step: a line per subject, the mean over episodes, with a 95 % band.

    Both are means over a centred window of five steps of each episode (shorter at the ends): single
    steps jump.
    """
    figure, axes = _figure(6.4, 3.3)
    names = [cell.title for cell in cells]
    for index, cell in enumerate(cells):
        values = smooth(cell.curves()[metric])
        if np.isnan(values).all():
            continue
        found = estimate(values, "t" if interval == "t" else "normal")
        steps = np.arange(1, values.shape[1] + 1)
        style = _style(index)
        axes.plot(
            steps, found.mean, label=names[index], color=style["color"], ls=style["ls"], lw=1.6
        )
        if np.isfinite(found.half).all():
            axes.fill_between(
                steps, found.low, found.high, color=style["color"], alpha=0.15, linewidth=0
            )
    if metric == "tom_percent":
        axes.set_ylim(-3, 103)
    else:
        axes.axhline(0, color="0.4", lw=0.8)
    axes.set_xlabel("step")
    axes.set_ylabel(CURVE_LABELS.get(metric, metric))
    axes.set_title(title, fontsize=10)
    axes.margins(x=0.01)
    _legend(figure, axes.get_legend_handles_labels()[0], handlelength=3)
    return figure


def smooth(values: FloatArray, window: int = _SMOOTH) -> FloatArray:
    """Return each episode's centred moving mean over `window` steps, shape (E, T)."""
    total = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    steps = np.arange(values.shape[1])
    first = np.maximum(steps - window // 2, 0)
    last = np.minimum(steps + window // 2 + 1, values.shape[1])
    mean: FloatArray = (total[:, last] - total[:, first]) / (last - first)
    return mean


def scatter_figure(cells: Sequence[RunCell], interval: str = "normal") -> Figure:
    """Draw ΔToM/T (best response) against ΔFunctional/T, one panel per game.

    Every point is a cell with its 95 % intervals. On the diagonal a subject loses what its
    predictions cost; above it, it loses more than that.
    """
    from matplotlib.lines import Line2D

    games = list(dict.fromkeys(cell.game.name for cell in cells))
    subjects = list(dict.fromkeys(cell.title for cell in cells))
    tasks = list(dict.fromkeys(_task(cell) for cell in cells))
    figure, panels = _figure(max(4.2, 3.3 * len(games)), 3.5, len(games))
    for axes, game in zip(np.atleast_1d(np.asarray(panels, dtype=object)), games, strict=True):
        top, bottom = 0.0, np.zeros(2)
        for cell in cells:
            if cell.game.name != game:
                continue
            metrics = cell.metrics()
            pair = ("delta_tom_best_response_per_step", "delta_functional_per_step")
            values = np.stack([metrics[name] for name in pair], axis=1)
            found = estimate(values, "t" if interval == "t" else "normal")
            if np.isnan(found.mean).any():
                continue
            half = np.nan_to_num(found.half)
            axes.errorbar(
                found.mean[0],
                found.mean[1],
                xerr=half[0],
                yerr=half[1],
                marker=MARKERS[tasks.index(_task(cell)) % len(MARKERS)],
                elinewidth=1,
                capsize=2,
                **_point(subjects.index(cell.title)),
            )
            top = max(top, float((found.mean + half).max()))
            bottom = np.minimum(bottom, found.mean - half)
        axes.axline((0, 0), slope=1, color="0.4", lw=0.9, ls="--")
        room = 0.06 * max(top, 0.1)
        axes.set_xlim(bottom[0] - room, top + room)
        axes.set_ylim(bottom[1] - room, top + room)
        axes.set_title(game, fontsize=10)
        axes.set_xlabel("ΔToM/T, best response (payoff units)")
    np.atleast_1d(np.asarray(panels, dtype=object))[0].set_ylabel("ΔFunctional/T (payoff units)")
    handles: list[Any] = [
        Line2D([], [], marker="o", label=name, **_point(i)) for i, name in enumerate(subjects)
    ]
    handles += [
        Line2D([], [], color="0.3", marker=MARKERS[i % len(MARKERS)], ls="none", label=name)
        for i, name in enumerate(tasks)
    ]
    _legend(figure, handles)
    return figure


def _task(cell: RunCell) -> str:
    row = cell.labels_of_row()
    return f"{row['partners']} ({row['labels']}, T = {row['horizon']})"


def _style(index: int) -> dict[str, Any]:
    """Return colour and line of the index-th subject; pairs repeat only after 64."""
    line = LINES[(index + index // len(COLOURS)) % len(LINES)]
    return {"color": COLOURS[index % len(COLOURS)], "ls": line}


def _point(index: int) -> dict[str, Any]:
    """Return how the index-th subject's points look: colour and filling; pairs repeat after 32."""
    colour = COLOURS[index % len(COLOURS)]
    filling = FILLINGS[index // len(COLOURS) % len(FILLINGS)]
    return {
        "color": colour,
        "fillstyle": filling,
        "markeredgecolor": "white" if filling == "full" else colour,
        "markeredgewidth": 0.5 if filling == "full" else 1.2,
        "markersize": 6,
        "ls": "none",
    }


def _figure(width: float, height: float, panels: int = 1) -> tuple[Figure, Any]:
    """Return a figure outside pyplot's state, so that no window or backend is touched."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained", dpi=150)
    axes = figure.subplots(1, panels)
    for panel in np.atleast_1d(np.asarray(axes, dtype=object)):
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=8)
    return figure, axes


def _legend(figure: Figure, handles: Sequence[Any], **more: Any) -> None:
    """Put the legend below the plot: as many columns as fit, and room for all of its rows."""
    longest = max((len(str(handle.get_label())) for handle in handles), default=1)
    width = 0.065 * longest + 0.2 * more.get("handlelength", 2) + 0.2  # inches at 8 points
    columns = max(1, min(len(handles), int(figure.get_figwidth() / width)))
    figure.set_figheight(figure.get_figheight() + 0.17 * -(-len(handles) // columns))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        fontsize=8,
        frameon=False,
        **more,
    )


def _save(figure: Figure, folder: Path, stem: str, taken: Sequence[Path]) -> list[Path]:
    """Write PNG and SVG under a name that is safe for any file system and not among `taken`."""
    import matplotlib

    safe = "".join(char if char.isalnum() or char in "-_." else "-" for char in stem)
    number, name = 1, safe
    while folder / f"{name}.png" in taken:
        number += 1
        name = f"{safe}_{number}"
    paths = [folder / f"{name}{suffix}" for suffix in (".png", ".svg")]
    for path in paths:
        draft = path.with_name(f".{path.name}")
        try:
            # No date and no random identifiers inside, so that the same run gives the same file.
            date = {"Date": None} if path.suffix == ".svg" else {}
            with matplotlib.rc_context({"svg.hashsalt": "tomeval"}):
                figure.savefig(draft, format=path.suffix[1:], metadata=date)
            os.replace(draft, path)
        except OSError as error:
            raise TomevalError(f"{path}: cannot be written ({error.strerror})") from None
    return paths
