"""What a breakpoint may ask of a call and of its run, and what a pause shows of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentdbg.recorder.active_run import ActiveRun
    from agentdbg.recorder.calls import Call
    from agentdbg.recorder.deciders import AnnouncedCall
    from agentdbg.recorder.lanes import Lane

__all__ = ["Progress", "facts_of", "lane_name", "last_model_of", "messages_of", "spent_so_far"]


def facts_of(kind: str, name: str, call: Call | AnnouncedCall) -> dict[str, Any]:
    """What conditions may ask about."""
    given, meta = call.input, call.meta
    facts: dict[str, Any] = {"kind": kind, "name": name, "source": call.source, "meta": meta, "input": given}
    facts["is_mcp"] = bool(meta.get("mcp") or meta.get("framework") == "mcp")
    if kind == "tool":
        facts["args"] = given
    else:
        facts["model"], facts["prompt"], facts["messages"] = name, given, given
    return facts


class Progress:
    """How far a run has come: each figure is looked up when a breakpoint asks for it."""

    __slots__ = ("_run", "calls")

    def __init__(self, run: ActiveRun | None, calls: int) -> None:
        self._run = run
        self.calls = calls

    @property
    def cost_usd(self) -> float:
        return 0.0 if self._run is None else self._run.counters.total("cost_usd")

    @property
    def tokens(self) -> int:
        return self._whole("total_tokens")

    @property
    def errors(self) -> int:
        return self._whole("errors")

    @property
    def loops(self) -> int:
        return self._whole("loop_warnings")

    def _whole(self, name: str) -> int:
        return 0 if self._run is None else self._run.counters.whole(name)


def spent_so_far(run: ActiveRun) -> str:
    """The cost of a run's calls, in words; empty where none is known."""
    cost = run.counters.total("cost_usd")
    return f"${cost:.2f} so far" if cost else ""


def messages_of(call: Call, given: Any, as_it_was: Any) -> list[Any]:
    """What a model call was given, and gave: with other input where that was edited, else as it was then."""
    given = as_it_was if call.input is given else call.input
    given = given if isinstance(given, list) else [given]
    is_answered = call.is_over and call.error is None
    return [*given, {"role": "assistant", "content": call.response}] if is_answered else [*given]


def last_model_of(lane: Lane | None, otherwise: Any) -> Any:
    """The last model call of a lane, else of the one that it was started or called in."""
    if lane is None:
        return otherwise
    while lane.last_model is None and lane.maker is not None:
        lane = lane.maker
    return lane.last_model


def lane_name(call: AnnouncedCall) -> str:
    """Which thread or task waits; the program's first one needs no name."""
    name = "" if call.lane is None else call.lane.name
    return "" if name == "m" else name
