"""
Breakpoints: pause a program before or after a call, let somebody look and change it, go on.

`Breakpoints` is a decider that stands outside all others. It pauses only the task or thread that makes the call; with
`whole_world` every other one waits at its next call too. Paused time belongs to no duration and to no limit.
"""

from __future__ import annotations

import _thread
import asyncio
import functools
import os
import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn

from agentdbg.control.given_answers import as_given
from agentdbg.control.pause_facts import Progress, facts_of, lane_name, last_model_of, messages_of, spent_so_far
from agentdbg.control.pauses import CALLED_OFF, Answered, Pause, Waiting, is_terminal
from agentdbg.control.where import Breakpoint, parse_breakpoint
from agentdbg.exceptions import UsageError
from agentdbg.faults import contain, pass_on, tell_once
from agentdbg.loading import lock_of
from agentdbg.recorder.calls import open_calls
from agentdbg.recorder.context import current_scope
from agentdbg.recorder.deciders import Answer, Decider, Outcome, Proceed, Refuse
from agentdbg.storage.control_files import forget_breaks, read_breaks, write_breaks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agentdbg.recorder.active_run import ActiveRun
    from agentdbg.recorder.calls import Call
    from agentdbg.recorder.deciders import AnnouncedCall

__all__ = ["Breakpoints"]

_MOST_WAIT_SECONDS = 600.0
_LOOK_SECONDS = 0.02
_FRESH_SECONDS = 0.02
"""How old what is known of breakpoints that others set may be: no person sets one and sees a call come sooner."""
_UNKNOWN: Any = object()
_BACK = "back"


