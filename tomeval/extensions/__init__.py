"""What ships beyond the core: one line each, its parts by kind as text, loaded when they are used.

Each stands in the folder of its name; without the folder, the rest works.
"""

from tomeval.core.extensions import Exporter, Extension

_HERE = "tomeval.extensions."

EXTENSIONS = {
    one.name: one
    for one in (
        Extension(
            "adaptation",
            "adaptation to partners that change their policy: when it is noticed and acted on",
            data={"matrix": "changes"},
            measures={"matrix": f"{_HERE}adaptation.measures:GROUPS"},
            tables={"matrix": f"{_HERE}adaptation.measures:TABLES"},
            partner_sets={"switch": f"{_HERE}adaptation.partners:build"},
        ),
        Extension(
            "axelrod",
            "players of the Axelrod library as partners of matrix games",
            partners={"axelrod": f"{_HERE}axelrod:LIBRARY"},
        ),
        Extension(
            "cluster",
            "runs on many machines: replicas that Ray starts (run --engine ray)",
            engines={"ray": f"{_HERE}cluster.engine:make_engine"},
        ),
        Extension(
            "environments",
            "games as environments to train in",
        ),
        Extension(
            "fresh",
            "drawn games, disguised twins, the memory effect",
            data={"matrix": "fresh games"},
            game_sets={
                "fresh": f"{_HERE}fresh.drawing:FRESH",
                "twins": f"{_HERE}fresh.twins:TWINS",
            },
            tables={"matrix": f"{_HERE}fresh.memory:TABLES"},
            comparisons={"memory": f"{_HERE}fresh.memory:MEMORY"},
        ),
        Extension(
            "hub",
            "the tables of a run as a dataset on the Hugging Face Hub",
            exporters={
                "hub": Exporter(
                    f"{_HERE}hub:export_hub",
                    "a dataset for the Hugging Face Hub",
                    ("repo", "upload"),
                )
            },
        ),
        Extension(
            "inspect",
            "inspect_ai: its providers' models, tasks for it, their logs as runs",
            models={"inspect": f"{_HERE}inspect.model:BACKEND"},
            commands={"import inspect": f"{_HERE}inspect.episodes:IMPORT"},
        ),
        Extension(
            "internal",
            "what activations hold of the partner when the model acts, and whether that is used",
            data={"matrix": "internal"},
            measures={"matrix": f"{_HERE}internal.tables:GROUPS"},
            tables={"matrix": f"{_HERE}internal.tables:TABLES"},
            keys={"matrix internal": f"{_HERE}internal.keys:Internal"},
        ),
        Extension(
            "known",
            "published games of GPT-4, older models and people (Akata et al. 2025) as runs",
            runs={
                f"known_{name}": f"{_HERE}known:known_{name}"
                for name in ("models", "reactive", "columns", "pairs", "people")
            },
        ),
        Extension(
            "levels",
            "players of levels of recursion in Decrypto, and of orders of theory of mind",
            subjects={"tom_order": f"{_HERE}levels.player:TomOrder"},
            players={"decrypto rsa": f"{_HERE}levels.seats:RSA"},
        ),
        Extension(
            "loggers",
            "the curves and the table of a run in Weights & Biases or MLflow, when it was played",
            loggers={name: f"{_HERE}loggers:to_{name}" for name in ("wandb", "mlflow")},
        ),
        Extension(
            "people",
            "people as players, at a terminal",
            commands={"play matrix": f"{_HERE}people.session:PLAY"},
            subjects={"person": f"{_HERE}people.person:Person"},
        ),
        Extension(
            "planted",
            "planted beliefs: what players make of predictions whose accuracy is set",
            data={"matrix": "beliefs"},
            measures={"matrix": f"{_HERE}planted.measures:GROUPS"},
            tables={"matrix": f"{_HERE}planted.tables:TABLES"},
        ),
        Extension(
            "probabilistic",
            "predictions graded as probabilities: losses, calibration",
            data={"matrix": "probabilities"},
            measures={"matrix": f"{_HERE}probabilistic.measures:GROUPS"},
            tables={"matrix": f"{_HERE}probabilistic.tables:TABLES"},
            figures={"matrix": {"probabilistic": f"{_HERE}probabilistic.tables:probabilistic"}},
        ),
        Extension(
            "ratings",
            "ratings of players from the games between them, and what errors did to them",
            data={"arena": "games"},
            tables={"arena": f"{_HERE}ratings.tables:TABLES"},
        ),
        Extension(
            "regression",
            "regression on single steps: who learns faster, what regret depends on",
            comparisons={"regression": f"{_HERE}regression:REGRESSION"},
        ),
        Extension(
            "trajectories",
            "games that TextArena played elsewhere, as runs of the arena",
            commands={"import arena": f"{_HERE}trajectories:IMPORT"},
        ),
    )
}
"""The extensions that ship, by name."""
