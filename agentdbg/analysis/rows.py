"""
The rows of a timeline: for each event what a list, a tree or a waterfall shows of it without opening it.

`RowBuilder` reads only the events it is asked for, and for a tool call the latest earlier call of that tool, so that a
page of rows costs the same at event ten and at event million. An odd payload gives a poorer row, never an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentdbg.analysis import previews
from agentdbg.analysis.result_signs import error_in_result
from agentdbg.analysis.run_columns import (
    CALL_START,
    END,
    ENDED,
    ERROR,
    EXCEPTION,
    KINDS,
    LLM,
    LOOP,
    NO_VALUE,
    OK,
    SEVERITIES,
    SPAN,
    START,
    STATE,
    TOOL,
    payload_of,
)
from agentdbg.analysis.tree import Spans, SpanTotals, depth_of
from agentdbg.analysis.value_text import plain_text
from agentdbg.analysis.wording import cut, duration, one_line
from agentdbg.events.facts import NO_TOKENS, cost_of, tokens_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.analysis.previews import Preview
    from agentdbg.analysis.run_columns import RunColumns
    from agentdbg.events import Event

__all__ = ["Row", "RowBuilder", "row_sentence"]

Status = Literal["ok", "error", "running", "never_returned"]
_LOOK_AHEAD = 50
_LOOK_BACK = 2_000
_NAMES_TRIED = 10


class Row(TypedDict):
    """
    One event in a timeline. `name` is what the name column says; `call_kind` is that of an open CALL_START; `problem`
    is the error that a tool's result reports although the call counts as done.
    """

    n: int
    event_id: str
    event_type: str
    name: str
    parent_n: int | None
    depth: int
    ts: str
    start_ms: int
    duration_ms: int | None
    status: Status | None
    problem: str | None
    kind: str
    severity: str | None
    loop_kind: str | None
    tokens: int | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    source: str | None
    call_id: str | None
    call_kind: str | None
    ended: bool
    preview: Preview
    label: str


class RowBuilder:
    """Builds the rows of one run. Keep one per run: it remembers what a far-reaching span made it count."""

    def __init__(self, columns: RunColumns) -> None:
        self._columns = columns
        self._spans = Spans(columns)

    def rows(self, numbers: Iterable[int], *, running: bool) -> list[Row]:
        """The rows of the given events; `running` says whether a call without an end may still end."""
        return [self.row(number, running=running) for number in numbers if 1 <= number <= self._columns.total]

    def row(self, number: int, *, running: bool) -> Row:
        columns, at = self._columns, number - 1
        event = columns.event(number)
        payload = payload_of(event)
        kind = columns.kind[at]
        length = columns.duration_ms[at]
        totals = self._spans.totals(number) if kind == SPAN else None
        tokens_in, tokens_out, _ = tokens_of(payload) if kind == LLM else NO_TOKENS
        tokens = columns.tokens[at]
        row: Row = {
            "n": number,
            "event_id": str(event.get("event_id", "")),
            "event_type": str(event.get("event_type", "")),
            "name": _shown_name(event, kind, payload),
            "parent_n": columns.parent_n[at] or None,
            "depth": depth_of(columns, number),
            "ts": str(event.get("ts", "")),
            "start_ms": columns.start_ms[at],
            "duration_ms": None if length == NO_VALUE else length,
            "status": self._status(number, kind, running=running),
            "problem": error_in_result(payload.get("result")) if kind == TOOL and columns.status[at] == OK else None,
            "kind": KINDS[kind],
            "severity": SEVERITIES[columns.severity[at]],
            "loop_kind": _text(payload.get("kind")) if kind == LOOP else None,
            "tokens": totals.tokens if totals else None if tokens == NO_VALUE else tokens,
            "tokens_in": tokens_in,
            "tokens_out": tokens_out,
            "cost_usd": cost_of(payload) if kind == LLM else None,
            "source": _text(payload.get("source")),
            "call_id": _text(payload.get("call_id")) if kind == CALL_START else None,
            "call_kind": _text(payload.get("kind")) if kind == CALL_START else None,
            "ended": columns.status[at] == ENDED,
            "preview": self._preview(number, kind, payload, totals, running=running),
            "label": "",
        }
        row["label"] = row_sentence(row)
        return row

    def _status(self, number: int, kind: int, *, running: bool) -> Status | None:
        status = self._columns.status[number - 1]
        if kind == CALL_START:
            return None if status == ENDED else "running" if running else "never_returned"
        return {OK: "ok", ERROR: "error"}.get(status)  # type: ignore[return-value] # both are of Status

    def _preview(
        self, number: int, kind: int, payload: dict[str, Any], totals: SpanTotals | None, *, running: bool
    ) -> Preview:
        failed = self._columns.status[number - 1] == ERROR
        if kind == LLM:
            return previews.llm_preview(payload, failed=failed, tools_have_rows=self._tools_follow(number, running))
        if kind == TOOL:
            return self._tool_preview(number, payload, failed=failed)
        if totals is not None:
            return previews.span_preview(
                payload, totals, self._llm_preview_of(totals.first_llm), self._llm_preview_of(totals.last_llm)
            )
        if kind == STATE:
            return previews.state_preview(payload, self._state_before(number))
        if kind == CALL_START:
            ended = self._columns.status[number - 1] == ENDED
            return previews.call_start_preview(payload, running=running, ended=ended)
        return _PREVIEWS.get(kind, previews.other_preview)(payload)

    def _tool_preview(self, number: int, payload: dict[str, Any], *, failed: bool) -> Preview:
        same_as = self._columns.same_as(number)
        before = self._columns.previous_call(number) if same_as is None else None
        earlier = None
        if before is not None:
            earlier = (before, payload_of(self._columns.event(before)).get("args"))
        return previews.tool_preview(payload, failed=failed, same_as=same_as, earlier=earlier)

    def _state_before(self, number: int) -> Any:
        """The state last recorded under the same name, if it is not far away."""
        name, opened = self._columns.event(number)["name"], 0
        for before in range(number - 1, max(number - _LOOK_BACK, 0), -1):
            if self._columns.kind[before - 1] == STATE:
                event = self._columns.event(before)
                if event["name"] == name:
                    return payload_of(event).get("state")
                opened += 1
                if opened >= _NAMES_TRIED:
                    break
        return None

    def _llm_preview_of(self, number: int | None) -> Preview | None:
        if number is None:
            return None
        payload = payload_of(self._columns.event(number))
        return previews.llm_preview(payload, failed=self._columns.status[number - 1] == ERROR)

    def _tools_follow(self, number: int, running: bool) -> bool:
        """Whether a tool's row stands between this model call and the next, or may still come."""
        columns = self._columns
        for other in range(number, min(number + _LOOK_AHEAD, columns.total)):
            if columns.kind[other] == TOOL or (columns.kind[other] == CALL_START and columns.status[other] != ENDED):
                return True
            if columns.kind[other] == LLM:
                # Parallel work may put another model call first, so only a tool of ours decides.
                return any(
                    columns.kind[later] == TOOL and columns.parent_n[later] == number
                    for later in range(other, min(other + _LOOK_AHEAD, columns.total))
                )
        return running or number + _LOOK_AHEAD < columns.total


