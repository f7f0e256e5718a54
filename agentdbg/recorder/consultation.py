"""
Asking the deciders about one call, and making it as they say.

A `Consultation` exists only for a call about which somebody is asked. It lasts from before the call is made until its
event is on disk.
"""

from __future__ import annotations

import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.faults import Shield, contain, tell_once
from agentdbg.interruptions import is_interruption
from agentdbg.recorder.deciders import AnnouncedCall, Answer, Decider, Outcome, Proceed, Refuse, deciders_for
from agentdbg.recorder.functions import rebind_arguments

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable

    from agentdbg.recorder.active_run import ActiveRun
    from agentdbg.recorder.calls import Call
    from agentdbg.recorder.limits import Budget

__all__ = ["Consultation", "is_anybody_to_ask", "who_is_to_ask"]

_is_asking: ContextVar[bool] = ContextVar("agentdbg_is_asking", default=False)


def is_anybody_to_ask(kind: str) -> bool:
    """Whether a call of this kind is to be announced: there are deciders, and it is not one of them that makes it."""
    return bool(deciders_for(kind)) and not _is_asking.get()


def who_is_to_ask(call: Call) -> list[Decider]:
    """The deciders that do not pass this call over, the outermost first."""
    deciders = deciders_for(call.kind)
    if not deciders or _is_asking.get():
        return []
    return [decider for decider in deciders if not _ask(decider.passes_over, call)]


class HeldCall(Protocol):
    """The call that the deciders hold."""

    def go_on(self) -> None:
        """Nobody waits any more: take what they left as the input, and a place if there is none yet."""

    def by_name(self, given: Any) -> Any:
        """The arguments that an input stands for, by the names of their parameters."""


