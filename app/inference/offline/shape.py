"""Fills a JSON Schema from the material: the values that the material supports, and nothing that it does not. Pure.

What nobody checked is false, what nobody changed is empty. Whether the object fits is checked as for every model; a
schema that rules cannot fill (a pattern that nothing given fits, say) fails as it would with a model that guesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from app.inference.fit import problems
from app.inference.offline.enumeration import pick
from app.inference.offline.material import Material, Sentence, shortened
from app.inference.offline.schema import DEEPEST, MISSING, kind, matches, named, resolved, within
from app.inference.offline.templates import SIGNATURE, summary
from app.inference.offline.vote import choose

_OPTIONAL_DEPTH = 4  # below this only what is required is filled, so that a schema that contains itself ends
_SIMPLE = ("type", "enum", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_ITEMS = 5
_MOST_ITEMS = 100  # however many a schema demands
_LONGEST = 10_000
_PATH = re.compile(r"(?<![\w./-])[\w./-]*\w\.(?!\d)\w{1,8}\b")
_LINE = re.compile(r"\bline\s+(\d+)|:(\d+)\b", re.IGNORECASE)
_FORMATS = {
    "date-time": (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"), "1970-01-01T00:00:00Z"),
    "date": (re.compile(r"\d{4}-\d\d-\d\d"), "1970-01-01"),
    "email": (re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.]+"), "nobody@example.org"),
    "uri": (re.compile(r"https?://\S+[\w/]"), "https://example.org/"),
    "uuid": (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "00000000-0000-0000-0000-000000000000"),
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the result we are: the field's name, whether it has to be there, and the sentence it speaks of."""

    name: str
    depth: int = 0
    required: bool = True
    about: Sentence | None = None


