"""What must hold of every payload there is: nothing secret survives, and every way through gives the same result."""

from __future__ import annotations

import json
import string
import time
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.events import REDACTED
from agentdbg.redaction import RedactionRules, Redactor, plain
from agentdbg.redaction.suspicion import ALL_KINDS
from agentdbg.redaction.text import replace_spans
from agentdbg.redaction.token_scan import shaped_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _time_enough() -> Iterator[None]:
    """The careful walk leaves out what it has no time for, and a busy machine has less of it."""
    budget, plain._TIME_BUDGET_S = plain._TIME_BUDGET_S, 60.0
    yield
    plain._TIME_BUDGET_S = budget


WITH_RE2 = Redactor(RedactionRules())
IN_PLAIN_PYTHON = Redactor(RedactionRules(), use_re2=False)

LETTERS = string.ascii_letters + string.digits
SECRETS = st.text(alphabet=LETTERS, min_size=8, max_size=16).map(lambda text: "Zq7" + text + "9xW")
KEYS = st.sampled_from(
    ["password", "api_key", "apiKey", "X-Api-Key", "access_token", "Authorization", "auth", "PGPASSWORD"]
)
WORDS = st.text(alphabet=string.ascii_lowercase + " \n.,:;=\"'{}[]()\\/-_@&?<>%ü日", max_size=30)
PLAIN = st.none() | st.booleans() | st.integers() | WORDS


def _in_text(before: str, key: str, secret: str, after: str) -> st.SearchStrategy[str]:
    return st.sampled_from(
        [
            f"{before} {key}={secret} {after}",
            f"{before} {key}: {secret}\n{after}",
            f"{before} {json.dumps({key: secret})} {after}",
            f"{before} {json.dumps(json.dumps({'a': 1, key: secret}))} {after}",
            f"{before} { ({key: secret})!r} {after}",
            f"{before} --{key} {secret} {after}",
            f"{before} https://u:{secret}@host/ {after}",
            f"{before} {json.dumps({'name': key, 'value': secret})} {after}",
            f"{before}\nsk" + f"-{secret}{secret} {after}",
        ]
    )


