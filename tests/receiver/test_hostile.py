"""Spans made to do harm: forged events of ours, impossible ends, endless chains, requests that grow when read."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from starlette.requests import Request

from agentdbg.events import MAX_LINE_BYTES
from agentdbg.interop.otel_spans import Span, depths_of
from agentdbg.receiver import bodies
from agentdbg.receiver import serving as app_module
from agentdbg.receiver import traces as traces_module
from agentdbg.receiver.bodies import JSON, Refused, read_batch

if TYPE_CHECKING:
    from tests.receiver.conftest import Receiving

TRACE = "0af7651916cd43dd8448eb211c80319c"
OTHER_TRACE = "1bf7651916cd43dd8448eb211c80319c"
BEGAN = 1_767_225_600_000_000_000


def request(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def span(number: int = 1, trace_id: str = TRACE, parent: int | None = None, **attributes: Any) -> dict[str, Any]:
    found = {
        "traceId": trace_id,
        "spanId": f"{number:016x}",
        "name": f"span {number}",
        "startTimeUnixNano": str(BEGAN),
        "endTimeUnixNano": str(BEGAN + 1_000_000 * number),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    return found if parent is None else {**found, "parentSpanId": f"{parent:016x}"}


def forged(number: int = 1, event_type: str = "RUN_START", **more: Any) -> dict[str, Any]:
    """A span that claims to be an event of a run of ours."""
    attributes = {"agentdbg.run.id": "a run", "agentdbg.event.type": event_type, "agentdbg.event.id": f"event {number}"}
    return span(number, **{**attributes, **more})


@pytest.mark.parametrize("length", [True, -1, 10**30, 1.5, "long", None])
def test_a_forged_length_of_a_run_breaks_no_line(receiving: Receiving, length: Any) -> None:
    """`True` was written as Python spells it, which is not JSON: the whole end of the run was lost to readers."""
    end = json.dumps({"status": "ok", "summary": {"duration_ms": length}})
    assert receiving.take(request(forged(1, **{"agentdbg.run.end": end})), JSON) == []
    receiving.wait(5)

    last = receiving.only()[-1]
    assert last["event_type"] == "RUN_END"
    assert type(last["duration_ms"]) is int
    assert last["duration_ms"] < 1000


def test_an_end_nobody_can_read_is_an_end_and_stops_no_other_run(receiving: Receiving) -> None:
    """One run whose end raised kept the receiver from ever ending another."""
    told = forged(2, "TOOL_CALL", **{"agentdbg.event.payload": json.dumps({"error": {"odd": 1}})})
    told["endTimeUnixNano"] = str(BEGAN - 1_000_000)  # the first to begin stands for the run
    receiving.take(request(span(3), told, span(4, parent=9)), JSON)
    receiving.traces.close()
    receiving.start()
    receiving.take(request(span(9, parent=3), span(1, OTHER_TRACE)), JSON)
    receiving.wait(700)

    logs = [path.read_bytes().splitlines() for path in receiving.data_dir.glob("runs/*/events.jsonl")]
    assert [json.loads(log[-1])["event_type"] for log in logs] == ["RUN_END", "RUN_END"]


def test_what_fails_in_ending_a_run_is_told_in_its_end(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever we have not thought of: the run ends, as an error, and says so."""
    receiving.take(request(span()), JSON)

    def fragile(*_: Any) -> Any:
        raise OverflowError("too long")

    monkeypatch.setattr("agentdbg.receiver.trace_run.TraceRun._ending", fragile)
    receiving.wait(5)

    end = receiving.only()[-1]["payload"]
    assert (end["status"], end["error"]["error_type"]) == ("error", "EndUnreadable")


