"""What routing knows of an agent: plain values, read from its row and from rated answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MOST_EXAMPLES = 50  # of one agent; the newest count


@dataclass(frozen=True)
class Skill:
    name: str
    description: str = ""


class Traits(NamedTuple):
    """Each 0 to 1. A tuple, because every query looks up how each agent's traits fit it."""

    formality: float = 0.5
    humor: float = 0.5
    technical_depth: float = 0.5


EVEN = Traits()


@dataclass(frozen=True)
class AgentProfile:
    slug: str
    name: str
    role: str = ""
    skills: tuple[Skill, ...] = ()
    traits: Traits = EVEN
    examples: tuple[str, ...] = ()  # queries that it answered well, newest first


@dataclass(frozen=True)
class Phrase:
    """A text that stands for what an agent can do. `skill` is None for a query that it answered well."""

    slug: str
    skill: str | None
    text: str


def phrases(agent: AgentProfile) -> list[Phrase]:
    """At least one, so that an agent without skills is known by its role."""
    skilled = [Phrase(agent.slug, skill.name, f"{skill.name}: {skill.description}") for skill in agent.skills]
    learned = [Phrase(agent.slug, None, text) for text in agent.examples[:MOST_EXAMPLES]]
    return [*(skilled or [Phrase(agent.slug, agent.name, agent.role)]), *learned]
