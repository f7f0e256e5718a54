"""
A recorded outcome as an answer: a value, an exception, the items of a generator, an HTTP response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentdbg.control.changed_arguments import change_in_place
from agentdbg.control.served_tracebacks import give_frames
from agentdbg.control.tapes import MISSING, CannotRebuild
from agentdbg.exceptions import AgentDbgError
from agentdbg.faults import pass_on
from agentdbg.recorder.deciders import Answer

if TYPE_CHECKING:
    from agentdbg.control.inputs import LiveInputs
    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun

__all__ = ["CannotServe", "change_arguments", "make_answer", "waits_at_its_end"]


class CannotServe(Exception):
    """The outcome of a call cannot be given again; the text says why."""


def waits_at_its_end(tape_call: Any) -> bool:
    """Whether what is served is read piece by piece, so that its turn comes when the reading ends."""
    return "items" in tape_call.out or "http" in tape_call.out


def make_answer(run: RecordedRun, call: RecordedCall, inputs: LiveInputs, mode: str) -> Answer:
    """The answer that the recorded call gives. Raises CannotServe."""
    out = call.tape_call.out
    if mode in ("run", "refuse"):
        raise CannotServe(f'it is declared with replay="{mode}"')
    if "lost" in out:
        raise CannotServe(str(out["lost"]))
    if not call.is_servable:
        raise CannotServe(call.tape_call.why or "it was not stored")
    try:
        return _answer(run, out, inputs)
    except CannotRebuild as reason:
        raise CannotServe(str(reason)) from None
    except AgentDbgError as damage:
        raise CannotServe(str(damage)) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as damage:
        pass_on(damage)
        raise CannotServe(f"the tape is damaged here ({type(damage).__name__})") from None


def _answer(run: RecordedRun, out: dict[str, Any], inputs: LiveInputs) -> Answer:
    if "cancelled" in out:
        return Answer(None, served="recorded")
    if "http" in out:
        return Answer(_response(run, out["http"], inputs), served="recorded")
    error = run.value(out["err"], inputs) if "err" in out else None
    if error is not None and not isinstance(error, BaseException):
        raise CannotServe("the exception it raised was not recorded as one")
    if error is not None and "tb" in out:
        give_frames(error, run.value(out["tb"], inputs))
    if "items" in out:
        value = run.value(out["ret"], inputs) if "ret" in out else None
        return Answer(value, error=error, items=run.value(out["items"], inputs), served="recorded")
    if error is not None:
        return Answer(error=error, served="recorded")
    return Answer(run.value(out["ok"], inputs), served="recorded")


def _response(run: RecordedRun, http: dict[str, Any], inputs: LiveInputs) -> dict[str, Any]:
    headers = http.get("headers")
    return {
        "status": http.get("status"),
        "headers": {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {},
        "chunks": run.value(http.get("chunks") or [], inputs),
        "at": list(http.get("at") or ()),
        "cut": http.get("cut"),
    }


def change_arguments(run: RecordedRun, call: RecordedCall, inputs: LiveInputs, given: Any) -> None:
    """Do to the arguments what the call had done to them."""
    after = call.tape_call.after
    if after is MISSING or not isinstance(given, dict):
        return
    try:
        plain = run.tape.value(after)
    except AgentDbgError as damage:
        pass_on(damage)
        return
    change_in_place(given, inputs.filled(plain))
