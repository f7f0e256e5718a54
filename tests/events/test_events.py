"""The shape of what is stored: ids, timestamps, schemas."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

import agentdbg
from agentdbg import record_error, record_event, record_llm_call, record_state, tool, trace
from agentdbg.control.arming import disarm
from agentdbg.events import (
    EVENT_KEYS,
    EVENT_TYPES,
    load_schema,
    new_id,
    schema_problems,
    utc_timestamp,
    validate_event,
)

if TYPE_CHECKING:
    from tests.conftest import Recorded


def test_ids_are_uuid4_and_never_repeat() -> None:
    """Every id in every run, on every machine, is its own."""
    ids = [new_id() for _ in range(10_000)]
    assert len(set(ids)) == len(ids)
    for one in ids[:200]:
        parsed = uuid.UUID(one)
        assert str(parsed) == one
        assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)


def test_timestamps_are_utc_with_milliseconds() -> None:
    """The format's own example."""
    assert utc_timestamp(1771187465.123) == "2026-02-15T20:31:05.123Z"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", utc_timestamp())


def _one_of_each(recorded: Recorded) -> list[dict[str, Any]]:
    @tool
    def search(q: str) -> str:
        return "same"

    @trace(stop_on_loop=None)
    def agent() -> None:
        record_llm_call("m", usage={"prompt_tokens": 1})
        for _ in range(4):
            search("same")
        record_state({"a": 1})
        record_error(ValueError("x"))
        record_event("OWN", "own")
        agentdbg.breakpoint("look", x=1)

    try:
        agent()
    finally:
        disarm()
    return recorded.only().events


def test_every_event_has_exactly_the_ten_keys_in_order(recorded: Recorded) -> None:
    """Anything more goes into payload or meta, never beside them."""
    events = _one_of_each(recorded)
    assert {event["event_type"] for event in events} == {*EVENT_TYPES, "OWN"}
    for event in events:
        assert tuple(event) == EVENT_KEYS


def test_every_written_event_is_valid_by_a_foreign_validator_too(recorded: Recorded) -> None:
    """Our validator is small; it must not be more generous than the real thing."""
    schema = load_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for event in _one_of_each(recorded):
        assert list(validator.iter_errors(event)) == []
        typed = jsonschema.Draft202012Validator(load_schema(event["event_type"]))
        assert list(typed.iter_errors(event)) == []
    run_schema = jsonschema.Draft202012Validator(load_schema("run"))
    assert list(run_schema.iter_errors(recorded.only().meta)) == []


@pytest.mark.parametrize(
    "change",
    [
        {"spec_version": "1.0"},
        {"event_id": "not-a-uuid"},
        {"event_id": str(uuid.uuid1())},
        {"parent_id": 5},
        {"ts": "2026-02-15 20:31:05"},
        {"ts": "2026-02-15T20:31:05.123456Z"},
        {"duration_ms": 1.5},
        {"duration_ms": -1},
        {"duration_ms": True},
        {"name": None},
        {"payload": []},
        {"meta": None},
        {"extra": 1},
        {"event_type": "lower"},
        {"event_type": "TOOL_CALL"},
        {"payload": {}},
    ],
)
def test_what_is_wrong_is_called_wrong_by_both_validators(recorded: Recorded, change: dict[str, Any]) -> None:
    """And what ours finds, the real one finds too."""
    event = {**next(e for e in _one_of_each(recorded) if e["event_type"] == "LLM_CALL"), **change}
    assert not validate_event(event)
    assert schema_problems(event)
    assert not jsonschema.Draft202012Validator(load_schema()).is_valid(event)


def test_validating_works_as_the_documents_show(recorded: Recorded) -> None:
    """`assert validate_event(event)` is how people will write it."""
    event = _one_of_each(recorded)[1]
    assert validate_event(event)
    assert event["spec_version"] == "0.1"
    assert not validate_event("no event at all")
    assert load_schema("SOMETHING_NEW")["title"] == "AgentDbg event"
