"""
A replay while it lasts: the decider that answers each call from the tape.

For every call it finds the recorded one, asks its plan what to do, and lets the call end in its turn. What is different
is kept here and not only raised: programs swallow exceptions. After a divergence that stops the program, nothing more
is executed for it: the first call in each task or thread raises AgentDbgReplayDiverged, every later one a
BaseException, and the effects guard stays armed.
"""

from __future__ import annotations

import sys
import threading
import time
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentdbg.control.background import Background
from agentdbg.control.comparing import Comparison, missing, replay_mode
from agentdbg.control.divergence import STOPPING, Divergence
from agentdbg.control.gate import running_loop
from agentdbg.control.plan import Diverge, Enter, Give, Live, ReplayPlan, Serve
from agentdbg.control.recorded_answers import CannotServe, change_arguments, make_answer
from agentdbg.control.recorded_time import RecordedTime
from agentdbg.control.replayed_run import OpenCall, ReplayedRun
from agentdbg.control.sleeping import is_timeout
from agentdbg.control.tapes import undated
from agentdbg.control.telemetry import accepted, is_telemetry
from agentdbg.exceptions import AgentDbgReplayDiverged, ReplayReached, RunStopped
from agentdbg.faults import Shield
from agentdbg.loading import lock_of
from agentdbg.recorder.context import live_runs
from agentdbg.recorder.deciders import Answer, Decider, Proceed, Refuse
from agentdbg.recorder.draws import WAITING
from agentdbg.recorder.stopping import running_task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agentdbg.control.inputs import LiveInputs
    from agentdbg.control.plan import Plan
    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun
    from agentdbg.control.volatile_inputs import VolatileRule
    from agentdbg.recorder.deciders import AnnouncedCall, Outcome

__all__ = ["Session"]

_LOOK_AGAIN_S = 0.05
_CANCELLED_S = 1.0
"""So much later than it had been, a call is cancelled that nobody cancels now: it had raised that by itself."""