class Breakpoints(Decider):
    """Where to pause, what stepping asks for, and what is mocked from now on."""

    def __init__(
        self,
        places: Iterable[str] = (),
        *,
        wait_seconds: float = 0.0,
        then: str = "continue",
        whole_world: bool = False,
        ask: Callable[..., Answered | None] | None = None,
        from_call: int = 0,
    ) -> None:
        self.places = [parse_breakpoint(place) for place in places]
        self._wait_seconds = min(wait_seconds, _MOST_WAIT_SECONDS)
        self._then = then
        self._whole_world = whole_world
        self._ask = ask
        self._from_call = from_call
        """Pause nowhere before this call, and there: where a replay that went back is to stop."""
        self._arriving = ""
        """The call that a replay went back to, until it is asked about: nothing else is asked before it."""
        self.on_arrival: Callable[[], object] = _nothing
        self.go_back: Callable[[int], object] | None = None
        """Replay to this call; None where that cannot be, because something is live."""
        self.last_model: Any = None
        """The last model call of a run without lanes; a lane knows its own."""
        self._terminal = threading.Lock()
        self._lock = lock_of(self)
        self._calls = 0
        self._mocks: dict[tuple[str, str], Any] = {}
        self._step: _Step | None = None
        self._reasons: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._paused = 0
        self._is_ending = False
        """Whether the program was ended at a pause: its other threads are asked nothing, until it goes on after all."""
        self._places_before: list[str] = []
        self._breaks_known: dict[str, tuple[int, float]] = {}
        """The file of breakpoints of each run, as it was last read or written."""
        self._looked_at = 0.0

    # What the recorder asks.

    def passes_over(self, call: Call) -> bool:
        """Count a call that nothing is to be done about; most are such, so this is quick."""
        scope, kind, name = call.outer, call.kind, call.name
        if scope is None:
            return True
        if self._is_ending and threading.current_thread() is threading.main_thread():
            self._is_ending = False
        if kind == "llm" and not call.is_silent:
            given = call.input
            # The list is the program's memory, to which it adds what comes next.
            (call.lane or self).last_model = call, given, list(given) if type(given) is list else given
        if self._step is not None or self._from_call or self._mocks or self._whole_world or type(name) is not str:
            return False
        with self._lock:
            self._look_for_breaks(scope.run)
            is_part = call.is_silent and scope.parent_id in open_calls
            if is_part and scope.parent_id in self._numbers:
                return False
            progress = Progress(scope.run, self._calls if is_part else self._calls + 1)
            facts: dict[str, Any] | None = None
            for place in self.places:
                if place.may_be(kind, name, progress):
                    facts = facts or facts_of(kind, name, call)
                    if not place.is_ruled_out(facts):
                        return False
            self._calls = progress.calls
        return True

    def decide(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Note the call, answer it where it is mocked, and see whether it is one to pause before."""
        run = _run_of(call)
        if call.is_silent and call.outer_id in open_calls:
            # The function behind a call that a framework reported: only here can the program be held.
            self._numbers[call.call_id] = self._numbers.get(call.outer_id, self._calls)
            if reason := self._reasons.pop(call.outer_id, ""):
                self._reasons[call.call_id] = reason
            return self._mocked(call)
        with self._lock:
            self._calls += 1
            self._numbers[call.call_id] = number = self._calls
            self._look_for_breaks(run)
            reason = self._reason_before(call, run, number)
            if reason:
                self._reasons[call.call_id] = reason
        return None if reason else self._mocked(call)

    def _mocked(self, call: AnnouncedCall) -> Answer | None:
        known = self._mocks.get((call.kind, call.plain_name), _UNKNOWN)
        return None if known is _UNKNOWN or not call.can_answer else as_given(known, "mock")

    def wait(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Pause this thread, if this is a place to."""
        self._let_others_look()
        if (pause := self._pause_before(call)) is None:
            return None
        return self._decided(call, self._held(call, pause, lambda waiting: waiting.here()))

    async def wait_async(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Pause this task."""
        if not _is_asyncio():
            return self.wait(call)
        await self._let_others_look_async()
        if (pause := self._pause_before(call)) is None:
            return None
        return self._decided(call, await self._held_async(call, pause))

    def ended(self, call: AnnouncedCall, outcome: Outcome) -> Outcome | None:
        """Pause after the call, if this is a place to."""
        if (pause := self._pause_after(call, outcome)) is None:
            return None
        return self._replaced(call, self._held(call, pause, lambda waiting: waiting.here()))

    async def ended_async(self, call: AnnouncedCall, outcome: Outcome) -> Outcome | None:
        """Do the same in a task."""
        if not _is_asyncio():
            return self.ended(call, outcome)
        if (pause := self._pause_after(call, outcome)) is None:
            return None
        return self._replaced(call, await self._held_async(call, pause))

    def released(self, call: AnnouncedCall) -> None:
        """The call is over."""
        with self._lock:
            self._numbers.pop(call.call_id, None)
            self._reasons.pop(call.call_id, None)
            if call.call_id == self._arriving:
                self._arriving = ""

    def pause_here(self, name: str, shown: dict[str, Any], source: str | None) -> None:
        """`agentdbg.breakpoint()` in the program's code: look, and go on."""
        scope = current_scope()
        if self._from_call:
            return
        if scope is None:
            tell_once("breakpoint", "agentdbg.breakpoint() pauses only inside a run; it was passed over")
            return
        run = scope.run
        safe = run.shown(shown)
        pause = Pause(
            "here",
            "code",
            name or "breakpoint",
            safe,
            shown,
            calls_before=self._calls,
            source=source,
            reason="agentdbg.breakpoint()",
            can_skip=False,
        )
        pause.can_edit = False
        answered = self._hold_in(run, pause, scope.parent_id, lambda waiting: waiting.here())
        self._note_answer(answered, "", scope.parent_id)
        if answered.do == "abort":
            self._abort(answered)

    # Whether to pause.

    def _reason_before(self, call: AnnouncedCall, run: ActiveRun | None, number: int) -> str:
        if number < self._from_call:
            return ""
        if self._from_call:
            self._from_call, self._arriving = 0, call.call_id
            self.on_arrival()
            return _BACK
        step = self._step
        if step is not None and step.is_reached(call):
            self._step = None
            return "step"
        kind, name = call.kind, call.plain_name
        progress, reason = Progress(run, number), ""
        facts: dict[str, Any] = {}
        for place in self.places:
            if place.after or not place.may_be(kind, name, progress):
                continue
            if not facts and (place.conditions or place.kind in ("tool", "llm", "mcp")):
                facts = facts_of(kind, name, call)
            if place.is_before(facts, progress):
                reason = reason or place.text
        return reason

    def _pause_before(self, call: AnnouncedCall) -> Pause | None:
        reason = self._reasons.pop(call.call_id, "") if self._reasons else ""
        run = _run_of(call) if reason else None
        if run is None:
            return None
        return self._new_pause("before", call, run, call.input, reason)

    def _pause_after(self, call: AnnouncedCall, outcome: Outcome) -> Pause | None:
        run = _run_of(call) if any(place.after for place in self.places) and not self._from_call else None
        if run is None:
            return None
        if not call.can_replace:  # a framework's report, which comes when it likes; nothing can be held there
            return None
        value = outcome.value if call.gave is None else call.gave()
        facts = {**facts_of(call.kind, call.plain_name, call), "result": value, "response": value}
        if outcome.error is not None:
            facts["error"] = f"{type(outcome.error).__name__}: {outcome.error}"
        hits = [place for place in self.places if place.is_after(facts)]
        if not hits:
            return None
        pause = self._new_pause("after", call, run, value, hits[0].text)
        pause.error = None if outcome.error is None else str(run.shown(facts["error"]))
        pause.can_edit = pause.can_skip = call.gave is None  # else the program has it already
        return pause

    def _new_pause(self, when: str, call: AnnouncedCall, run: ActiveRun, value: Any, reason: str) -> Pause:
        is_seen = self._may_be_answered()  # else nothing is made ready that nobody will look at
        return Pause(
            when,
            call.kind,
            str(run.shown(call.plain_name)),
            run.shown(value) if is_seen else None,
            value,
            call.call_id,
            self._numbers.get(call.call_id, 0),
            call.source,
            lane_name(call),
            reason,
            spent=spent_so_far(run),
            can_edit=call.can_edit,
            can_skip=call.can_answer,
            breaks=[place.text for place in self.places],
            shows=self._moment(call, run) if is_seen else {},
        )

    def _moment(self, call: AnnouncedCall, run: ActiveRun) -> dict[str, Any]:
        """What the agent had before it then: its last recorded state, and what its model was last given and gave."""
        state = run.last_state()
        model = None if call.kind == "llm" else last_model_of(call.lane, self.last_model)
        moment = {"state": state, "messages": None if model is None else run.shown(messages_of(*model))}
        return {name: value for name, value in moment.items() if value is not None}

    # Waiting.

    def _held(self, call: AnnouncedCall, pause: Pause, wait: Callable[[Waiting], Answered]) -> Answered:
        run = _run_of(call)
        assert run is not None
        return self._hold_in(run, pause, call.outer_id, wait)

    def _hold_in(self, run: ActiveRun, pause: Pause, parent_id: str, wait: Callable[[Waiting], Answered]) -> Answered:
        began = time.monotonic()
        self._places_before = [place.text for place in self.places]
        with run.paused(parent_id):
            self._paused += 1
            try:
                waiting = self._waiting(run, pause)
                answered = Answered() if waiting is None else wait(waiting)
            finally:
                self._paused -= 1
        self._record(run, pause, parent_id, answered, began)
        return answered

    async def _held_async(self, call: AnnouncedCall, pause: Pause) -> Answered:
        run = _run_of(call)
        assert run is not None
        began = time.monotonic()
        self._places_before = [place.text for place in self.places]
        with run.paused(call.outer_id):
            self._paused += 1
            try:
                waiting = self._waiting(run, pause)
                answered = Answered() if waiting is None else await waiting.in_task()
            finally:
                self._paused -= 1
        self._record(run, pause, call.outer_id, answered, began)
        return answered

    def _waiting(self, run: ActiveRun, pause: Pause) -> Waiting | None:
        """Who is waited for; None where nobody can answer."""
        ask = self._at_terminal if self._has_terminal() else None
        if ask is None and self._wait_seconds <= 0:
            tell_once(
                "break:nobody",
                f"{pause.reason} was reached at {pause.source or pause.name}, and nobody can answer: this is not a "
                "terminal; --wait SECONDS waits for the page or `agentdbg attach`",
            )
            return None
        if ask is None:
            tell_once(
                f"break:{pause.pause_id}",
                f"paused {pause.place}; waiting {self._wait_seconds:g} s for an answer from "
                f"`agentdbg view` or `agentdbg attach {run.run_id[:8]}`",
            )
        return Waiting(pause, run.path, ask, lambda: self._is_ending, seconds=self._wait_seconds, then=self._then)

    def _may_be_answered(self) -> bool:
        return self._wait_seconds > 0 or self._has_terminal()

    def _has_terminal(self) -> bool:
        return self._ask is not None and is_terminal()

    def _at_terminal(self, pause: Pause, elsewhere: Callable[[], Answered | None]) -> Answered | None:
        assert self._ask is not None
        while not self._may_ask(pause):  # one question at a time; it may be answered elsewhere
            if (answer := elsewhere()) is not None:
                return answer
            time.sleep(_LOOK_SECONDS)
        try:
            self._arriving = ""
            # Another question came first, and its answer may have been that nobody is to be asked this one.
            is_deleted = pause.reason in pause.breaks and pause.reason not in [place.text for place in self.places]
            if is_deleted:
                return None
            answer = elsewhere() or self._ask(pause, elsewhere, self)
            self._is_ending |= answer is not None and answer.do == "abort"  # now: the next is about to ask
            return answer
        finally:
            self._terminal.release()

    def _may_ask(self, pause: Pause) -> bool:
        if self._arriving and pause.reason != _BACK:
            return False
        return self._terminal.acquire(blocking=False)

    def _let_others_look(self) -> None:
        while self._whole_world and self._paused:
            time.sleep(_LOOK_SECONDS)

    async def _let_others_look_async(self) -> None:
        while self._whole_world and self._paused:  # noqa: ASYNC110 -- the others may be in other threads
            await asyncio.sleep(_LOOK_SECONDS)

    def _record(self, run: ActiveRun, pause: Pause, parent_id: str, answered: Answered, began: float) -> None:
        self._looked_at = 0.0  # whoever answered may have set a breakpoint first, and it holds for the very next call
        fields = {
            "when": pause.when,
            "reason": pause.reason,
            "call_id": pause.call_id or None,
            "action": answered.do,
            "by": answered.by,
            "edited": run.shown(answered.value) if answered.is_edited else None,
            "paused_ms": int((time.monotonic() - began) * 1000),
        }
        run.note_break(pause.name, fields, parent_id)

    # What an answer means.

    def _note_answer(self, answered: Answered, call_id: str, parent_id: str) -> None:
        scope = current_scope()
        with self._lock:
            if answered.breaks is not None:
                self.places = _parsed(answered.breaks)
            if scope is not None and [place.text for place in self.places] != self._places_before:
                self._tell_breaks(scope.run)
            if answered.do in ("step", "into", "out"):
                self._step = _Step(answered.do, call_id, parent_id)

    def _decided(self, call: AnnouncedCall, answered: Answered) -> Proceed | Answer | Refuse | None:
        self._note_answer(answered, call.call_id, call.outer_id)
        match answered.do:
            case "abort":
                self._abort(answered)
            case "skip":
                return as_given(answered.value, "edited")
            case "mock":
                self._mocks[call.kind, call.plain_name] = answered.value
                return as_given(answered.value, "mock")
            case "raise":
                return Answer(error=answered.error, served="fault")
        return Proceed(answered.value) if answered.is_edited else None

    def _replaced(self, call: AnnouncedCall, answered: Answered) -> Outcome | None:
        self._note_answer(answered, call.call_id, call.outer_id)
        if answered.do == "abort":
            self._abort(answered)
        if answered.do == "raise":
            return Outcome(error=answered.error)
        return Outcome(answered.value) if answered.is_edited else None

    def _abort(self, answered: Answered) -> NoReturn:
        """End the program as Ctrl-C does, also where another thread than the main one was paused; all that wait go."""
        if answered.by == CALLED_OFF and _is_asyncio():  # its loop is ending, and cancels all that is left
            raise asyncio.CancelledError
        self._is_ending = True
        if answered.by != CALLED_OFF and threading.current_thread() is not threading.main_thread():
            _thread.interrupt_main()
        raise KeyboardInterrupt

    def _look_for_breaks(self, run: ActiveRun | None) -> None:
        """Take over what the page or another terminal has set; seldom more than a look at the clock."""
        if run is None:
            return
        if run.run_id not in self._breaks_known:
            run.before_end[self] = functools.partial(self._forget, run)  # first: telling may be interrupted
            self._tell_breaks(run)
            return
        now = time.monotonic()
        if now - self._looked_at < _FRESH_SECONDS:
            return
        self._looked_at = now
        if (known := _stamp(run)) is not None and known != self._breaks_known[run.run_id]:
            self._breaks_known[run.run_id] = known
            self.places = _parsed(read_breaks(run.path))

    def _tell_breaks(self, run: ActiveRun) -> None:
        """Let the page and other terminals know where the program pauses, so that they can change it."""
        try:
            write_breaks(run.path, [place.text for place in self.places])
        except (OSError, ValueError) as error:  # nobody can change them then
            contain(error, "say where the program pauses")
        self._breaks_known[run.run_id] = _stamp(run) or (0, 0.0)

    def _forget(self, run: ActiveRun) -> None:
        self._breaks_known.pop(run.run_id, None)
        forget_breaks(run.path)


def _nothing() -> None:
    pass


class _Step:
    """Pause again soon: before the next call beside this one, inside it, or outside what it was made in."""

    def __init__(self, do: str, call_id: str, parent_id: str) -> None:
        self._into = do == "into"
        self._around = call_id if do == "step" else parent_id

    def is_reached(self, call: AnnouncedCall) -> bool:
        if self._into:
            return True
        place = call.outer_id
        while (around := open_calls.get(place)) is not None and around.outer is not None:
            if place == self._around:
                return False
            place = around.outer.parent_id
        return True


def _stamp(run: ActiveRun) -> tuple[int, float] | None:
    try:
        about = os.stat(f"{run.path}/control/breaks.json")
    except OSError as error:
        pass_on(error)
        return None
    return about.st_ino, about.st_mtime


def _parsed(texts: Iterable[str]) -> list[Breakpoint]:
    places = []
    for text in texts:
        try:
            places.append(parse_breakpoint(text))
        except UsageError as error:
            tell_once(f"break:{text}", str(error))
    return places


def _run_of(call: AnnouncedCall) -> ActiveRun | None:
    scope = current_scope()
    return scope.run if scope is not None and scope.run.run_id == call.run_id else None


def _is_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError as error:
        pass_on(error)
        return False
    return True
