"""What happens after an agent's reply: explicit rules by priority, then a model's reading of the completion signal,
then the team's after-work behaviour. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from app.handoffs.condition.check import read
from app.handoffs.condition.evaluation import (
    ClauseOutcome,
    Verdict,
    evaluate,
    every_statement,
    outcomes,
    statements,
)
from app.handoffs.condition.tree import Completion, Condition, clauses
from app.handoffs.spec import ANY_AGENT, PREVIOUS_AGENT, HandoffRuleSpec
from app.teams.models import AfterWork
from app.teams.variables import Value, VariableKind


class DecidedBy(StrEnum):
    """What settled it."""

    RULE = "rule"
    ANALYSIS = "analysis"
    AFTER_WORK = "after_work"


@dataclass(frozen=True, slots=True)
class Rule:
    """`tree` is None when the condition cannot be read any more; `problem` says why."""

    id: UUID
    spec: HandoffRuleSpec
    tree: Condition | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Values:
    """What rules compare with: values that agents gave as data, callers gave or Parley knows. `with_text` are these and
    those that were only read in the text of replies, for rules that trust texts."""

    trusted: Mapping[str, Value]
    with_text: Mapping[str, Value]

    def seen_by(self, rule: Rule) -> Mapping[str, Value]:
        return self.with_text if rule.spec.trusts_text else self.trusted


@dataclass(frozen=True, slots=True)
class GroupPick:
    """Who of a group would take over, by slug, or nobody; and why."""

    agent: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Situation:
    """Who replied, who had the conversation before, whom it can go to, and what is known."""

    agent: str
    previous: str | None
    available: Collection[str]
    values: Values
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    blocked: Mapping[UUID, str] = field(default_factory=dict)  # rules that must not fire now, with the reason
    holder: str | None = None  # who has the conversation, where that is not who replied
    picks: Mapping[str, GroupPick] = field(default_factory=dict)  # by the group's slug


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """`holds` is None where something is not known yet; `target` is whom it would hand over to."""

    rule: Rule
    holds: bool | None
    fired: bool
    reason: str
    target: str | None
    clauses: tuple[ClauseOutcome, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """`to_agent` is set for a handoff, `after_work` otherwise."""

    by: DecidedBy
    reason: str
    to_agent: str | None = None
    rule: Rule | None = None
    after_work: AfterWork | None = None
    outcomes: tuple[RuleOutcome, ...] = ()


def in_play(specs: Mapping[UUID, HandoffRuleSpec], known: Mapping[str, VariableKind], agent: str) -> list[Rule]:
    """The rules that look at this agent's replies, in the order in which they are tried."""
    return [_rule(key, spec, known) for key, spec in specs.items() if spec.from_agent in (ANY_AGENT, agent)]


def asked(rules: Sequence[Rule], values: Values, *, everything: bool = False) -> list[str]:
    """What a judge has to say of the reply before these rules can decide; `everything` also where the rest decides."""
    wanted = every_statement if everything else statements
    found = (text for rule in rules if rule.tree is not None for text in wanted(rule.tree, values.seen_by(rule)))
    return list(dict.fromkeys(found))


def groups_asked(rules: Sequence[Rule], values: Values, verdicts: Mapping[str, Verdict]) -> list[str]:
    """The groups of which somebody has to be picked before these rules can decide: those of rules that hold."""
    named = (rule for rule in rules if rule.spec.to_group is not None and rule.tree is not None)
    holding = (rule for rule in named if rule.tree is not None and evaluate(rule.tree, values.seen_by(rule), verdicts))
    return list(dict.fromkeys(rule.spec.to_group or "" for rule in holding))


def decide(
    rules: Sequence[Rule], situation: Situation, *, after_work: AfterWork, analysis: str | None = None
) -> Decision:
    """The first rule whose condition holds and whose target can take over; else whom the analysis names; else the
    after-work behaviour. `analysis` is a slug that a model found in the completion signal."""
    tried = tuple(_tried(rules, situation))
    fired = next((one for one in tried if one.fired), None)
    if fired is not None:
        return Decision(DecidedBy.RULE, fired.reason, fired.target, fired.rule, outcomes=tried)
    if analysis is not None and not _obstacle(analysis, situation):
        reason = f"A model read in the reply that {analysis} is to go on."
        return Decision(DecidedBy.ANALYSIS, reason, analysis, outcomes=tried)
    return Decision(DecidedBy.AFTER_WORK, _nothing_fired(rules, after_work), after_work=after_work, outcomes=tried)


