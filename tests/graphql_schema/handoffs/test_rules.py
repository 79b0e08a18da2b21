"""Handoff rules over GraphQL: saved in versions, refused with positions, tried without effect."""

from __future__ import annotations

from typing import Any

from app.auth.roles import Role
from app.ids import Prefix, to_global
from tests.fixtures.parley import Parley

SAVE = """
mutation ($input: SaveHandoffRuleInput!) {
  saveHandoffRule(input: $input) {
    __typename
    ... on HandoffRulePayload { rule { id version condition priority retiredAt fromAgent { slug } toAgent { slug } } }
    ... on Refusal { code message }
    ... on InvalidCondition { problems { message line column offset length expected } }
    ... on InvalidInput { problems { path } }
  }
}
"""
DELETE = """
mutation ($rule: ID!) {
  deleteHandoffRule(input: {ruleId: $rule}) {
    __typename ... on HandoffRulePayload { rule { version retiredAt } } ... on Refusal { code }
  }
}
"""
TRY = """
query ($text: String!, $from: ID!, $previous: ID, $variables: JSON) {
  testHandoffRule(text: $text, fromAgentId: $from, previousAgentId: $previous, variables: $variables) {
    decidedBy toAgentSlug afterWork reason judge values
    rules { ruleId condition holds fired toAgentSlug reason clauses { clause kind holds confidence reason } }
  }
}
"""
FILE = "name: Home\\ncontext_variables: {min_words: 800}\\nruntime_variables: {word_count: number}"
DECLARE = f'mutation {{ applyTeam(input: {{file: "{FILE}"}}) {{ ... on ApplyTeamPayload {{ changed }} }} }}'


async def test_a_rule_is_saved_changed_and_deleted(parley: Parley) -> None:
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    await parley.run(DECLARE)
    given: dict[str, Any] = {"fromAgentId": kyra, "toAgentId": luke, "condition": "word_count >= {{ min_words }}"}

    first = (await parley.run(SAVE, {"input": given}))["saveHandoffRule"]["rule"]
    changed = {**given, "ruleId": first["id"], "priority": 5}
    second = (await parley.run(SAVE, {"input": changed}))["saveHandoffRule"]["rule"]
    gone = await parley.run(DELETE, {"rule": first["id"]})
    again = await parley.run(DELETE, {"rule": first["id"]})

    assert (first["version"], second["version"], second["priority"]) == (1, 2, 5)
    assert (first["fromAgent"], first["toAgent"]) == ({"slug": "kyra"}, {"slug": "luke"})
    assert gone["deleteHandoffRule"]["rule"]["version"] == 2
    assert gone["deleteHandoffRule"]["rule"]["retiredAt"] is not None
    assert again["deleteHandoffRule"]["code"] == "NOT_FOUND"


async def test_bad_rules_are_refused_and_change_nothing(parley: Parley) -> None:
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    stranger = to_global(Prefix.AGENT, parley.other.luke.id)

    async def refused(role: Role = Role.ADMIN, **given: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await parley.run(SAVE, {"input": given}, role=role))["saveHandoffRule"]
        return found

    many = await refused(fromAgentId=kyra, toAgentId=luke, condition="step_count >= many")
    assert many["__typename"] == "InvalidCondition"
    assert many["problems"] == [
        {
            "message": "there is no variable 'many'",
            "line": 1,
            "column": 15,
            "offset": 14,
            "length": 4,
            "expected": ["a number", "a variable", "a quoted text", "true", "false"],
        }
    ]
    open_group = await refused(fromAgentId=kyra, toAgentId=luke, condition="(draft complete")
    assert (open_group["problems"][0]["column"], open_group["problems"][0]["expected"]) == (1, ["')'"])
    assert (await refused(fromAgentId=kyra, toAgentId=stranger, condition="done"))["problems"] == [
        {"path": "toAgentId"}
    ]
    assert (await refused(fromAgentId=kyra, toAgentId=kyra, condition="done"))["code"] == "INVALID_INPUT"
    assert (await refused(fromAgentId=kyra, condition="done"))["problems"] == [{"path": "toAgentId"}]
    assert (await refused(Role.OPERATOR, toAgentId=luke, condition="done"))["code"] == "FORBIDDEN"
    assert await parley.value("select count(*) from handoff_rule") == 0


