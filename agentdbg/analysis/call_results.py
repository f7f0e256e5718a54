"""
What came of a call: the error it failed with, the error its result reports, and whether what it asked for was done.

Errors stand in LLM_CALL, TOOL_CALL, RUN_END and spans as an object, in ERROR as the payload itself, in older traces as
a plain text. Tools for models rarely raise: they answer `{"isError": true, …}`, `{"ok": false}`, "HTTP 404" or
`{"hits": []}`, and the stored status stays ok. That status decides what is counted; what is said here is for findings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_text, one_line
from agentdbg.events.facts import whole_number

__all__ = [
    "Failure",
    "Frame",
    "Outcome",
    "error_in_answer",
    "error_in_result",
    "failure_of",
    "is_empty",
    "is_error_text",
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


_ERROR_TEXT = re.compile(
    r"\s*(?:(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\s*:|Traceback \(most recent call last\)"
    r"|(?:error|fatal|failed)\s*:|ERROR\b|(?i:an error occurred|an exception occurred)"
    r"|(?i:(?:bash|sh|zsh): )|HTTP(?:/[\d.]+)? [45]\d\d\b|(?:Error )?[45]\d\d (?:[A-Z][a-z]+ ?){1,3}(?:$|[:.\n])"
    r"|(?i:request failed|failed) with (?i:status(?: code)?) [45]\d\d\b)"
)
_RESULT_ERROR = re.compile(
    r"\s*(?:\[?(?:error|fatal|failed|failure|exception)\b\]?(?! (?:handling|messages?|codes?|rates?|logs?|tests?)\b)"
    r"(?=\s*[:\]!.,-]|\s+(?:executing|running|calling|in|while|during|occurred|to|with|at|reading|parsing)\b)"
    r"|\[(?:error|fatal)\]|<error\b|(?:\w+ ){0,3}(?:execution|call|request|command) (?:has )?failed\b|permission denied"
    r"|(?:could not|couldn't|cannot|can't|unable to) (?:find|open|read|connect|access|execute|parse|load|fetch|reach)\b"
    r"|command not found|(?:<[^>\n]{1,80}>\s*){1,6}[45]\d\d\b|(?:http )?status(?: code)?:? [45]\d\d\b)",
    re.IGNORECASE,
)
_NOTHING_FOUND = re.compile(
    r"\s*(?:[^.\n]{0,40}\b(?:returned|found|gave|yielded|with)\s+)?(?:no|0|zero)\s+(?:\w+\s+){0,2}"
    r"(?:results?|records?|match(?:es)?|hits?|rows?|items?|data|documents?|entries|files?|found|available|returned)\b"
    r"[^\n]{0,80}$|\s*(?:nothing (?:was )?found|not found|\(?empty\)?|\(no (?:output|results?)\))\.?\s*$",
    re.IGNORECASE,
)
_LOOKED_AT = 200
_DEEPEST = 3
_SHORTEST_NAME = 3
_SAYS_FAILED = frozenset({"iserror", "haserror", "error", "errored", "failed", "isfailed", "failure", "timedout"})
_SAYS_DONE = frozenset({"ok", "success", "succeeded", "successful", "issuccess", "issuccessful", "isok"})
_EXIT = frozenset({"exitcode", "returncode", "exitstatus", "rc"})
_STATUS = frozenset({"statuscode", "httpstatus", "httpcode", "httpstatuscode", "responsecode", "status"})
_FAILED_WORDS = frozenset({"error", "errored", "failed", "failure", "fatal", "timeout", "timed_out", "not_found"})
_AROUND = ("result", "response", "data", "output", "content", "body", "value", "structuredContent")
_WORDS = (
    "error",
    "errors",
    "exception",
    "message",
    "reason",
    "detail",
    "stderr",
    "error_message",
    "text",
    "content",
    "body",
    "output",
)
_TELLING_KEY = re.compile(
    r'"(?:is|has|timed|http|response|return|exit)?[_ -]?(?:errors?|errored|failed|failure|out|ok|success\w*|succeeded'
    r'|code|status|status_?code|exception|rc|text|type)"',
    re.IGNORECASE,
)
_LISTS = ("hits", "results", "items", "matches", "rows", "records", "documents", "entries", "data", "files", "values")
_COUNTS = frozenset(
    {"count", "total", "rows", "hits", "matches", "results", "found", "numresults", "totalcount", "totalresults"}
    | {"resultcount", "rowcount", "totalhits", "size", "length", "numfound", "n"}
)
_ECHOES = frozenset(
    {"query", "q", "search", "term", "status", "ok", "success", "took", "tookms", "page", "limit", "offset", "cursor"}
    | {"next", "nextpage", "type", "kind", "elapsed", "url", "filters", "error", "iserror", "maxscore", "requestid"}
)


def _plain_key(key: Any) -> str:
    return str(key).replace("_", "").replace("-", "").lower()


def error_in_result(result: Any) -> str | None:
    """The error a result reports although its call counts as done; None when it reports none."""
    if isinstance(result, str) and result[:1] in ("{", "[") and not _may_tell(result):
        return None  # reading a long text takes a while, and nearly every result is fine
    return _error_in(_opened(result), 0)


def _error_in(result: Any, depth: int) -> str | None:
    if isinstance(result, str):
        is_error = is_error_text(result) or _RESULT_ERROR.match(result[:_LOOKED_AT])
        return one_line(result, 160) if is_error else None
    if not isinstance(result, dict) or depth > _DEEPEST:
        return None
    if isinstance(result.get("error"), (str, dict)) and result["error"]:
        return one_line(failure_of({"error": result["error"]}).text, 160)
    why = _why(result)
    if why is not None:
        return one_line(_words(result) or why, 160)
    # What only wraps a result says nothing by itself; beside other things, an inner error is a part of the truth.
    inner = [_opened(result[name]) for name in _AROUND if name in result]
    if len(inner) == 1 and all(name in _AROUND or _plain_key(name) in _ECHOES for name in result):
        return _error_in(inner[0], depth + 1)
    return None


def error_in_answer(answer: Any) -> str | None:
    """The error that stands in an answer's place; a model that says in words what it could not do has answered."""
    if isinstance(answer, str) and not isinstance(parse_embedded(answer), (dict, list)):
        return one_line(answer, 160) if is_error_text(answer) else None
    return error_in_result(answer)


