"""
What an error says: its class and message as one text, and the frame of the user's own code in its stack.

Errors stand in LLM_CALL, TOOL_CALL, RUN_END and spans as an object, in ERROR as the payload itself, in older traces as
a plain text; all of them are read here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from agentdbg.analysis.wording import as_text, one_line

__all__ = ["Failure", "Frame", "failure_of", "user_frame"]

_FRAME = re.compile(r'^[ \t]*File "([^"\n]{1,500})", line (\d{1,9}), in ([^\n]{1,200})$', re.MULTILINE)
# Libraries, and the files of ours that stand between a caller and the function it calls.
_FOREIGN = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|[/\\]Lib[/\\]|^<frozen "
    r"|[/\\]agentdbg[/\\](?:autorun|integrations|recorder)[/\\]\w+\.py$"
)
_TELLING = 80
"""So many characters of a message say which error it is."""
_SAYS_NOTHING = frozenset({"", "Exception", "Error", "RuntimeError", "BaseException", "ToolError", "ToolException"})


@dataclass(frozen=True)
class Frame:
    """One place in the user's code."""

    path: str
    line: int
    function: str

    @property
    def short(self) -> str:
        """The file name and line: enough to find it, short enough for a sentence."""
        name = self.path.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name}:{self.line}"


@dataclass(frozen=True)
class Failure:
    """What failed, in the words of whatever failed."""

    error_type: str
    message: str
    stack: str | None = None

    @property
    def text(self) -> str:
        """`KeyError: 'due_date'`; the class is left out where it says nothing."""
        if self.error_type in _SAYS_NOTHING or self.message.startswith(self.error_type):
            return self.message or self.error_type or "an error without a message"
        return f"{self.error_type}: {self.message}" if self.message else self.error_type

    def is_part_of(self, other: Failure) -> bool:
        """Whether `other` is this failure on its way out: frameworks wrap what went wrong into errors of their own."""
        return self.text == other.text or bool(self.message and self.message[:_TELLING] in other.text)

    @property
    def frame(self) -> Frame | None:
        return user_frame(self.stack)


def failure_of(payload: Any) -> Failure:
    """The error in a payload: its `error`, or the payload itself where that is the error."""
    error = payload
    if isinstance(payload, dict) and "error_type" not in payload and payload.get("error") is not None:
        error = payload["error"]
    if isinstance(error, dict):
        kind = error.get("error_type") or error.get("type") or ""
        message = error.get("message")
        stack = error.get("stack") or error.get("stack_trace")
        if message is None and not kind:
            message = ", ".join(f"{key}: {as_text(item)}" for key, item in list(error.items())[:4] if item is not None)
        kept = stack if isinstance(stack, str) else None
        return Failure(one_line(as_text(kind), 120), one_line(as_text(message or ""), 400), kept)
    return Failure("", "" if error in (None, True, False) else one_line(as_text(error), 400))


def user_frame(stack: str | None) -> Frame | None:
    """The innermost frame that is neither a library's nor ours; the innermost of all when none is."""
    if not stack:
        return None
    found = [Frame(path, int(line), function) for path, line, function in _FRAME.findall(stack[-40_000:])]
    own = [frame for frame in found if not _FOREIGN.search(frame.path)]
    innermost = own or found
    return innermost[-1] if innermost else None
