"""Who has the skills that some work needs. Pure: which skills an agent holds, and the order of those who hold any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.errors import InvalidInput, check_text
from app.routing.profile import AgentProfile
from app.routing.skill_match import Query, skill_matches
from app.routing.team_index import TeamIndex

MOST_SKILLS = 20
MOST_CHARACTERS = 120
HELD = 0.6  # skill match from which a skill counts as held under another name; exacting, as the work depends on it


@dataclass(frozen=True)
class Holding:
    """A required skill that an agent has, and what it calls it; None where only well rated answers show it."""

    required: str
    held_as: str | None


@dataclass(frozen=True)
class Expert:
    slug: str
    holds: tuple[Holding, ...]
    missing: tuple[str, ...]
    available: bool
    load: float  # 0 idle, towards 1 busy

    @property
    def coverage(self) -> float:
        return len(self.holds) / (len(self.holds) + len(self.missing))


def required_skills(given: Sequence[str]) -> list[str]:
    """Without repetitions, whatever their case; raises InvalidInput."""
    if not 1 <= len(given) <= MOST_SKILLS:
        raise InvalidInput.of("requiredSkills", f"must be 1 to {MOST_SKILLS} skills, not {len(given)}")
    names: dict[str, str] = {}
    for place, text in enumerate(given):
        name = check_text(f"requiredSkills.{place}", text, least=1, most=MOST_CHARACTERS)
        names.setdefault(name.casefold(), name)
    return list(names.values())


def holdings(index: TeamIndex, required: Sequence[Query]) -> dict[str, tuple[Holding, ...]]:
    """What each agent of the index holds, by slug: skills of the same name, and such as mean the same."""
    found: dict[str, list[Holding]] = {agent.slug: [] for agent in index.agents}
    for query in required:
        for agent, match in zip(index.agents, skill_matches(index, query), strict=True):
            named = _named(agent, query.text)
            if named is not None:
                found[agent.slug].append(Holding(query.text, named))
            elif match.value >= HELD:
                found[agent.slug].append(Holding(query.text, next(iter(match.skills), None)))
    return {slug: tuple(held) for slug, held in found.items()}


def ranked(experts: Iterable[Expert]) -> list[Expert]:
    """Those who hold anything: by coverage, then those who are available, then the lightest load, then the slug."""
    able = [expert for expert in experts if expert.holds]
    return sorted(able, key=lambda expert: (-expert.coverage, not expert.available, expert.load, expert.slug))


def _named(agent: AgentProfile, wanted: str) -> str | None:
    return next((skill.name for skill in agent.skills if skill.name.casefold() == wanted.casefold()), None)
