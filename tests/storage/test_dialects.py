"""Lines of other writers, read as if they were ours."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentdbg.events import EVENT_KEYS
from agentdbg.storage.dialects import DamagedLine, parse_event, parse_timestamp, plain_status, timestamp_ms
from tests.storage import handmade

RUN = "11111111-1111-4111-8111-111111111111"


def read(value: Any) -> dict[str, Any]:
    """What a reader makes of one event."""
    return dict(parse_event(json.dumps(value).encode(), RUN, 0))


@pytest.mark.parametrize("strict", [*handmade.usual_events(RUN), handmade.event(RUN, "MY_OWN", payload={"a": [1]})])
def test_a_strict_event_is_read_as_it_stands(strict: dict[str, Any]) -> None:
    """Whatever we wrote must come back unchanged, or an export would differ from the file."""
    assert read(strict) == strict
    assert tuple(read(strict)) == EVENT_KEYS


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024-01-15T14:32:15.123456Z", "2024-01-15T14:32:15.123Z"),
        ("2024-01-15T14:32:15.123456+00:00", "2024-01-15T14:32:15.123Z"),
        ("2024-01-15T14:32:15+02:00", "2024-01-15T12:32:15.000Z"),
        ("2024-01-15T23:32:15-0130", "2024-01-16T01:02:15.000Z"),
        ("2024-01-15 14:32:15.5", "2024-01-15T14:32:15.500Z"),
        ("2024-01-15T14:32Z", "2024-01-15T14:32:00.000Z"),
        (1705329135.123, "2024-01-15T14:32:15.123Z"),
        (1705329135123, "2024-01-15T14:32:15.123Z"),
        ("yesterday", None),
        ("2026-02-31T10:00:00.000Z", None),
        ("2026-02-28T25:00:00.000Z", None),
        ("2026-02-28T10:00:60.000Z", None),
        ("0000-01-01T00:00:00.000Z", None),
        ("9999-12-31T23:59:59-05:00", None),
        ("2024-13-45T99:99:99Z", None),
        (None, None),
        (True, None),
        (float("1e300"), None),
    ],
)
def test_times_are_read_in_any_usual_form(written: Any, meant: str | None) -> None:
    """Microseconds and offsets are in the documents; a time we cannot read must not lose the event."""
    assert parse_timestamp(written) == meant


def test_a_time_that_is_missing_is_that_of_the_event_before() -> None:
    """An event at 1970 would stretch every timeline to fifty years."""
    event = handmade.tool_call(RUN)
    del event["ts"]

    assert parse_event(json.dumps(event).encode(), RUN, 0, handmade.timestamp(7))["ts"] == handmade.timestamp(7)


def test_milliseconds_of_a_timestamp() -> None:
    """All bars and durations rest on this number."""
    assert timestamp_ms("1970-01-02T00:00:00.007Z") == 86_400_007


@pytest.mark.parametrize(
    ("word", "has_error", "meant"),
    [
        ("success", False, "ok"),
        ("completed", True, "ok"),
        ("aborted", False, "error"),
        ("FAILED", False, "error"),
        ("weird", False, "ok"),
        ("weird", True, "error"),
        (None, True, "error"),
        (7, False, "ok"),
    ],
)
def test_every_word_for_a_status_is_one_of_two(word: Any, has_error: bool, meant: str) -> None:
    """The page colours by status, so `success` must not look like a third thing."""
    assert plain_status(word, has_error) == meant


def test_a_call_in_the_looser_form_reads_like_ours() -> None:
    """The trace format's own examples have no tool_name, say `success` and call the class `type`."""
    event = read(
        {
            "event_type": "TOOL_CALL",
            "name": "external_api",
            "duration_ms": 12.6,
            "payload": {
                "args": {"endpoint": "/users"},
                "result": None,
                "status": "failed",
                "error": {"type": "ConnectionError", "message": "timeout", "stack_trace": "Traceback …"},
            },
        }
    )

    assert event["payload"]["tool_name"] == "external_api"
    assert event["payload"]["status"] == "error"
    assert event["payload"]["error"] == {"error_type": "ConnectionError", "message": "timeout", "stack": "Traceback …"}
    assert (event["duration_ms"], event["meta"], event["parent_id"], event["run_id"]) == (13, {}, None, RUN)


