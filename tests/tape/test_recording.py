"""What a run keeps of its calls: every value whole, redacted, once, and readable again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg import llm, llm_call, record_tool_call, tool, tool_call, trace, traced_run
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.tape.decoder import decode_value
from agentdbg.tape.tape_reader import MISSING, TapeReader
from agentdbg.tape.value_store import ValueStore, pieces_in_order

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator, Iterator
    from pathlib import Path

    from agentdbg.tape.value_store import Taken
    from tests.conftest import Recorded

KEY = "sk-proj-" + "Ab3dE5fG7h" * 4


def _tape(recorded: Recorded) -> TapeReader:
    return TapeReader(recorded.only().path / "tape.jsonl")


def _value(tape: TapeReader, name: str, part: str = "ok") -> Any:
    call = next(call for call in tape.calls if call.name == name)
    return decode_value(tape.value(call.out[part]))


@tool
def look(query: Any) -> Any:
    return query


def test_a_long_prompt_is_whole_on_the_tape_and_its_newest_message_in_the_event(recorded: Recorded) -> None:
    """ "What did the model see?" has to have a whole answer."""
    messages = [{"role": "user", "content": f"{number} " + "x" * 7_000} for number in range(300)]
    with traced_run("long"), llm_call("gpt", messages) as call:
        call.response = "done"

    with _tape(recorded) as tape:
        kept = tape.value(tape.calls[0].input)
    event = recorded.only().one("LLM_CALL")
    assert kept == messages
    assert event["payload"]["prompt"][-1]["content"].startswith("299 ")
    assert "__TRUNCATED__" in event["payload"]["prompt"][1] or "__TRUNCATED__" in str(event["payload"]["prompt"])


def test_an_image_before_the_question_is_whole_on_the_tape(recorded: Recorded) -> None:
    """The event describes it; the tape has its bytes."""
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" + "A" * 40_000}}
    messages = [{"role": "user", "content": [image, {"type": "text", "text": "What is it?"}]}]
    with traced_run("image"), llm_call("gpt", messages) as call:
        call.response = "a cat"

    with _tape(recorded) as tape:
        assert tape.value(tape.calls[0].input) == messages
    assert "What is it?" in json.dumps(recorded.only().one("LLM_CALL"))


def test_a_conversation_costs_each_message_once(recorded: Recorded) -> None:
    """Two sub-agents take turns, each with a history that grows."""
    histories: list[list[dict[str, str]]] = [[], []]
    with traced_run("talk"):
        for number in range(40):
            history = histories[number % 2]
            history.append({"role": "user", "content": f"message {number} " + "y" * 1_000})
            with llm_call("gpt", list(history)) as call:
                call.response = "ok"

    with _tape(recorded) as tape:
        assert [tape.value(call.input) for call in tape.calls[-2:]] == histories
    size = (recorded.only().path / "tape.jsonl").stat().st_size
    assert size < 40 * 1_600


def test_calls_are_in_the_order_in_which_they_ended_with_lane_and_place(recorded: Recorded) -> None:
    """Replay gives each outcome to the caller that had it, in that order."""

    @tool
    async def wait(number: int) -> int:
        await asyncio.sleep(0.01 * (3 - number))
        return number

    async def main() -> None:
        await asyncio.gather(*(wait(number) for number in range(3)))

    with traced_run("tasks"):
        asyncio.run(main())
        look("last")

    with _tape(recorded) as tape:
        assert [decode_value(tape.value(call.out["ok"])) for call in tape.calls] == [2, 1, 0, "last"]
        assert len({call.lane for call in tape.calls}) == 4
        assert tape.calls[-1].lane == "m"
        assert all(call.servable and call.kind == "tool" and call.ended_ms >= call.started_ms for call in tape.calls)


def test_every_event_of_a_call_finds_its_values(recorded: Recorded) -> None:
    """`show --full` goes from an event to its values."""
    with traced_run("some"):
        for number in range(5):
            look({"number": number})
        record_tool_call("alone", {"a": 1}, "b")

    run = recorded.only()
    with _tape(recorded) as tape:
        found = {event["name"]: tape.find(event["event_id"]) for event in run.of_type("TOOL_CALL")}
    assert found["look"] is not None
    assert found["alone"] is None
    assert run.meta["replay"] == {"state": "whole", "why": None}


def test_an_exception_a_cancelled_call_and_an_unknown_type_are_told(recorded: Recorded) -> None:
    """Each is served differently, so each looks different."""

    @tool
    def fails() -> None:
        raise KeyError("gone")

    @tool
    async def hangs() -> None:
        await asyncio.sleep(10)

    @tool
    def client() -> object:
        return threading.Lock()

    async def main() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(hangs(), 0.01)

    with traced_run("ends"):
        with pytest.raises(KeyError):
            fails()
        asyncio.run(main())
        client()

    with _tape(recorded) as tape:
        by_name = {call.name.rpartition(".")[2]: call for call in tape.calls}
        error = decode_value(tape.value(by_name["fails"].out["err"]))
    assert repr(error) == "KeyError('gone')"
    assert by_name["hangs"].out == {"cancelled": True}
    assert not by_name["client"].servable
    assert "lock" in (by_name["client"].why or "")


def test_a_generator_keeps_its_items_apart(recorded: Recorded) -> None:
    """Served again it has to give the same pieces, and end as it ended."""

    @tool
    def whole() -> Generator[Any, None, str]:
        yield "a"
        yield {"b": 1}
        return "end"

    @tool
    def left() -> Generator[int, None, None]:
        yield 1
        yield 2

    @tool
    async def breaks() -> AsyncIterator[str]:
        yield "x"
        raise ValueError("broken")

    async def main() -> None:
        with pytest.raises(ValueError, match="broken"):
            [item async for item in breaks()]

    with traced_run("streams"):
        list(whole())
        generator = left()
        next(generator)
        generator.close()
        asyncio.run(main())

    with _tape(recorded) as tape:
        outs = {call.name.rpartition(".")[2]: call.out for call in tape.calls}
        assert tape.value(outs["whole"]["items"]) == ["a", {"b": 1}]
        assert tape.value(outs["whole"]["ret"]) == "end"
        assert tape.value(outs["left"]["items"]) == [1]
        assert outs["left"]["closed"] is True
        assert tape.value(outs["breaks"]["items"]) == ["x"]
        assert repr(decode_value(tape.value(outs["breaks"]["err"]))) == "ValueError('broken')"


def test_more_items_than_are_kept_make_a_call_lost(recorded: Recorded) -> None:
    """A part of a stream must not be served as the whole."""

    @tool
    def numbers() -> Iterator[int]:
        yield from range(10_001)

    with traced_run("many"):
        list(numbers())

    with _tape(recorded) as tape:
        assert tape.calls[0].out == {"lost": "it yielded more than 10,000 items"}
        assert not tape.calls[0].servable
    assert recorded.only().meta["replay"]["state"] == "partial"


def test_what_a_call_did_to_its_arguments_is_kept(recorded: Recorded) -> None:
    """Many a loop lets its model function append to the list of messages."""

    @llm(model="gpt")
    def ask(messages: list[Any]) -> str:
        messages.append({"role": "assistant", "content": "hi"})
        return "hi"

    with traced_run("in place"):
        ask([{"role": "user", "content": "hello"}])
        look({"a": 1})

    with _tape(recorded) as tape:
        first, second = tape.calls
        assert tape.value(first.input) == [{"role": "user", "content": "hello"}]
        assert len(tape.value(first.after)) == 2
        assert second.after is MISSING


def test_secrets_are_numbered_and_equal_ones_have_one_number(recorded: Recorded) -> None:
    """Replay fills them in from the live call; the tape has none of them."""
    with traced_run("secrets"):
        look({"headers": {"Authorization": f"Bearer {KEY}"}, "note": f"use {KEY}", "password": "hunter2"})

    content = (recorded.only().path / "tape.jsonl").read_text()
    with _tape(recorded) as tape:
        kept = tape.value(tape.calls[0].input)["query"]
        given_back = tape.value(tape.calls[0].out["ok"])
    assert KEY not in content
    assert "hunter2" not in content
    assert kept["note"] == "use __REDACTED__:" + kept["note"][-1]
    assert kept["password"] != kept["note"][4:]
    assert given_back["note"] == kept["note"]


def test_a_secret_that_a_generator_cuts_up_is_found(recorded: Recorded) -> None:
    """A model streams a key in pieces, each of which looks like nothing."""
    text = f"The key is {KEY}, keep it."

    @tool
    def stream(size: int) -> Iterator[Any]:
        for start in range(0, len(text), size):
            yield {"index": 0, "delta": {"content": text[start : start + size]}}

    with traced_run("pieces"):
        for size in (1, 3, 7, 20):
            assert "".join(item["delta"]["content"] for item in stream(size)) == text

    with _tape(recorded) as tape:
        for call in tape.calls:
            items = tape.value(call.out["items"])
            joined = "".join(item["delta"]["content"] for item in items)
            assert joined.startswith("The key is __REDACTED__:0")
            assert joined.endswith(", keep it.")
            assert KEY[8:20] not in joined


def test_the_head_says_what_was_run_and_proves_where(recorded: Recorded, data_dir: Path, tmp_path: Path) -> None:
    """A program is only run again by itself when the tape was made in this folder."""

    @trace
    def main(question: str) -> None:
        look(question)

    main("why?")

    with _tape(recorded) as tape:
        call = tape.head["call"]
        assert tape.head["tape"] == 1
        assert call["function"].endswith("main")
        assert tape.value(call["in"]) == {"question": "why?"}
        assert tape.is_from(data_dir)
        assert not tape.is_from(tmp_path)
    line = (recorded.only().path / "tape.jsonl").read_bytes().replace(b'"argv":[', b'"argv":["rm",', 1)
    (tmp_path / "tape.jsonl").write_bytes(line)
    with TapeReader(tmp_path / "tape.jsonl") as forged:
        assert not forged.is_from(data_dir)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_tape_and_key_are_private(recorded: Recorded, data_dir: Path) -> None:
    """They hold more than the log does."""
    with traced_run("private"):
        look("x")

    for path in (recorded.only().path / "tape.jsonl", data_dir / "tape.key"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("variable", "value", "why"),
    [
        ("AGENTDBG_TAPE", "0", "recorded with AGENTDBG_TAPE=0"),
        ("AGENTDBG_MAX_FIELD_BYTES", "1000", "recorded with max_field_bytes below 20000"),
        ("AGENTDBG_CAPTURE_ARGS", "0", "recorded with capture_args off"),
    ],
)
def test_a_tape_can_be_left_out(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, why: str
) -> None:
    """Who wants less stored gets less stored, and a later command can say why there is none."""
    monkeypatch.setenv(variable, value)
    with traced_run("less"):
        look("x")

    run = recorded.only()
    assert not (run.path / "tape.jsonl").exists()
    assert run.meta["replay"] == {"state": "none", "why": why}


def test_a_tape_that_is_asked_for_is_kept_although_fields_are_short(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An explicit AGENTDBG_TAPE=1 wins."""
    monkeypatch.setenv("AGENTDBG_MAX_FIELD_BYTES", "1000")
    monkeypatch.setenv("AGENTDBG_TAPE", "1")
    with traced_run("both"):
        look("x" * 5_000)

    with _tape(recorded) as tape:
        assert tape.value(tape.calls[0].input) == {"query": "x" * 5_000}


