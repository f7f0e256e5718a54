"""What stays under a key that sounds secret, because it is no secret and somebody debugging needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import record_tool_call, traced_run
from agentdbg.redaction import DEFAULT_KEYS, RedactionRules, Redactor

if TYPE_CHECKING:
    from tests.conftest import Recorded

SECRET = "hunter2-Xq9"

KEPT: dict[str, Any] = {
    "a missing key": {"api_key": None, "password": None, "auth": None, "OPENAI_KEY": None},
    "booleans": {"has_token": False, "password_required": True, "use_auth": True, "secret": False},
    "empty values": {"password": "", "cookies": {}, "credentials": [], "token": b"".decode(), "secrets": []},
    "a missing value written out": {"api_key": "None", "token": "null", "USE_AUTH": "false"},
    "passed tests": {
        "pass": 12,
        "fail": 0,
        "tests": {"pass": 3.0, "total_pass": 9, "pass_mark": 0.5, "pass_rate": 0.8, "pass@1": 0},
    },
    "names of tests": {"FAIL_TO_PASS": ["test_a", "test_b"], "PASS_TO_PASS": '["test_c"]', "pass_rate": "85 %"},
    "a schema": {
        "type": "object",
        "properties": {
            "password": {"type": "string", "description": "The password", "minLength": 8},
            "api_key": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "token": {"$ref": "#/$defs/Token"},
            "auth": {"type": "object", "properties": {"secret": {"type": ["string", "null"], "writeOnly": True}}},
        },
        "required": ["user", "password"],
    },
    "a schema in capitals": {"parameters": {"properties": {"password": {"type": "STRING"}}}},
    "log probabilities": {
        "content": [
            {"token": "Hello", "logprob": -0.31, "bytes": [72], "top_logprobs": [{"token": "Hi", "logprob": -1.9}]}
        ]
    },
    "older log probabilities": {"tokens": ["Hel", "lo"], "token_logprobs": [-0.1, -0.2], "text_offset": [0, 3]},
    "other log probabilities": {"chosenCandidates": [{"token": "a", "tokenId": 12, "logProbability": -0.5}]},
    "cursors": {"next_page_token": "CAUQAA", "nextPageToken": "x9", "continuation_token": "abc", "NextToken": "n1"},
    "more cursors": {"page_token": "a", "nextContinuationToken": "1ueGcxLPRx1Tr", "x-continuation-token": "b"},
    "keys that open nothing": {
        "primary_key": "9aTz4PqLmV0bXc2RkWn7Ys1D",
        "cache_key": "9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sort_key": "01H8XGJWBWBAQ4Z5T6V7W8X9Y0",
        "public_key": "9aTz4PqLmV0bXc2RkWn7Ys1D9aTz4PqL",
        "partitionKey": "9aTz4PqLmV0bXc2RkWn7Ys1D",
        "foreign-key": "9aTz4PqLmV0bXc2RkWn7Ys1D",
        "idempotency_key": "3f2b8c1e-9d4a-4c6b-8f0e-1a2b3c4d5e6f",
        "key": "3f2b8c1e-9d4a-4c6b-8f0e-1a2b3c4d5e6f",
    },
    "numbers of tokens, whatever else is said": {
        "truncated_tokens": 12,
        "avg_tokens_per_call": 33.3,
        "num_ctx_tokens": 8,
    },
    "names of secrets": {"required": ["api_key", "token"]},
    "kinds of login": {"grant_types": ["password", "refresh_token"]},
    "a login in the words of OpenAPI": {"ApiKeyAuth": {"type": "apiKey", "in": "header", "name": "X-API-Key"}},
    "a text cut into tokens": {"tokens": ["The", " quick", " brown", " fox"], "token_ids": [464, 2068, 7586, 21831]},
    "tokens with their places": {"tokens": [{"token": "Hi", "start": 0, "end": 2}]},
    "tokens with marks and their places": [
        {"token": "##ing", "start": 4, "end": 7},
        {"token": "cat", "start": 0, "end": 3},
    ],
    "how long and how often": {"password_expires_days": 90, "auth_retries": 2, "token_ttl_seconds": 600},
    "a place in a stream": {"resume_token": "826577"},
    "an id": {"id": "gen-3956769186-E6c37iruXY3uZP10phnP"},
    "the name of a resource": {"secret_arn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-AbCdEf"},
    "what stands for a secret": [
        "api_key: https://docs.example.com/keys",
        'api_key="sk-..."',
        "PASSWORD=%PASSWORD%",
        "token=$env:TOKEN",
        'token: "@@TOKEN@@"',
        "fn login(password: &str) -> bool {",
        "$token = $_ENV['TOKEN'];",
        "API_KEY_HEADER = 'X-API-Key'",
        "password_rules:\n  - strong\n  - long",
    ],
    "keys with names for values": {
        "key": "settings.notifications.email",
        "sort": {"key": "created_at_descending_order"},
        "hot_key": "ctrl+shift+alt+delete",
        "signature": "(self, value: str) -> None",
        "call_signature": "getElementByIdAndClassName2",
        "translation_key": "errors.not_found.title",
        "PAT": "a short pattern",
    },
}


@pytest.mark.parametrize("what", KEPT)
def test_what_debugging_needs_stays(redactor: Redactor, what: str) -> None:
    """`api_key: null` is often the answer somebody looks for."""
    payload = {"value": KEPT[what], "in a list": [KEPT[what]]}

    assert redactor.seal(payload).value == payload


def test_the_schema_of_a_password_keeps_no_password(redactor: Redactor) -> None:
    """Defaults and examples are values, and somebody's."""
    schema = {"properties": {"password": {"type": "string", "default": SECRET, "examples": [SECRET], "minLength": 3}}}
    sealed = redactor.seal({"schema": schema})

    assert sealed.value["schema"]["properties"]["password"] == {
        "type": "string",
        "default": "__REDACTED__",
        "examples": "__REDACTED__",
        "minLength": 3,
    }


