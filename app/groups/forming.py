"""Which agents make up a group that needs certain skills: few, those with most of them first. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from app.discovery.experts import Expert


def form(experts: Sequence[Expert], required: Sequence[str]) -> tuple[list[str], list[str]]:
    """The slugs of the agents, and the skills that nobody has. `experts` come best first; who is busy comes last."""
    missing = {skill.casefold(): skill for skill in required}
    chosen: list[str] = []
    left = list(experts)
    while missing and left:
        best = max(left, key=lambda one: (one.available, len(_held(one) & missing.keys())))
        best = best if _held(best) & missing.keys() else max(left, key=lambda one: len(_held(one) & missing.keys()))
        gained = _held(best) & missing.keys()
        if not gained:
            break
        chosen.append(best.slug)
        left.remove(best)
        missing = {key: skill for key, skill in missing.items() if key not in gained}
    return chosen, list(missing.values())


def _held(expert: Expert) -> set[str]:
    return {holding.required.casefold() for holding in expert.holds}
