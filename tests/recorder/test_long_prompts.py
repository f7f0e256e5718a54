"""What is stored of a prompt that is far too long: its beginning, its end, and how much is missing between them."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import llm_call, record_llm_call, record_state, record_tool_call, traced_run

if TYPE_CHECKING:
    from tests.conftest import Recorded

_INSTRUCTIONS = {"role": "system", "content": "You are the librarian of a small town."}
_QUESTION = "Which of these books is the oldest one?"


def _talk(count: int, size: int) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": f"message {at}: " + "words " * (size // 6)} for at in range(count)]


def _stored(recorded: Recorded, prompt: Any) -> Any:
    with traced_run("r"):
        record_llm_call("gpt-4o", prompt=prompt, response="The third.")
    return recorded.only().one("LLM_CALL")["payload"]["prompt"]


@pytest.mark.parametrize(("count", "size"), [(12, 3_000), (61, 1_500), (300, 7_000), (2_000, 100), (5, 100_000)])
def test_the_newest_message_is_stored(recorded: Recorded, count: int, size: int) -> None:
    """What the model did next follows from the newest message, and every call of an agent has a longer history."""
    prompt = [_INSTRUCTIONS, *_talk(count, size), {"role": "user", "content": _QUESTION}]
    stored = _stored(recorded, prompt)

    assert stored[0] == _INSTRUCTIONS
    assert stored[-1] == {"role": "user", "content": _QUESTION}
    assert len(json.dumps(stored, separators=(",", ":"))) <= 20_000
    assert stored[1]["content"].startswith("message 0: ")


def test_the_question_of_every_call_is_stored_while_the_history_grows(recorded: Recorded) -> None:
    """From the eighth call on the question just asked was not there."""
    history: list[dict[str, Any]] = [_INSTRUCTIONS]
    with traced_run("r"):
        for at in range(12):
            history.append({"role": "user", "content": f"question {at}?"})
            record_llm_call("gpt-4o", prompt=history, response="Well.")
            history.append({"role": "assistant", "content": f"answer {at} " + "blah " * 600})

    for at, event in enumerate(recorded.only().of_type("LLM_CALL")):
        assert event["payload"]["prompt"][-1] == {"role": "user", "content": f"question {at}?"}


def test_the_marker_says_how_many_messages_are_missing(recorded: Recorded) -> None:
    """A gap that does not say how large it is looks like a small one."""
    stored = _stored(recorded, [_INSTRUCTIONS, *_talk(60, 1_500)])
    (at,) = [at for at, message in enumerate(stored) if "__TRUNCATED__" in message]

    missing = 61 - (len(stored) - 1)
    size = round(missing * 1.54)
    assert stored[at] == {"__TRUNCATED__": f"{missing} messages, {size} kB"}
    assert 0 < at < len(stored) - 1


def test_long_texts_give_way_before_whole_messages_do(recorded: Recorded) -> None:
    """That a tool was called says more than the last page of what it answered."""
    prompt = [_INSTRUCTIONS, *_talk(10, 9_000), {"role": "user", "content": _QUESTION}]
    stored = _stored(recorded, prompt)

    assert len(stored) == len(prompt)
    assert stored[-1]["content"] == _QUESTION
    assert stored[-2] == prompt[-2]
    for at, message in enumerate(stored[1:-2]):
        assert message["content"].startswith(f"message {at}: words")
        assert message["content"].endswith("words ")
        assert "__TRUNCATED__" in message["content"]


def test_lists_give_way_before_texts_do(recorded: Recorded) -> None:
    """The middle of two thousand rows is worth less than any of the texts around them."""
    rows = [{"id": at, "title": f"Book number {at}"} for at in range(2_000)]
    text = "Look at all of them. " * 200
    prompt = [{"role": "system", "content": text}, {"role": "tool", "content": rows}, {"role": "user", "content": text}]
    stored = _stored(recorded, prompt)

    assert [stored[0], stored[2]] == [prompt[0], prompt[2]]
    kept = stored[1]["content"]
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])
    (marker,) = [row["__TRUNCATED__"] for row in kept if "__TRUNCATED__" in row]
    assert marker.startswith(f"{2_000 - len(kept) + 1} items, about ")


def test_a_prompt_that_is_one_text_keeps_both_ends(recorded: Recorded) -> None:
    """The question stands at the end of it as often as at the beginning."""
    stored = _stored(recorded, "Read this. " + "page " * 20_000 + _QUESTION)

    assert stored.startswith("Read this. page page")
    assert stored.endswith("page " + _QUESTION)
    assert stored.count("__TRUNCATED__") == 1
    assert 19_990 < len(stored) <= 20_000


def test_a_newest_message_that_alone_is_too_long_keeps_both_ends(recorded: Recorded) -> None:
    """A pasted document with a question below it is one message."""
    message = {"role": "user", "content": "Read this. " + "page " * 20_000 + _QUESTION}
    stored = _stored(recorded, [_INSTRUCTIONS, *_talk(8, 4_000), message])

    assert len(stored) == 10
    assert stored[-1]["content"].startswith("Read this. page")
    assert stored[-1]["content"].endswith("page " + _QUESTION)


def test_other_texts_keep_their_beginning(recorded: Recorded) -> None:
    """An answer and a result are read from their beginning; where the text stops, the marker stands."""
    with traced_run("r"):
        record_tool_call("read", {"path": "a"}, "x" * 30_000)
        record_llm_call("gpt-4o", prompt="go on", response="y" * 30_000)

    result = recorded.only().one("TOOL_CALL")["payload"]["result"]
    response = recorded.only().one("LLM_CALL")["payload"]["response"]
    assert result == "x" * 19_987 + "__TRUNCATED__"
    assert response == "y" * 19_987 + "__TRUNCATED__"


_IMAGE = b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(30_000)
_IN_BASE64 = base64.b64encode(_IMAGE).decode()
_DESCRIBED = f"__MEDIA__ image/png, {len(_IMAGE)} bytes, sha256 {hashlib.sha256(_IMAGE).hexdigest()}"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_IN_BASE64}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{_IN_BASE64}"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": _IN_BASE64}},
        {"inline_data": {"mime_type": "image/png", "data": _IN_BASE64}},
        {"inline_data": {"mime_type": "image/png", "data": _IMAGE}},
        {"b64_json": _IN_BASE64},
    ],
    ids=["OpenAI chat", "OpenAI responses", "Anthropic", "Gemini", "Gemini bytes", "no type"],
)
def test_a_question_after_an_image_is_stored_and_the_image_described(recorded: Recorded, block: dict[str, Any]) -> None:
    """Forty thousand letters that nobody can read took the room of the question."""
    question = {"type": "text", "text": _QUESTION}
    stored = _stored(recorded, [_INSTRUCTIONS, {"role": "user", "content": [block, question]}])

    assert stored[-1]["content"][-1] == question
    expected = json.dumps(block, default=lambda _: _DESCRIBED).replace("data:image/png;base64,", "")
    assert stored[-1]["content"][0] == json.loads(expected.replace(_IN_BASE64, _DESCRIBED))


@dataclass
class _Message:
    role: str
    content: str


@pytest.mark.parametrize(
    "wrap",
    [
        lambda talk: {
            "messages": talk,
            "tools": [{"name": f"tool{at}", "description": "d " * 300} for at in range(60)],
        },
        lambda talk: {"model": "m", "body": {"request": {"input": talk}}},
        lambda talk: {"contents": [{"role": m["role"], "parts": [{"text": m["content"]}]} for m in talk]},
        lambda talk: [_Message(**message) for message in talk],
        tuple,
        lambda talk: [talk],
    ],
    ids=["with tools", "deep inside", "Gemini contents", "objects", "tuple", "batch"],
)
def test_the_newest_message_is_stored_whatever_shape_the_prompt_has(recorded: Recorded, wrap: Any) -> None:
    """Every provider and every framework nests its messages elsewhere."""
    stored = _stored(recorded, wrap([*_talk(60, 3_000), {"role": "user", "content": _QUESTION}]))
    text = json.dumps(stored)

    assert _QUESTION in text
    assert "message 0: words" in text
    assert "messages" in text or "61" in text or "items" in text
    assert len(text) < 22_000


def test_the_newest_message_is_stored_when_the_history_holds_secrets(recorded: Recorded) -> None:
    """Whatever takes the careful way is cut alike."""
    talk = _talk(60, 3_000)
    talk[3]["content"] += "\npassword=hunter2hunter2"
    talk[55]["content"] += "\npassword=hunter2hunter2"
    stored = _stored(recorded, [*talk, {"role": "user", "content": _QUESTION}])

    assert stored[-1]["content"] == _QUESTION
    assert "hunter2" not in json.dumps(stored)
    assert any("messages" in message.get("__TRUNCATED__", "") for message in stored)


def test_long_arguments_are_cut_and_none_is_added_or_dropped(recorded: Recorded) -> None:
    """A tool that writes a file has its path and mode beside the text, and no argument called __TRUNCATED__."""
    args = {"path": "a.py", "content": "line\n" * 10_000, "lines": list(range(9_000)), "mode": "w"}
    with traced_run("r"):
        record_tool_call("write", args, "ok")

    stored = recorded.only().one("TOOL_CALL")["payload"]["args"]
    assert list(stored) == ["path", "content", "lines", "mode"]
    assert (stored["path"], stored["mode"]) == ("a.py", "w")
    assert stored["content"].startswith("line\nline")
    assert stored["content"].endswith("__TRUNCATED__")
    assert (stored["lines"][0], stored["lines"][-1]) == (0, 8_999)


def test_a_state_with_too_many_entries_keeps_the_first_and_ends_in_the_marker(recorded: Recorded) -> None:
    """There is no newest among the entries of a dict."""
    with traced_run("r"):
        record_state({f"key{at}": "value " * 10 for at in range(5_000)})

    stored = recorded.only().one("STATE_UPDATE")["payload"]["state"]
    assert stored["key0"] == "value " * 10
    assert list(stored.items())[-1] == ("__TRUNCATED__", "__TRUNCATED__")


def test_the_start_of_a_call_has_its_question_too(recorded: Recorded) -> None:
    """A run that died in a call shows the question from the call's start, which is cut much shorter."""
    with traced_run("r"), llm_call("gpt-4o", prompt=[*_talk(40, 900), {"role": "user", "content": _QUESTION}]) as call:
        call.response = "The third."

    stored = recorded.only().one("CALL_START")["payload"]["input"]
    assert stored[-1] == {"role": "user", "content": _QUESTION}
    assert len(json.dumps(stored)) < 4_400


