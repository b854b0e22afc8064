"""Figures inside the page: drawings fitted to its policy, its colours and its size."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from tomeval.runs.results import Run

_DARK = 0x60  # greys up to here are ink: they take the page's text colour
_WHITE = 0xFF
_LINE, _SEEN = 0xC0, 0.55  # lines up to this grey have this share of ink: 3 to 1 to any ground
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_GREY = re.compile(r"#([0-9a-f]{2})\1\1$")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_GLYPH = re.compile(r"-[0-9a-f]+$")
_LENGTHS = frozenset(
    ("d", "points", "x", "y", "width", "height", "x1", "x2", "y1", "y2", "cx", "cy", "r")
)
_STYLES = frozenset(
    (
        *("fill", "fill-opacity", "fill-rule", "opacity", "display", "visibility"),
        *("stroke", "stroke-width", "stroke-opacity", "stroke-linejoin", "stroke-linecap"),
        *("stroke-dasharray", "stroke-dashoffset", "stroke-miterlimit"),
        *("font-size", "font-family", "font-style", "font-weight", "text-anchor"),
    )
)


def page_figures(
    run: Run,
    interval: str,
    reference: str | None = None,
    only: Sequence[str] = (),
    every: bool = False,
) -> tuple[list[dict[str, Any]], Markup]:
    """Return the figures of a run for a template, and the outlines of characters that they share.

    They are drawn as for one of two columns: a narrow screen shows these without scaling down.
    `only` and `every` choose as in `tomeval.plots.registry.chosen`.
    """
    from tomeval.plots import Options, chosen, draw_one, plain_style, svg_text

    canvas = Canvas()
    figures: list[dict[str, Any]] = []
    how = Options("single", interval, reference)
    with warnings.catch_warnings(), plain_style():
        # A label may have characters that the font lacks; a box stands for them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for name in chosen(run, only, every=every):
            # Of `Show.first_figures`, files that this run has not are left out.
            for i, drawing in enumerate(draw_one(run, name, how, asked=bool(only))):
                svg = canvas.fit(svg_text(drawing._replace(stem=f"{name}-{i}")))
                shown = {"title": drawing.title, "caption": drawing.caption, "svg": Markup(svg)}
                figures.append({"id": f"figure-{len(figures)}"} | shown)
    return figures, Markup(canvas.glyphs())


class Canvas:
    """Fits matplotlib's drawings into one page.

    `glyphs` collects the outlines of characters, which all drawings of the page share.

    Examples
    --------
    >>> canvas = Canvas()
    >>> canvas.fit('<svg viewBox="0 0 9 9"><path style="fill: #000000" d="M 1.23456 2"/></svg>')
    '<svg viewBox="0 0 9 9" fill="currentColor" stroke-linejoin="round"><path d="M1.23 2"
    fill="currentColor" /></svg>'
    """

    def __init__(self) -> None:
        self._glyphs: dict[tuple[str, str], str] = {}
        self._number = 0

    def fit(self, svg: str) -> str:
        """Return an SVG document or element as one ``<svg>`` element that fits into the page.

        It has no style attributes and style elements, which the page's content security policy
        refuses: their declarations become presentation attributes. White backgrounds are left out
        and greys are shades of ``currentColor``, so that the drawing follows the page's colours;
        coordinates have two decimals; identifiers are short, differ from those of other drawings,
        and are kept only if something refers to them; the page sets the size (``viewBox`` only).
        """
        root = ElementTree.fromstring(svg)
        for element in root.iter():
            element.tag = _local(element.tag)
            element.text, element.tail = _solid(element.text), _solid(element.tail)
            attributes = {_local(name): value for name, value in element.attrib.items()}
            styles = _styles(attributes.pop("style", ""))
            element.attrib.clear()
            for name, value in {**attributes, **styles}.items():
                element.set(name, _value(name, value))
            for name in ("fill", "stroke"):
                _follow_page(element, name)
        names = self._take_glyphs(root)
        self._rename(root, names)
        for name in ("width", "height", "version"):
            root.attrib.pop(name, None)
        # Black glyphs have no colour of their own.
        root.attrib.setdefault("fill", "currentColor")
        root.attrib.setdefault("stroke-linejoin", "round")
        return ElementTree.tostring(root, encoding="unicode")

    def glyphs(self) -> str:
        """Return the outlines of all characters drawn so far, as an element that shows nothing."""
        root = ElementTree.Element("svg", {"class": "unseen", "aria-hidden": "true"})
        place = ElementTree.SubElement(root, "defs")
        for (shape, transform), name in self._glyphs.items():
            glyph = {"id": name, "d": shape} | ({"transform": transform} if transform else {})
            ElementTree.SubElement(place, "path", glyph)
        return ElementTree.tostring(root, encoding="unicode")

    def _take_glyphs(self, root: ElementTree.Element) -> dict[str, str]:
        """Move outlines of characters to the shared ones; return their new names by old ones."""
        names = {}
        for parent in list(root.iter()):
            for child in list(parent):
                if child.tag in ("style", "metadata") or (child.tag == "defs" and not len(child)):
                    parent.remove(child)
                elif (parent.tag, child.tag) == ("defs", "path") and _GLYPH.search(
                    child.get("id", "")
                ):
                    key = (child.get("d", ""), child.get("transform", ""))
                    name = self._glyphs.setdefault(key, f"glyph{len(self._glyphs)}")
                    names[child.attrib["id"]] = name
                    parent.remove(child)
        return names

    def _rename(self, root: ElementTree.Element, names: dict[str, str]) -> None:
        """Give identifiers that something refers to a short name, and drop the others."""
        self._number += 1
        used = set()
        for element in root.iter():
            for name, value in element.attrib.items():
                used.update(_references(name, value))
        for element in root.iter():
            if (old := element.get("id")) is None:
                continue
            if old in used:
                names[old] = f"svg{self._number}-{len(names)}"
                element.set("id", names[old])
            else:
                del element.attrib["id"]
        for element in root.iter():
            for name, value in element.attrib.items():
                for old in _references(name, value):
                    if old not in names:
                        raise ValueError(f"a drawing refers to {old!r}, which it does not hold")
                    value = value.replace(old, names[old])
                element.set(name, value)


def _references(name: str, value: str) -> list[str]:
    """Return the identifiers that an attribute refers to."""
    if name == "href":
        if not value.startswith("#"):
            raise ValueError(f"a drawing refers to {value[:80]!r}: only its own parts are allowed")
        return [value[1:]]
    if name.startswith("aria-"):
        return value.split() if name in ("aria-labelledby", "aria-describedby") else []
    return _REFERENCE.findall(value)


def _solid(text: str | None) -> str | None:
    """Return text, or None if it consists of spaces."""
    return text if text and text.strip() else None


def _local(name: str) -> str:
    """Return a name without its namespace: HTML knows SVG's elements by their local names."""
    return name.rpartition("}")[2]


