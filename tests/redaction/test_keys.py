"""A key gives its value away: which keys do, in which spellings, and which only look as if."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.keys import SAFE, SECRET, KeyJudge, words_of

SECRET_KEYS = [
    "api_key", "apiKey", "API-KEY", "X-Api-Key", "openai_api_key", "OPENAI API KEY", "apikey", "token", "access_token",
    "refreshToken", "id-token", "authorization", "Authorization", "Proxy-Authorization", "cookie", "Set-Cookie",
    "cookies", "secret", "client_secret", "clientSecret", "secretKey", "AWS_SECRET_ACCESS_KEY", "password",
    "Password1", "db.password", "user_password_hash", "passwd", "pwd", "DB_PWD", "passphrase", "pass", "dbPass",
    "private_key", "privateKey", "sshKey", "signing-key", "encryption_key", "access_key", "aws_access_key_id",
    "accessKeyId", "credential", "credentials", "googleCredentials", "auth", "auth_header", "basicAuth", "bearer",
    "jwt", "userJWT", "dsn", "SENTRY_DSN", "connection_string", "connectionString", "otp", "csrf", "csrf-tok",
    "pass\u200bword", "p\u0430ssword", "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44", "pa\u00adss_wo\u00adrd",
    "\U0001d429\U0001d41a\U0001d42c\U0001d42c\U0001d430\U0001d428\U0001d42b\U0001d41d", "t\u03bfken", "p\u00e1ssword",
    "access_tokens", "secret_tokens", "user_token_id", "api  key", "API_KEYS",
    "tokenizer", "secretary",
]  # fmt: skip
SAFE_KEYS = [
    "session_id", "author", "authority", "primary_key", "sort_key", "key", "keys", "name", "model", "prompt",
    "passenger", "passengers", "compass", "bypass", "monkey", "keyboard", "oauth_provider_name", "authored_by",
    "jwtish", "description", "cache_key", "foreign_key", "row_key", "id", "hotpot", "spawned",
]  # fmt: skip
COUNTER_KEYS = [
    "prompt_tokens", "completion_tokens", "total_tokens", "max_tokens", "maxTokens", "token_count", "tokenCount",
    "token_usage", "input_tokens", "cache_read_input_tokens", "num_tokens", "tokens", "tokens_per_second",
    "first_token_ms", "time_to_first_token", "token_latency_ms",
    "max_output_tokens", "token_limit", "tokens_used", "reasoning_tokens", "promptTokenCount", "max_completion_tokens",
    "llm.token_count.prompt", "gen_ai.usage.input_tokens",
    "tokens_sent", "tokens_received", "accumulated_token_usage", "max_tokens_to_sample", "tokens_evaluated",
    "x-ratelimit-remaining-tokens", "anthropic-ratelimit-input-tokens-limit", "history_tokens", "tokens_saved",
]  # fmt: skip


@pytest.mark.parametrize("key", SECRET_KEYS)
def test_a_secret_key_loses_its_value_at_any_depth(redactor: Redactor, key: str) -> None:
    """Headers and configurations are nested in tool arguments, and spelled in every way there is."""
    sealed = redactor.seal({key: "hunter2-Xq9", "deep": [{"er": {key: {"inner": "hunter2-Xq9"}}}], "other": "kept"})

    assert b"hunter2-Xq9" not in sealed.encoded
    assert next(iter(sealed.value.values())) == "__REDACTED__"
    assert sealed.value["other"] == "kept"


@pytest.mark.parametrize("key", SAFE_KEYS)
def test_a_harmless_key_keeps_its_value(redactor: Redactor, key: str) -> None:
    """`author` holds four letters of a secret and none of its meaning."""
    assert redactor.seal({key: "seen"}).value == {key: "seen"}


@pytest.mark.parametrize("key", COUNTER_KEYS)
def test_numbers_of_tokens_stay_and_text_beside_them_goes(redactor: Redactor, key: str) -> None:
    """Token counts are what people open a trace for; a key in the same place would still be a key."""
    counted = {key: 42, "more": {key: {"cached": 3, "audio": None}}, "rates": {key: 1.5}}

    assert redactor.seal(counted).value == counted
    assert redactor.seal({key: "abc", "l": {key: ["abc", 3]}}).value == {
        key: "__REDACTED__",
        "l": {key: ["__REDACTED__", 3]},
    }


def test_the_users_keys_replace_the_six_but_not_the_whole_words() -> None:
    """REDACT_KEYS is a list of one's own; private keys and the like stay out of traces all the same."""
    redactor = Redactor(RedactionRules(keys=("Kundennummer", "iban")))
    fields = {"kunden-nummer": 1, "IBAN_code": "x", "token": "t", "private_key": "k", "text": "iban: DE12"}
    sealed = redactor.seal(fields)

    assert sealed.value == {
        "kunden-nummer": "__REDACTED__",
        "IBAN_code": "__REDACTED__",
        "token": "t",
        "private_key": "__REDACTED__",
        "text": "iban: __REDACTED__",
    }


