"""
The terminal at a breakpoint: what is shown, and the commands a person can give.

`Prompt` asks until an answer is complete, or until somebody else has answered. It prints to standard error only, and
everything printed is cleaned of what would act on the terminal.
"""

from __future__ import annotations

import json
import os
import pdb  # noqa: T100 -- one of the prompt's commands
import shlex
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.control.kept_values import kept_where_unchanged
from agentdbg.control.line_editor import CalledOff, LineEditor
from agentdbg.control.pauses import Answered, Pause, error_named, root_of, steps_into
from agentdbg.control.value_paths import MISSING, parse_path, path_text, value_at, with_value
from agentdbg.control.where import parse_breakpoint
from agentdbg.exceptions import UsageError
from agentdbg.faults import pass_on
from agentdbg.recorder.source_lines import function_source
from agentdbg.safe_text import clean

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from agentdbg.control.where import Breakpoint

__all__ = ["HasPlaces", "Prompt", "edited_in_editor"]

_HELP = """\
  Enter c  continue      n  next call      s  into this call      o  out of it
  p PATH   print         e [PATH[=VALUE]]  edit ($EDITOR)          l  the last ten calls
  skip JSON  answer without calling       raise TYPE "text"        mock JSON  from now on
  b WHERE  break here too   d N  delete one   w  where   pdb  a Python prompt in the caller   q  abort
  state    messages         what the agent had at this moment     back [N]  in a replay: to an earlier call"""
_WORDS = ("continue", "next", "into", "out", "print ", "edit ", "last", "skip ", "raise ", "mock ", "break ", "delete ")
_MORE = ("where", "pdb", "help", "abort", "state", "messages", "back ")
_SHORT = {
    "": "continue",
    "c": "continue",
    "n": "next",
    "s": "into",
    "step": "into",
    "o": "out",
    "p": "print",
    "e": "edit",
    "l": "last",
    "b": "break",
    "d": "delete",
    "w": "where",
    "q": "abort",
    "quit": "abort",
    "h": "help",
    "?": "help",
}
_ENDS = {"continue": "continue", "next": "step", "into": "into", "out": "out", "abort": "abort"}
_MOST_SHOWN = 60
_MOST_FRAMES = 20


class HasPlaces(Protocol):
    """Whoever keeps the breakpoints."""

    places: list[Breakpoint]
    go_back: Callable[[int], object] | None
    """Replay to this call; None where that cannot be."""


class Prompt:
    """Asks the person at the terminal. One for a process, so that it remembers what was typed."""

    def __init__(self) -> None:
        self._editor = LineEditor(self._completions)
        self._last: list[str] = []
        self._pause: Pause | None = None

    def __call__(self, pause: Pause, elsewhere: Callable[[], Answered | None], breaks: HasPlaces) -> Answered:
        """The answer to a pause, from here or from elsewhere."""
        self._pause = pause
        self._last = [*self._last[-9:], f"{pause.number}  {pause.when} {pause.kind} {pause.name}"]
        asked = _Asked(pause, breaks, self._last)
        asked.show()
        found: list[Answered] = []

        def is_called_off() -> bool:
            found[:] = [answer] if (answer := elsewhere()) is not None else []
            return bool(found)

        try:
            while asked.answer is None:
                asked.obey(self._editor.read("(agentdbg) ", is_called_off))
        except CalledOff:
            is_gone = found[0].by == "nobody"
            _say("This waits no longer." if is_gone else f"Answered elsewhere ({found[0].by}): {found[0].do}.")
            return found[0]
        asked.answer.by = "terminal"
        return asked.answer

    def _completions(self, typed: str) -> list[str]:
        word, space, rest = typed.partition(" ")
        if not space:
            return [one for one in (*_WORDS, *_MORE) if one.startswith(word)]
        if _SHORT.get(word, word) in ("print", "edit") and self._pause is not None:
            return [f"{word} {path}" for path in _paths(self._pause) if path.startswith(rest)]
        return []


