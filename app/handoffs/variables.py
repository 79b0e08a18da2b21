"""Context variables: where their values come from, of which kind they are, and which names a condition may use."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from app.handoffs.condition.tree import COMPLETE
from app.teams.variables import Value, VariableKind, kind_of

LOAD = "_load"
SYSTEM: Mapping[str, VariableKind] = {
    "handoff_count": VariableKind.NUMBER,
    "iteration_count": VariableKind.NUMBER,
    "revision_count": VariableKind.NUMBER,
    "step_count": VariableKind.NUMBER,
    "reply_words": VariableKind.NUMBER,
}


class VariableSource(StrEnum):
    """Later ones win where a name has a value from more than one."""

    SYSTEM = "system"
    TEAM = "team"
    INPUT = "input"
    RUNTIME = "runtime"
    TEXT = "text"


def load_name(slug: str) -> str:
    """`writer-a` is counted in `writer_a_load`."""
    return slug.replace("-", "_") + LOAD


def known(
    *,
    context: Mapping[str, Value],
    runtime: Mapping[str, str],
    input: Mapping[str, str],
    slugs: Iterable[str],
) -> dict[str, VariableKind]:
    """Every variable that a condition of a team may name, with its kind."""
    declared = {name: VariableKind(kind) for name, kind in (*input.items(), *runtime.items())}
    loads = {load_name(slug): VariableKind.NUMBER for slug in slugs}
    return {**SYSTEM, **loads, **{name: kind_of(value) for name, value in context.items()}, **declared}


def declaration_problems(
    *, context: Mapping[str, Value], runtime: Mapping[str, str], input: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Path and problem of each declaration that contradicts another or takes a name of Parley's own."""
    found: list[tuple[str, str]] = []
    for section, names in (
        ("context_variables", context),
        ("runtime_variables", runtime),
        ("input_variables", input),
    ):
        for name in names:
            if name in SYSTEM or name.endswith(LOAD):
                found.append((f"{section}.{name}", "is a name that Parley gives a value itself; choose another"))
            elif name.endswith(COMPLETE) and _kind(name, context, runtime, input) is not VariableKind.BOOLEAN:
                found.append((f"{section}.{name}", "tells that something is complete and must be true or false"))
    for name in runtime.keys() & input.keys():
        found.append((f"input_variables.{name}", "is declared in runtime_variables too; a variable has one origin"))
    for section, kinds in (("runtime_variables", runtime), ("input_variables", input)):
        for name in sorted(kinds.keys() & context.keys()):
            default = kind_of(context[name])
            if default != kinds[name]:
                words = f"is {kinds[name]}, and its value in context_variables is {default.value}"
                found.append((f"{section}.{name}", words))
    return found


def _kind(name: str, context: Mapping[str, Value], runtime: Mapping[str, str], input: Mapping[str, str]) -> str:
    if name in context:
        return kind_of(context[name])
    return runtime.get(name) or input[name]


_NAMED = re.compile(r"[\s>*•-]*`?(?P<name>[a-z_][a-z0-9_]*)`?\s*[:=]")
LONGEST_VALUE = 2_000  # characters


def reported(text: str, declared: Mapping[str, str], completions: Collection[str] = ()) -> dict[str, Value]:
    """The run-time variables that a reply sets: lines such as `word_count: 850`. The last line counts; a value of the
    wrong kind sets nothing."""
    kinds = {**dict.fromkeys(completions, VariableKind.BOOLEAN.value), **declared}
    found: dict[str, Value] = {}
    for line in text.splitlines():
        match = _NAMED.match(line)
        said = _said(line[match.end() :]) if match and match["name"] in kinds else ""
        value = VariableKind(kinds[match["name"]]).read(said) if match and said else None
        if match and value is not None:
            found[match["name"]] = value
    return found


def _said(rest: str) -> str:
    """The value that a line ends with, out of its backticks and without the stop after it; empty when it is none."""
    value = rest.strip().rstrip(" \t.;,").removeprefix("`").removesuffix("`").strip()
    return value if len(value) <= LONGEST_VALUE and "`" not in value else ""
