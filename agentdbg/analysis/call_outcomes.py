"""
Whether what a call asked for was done: done, refused, or unknown because it broke off when it was on its way.

Many tools raise nothing: they answer `{"error": "no such order", "ok": false}`, and their call counts as returned. A
connection that broke off is the other case: the request may have arrived, and only its answer was lost.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from agentdbg.analysis.errors import failure_of
from agentdbg.analysis.values import parse_embedded

__all__ = ["Outcome", "outcome_of"]

Outcome = Literal["done", "refused", "unknown"]

_SAYS_DONE = ("ok", "success", "succeeded", "successful", "isSuccess", "is_success")
_SAYS_FAILED = ("isError", "is_error", "failed")
_FAILED_STATUS = frozenset({"declined", "denied", "error", "errored", "failed", "failure", "refused", "rejected"})
_CODE_KEYS = ("status_code", "statusCode", "http_status", "code", "status")
_ABOUT_ERRORS = frozenset(
    {"code", "detail", "details", "error", "error_code", "error_type", "errors", "hint", "message", "reason", "status"}
    | {"status_code", "type"}
)
_ERROR_TEXT = re.compile(r"\s*(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\s*:|\s*Traceback \(most recent call last\)")
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
_LOOKED_AT = 400


def outcome_of(payload: dict[str, Any]) -> Outcome:
    """What came of a tool's call."""
    if payload.get("error") or payload.get("status") in ("error", "failed", "aborted"):
        return _of_failure(failure_of(payload).text)
    return _of_answer(_opened(payload.get("result")))


def _of_failure(text: str) -> Outcome:
    """A call that failed did nothing, unless it failed on the way back."""
    text = text[:_LOOKED_AT]
    return "unknown" if _BROKE_OFF.search(text) and not _NEVER_SENT.search(text) else "refused"


def _of_answer(answer: Any) -> Outcome:
    if isinstance(answer, str):
        return _of_failure(answer) if _ERROR_TEXT.match(answer[:_LOOKED_AT]) else "done"
    if not isinstance(answer, dict) or not _is_refusal(answer):
        return "done"
    code = _code_of(answer)
    if code is not None:
        return "unknown" if code >= 500 or code == 408 else "refused"
    return _of_failure(failure_of(answer).text if answer.get("error") else str(answer.get("message") or ""))


def _is_refusal(answer: dict[str, Any]) -> bool:
    """Whether an answer says that the call did not do its work; an answer that says both was done."""
    if any(answer.get(key) is True for key in _SAYS_FAILED):
        return True
    told = [answer[key] for key in _SAYS_DONE if isinstance(answer.get(key), bool)]
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


def _opened(result: Any) -> Any:
    """An answer without what it is wrapped in: JSON in a text, the one text part of a message."""
    result = parse_embedded(result)
    if isinstance(result, dict) and isinstance(result.get("content"), list) and not result.get("isError"):
        result = result["content"]
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
        text = result[0].get("text")
        return parse_embedded(text) if isinstance(text, str) else result
    return result