class _Asked:
    """One pause while its person makes up their mind."""

    def __init__(self, pause: Pause, breaks: HasPlaces, last: list[str]) -> None:
        self._pause = pause
        self._breaks = breaks
        self._last = last
        self._root = root_of(pause.when, pause.kind)
        self._value = pause.shown
        self.answer: Answered | None = None

    def show(self) -> None:
        pause = self._pause
        about = " · ".join(
            one
            for one in (f"call {pause.number}" if pause.number else "", pause.source, pause.lane, pause.spent)
            if one
        )
        what = pause.name if pause.when == "here" else f"{pause.when} {pause.kind} {pause.name}"
        _say(f"⏸ {what}   {about}")
        if pause.error is not None:
            _say(f"  raised {pause.error}")
        if pause.error is None or self._value is not None:
            _say_value(self._value)
        if (state := pause.shows.get("state")) is not None:
            _say(f"  state: {_short(state)}")
        if messages := pause.shows.get("messages"):
            _say(f"  messages: {len(messages)}, the last one {_short(messages[-1])}")

    def obey(self, line: str) -> None:
        word, _, rest = line.strip().partition(" ")
        word, rest = _SHORT.get(word, word), rest.strip()
        try:
            if word in _ENDS:
                self._end(_ENDS[word])
            elif hasattr(self, f"_do_{word}"):
                getattr(self, f"_do_{word}")(rest)
            else:
                _say(f"There is no command {word!r}; help lists them.")
        except UsageError as error:
            _say(f"{error}")

    def _end(self, do: str) -> None:
        answer = Answered(do)
        pause = self._pause
        if self._value is not pause.shown and do != "abort":
            answer.value = kept_where_unchanged(pause.original, pause.shown, self._value)
        self.answer = answer

    def _do_help(self, _: str) -> None:
        _say(_HELP, keep_lines=True)

    def _do_last(self, _: str) -> None:
        for line in self._last:
            _say(f"  {line}")

    def _do_print(self, path: str) -> None:
        value = self._everything() if not path else value_at(self._everything(), self._steps(path))
        if value is MISSING:
            raise UsageError(f"there is nothing at {path}; p alone prints all of it")
        _say(json.dumps(value, indent=2, ensure_ascii=False, default=str), keep_lines=True)

    def _do_edit(self, what: str) -> None:
        self._need(can=self._pause.can_edit)
        path, equals, value = what.partition("=")
        if equals:
            steps = steps_into(self._root, self._value, path.strip())
            changed = with_value(self._everything(), steps, _typed_value(value.strip()))
        elif what:
            steps = steps_into(self._root, self._value, what)
            found = value_at(self._everything(), steps)
            if found is MISSING:
                raise UsageError(f"there is nothing at {what}")
            changed = with_value(self._everything(), steps, edited_in_editor(found))
        else:
            changed = {**self._everything(), self._root: edited_in_editor(self._value)}
        self._value = changed[self._root]
        _say_value(self._value)

    def _do_skip(self, value: str) -> None:
        self._need(can=self._pause.can_skip)
        if self._pause.when == "after":
            self._value = _json(value)
            self._end("continue")
        else:
            self.answer = Answered("skip", _json(value))

    def _do_mock(self, value: str) -> None:
        self._need(can=self._pause.can_skip)
        self.answer = Answered("mock", _json(value))

    def _do_raise(self, what: str) -> None:
        self._need(can=self._pause.can_skip)
        name, _, text = what.partition(" ")
        if not name:
            raise UsageError('raise needs a type: raise TimeoutError "the service is down"')
        self.answer = Answered("raise", error=error_named(name, str(_json_or_text(text.strip())) if text else ""))

    def _do_break(self, where: str) -> None:
        if where:
            self._breaks.places.append(parse_breakpoint(where))
        for number, place in enumerate(self._breaks.places, 1):
            _say(f"  {number}  {place.text}")

    def _do_delete(self, number: str) -> None:
        if not number.isdigit() or not 1 <= int(number) <= len(self._breaks.places):
            raise UsageError("delete needs the number of a breakpoint; b lists them")
        del self._breaks.places[int(number) - 1]
        self._do_break("")

    def _do_where(self, _: str) -> None:
        for number, frame in enumerate(self._frames(), 1):
            code = frame.f_code
            _say(f"  {number}  {function_source(code.co_filename)}:{frame.f_lineno} in {code.co_name}")

    def _do_state(self, _: str) -> None:
        self._say_moment("state", "no state was recorded yet; agentdbg.record_state(…) in the program does that")

    def _do_messages(self, _: str) -> None:
        if self._pause.kind == "llm" and self._pause.when == "before":
            self._do_print("")
        else:
            self._say_moment("messages", "no model was asked yet")

    def _say_moment(self, name: str, nothing: str) -> None:
        if name not in self._pause.shows:
            raise UsageError(nothing)
        _say(json.dumps(self._pause.shows[name], indent=2, ensure_ascii=False, default=str), keep_lines=True)

    def _do_back(self, steps: str) -> None:
        if self._breaks.go_back is None:
            raise UsageError("back works in `agentdbg replay` at its own terminal: there nothing is live")
        if steps and not steps.isdecimal():
            raise UsageError("back takes a number of calls, as in: back 3")
        pause = self._pause
        before = pause.calls_before or pause.number - (pause.when == "before")
        target = before + 1 - int(steps or 1)
        if target < 1:
            left = {0: "no call is", 1: "only 1 call is"}.get(before, f"only {before} calls are")
            raise UsageError(f"{left} before this place")
        self._breaks.go_back(target)

    def _do_pdb(self, _: str) -> None:
        frames = self._frames()
        debugger = _Debugger(frames)
        debugger.reset()
        debugger.interaction(frames[0], None)

    def _frames(self) -> list[FrameType]:
        if not self._pause.frames:
            raise UsageError("the program's own code cannot be seen from here; at its own terminal it can")
        return self._pause.frames[:_MOST_FRAMES]

    def _need(self, *, can: bool) -> None:
        if not can:
            whys = {"here": "no call waits", "after": "the program has it already"}
            why = whys.get(self._pause.when, "whoever makes the call lets nobody change it")
            raise UsageError(f"this can only be looked at here: {why}")

    def _steps(self, path: str) -> tuple[str | int, ...]:
        """Where a path leads; what is shown is meant where it begins with a name in it."""
        steps = parse_path(path)
        return steps if steps[0] in self._everything() else steps_into(self._root, self._value, path)

    def _everything(self) -> dict[str, Any]:
        return {self._root: self._value, **({"shows": self._pause.shows} if self._pause.shows else {})}