def completed(rules: Sequence[Rule], values: Mapping[str, Value], verdicts: Mapping[str, Verdict]) -> dict[str, Value]:
    """The completions that this reply told of, to be remembered for synchronisation points."""
    found = (clause for rule in rules if rule.tree is not None for clause in clauses(rule.tree))
    told = {clause.variable: clause.statement for clause in found if isinstance(clause, Completion)}
    return {
        name: True
        for name, said in told.items()
        if values.get(name) is not True and said in verdicts and verdicts[said].holds
    }


def _rule(key: UUID, spec: HandoffRuleSpec, known: Mapping[str, VariableKind]) -> Rule:
    tree, problems = read(spec.condition, known)
    return Rule(key, spec, None if problems else tree, "; ".join(map(str, problems)))


def _tried(rules: Sequence[Rule], situation: Situation) -> Iterator[RuleOutcome]:
    fired = False
    for rule in rules:
        outcome = _outcome(rule, situation, fired)
        fired = fired or outcome.fired
        yield outcome


def _outcome(rule: Rule, situation: Situation, decided: bool) -> RuleOutcome:
    target = target_of(rule.spec, situation.previous, situation.picks)
    pick = situation.picks.get(rule.spec.to_group or "")
    if rule.tree is None:
        return RuleOutcome(rule, None, False, f"The condition cannot be read: {rule.problem}", target, ())
    values = situation.values.seen_by(rule)
    holds = evaluate(rule.tree, values, situation.verdicts)
    found = tuple(outcomes(rule.tree, values, situation.verdicts))
    if not holds:
        reason = _not_held(holds, found)
        if evaluate(rule.tree, situation.values.with_text, situation.verdicts):
            reason += " It would hold with what the text of a reply says, which this rule does not trust (trustsText)."
        return RuleOutcome(rule, holds, False, reason, target, found)
    obstacle = situation.blocked.get(rule.id) or _obstacle(target, situation, pick)
    if obstacle:
        return RuleOutcome(rule, True, False, f"It holds, but {obstacle}.", target, found)
    if decided:
        return RuleOutcome(rule, True, False, "It holds, but a rule before it fired.", target, found)
    reason = f"'{rule.spec.condition}' holds: " + "; ".join(one.reason for one in found if one.holds)
    reason = f"{reason} ({pick.why})" if pick else reason
    return RuleOutcome(rule, True, True, reason, target, found)


def target_of(spec: HandoffRuleSpec, previous: str | None, picks: Mapping[str, GroupPick]) -> str | None:
    """Whom a rule hands over to now, by slug."""
    if spec.to_group is not None:
        pick = picks.get(spec.to_group)
        return pick.agent if pick else None
    return previous if spec.to_agent == PREVIOUS_AGENT else spec.to_agent


def _obstacle(target: str | None, situation: Situation, pick: GroupPick | None = None) -> str:
    if target is None and pick is not None:
        return pick.why
    if target is None:
        return "nobody had the conversation before"
    if target == (situation.holder or situation.agent):
        return f"{target} has the conversation already"
    if target == situation.agent:
        return f"{target} has just replied"
    return "" if target in situation.available else f"{target} is not active"


def _not_held(holds: bool | None, found: Sequence[ClauseOutcome]) -> str:
    why = "; ".join(f"{one.clause}: {one.reason}" for one in found if one.holds is holds)
    return f"Cannot be known: {why}" if holds is None else f"Does not hold: {why}" if why else "Does not hold."


def _nothing_fired(rules: Sequence[Rule], after_work: AfterWork) -> str:
    tried = "No rule looks at this agent's replies"
    if rules:
        tried = "The one rule did not fire" if len(rules) == 1 else f"None of {len(rules)} rules fired"
    return f"{tried}; the team's after-work behaviour is {after_work.value}."
