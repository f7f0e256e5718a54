"""
Our own strict form of an event, as narrow types that a fast decoder checks while it steps over everything long.

A line that decodes here is in the strict form, needs no repair and may be served as it stands; anything else raises
ValueError and is left to the tolerant reader. Each type answers the few questions an index asks of an event.
Importing this needs the msgspec wheel.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from agentdbg.analysis import run_columns as columns
from agentdbg.events.facts import NO_TOKENS, Tokens, amount, token_counts

__all__ = [
    "CallStart",
    "ErrorEvent",
    "LlmCall",
    "LoopWarning",
    "RunEnd",
    "RunStart",
    "StateUpdate",
    "ToolCall",
    "decode_own",
    "decode_strict",
    "decode_strict_lines",
]

Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0, lt=1 << 53)]  # beyond, readers believe no number
Status = Literal["ok", "error"]
# A name that only looser forms use: any value under it sends the line to the tolerant reader.
Absent = Literal["\x00"] | UnsetType


class AnyObject(Struct, gc=False):
    """An object of which nothing is kept."""


class Failure(Struct, gc=False):
    error_type: str
    type: Absent = UNSET
    stack_trace: Absent = UNSET


class LlmPayload(Struct, gc=False):
    model: str
    status: Status
    usage: dict[str, Any] | None = None
    error: Failure | None = None
    cost_usd: float | None = None
    finish_reason: Absent = UNSET
    served: Absent = UNSET


class ToolPayload(Struct, gc=False):
    tool_name: str
    status: Status
    args: Raw = Raw(b"null")
    error: Failure | None = None


class StatePayload(Struct, gc=False):
    state: Raw
    error: Failure | None = None
    status: Absent = UNSET


class StateMeta(Struct, gc=False):
    span: str | None = None


class LoopPayload(Struct, gc=False):
    evidence_event_ids: Raw
    severity: Literal["info", "warning", "critical"] | None = None
    repetition_count: Absent = UNSET


class EndPayload(Struct, gc=False):
    status: Status
    error: Failure | None = None


class CallStartPayload(Struct, gc=False):
    call_id: str | None = None


class Strict(Struct, forbid_unknown_fields=True, tag_field="event_type", gc=False):
    """What all types have, and the answers most of them give."""

    spec_version: Literal["0.1"]
    event_id: Text
    run_id: Text
    parent_id: Text | None
    ts: str
    duration_ms: Count | None
    name: str

    kind: ClassVar[int] = columns.OTHER
    status: ClassVar[int] = columns.NO_STATUS
    severity: ClassVar[int] = 0
    event_type: ClassVar[str] = ""


class LlmCall(Strict, tag="LLM_CALL", gc=False):
    payload: LlmPayload
    meta: AnyObject
    kind = columns.LLM
    event_type = "LLM_CALL"

    @property
    def status(self) -> int:  # type: ignore[override]  # a value for most types, a question here
        return columns.ERROR if self.payload.status == "error" or self.payload.error else columns.OK

    @property
    def usage(self) -> Tokens:
        usage = self.payload.usage
        return NO_TOKENS if usage is None else token_counts(usage)

    @property
    def cost_usd(self) -> float | None:
        cost = self.payload.cost_usd
        return None if cost is None else amount(cost)


class ToolCall(Strict, tag="TOOL_CALL", gc=False):
    payload: ToolPayload
    meta: AnyObject
    kind = columns.TOOL
    event_type = "TOOL_CALL"

    @property
    def status(self) -> int:  # type: ignore[override]
        return columns.ERROR if self.payload.status == "error" or self.payload.error else columns.OK

    @property
    def args(self) -> Raw:
        return self.payload.args


class StateUpdate(Strict, tag="STATE_UPDATE", gc=False):
    payload: StatePayload
    meta: StateMeta
    event_type = "STATE_UPDATE"

    @property
    def kind(self) -> int:  # type: ignore[override]
        return columns.SPAN if self.meta.span else columns.STATE

    @property
    def status(self) -> int:  # type: ignore[override]
        if not self.meta.span:
            return columns.NO_STATUS
        return columns.ERROR if self.payload.error else columns.OK


class ErrorEvent(Strict, tag="ERROR", gc=False):
    payload: Failure
    meta: AnyObject
    kind = columns.EXCEPTION
    status = columns.ERROR
    event_type = "ERROR"


class LoopWarning(Strict, tag="LOOP_WARNING", gc=False):
    payload: LoopPayload
    meta: AnyObject
    kind = columns.LOOP
    event_type = "LOOP_WARNING"

    @property
    def severity(self) -> int:  # type: ignore[override]
        return columns.SEVERITIES.index(self.payload.severity) or columns.SEVERITIES.index("warning")


class RunStart(Strict, tag="RUN_START", gc=False):
    payload: AnyObject
    meta: AnyObject
    kind = columns.START
    event_type = "RUN_START"


class RunEnd(Strict, tag="RUN_END", gc=False):
    payload: EndPayload
    meta: AnyObject
    kind = columns.END
    event_type = "RUN_END"

    @property
    def status(self) -> int:  # type: ignore[override]
        return columns.ERROR if self.payload.status == "error" or self.payload.error else columns.OK


class CallStart(Strict, tag="CALL_START", gc=False):
    payload: CallStartPayload
    meta: AnyObject
    kind = columns.CALL_START
    event_type = "CALL_START"

    @property
    def call_id(self) -> str | None:
        return self.payload.call_id


class OwnEvent(Struct, forbid_unknown_fields=True, gc=False):
    """An event of a type that is not built in."""

    spec_version: Literal["0.1"]
    event_id: Text
    run_id: Text
    parent_id: Text | None
    event_type: Text
    ts: str
    duration_ms: Count | None
    name: str
    payload: AnyObject
    meta: AnyObject

    kind: ClassVar[int] = columns.OTHER
    status: ClassVar[int] = columns.NO_STATUS
    severity: ClassVar[int] = 0


_decoder = msgspec.json.Decoder(
    LlmCall | ToolCall | StateUpdate | ErrorEvent | LoopWarning | RunStart | RunEnd | CallStart
)

decode_strict = _decoder.decode
"""One line of a built-in type; ValueError (or RecursionError) when it is not in the strict form."""

decode_strict_lines = _decoder.decode_lines
"""Many such values; that each stands on a line of its own is not looked at. The same errors."""

decode_own = msgspec.json.Decoder(OwnEvent).decode
"""One line of a type that is not built in; the same errors."""
