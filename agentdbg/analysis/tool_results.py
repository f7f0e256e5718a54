"""
What a tool's result says of itself: that it is an error although the call counts as done, or that it holds nothing.

Tools for models rarely raise. They answer `{"isError": true, …}`, `{"exit_code": 1, …}`, "HTTP 404" or `{"hits": []}`,
and the stored status stays ok. That status decides what is counted; what is said here is for findings.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.analysis.errors import failure_of
from agentdbg.analysis.values import parse_embedded
from agentdbg.analysis.wording import one_line
from agentdbg.events.facts import whole_number

__all__ = ["error_in_result", "is_empty", "is_error_text"]

_ERROR_TEXT = re.compile(
    r"\s*(?:(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\s*:|Traceback \(most recent call last\)"
    r"|(?:error|fatal|failed)\s*:|ERROR\b|(?i:an error occurred|an exception occurred)"
    r"|(?i:(?:bash|sh|zsh): )|HTTP(?:/[\d.]+)? [45]\d\d\b|(?:Error )?[45]\d\d (?:[A-Z][a-z]+ ?){1,3}(?:$|[:.\n])"
    r"|(?i:request failed|failed) with (?i:status(?: code)?) [45]\d\d\b)"
)
_NOTHING_FOUND = re.compile(
    r"\s*(?:no|0|zero)\s+(?:\w+\s+){0,2}(?:found|available|returned)\b[^\n]{0,80}$", re.IGNORECASE
)
_LOOKED_AT = 200
_SAYS_FAILED = ("isError", "is_error", "iserror")
_SAYS_DONE = ("ok", "success", "succeeded", "successful", "isSuccess", "is_success")
_EXIT = ("exit_code", "returncode", "return_code", "exitCode", "exit_status")
_STATUS = ("status_code", "statusCode", "http_status", "status")
_FAILED_WORDS = frozenset({"error", "errored", "failed", "failure"})
_WORDS = (
    "error",
    "errors",
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
_TELLING_KEY = re.compile('"(?:' + "|".join((*_SAYS_FAILED, *_SAYS_DONE, *_EXIT, *_STATUS, "errors?", "text")) + ')"')
_LISTS = (
    "hits",
    "results",
    "items",
    "matches",
    "rows",
    "records",
    "documents",
    "entries",
    "data",
    "files",
    "values",
)


def error_in_result(result: Any) -> str | None:
    """The error a result reports although its call counts as done; None when it reports none."""
    if isinstance(result, str) and result[:1] in ("{", "[") and not _may_tell(result):
        return None  # reading a long text takes a while, and nearly every result is fine
    result = _opened(result)
    if isinstance(result, str):
        return one_line(result, 160) if is_error_text(result) else None
    if not isinstance(result, dict):
        return None
    if isinstance(result.get("error"), (str, dict)) and result["error"]:
        return one_line(failure_of({"error": result["error"]}).text, 160)
    why = _why(result)
    return None if why is None else one_line(_words(result) or why, 160)


def _may_tell(text: str) -> bool:
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
    if isinstance(result, dict) and result:
        lists = [result[name] for name in _LISTS if name in result]
        return bool(lists) and all(item is None or item in ([], {}, "") for item in lists)
    return result is None or result in ([], {})


def _why(result: dict[str, Any]) -> str | None:
    """Which part of a result says that it failed."""
    said = next((name for name in _SAYS_FAILED if result.get(name) is True), None)
    if said is not None:
        return f"{said} is true"
    said = next((name for name in _SAYS_DONE if result.get(name) is False), None)
    if said is not None:
        return f"{said} is false"
    if isinstance(result.get("errors"), list) and result["errors"] and not result.get("data"):
        return "errors"
    for name in _EXIT:
        code = result.get(name)
        if isinstance(code, int) and not isinstance(code, bool) and code != 0:
            return f"{name} {code}"
    for name in _STATUS:
        code = whole_number(result.get(name))
        if code is not None and 400 <= code < 600:
            return f"{name} {code}"
    status = result.get("status")
    return f"status {status}" if isinstance(status, str) and status.lower() in _FAILED_WORDS else None


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
