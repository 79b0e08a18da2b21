"""The texts that the offline model writes, one form for each type of task. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from app.inference.offline.material import Material, Sentence, shortened, words
from app.inference.offline.vote import choose

SIGNATURE = "Written by Parley's offline model: sentences chosen by rules, not by a language model."
_POINTS = 5
_REPLY = "reply"


def write(material: Material, options: Sequence[str], notes: Sequence[str] = ()) -> str:
    """The whole answer, in Markdown. The first line is the title, but of a reply, which is part of a conversation."""
    form = _FORMS.get(material.task.type, _summarize)
    parts = [
        "" if material.task.type == _REPLY else f"# {material.task.title}",
        _vote(material, options) if options else form(material),
    ]
    parts += [_results(material), _section("Notes", notes), f"_{SIGNATURE}_"]
    return "\n\n".join(part for part in parts if part)


def summary(material: Material, most: int = 3) -> str:
    return " ".join(_stop(point.text) for point in material.points(most))


def _research(material: Material) -> str:
    return _joined(
        f"**Question.** {shortened(material.steps(1)[0], 300)}",
        _section("Found in the material", _quoted(material.points(_POINTS))),
        _section("Figures", _quoted(material.figures(3))),
        _section("Not covered by the material", material.uncovered(8)),
    )


def _review(material: Material) -> str:
    troubles = material.troubles(_POINTS)
    verdict = "nothing in the material speaks of a problem"
    if troubles:
        verdict = "1 point needs a look" if len(troubles) == 1 else f"{len(troubles)} points need a look"
    return _joined(
        f"**Verdict.** By the words alone, {verdict}. Nothing was run or tested.",
        _section("Findings", _quoted(troubles)),
        _section("Also said", _quoted([point for point in material.points(_POINTS) if point not in troubles])),
    )


def _analyze(material: Material) -> str:
    said = len(material.sentences)
    return _joined(
        f"**Extent.** Sentences: {said}; sources: {max(len(material.sources), 1)}; "
        f"words of meaning: {sum(material.frequencies.values())}.",
        f"**Most spoken of.** {', '.join(material.terms(8))}.",
        _section("Main points", _quoted(material.points(_POINTS))),
        _section("Figures", _quoted(material.figures(3))),
        _section("Possible trouble", _quoted(material.troubles(3))),
    )


def _generate(material: Material) -> str:
    asked = [f"**{shortened(step, 120)}** {_nearest(material, step)}" for step in material.steps(8)]
    return _joined(
        _section("Draft, point by point of the request", asked),
        f"**Expected.** {material.task.expected_output}" if material.task.expected_output else "",
    )


def _summarize(material: Material) -> str:
    return _joined(
        f"**In short.** {summary(material, 2)}",
        _section("Main points", _quoted(material.points(_POINTS))),
    )


def _validate(material: Material) -> str:
    checks = material.task.expected_output or material.instructions or material.task.title
    wanted = [line for line in checks.splitlines() if words(line)]
    met = [bool(set(words(line)) & set(material.frequencies)) for line in wanted]
    return _joined(
        f"**Verdict.** {sum(met)} of {len(met)} points are spoken of in the material. Their truth was not tested.",
        _section(
            "Points", (f"[{'x' if fits else ' '}] {line.strip()}" for line, fits in zip(wanted, met, strict=True))
        ),
        _section("Possible trouble", _quoted(material.troubles(3))),
    )


def _plan(material: Material) -> str:
    steps = [f"{number}. {_stop(step)}" for number, step in enumerate(material.steps(10), start=1)]
    return _joined(
        "**Steps**\n" + "\n".join(steps),
        _section("To bear in mind", _quoted(material.points(3)) if material.sources else ()),
        _section("Risks", _quoted(material.troubles(3))),
    )


def _execute(material: Material) -> str:
    done = f"{len(material.results)} tool calls were made; nothing else was changed."
    return _joined(
        f"**Done.** {done}",
        _section("Asked for", material.steps(8)),
        _section("Given", _quoted(material.points(3)) if material.sources else ()),
    )


def _reply(material: Material) -> str:
    """The sentences that say most of what is asked about, and what nothing given speaks of."""
    return _joined(
        f"You ask: {shortened(_stop(material.steps(1)[0]), 300)}",
        _section("What I have on that", _quoted(material.points(3))) if material.sources else "",
        _section("What I have nothing on", material.uncovered(8)),
    )


_FORMS: dict[str, Callable[[Material], str]] = {
    "research": _research,
    "review": _review,
    "analyze": _analyze,
    "generate": _generate,
    "summarize": _summarize,
    "validate": _validate,
    "plan": _plan,
    "execute": _execute,
    _REPLY: _reply,
}


def _vote(material: Material, options: Sequence[str]) -> str:
    vote = choose(options, material)
    return f"**Vote.** {vote.option}\n\n**Reason.** {vote.reason}"


def _results(material: Material) -> str:
    return _section("Results of tools", (f"{one.label}: {shortened(one.text, 300)}" for one in material.results))


def _nearest(material: Material, step: str) -> str:
    wanted = set(words(step))
    ranked = max(material.points(20), key=lambda point: len(wanted & set(words(point.text))), default=None)
    return ranked.text if ranked and material.sources else ""


def _quoted(points: Iterable[Sentence]) -> list[str]:
    return [f"{point.text} _({point.source})_" for point in points]


def _section(heading: str, items: Iterable[str]) -> str:
    lines = [f"- {item.strip()}" for item in items]
    return "\n".join([f"**{heading}**", *lines]) if lines else ""


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _stop(text: str) -> str:
    return text if text[-1:] in ".!?…:" else f"{text}."
