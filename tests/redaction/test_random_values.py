"""Names that end in key, pat, sig or signature lose a value that looks random, wherever they stand."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING

import pytest

from agentdbg.redaction.keys import looks_random

if TYPE_CHECKING:
    from agentdbg.redaction import Redactor

DRAW = random.Random("keys")
ALPHABETS = {
    "hex": "0123456789abcdef",
    "letters and digits": string.ascii_letters + string.digits,
    "base64": string.ascii_letters + string.digits + "+/",
    "small letters and digits": string.ascii_lowercase + string.digits,
}
SECRETS = {name: "".join(DRAW.choices(alphabet, k=36)) for name, alphabet in ALPHABETS.items()}

NAMES = [
    "AZURE_OPENAI_KEY", "OPENAI_KEY", "STRIPE_KEY", "GITHUB_PAT", "subscription_key", "Ocp-Apim-Subscription-Key",
    "openaiKey", "openaikey", "key1", "STRIPE_KEY_LIVE", "client-key-data", "x-functions-key", "accountKey",
    "githubPat", "webhook_signature", "sig", "X-Hub-Signature-256", "master key", "LICENSE_KEY", "consumer.key",
    "HMAC_KEY", "key",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("secret", [SECRETS["hex"], SECRETS["base64"]], ids=["hex", "base64"])
def test_such_a_name_loses_a_random_value_in_every_place(redactor: Redactor, name: str, secret: str) -> None:
    """Most services call what opens their door a key, and few say more than that."""
    word = name.replace(" ", "_")
    payload = {
        "dict": {name: secret},
        "list": {name: [secret]},
        "pair": [name, secret],
        "entry": {"name": name, "value": secret},
        "option": ["run", f"--{word}", secret],
        "environment": f"A=1\nexport {word}={secret}\nB=2",
        "header": f"{word}: {secret}",
        "json": json.dumps(json.dumps({name: secret})),
        "call": f"Client({word}='{secret}')",
        "address": f"https://example.com/v1?a=1&{word}={secret}&b=2",
        "define": f'#define {word} "{secret}"',
        "yaml": f"env:\n  - name: {word}\n    value: {secret}\n",
    }
    sealed = redactor.seal(payload)

    assert [place for place, value in sealed.value.items() if secret in json.dumps(value)] == []
    assert [place for place, value in sealed.value.items() if "__REDACTED__" not in json.dumps(value)] == []


@pytest.mark.parametrize("name", ["AZURE_OPENAI_KEY", "key", "signature", "GITHUB_PAT"])
@pytest.mark.parametrize(
    "value",
    [
        "short",
        "settings.notifications.email",
        "claude-3-5-sonnet-20241022",
        "ThisIsALongCamelCaseName",
        "2024-01-15T10:30",
        "uploads/2024/01/15/report-final-v2.pdf",
        "user:1234:profile:settings",
        "https://example.com/a/b/c",
        "1234567890123456",
        "${AZURE_OPENAI_KEY_VALUE}",
        "os.environ",
        "THIS_IS_A_CONSTANT_NAME",
        "arn:aws:kms:us-east-1:123456789012:alias/main",
    ],
)
def test_and_keeps_what_is_made_of_words(redactor: Redactor, name: str, value: str) -> None:
    """A key is also what opens a dictionary."""
    payload = {
        "dict": {name: value},
        "text": f"{name}={value}",
        "json": json.dumps({name: value}),
        "pair": [name, value],
    }

    assert redactor.seal(payload).value == payload


@pytest.mark.parametrize("length", [24, 32, 40, 64])
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_what_a_machine_draws_looks_random(alphabet: str, length: int) -> None:
    """Of a thousand keys at most a few may look like words."""
    drawn = ["".join(DRAW.choices(ALPHABETS[alphabet], k=length)) for _ in range(200)]

    assert sum(not looks_random(text) for text in drawn) <= 5


@pytest.mark.parametrize("words", ["the cache key: {}", "primary key = {}", "its public key: {}", "sort_key={}"])
def test_the_word_before_a_key_counts_in_text_too(redactor: Redactor, words: str) -> None:
    """What a person writes in two words is one name."""
    text = words.format(SECRETS["letters and digits"])

    assert redactor.seal({"text": text}).value == {"text": text}
