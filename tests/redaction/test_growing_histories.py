"""Each message is sealed once, and what is written is what sealing everything anew would give."""

from __future__ import annotations

import json
import re
import tracemalloc
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.sealed_items import ItemMemory, SealedItem, are_messages, raw_items
from agentdbg.tape.value_store import raw_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

_KEY = "sk-proj-Qm7Zt2Lw9Xb4Nc6Vd8Rf1Gh3Jk5Pq0Sa"
_PNG = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 100
_SHARED = {"type": "text", "text": "one object in many messages " * 30}

TEXTS = st.sampled_from(
    [
        *("ok", "", "a few words", f"password = {_KEY}", "def f(self, token: str): return self.password", "ü" * 700),
        *("call_5f2b1c0d9e8a7b6c5d4e3f2a", "2f6b1f9e-8f0a-4a6b-9d55-0c9d0a1e7f11", "words and words " * 200, _PNG),
        *("x = os.environ['API_KEY']\n" * 60, f"{'long ' * 1500}{_KEY} {'and on ' * 1500}", "\ud800 alone"),
    ]
)
CONTENTS = TEXTS | st.lists(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXTS}) | st.just(_SHARED), max_size=3
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"]), "content": CONTENTS},
    optional={
        "tool_calls": st.lists(st.fixed_dictionaries({"name": st.just("find"), "arguments": TEXTS}), max_size=2),
        "name": st.sampled_from(["password", "search"]),
        "value": TEXTS,
        "api_key": TEXTS,
        "number": st.integers() | st.floats() | st.booleans(),
        "odd": st.just((1, 2)) | st.just(b"bytes"),
    },
)
STEPS = st.tuples(st.sampled_from(["say", "say", "say", "change", "drop", "insert"]), st.integers(0, 2), MESSAGES)
PLACES: dict[str, Callable[[list[Any]], dict[str, Any]]] = {
    "prompt": lambda talk: {"prompt": talk, "response": "Yes."},
    "messages": lambda talk: {"prompt": {"messages": talk, "tools": [{"type": "function"}], "model": "m"}, "n": 1},
    "inside": lambda talk: {"args": {"kwargs": {"messages": talk}}, "result": talk[-1]},
    "answer": lambda talk: {"prompt": talk, "response": talk[-1], "error": None},
    "secret": lambda talk: {"secret": talk, "prompt": talk, "text": f"token={_KEY}"},
}


