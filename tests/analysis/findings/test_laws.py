"""What holds for every log, however strange: findings are made, and they point at events that are there."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.analysis.findings import find
from agentdbg.encoding import encode_json
from agentdbg.events import Event, utc_timestamp

pytestmark = pytest.mark.slow

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 10**12)
    | st.text(max_size=12)
    | st.sampled_from(["Error: x", "[]", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TYPES = ("RUN_START", "RUN_END", "LLM_CALL", "TOOL_CALL", "STATE_UPDATE", "ERROR", "LOOP_WARNING", "CALL_START", "OWN")
FIELDS = (
    "prompt", "response", "usage", "tools", "args", "result", "error", "status", "stop_reason", "call_id", "input",
    "severity", "pattern", "evidence_event_ids", "explanation", "fatal", "message", "error_type", "name",
)  # fmt: skip
PAYLOADS = st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=8)


def _event(number: int, event_type: str, payload: Any, duration_ms: int | None) -> Event:
    return {
        "spec_version": "0.1",
        "event_id": f"00000000-0000-4000-8000-{number:012d}",
        "run_id": "00000000-0000-4000-8000-999999999999",
        "parent_id": None,
        "event_type": event_type,
        "ts": utc_timestamp(1_700_000_000 + number),
        "duration_ms": duration_ms,
        "name": "search" if number % 2 else "gpt",
        "payload": payload,
        "meta": {},
    }


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TYPES), PAYLOADS, st.none() | st.integers(0, 10**6)), max_size=12))
def test_any_log_gives_findings_that_are_json_and_point_into_it(drawn: list[tuple[str, Any, int | None]]) -> None:
    """Logs come from anywhere, and a debugger that fails on a broken one is of no use."""
    # The first event is one of ours, so that the loop detector, which has laws of its own, is not asked again.
    events = [_event(1, "RUN_START", {"agentdbg_version": "0.1.0"}, None)]
    events += [_event(number, kind, payload, length) for number, (kind, payload, length) in enumerate(drawn, 2)]

    for finding in find(events):
        encode_json(finding.as_json())
        assert finding.sentence
        assert finding.severity in ("info", "warning", "critical")
        assert finding.number is None or 1 <= finding.number <= len(events)
        assert all(1 <= number <= len(events) for number in finding.evidence.numbers)


def test_a_long_run_is_read_in_seconds() -> None:
    """A hundred thousand events: processor time, so that a busy machine does not decide the test."""
    tools = [{"name": f"t{number}", "input_schema": {"properties": {"q": {"type": "string"}}}} for number in range(5)]
    prompt = [{"role": "system", "content": "x" * 200}, {"role": "user", "content": "y" * 100}]
    events = [_event(1, "RUN_START", {"agentdbg_version": "0.1.0"}, None)]
    for number in range(2, 20_002, 2):
        usage = {"prompt_tokens": 1000 + number % 700, "completion_tokens": 5}
        events.append(
            _event(number, "LLM_CALL", {"prompt": prompt, "response": "ok", "usage": usage, "tools": tools}, 5)
        )
        events.append(_event(number + 1, "TOOL_CALL", {"args": {"q": str(number)}, "result": "r" * 100}, 5))

    began = time.process_time()
    find(events)

    assert (time.process_time() - began) * 5 < 10.0