def test_a_run_of_records_alone_has_no_tape(recorded: Recorded) -> None:
    """Nobody stands around those calls."""
    with traced_run("alone"):
        record_tool_call("search", {"q": 1}, "r")

    run = recorded.only()
    assert not (run.path / "tape.jsonl").exists()
    assert run.meta["replay"]["state"] == "none"


def test_a_full_tape_costs_the_values_and_not_the_events(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that goes on for days must not fill the disk."""
    monkeypatch.setenv("AGENTDBG_TAPE_MAX_MB", "0.05")
    with traced_run("full"):
        for number in range(10):
            look(f"{number}" * 20_000)

    run = recorded.only()
    assert len(run.of_type("TOOL_CALL")) == 10
    assert (run.path / "tape.jsonl").stat().st_size < 60_000
    assert run.meta["replay"] == {"state": "partial", "why": "it would take more than 0.05 MB"}
    with _tape(recorded) as tape:
        assert tape.calls[-1].out == {"lost": "the tape has no room left"}


def test_a_tape_that_cannot_be_written_costs_only_itself(recorded: Recorded, data_dir: Path) -> None:
    """The event is what people look at first."""
    with traced_run("no tape") as run:
        (run.path / "tape.jsonl").mkdir()
        look("x")

    stored = recorded.only()
    assert len(stored.of_type("TOOL_CALL")) == 1
    assert stored.meta["replay"]["state"] == "partial"
    assert stored.meta["replay"]["why"]


def test_a_torn_or_damaged_line_hides_no_other(recorded: Recorded) -> None:
    """As in the log."""
    with traced_run("torn"):
        look("a" * 100)
        look("b" * 100)

    path = recorded.only().path / "tape.jsonl"
    path.write_bytes(path.read_bytes().replace(b'{"c":', b"\xff{broken\n" + b'{"c":', 1) + b'{"c":"half')
    with TapeReader(path) as tape:
        assert [tape.value(call.input)["query"][0] for call in tape.calls] == ["a", "b"]
        assert tape.damaged_lines == 2


@pytest.mark.parametrize(
    "line",
    [
        b'{"l":"AAAAAAAAAAAAAAAAAAAAAA","b":"AAAAAAAAAAAAAAAAAAAAAA","a":[1]}\n',
        b'{"l":"AAAAAAAAAAAAAAAAAAAAAA","a":["@AAAAAAAAAAAAAAAAAAAAAA","@AAAAAAAAAAAAAAAAAAAAAA"]}\n',
        b'{"v":"BBBBBBBBBBBBBBBBBBBBBB","d":1}\n{"l":"AAAAAAAAAAAAAAAAAAAAAA","b":"BBBBBBBBBBBBBBBBBBBBBB","a":[]}\n',
        b'{"v":"AAAAAAAAAAAAAAAAAAAAAA","d":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
        b"",
    ],
)
def test_a_strangers_tape_is_read_within_bounds(tmp_path: Path, line: bytes) -> None:
    """Chains that bite their own tail, names that nobody has, a million brackets."""
    from agentdbg.tape.tape_reader import TapeDamaged

    path = tmp_path / "tape.jsonl"
    path.write_bytes(b'{"tape":1}\n' + line)

    with TapeReader(path) as tape, pytest.raises(TapeDamaged):
        tape.value("@AAAAAAAAAAAAAAAAAAAAAA")


def test_equal_inputs_have_equal_hashes_whatever_their_secrets_and_their_order(recorded: Recorded) -> None:
    """A rotated key matches, and a colleague's machine needs no secret of ours."""
    with traced_run("one"):
        look({"a": 1, "b": "x" * 300, "headers": {"authorization": "Bearer " + KEY}, "list": [{"k": 1}, {"k": 2}]})
        look({"list": [{"k": 1}, {"k": 2}], "headers": {"authorization": "Bearer other" + KEY}, "b": "x" * 300, "a": 1})
        look({"a": 2, "b": "x" * 300, "headers": {"authorization": "Bearer " + KEY}, "list": [{"k": 1}, {"k": 2}]})

    with _tape(recorded) as tape:
        first, second, third = (call.input_hash for call in tape.calls)
    assert first == second
    assert first != third


def test_threads_that_bring_the_same_values_leave_a_tape_that_closes(recorded: Recorded) -> None:
    """A value is known only once it is written, whoever else is about to write it."""
    history = [{"role": "user", "content": f"{number}" * 500} for number in range(30)]

    def work() -> None:
        for number in range(1, 31):
            look(history[:number])

    with traced_run("threads"):
        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    with _tape(recorded) as tape:
        assert len(tape.calls) == 180
        assert all(
            tape.value(call.input)["query"] == history[: len(tape.value(call.input)["query"])] for call in tape.calls
        )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_appends_to_the_same_tape(recorded: Recorded) -> None:
    """A pool of processes is one run."""
    with traced_run("fork"):
        look("parent" * 50)
        child = os.fork()
        if child == 0:
            look("child" * 50)
            os._exit(0)
        os.waitpid(child, 0)
        look("after" * 50)

    with _tape(recorded) as tape:
        assert [tape.value(call.input)["query"][:5] for call in tape.calls] == ["paren", "child", "after"]
        assert tape.calls[1].lane.startswith("m/fork~")


def test_a_block_that_is_entered_again_is_a_call_of_its_own(recorded: Recorded) -> None:
    """The same object may stand in a loop."""
    block = tool_call("again", {"a": 1})
    with traced_run("twice"):
        for number in range(2):
            with block as call:
                call.result = number

    with _tape(recorded) as tape:
        assert [tape.value(call.out["ok"]) for call in tape.calls] == [0, 1]
        assert [call.place for call in tape.calls] == [0, 1]


_ODD_TEXTS = (
    *(
        "ok",
        "",
        "a few words " * 40,
        "token: sk-proj-Qm7Zt2Lw9Xb4Nc6Vd8Rf1Gh3Jk5Pq0Sa",
        "password = hunter2swordfish",
        "@x",
    ),
    *(
        "def f(self, token: str): return self.password\n" * 20,
        "__REDACTED__:3",
        "ü€\ud83d" * 30,
        "9" * 40,
        "x" * 30_000,
    ),
)
_ODD_KEYS = ("role", "content", "api_key", "password", "name", "value", "total_tokens", "$t", "logprobs", "ü", "a", "b")


def _any_value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.choice(("text", "text", "number", "dict", "list", "talk", "odd")[: 7 if depth < 4 else 3])
    if kind == "dict":
        return {chance.choice(_ODD_KEYS): _any_value(chance, depth + 1) for _ in range(chance.randrange(5))}
    if kind == "list":
        return [_any_value(chance, depth + 1) for _ in range(chance.randrange(5))]
    if kind == "talk":
        return [{"role": "user", "content": chance.choice(_ODD_TEXTS)} for _ in range(chance.randrange(6))]
    if kind == "odd":
        return chance.choice([(1, "two"), b"bytes", {1, 2}, float("nan"), 2**63, 2**70, {"$t": "bytes", "v": "eA=="}])
    return chance.choice(_ODD_TEXTS) if kind == "text" else chance.choice([0, -1, 1.5, True, None, 2**62, 10**18])


def _on_tape(taken: Taken) -> tuple[bytes, bytes, list[bytes]]:
    return taken.reference, taken.digest, [piece.line for piece in pieces_in_order(taken.pieces)]


@pytest.mark.parametrize("seed", range(40))
def test_what_was_sealed_for_its_event_is_kept_as_if_it_came_alone(seed: int) -> None:
    """The tape takes over what the event's way found harmless, and nothing of it is another byte."""
    chance = random.Random(seed)
    redactor = Redactor(RedactionRules(max_field_bytes=chance.choice((400, 20_000))))
    plain = Redactor(RedactionRules())
    for _ in range(40):
        value, is_input = _any_value(chance), chance.random() < 0.5
        sealed = redactor.seal_input("prompt", value, redactor) if is_input else None
        ready = sealed[0] if sealed is not None else redactor.seal_output("result", value)
        alone = ValueStore(plain)

        taken = ValueStore(redactor).take(value, is_shared=is_input, sealed=ready)
        assert _on_tape(taken) == _on_tape(alone.take(value, is_shared=is_input))
        assert "hunter2" not in str(_on_tape(taken))
