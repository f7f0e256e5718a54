"""The user's own patterns: used when they can be, reported when they cannot."""

from __future__ import annotations

import pytest

from agentdbg.redaction import RedactionRules, Redactor


@pytest.mark.parametrize("use_re2", [True, False])
def test_an_own_pattern_redacts_what_it_matches(*, use_re2: bool) -> None:
    """Customer numbers are secret to those who have customers."""
    rules = RedactionRules(patterns=(r"CUST-\d{6}", r'"iban":\s*"[A-Z0-9]+"', "(?i)projekt [a-z]+"))
    redactor = Redactor(rules, use_re2=use_re2)
    sealed = redactor.seal(
        {"a": "for CUST-123456 only", "b": ['{"iban": "DE12"}'], "c": {"CUST-654321": "PROJEKT Nordlicht"}}
    )

    assert redactor.problems == []
    assert sealed.value == {
        "a": "for __REDACTED__ only",
        "b": ["{__REDACTED__}"],
        "c": {"__REDACTED__": "__REDACTED__"},
    }


@pytest.mark.parametrize("use_re2", [True, False])
@pytest.mark.parametrize("pattern", ["(", "a*", "", "(a+)+$", "(?=x)y", r"(a)\1", "x" * 2000, "(?:a|b*)*c"])
def test_a_pattern_that_cannot_be_used_is_said_and_skipped(pattern: str, *, use_re2: bool) -> None:
    """A typing error in a setting must neither stop the agent nor pass unseen, nor must a pattern hang it."""
    redactor = Redactor(RedactionRules(patterns=(pattern, "CUST-[0-9]+")), use_re2=use_re2)

    assert len(redactor.problems) == 1
    assert "is not used" in redactor.problems[0]
    assert redactor.seal({"a": "CUST-1"}).value == {"a": "__REDACTED__"}