@pytest.mark.parametrize("count", [2, 3, 5, 8, 40, 200])
@pytest.mark.parametrize("size", [10, 60, 300, 3_000, 30_000])
@pytest.mark.parametrize("is_inside", [False, True], ids=["alone", "inside"])
def test_the_start_of_a_call_says_how_many_messages_it_leaves_out(
    recorded: Recorded, count: int, size: int, is_inside: bool
) -> None:
    """What is there and what is said to be missing are all messages, in their order, the first and last among them."""
    talk = [{"role": "user", "content": f"{number} " + "x" * size} for number in range(count)]
    with traced_run("r"), llm_call("gpt-4o", prompt={"messages": talk} if is_inside else talk) as call:
        call.response = "ok"

    stored = recorded.only().one("CALL_START")["payload"]["input"]
    stored = stored["messages"] if is_inside else stored
    numbers: list[int] = []
    for message in stored:
        missing = int(message["__TRUNCATED__"].split()[0]) if "__TRUNCATED__" in message else 0
        numbers += [-1] * missing or [int(message["content"].split()[0])]
    assert len(numbers) == count
    assert all(number in (-1, position) for position, number in enumerate(numbers))
    assert (numbers[0], numbers[-1]) == (0, count - 1)
    assert len(json.dumps(stored)) < 4_400
