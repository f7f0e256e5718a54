"""
A fork: the recorded steps are served up to a cut, one of them is changed, and from there the program goes on live.

What had ended at the cut is served; the cut itself is edited, served or made with another input; everything else is
made, also what was under way then. Tools that write are asked about, and denied where nobody can be asked.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.effects import NO_RULES, EffectRules, guess
from agentdbg.control.edits import edited_answer, edited_input
from agentdbg.control.pauses import is_terminal
from agentdbg.control.plan import Diverge, Enter, Give, Live, Plan, Serve
from agentdbg.events import REDACTED
from agentdbg.exceptions import AgentDbgForkRefused, UsageError
from agentdbg.faults import tell_once
from agentdbg.recorder.deciders import Answer
from agentdbg.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentdbg.control.edits import Edit
    from agentdbg.control.mocks import Mocks
    from agentdbg.control.plan import Step
    from agentdbg.control.recorded import RecordedCall
    from agentdbg.control.tapes import RecordedRun
    from agentdbg.recorder.deciders import AnnouncedCall

__all__ = ["ForkPlan", "MockedPlan", "check_edits"]


class MockedPlan(Plan):
    """Serve what was recorded, but for what is mocked."""

    def __init__(self, mocks: Mocks | None = None) -> None:
        self._mocks = mocks
        if mocks is not None:
            mocks.is_planned = True
            self.deciders = (mocks,)

    def step(self, call: AnnouncedCall, recorded: RecordedCall | None) -> Step:
        """Say what to do with a call."""
        return self._mocked(call, recorded) or (Diverge() if recorded is None else Serve())

    def expects(self, recorded: RecordedCall) -> bool:
        """Say whether the program is to make this recorded call: a mocked one may be made otherwise, or not at all."""
        return self._mocks is None or not self._mocks.may_answer(recorded.kind, recorded.name)

    def _mocked(self, call: AnnouncedCall, recorded: RecordedCall | None) -> Give | Enter | None:
        if self._mocks is None:
            return None
        if self._mocks.is_answered_inside(call):
            return Enter()
        answer = self._mocks.answer(call, self._recorded_value(call, recorded))
        return None if answer is None else Give(answer)

    def _recorded_value(self, call: AnnouncedCall, recorded: RecordedCall | None) -> Any:
        run = None if self.session is None else self.session.run_of(call.run_id)
        out = {} if recorded is None else recorded.tape_call.out
        given = out.get("items", out.get("ok"))
        return None if run is None or given is None else run.recorded.tape.value(given)


class ForkPlan(MockedPlan):
    """Serve until the cut, change it, go on live."""

    def __init__(
        self,
        main: RecordedRun,
        cut: str,
        edits: Sequence[Edit],
        *,
        edits_for_all: Sequence[Edit] = (),
        writes: str = "ask",
        rules: EffectRules = NO_RULES,
        secrets: Mapping[int, str] | None = None,
        mocks: Mocks | None = None,
    ) -> None:
        super().__init__(mocks)
        self._main = main
        self._turns = {call.turn for call in main.recording.calls if call.event_id == cut}
        self._last = max(self._turns)
        self._place = main.recording.place_of(cut)
        self._outcomes = [edit for edit in edits if edit.is_outcome]
        self._inputs = [edit for edit in edits if not edit.is_outcome]
        self._for_all = list(edits_for_all)
        self._writes = writes
        self._rules = rules
        self._secrets = dict(secrets or {})
        self.refused: list[str] = []
        self.was_reached = False
        """Whether the program came to the step at the cut."""

    def step(self, call: AnnouncedCall, recorded: RecordedCall | None) -> Step:
        """Say what to do with a call."""
        self.was_reached |= recorded is not None and recorded.turn in self._turns
        if recorded is not None and recorded.turn < self._last and recorded.turn not in self._turns:
            if self._mocks is not None:
                self._mocks.pass_over(call)
            return Serve()
        if (mocked := self._mocked(call, recorded)) is not None:
            return mocked
        if recorded is not None and recorded.turn in self._turns:
            return self._at_the_cut(call, recorded)
        if self._is_inside_the_cut(recorded, call):
            return Serve()
        return self._live(call, recorded)

    def expects(self, recorded: RecordedCall) -> bool:
        """Say whether the program is to make this recorded call: it may do something else from the cut on."""
        return recorded.turn < self._last

    def _is_inside_the_cut(self, recorded: RecordedCall | None, call: AnnouncedCall) -> bool:
        """A client's model call is only observed; what it asks over HTTP is what is changed."""
        return recorded is not None and recorded.turn <= self._last and not call.can_answer

    def _at_the_cut(self, call: AnnouncedCall, recorded: RecordedCall) -> Serve | Live | Enter | Give:
        is_place = recorded.turn == self._place.turn
        if not is_place and recorded.kind == "llm" and (self._inputs or self._outcomes):
            return Enter()  # a client's call, which could be served whole; what is changed is inside it
        if not is_place and recorded.turn != self._last:
            return Serve()
        if self._inputs and (is_place or call.can_edit):
            self._open()
            return self._about_write(call, self._inputs) or self._made(call, self._inputs)
        if recorded.turn == self._last or is_place:
            self._open()
        if not self._outcomes or not is_place:
            return Serve()
        request = call.input if call.kind == "http" else None
        replaces_all = self._outcomes[0].replaces_all and request is None
        return Serve(lambda answer: self._edited(answer, request), replaces_all=replaces_all)

    def _edited(self, answer: Answer, request: Any) -> Answer:
        return edited_answer(answer, self._outcomes, request)

    def _live(self, call: AnnouncedCall, recorded: RecordedCall | None) -> Serve | Live | Give:
        self._open()
        edits = self._for_all if self._concerns_all(call) and self._fit(call) else ()
        return self._about_write(call, edits, recorded) or self._made(call, edits)

    def _concerns_all(self, call: AnnouncedCall) -> bool:
        """`--set-all` is for calls of the kind that was cut at; at a client, for what goes over HTTP."""
        return (
            bool(self._for_all)
            and call.can_edit
            and call.kind
            in (
                "http",
                "llm" if self._place.kind == "http" else self._place.kind,
            )
        )

    def _fit(self, call: AnnouncedCall) -> bool:
        """Whether a call has what is to be changed in all; one that has not is made, or refused, as it is."""
        try:
            edited_input(call.kind, call.input, self._for_all)
        except UsageError as error:
            tell_once(f"fork:{call.plain_name}", f"{call.plain_name} is not changed by --set-all: {error}")
            return False
        return True

    def _made(self, call: AnnouncedCall, edits: Sequence[Edit]) -> Live | Give:
        given = edited_input(call.kind, call.input, edits) if edits else call.input
        text = json.dumps(given, default=str, ensure_ascii=False) if f"{REDACTED}:" in repr(given) else ""
        if f"{REDACTED}:" in text:
            filled = text
            for number, secret in self._secrets.items():
                filled = filled.replace(f"{REDACTED}:{number}", secret)
            if f"{REDACTED}:" in filled:
                unknown = filled.partition(f"{REDACTED}:")[2][:3].rstrip('",}] ')
                return self._refuse(
                    f"{call.plain_name} would send a secret's marker; --secret {unknown}=env:NAME fills it"
                )
            return Live(json.loads(filled))
        return Live(given) if edits else Live()

    def _about_write(
        self, call: AnnouncedCall, edits: Sequence[Edit], recorded: RecordedCall | None = None
    ) -> Serve | Give | None:
        """What is said about a tool that may write with the arguments it would get; None: it is made."""
        if call.kind != "tool":
            return None
        name, given = call.plain_name, edited_input(call.kind, call.input, edits)
        effect = call.meta.get("effect") or self._rules.kind_of(name) or guess(name, given).kind
        if effect == "read" or self._writes == "allow":
            return None
        if self._writes == "recorded" and recorded is not None:
            return Serve()
        what = "writes" if effect == "write" else "may write (mark it with @tool(effect=…) to be certain)"
        if self._writes == "ask" and is_terminal() and _is_agreed(name, what, given):
            return None
        if self._writes == "recorded":
            return self._refuse(f"{name} {what}, and this call of it is not on the tape; --writes allow makes it")
        return self._refuse(f"{name} {what}, and a fork makes no writes unless it is told to; --writes allow does")

    def _refuse(self, why: str) -> Give:
        """The program gets an exception; so does whoever replays the fork."""
        self.refused.append(why)
        return Give(Answer(error=AgentDbgForkRefused(why), served="refused"))

    def _open(self) -> None:
        if self.session is not None:
            self.session.go_live()


def _is_agreed(name: str, what: str, given: Any) -> bool:
    shown = json.dumps(given, default=str, ensure_ascii=False)[:300]
    sys.stderr.write(clean(f"agentdbg: {name} {what}: {shown}\nMake this call? [y/N] ", keep_lines=True))
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def check_edits(plan_edits: Sequence[Edit], kind: str, name: str) -> None:
    """Refuse what makes no sense for the call at the cut, before anything runs."""
    for edit in plan_edits:
        root = edit.path[0]
        if root == "result" and kind == "llm":
            raise UsageError(f"the step there, {name}, is a model call; what it gives is set with response=…")
        if root == "response" and kind == "tool":
            raise UsageError(f"the step there, {name}, is a tool call; what it gives is set with result=…")
        if root == "args" and kind == "llm":
            raise UsageError(f"the step there, {name}, is a model call; set its messages, system, model …")
