"""
What `agentdbg replay` says at its end, line by line.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentdbg.control.divergence import Divergence
    from agentdbg.control.replaying import Replay

__all__ = ["allow_rule", "replay_lines"]


def replay_lines(replay: Replay, report: dict[str, Any], *, is_kept: bool, is_call: bool = False) -> list[str]:
    """The verdict first, then what differs and what to do. `is_call`: a function was replayed, not its program."""
    session, shown = replay.session, replay.opened.place
    kept = report["run_id"][:8] if report["run_id"] and is_kept else ""
    first = session.first
    if session.reached is not None:
        lines = _reached_lines(replay, shown)
    elif first is None or first.kind_of == "ended":
        lines = [f"agentdbg: replayed {shown}{f' as {kept}' if kept else ''}: equal; {_figures(report)}"]
        if first is not None:
            lines.append(f"  the recording stops here: {first.what}")
    else:
        lines = _divergence_lines(replay, first, shown, is_call=is_call)
        lines += _others(session.divergences, first)
        if kept:
            lines.append(f"  agentdbg diff {shown} {kept}      both runs, side by side" if replay.opened.is_own else "")
    return [line for line in [*lines, *_remarks(replay, report)] if line]


def _figures(report: dict[str, Any]) -> str:
    calls, seconds, cost = report["calls"], report["seconds"], report["cost_usd"]
    parts = [f"{calls['served']} of {calls['recorded'] - calls['observed']} calls served, {calls['live']} live"]
    parts += [f"{calls[name]} {text}" for name, text in _MORE.items() if calls[name]]
    told = f"{', '.join(parts)}; {seconds['now']:.1f} s (was {_duration(seconds['recorded'])})"
    if cost["recorded"]:
        told += f", ${cost['now'] or 0:.2f} (was ${cost['recorded']:.2f})"
    return told


def _calls(number: int) -> str:
    return "1 call" if number == 1 else f"{number} calls"


_MOST_OTHERS = 5
_MORE = {"edited": "edited", "mock": "mocked", "run_again": "run again"}


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _divergence_lines(replay: Replay, first: Divergence, shown: str, *, is_call: bool) -> list[str]:
    lines = [f"agentdbg: run {shown} diverged{first.at()}", *(f"  {line}" for line in first.lines())]
    equal = first.equal_before
    told = f"{_calls(equal)} before it {'was' if equal == 1 else 'were'} the same"
    if first.kind_of in ("changed", "extra", "unservable", "ambiguous") and replay.session.stopped is first:
        told += "; nothing was executed for it"
    lines.append(f"  {told}.")
    if first.kind_of in ("changed", "extra") and replay.opened.is_own and find_spec("agentdbg.commands.fork"):
        at = (first.event_id or "")[:8]
        if at:
            lines.append(f"  agentdbg fork {shown} --at {at}      go on live from here")
    if first.kind_of == "changed" and first.differences:
        rule = f"{first.kind}:{first.name} {first.differences[0].path}"
        lines.append(f"  agentdbg replay {shown} --ignore '{rule}'{'' if replay.opened.is_own else ' -- …'}")
    if first.kind_of == "effect":
        rule = allow_rule(first.what)
        if rule.startswith(("net:", "run:")):
            where = f" at {first.source}" if first.source else ""
            lines.append(f"  It was not recorded. Put @tool on the function that does it{where} and record anew: it is")
            lines.append("  served then, as model and tool calls are.")
        lines.append(f"  agentdbg replay {shown} --allow {rule}      let it happen")
        began = replay.opened.head.get("call")
        if isinstance(began, dict) and not replay.opened.head.get("whole") and not is_call:
            lines.append(
                f"  agentdbg replay {shown} --call      only {began.get('function')}, not the program around it"
            )
    return lines


def allow_rule(what: str) -> str:
    """What --allow takes to let an effect happen."""
    verb, _, rest = what.partition(" ")
    target = rest.rpartition(" ")[2] or rest
    if verb in ("connect", "look", "send", "listen"):
        return f"net:{target}"
    return f"run:{target}" if verb == "start" else f"write:{target}"


def _others(found: list[Divergence], first: Divergence) -> list[str]:
    """What else differs, a line for each of some; calls that are missing together are one."""
    rest = sorted((one for one in found if one is not first), key=lambda one: one.in_recorded_order)
    also_missing = [one for one in rest if one.kind_of == "missing"]
    if len(also_missing) < 2:
        return [f"  also: {one.kind_of}{one.at()}" for one in rest[:_MOST_OTHERS]]
    lines = [f"  also: {one.kind_of}{one.at()}" for one in rest if one.kind_of != "missing"][:_MOST_OTHERS]
    return [*lines, f"  also missing: {len(also_missing)} calls, the last one {also_missing[-1].headline()}"]


def _reached_lines(replay: Replay, shown: str) -> list[str]:
    reached = replay.session.reached
    assert reached is not None
    place = f" ({reached.source})" if reached.source else ""
    total = max(call.number for call in replay.opened.main.recording.calls)
    where = f"call {reached.number} of {total}: {reached.name}{place}"
    return [f"agentdbg: replayed {shown} until {where}; {_calls(replay.counts['served'])} served"]


def _remarks(replay: Replay, report: dict[str, Any]) -> list[str]:
    remarks = []
    if not report["order_kept"]:
        forced = sum(run.gate.forced for run in replay.session.runs)
        remarks.append(f"  the order of {_calls(forced)} could not be kept")
    if report["not_guarded"]:
        remarks.append(f"  not guarded: {', '.join(report['not_guarded'])}")
    if replay.session.divergences:
        remarks += [f"  not controlled: {what}" for what in report["not_controlled"]]
        remarks += [
            f"  {entry['what']} differs: recorded {entry['recorded']}, now {entry['now']}"
            for entry in report["fingerprint"]
            if entry["what"] != "cwd"
        ]
    return remarks