def test_a_model_call_without_status_model_or_stop_reason_gets_them() -> None:
    """004's failed model call says only `error`; it must still look failed."""
    failed = read({"event_type": "LLM_CALL", "name": "gpt-4", "payload": {"error": "rate limit"}})
    went_well = read({"event_type": "LLM_CALL", "name": "gpt-4", "payload": {"finish_reason": "stop", "error": None}})

    assert failed["payload"]["status"] == "error"
    assert failed["payload"]["error"]["message"] == "rate limit"
    assert failed["payload"]["model"] == "gpt-4"
    assert went_well["payload"] == {"stop_reason": "stop", "error": None, "model": "gpt-4", "status": "ok"}


def test_fields_beside_the_payload_belong_inside_it() -> None:
    """004 writes RUN_END's status beside the payload; a run must not look unfinished for that."""
    event = read({"event_type": "RUN_END", "status": "success", "error": None, "final_state": {"result": "done"}})

    assert event["payload"] == {"status": "ok", "error": None, "final_state": {"result": "done"}}


def test_a_state_without_state_is_the_state() -> None:
    """004's STATE_UPDATE is free-form; its keys are what the user wants to see."""
    assert read({"event_type": "STATE_UPDATE", "payload": {"percent": 45}})["payload"] == {
        "state": {"percent": 45},
        "diff": None,
    }
    assert read({"event_type": "STATE_UPDATE", "payload": {"diff": {"a": 1}}})["payload"]["diff"] == {"a": 1}


def test_a_span_is_no_state() -> None:
    """A span's payload has no state, and must not become one."""
    event = read({"event_type": "STATE_UPDATE", "payload": {"error": None}, "meta": {"span": "plan"}})

    assert event["payload"] == {"error": None}


def test_loop_and_error_aliases() -> None:
    """`repetition_count`, `evidence` and `stack_trace` are the names 004 uses."""
    loop = read({"event_type": "LOOP_WARNING", "payload": {"pattern": "a", "repetition_count": 5, "evidence": [RUN]}})
    error = read({"event_type": "ERROR", "name": "ValueError", "payload": {"message": "m", "stack_trace": "s"}})

    assert (loop["payload"]["repetitions"], loop["payload"]["evidence_event_ids"]) == (5, [RUN])
    assert error["payload"] == {"error_type": "ValueError", "message": "m", "stack": "s"}


def test_an_event_without_an_id_has_the_same_one_at_every_reading() -> None:
    """Links and open rows are kept by event_id, so a made-up one must stay."""
    line = b'{"event_type":"X"}'

    assert parse_event(line, RUN, 5)["event_id"] == parse_event(line, RUN, 5)["event_id"]
    assert parse_event(line, RUN, 5)["event_id"] != parse_event(line, RUN, 6)["event_id"]


def test_numbers_keep_their_digits() -> None:
    """Integers over 2^53 and over 64 bits are ids in real traces; 1e999 is JSON and must not cost the event."""
    event = parse_event(b'{"event_type":"X","payload":{"a":123456789012345678901234567890,"b":1e999}}', RUN)

    assert event["payload"] == {"a": 123456789012345678901234567890, "b": "1e999"}


def test_an_integer_longer_than_python_reads_does_not_cost_the_event() -> None:
    """One such line would otherwise be listed and then not be found, and take its whole page of rows with it."""
    event = parse_event(b'{"event_type":"X","payload":{"a":' + b"9" * 5_000 + b"}}", RUN)

    assert event["payload"] == {"a": "9" * 5_000}


@pytest.mark.parametrize("length", [10**30, 1e308, -(10**30)])
def test_a_length_nothing_can_take_is_none(length: float) -> None:
    """Sums of lengths are kept in 64 bits; one absurd length must not end the summary of its run."""
    assert read({"event_type": "X", "duration_ms": length})["duration_ms"] is None


def test_what_identifies_an_event_is_text_or_made_up() -> None:
    """A number or an empty text where an id belongs would be looked up, linked to and never found."""
    odd = {"event_type": "TOOL_CALL", "event_id": "", "run_id": "", "parent_id": "", "name": 5}
    event = read({**odd, "payload": {"args": {}}})

    assert (event["run_id"], event["parent_id"], event["name"]) == (RUN, None, "unknown")
    assert len(event["event_id"]) == 36
    assert event["payload"]["tool_name"] == "unknown"
    assert read({**odd, "event_id": 7})["event_id"] == event["event_id"]
    assert read({**odd, "run_id": "of another"})["run_id"] == "of another"
    assert read({**odd, "parent_id": "p"})["parent_id"] == "p"


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        ({"error_type": "KeyError"}, "KeyError"),
        ({"pattern": "a -> b"}, "a -> b"),
        ({"run_name": "agent"}, "agent"),
        ({"name": "part", "run_name": 5}, "part"),
        ({}, "progress"),
    ],
)
def test_an_event_without_a_name_is_called_by_what_it_says(payload: dict[str, Any], name: str) -> None:
    """A row needs words to be found by."""
    assert read({"event_type": "PROGRESS", "payload": payload})["name"] == name