class Shape:
    def __init__(self, schema: dict[str, Any], material: Material, options: Sequence[str] = ()) -> None:
        self._root = schema
        self._material = material
        self._options = options

    def fill(self) -> dict[str, Any]:
        value = self._value(self._root, _Place("result"))
        return value if isinstance(value, dict) else {}

    def arguments(self, hints: dict[str, Any], about: str) -> dict[str, Any]:
        """Only what is required, from what it is about, and what the hints say."""
        properties = resolved(self._root, self._root).get("properties", {})
        required = resolved(self._root, self._root).get("required", [])
        return {
            name: hints[name]
            if name in hints
            else self._value(inner, _Place(name, _OPTIONAL_DEPTH, about=Sentence(about, "")))
            for name, inner in properties.items()
            if name in hints or name in required
        }

    def _value(self, schema: Any, place: _Place) -> Any:
        schema = resolved(self._root, schema)
        if place.depth > DEEPEST:
            return None
        if "const" in schema:
            return schema["const"]
        if (given := self._given(schema, place.name)) is not MISSING:
            return given
        if "enum" in schema:
            return self._chosen(schema["enum"], place)
        fill = _FILLERS.get(kind(schema))
        return fill(self, schema, place) if fill else None

    def _given(self, schema: dict[str, Any], name: str) -> Any:
        """A value of the same name in the task's input, if it fits."""
        found = named(self._material.task.given or {}, name)
        if found is MISSING or kind(schema) in {"object", "array"}:
            return MISSING
        simple = {keyword: schema[keyword] for keyword in _SIMPLE if keyword in schema}
        return MISSING if problems(simple, found) else found

    def _chosen(self, among: Sequence[Any], place: _Place) -> Any:
        if self._options and set(self._options) <= set(among):
            return choose(self._options, self._material).option
        said = place.about.text if place.about else " ".join(one.text for one in self._material.points(_ITEMS))
        return pick(among, said, self._material)

    def _object(self, schema: dict[str, Any], place: _Place) -> dict[str, Any]:
        required = schema.get("required", [])
        filled = {}
        for name, inner in schema.get("properties", {}).items():
            needed = name in required
            if needed or place.depth < _OPTIONAL_DEPTH:
                value = self._value(inner, _Place(name, place.depth + 1, needed, place.about))
                if value is not MISSING:
                    filled[name] = value
        return filled

    def _array(self, schema: dict[str, Any], place: _Place) -> list[Any]:
        least, most = min(schema.get("minItems", 0), _MOST_ITEMS), schema.get("maxItems", _ITEMS)
        items = resolved(self._root, schema.get("items", {}))
        inner = _Place(_singular(place.name), place.depth + 1)
        if place.depth >= _OPTIONAL_DEPTH and not least:
            return []
        subjects = self._subjects(place.name, max(least, min(most, _ITEMS)), least)
        if "enum" in items:
            return list(dict.fromkeys(items["enum"]))[:least]
        if kind(items) == "string":
            return [self._limited(items, subject.text) for subject in subjects]
        return [self._value(items, _Place(inner.name, inner.depth, about=subject)) for subject in subjects]

    def _subjects(self, name: str, most: int, least: int) -> list[Sentence]:
        """The sentences that a list of this name is made of, at least `least`."""
        material = self._material
        found = next((find(material, most) for cue, find in _LISTS.items() if cue in name.casefold()), None)
        found = material.points(most) if found is None else found
        missing = range(len(found) + 1, least + 1)
        return found[:most] + [Sentence(f"{_singular(name)} {number}", "") for number in missing]

    def _string(self, schema: dict[str, Any], place: _Place) -> Any:
        material, name = self._material, place.name.casefold()
        said = place.about.text if place.about else None
        if schema.get("format") in _FORMATS:
            return self._formatted(schema["format"], said)
        if name in {"file", "path", "filename"}:
            found = _PATH.search(said or "") or _PATH.search(" ".join(one.text for one in material.sentences))
            return found[0] if found else ("unknown" if place.required else MISSING)
        if name in {"reason", "rationale", "why", "justification"} and self._options:
            return self._limited(schema, choose(self._options, material).reason)
        if name.endswith("id"):
            return self._limited(schema, f"{name.removesuffix('id').strip('_') or 'item'}-{self._number_of(place)}")
        if name in {"notes", "note", "remarks"}:
            return self._limited(schema, SIGNATURE)
        if name in {"suggestion", "fix", "recommendation"}:
            return (
                self._limited(schema, f"Look at: {said or material.task.title}") if said or place.required else MISSING
            )
        if name in {"title", "name", "headline", "subject"}:
            return self._limited(schema, said or material.task.title)
        return self._limited(schema, said or summary(material))

    def _number_of(self, place: _Place) -> int:
        return self._material.sentences.index(place.about) + 1 if place.about in self._material.sentences else 1

    def _formatted(self, form: str, said: str | None) -> str:
        pattern, otherwise = _FORMATS[form]
        texts = [said or "", *(one.text for one in self._material.sentences)]
        return next((found[0] for text in texts if (found := pattern.search(text))), otherwise)

    def _limited(self, schema: dict[str, Any], text: str) -> str:
        if pattern := schema.get("pattern"):
            candidates = [text, *text.split(), *self._material.terms(50), "a", "A", "1"]
            text = next((one for one in candidates if matches(pattern, one)), text)
        least = min(schema.get("minLength", 0), _LONGEST)
        if len(text) < least:
            text = f"{text} {SIGNATURE} " * (least // len(SIGNATURE) + 1)
        return shortened(text, min(schema.get("maxLength", _LONGEST), _LONGEST))

    def _number(self, schema: dict[str, Any], place: _Place) -> Any:
        name = place.name.casefold()
        whole = kind(schema) == "integer"
        if name in {"line", "line_number", "lineno"}:
            found = _LINE.search(place.about.text) if place.about else None
            return int(found[1] or found[2]) if found else (within(schema, 1) if place.required else MISSING)
        if not whole and any(cue in name for cue in ("confidence", "probability", "score")):
            return within(schema, 0.5)
        return within(schema, len(self._material.points(_ITEMS)))

    def _boolean(self, schema: dict[str, Any], place: _Place) -> bool:
        return False


_FILLERS: dict[str, Callable[[Shape, dict[str, Any], _Place], Any]] = {
    "object": Shape._object,
    "array": Shape._array,
    "string": Shape._string,
    "integer": Shape._number,
    "number": Shape._number,
    "boolean": Shape._boolean,
}
_LISTS: dict[str, Callable[[Material, int], list[Sentence]]] = {
    "files_": lambda material, most: [],
    "artifact": lambda material, most: [],
    "blocker": lambda material, most: [Sentence("The offline model cannot change files or run programs.", "")],
    "finding": Material.troubles,
    "issue": Material.troubles,
    "problem": Material.troubles,
    "risk": Material.troubles,
    "suggested_next": lambda material, most: [],  # the instructions of a consultation are no advice
    "step": lambda material, most: [Sentence(step, "") for step in material.steps(most)],
    "source": lambda material, most: [Sentence(one.label, one.label) for one in material.sources[:most]],
    "keyword": lambda material, most: [Sentence(term, "") for term in material.terms(most)],
    "tag": lambda material, most: [Sentence(term, "") for term in material.terms(most)],
}


def _singular(name: str) -> str:
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
