"""The picture of README.md: python figures/readme_plane.py QUICKSTART OUT.

QUICKSTART is a run of ``tomeval run quickstart``; the other players are of runs that ship.
"""

import sys
from pathlib import Path

from tomeval import Run
from tomeval.plots import draw, save
from tomeval.runs.results import joined

if len(sys.argv) != 3:
    raise SystemExit(__doc__)
with (
    Run(sys.argv[1], ["strategy=LM"]) as quickstart,
    Run("smollm2", ["strategy=LM,QA", "game=RPS"]) as smollm2,
    Run("known_models", ["subject=GPT-4,Claude 2,Llama 2 70B"]) as known,
):
    (plane,) = draw(joined([quickstart, smollm2, known]), ["plane"])
(legend,) = plane.figure.legends
legend.set_title("What players know, and what they use")
for text in legend.get_texts():
    who, options, _ = text.get_text().partition("(")
    text.set_text(f"{who}, SmolLM2-135M" if options else f"{who}, embedded" * (who == "LM") or who)
    last = legend.legend_handles[-1]
    if who.startswith("model: hf") and last is not None:  # which its name says
        text.set_text("")
        last.set_visible(False)
for path in save([plane._replace(stem="readme_plane")], Path(sys.argv[2])):
    print(path)
