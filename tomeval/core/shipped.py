"""The extensions that ship: where each is, and the names that are known before it is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shipped:
    """What is known of an extension that ships before it is loaded: where it is, and names.

    Attributes
    ----------
    where : str
        ``module:object``.
    data : mapping of str to str
        By domain, the kind of data (`Read.data`) that its measures, tables and figures need: they
        are loaded for runs that have it.
    commands : mapping of str to (str, str)
        Name to a panel of ``--help`` and one line of help.
    lists, engines, exporters, models and further fields of `Extension`
        Tuples of names.
    """

    where: str
    data: Mapping[str, str] = field(default_factory=dict)
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lists: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    portions: tuple[str, ...] = ()
    loggers: tuple[str, ...] = ()
    exporters: tuple[str, ...] = ()
    comparisons: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    partners: tuple[str, ...] = ()
    partner_sets: tuple[str, ...] = ()
    game_sets: tuple[str, ...] = ()
    games: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()

    def names(self, kind: str) -> tuple[str, ...]:
        """Return the names of its parts of a kind that has names here."""
        return tuple(getattr(self, kind))


_GUESTS, _SHARE = "People, and games played elsewhere", "Keep and share"

SHIPPED: dict[str, Shipped] = {
    "adaptation": Shipped(
        "tomeval.extensions.adaptation:EXTENSION",
        data={"matrix": "changes"},
        partner_sets=("switch",),
    ),
    "axelrod": Shipped("tomeval.extensions.axelrod:EXTENSION", partners=("axelrod",)),
    "cluster": Shipped("tomeval.extensions.cluster:EXTENSION", engines=("ray",)),
    "environments": Shipped("tomeval.extensions.environments:EXTENSION"),
    "fresh": Shipped(
        "tomeval.extensions.fresh:EXTENSION",
        data={"matrix": "fresh games"},
        comparisons=("memory",),
        game_sets=("fresh", "twins"),
    ),
    "hub": Shipped(
        "tomeval.extensions.hub:EXTENSION",
        exporters=("hub",),
    ),
    "inspect": Shipped(
        "tomeval.extensions.inspect:EXTENSION",
        commands={
            "import inspect": (
                _GUESTS,
                "Make a run folder from an Inspect log of tomeval's tasks.",
            )
        },
        models=("inspect",),
    ),
    "internal": Shipped(
        "tomeval.extensions.internal:EXTENSION",
        data={"matrix": "internal"},
        keys=("matrix internal",),
    ),
    "known": Shipped(
        "tomeval.extensions.known:EXTENSION",
        runs=("known_models", "known_reactive", "known_columns", "known_pairs", "known_people"),
    ),
    "levels": Shipped(
        "tomeval.extensions.levels:EXTENSION",
        subjects=("tom_order",),
        players=("decrypto rsa",),
    ),
    "loggers": Shipped("tomeval.extensions.loggers:EXTENSION", loggers=("wandb", "mlflow")),
    "people": Shipped(
        "tomeval.extensions.people:EXTENSION",
        commands={
            "play matrix": (
                _GUESTS,
                "Play a matrix game yourself: choose and predict in every round; stored as a run.",
            ),
        },
        subjects=("person",),
    ),
    "planted": Shipped("tomeval.extensions.planted:EXTENSION", data={"matrix": "beliefs"}),
    "probabilistic": Shipped(
        "tomeval.extensions.probabilistic:EXTENSION",
        data={"matrix": "probabilities"},
    ),
    "ratings": Shipped("tomeval.extensions.ratings:EXTENSION", data={"arena": "games"}),
    "regression": Shipped("tomeval.extensions.regression:EXTENSION", comparisons=("regression",)),
    "shards": Shipped(
        "tomeval.extensions.shards:EXTENSION",
        commands={
            "import shards": (
                _GUESTS,
                "Make one run of run folders of one experiment, such as its shards.",
            )
        },
        portions=("shard", "status"),
    ),
    "trajectories": Shipped(
        "tomeval.extensions.trajectories:EXTENSION",
        commands={
            "import arena": (
                _GUESTS,
                "Make a run folder from games played in TextArena.",
            )
        },
    ),
    "wording": Shipped(
        "tomeval.extensions.wording:EXTENSION",
        data={"matrix": "wordings"},
        comparisons=("sensitivity",),
    ),
}
"""The extensions that ship, by name. A test holds each line to its object."""
