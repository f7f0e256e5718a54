"""
What came of a call: the error it failed with, the error its result reports, and whether what it asked for was done.

Errors stand in LLM_CALL, TOOL_CALL, RUN_END and spans as an object, in ERROR as the payload itself, in older traces as
a plain text. What a result says of itself although its call counts as done is read in `result_signs`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_text, one_line

__all__ = [
    "Failure",
    "Frame",
    "Outcome",
    "failure_of",
    "outcome_of",
    "user_frame",
]

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


Outcome = Literal["done", "refused", "unknown"]

_SAYS_DONE = frozenset({"ok", "success", "succeeded", "successful", "is_success", "issuccess", "is_ok"})
_SAYS_REFUSED = ("isError", "is_error", "failed")
_FAILED_STATUS = frozenset({"declined", "denied", "error", "errored", "failed", "failure", "refused", "rejected"})
_CODE_KEYS = ("status_code", "statusCode", "http_status", "code", "status")
_ABOUT_ERRORS = frozenset(
    {"code", "detail", "details", "error", "error_code", "error_type", "errors", "hint", "message", "reason", "status"}
    | {"status_code", "type"}
)
_RAISED_TEXT = re.compile(r"\s*(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\s*:|\s*Traceback \(most recent call last\)")
_NEVER_SENT = re.compile(
    r"refused|failed to establish|name or service not known|getaddrinfo|nodename nor servname|no route to host"
    r"|connect(?:ion)? ?timeout|connecttimeout|connecterror|network is unreachable|pooltimeout",
    re.IGNORECASE,
)
_BROKE_OFF = re.compile(
    r"timed? ?out|deadline ?exceeded|connection|disconnect|broken ?pipe|reset by peer|incomplete ?read|protocol ?error"
    r"|cancelled|canceled|keyboardinterrupt|systemexit|end of file|eoferror|\b50[0234]\b|bad gateway|gateway ?time"
    r"|service unavailable|internal server error",
    re.IGNORECASE,
)
_LOOKED_AT_FAILURE = 400


def outcome_of(payload: dict[str, Any]) -> Outcome:
    """What came of a tool's call."""
    if payload.get("error") or payload.get("status") in ("error", "failed", "aborted"):
        return _of_failure(failure_of(payload).text)
    return _of_answer(_answer_in(payload.get("result")))


def _of_failure(text: str) -> Outcome:
    """A call that failed did nothing, unless it failed on the way back."""
    text = text[:_LOOKED_AT_FAILURE]
    return "unknown" if _BROKE_OFF.search(text) and not _NEVER_SENT.search(text) else "refused"


def _of_answer(answer: Any) -> Outcome:
    if isinstance(answer, str):
        return _of_failure(answer) if _RAISED_TEXT.match(answer[:_LOOKED_AT_FAILURE]) else "done"
    if not isinstance(answer, dict) or not _is_refusal(answer):
        return "done"
    code = _code_of(answer)
    if code is not None:
        return "unknown" if code >= 500 or code == 408 else "refused"
    return _of_failure(failure_of(answer).text if answer.get("error") else str(answer.get("message") or ""))


def _is_refusal(answer: dict[str, Any]) -> bool:
    """Whether an answer says that the call did not do its work; an answer that says both was done."""
    if any(answer.get(key) is True for key in _SAYS_REFUSED):
        return True
    told = [item for key, item in answer.items() if str(key).lower() in _SAYS_DONE and isinstance(item, bool)]
    if told:
        return not all(told)
    status = answer.get("status")
    if (isinstance(status, str) and status.lower() in _FAILED_STATUS) or (_code_of(answer) or 0) >= 400:
        return True
    # An error beside something else, such as the id of what was made, may be half of the truth.
    said = {key for key, item in answer.items() if item}
    return bool(said & {"error", "errors"}) and said <= _ABOUT_ERRORS


def _code_of(answer: dict[str, Any]) -> int | None:
    """The HTTP status in an answer."""
    codes = (answer.get(key) for key in _CODE_KEYS)
    return next((code for code in codes if type(code) is int and 100 <= code <= 599), None)


def _answer_in(result: Any) -> Any:
    """An answer without what it is wrapped in: JSON in a text, the one text part of a message."""
    result = parse_embedded(result)
    if isinstance(result, dict) and isinstance(result.get("content"), list) and not result.get("isError"):
        result = result["content"]
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
        text = result[0].get("text")
        return parse_embedded(text) if isinstance(text, str) else result
    return result
