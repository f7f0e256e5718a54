"""A gate that a team can trust: what it stops and what it lets through, of the changes that agents see every week."""

from __future__ import annotations

from tests.analysis.checks.ci_story import HARMFUL, HARMLESS, WRONG_ANSWERS, Change
from tests.analysis.checks.runs import baseline, report


def _stopped(changes: dict[str, Change], **rules: str) -> dict[str, str]:
    """The changes that the gate stops, with the checks that did."""
    good = baseline(Change().story())
    found = {}
    for name, change in changes.items():
        judged = report(change.story(), good, change.status, **rules)
        if not judged.passed:
            found[name] = ", ".join(result.name for result in judged.failures)
    return found


def test_harmless_changes_pass() -> None:
    """A gate that cries wolf is switched off."""
    for rules in ({}, {"answer": "facts"}):
        stopped = _stopped(HARMLESS, **rules)
        print(f"{len(stopped)} of {len(HARMLESS)} harmless changes stopped with {rules or 'the defaults'}")

        assert stopped == {}


def test_harmful_changes_are_stopped() -> None:
    """One that passes is the one that reaches customers."""
    stopped = _stopped(HARMFUL)
    print(f"{len(stopped)} of {len(HARMFUL)} harmful changes stopped")

    assert sorted(HARMFUL.keys() - stopped.keys()) == []


def test_wrong_answers_are_stopped_where_the_policy_asks() -> None:
    """Where everything was done right, only the answer can be wrong."""
    stopped = _stopped(WRONG_ANSWERS, answer="facts")
    print(f"{len(stopped)} of {len(WRONG_ANSWERS)} wrong answers stopped with `answer: facts`")

    assert sorted(WRONG_ANSWERS.keys() - stopped.keys()) == []