def _go_on(talk: list[dict[str, Any]], what: str, message: dict[str, Any]) -> None:
    if what == "change" and talk:
        talk[len(talk) // 2]["content"] = message["content"]
    elif what == "drop" and talk:
        del talk[0]
    elif what == "insert":
        talk.insert(len(talk) // 2, message)
    else:
        talk.append(message)


def _without_sizes(encoded: bytes) -> bytes:
    """Without how large a missing part was: that is measured before secrets are taken out, or after it."""
    return re.sub(
        rb'("__TRUNCATED__":"\d+ (?:item|message)s?), (?:over |about )?[\d.]+ (?:bytes|kB|MB)', rb"\1", encoded
    )


@pytest.mark.slow
@given(
    steps=st.lists(STEPS, min_size=2, max_size=14),
    place=st.sampled_from(sorted(PLACES)),
    limit=st.sampled_from([300, 4_000, 20_000]),
    use_re2=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_histories_that_grow_change_and_take_turns_are_written_as_if_each_call_were_the_first(
    steps: list[tuple[str, int, dict[str, Any]]], place: str, limit: int, use_re2: bool
) -> None:
    """Three agents, messages changed between calls, secrets, images, cuts, shared objects, two limits."""
    whole = Redactor(RedactionRules(), use_re2=use_re2)
    talks: list[list[dict[str, Any]]] = [[], [], []]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentdbg.redaction.plain._TIME_BUDGET_S", 60.0)
        for what, who, message in steps:
            _go_on(talks[who], what, message)
            if not talks[who]:
                continue
            payload = PLACES[place](talks[who])
            before = deepcopy(payload)
            for redactor in (whole.with_limit(limit), whole):
                sealed = redactor.seal(payload)
                plain = Redactor(RedactionRules(max_field_bytes=redactor.max_field_bytes), use_re2=use_re2)
                assert sealed.encoded == plain.seal(payload).encoded
                if place != "secret":  # the keys are harmless
                    assert sealed.encoded == redactor.seal(payload, tuple(payload.values())).encoded
                assert _without_sizes(sealed.encoded) == _without_sizes(plain._seal_plainly(payload, None)[1])
                assert _without_sizes(sealed.encoded) == _without_sizes(plain._seal_carefully(payload)[1])
                assert json.loads(sealed.encoded) == sealed.value
            assert repr(payload) == repr(before)


def test_a_message_that_its_owner_changes_afterwards_does_not_change_what_was_kept() -> None:
    """What is remembered is a copy of our own: the same message said again reads as it did."""
    redactor = Redactor(RedactionRules())
    said = [{"role": "user", "content": f"point {number}, " * 40} for number in range(4)]
    again = deepcopy(said)
    first = redactor.seal({"prompt": said}).encoded

    said[1]["content"] = "something else"

    assert b"something else" in redactor.seal({"prompt": said}).encoded
    assert redactor.seal({"prompt": again}).encoded == first


def test_numbers_that_are_equal_but_not_the_same_are_kept_apart() -> None:
    """1, 1.0 and True are one key of a dict, and three values of JSON."""
    redactor = Redactor(RedactionRules())
    for number in (1, 1.0, True, 0, -0.0, False):
        payload = {"prompt": [{"role": "user", "content": "words " * 200, "n": number}] * 2}

        assert redactor.seal(payload).encoded == Redactor(RedactionRules())._seal_plainly(payload, None)[1]


def test_an_object_among_the_messages_is_asked_once() -> None:
    """What is no plain value takes the careful walk, as ever, and its own code runs once for a payload."""
    asked = []

    class Talkative:
        def __repr__(self) -> str:
            asked.append(1)
            return "Talkative()"

    messages: list[Any] = [{"role": "user", "content": "words " * 200} for _ in range(5)]
    messages[2]["content"] = Talkative()

    assert b"Talkative()" in Redactor(RedactionRules()).seal({"prompt": messages}).encoded
    assert len(asked) == 1


def test_messages_that_contain_themselves_or_double_without_end_are_not_written_out() -> None:
    """Bytes of a value that is in itself a million times would fill the memory."""
    redactor = Redactor(RedactionRules())
    circle: dict[str, Any] = {"role": "user", "content": "words " * 200}
    circle["content"] = [circle]
    doubled: Any = ["x"]
    for _ in range(60):
        doubled = [doubled, doubled]

    for odd in (circle, {"role": "user", "content": doubled}):
        assert json.loads(redactor.seal({"prompt": [odd, odd, odd]}).encoded)["prompt"]


def test_what_is_remembered_of_messages_has_a_ceiling() -> None:
    """A million different messages must not fill the memory of the host."""
    redactor = Redactor(RedactionRules())
    redactor.seal({"prompt": [{"role": "user", "content": "words " * 200}] * 2})
    tracemalloc.start()
    try:
        for number in range(1_500):
            talk = [{"role": "user", "content": f"{number} {side} " * 700} for side in "ab"]
            redactor.seal({"prompt": talk})
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 16_000_000


def test_what_is_used_is_not_forgotten_with_the_rest() -> None:
    """The system prompt comes with every call, between any number of other messages."""
    memory = ItemMemory()
    [used] = raw_items([{"role": "system"}])
    memory.add(used, SealedItem({"role": "system"}, b"{}"))
    for number in range(3_000):
        [raw] = raw_items([{"role": "user", "content": f"{number} " * 1_000}])
        memory.add(raw, SealedItem({}, b"{}"))

        assert memory.find(used) is not None


@pytest.mark.parametrize("broken", ["_seal_history", "_cleaned"])
def test_a_failure_on_the_way_leaves_plain_values(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What looks for loops gets the value that is written, whichever way it came."""
    redactor = Redactor(RedactionRules())
    args = redactor.seal_input("args", {"a": [1, 2]}, redactor)
    assert args is not None

    def fail(*_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(Redactor, broken, fail)
    sealed = redactor.seal({"args": args[0], "result": [{"content": "words " * 200}] * 2})

    assert sealed.value["args"] == {"a": [1, 2]}
    assert json.loads(sealed.encoded) == sealed.value


def test_what_stands_beside_messages_is_kept_as_it_was() -> None:
    """The program may put anything into its options while the call is made; the messages are copies already."""
    redactor = Redactor(RedactionRules(max_field_bytes=2_000_000))
    options: dict[str, Any] = {"n": 1}
    talk = [{"role": "user", "content": "words " * 100} for _ in range(2)]
    sealed = redactor.seal_input("args", {"messages": talk, "options": options}, redactor)
    assert sealed is not None

    options["password"] = "hunter2swordfish"
    talk[0]["content"] = "changed"
    stored = redactor.seal({"args": sealed[0], "result": "word " * 260_000})  # too long: all of it is cut anew

    assert b"hunter2" not in stored.encoded
    assert b"changed" not in stored.encoded
    assert stored.value["args"]["options"] == {"n": 1}


@pytest.mark.parametrize("length", [600, 900])
def test_a_message_keeps_its_role_in_every_way(length: int) -> None:
    """One that could be counted to the beginning or to the end, with its long text before what else it has."""
    redactor = Redactor(RedactionRules(max_field_bytes=20_000))
    others: list[Any] = [{"role": "user", "content": ["-x " * 46]}, {"role": "user", "content": "-x " * 466}]
    talk = [*[{"content": "a " * length, "role": "user"}, *others] * 10, {"role": "user", "content": ""}]
    payload = {"prompt": talk, "state": {"history": talk}}

    assert redactor.seal(payload).encoded == redactor._seal_carefully(payload)[1]


@pytest.mark.parametrize(
    "shared", [list(range(200_000)), {"k" * 1_000_000: 1}, 1 << 8_000_000], ids=["list", "key", "int"]
)
def test_what_many_messages_share_is_counted_before_it_is_written_out(shared: Any) -> None:
    """It takes no memory in the program, and hundreds of megabytes where each message is written by itself."""
    talk = [{"role": "user", "content": shared} for _ in range(300)]
    tracemalloc.start()
    try:
        assert not are_messages(talk)
        assert raw_bytes(talk) is None
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 1_000_000