@st.composite
def payloads_with_a_secret(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    secret = draw(SECRETS)
    key = draw(KEYS)
    value: Any = draw(
        st.one_of(
            st.just({key: secret}),
            st.just({key: [secret, {"x": secret}]}),
            st.just([key, secret]),
            st.just((key, secret)),
            st.just({"name": key, "value": secret}),
            st.just({key.encode(): secret}),
            _in_text(draw(st.text(alphabet=LETTERS + " .", max_size=20)), key, secret, draw(WORDS)),
        )
    )
    for _ in range(draw(st.integers(min_value=0, max_value=6))):
        sibling = draw(PLAIN)
        shapes: list[Any] = [[value], [sibling, value, sibling], {"inner": value}, {"b": sibling, "a": value}, (value,)]
        value = draw(st.sampled_from(shapes))
    return {"prompt": value, "other": draw(PLAIN)}, secret


@given(case=payloads_with_a_secret())
@settings(max_examples=100, deadline=None)
def test_nothing_secret_survives(case: tuple[dict[str, Any], str]) -> None:
    """The promise the whole package stands on."""
    payload, secret = case

    assert secret.encode() not in WITH_RE2.seal(payload).encoded
    assert secret.encode() not in IN_PLAIN_PYTHON.seal(payload).encoded


FRAGMENTS = st.sampled_from(
    [
        "password",
        "token",
        "tokens",
        "secret",
        "api_key",
        "auth",
        "pass",
        "=",
        ":",
        " ",
        "\n",
        '"',
        "'",
        "\\",
        "\\n",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        "--",
        "-p",
        "://",
        "@",
        "Bearer ",
        "Basic ",
        "sk-",
        "sk-proj-",
        "eyJ",
        "ghp_",
        ".",
        "a" * 24,
        "aB3" * 12,
        "hunter2",
        "None",
        "str",
        "12345",
        "&",
        "value",
        "name",
        "key",
        "%22",
        "&quot;",
        "is ",
        "\u200b",
        "\u0430",
        "ü",
        "login ",
        "-u bob:",
        "<",
        ">",
        "/",
        "author",
        "token_count",
        "AKIA",
        "A1" * 20,
        "\t",
        "`",
        "kind: Secret",
        "data:",
        "\n  a: ",
        "variable ",
        "default = ",
        "Credential(",
        "Client(",
        "||",
        "token_type",
        "token.text",
        "password_file",
        "echo ",
        "| docker login",
        "secret set ",
        " a word or two ",
        "Zq7aB3dE6gH9jK2m",
        "call(",
        "some_name",
        "acme_",
        "<input\n",
        'type="password" value="',
        "-" * 40,
    ]
)
SCRAPS = st.lists(FRAGMENTS, max_size=14).map("".join)


@given(text=SCRAPS)
@settings(max_examples=400, deadline=None)
def test_the_quick_way_and_the_careful_way_agree_on_text(text: str) -> None:
    """What the one pass over the encoded bytes clears must be what the careful walk would have left alone."""
    payload = {"text": text}
    quick = WITH_RE2.seal(payload)

    assert quick.encoded == WITH_RE2._seal_carefully(payload)[1]
    assert quick.encoded == IN_PLAIN_PYTHON.seal(payload).encoded
    assert WITH_RE2._cleaner is not None
    scanned = [*WITH_RE2._cleaner._assigned(text), *shaped_secrets(text, ALL_KINDS)]
    assert WITH_RE2._cleaner.clean(text) == replace_spans(text, scanned, lambda _: REDACTED)


STRUCTURES = st.recursive(
    PLAIN | SCRAPS | st.floats(),
    lambda children: (
        st.lists(children, max_size=5)
        | st.dictionaries(SCRAPS | st.sampled_from(["max_tokens", "name", "value"]), children, max_size=5)
    ),
    max_leaves=25,
)


@given(payload=st.dictionaries(SCRAPS, STRUCTURES, max_size=5))
@settings(max_examples=100, deadline=None)
def test_every_way_through_gives_the_same_bytes(payload: dict[str, Any]) -> None:
    """Fast and slow, with and without the C++ matcher: a trace must not depend on which wheels were installed."""
    sealed = WITH_RE2.seal(payload)

    assert sealed.encoded == WITH_RE2._seal_carefully(payload)[1]
    assert sealed.encoded == IN_PLAIN_PYTHON.seal(payload).encoded
    assert json.loads(sealed.encoded) == sealed.value


ALIKE = st.sampled_from([st.integers(), st.floats(), SCRAPS, st.sampled_from(["--password", "-v", "hunter2", "a"])])


@given(items=ALIKE.flatmap(lambda kind: st.lists(kind, min_size=8, max_size=90)))
@settings(max_examples=150, deadline=None)
def test_a_list_of_one_kind_is_judged_like_any_other(items: list[Any]) -> None:
    """Arguments of a program, an embedding, rows of a table: all at once or one by one, with the same result."""
    payload = {"args": items, "deep": [[items]]}

    assert WITH_RE2.seal(payload).encoded == WITH_RE2._seal_carefully(payload)[1]


LONG = st.tuples(SCRAPS, st.sampled_from([" words", "\n", "ü", "-x ", "iVBORw0KGgoAAAANSUhEUg"]), SCRAPS).flatmap(
    lambda parts: st.sampled_from([50, 500, 5_000]).map(lambda times: parts[0] + parts[1] * times + parts[2])
)
"""Texts of which only a part can be kept, with something at each end."""


@given(
    talk=st.lists(
        st.fixed_dictionaries({"role": st.just("user"), "content": STRUCTURES | LONG | st.lists(LONG)}),
        min_size=1,
        max_size=6,
    ),
    times=st.sampled_from([1, 10, 30, 100]),
    limit=st.sampled_from([40, 300, 2_000, 20_000]),
    ending=SCRAPS,
)
@settings(max_examples=150, deadline=None)
def test_a_long_talk_is_cut_the_same_in_every_way(talk: list[Any], times: int, limit: int, ending: str) -> None:
    """An agent hands over its whole history with each call, which soon is more than is kept."""
    redactor = Redactor(RedactionRules(max_field_bytes=limit))
    prompt = [*talk * times, {"role": "user", "content": ending}]
    payload = {"prompt": prompt, "response": "Well, yes.", "state": {"history": prompt, "n": 1}}
    before = repr(payload)
    sealed = redactor.seal(payload)
    carefully = redactor._seal_carefully(payload)[1]

    assert sealed.encoded == carefully
    assert json.loads(sealed.encoded) == sealed.value
    assert repr(payload) == before


@pytest.mark.parametrize("content", [[], {}, [[]], [""], [{}], None, 0], ids=str)
@pytest.mark.parametrize("limit", [300, 2_000])
def test_a_talk_of_empty_messages_is_cut_the_same_in_every_way(content: Any, limit: int) -> None:
    """A bracket counted twice, a hundred times over, moves the cut by a message."""
    redactor = Redactor(RedactionRules(max_field_bytes=limit))
    payload = {"prompt": [*[{"role": "user", "content": content}] * 100, {"role": "user", "content": ""}]}

    assert redactor.seal(payload).encoded == redactor._seal_carefully(payload)[1]


def test_a_secret_that_the_cut_goes_through_is_not_kept_in_part() -> None:
    """Half a key is still half a key."""
    secret = "sk-proj-" + "Qm7Zt2Lw9Xb4" * 4
    rest = [{"role": "user", "content": "go on"}] * 99
    for fill in range(176, 200):
        talk = [{"role": "user", "content": "word " * fill + secret}, *rest]

        assert b"Qm7Z" not in Redactor(RedactionRules(max_field_bytes=1_000)).seal({"prompt": talk}).encoded


@given(text=SCRAPS)
@settings(max_examples=100, deadline=None)
def test_cleaning_is_stable(text: str) -> None:
    """What was cleaned once is clean."""
    once = WITH_RE2.seal({"text": text}).value["text"]

    assert len(WITH_RE2.seal({"text": once}).value["text"]) <= len(once) + 200


@pytest.mark.parametrize(
    "unit",
    [
        "password=", "sk-", "eyJ", "://a:b", '\\"', "token: [", "{", "Bearer a-", "login x password ",
        '"Authorization: a', "<password>", "password->", "|password|", "-password ", "%3A//a%3A",
    ],
)  # fmt: skip
def test_time_grows_with_the_text_and_no_faster(unit: str) -> None:
    """A prompt made to be slow to read must not hold the agent up."""

    def seconds(length: int) -> float:
        redactor = Redactor(RedactionRules(max_field_bytes=1_000_000))
        text = "password=1 " + unit * (length // len(unit))
        began = time.process_time()
        redactor.seal({"text": text})
        return time.process_time() - began

    seconds(1000)
    short = min(seconds(10_000) for _ in range(3))
    long = min(seconds(80_000) for _ in range(3))

    assert long < 8 * short * 3 + 0.01


def test_a_failure_of_the_redactor_drops_the_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail closed: better a hole in the trace than a secret in it."""
    redactor = Redactor(RedactionRules())
    assert redactor._cleaner is not None

    def fail(text: str) -> str:
        raise RuntimeError("broken")

    monkeypatch.setattr(type(redactor._cleaner), "spans", lambda self, text: fail(text))
    sealed = redactor.seal({"prompt": "password=hunter2", "n": 1})

    assert b"hunter2" not in sealed.encoded
    assert all(value == 1 or value.startswith("__REDACTED__") for value in sealed.value.values())
    assert redactor.clean_text("password=hunter2").startswith("__REDACTED__")
    assert redactor.clean_argv(["--password", "hunter2"]) == ["__REDACTED__ (could not be read)"] * 2


def test_an_unremarkable_payload_is_not_copied() -> None:
    """Verify, do not copy: that is where the speed comes from."""
    payload = {"model": "gpt-4o", "prompt": "Hello", "usage": {"prompt_tokens": 3, "total_tokens": None}, "error": None}

    assert WITH_RE2.seal(payload).value is payload
