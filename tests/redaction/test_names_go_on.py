"""What a name of a secret goes on with, and what stands between it and the secret, hide it from no way through."""

from __future__ import annotations

import itertools

import pytest

from agentdbg.redaction import RedactionRules, Redactor

WITH_RE2 = Redactor(RedactionRules())
IN_PLAIN_PYTHON = Redactor(RedactionRules(), use_re2=False)
ENDS = ("", "ü", "üx", "é1", "ñ_", "密", "ß-", "2", "_x", "s", ".ü", "Ü", "я", "\u0301", "\u200b", "_type")
BETWEEN = (
    *(
        " ",
        " a ",
        " a word or two ",
        ": ",
        " = ",
        " is ",
        " for it (",
        '="',
        " ist ",
        '", "',
        " -> ",
        "<-",
        "<--&",
        "\ta\t",
    ),
    *("=basic ", ": login ", " = value ", "=to "),
)


@pytest.mark.parametrize(
    "name", ["password", "my_secret", "API_KEY", "passwd", "token", "client_secret", "pwd", "key", "sig"]
)
def test_every_way_through_sees_the_same_secrets(name: str) -> None:
    """The quick look before the scanners must suspect whatever they would find."""
    texts = [f"{name}{end}{between}Zq7aB3dE6gH9jK2m" for end, between in itertools.product(ENDS, BETWEEN)]

    assert [text for text in texts if WITH_RE2.clean_text(text) != IN_PLAIN_PYTHON.clean_text(text)] == []
