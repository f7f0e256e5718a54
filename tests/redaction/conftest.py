"""The redactor under test, once with google-re2 and once in plain Python: both must hold every claim."""

from __future__ import annotations

import pytest

from agentdbg.redaction import RedactionRules, Redactor

_REDACTORS = {name: Redactor(RedactionRules(), use_re2=name == "re2") for name in ("re2", "plain Python")}


@pytest.fixture(params=_REDACTORS)
def redactor(request: pytest.FixtureRequest) -> Redactor:
    """A redactor with the default rules."""
    return _REDACTORS[request.param]
