"""
The door that every call goes through: announced before it is made, recorded when it is over.

A `Call` asks the deciders, takes a place in the run's limits (which may refuse it, then no call is made), writes
CALL_START, and records its outcome. It stands around a decorated function, is the heart of a block, and is what
integrations use. Where nobody is asked, results and exceptions pass through untouched. Whatever has begun is ended,
also when an interruption (a signal handler's exception) comes in between.

An HTTP exchange ("http") or a request to an MCP server ("mcp") goes through the same door, but is no event.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agentdbg.events import new_id
from agentdbg.faults import Shield, is_contained, tell_once
from agentdbg.interruptions import is_not_ours
from agentdbg.recorder import lanes
from agentdbg.recorder.consultation import Consultation, is_anybody_to_ask, who_is_to_ask
from agentdbg.recorder.context import current_scope, enter_scope
from agentdbg.recorder.deciders import EXCHANGES, AnnouncedCall, Outcome, deciders_for
from agentdbg.recorder.known_call import KnownCall
from agentdbg.recorder.paused_time import took_ms
from agentdbg.recorder.prices import normalise_usage
from agentdbg.recorder.run_lifecycle import implicit_scope
from agentdbg.recorder.source_lines import user_source

if TYPE_CHECKING:
    from agentdbg.recorder.context import Scope
    from agentdbg.recorder.deciders import Decider
    from agentdbg.redaction.sealed_items import SealedValue
    from agentdbg.tape.tape_writer import TapeCall

__all__ = ["EVERYTHING", "Call", "enclosing_call"]

EVERYTHING = ("answer", "edit", "replace")
_GIVEN = ("kind", "_name", "_given", "_meta", "_fields")

open_calls: dict[str, Call] = {}
"""The calls being made, by id."""


def enclosing_call(kind: str) -> Call | None:
    """
    The call of this kind that is being recorded around this code, if the code stands directly in one.

    A model's client that finds itself inside a model call leaves the recording to it: one call is one event.
    """
    scope = current_scope()
    call = None if scope is None else open_calls.get(scope.parent_id)
    return call if call is not None and call.kind == kind else None


class Call(KnownCall):
    """One call while it is being made."""

    left: tuple[BaseException, int] | None = None
    """The cancellation that its request to the server ended with, and after how long, where one did."""

    # Before the call.

    def begin(
        self,
        scope: Scope | None = None,
        *,
        parent_id: str | None = None,
        source: str | None = None,
        can: tuple[str, ...] = EVERYTHING,
    ) -> bool:
        """
        Announce the call, take a place and write CALL_START; False when nothing is being recorded.

        Raises when a decider or a limit refuses. The call belongs where the running code does, unless `scope`,
        `parent_id` or `source` say otherwise. `can` is what deciders may do here.
        """
        if self._ended:  # the same block once more, of which nothing is known yet
            given = {key: self.__dict__[key] for key in _GIVEN}
            self.__dict__.clear()
            self.__dict__.update(given)
        self._is_placed = scope is not None
        scope = scope or current_scope()
        if scope is None and (scope := implicit_scope()) is None:
            return False
        is_followed = lanes.is_followed(scope.run.run_id)
        self.is_silent = self.is_silent or self.kind in EXCHANGES
        if self.is_silent and not (is_followed or is_anybody_to_ask(self.kind)):
            return False
        self._source = source or user_source(2)
        self._outer = scope
        self.belongs_to = scope.parent_id if scope.parent_id in open_calls else None
        implied_parent = scope.llm_id or scope.parent_id if self.kind == "tool" else scope.parent_id
        self._parent_id = parent_id or implied_parent
        self._started = time.monotonic()
        call_id = new_id()
        if is_followed:
            self.lane = lanes.current(scope.run.run_id)
            self.place = self.lane.place()
        if deciders_for(self.kind) and (deciders := who_is_to_ask(self)):
            self._ask(deciders, call_id, can)
        try:
            self._begin_recorded(scope, call_id, can)
        except BaseException as fault:
            if scope.run.is_open(call_id):
                self._call_id = call_id
                self._end(fault)
            open_calls.pop(call_id, None)
            self._call_id = None
            self._release()
            if not is_contained(fault, "record the start of a call", scope.run.count_fault):
                raise
            return False
        return True

    def _begin_recorded(self, scope: Scope, call_id: str, can: tuple[str, ...]) -> None:
        self._can_be_served = "answer" in can
        self._is_client = "edit" not in can
        sealed = None if self.is_silent else scope.run.seal_input(self.kind, self._given)
        self._sealed = None if sealed is None else sealed[0]
        self._tape_input()
        if not self.is_silent:
            if self.kind == "llm":
                self._say_if_unpriced(scope)
            scope.run.begin_call(
                call_id,
                self.kind,
                self._name,
                self._given,
                self._parent_id,
                scope.budget,
                self._meta,
                self._has_place,
                sealed,
            )
        self.scope = scope.inside(call_id)
        self._call_id = call_id
        open_calls[call_id] = self
        if self.lane is not None and can:  # else it is only reported, and may end in any thread
            self.inside = self.lane.inside(self.place)
            if not self.is_silent:  # of which only the making is inside: an answer is read by whoever asked
                lanes.enter(self.inside)

    def _say_if_unpriced(self, scope: Scope) -> None:
        """A limit in dollars does not hold for a model whose price is not known; said before it is asked."""
        if any(budget.limits.max_cost_usd is not None for budget in scope.budget.chain):
            model = scope.run.clean_name(self._name)
            if not scope.run.prices.knows(model):
                tell_once(
                    f"price:{model}",
                    f"max_cost_usd does not hold for {model}, whose price is not known here; give it one: "
                    f"agentdbg prices --set {model} --input USD --output USD",
                )

    def _ask(self, deciders: list[Decider], call_id: str, can: tuple[str, ...]) -> None:
        """Ask the deciders. Raises what one of them refuses with, once that is on disk."""
        assert self._outer is not None
        call = AnnouncedCall(self.kind, self._name, self._given, dict(self.meta), can=can)
        call.call_id, call.run_id, call.parent_id = call_id, self._outer.run.run_id, self._parent_id
        call.is_silent = self.is_silent
        call.outer_id, call.source = self._outer.parent_id, self._source
        call.lane, call.place = self.lane, self.place
        call.budgets = self._outer.budget.chain
        decided = Consultation(call)
        decided.ask(deciders)
        if decided.refusal is not None:
            decided.record_refusal(self._outer.run, self._outer.budget, decided.refusal)
            raise decided.refusal
        self.decided, self._given = decided, call.input
        self._has_place = decided.answer is None or self.is_silent

    def make(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Make the call by calling `function`, unless a decider answers in its place."""
        self._go_inside()
        try:
            if self.decided is None:
                result = function(*args, **kwargs)
            else:
                result = self.decided.make(self, function, args, kwargs)
        except BaseException as error:
            self._made = Outcome(error=error)
            raise
        else:
            self._made = Outcome(result)
            return result
        finally:
            self._step_back()

    async def make_async(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Do the same with a function that is awaited."""
        self._go_inside()
        try:
            if self.decided is None:
                result = await function(*args, **kwargs)
            else:
                result = await self.decided.make_async(self, function, args, kwargs)
        except BaseException as error:
            self._made = Outcome(error=error)
            raise
        else:
            self._made = Outcome(result)
            return result
        finally:
            self._step_back()

    def _go_inside(self) -> None:
        if self.is_silent and self.inside is not None:
            lanes.enter(self.inside)

    def _step_back(self) -> None:
        if self.is_silent:
            self._tell_around()
            self._come_back()

    def _tell_around(self) -> None:
        around = open_calls.get(self.belongs_to or "")
        if around is not None and around.kind == ("llm" if self.kind == "http" else self.kind):
            answer = None if self.decided is None else self.decided.answer
            around.behind = (*around.behind, None if answer is None else answer.served)
            error = None if self._made is None else self._made.error
            around.left = None
            if error is not None and type(error).__name__ == "CancelledError":
                around.left = type(error)(), int((time.monotonic() - self._started) * 1000)

    def go_on(self) -> None:
        """Go on after the deciders have waited: with what they left as the input, and now the time counts."""
        assert self._outer is not None
        assert self.decided is not None
        if self.decided.call.input is not self._given:
            self._given, self._sealed = self.decided.call.input, None
            self._tape_input()
        self._started = time.monotonic()
        if self.decided.answer is None and self.decided.refusal is None and not self._has_place:
            self._has_place = True
            self._outer.run.take_place(self.decided.call.call_id, self.kind, self._parent_id, self._outer.budget)

    def _tape_input(self) -> None:
        """Keep what the call is made with, now: it may be changed meanwhile."""
        tape = None if self._outer is None or self.lane is None else self._outer.run.tape
        if tape is not None and self.lane is not None:
            self._taped = tape.begin(
                self.kind, self._name, self._given, self.lane, self.place, self._source, self._sealed
            )
            self._taped.can_be_served = self._can_be_served

    def _tape_outcome(self, error: Any, sealed: SealedValue | None = None) -> TapeCall | None:
        """What the tape gets; `sealed` is what the event gets of the outcome."""
        taped = self._taped
        if taped is None or taped.is_ended:
            return taped
        if (in_round := lanes.current_round()) is not None:
            taped.fields["i"] = in_round
        if self.behind and self._is_client and self.kind == "llm" and taped.can_be_served:
            taped.answer_inside()
        if self._items is not None:
            raised = error if isinstance(error, BaseException) else None
            taped.yielded(self._items, self._returned, raised, is_closed=self._is_closed)
        elif self.kind == "http" and isinstance(self.result, dict):
            taped.exchanged(**self.result)
        elif self._made is not None and not self.is_silent:
            if self._made.error is not None:
                taped.raised(self._made.error, self._made.trace)
            else:
                taped.returned(self._made.value, sealed if self._made.value is self._outcome else None)
        elif error is not None:
            taped.raised(error, getattr(error, "__traceback__", None))
        else:
            taped.returned(self._outcome, sealed)
        return taped

    # In between.

    def step_out(self) -> None:
        """What follows is not made inside this call, although it has not ended: its answer is being read."""
        open_calls.pop(self._call_id or "", None)
        self._come_back()

    def _come_back(self) -> None:
        if self.inside is not None:
            lanes.leave(self.inside)

    # When it is over.

    def finish(self, result: Any) -> Any:
        """The call came back; gives what its caller gets."""
        if self.decided is not None:
            outcome = self.decided.outcome(Outcome(result))
            if outcome.error is not None:
                self._take_items()
                self._end(outcome.error)
                raise outcome.error from None
            result = outcome.value
        self._returned = result
        self._take(self._whole(result))
        self._end(None)
        return result

    async def settle(self, result: Any) -> None:
        """Let deciders see what came back before `finish` does, without keeping the event loop from its other work."""
        if self.decided is not None:
            await self.decided.settle(Outcome(result))

    def fail(self, error: BaseException) -> Outcome | None:
        """The call raised; gives what its caller gets instead, or None: the same exception."""
        if self.is_over:
            return None
        self._take_items()
        outcome = None if self.decided is None else self.decided.outcome(Outcome(error=error))
        if outcome is None or outcome.error is error:
            self._end(error)
            return None
        if outcome.error is None:
            self._take(self._whole(outcome.value))
        self._end(outcome.error)
        return outcome

    def end(self, result: Any, error: Any = None) -> None:
        """The call is over, as a framework reports it; with an error, `result` is as far as it came."""
        if self.decided is not None:
            self.decided.outcome(Outcome(result, error if isinstance(error, BaseException) else None))
        if self._made is None and self._taped is not None:
            self._taped.can_be_served = False  # what is reported need not be what the program got
        self._take(result)
        self._end(error)

    def close(self) -> None:
        """The consumer of a generator had enough."""
        if self.is_over:
            return
        self._is_closed = True
        self._take_items()
        if self.decided is not None:
            self.decided.outcome(Outcome(self._whole(None)))
        self._end(None)

    def drop(self) -> None:
        """It will never be known how this ended."""
        if self._call_id is not None and self._outer is not None and not self._ended:
            self._ended = True
            open_calls.pop(self._call_id, None)
            self._come_back()
            self._outer.run.release_call(self._call_id)
            self._release()

    def _end(self, error: Any) -> None:
        if self._ended or self._call_id is None or self._outer is None:
            return
        run = self._outer.run
        open_calls.pop(self._call_id, None)
        self._come_back()
        if self._started < run.forked_at:  # this process was forked inside the call, and leaves it
            self._ended = True
            self._release()
            return
        if self.duration_ms is None:
            ended = time.monotonic() if self.decided is None else self.decided.ended_at or time.monotonic()
            self.duration_ms = took_ms(self._started, ended, self._call_id, self._outer.parent_id)
        with Shield("record a call", run.count_fault):
            try:
                if not self.is_silent:
                    self._record(error)
                elif (taped := self._tape_outcome(error)) is not None:
                    if self.kind != "http" and self.belongs_to is not None:
                        taped.fields["of"] = self.belongs_to
                    run.keep(taped, self.belongs_to if self.kind == "http" else None)
            except BaseException as fault:
                if run.is_open(self._call_id):
                    self._record_without_result(fault if is_not_ours(fault) else error)
                raise
            finally:
                self._ended = True
                self._release()
        if self.kind == "llm" and not self._is_placed:
            here = current_scope()
            if here is not None and here.run is run and here.parent_id == self._outer.parent_id:
                enter_scope(here.after_model_call(self._call_id))

    def _record(self, error: Any) -> None:
        assert self._outer is not None
        assert self._call_id is not None
        run = self._outer.run
        if self.error is None:
            self.error = error
        counts = self.kind != "llm" or _counts_input(self.usage)
        if self._from_inside is None and self._ask_inside is not None and self.error is None:
            self._from_inside = self._ask_inside() if self.response is None or not counts else None
        if not counts and (self._from_inside or {}).get("usage"):  # who stands nearer to the server knows better
            self.usage = None
        if self._from_inside is not None:
            self._fill_in(self._from_inside)
        if type(self.error).__name__ == "CancelledError":
            self.learn(meta={"cancelled": True})
        if self._items is not None and type(self._outcome) is list:
            self._take(run.clean_items(self._outcome))
        value = self._outcome
        output = None if value is None else run.seal_output(self.kind, value)
        fields, given = self._payload(output)
        draft = run.draft(
            "LLM_CALL" if self.kind == "llm" else "TOOL_CALL",
            self._name,
            fields,
            self._meta,
            self._parent_id,
            self._outer.budget,
            given,
            self.duration_ms,
            self._source,
            self._call_id,
            taped=self._tape_outcome(error, output),
        )
        recorded = run.emit(draft, quiet=True)
        if isinstance(error, BaseException) and recorded is not None:
            run.remember_failure(error, self._call_id)

    def _record_without_result(self, error: Any) -> None:
        """End a call whose record failed or was interrupted: describing its result may be what took so long."""
        assert self._outer is not None
        assert self._call_id is not None
        self.result = self.response = self.usage = self.stop_reason = None
        self.error = error
        self._from_inside = self._ask_inside = None
        if self._taped is not None:
            self._taped.lost("its result could not be recorded")
        with Shield("record a call", self._outer.run.count_fault):
            try:
                self._record(error)
            except BaseException:
                self._outer.run.release_call(self._call_id)
                raise

    def _release(self) -> None:
        if self.decided is not None:
            self.decided.released()


def _counts_input(usage: Any) -> bool:
    """Whether a usage tells how many tokens were asked with; none at all is said by those who do not know."""
    return bool((normalise_usage(usage) or {}).get("prompt_tokens"))