def test_redaction_switched_off_still_gives_safe_json() -> None:
    """Off means that secrets are stored, not that files break."""
    sealed = Redactor(RedactionRules(enabled=False)).seal({"password": "x", "n": float("nan"), "long": "a" * 30_000})

    assert sealed.value["password"] == "x"
    assert sealed.value["n"] == "NaN"
    assert sealed.value["long"].endswith("__TRUNCATED__")
    assert len(sealed.value["long"]) == 20_000


@pytest.mark.parametrize("spelling", ["accessKeyId", "ACCESS_KEY_ID", "access-key-id", "AccessKeyID", "access.key.id"])
def test_words_are_read_across_spellings(spelling: str) -> None:
    """Whole words can only be matched once they are found."""
    assert words_of(spelling) == ["access", "key", "id"]


def test_a_text_used_as_a_key_is_judged_in_little_time() -> None:
    """A document may be a key; reading it like a name took a second."""
    judge = KeyJudge(["api_key", "token"])

    assert judge.judge("some words " * 1_000) == SAFE
    assert judge.judge("some words " * 1_000 + "my API_key") == SECRET
    assert judge.judge("my private_key " + "some words " * 1_000) == SECRET
    assert judge.judge("k" * 200_000) == SECRET


@pytest.mark.parametrize(
    "typed",
    [
        {"selector": "input[type=password]", "text": "hunter2-Xq9"},
        {"element": "Password", "ref": "e12", "text": "hunter2-Xq9"},
        {"selector": "#password", "value": "hunter2-Xq9"},
        {"ParameterKey": "DbPassword", "ParameterValue": "hunter2-Xq9"},
    ],
)
def test_what_is_typed_into_a_password_field_goes(redactor: Redactor, typed: dict[str, Any]) -> None:
    """Tools that drive a browser say where they type, and what."""
    assert b"hunter2-Xq9" not in redactor.seal({"args": typed, "listed": [typed, typed]}).encoded


def test_what_is_typed_elsewhere_stays(redactor: Redactor) -> None:
    """And the text that a tool about tokens gives is no token."""
    payload = {
        "args": {"selector": "#search", "text": "flights to Rome"},
        "other": {"name": "count_tokens", "text": "9"},
    }

    assert redactor.seal(payload).value == payload


@pytest.mark.parametrize(
    "key",
    [
        "\u6570\u636e\u5e93\u5bc6\u7801",
        "\u043f\u0430\u0440\u043e\u043b\u044c_\u0431\u0434",
        "\u043f\u0430\u0440\u043e\u043b\u044c\u0410\u0434\u043c\u0438\u043d\u0430",
        "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",
        "Zugangsschluessel",
        "clave_api",
        "cl\u00e9Api",
        "private_pem",
        "passcode",
    ],
)
def test_names_in_other_languages_and_compounds_are_read(redactor: Redactor, key: str) -> None:
    """Many languages write the word for a secret as the end of a longer one."""
    assert redactor.seal({key: "9aTz4PqLmV0bXc2RkWn7Ys1D"}).value == {key: "__REDACTED__"}


@pytest.mark.parametrize(
    "value",
    [
        {"token": "running", "lemma": "run", "pos": "VERB"},
        {"x-ratelimit-reset-tokens": "2026-01-01T00:00:00Z", "total_tokens": "1,234"},
        {"secret": {"secretName": "x"}, "imagePullSecrets": [{"name": "regcred"}]},
        {"secret_id": "db-prod", "credentialsId": "github-app", "password_hint": "pet", "auth_time": 1700000000},
    ],
)
def test_what_only_speaks_of_a_secret_stays(redactor: Redactor, value: dict[str, Any]) -> None:
    """Where a secret is kept, how many tokens there were, what a tagger says of a word."""
    assert redactor.seal(value).value == value
