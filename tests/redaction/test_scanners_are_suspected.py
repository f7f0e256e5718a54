"""What a scanner takes out of a text, the search before it must suspect: texts drawn from the scanners' expressions."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg import encoding
from agentdbg.redaction import RedactionRules, Redactor, named_forms, token_scan, told_forms
from agentdbg.redaction.suspicion import ALL_KINDS
from agentdbg.redaction.token_scan import shaped_secrets

pytestmark = pytest.mark.slow

REDACTOR = Redactor(RedactionRules())
_LETTERS = st.characters(codec="utf-8", max_codepoint=0x17F, exclude_categories=["Cc"], include_characters="\t\n\r")
"""Without control characters, which no secret has and JSON writes as numbers."""


def _expressions() -> dict[str, re.Pattern[str]]:
    found: dict[str, Any] = {}
    for module in (named_forms, told_forms, token_scan):
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str) and value.groups:
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = value
    found |= {f"command {literals[0]}": pattern for literals, pattern in named_forms._COMMANDS.items()}
    return found | {f"told {form.literals[0]}": form.pattern for form in told_forms._FORMS}


@pytest.mark.parametrize("expression", _expressions().values(), ids=_expressions())
def test_what_an_expression_finds_is_suspected_in_text_and_in_its_json(expression: re.Pattern[str]) -> None:
    """The wide expressions were written beside the narrow ones, and a gap between the two is a secret on the disk."""
    cleaner, suspicion = REDACTOR._cleaner, REDACTOR._suspicion
    assert cleaner is not None
    assert suspicion is not None

    @given(text=st.from_regex(expression, alphabet=_LETTERS))
    @settings(max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def check(text: str) -> None:
        spans = list(shaped_secrets(text, ALL_KINDS))
        if not spans:
            return
        assert set(spans) <= set(cleaner.spans(text))
        assert any(pattern.search(encoding.encode({"a": text})) for _, pattern in suspicion.searches)

    check()
