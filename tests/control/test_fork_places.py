"""Where a step is changed in a fork: the function behind a framework's tool, what a client asks over HTTP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agentdbg.control.recorded import Recording
from agentdbg.control.tapes import _recorded
from agentdbg.tape.tape_reader import _call_of

if TYPE_CHECKING:
    from agentdbg.control.recorded import RecordedCall

OBSERVED = {"s": 0, "why": "it was only observed"}


def _call(turn: int, kind: str, event_id: str | None, **more: object) -> RecordedCall:
    fields = {"c": event_id, "k": kind, "n": "x", "lane": "m", "p": turn, "h": "", "in": {}, "out": {"ok": 1}, "s": 1}
    return _recorded(turn, turn + 1, _call_of(json.loads(json.dumps({**fields, **more}))))


@pytest.mark.parametrize("is_swapped", [False, True])
def test_parallel_tools_of_a_framework_are_changed_each_at_its_own_function(is_swapped: bool) -> None:
    first, second = ("b", "a") if is_swapped else ("a", "b")
    calls = [_call(0, "tool", None, of=first), _call(1, "tool", None, of=second)]
    calls += [_call(2, "tool", "a", **OBSERVED), _call(3, "tool", "b", **OBSERVED)]
    recording = Recording(calls)
    assert (recording.place_of("a").turn, recording.place_of("b").turn) == ((1, 0) if is_swapped else (0, 1))


def test_a_model_is_changed_over_http_and_a_tool_that_asks_over_http_is_not() -> None:
    calls = [_call(0, "http", "a"), _call(1, "llm", "a", **OBSERVED), _call(2, "http", "b"), _call(3, "tool", "b")]
    recording = Recording(calls)
    assert (recording.place_of("a").turn, recording.place_of("b").turn) == (0, 3)
