"""Replicas must be alike: the same libraries, and models of the same revision."""

from __future__ import annotations

from collections.abc import Mapping

from tomeval.core.errors import TomevalError


class Same:
    """What the first replica said that told, against which all others are held."""

    def __init__(self) -> None:
        self._versions: tuple[str, Mapping[str, str]] | None = None
        self._revisions: dict[str, tuple[str, str]] = {}

    def versions(self, who: str, versions: Mapping[str, str]) -> None:
        """Refuse a replica with other libraries.

        Parameters
        ----------
        who : str
            Its name and host.
        versions : mapping of str to str

        Raises
        ------
        TomevalError
            Names both replicas and every library that differs.
        """
        if self._versions is None:
            self._versions = who, versions
        first, theirs = self._versions
        differing = [
            f"{name} {versions.get(name, 'missing')}, not {theirs.get(name, 'missing')}"
            for name in sorted({*versions, *theirs})
            if versions.get(name) != theirs.get(name)
        ]
        if differing:
            raise TomevalError(
                f"{who} differs from {first}: {'; '.join(differing)}; rows must not depend on "
                "where they are played: install the same versions everywhere"
            )

    def revision(self, who: str, model: str, revision: str) -> bool:
        """Refuse a replica with another revision of a model; return whether it is the first one.

        Raises
        ------
        TomevalError
            Names both replicas and revisions.
        """
        first = model not in self._revisions
        whose, known = self._revisions.setdefault(model, (who, revision))
        if revision != known:
            raise TomevalError(
                f"{model} is at revision {revision or 'unknown'} for {who}, at "
                f"{known or 'unknown'} for {whose}; pin one with @revision, or bring the "
                "same files everywhere"
            )
        return first
