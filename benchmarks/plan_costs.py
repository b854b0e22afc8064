"""Print docs/reproducing.md's table of costs: what every shipped table and curve would ask.

python benchmarks/plan_costs.py [--model pocket]

Nothing is played. On the right the same experiments with one model in place of all.
"""

import argparse
from pathlib import Path

from tomeval.core.resources import shipped
from tomeval.play.plan import plan_rows
from tomeval.report.tables import render
from tomeval.runs.experiment import load_experiment


def main() -> None:
    """Plan every experiment twice and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="pocket", help="The one model on the right.")
    model = parser.parse_args().model
    paths = [*shipped("experiments").glob("table_*.toml"), *shipped("experiments").glob("curves_*")]
    rows = []
    for path in sorted(paths, key=order):
        row = {"experiment": f"`{path.stem}`"}
        for text, one in (("", None), (", one model", model)):
            planned = plan_rows(load_experiment(path, model=one))
            asked = [line for line in planned if line["model"]]
            row[f"cells{text}"] = str(len(planned))
            row[f"calls{text}"] = f"{sum(line['calls'] for line in asked):,}"
            tokens = sum(line["prompt_tokens"] for line in asked)
            row[f"million tokens{text}"] = f"{tokens / 1e6:,.0f}"
        rows.append(row)
    print(render(rows, "markdown"))


def order(path: Path) -> tuple[int, int, str]:
    """Return what tables are sorted by: their number, then the curves."""
    number = path.stem.rpartition("_")[2]
    return (0, int(number), "") if number.isdigit() else (1, 0, path.stem)


if __name__ == "__main__":
    main()