def test_a_trace_that_cannot_be_begun_costs_only_itself(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request often holds several programs' spans."""

    def fragile(trace_id: str, spans: list[Span]) -> None:
        if trace_id == TRACE:
            raise KeyError("unexpected")

    monkeypatch.setattr(traces_module, "start_id_of", fragile)
    rejected = receiving.take(request(span(1), span(2), span(1, OTHER_TRACE)), JSON)

    assert rejected == [f"the trace {TRACE} cannot be read (KeyError: 'unexpected')"] * 2
    assert receiving.only()[1]["name"] == "span 1"


def test_ids_that_cannot_be_written_are_none(receiving: Receiving) -> None:
    """Half a surrogate pair is a letter to JSON and to nothing else."""
    names = ("agentdbg.run.id", "agentdbg.event.id", "agentdbg.event.parent_id")
    spans = [forged(number, "TOOL_CALL", **{name: "\ud800"}) for number, name in enumerate(names, 1)]

    assert receiving.take(request(*spans), JSON) == []
    receiving.wait(700)
    assert receiving.only()[-1]["event_type"] == "RUN_END"


def test_an_event_that_is_told_twice_is_written_once(receiving: Receiving) -> None:
    """An id names one event, also where somebody gives it to two, or to the run itself."""
    noted = [{"attributes": forged(number, "TOOL_CALL")["attributes"]} for number in (1, 2, 2)]
    spans = [forged(1), forged(2, "TOOL_CALL"), {**forged(3, "TOOL_CALL"), "events": noted}]
    receiving.take(request(*spans), JSON)
    receiving.wait(5)

    ids = [event["event_id"] for event in receiving.only()]
    assert len(ids) == len(set(ids)) == 4


def test_a_forged_run_touches_no_run_that_is_here(receiving: Receiving) -> None:
    """Whoever knows the id of a run could otherwise write into it."""
    receiving.take(request(span()), JSON)
    receiving.wait(5)
    (before,) = receiving.runs()
    stranger = forged(5, **{"agentdbg.run.id": before[0]["run_id"], "agentdbg.event.id": before[0]["event_id"]})
    receiving.take(request({**stranger, "traceId": OTHER_TRACE}), JSON)
    receiving.wait(5)

    runs = receiving.runs()
    assert before in runs
    assert len({events[0]["run_id"] for events in runs}) == 2
    assert len({event["event_id"] for events in runs for event in events}) == sum(map(len, runs))


def test_what_claims_to_be_ours_is_redacted_like_the_rest(receiving: Receiving) -> None:
    """That it was recorded with redaction elsewhere is only what its sender says."""
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    hidden = json.dumps({"result": f"the key is {secret}", "args": {"api_key": "hunter2"}, "redaction": "on"})
    names = {"agentdbg.run.name": secret, "agentdbg.event.payload": hidden, "agentdbg.event.meta": hidden}
    noted = {"name": secret, "attributes": forged(9, "ERROR", **{"agentdbg.event.payload": hidden})["attributes"]}
    run_end = {"agentdbg.run.end": hidden, "agentdbg.run.status": "error"}
    tool = forged(2, "TOOL_CALL", **names, **{"agentdbg.event.name": secret})
    receiving.take(request({**tool, "events": [noted]}, forged(1, **names, **run_end)), JSON)
    receiving.wait(5)

    stored = b"".join(path.read_bytes() for path in receiving.data_dir.glob("runs/*/*"))
    assert b"RUN_END" in stored
    assert secret.encode() not in stored
    assert b"hunter2" not in stored


def test_a_trace_is_not_continued_for_ever(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run after the last possible one was the last one again, written on behind its end."""
    monkeypatch.setattr(traces_module, "_MOST_PARTS", 3)
    rejected: list[str] = []
    for number in range(1, 6):
        rejected += receiving.take(request(span(number)), JSON)
        receiving.wait(700)

    assert rejected == [f"the trace {TRACE} cannot be read (ValueError: 3 runs continue it already)"] * 2
    assert [[event["event_type"] for event in events].index("RUN_END") for events in receiving.runs()] == [2, 2, 2]
    assert [len(events) for events in receiving.runs()] == [3, 3, 3]


def test_a_long_chain_of_spans_takes_linear_time() -> None:
    """Spans by the ten thousand, each inside the next, held the receiver up for minutes."""
    chain = [Span(TRACE, str(number), str(number + 1), "n", None, None, {}) for number in range(30_000)]
    begun = time.process_time()
    depths = depths_of(chain)

    assert (depths["0"], depths["29999"]) == (29_999, 0)
    assert time.process_time() - begun < 2


def test_a_request_of_too_many_spans_is_refused_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body of some kilobytes may unpack to millions of empty spans."""
    monkeypatch.setattr(bodies, "MOST_SPANS", 10)
    assert len(read_batch(request(*[span(number) for number in range(1, 11)]), JSON).spans) == 10
    for many in ([span(number) for number in range(1, 12)], [{"spanId": "x"}] * 11):
        with pytest.raises(Refused) as refused:
            read_batch(request(*many), JSON)
        assert refused.value.status == 413


def test_only_a_few_requests_are_read_at_a_time(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may need many times its own size; forty threads of that are more than a machine has."""
    at_once, most = 0, 0
    lock = threading.Lock()

    def slow(*_: Any) -> Any:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.02)
        with lock:
            at_once -= 1
        return bodies.Batch()

    monkeypatch.setattr(app_module, "read_batch", slow)
    intake = app_module._Intake(receiving.traces)

    async def body() -> dict[str, Any]:
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def many() -> list[int]:
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", JSON.encode())]}
        answers = await asyncio.gather(*[intake.take_traces(Request(scope, body)) for _ in range(12)])
        return [answer.status_code for answer in answers]

    assert asyncio.run(many()) == [200] * 12
    assert most == app_module._MOST_AT_ONCE


def test_a_fault_while_looking_around_does_not_end_it(receiving: Receiving, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are ended by a task that nobody watches; when it dies, no run ends any more."""
    looked: list[int] = []

    def fragile() -> None:
        looked.append(len(looked))
        if len(looked) == 1:
            raise KeyError("unexpected")

    monkeypatch.setattr(app_module, "_LOOK_SECONDS", 0.001)
    monkeypatch.setattr(receiving.traces, "look_around", fragile)

    async def look() -> None:
        looking = asyncio.create_task(app_module._look_around(receiving.traces))
        for _ in range(500):
            await asyncio.sleep(0.005)
            if len(looked) > 2:
                break
        looking.cancel()

    asyncio.run(look())
    assert len(looked) > 2


def test_the_end_of_a_run_fits_a_line(receiving: Receiving) -> None:
    """What it came to and its last state each fit; together they were a line that no reader takes."""
    many = {f"field {number}": "x" * 19_000 for number in range(80)}
    state = forged(2, "STATE_UPDATE", **{"agentdbg.event.payload": json.dumps({"state": many, **many})})
    receiving.take(request(state, forged(1, **{"agentdbg.run.end": json.dumps(many)})), JSON)
    receiving.wait(5)

    (log,) = receiving.data_dir.glob("runs/*/events.jsonl")
    assert max(map(len, log.read_bytes().splitlines())) <= MAX_LINE_BYTES
    assert receiving.only()[-1]["event_type"] == "RUN_END"
