"""An exported team is a file that changes nothing, whatever the team holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.agents.models import AgentRuntime, AgentType
from app.db.transaction import Transactions
from app.events.log import Actor
from app.handoffs.condition.check import read
from app.ids import new_id
from app.team_files import service
from app.team_files.export import export
from app.team_files.parse import parse
from app.teams import service as teams
from app.teams.flags import FeatureFlag
from app.teams.models import AfterWork, MessagePolicy
from app.teams.variables import VariableKind
from tests.app.team_files.conftest import Apply, Export

ROOT = Path(__file__).parents[3]
FILES = [ROOT / "app/dev/demo_team.yaml", *sorted((ROOT / "examples/teams").glob("*.yaml"))]
TEXTS = {file.stem: file.read_text(encoding="utf-8") for file in FILES}

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60)
TRICKY = st.sampled_from(
    [
        "no",
        "1e3",
        "010",
        "null",
        "~",
        "- a",
        "a: b",
        "# c",
        "'",
        '"',
        "a\nb",
        " a\n\n b",
        "\ta",
        "x\x85y",
        "\u2028",
        "{{",
    ]
)
WORDS = st.one_of(TEXT, TRICKY)
FILLED = WORDS.filter(lambda text: bool(text.strip()))
SLUGS = st.from_regex(r"\A[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?\Z").filter(
    lambda slug: slug not in {"user", "team", "system"}
)
NUMBERS = st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), st.floats(-(2.0**53) + 1, 2.0**53 - 1))
TRAITS = st.floats(0, 1)
CAPS = st.integers(0, 10**12).map(lambda millionths: millionths / 10**6)


@st.composite
def agents(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(AgentType))
    skills = draw(st.lists(FILLED, max_size=3, unique_by=lambda name: name.strip().casefold()))
    return {
        "name": draw(FILLED),
        "tagline": draw(WORDS),
        "role": draw(WORDS),
        "personality": draw(WORDS),
        "traits": {"formality": draw(TRAITS), "humor": draw(TRAITS), "technical_depth": draw(TRAITS)},
        "skills": [{"name": name, "description": draw(WORDS)} for name in skills],
        "type": kind.value,
        **({"custom_type": draw(FILLED)} if kind is AgentType.CUSTOM else {}),
        "tools": draw(st.lists(FILLED, max_size=3)),
        "model_tier": draw(st.integers(0, 2)),
        "runtime": draw(st.sampled_from(AgentRuntime)).value,
    }


@st.composite
def files(draw: st.DrawFn) -> dict[str, Any]:
    slugs = draw(st.lists(SLUGS, min_size=1, max_size=4, unique=True))
    conditions = draw(st.lists(FILLED.filter(lambda text: not read(text.strip(), {})[1]), max_size=3))
    rules = [
        {"from_agent": "any_agent", "to_agent": draw(st.sampled_from(slugs)), "condition": text, "priority": priority}
        for priority, text in enumerate(dict.fromkeys(map(str.strip, conditions)), start=1)
    ]
    return {
        "name": draw(FILLED),
        "description": draw(WORDS),
        "default_agent": draw(st.sampled_from(slugs)),
        "after_work_behavior": draw(st.sampled_from(AfterWork)).value,
        "message_policy": draw(st.sampled_from(MessagePolicy)).value,
        "context_variables": draw(
            st.dictionaries(
                st.from_regex(r"\A[a-z_][a-z0-9_]{0,8}\Z"), st.one_of(NUMBERS, st.booleans(), WORDS), max_size=5
            )
        ),
        "runtime_variables": draw(st.dictionaries(st.just("measured"), st.sampled_from(VariableKind).map(str))),
        "input_variables": {},
        "feature_flags": draw(st.dictionaries(st.sampled_from([flag.value for flag in FeatureFlag]), st.booleans())),
        "budgets": {"day_usd": draw(CAPS), "month_usd": draw(CAPS)},
        "agents": [{"slug": slug, **draw(agents())} for slug in slugs],
        "handoffs": sorted(rules, key=lambda rule: -int(rule["priority"])),
    }


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=files())
async def test_export_of_an_applied_file_says_the_same(
    transaction: Transactions, actor: Actor, flow_yaml: Callable[[Any], str], data: dict[str, Any]
) -> None:
    text = flow_yaml(data)
    wanted = parse(text).file
    async with transaction() as session:
        team = await teams.create(session, slug=f"t-{new_id().hex}", name="t", actor=actor)
        await service.apply(session, team_id=team.id, text=text, actor=actor)

    async with transaction() as session:
        exported = await export(session, team_id=team.id)
        again = await service.apply(session, team_id=team.id, text=text, actor=actor)
        from_export = await service.apply(session, team_id=team.id, text=exported, actor=actor, prune=True)

    assert parse(exported).file == wanted
    assert not again.changed
    assert not from_export.changed


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_shipped_files_apply_and_come_back_the_same(text: str, apply_file: Apply, export_file: Export) -> None:
    result = await apply_file(text)

    assert len(result.created) >= 4
    wanted = parse(text).file
    by_priority = sorted(wanted.handoffs, key=lambda rule: -rule.priority)
    assert parse(await export_file()).file == wanted.model_copy(update={"handoffs": tuple(by_priority)})
    assert not (await apply_file(text, prune=True)).changed


async def test_an_untouched_team_exports_to_a_file_that_applies(apply_file: Apply, export_file: Export) -> None:
    assert not (await apply_file(await export_file())).changed