def _may_tell(text: str) -> bool:
    if text.lower().startswith(("[error", "[fatal")):
        return True
    return _TELLING_KEY.search(f"{text[:_LOOKED_AT]}{text[-_LOOKED_AT:]}") is not None


def is_error_text(text: str) -> bool:
    """Whether a text begins like an error: an exception's class, a traceback, a shell's complaint, an HTTP status."""
    return _ERROR_TEXT.match(text[:_LOOKED_AT]) is not None


def is_empty(result: Any) -> bool:
    """Whether a result holds nothing: null, an empty text or list, "No results found", or lists that are all empty."""
    if isinstance(result, str) and len(result) > _LOOKED_AT:
        return not result.strip()
    result = _opened(result)
    if isinstance(result, str):
        return result.strip().lower() in ("", "null", "none") or _NOTHING_FOUND.match(result) is not None
    return _holds_nothing(result, 0)


def _holds_nothing(value: Any, depth: int) -> bool:
    if isinstance(value, dict) and value and depth <= _DEEPEST:
        lists = [value[name] for name in _LISTS if name in value and not isinstance(value[name], (bool, int, float))]
        if lists:
            return all(_holds_nothing(item, depth + 1) for item in lists)
        told = {_plain_key(key): item for key, item in value.items() if _plain_key(key) not in _ECHOES}
        return any(len(key) >= _SHORTEST_NAME for key in told) and all(
            (item == 0 if key in _COUNTS and isinstance(item, (bool, int, float)) else _is_hollow(item, depth))
            for key, item in told.items()
        )
    if isinstance(value, list):
        return all(_is_hollow(item, depth) for item in value)
    return value is None or value in ({}, "")


def _is_hollow(item: Any, depth: int) -> bool:
    """Whether a part of a result is a container with nothing in it; a number or a word is something."""
    return item is None or (isinstance(item, (list, dict)) and _holds_nothing(item, depth + 1))


def _why(result: dict[str, Any]) -> str | None:
    """Which part of a result says that it failed."""
    for name, item in result.items():
        if _says_failed(_plain_key(name), item):
            return f"{name} is {str(item).lower()}" if isinstance(item, bool) else f"{name} {item}"
    if isinstance(result.get("errors"), list) and result["errors"] and not result.get("data"):
        return "errors"
    is_code = _is_http_error(result.get("code"))
    if isinstance(result.get("message"), str) and (result.get("type") == "error" or is_code):
        return f"code {result['code']}" if is_code else "type error"
    return None


def _says_failed(key: str, item: Any) -> bool:
    """Whether one member of a result says by itself that the call failed."""
    if key in _EXIT:
        return type(item) is int and item != 0
    if key == "exception":
        return isinstance(item, str) and bool(item)
    is_word = key == "status" and isinstance(item, str) and item.lower() in _FAILED_WORDS
    is_told = (key in _SAYS_FAILED and _truth(item) is True) or (key in _SAYS_DONE and _truth(item) is False)
    return is_told or is_word or (key in _STATUS and _is_http_error(item))


def _is_http_error(value: Any) -> bool:
    code = whole_number(value)
    return code is not None and 400 <= code < 600


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def _words(result: dict[str, Any]) -> str:
    """What a failed result says in words."""
    for name in _WORDS:
        said = _opened(result.get(name))
        if isinstance(said, list) and said and isinstance(said[0], (str, dict)):
            said = said[0]
        if isinstance(said, dict):
            said = said.get("message") or said.get("text")
        if isinstance(said, str) and said.strip():
            return said
    return ""


def _opened(result: Any) -> Any:
    """A result without what it is wrapped in: JSON in a text, the one text part of a message."""
    if isinstance(result, str):
        result = parse_embedded(result)
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
        text = result[0].get("text")
        if isinstance(text, str):
            return parse_embedded(text)
    return result


Outcome = Literal["done", "refused", "unknown"]

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
    told = [item for key, item in answer.items() if _plain_key(key) in _SAYS_DONE and isinstance(item, bool)]
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
