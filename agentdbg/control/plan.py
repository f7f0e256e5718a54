"""
What is to be done with each call of a session. A replay serves every one; a fork and mocks do more.

For every call the session finds the recorded one and asks its plan for a step:

- `Serve()` gives the recorded outcome; `Serve(edit)` gives what `edit` makes of it (a fork's `--set result=…`).
- `Give(answer)` gives another outcome (a mock, a fault).
- `Live(…)` makes the call, perhaps with another input (what comes after a fork's cut).
- `Enter()` makes a client's call so that what it asks over HTTP is decided: there an answer has its provider's form.
- `Refuse(error)` makes it not (a write that is denied).
- `Diverge()` is the usual for a call that is not on the tape, and stops the program.

To build a fork, derive from `Plan`: serve what had ended at the cut (`recorded.turn`), edit the call at the cut, say
`Live()` for all else, and call `session.go_live()` once the cut is passed, so that the machine is open. Breakpoints are
no plan but a decider of their own, added before the session: they see every call first, wait, and may answer in its
place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from agentdbg.control.recorded import RecordedCall
    from agentdbg.recorder.deciders import AnnouncedCall, Answer, Decider, Refuse

    Step: TypeAlias = "Serve | Give | Live | Enter | Diverge | Refuse"

__all__ = ["Diverge", "Enter", "Give", "Live", "Plan", "ReplayPlan", "Serve"]

_UNCHANGED: Any = object()


class Serve:
    """Give the recorded outcome, or what `edit` makes of it; one that replaces all of it needs none."""

    def __init__(self, edit: Callable[[Answer], Answer] | None = None, *, replaces_all: bool = False) -> None:
        self.edit = edit
        self.replaces_all = replaces_all


class Give:
    """Give this outcome."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer


class Live:
    """Make the call, with another input if one is given."""

    def __init__(self, new_input: Any = _UNCHANGED) -> None:
        self.is_edited = new_input is not _UNCHANGED
        self.new_input = new_input if self.is_edited else None


class Enter:
    """Make the call, which counts for nothing itself: what it asks over HTTP is asked about."""


class Diverge:
    """The call is not as it was recorded; the session says how, and does what `on_divergence` says."""


class Plan:
    """Derive from this to do more than replay."""

    deciders: Sequence[Decider] = ()
    """Who is to see each call before the session does."""
    session: Any = None
    """The session that asks; it says so itself."""

    def step(self, call: AnnouncedCall, recorded: RecordedCall | None) -> Step:
        """Say what to do with a call; `recorded` is the same call on the tape, None when there is none."""
        raise NotImplementedError

    def expects(self, _: RecordedCall) -> bool:
        """Say whether the program is to make this recorded call, so that it is missing when it does not."""
        return True


class ReplayPlan(Plan):
    """Serve what was recorded, and nothing else."""

    def step(
        self,
        _: AnnouncedCall,
        recorded: RecordedCall | None,
    ) -> Step:
        """Say what to do with a call."""
        return Diverge() if recorded is None else Serve()