def edited_in_editor(value: Any) -> Any:
    """The value as a person leaves it in `$EDITOR`. Raises UsageError where it is not JSON."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UsageError("set $EDITOR to the editor you like, or write the change as PATH=VALUE")
    with tempfile.TemporaryDirectory(prefix="agentdbg-") as folder:
        path = os.path.join(folder, "value.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=2, ensure_ascii=False, default=str)
        try:
            subprocess.run([*shlex.split(editor), path], check=True)  # noqa: S603 -- the user's own editor, as asked
        except (OSError, subprocess.CalledProcessError) as error:
            raise UsageError(f"the editor {editor!r} did not end well: {error}") from None
        with open(path, encoding="utf-8") as file:
            return _json(file.read())


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f'that is not JSON: {error}; a text needs quotes, as in "done"') from None


def _typed_value(text: str) -> Any:
    """JSON, else text; what begins like JSON has to be some, or a slip would become a text. Raises UsageError."""
    return _json(text) if text[:1] in ("{", "[") else _json_or_text(text)


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        pass_on(error)
        return text


def _say(text: str, *, keep_lines: bool = False) -> None:
    sys.stderr.write(clean(text, keep_lines=keep_lines) + "\n")
    sys.stderr.flush()


def _say_value(value: Any) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            _say(f"  {key}  {_short(one)}")
    else:
        _say(f"  {_short(value)}")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 200 else f"{text[:197]}…"


def _paths(pause: Pause) -> list[str]:
    root = root_of(pause.when, pause.kind)
    found: list[str] = []

    def walk(value: Any, steps: tuple[str | int, ...]) -> None:
        if len(found) < _MOST_SHOWN:
            found.append(path_text(steps))
            inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
            for key, one in inside:
                walk(one, (*steps, key))

    walk(pause.shown, (root,))
    return found


class _Debugger(pdb.Pdb):
    """Python's own, for frames of which some may belong to tasks that wait and are on no stack."""

    def __init__(self, frames: list[FrameType]) -> None:
        super().__init__(stdout=sys.stderr)
        self._frames = frames

    def get_stack(self, f: FrameType | None, t: Any) -> tuple[list[tuple[FrameType, int]], int]:  # noqa: ARG002
        """The frames with their lines, the outermost first, and which of them is looked at."""
        stack = [(frame, frame.f_lineno) for frame in reversed(self._frames)]
        return stack, len(stack) - 1