def _styles(text: str) -> dict[str, str]:
    """Return the declarations of a style attribute that can be attributes themselves."""
    pairs = (part.partition(":") for part in text.split(";") if ":" in part)
    found = {name.strip(): value.strip() for name, _, value in pairs}
    found |= _font(found.pop("font", ""))
    return {name: value for name, value in found.items() if name in _STYLES}


def _font(text: str) -> dict[str, str]:
    """Return matplotlib's font shorthand as single properties, which attributes can hold."""
    match = re.match(r"(?P<rest>.*?)(?P<size>[\d.]+px)\s+(?P<family>.+)$", text)
    if match is None:
        return {}
    found = {"font-size": match["size"], "font-family": match["family"]}
    for word in match["rest"].split():
        if word in ("italic", "oblique"):
            found["font-style"] = word
        elif word == "bold" or word.isdigit():
            found["font-weight"] = word
    return found


def _value(name: str, value: str) -> str:
    """Return an attribute's value: colours of the page, short numbers."""
    if name == "transform":
        return _NUMBER.sub(lambda found: f"{float(found[0]):.6g}", value)
    if name in _LENGTHS:
        value = _NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value)
        return re.sub(r"\s*([A-Za-z])\s*", r"\1", re.sub(r"\s+", " ", value)).strip()
    return value


def _follow_page(element: ElementTree.Element, name: str) -> None:
    """Replace a grey: dark ones become the page's ink, lighter ones correspondingly faint ink.

    A white line around a marker takes the colour of the page; a white area vanishes.
    """
    grey = _GREY.match(element.get(name, "").lower())
    if grey is None:
        return
    lightness = int(grey[1], 16)
    if lightness == _WHITE:
        if name == "fill":
            element.set(name, "none")
        else:
            del element.attrib[name]
            element.set("class", "halo")
        return
    element.set(name, "currentColor")
    if lightness > _DARK:
        faint = 1 - lightness / _WHITE
        if name == "stroke" and lightness <= _LINE:
            faint = max(faint, _SEEN)
        opacity = float(element.get(f"{name}-opacity", "1")) * faint
        element.set(f"{name}-opacity", f"{opacity:.3g}")
