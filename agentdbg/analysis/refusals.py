"""
Tell from a tool's answer that what was asked was not done.

Many tools raise nothing: they answer `{"error": "no such order", "ok": false}`, and their call counts as returned.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.analysis.values import parse_embedded

__all__ = ["is_refusal"]

_SAYS_DONE = ("ok", "success", "succeeded", "successful", "isSuccess", "is_success")
_SAYS_FAILED = ("isError", "is_error", "failed")
_FAILED_STATUS = frozenset({"declined", "denied", "error", "errored", "failed", "failure", "refused", "rejected"})
_ABOUT_ERRORS = frozenset(
    {"code", "detail", "details", "error", "error_code", "error_type", "errors", "hint", "message", "reason", "status"}
    | {"status_code", "type"}
)
_ERROR_TEXT = re.compile(r"\s*(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\s*:|\s*Traceback \(most recent call last\)")
_LOOKED_AT = 200


def is_refusal(result: Any) -> bool:
    """Whether an answer says that the call did not do its work; an answer that says both was done."""
    answer = _opened(result)
    if isinstance(answer, str):
        return _ERROR_TEXT.match(answer[:_LOOKED_AT]) is not None
    if not isinstance(answer, dict):
        return False
    if any(answer.get(key) is True for key in _SAYS_FAILED):
        return True
    told = [answer[key] for key in _SAYS_DONE if isinstance(answer.get(key), bool)]
    if told:
        return not all(told)
    status = answer.get("status")
    if isinstance(status, str) and status.lower() in _FAILED_STATUS:
        return True
    # An error beside something else, such as the id of what was made, may be half of the truth.
    said = {key for key, item in answer.items() if item}
    return bool(said & {"error", "errors"}) and said <= _ABOUT_ERRORS


def _opened(result: Any) -> Any:
    """An answer without what it is wrapped in: JSON in a text, the one text part of a message."""
    result = parse_embedded(result)
    if isinstance(result, dict) and isinstance(result.get("content"), list) and not result.get("isError"):
        result = result["content"]
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
        text = result[0].get("text")
        return parse_embedded(text) if isinstance(text, str) else result
    return result
