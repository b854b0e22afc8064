"""Rows for ``tomeval list`` on extensions, and on the formats that they bring."""

from __future__ import annotations

from typing import Any

from tomeval.core.extensions import FIELDS, Extension, NotInstalled, load, loaded, parts
from tomeval.core.plugins import loaded_plugins
from tomeval.core.shipped import SHIPPED

Rows = list[dict[str, Any]]


def formats() -> Rows:
    """Return the formats of the whole run that ``tomeval export --format`` can name."""
    return [
        {"format": name, "for": one.about, "settings": ", ".join(one.options)}
        for name, one in parts("exporters").items()
    ]


def extensions() -> Rows:
    """Return the extensions: those that ship, and those of installed packages and of --plugin."""
    rows: Rows = []
    for name in SHIPPED:
        try:
            about, brings = load(name).about, _brings(load(name))
        except NotInstalled as error:
            about, brings = str(error), ""
        rows.append({"extension": name, "brings": brings, "from": "tomeval", "about": about})
    added = {one.name: one for one in loaded()}
    for plugin in loaded_plugins():
        one = added.get(plugin.extension, Extension(plugin.name, plugin.module))
        source = plugin.package or "--plugin"
        rows.append(
            {"extension": one.name, "brings": _brings(one), "from": source, "about": one.about}
        )
    return rows


def _brings(extension: Extension) -> str:
    """Return the kinds of parts that an extension brings."""
    return ", ".join(kind for kind in FIELDS if getattr(extension, kind))
