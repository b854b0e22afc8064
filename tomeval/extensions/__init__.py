"""What ships beyond the core: its parts by kind, as text, which is loaded when it is used.

Each extension is the module or package of its name; without it, the rest works.
"""

from typing import Any

from tomeval.core.parts import Analysis


class Extension:
    """What it is, in a few words, and its parts by kind (`tomeval.core.parts.KINDS`) and name."""

    def __init__(self, about: str, **parts: dict[str, Any]) -> None:
        self.about, self.parts = about, parts


_HERE = "tomeval.extensions"
_DATA = "tomeval.games.matrix.storing"

_ADAPTATION = Analysis(
    measures=f"{_HERE}.adaptation:MEASURES",
    tables=f"{_HERE}.adaptation:TABLES",
    present=f"{_DATA}:has_changes",
)
_ASKED = "tomeval.runs.columns:never"  # their tables are there when they are asked for
_CHARACTER = Analysis(tables=f"{_HERE}.character:TABLES", present=_ASKED)
_IDENTITY = Analysis(
    measures=f"{_HERE}.identity:MEASURES",
    tables=f"{_HERE}.identity:TABLES",
    present=f"{_DATA}:has_questions",
    read=f"{_HERE}.identity:read_asked",
)
_INTERNAL = Analysis(
    tables=f"{_HERE}.internal:TABLES", present="tomeval.runs.tallies:has_local_models"
)
_LABELS = Analysis(tables=f"{_HERE}.labels:TABLES", present=_ASKED)
_PERSONAS = Analysis(tables=f"{_HERE}.personas:TABLES", present=f"{_DATA}:has_told")
_PLANTED = Analysis(
    measures=f"{_HERE}.planted:MEASURES",
    tables=f"{_HERE}.planted:TABLES",
    present=f"{_DATA}:cells_with_beliefs",
    read=f"{_HERE}.planted:read_statements",
)
_PROBABILISTIC = Analysis(
    measures=f"{_HERE}.probabilistic:MEASURES",
    tables=f"{_HERE}.probabilistic:TABLES",
    present=f"{_DATA}:has_probabilities",
    read=f"{_HERE}.probabilistic:read_stated",
)
_PROGRAM = Analysis(
    measures=f"{_HERE}.program.written:MEASURES",
    tables=f"{_HERE}.program.written:TABLES",
    present=f"{_DATA}:has_programs",
    read=f"{_HERE}.program.written:read_written",
)
_KNOWN = ("models", "reactive", "columns", "pairs", "people")

EXTENSIONS = {
    "adaptation": Extension(
        "adaptation to partners that change their policy: when it is noticed and acted on",
        analyses={"matrix adaptation": _ADAPTATION},
        partner_sets={"switch": f"{_HERE}.adaptation.partners:build"},
    ),
    "axelrod": Extension(
        "players of the Axelrod library as partners of matrix games",
        partners={"axelrod": f"{_HERE}.axelrod:LIBRARY"},
    ),
    "character": Extension(
        "what kind of player it is: how sharply it replies, levels, reciprocity, named policies",
        analyses={"matrix character": _CHARACTER},
    ),
    "claims": Extension(
        "what the sources claim in words, checked on runs of your own",
        comparisons={"claims": f"{_HERE}.claims:CLAIMS"},
    ),
    "cluster": Extension(
        "runs on many machines: replicas that Ray starts (run --engine ray)",
        engines={"ray": f"{_HERE}.cluster:RayEngine"},
    ),
    "deception": Extension(
        "claims against better knowledge, promises broken, and who believes them",
        analyses={"arena deception": Analysis(tables=f"{_HERE}.deception:TABLES")},
    ),
    "environments": Extension("matrix games as environments to train in"),
    "fresh": Extension(
        "drawn games, disguised twins, the memory effect",
        game_sets={
            "fresh": f"{_HERE}.fresh:FRESH",
            "twins": f"{_HERE}.fresh.twins:TWINS",
        },
        comparisons={"memory": f"{_HERE}.fresh.memory:MEMORY"},
    ),
    "hub": Extension(
        "the tables of a run as a dataset on the Hugging Face Hub",
        exporters={"hub": f"{_HERE}.hub:export_hub"},
    ),
    "identity": Extension(
        "questions about what the partner is: which policy, and what it would do",
        analyses={"matrix identity": _IDENTITY},
    ),
    "inspect": Extension(
        "inspect_ai: its providers' models, tasks for it, their logs as runs",
        models={"inspect": f"{_HERE}.inspect:BACKEND"},
        commands={"import inspect": f"{_HERE}.inspect.episodes:IMPORT"},
    ),
    "internal": Extension(
        "what activations hold of the partner when the model acts, and whether that is used",
        analyses={"matrix internal": _INTERNAL},
    ),
    "known": Extension(
        "published games of GPT-4, older models and people (Akata et al. 2025), and SmolLM2's",
        runs={f"known_{name}": f"{_HERE}.known:known_{name}" for name in _KNOWN}
        | {name: f"{_HERE}.known:{name}" for name in ("smollm2", "smollm2_reasoning")},
    ),
    "labels": Extension(
        "places, names and tokens of options: what a language model makes of the labels themselves",
        analyses={"matrix labels": _LABELS},
    ),
    "levels": Extension(
        "players of levels of recursion in Decrypto",
        players={"decrypto rsa": f"{_HERE}.levels:RSA"},
    ),
    "loggers": Extension(
        "the curves and the table of a run in Weights & Biases or MLflow, when it was played",
        loggers={name: f"{_HERE}.loggers:to_{name}" for name in ("wandb", "mlflow")},
    ),
    "people": Extension(
        "people as players, at a terminal",
        commands={"play matrix": f"{_HERE}.people:PLAY"},
        subjects={"person": f"{_HERE}.people:Person"},
    ),
    "personas": Extension(
        "partners that say who they are: what players make of it, true, swapped or withheld",
        analyses={"matrix personas": _PERSONAS},
    ),
    "planted": Extension(
        "planted beliefs: what players make of predictions whose accuracy is set",
        analyses={"matrix planted": _PLANTED},
    ),
    "probabilistic": Extension(
        "predictions graded as probabilities: losses, calibration",
        analyses={"matrix probabilistic": _PROBABILISTIC},
    ),
    "program": Extension(
        "policies that models write down once, with exact values",
        strategies={"Program": f"{_HERE}.program:PROGRAM"},
        subjects={"program": f"{_HERE}.program:ProgramSubject"},
        analyses={"matrix program": _PROGRAM},
    ),
    "ratings": Extension(
        "ratings of players from the games between them, and what errors did to them",
        analyses={"arena ratings": Analysis(tables=f"{_HERE}.ratings:TABLES")},
    ),
    "regression": Extension(
        "regression on single steps: who learns faster, what regret depends on",
        comparisons={"regression": f"{_HERE}.regression:REGRESSION"},
    ),
    "trajectories": Extension(
        "games that TextArena played elsewhere, as runs of the arena",
        commands={"import arena": f"{_HERE}.trajectories:IMPORT"},
    ),
}
"""The extensions that ship, by name."""