def row_sentence(row: Row) -> str:
    """The row as one sentence, for screen readers and for grep."""
    shown = row["preview"]
    said = [f"{row['n']}", f"{_SPOKEN.get(row['kind'], '')} {row['name']}".strip()]
    if shown["same_as"]:
        said.append(f"same call as {shown['same_as']}")
    elif shown["input"]:
        said.append(cut(plain_text(shown["input"]).strip(), 120))
    if shown["rest_as"]:
        said.append(f"the rest as in {shown['rest_as']}")
    if row["status"] == "never_returned":
        said.append("never returned")
    elif shown["error"]:
        said.append(f"failed: {cut(shown['error'], 160)}")
    elif row["problem"]:
        said.append(f"reports an error: {row['problem']}")
    elif shown["outcome"]:
        said.append(cut(plain_text(shown["outcome"]), 160))
    if row["duration_ms"] is not None:
        said.append(duration(row["duration_ms"]))
    return ", ".join(said)


_SPOKEN = {"llm": "model", "tool": "tool", "span": "span", "call_start": "call", "error": "error"}

_PREVIEWS = {
    EXCEPTION: previews.error_preview,
    START: previews.run_start_preview,
    END: previews.run_end_preview,
    LOOP: previews.loop_preview,
}


def _shown_name(event: Event, kind: int, payload: dict[str, Any]) -> str:
    if kind == LOOP:
        found = _text(payload.get("kind"))
        return previews.LOOP_NAMES.get(found, found) if found else "loop"
    if kind == START:
        return "run start"
    if kind == END:
        return "run end"
    name = payload.get("name") if kind == CALL_START else event.get("name")
    if kind == LLM and name == "unknown":  # what is stored where nobody said which model it was
        return "model"
    return one_line(str(name), 200) if name else KINDS[kind]


def _text(value: Any) -> str | None:
    return value[:500] if isinstance(value, str) and value else None