@pytest.mark.parametrize(
    ("payload", "meant"), [(5, {"value": 5}), ([1], {"value": [1]}), ("", {"value": ""}), (None, {})]
)
def test_a_payload_that_is_no_object_is_kept_as_its_value(payload: Any, meant: dict[str, Any]) -> None:
    """What another writer wrote is shown, whatever it is."""
    assert read({"event_type": "PROGRESS", "payload": payload})["payload"] == meant


def test_what_is_in_the_strict_form_already_stays() -> None:
    """An alias beside the proper name is the writer's own field, and no reason to lose either."""
    call = {"model": "m", "stop_reason": "end", "finish_reason": "stop", "status": "ok", "error": None}
    loop = {"pattern": "a", "evidence_event_ids": ["x"], "evidence": ["y"]}
    state = {"state": {"a": 1}, "note": "by hand"}

    assert read({"event_type": "LLM_CALL", "payload": call})["payload"] == call
    assert read({"event_type": "LOOP_WARNING", "payload": loop})["payload"] == loop
    assert read({"event_type": "STATE_UPDATE", "payload": state})["payload"] == state
    assert "stop_reason" not in read({"event_type": "TOOL_CALL", "payload": {"finish_reason": "x"}})["payload"]


def test_an_error_of_any_kind_becomes_one_with_a_message() -> None:
    """A list of complaints is what some tools give."""
    error = read({"event_type": "TOOL_CALL", "payload": {"error": ["no", 5]}})["payload"]["error"]

    assert error == {"error_type": "Error", "message": '["no", 5]', "stack": None}


def test_a_number_too_large_costs_no_other_number() -> None:
    """A line is read by a slower decoder for its sake; everything else in it stays what it was."""
    line = b'{"event_type":"X","duration_ms":2.6,"payload":{"a":1e999,"b":1.5,"c":-0.25,"d":3}}'
    event = parse_event(line, RUN)

    assert event["payload"] == {"a": "1e999", "b": 1.5, "c": -0.25, "d": 3}
    assert event["duration_ms"] == 3


DAMAGED = {
    "torn": b'{"event_type":"TOOL_CALL","na',
    "torn inside an escape": b'{"event_type":"X","name":"\\u00',
    "not JSON": b"hello",
    "array": b"[1,2]",
    "string": b'"event_type"',
    "number": b"7",
    "null": b"null",
    "empty object": b"{}",
    "no event_type": b'{"name":"x"}',
    "event_type not text": b'{"event_type":7}',
    "event_type empty": b'{"event_type":""}',
    "invalid UTF-8": b'{"event_type":"X","name":"\xff\xfe"}',
    "overlong UTF-8": b'{"event_type":"X","name":"\xc0\xaf"}',
    "UTF-16": '{"event_type":"X"}'.encode("utf-16"),
    "NaN": b'{"event_type":"X","duration_ms":NaN}',
    "Infinity": b'{"event_type":"X","payload":{"a":Infinity}}',
    "lone surrogate": b'{"event_type":"X","name":"\\ud800"}',
    "raw control character": b'{"event_type":"X","name":"a\x01b"}',
    "two objects": b'{"event_type":"X"}{"event_type":"Y"}',
    "trailing comma": b'{"event_type":"X",}',
    "single quotes": b"{'event_type':'X'}",
    "NUL bytes": b"\x00\x00\x00\x00",
    "NUL inside": b'{"event_type":"X",\x00"name":"y"}',
    "bottomless": b'{"event_type":"X","payload":' + b"[" * 200_000,
    "later format": b'{"spec_version":"1.0","event_type":"X"}',
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED.keys())
def test_what_is_no_event_is_damage(line: bytes) -> None:
    """Each of these has been seen in a log after a crash, a full disk or a stray print."""
    with pytest.raises(DamagedLine):
        parse_event(line, RUN)


@pytest.mark.parametrize(
    "line",
    [
        b'\xef\xbb\xbf{"event_type":"X"}',
        b'{"event_type":"X"}\r',
        b'\x00\x00{"event_type":"X"}',
        b' {"event_type":"X"} ',
    ],
)
def test_what_surrounds_an_event_does_not_cost_it(line: bytes) -> None:
    """A BOM, a carriage return or padding is an editor's or a file system's habit, not damage."""
    assert parse_event(line, RUN)["event_type"] == "X"