class Session(Decider):
    """Answers the calls of a program from its recorded runs."""

    asks_http = True

    def __init__(
        self,
        runs: Sequence[RecordedRun],
        inputs: LiveInputs,
        *,
        plan: Plan | None = None,
        any_lane: bool = False,
        on_divergence: str = "stop",
        until: str | None = None,
        volatile: Sequence[VolatileRule] = (),
    ) -> None:
        self.runs = [ReplayedRun(run, any_lane=any_lane) for run in runs]
        self.inputs = inputs
        self.plan = plan or ReplayPlan()
        self.plan.session = self
        self.volatile = list(volatile)
        self._compare = Comparison(inputs, self.volatile)
        self._any_lane = any_lane
        self._on_divergence = on_divergence
        self._until = until
        self.divergences: list[Divergence] = []
        self.stopped: Divergence | None = None
        """What stopped the program; it gets no further call through."""
        self.reached: RecordedCall | None = None
        """The call that the replay was to stop at."""
        self.ended_by = ""
        """The exception that ended the program, where one did that is its own."""
        self.is_live = False
        """Whether calls that are not on the tape are made."""
        self.is_over = False
        """Whether the program has ended; a thread that goes on gets no further call through."""
        self.time = RecordedTime(self)
        self._background = Background(self)
        self.on_served: list[Callable[[RecordedRun, RecordedCall], None]] = [self.time.served]
        """Told of each call that is handed over, at its end; the clock jumps there."""
        self.on_live: list[Callable[[], None]] = []
        self.on_stop: list[Callable[[], None]] = []
        """Told once, when the program gets no further call through."""
        self._by_run: dict[str, ReplayedRun | None] = {}
        self._open: dict[str, OpenCall] = {}
        self._left_to_limits: set[str] = set()
        """Calls that are not on the tape because a limit refused them."""
        self._made_live: dict[str, str] = {}
        """Open calls that are made and counted, with their kinds; what one asks over HTTP is part of it."""
        self._told: weakref.WeakSet[Any] = weakref.WeakSet()
        self._served: list[int] = []
        """The numbers of the calls that were served."""
        self._lock = lock_of(self)
        self.started = time.monotonic()

    # Runs.

    def run_of(self, run_id: str) -> ReplayedRun | None:
        """What answers a run of the program: the next recorded run of its name, else the next of all."""
        with self._lock:
            if run_id not in self._by_run:
                free = [run for run in self.runs if not run.run_id]
                active = live_runs.get(run_id)
                name = "" if active is None else undated(active.name)
                chosen = next((run for run in free if run.recorded.undated_name == name), free[0] if free else None)
                if chosen is not None:
                    chosen.run_id = run_id
                self._by_run[run_id] = chosen
            return self._by_run[run_id]

    def known_run(self, run_id: str) -> ReplayedRun | None:
        """The same of a run that has made a call already."""
        return self._by_run.get(run_id)

    # The decision.

    def decide(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Say what to do with a call. One that a fault of ours keeps us from judging is not made: it might write."""
        kind = ""
        with Shield("judge a call of the replay"):
            try:
                return self._judged(call)
            except Exception as fault:
                kind = type(fault).__name__
                raise
        return Refuse(RuntimeError(f"{call.plain_name} was not made: it could not be judged ({kind})"))

    def _judged(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        run = self.run_of(call.run_id)
        if self.is_over or self.stopped is not None or self.reached is not None:
            return self._refused_again()
        if call.kind == "http" and is_telemetry(call.input):
            return accepted(call.input)
        if run is None or call.lane is None:
            return self._diverged(self._compare.described("extra", call, None), None, call)
        key = call.kind, self.inputs.name(call.name), self.inputs.hash(call.input)
        found = run.matcher.find(call.lane, key)
        recorded, expected = found.call, found.expected
        if recorded is None and call.name not in WAITING:
            recorded = self._same_but(run, call, expected)
        if recorded is not None:
            self._made(run, recorded, call, is_moved=found.is_moved)
            if recorded.event_id and recorded.event_id == self._until:
                self.reached = recorded
                self._tell_stop()
                return self._refused_again()
            if found.is_ambiguous and not self._any_lane:
                return self._diverged(self._compare.described("ambiguous", call, recorded), recorded, call)
        return self._follow(run, call, recorded, found.expected)

    def _same_but(self, run: ReplayedRun, call: AnnouncedCall, expected: RecordedCall | None) -> RecordedCall | None:
        """The recorded call that this is but for what was redacted or is volatile."""
        assert call.lane is not None
        possible = [] if expected is None else [expected]
        if run.matcher.has_workers_beside(call.lane.name):
            possible += run.matcher.left_to_workers(call.lane.name)
        same = next((one for one in possible if self._compare.is_same_but(run.recorded, one, call)), None)
        if same is not None:
            run.matcher.take(same, call.lane)
        return same

    def _made(self, run: ReplayedRun, recorded: RecordedCall, call: AnnouncedCall, *, is_moved: bool) -> None:
        left_out = run.matcher.passed_over(recorded)
        if left_out:
            run.gate.leave_out(left_out, is_certain=not run.matcher.has_workers_beside(recorded.lane))
        run.gate.begin(recorded.turn)
        if is_moved:
            moved = self._compare.described("moved", call, recorded)
            moved.what = "made later than in the recording"
            self._note(moved)
        if self.inputs.has_secrets:
            self.inputs.learn(run.recorded.input_of(recorded), call.input)

    def _follow(
        self, run: ReplayedRun, call: AnnouncedCall, recorded: RecordedCall | None, expected: RecordedCall | None
    ) -> Proceed | Answer | Refuse | None:
        """Do what the plan says; a call that is only observed goes on, and what it asks of others is served."""
        if not call.can_answer:
            run.counts["observed"] += 1
            self._remember(run, call, recorded, None)
            return None
        step = self.plan.step(call, recorded)
        if isinstance(step, Refuse):
            return step
        if isinstance(step, Give):
            return self._give(run, call, recorded, step.answer)
        if isinstance(step, (Enter, Live)):
            if isinstance(step, Live):
                self._count(call, "live")
                run.changed_live += step.is_edited
            self._remember(run, call, recorded, None)
            return Proceed(step.new_input) if isinstance(step, Live) and step.is_edited else None
        if recorded is None or isinstance(step, Diverge):
            return self._unknown(run, call, expected)
        return self._serve(run, call, recorded, step)

    def _give(self, run: ReplayedRun, call: AnnouncedCall, recorded: RecordedCall | None, answer: Answer) -> Answer:
        if answer.served != "refused":
            run.counts["edited" if answer.served == "edited" else "mock"] += 1
        self._remember(run, call, recorded, answer)
        return answer

    def _serve(
        self, run: ReplayedRun, call: AnnouncedCall, recorded: RecordedCall, step: Serve
    ) -> Proceed | Answer | Refuse | None:
        try:
            answer = make_answer(run.recorded, recorded, self.inputs, replay_mode(call))
        except CannotServe as reason:
            if not step.replaces_all:
                return self._run_again(run, call, recorded, str(reason))
            answer = Answer(items=() if "items" in recorded.tape_call.out else None, served="recorded")
        if step.edit is not None:
            answer = step.edit(answer)
        if not recorded.is_unasked:
            run.counts["edited" if answer.served == "edited" else "served"] += 1
            self._served.append(recorded.number)
        self._remember(run, call, recorded, answer)
        return answer

    def _run_again(
        self, run: ReplayedRun, call: AnnouncedCall, recorded: RecordedCall, reason: str
    ) -> Proceed | Answer | Refuse | None:
        calls = run.recorded.recording.calls
        inside = [calls[turn] for turn in run.recorded.recording.made_for(recorded)]
        can_repeat = inside and all(inner.is_servable or run.recorded.recording.inside(inner) for inner in inside)
        if replay_mode(call) == "run" or (can_repeat and replay_mode(call) != "refuse"):
            if not run.recorded.recording.is_answered_inside(recorded):
                run.counts["run_again"] += 1
            self._remember(run, call, recorded, None)
            self._open[call.call_id].is_run_again = True
            return None
        unservable = self._compare.described("unservable", call, recorded)
        unservable.what = f"its result cannot be served: {reason}"
        unservable.hint = f'@tool(replay="run") on {recorded.name} lets it run again' if call.kind == "tool" else ""
        return self._diverged(unservable, recorded, call)

    def _remember(
        self, run: ReplayedRun, call: AnnouncedCall, recorded: RecordedCall | None, answer: Answer | None
    ) -> None:
        if recorded is None:
            return
        self._open[call.call_id] = OpenCall(run, recorded, answer)
        if call.lane is not None and (recorded.lane, recorded.place) != (call.lane.name, call.place):
            call.lane.name_inside(call.place, f"{recorded.lane}:{recorded.place}")
        if answer is not None:
            inside = run.recorded.recording.inside(recorded)
            run.hidden.update(inside)
            run.gate.end(inside)

    # What is different.

    def _unknown(
        self, run: ReplayedRun, call: AnnouncedCall, expected: RecordedCall | None
    ) -> Proceed | Answer | Refuse | None:
        """A call that the recording does not have."""
        if call.kind == "draw" and call.name in WAITING:
            return None  # an older recording has none; the program did not ask for it
        if call.is_over_limits and not call.is_silent and call.call_id not in self._left_to_limits:
            self._left_to_limits.add(call.call_id)  # they refuse it, as they did in the recording
            return None
        if expected is None and run.recorded.why_it_stops is not None:
            ended = self._compare.described("ended", call, None)
            ended.what = run.recorded.why_it_stops or f"its process was killed in {ended.name}"
            return self._diverged(ended, None, call)
        if expected is None and self._on_divergence == "stop" and self._background.take(call):
            return Answer(served="recorded")  # nobody gets it: what becomes of the call is said when it has waited
        if call.lane is not None and run.matcher.is_shared(call.lane.name):
            left = run.matcher.left_to_workers(call.lane.name)
            expected = self._compare.closest(run.recorded, left, call) or expected
        is_changed = expected is not None and (expected.kind, expected.name) == (call.kind, self.inputs.name(call.name))
        divergence = self._compare.described("changed" if is_changed else "extra", call, expected)
        if is_changed and expected is not None:
            self._compare.tell_differences(divergence, run.recorded, expected, call)
        elif expected is not None:
            divergence.what = f"the recording has {expected.name} here"
        return self._diverged(divergence, expected if is_changed else None, call)

    def _diverged(
        self, divergence: Divergence, nearest: RecordedCall | None, call: AnnouncedCall
    ) -> Proceed | Answer | Refuse | None:
        """Note it, and do what is to be done about it."""
        self._note(divergence)
        if divergence.kind_of != "ended" and self._on_divergence == "live":
            self.go_live()
            self._count(call, "live")
            return None
        run = self.run_of(call.run_id)
        if self._on_divergence == "nearest" and nearest is not None and run is not None and call.lane is not None:
            run.matcher.take(nearest, call.lane)
            return self._serve(run, call, nearest, Serve())
        return self._refused_again()

    def _count(self, call: AnnouncedCall, what: str) -> None:
        run = self.run_of(call.run_id)
        if call.kind == "draw" and call.name in WAITING:
            return
        around = self._made_live.get(call.outer_id)
        # A framework's model call stands around its client's, which stands around the exchange: they are one.
        is_part = around is not None and (
            call.kind == "http" or call.is_silent or (call.kind, around) == ("llm", "llm")
        )
        if run is not None and not is_part:
            run.counts[what] += 1
        self._made_live[call.call_id] = call.kind
        if call.is_silent:  # what else stands behind the call that a framework reported is part of it too
            self._made_live[call.outer_id] = call.kind

    def note_effect(self, what: str, source: str | None) -> BaseException | None:
        """The program was about to do something outside every served call; gives what to raise in its place."""
        if self.is_live:
            return None
        if self.is_over:
            return SystemExit()
        effect = Divergence("effect", source=source, what=what)
        effect.hint = "nothing was done"
        if self.stopped is None:
            self._note(effect)
        return AgentDbgReplayDiverged(effect.text(), effect)

    def _note(self, divergence: Divergence) -> None:
        with self._lock:
            before = divergence.number or sys.maxsize
            divergence.equal_before = sum(number < before for number in self._served)
            divergence.total = sum(run.numbered for run in self.runs)
            self.divergences.append(divergence)
            is_stopping = divergence.kind_of in STOPPING or divergence.kind_of == "ended"
            if (
                is_stopping
                and self.stopped is None
                and (self._on_divergence == "stop" or divergence.kind_of in ("effect", "ended"))
            ):
                self.stopped = divergence
        if self.stopped is not None:
            for run in self.runs:
                run.gate.open()
            self._tell_stop()

    def _tell_stop(self) -> None:
        tellers, self.on_stop = self.on_stop, []
        for tell in tellers:
            tell()

    def _refused_again(self) -> Refuse:
        """What every call raises once the program is stopped: first what can be caught, then what cannot."""
        if self.is_over:
            return Refuse(SystemExit())  # ends its thread, and nobody is told
        stopped = self.stopped
        if stopped is None:
            return Refuse(ReplayReached())
        public = AgentDbgReplayDiverged(stopped.text(), stopped)
        place = running_task() or threading.current_thread()
        with self._lock:
            if place in self._told or stopped.kind_of == "ended":
                return Refuse(RunStopped(public))
            self._told.add(place)
        return Refuse(public)

    def go_live(self) -> None:
        """From here on calls that are not on the tape are made, and the machine is open."""
        if not self.is_live:
            self.is_live = True
            for tell in self.on_live:
                tell()

    # Waiting and ending.

    def wait(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Wait for the turn of a call that is served whole."""
        if call.call_id in self._left_to_limits:
            return self._not_refused(call)
        if self._background.is_held(call):
            self._background.wait(call)
            return self._judged_late(call)
        known = self._open.get(call.call_id)
        if known is not None and known.answer is not None and not known.is_late:
            known.run.gate.wait(known.call.turn)
            self._hand_over(known, call)
            if "cancelled" in known.call.tape_call.out:
                return Answer(error=import_module("asyncio").CancelledError(), served="recorded")
        return None

    async def wait_async(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """Do the same where the call is awaited."""
        if call.call_id in self._left_to_limits:
            return self._not_refused(call)
        if self._background.is_held(call):
            await self._background.wait_async(call)
            return self._judged_late(call)
        known = self._open.get(call.call_id)
        if known is not None and known.answer is not None and not known.is_late:
            if "cancelled" in known.call.tape_call.out:
                await _until_cancelled(known.call)
            await _after_timeouts(known.call)
            await known.run.gate.wait_async(known.call.turn)
            self._hand_over(known, call)
        return None

    def _not_refused(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        """No limit refused the call after all, so it is one that the recording does not have."""
        run = self.run_of(call.run_id)
        return None if run is None else self._unknown(run, call, None)

    def _judged_late(self, call: AnnouncedCall) -> Proceed | Answer | Refuse | None:
        is_closed = self.is_over or self.stopped is not None
        return self._refused_again() if is_closed else self._not_refused(call)

    def ended(self, call: AnnouncedCall, _outcome: Outcome) -> None:
        """A served stream waits for its turn here, as its consumer may have made calls; so does what was run again."""
        known = self._open.get(call.call_id)
        if known is not None and (known.is_late or known.is_run_again):
            known.run.gate.wait(known.call.turn)
            if known.is_late:
                self._hand_over(known, call)

    async def ended_async(self, call: AnnouncedCall, _outcome: Outcome) -> None:
        """Do the same where the call is awaited."""
        known = self._open.get(call.call_id)
        if known is not None and (known.is_late or known.is_run_again):
            await known.run.gate.wait_async(known.call.turn)
            if known.is_late:
                self._hand_over(known, call)

    def _hand_over(self, known: OpenCall, call: AnnouncedCall) -> None:
        change_arguments(known.run.recorded, known.call, self.inputs, call.input)
        for tell in self.on_served:
            tell(known.run.recorded, known.call)

    def released(self, call: AnnouncedCall) -> None:
        """The event is on disk: who is next may end."""
        self._left_to_limits.discard(call.call_id)
        self._made_live.pop(call.call_id, None)
        known = self._open.pop(call.call_id, None)
        if known is not None:
            known.run.gate.end([known.call.turn])

    # The end.

    def finish(self) -> None:
        """The program is over: what was recorded and never made is missing, unless the program was stopped."""
        if self.stopped is not None or self.reached is not None or self.is_live:
            return
        for run in self.runs:
            for recorded in run.recorded.recording.calls:
                is_due = recorded.turn not in run.matcher.made and recorded.turn not in run.hidden
                if is_due and run.recorded.counted[recorded.turn] and self.plan.expects(recorded):
                    self._note(missing(recorded, self.ended_by))

    @property
    def first(self) -> Divergence | None:
        """The divergence to be told: what stopped the program, else the first in recorded order."""
        if self.stopped is not None:
            return self.stopped
        return min(self.divergences, key=lambda found: found.in_recorded_order, default=None)

    @property
    def is_equal(self) -> bool:
        """Whether the program did what it had done."""
        return all(found.is_harmless for found in self.divergences)


async def _after_timeouts(recorded: RecordedCall) -> None:
    """Let timeouts strike first that are set now, and struck while the call went on."""
    lasted_s = (recorded.ended_ms - recorded.began_ms) / 1000
    loop = running_loop()
    due = loop.time() + lasted_s
    # A loop that is not Python's own (uvloop) does not show what it will do.
    set_now = [timer for timer in list(getattr(loop, "_scheduled", ())) if timer.when() <= due and is_timeout(timer)]
    for timer in sorted(set_now):
        while not timer.cancelled() and loop.time() <= timer.when():
            later = loop.create_future()
            loop.call_later(min(_LOOK_AGAIN_S, timer.when() - loop.time()), _settle, later)
            await later


def _settle(future: Any) -> None:
    if not future.done():
        future.set_result(None)


async def _until_cancelled(recorded: RecordedCall) -> None:
    """A call that was cancelled waits to be cancelled again; longer than it had lasted only where it did so itself."""
    loop = running_loop()
    cancelled = loop.create_future()
    timer = loop.call_later((recorded.ended_ms - recorded.began_ms) / 1000 + _CANCELLED_S, cancelled.cancel)
    try:
        await cancelled
    finally:
        timer.cancel()
