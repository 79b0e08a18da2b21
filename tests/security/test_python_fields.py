"""Attacks by root fields that Python computes, as often as one operation may ask for them."""

from __future__ import annotations

import pytest

from app.ids import Prefix, to_global
from tests.fixtures.attack import MAX_REQUEST_CPU_S, Target

LONG = "Please compare the invoices of the third quarter with what the warehouse in Hamburg has booked. " * 40
FIELDS = {
    "recommendAgents": 'recommendAgents(query: "%(number)d %(text)s", first: 10) { confidence }',
    "findExperts": 'findExperts(requiredSkills: ["%(short)s %(number)d", "talking"]) { matchedSkills { __typename } }',
    "recallMemories": 'recallMemories(query: "%(number)d %(text)s", first: 10) { score }',
    "testHandoffRule": 'testHandoffRule(text: "%(number)d %(text)s", fromAgentId: "%(agent)s") { reason }',
    "teamFile": "teamFile { text }",
    "reportTemplates": "reportTemplates { type outputSchema }",
}


@pytest.mark.parametrize("name", FIELDS)
async def test_aliased_field(target: Target, name: str) -> None:
    agent = to_global(Prefix.AGENT, target.attacker.luke.id)
    fields = (
        f"a{number}: " + FIELDS[name] % {"number": number, "text": LONG[:1_400], "short": LONG[:90], "agent": agent}
        for number in range(20)
    )
    query = "{ " + " ".join(fields) + " }"

    answer, cpu_s = await target.cost(query)

    assert "errors" not in answer.json()
    assert cpu_s < MAX_REQUEST_CPU_S