async def test_a_rule_may_name_a_group(parley: Parley) -> None:
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    form = """mutation ($agents: [ID!]!) { saveGroup(input: {slug: "desk", name: "Desk", agentIds: $agents}) {
      ... on GroupPayload { group { id } } } }"""
    group = (await parley.run(form, {"agents": [kyra, luke]}))["saveGroup"]["group"]["id"]
    given = {"fromAgentId": kyra, "target": "GROUP", "toGroupId": group, "condition": "needs help"}
    read = "{ team { handoffRules { nodes { toAgent { slug } toGroup { slug } } } } }"

    saved = await parley.run(SAVE, {"input": given})
    both = await parley.run(SAVE, {"input": given | {"toAgentId": luke}})
    none = await parley.run(SAVE, {"input": {key: given[key] for key in ("target", "condition")}})
    tried = (await parley.run(TRY, {"text": "It needs help.", "from": kyra}))["testHandoffRule"]
    rules = (await parley.run(read))["team"]["handoffRules"]["nodes"]
    await parley.run("mutation ($id: ID!) { dissolveGroup(input: {groupId: $id}) { __typename } }", {"id": group})
    after = (await parley.run(TRY, {"text": "It needs help.", "from": kyra}))["testHandoffRule"]
    gone = (await parley.run(SAVE, {"input": given | {"priority": 3}}))["saveHandoffRule"]

    assert saved["saveHandoffRule"]["rule"]["toAgent"] is None
    assert both["saveHandoffRule"]["problems"] == [{"path": "toAgentId"}]
    assert none["saveHandoffRule"]["problems"] == [{"path": "toGroupId"}]
    assert (tried["toAgentSlug"], tried["rules"][0]["fired"]) == ("luke", True)
    assert "Luke has least to do" in tried["reason"]
    assert rules == [{"toAgent": None, "toGroup": {"slug": "desk"}}]
    assert (after["decidedBy"], after["rules"]) == ("AFTER_WORK", [])
    assert gone["problems"] == [{"path": "toGroupId"}]
    assert await parley.value("select count(*) from handoff_rule") == 1


async def test_a_trial_tells_which_rule_would_fire_and_why(parley: Parley) -> None:
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    await parley.run(DECLARE)
    complete = {
        "fromAgentId": kyra,
        "toAgentId": luke,
        "condition": "draft complete and word_count >= {{ min_words }}",
        "trustsText": True,
    }
    error = {"target": "PREVIOUS_AGENT", "condition": "error detected", "priority": 10}
    for given in (complete, error):
        assert (await parley.run(SAVE, {"input": given}))["saveHandoffRule"]["__typename"] == "HandoffRulePayload"
    before = await parley.value("select count(*) from event")

    async def tried(text: str, **variables: Any) -> Any:
        given = {"text": text, "from": kyra, "variables": variables}
        return (await parley.run(TRY, given, role=Role.ANALYST))["testHandoffRule"]

    fires = await tried("The draft is complete.\n\nword_count: 850")
    assert (fires["decidedBy"], fires["toAgentSlug"], fires["afterWork"]) == ("RULE", "luke", None)
    assert fires["values"] | {"word_count": 850, "min_words": 800, "luke_load": 0} == fires["values"]
    plain, figure = fires["rules"][1]["clauses"]
    assert (plain["kind"], plain["holds"]) == ("PLAIN", True)
    assert plain["confidence"] > 0.5
    assert plain["reason"] == "the reply says: “The draft is complete.”"
    assert figure == {
        "clause": "word_count >= {{ min_words }}",
        "kind": "COMPARISON",
        "holds": True,
        "confidence": None,
        "reason": "850 >= 800",
    }
    assert [rule["fired"] for rule in fires["rules"]] == [False, True]

    short = await tried("The draft is complete.", word_count=700)
    assert (short["decidedBy"], short["afterWork"], short["toAgentSlug"]) == ("AFTER_WORK", "RETURN_TO_USER", None)
    unknown = await tried("The draft is complete.")
    assert unknown["rules"][1]["holds"] is None
    assert "word_count has no value yet" in unknown["rules"][1]["reason"]
    nobody = await tried("An error was detected.")
    assert nobody["rules"][0]["reason"] == "It holds, but nobody had the conversation before."
    wrong = await parley.errors(TRY, {"text": "x", "from": kyra, "variables": {"word_cuont": 1}})
    assert wrong[0]["extensions"]["code"] == "INVALID_INPUT"
    stranger = await parley.errors(TRY, {"text": "x", "from": to_global(Prefix.AGENT, parley.other.luke.id)})
    assert stranger[0]["extensions"]["code"] == "NOT_FOUND"
    assert await parley.value("select count(*) from event") == before


async def test_a_rule_does_not_trust_what_a_text_says_unless_it_says_so(parley: Parley) -> None:
    kyra, luke = (to_global(Prefix.AGENT, agent.id) for agent in (parley.home.kyra, parley.home.luke))
    await parley.run(DECLARE)
    condition = "draft complete and word_count >= {{ min_words }}"
    rule = {"fromAgentId": kyra, "toAgentId": luke, "condition": condition}
    saved = (await parley.run(SAVE, {"input": rule}))["saveHandoffRule"]["rule"]
    given = {"text": "The draft is complete.\n\nword_count: 850", "from": kyra}

    by_text = (await parley.run(TRY, {**given, "variables": {}}))["testHandoffRule"]
    by_data = (await parley.run(TRY, {**given, "variables": {"word_count": 850}}))["testHandoffRule"]
    await parley.run(SAVE, {"input": {**rule, "ruleId": saved["id"], "trustsText": True}})
    trusting = (await parley.run(TRY, {**given, "variables": {}}))["testHandoffRule"]

    assert (by_text["decidedBy"], by_data["decidedBy"], trusting["decidedBy"]) == ("AFTER_WORK", "RULE", "RULE")
    assert by_text["rules"][0]["reason"].endswith("which this rule does not trust (trustsText).")
