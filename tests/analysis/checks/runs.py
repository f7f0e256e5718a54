"""Small runs of an agent that refunds orders, and the gate over them."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.checks import Report, judge
from agentdbg.analysis.checks.policy import make_policy, read_rules
from agentdbg.analysis.checks.run_baseline import Baseline, baseline_of, combine
from agentdbg.analysis.checks.run_facts import RunFacts, gather
from agentdbg.analysis.effects import NO_RULES, EffectRules
from tests.analysis.story import Story

if TYPE_CHECKING:
    from agentdbg.analysis.checks.run_facts import CheckResult


_counter = count(1)


def refund_story(
    *,
    amount: float = 40,
    reads: tuple[str, ...] = ("find_order", "get_customer"),
    says: str = "You get 40 back.",
    tokens: int = 1000,
    refunds: int = 1,
    ended: bool = True,
) -> Story:
    """An agent looks things up, refunds and answers; each argument is one way a later run may differ."""
    story = Story()
    story.llm([{"role": "user", "content": "My money back, please"}], "I look it up.", tokens=(tokens - 100, 100))
    for name in reads:
        story.tool(name, {"order_id": "A-17"}, {"paid": 40})
    for _ in range(refunds):
        story.tool("refund", {"order_id": "A-17", "amount": amount}, {"ok": True, "id": 7})
    story.llm([{"role": "user", "content": "My money back, please"}], says, tokens=(tokens - 100, 100))
    if ended:
        story.end(result=says)
    return story


def facts_of(story: Story, status: str = "ok", rules: EffectRules = NO_RULES) -> RunFacts:
    run = story.meta(status)
    # Each story is a run of its own, although its ids are counted from one.
    run["run_id"] = f"{next(_counter):032x}"
    return gather(lambda: story.events, run, rules)


def baseline(*stories: Story) -> Baseline:
    return combine(baseline_of(facts_of(story)) for story in stories or (refund_story(),))


def report(story: Story, against: Baseline | None = None, ended_as: str = "ok", **rules: Any) -> Report:
    policy = make_policy(read_rules(rules, "the test"), with_baseline=against is not None)
    return judge(facts_of(story, ended_as, policy.effect_rules(NO_RULES)), policy, against)


def only_failure(found: Report) -> CheckResult:
    """The one check that does not hold: a gate that fails for three reasons at once tells nobody which."""
    assert [result.name for result in found.failures] == [found.failures[0].name], found.failures
    return found.failures[0]
