"""The reports that the offline model writes: every section that is asked for, from the material alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from app.inference.offline.material import Material, Sentence
from app.inference.offline.templates import SIGNATURE, summary
from app.inference.prompt import Outline

_POINTS = 4
_NOTHING = "Nothing in the material speaks of it."
# The first cue that occurs in a section's name decides which sentences it is made of.
_CUES: Sequence[tuple[str, Callable[[Material], Sequence[str]]]] = (
    ("source", lambda material: [source.label for source in material.sources]),
    ("recommend", lambda material: _advice(material)),
    ("remed", lambda material: _advice(material)),
    ("mitigat", lambda material: _advice(material)),
    ("next_step", lambda material: _advice(material)),
    ("action", lambda material: _advice(material)),
    ("breakdown", lambda material: [f"Sentences that speak of trouble: {len(material.troubles(50))}."]),
    ("matrix", lambda material: [f"{term}: said {material.frequencies[term]}×" for term in material.terms(_POINTS)]),
    ("metric", lambda material: _said(material.figures(_POINTS))),
    ("risk", lambda material: _said(material.troubles(_POINTS))),
    ("finding", lambda material: _said(material.troubles(_POINTS) or material.points(_POINTS))),
    ("vulnerab", lambda material: _said(material.troubles(_POINTS))),
    ("bottleneck", lambda material: _said(material.troubles(_POINTS))),
)


def write_report(material: Material, outline: Outline) -> str:
    points = {name: _points(material, name) for name in outline.sections}
    if outline.format == "markdown":
        parts = (f"## {_title(name)}\n\n" + "\n".join(_listed(said)) for name, said in points.items())
        return "\n\n".join([f"# {material.task.title}", f"_{SIGNATURE}_", *parts])
    last = outline.sections[-1]  # the other formats have no room beside the sections
    points[last] = [*points[last], SIGNATURE]
    if outline.format == "json":
        return json.dumps(points, ensure_ascii=False, indent=1)
    return "\n".join(line for name, said in points.items() for line in (f"- {_title(name)}", *_listed(said, "  ")))


def _points(material: Material, name: str) -> list[str]:
    if "summary" in name:
        return [summary(material) or _NOTHING]
    make = next((make for cue, make in _CUES if cue in name), None)
    found = make(material) if make else _said(material.points(_POINTS))
    return list(found) or [_NOTHING]


def _said(sentences: Sequence[Sentence]) -> list[str]:
    return [f"{one.text} ({one.source})" for one in sentences]


def _advice(material: Material) -> list[str]:
    return [f"Look at: {one.text}" for one in material.troubles(_POINTS) or material.points(_POINTS)]


def _listed(said: Sequence[str], indent: str = "") -> list[str]:
    return [f"{indent}- {one}" for one in said]


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()