class Consultation:
    """What the deciders say about one call."""

    def __init__(self, call: AnnouncedCall) -> None:
        self.call = call
        self.answer: Answer | None = None
        self.refusal: BaseException | None = None
        self.is_edited = False
        self.ended_at: float | None = None
        """When the call itself was over; deciders may look at its outcome for a while."""
        self._asked: list[Decider] = []
        self._outcome: Outcome | None = None
        self._is_told = False

    def ask(self, deciders: Iterable[Decider]) -> None:
        """Ask one after the other, until one answers or refuses."""
        try:
            for decider in deciders:
                self._asked.append(decider)
                self._take(_ask(decider.decide, self.call))
                if self._is_settled():
                    return
        except BaseException:
            self.released()
            raise

    def record_refusal(self, run: ActiveRun, budget: Budget, error: BaseException) -> None:
        """Let the trace say that the call was refused; there will be no other sign of it."""
        call = self.call
        with Shield("record a refusal", run.count_fault):
            fields = run.error_fields(error, {"refused": {"kind": call.kind, "name": call.name}}, None, False)
            name = fields["error_type"]
            draft = run.draft("ERROR", name, fields, call.meta, call.parent_id, budget, source=call.source)
            event_id = run.emit(draft, quiet=True)
            if event_id is not None:
                run.remember_failure(error, event_id)
        self.released()

    # Making the call.

    def make(self, held: HeldCall, function: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Make the call as it was decided: not at all, with another input, or as it is."""
        self.wait(held)
        if self.answer is None:
            return self._called(held, function, args, kwargs or {})
        return _given(self.answer)

    async def make_async(self, held: HeldCall, function: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Do the same with a function that is awaited."""
        await self.wait_async(held)
        if self.answer is None:
            return await self._called(held, function, args, kwargs or {})
        return _given(self.answer)

    def stream(self, held: HeldCall, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do the same with a generator function: gives the generator to read from."""
        self.wait(held)
        return self._called(held, function, args, kwargs) if self.answer is None else _items_of(self.answer)

    async def stream_async(self, held: HeldCall, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Do the same with an asynchronous generator function."""
        await self.wait_async(held)
        return self._called(held, function, args, kwargs) if self.answer is None else _async_items_of(self.answer)

    def wait(self, held: HeldCall) -> None:
        """Let every decider hold the call; the first that then decides anew wins. Raises what one refuses with."""
        for decider in self._asked:
            if self._decided_anew(_ask(decider.wait, self.call)):
                break
        self._go_on(held)

    async def wait_async(self, held: HeldCall) -> None:
        """Do the same without keeping the event loop from its other work."""
        for decider in self._asked:
            if self._decided_anew(await _ask_async(decider.wait_async, self.call)):
                break
        self._go_on(held)

    def _go_on(self, held: HeldCall) -> None:
        held.go_on()
        if self.refusal is not None:
            raise self.refusal

    def _called(self, held: HeldCall, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.is_edited:
            args, kwargs = rebind_arguments(function, args, kwargs, held.by_name(self.call.input))
        return function(*args, **kwargs)

    # When it is over.

    def outcome(self, outcome: Outcome) -> Outcome:
        """What the caller gets: how the call ended, as the deciders leave it. The innermost is told first."""
        self.ended_at = self.ended_at or time.monotonic()
        known, self._outcome = self._outcome, None
        if known is not None or self._is_told:
            return known or outcome
        self._is_told = True
        for decider in reversed(self._asked):
            outcome = self._replaced(outcome, _ask(decider.ended, self.call, outcome))
        return outcome

    async def settle(self, outcome: Outcome) -> None:
        """Let the deciders see the end of an awaited call, without keeping the event loop; `outcome` knows it then."""
        if self._is_told:
            return
        self.ended_at = time.monotonic()
        self._is_told = True
        for decider in reversed(self._asked):
            outcome = self._replaced(outcome, await _ask_async(decider.ended_async, self.call, outcome))
        self._outcome = outcome

    def released(self) -> None:
        """The event is on disk, or there will be none."""
        asked, self._asked = self._asked, []
        for decider in reversed(asked):
            _ask(decider.released, self.call)

    # What was said.

    def _is_settled(self) -> bool:
        return self.answer is not None or self.refusal is not None

    def _decided_anew(self, decision: Any) -> bool:
        if decision is not None:
            self.answer = self.refusal = None
            self._take(decision)
        return decision is not None and self._is_settled()

    def _take(self, decision: Any) -> None:
        call = self.call
        if isinstance(decision, Refuse):
            self.refusal = decision.error
        elif isinstance(decision, Answer) and call.can_answer:
            self.answer = decision
        elif isinstance(decision, Answer):
            _say_impossible(call, "be answered")
        elif isinstance(decision, Proceed) and decision.is_edited:
            if call.can_edit:
                call.input, self.is_edited = decision.new_input, True
            else:
                _say_impossible(call, "get another input")
        elif decision is not None and not isinstance(decision, Proceed):
            contain(TypeError(f"{decision!r:.80} is no decision"), "ask a decider")

    def _replaced(self, outcome: Outcome, instead: Any) -> Outcome:
        if instead is None or instead is outcome or _must_pass(outcome.error):
            return outcome
        if not self.call.can_replace:
            _say_impossible(self.call, "get another outcome")
            return outcome
        return instead if isinstance(instead, Outcome) else outcome


def _ask(method: Callable[..., Any], *given: Any) -> Any:
    before = _is_asking.get()
    try:
        _is_asking.set(True)  # within: an interruption right behind it would leave nobody asked any more
        return method(*given)
    except Exception as fault:  # a decider's fault is no reason for the agent to fail
        if is_interruption(fault):
            raise
        contain(fault, "ask a decider")
        return None
    finally:
        _is_asking.set(before)


async def _ask_async(method: Callable[..., Any], *given: Any) -> Any:
    before = _is_asking.get()
    try:
        _is_asking.set(True)
        return await method(*given)
    except Exception as fault:  # as above
        if is_interruption(fault):
            raise
        contain(fault, "ask a decider")
        return None
    finally:
        _is_asking.set(before)


def _must_pass(error: BaseException | None) -> bool:
    """Whether nobody may put anything in the place of this: Ctrl-C, an exit, a cancelled task, a timeout's signal."""
    return error is not None and (not isinstance(error, Exception) or is_interruption(error))


def _given(answer: Answer) -> Any:
    if answer.error is not None:
        raise answer.error
    return answer.value


def _items_of(answer: Answer) -> Generator[Any, Any, Any]:
    thrown: Exception | None = None
    for piece in _pieces(answer):
        try:
            _sent = yield piece  # what the consumer sends has had its effect: it is in the pieces
        except Exception as error:  # noqa: BLE001 -- goes on where nobody has dealt with it in the recording
            thrown = _if_dealt_with(error, answer)
    _go_on_with(thrown, answer)
    value = _given(answer)
    return None if answer.items is None else value


def _if_dealt_with(thrown: Exception, answer: Answer) -> Exception:
    """What a consumer throws into a generator; only what one did in the recording may have been caught there."""
    if answer.served != "recorded":
        raise thrown
    return thrown


def _go_on_with(thrown: Exception | None, answer: Answer) -> None:
    """Raise what was thrown in, unless the recorded generator made another error of it."""
    error = answer.error
    if thrown is not None and (error is None or (type(error), repr(error.args)) == (type(thrown), repr(thrown.args))):
        raise thrown


async def _async_items_of(answer: Answer) -> AsyncGenerator[Any, Any]:
    thrown: Exception | None = None
    for piece in _pieces(answer):
        try:
            yield piece
        except Exception as error:  # noqa: BLE001 -- as above
            thrown = _if_dealt_with(error, answer)
    _go_on_with(thrown, answer)
    _given(answer)


def _pieces(answer: Answer) -> Iterable[Any]:
    """What a generator yields; a value alone is the one piece of it."""
    if answer.items is not None:
        return answer.items
    return (answer.value,) if answer.error is None else ()


def _say_impossible(call: AnnouncedCall, what: str) -> None:
    place = call.meta.get("framework") or f"this {call.kind}"
    tell_once(f"decider:{place}:{what}", f"a {call.kind} call of {place} cannot {what} here; it goes on as it was")