@pytest.mark.parametrize(
    "value",
    [
        {"properties": {"password": {"type": "plain", "value": SECRET}}},
        {"properties": {"password": {"value": SECRET}}},
        {"password": {"type": "string", "value": SECRET}},
        {"token": SECRET, "bytes": [1]},
        {"page_access_token": SECRET},
        {"previous_token": SECRET},
        {"db_pass": 4711},
        {"otp": 123456},
        {"token": 123456},
        {"password": [None, SECRET]},
        {"tokens": ["The", " quick", SECRET]},
        {"tokens": [SECRET, "b"]},
        {"start": "2026-01-01", "end": "2026-02-01", "token": SECRET},
        {"start": 0, "end": 50, "token": SECRET},
        {"start": 0.5, "end": 50.5, "token": SECRET},
        {"ApiKeyAuth": {"type": "apiKey", "in": "header", "value": SECRET}},
    ],
)
def test_what_only_resembles_it_goes(redactor: Redactor, value: dict[str, Any]) -> None:
    """An exception that is wider than its reason is a hole."""
    encoded = redactor.seal({"value": value}).encoded

    assert SECRET.encode() not in encoded
    assert b"__REDACTED__" in encoded


def test_under_a_key_of_the_users_own_everything_goes() -> None:
    """Who lists a key has decided; also null says something then."""
    redactor = Redactor(RedactionRules(keys=(*DEFAULT_KEYS, "iban")))
    fields = {"api_key": None, "has_token": False, "iban": "", "next_page_token": "x", "pass": 12, "max_tokens": 5}
    hidden = dict.fromkeys(["api_key", "has_token", "iban", "next_page_token"], "__REDACTED__")

    assert redactor.seal(fields).value == {**hidden, "pass": 12, "max_tokens": 5}


def test_a_missing_key_looks_missing_in_the_file(recorded: Recorded) -> None:
    """The question is usually whether there was a key at all."""
    with traced_run("r"):
        record_tool_call("connect", {"api_key": None, "password": SECRET, "retries": 3})

    args = recorded.only().one("TOOL_CALL")["payload"]["args"]
    assert args == {"api_key": None, "password": "__REDACTED__", "retries": 3}


@pytest.mark.parametrize("name", ["token", "apiKey", "client_secret", "password"])
@pytest.mark.parametrize(
    "kind", ["Option<String>", "Promise<string>", "Vec<u8>", "Array<Token>", "Map<string, Secret>"]
)
@pytest.mark.parametrize("form", ["pub {}: {},", "let {}: {} = None;", "  {}: {};"])
def test_the_type_of_a_field_stays(redactor: Redactor, name: str, kind: str, form: str) -> None:
    """Rust, TypeScript and Java write what a field holds behind its name; what it holds is not there."""
    text = form.format(name, kind)

    assert redactor.seal({"text": text}).value == {"text": text}


@pytest.mark.parametrize("name", ["authorization", "token", "password"])
def test_a_call_of_what_stands_in_a_list_stays(redactor: Redactor, name: str) -> None:
    """A subscript is as much code as an attribute."""
    text = f"{name} = parts[1].decode('ascii')\n{name} = request.headers[key].strip()"

    assert redactor.seal({"text": text}).value == {"text": text}


@pytest.mark.parametrize("secret", ["Hunter2<x>", "hunter<two>", SECRET])
def test_a_password_with_angles_is_no_type(redactor: Redactor, secret: str) -> None:
    """A generic type is made of names."""
    assert secret not in redactor.seal({"text": f"password: {secret}"}).value["text"]


def test_how_many_secrets_were_found_stays(redactor: Redactor) -> None:
    """A scanner's count opens nothing; a secret under that name does."""
    value = {"secrets_found": 3, "password_found": True, "passwords_found": SECRET}

    assert redactor.seal(value).value == {**value, "passwords_found": "__REDACTED__"}
