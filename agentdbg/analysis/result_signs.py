"""
What a tool's result says of itself: an error although the call counts as done, or nothing at all.

Tools for models rarely raise: they answer `{"isError": true, …}`, `{"ok": false}`, "HTTP 404" or `{"hits": []}`, and
the stored status stays ok. That status decides what is counted; what is said here is for findings. A text counts only
by how it begins: a page about errors, a log that mentions one and code that raises one are results like any other.
"""

from __future__ import annotations

import re
from typing import Any

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.error_texts import error_said_in, is_error_text
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import one_line
from agentdbg.events.facts import whole_number

__all__ = ["error_in_answer", "error_in_result", "is_empty"]

_GOOD_NEWS = re.compile(
    r"\s*(?:there (?:are|were) )?(?:no|0|zero)\s+(?:\w+\s+){0,2}(?:bugs?|changes|conflicts?|diagnostics|differences"
    r"|errors?|failures?|findings|issues?|leaks?|problems?|violations?|vulnerabilit(?:y|ies)|warnings?)\b",
    re.IGNORECASE,
)
"""What was looked for and is better not there."""
_NOTHING_FOUND = re.compile(
    r"\s*(?:[^.\n]{0,40}\b(?:returned|found|gave|yielded|with|there (?:are|were))\s+)?(?:no|0|zero)\s+(?:\w+\s+){0,2}"
    r"(?:results?|records?|match(?:es)?|hits?|rows?|items?|data|documents?|entries|files?|found|available|returned)\b"
    r"[^\n]{0,80}$|\s*(?:nothing (?:was )?found|not found|\(?empty\)?|\(no (?:output|results?)\))\.?\s*$"
    r"|[^.\n]{0,40}\b(?:did(?: not|n't) (?:match|find|return) any|could(?: not|n't) find any|returned nothing)"
    r"\b[^\n]{0,80}$"
    r"|\s*(?:Empty DataFrame\b|Empty set\s*(?:$|\()|No such \w+\.?\s*$|There (?:are|were) no (?:\w+ ){1,4}?\w+\.?\s*$)"
    r"|(?:[^\n]*\n[-+| ]+\n)?\s*\(0 rows\)\s*$|\s*<(\w+)(?:\s[^<>]*)?(?:/>|>\s*</\1>)\s*$",
    re.IGNORECASE,
)
_LOOKED_AT = 200
_DEEPEST = 3
_SHORTEST_NAME = 3
_SAYS_FAILED = frozenset({"iserror", "haserror", "error", "errored", "failed", "isfailed", "failure", "timedout"})
_SAYS_DONE = frozenset(
    {"acknowledged", "ok", "success", "succeeded", "successful", "issuccess", "issuccessful", "isok"}
)
_OWN_IDS = frozenset({"id", "requestid", "traceid", "toolcallid", "callid", "correlationid", "valid", "invalid"})
_STATES = frozenset({"outcome", "result", "state", "status"})
_EXIT = frozenset({"exitcode", "returncode", "exitstatus", "rc", "retcode"})
_STATUS = frozenset({"statuscode", "httpstatus", "httpcode", "httpstatuscode", "responsecode", "status"})
_ERRORS = frozenset({"err", "errmsg", "error", "errormsg", "toolerror"})
_NO_ERROR = frozenset({"", "0", "false", "n/a", "na", "nil", "no", "none", "null", "ok", "success"})
_REFUSED_WORDS = frozenset({"denied", "refused", "rejected"})
_BARE_MESSAGE = frozenset({"detail", "message", "msg"})
_BESIDE_A_MESSAGE = frozenset({"documentationurl", "requestid", "timestamp", "traceid"})
"""An answer of nothing but a message is told by its words, as a text is."""
_ERRNO = re.compile(r"E[A-Z]{3,}")
_FAILED_WORDS = frozenset(
    {"error", "errored", "failed", "failure", "fatal", "timeout", "timed_out", "not_found", "unsuccessful"}
)
_AROUND = ("result", "response", "data", "output", "content", "body", "value", "structuredContent")
_WORDS = (
    "error",
    "errors",
    "exception",
    "message",
    "reason",
    "detail",
    "msg",
    "stderr",
    "error_message",
    "text",
    "content",
    "body",
    "output",
)
_TELLING_KEY = re.compile(
    r'"(?:is|has|timed|http|response|return|exit)?[_ -]?(?:errors?|errored|failed|failure|out|ok|success\w*|succeeded'
    r'|code|status|status_?code|exception|rc|text|type|error_?message)"',
    re.IGNORECASE,
)
_TELLING_TEXT = re.compile(r'":\s*"(?:[A-Z]\w*)?(?:Error|Exception|Traceback|ERROR|error)\b')
_LISTS = frozenset(
    {
        "hits",
        "results",
        "items",
        "matches",
        "rows",
        "records",
        "documents",
        "docs",
        "entries",
        "data",
        "files",
        "values",
    }
    | {"pages", "articles"}
)
_WRAPS = frozenset({"result", "response", "output", "content", "body", "text", "stdout"})
_GOES_ON = ("next", "nextpage", "nexttoken", "nextcursor", "nextpagetoken", "cursor", "hasmore", "hasnextpage")
_COUNTS = frozenset(
    {"count", "total", "rows", "hits", "matches", "results", "found", "numresults", "totalcount", "totalresults"}
    | {"resultcount", "rowcount", "totalhits", "size", "length", "numfound", "n"}
)
_ECHOES = frozenset(
    {"query", "q", "search", "term", "status", "ok", "success", "took", "tookms", "page", "limit", "offset", "cursor"}
    | {
        "next",
        "nextpage",
        "nexttoken",
        "nextcursor",
        "nextpagetoken",
        "hasmore",
        "hasnextpage",
        "start",
        "type",
        "kind",
        "elapsed",
        "url",
        "filters",
        "error",
        "iserror",
        "maxscore",
        "requestid",
    }
)


_ABOUT_THE_SEARCH = re.compile(
    r"(?:^|_|(?<=[a-z]))(?:aggregations?|facets?|filters?|info|information|links|meta|metadata|paging|pagination|params"
    r"|parameters?|query|request|shards|stats|suggest|totals?|usage)$",
    re.IGNORECASE,
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
        return one_line(said, 160) if (said := error_said_in(result)) else None
    if not isinstance(result, dict) or depth > _DEEPEST:
        return None
    error = next((one for key, one in result.items() if _plain_key(key) in _ERRORS and _is_told(one)), None)
    if error is not None:
        return one_line(failure_of({"error": error}).text, 160)
    why = _why(result)
    return one_line(_words(result) or why, 160) if why is not None else _error_inside(result, depth)


def _error_inside(result: dict[str, Any], depth: int) -> str | None:
    """What a result says that only wraps another one; beside other things, an inner error is a part of the truth."""
    inner: list[Any] = [_opened(result[name]) for name in _AROUND if name in result]
    if len(inner) == 1 and all(name in _AROUND or _plain_key(name) in _ECHOES for name in result):
        return _error_in(inner[0], depth + 1)
    printed = result.get("stderr")
    if isinstance(printed, str) and is_error_text(printed) and not result.get("stdout"):
        return _error_in(printed, depth + 1)
    said = [item for key, item in result.items() if _plain_key(key) not in _BESIDE_A_MESSAGE]
    is_bare = len(said) == 1 and isinstance(said[0], str) and not _BARE_MESSAGE.isdisjoint(map(_plain_key, result))
    return _error_in(said[0], depth + 1) if is_bare else None


def error_in_answer(answer: Any) -> str | None:
    """The error that stands in an answer's place; a model that says in words what it could not do has answered."""
    if isinstance(answer, str) and not isinstance(parse_embedded(answer), (dict, list)):
        return one_line(answer, 160) if is_error_text(answer) else None
    return error_in_result(answer)


def _may_tell(text: str) -> bool:
    if text.lower().startswith(("[error", "[fatal", "[exit", "[process")):
        return True
    ends = f"{text[:_LOOKED_AT]}{text[-_LOOKED_AT:]}"
    return _TELLING_KEY.search(ends) is not None or _TELLING_TEXT.search(ends) is not None


def is_empty(result: Any) -> bool:
    """Whether a result holds nothing: null, an empty text or list, "No results found", or lists that are all empty."""
    if isinstance(result, str) and len(result) > _LOOKED_AT:
        return not result.strip()
    result = _opened(result)
    if isinstance(result, str):
        return result.strip().lower() in ("", "null", "none") or _says_nothing_found(result)
    return _holds_nothing(result, 0)


def _says_nothing_found(text: str) -> bool:
    return _NOTHING_FOUND.match(text) is not None and _GOOD_NEWS.match(text) is None


def _holds_nothing(value: Any, depth: int) -> bool:
    value = _opened(value) if isinstance(value, list) else value
    if isinstance(value, dict) and value:
        return depth <= _DEEPEST and _members_hold_nothing(value, depth)
    if isinstance(value, list):
        return all(_is_hollow(item, depth) for item in value)
    if isinstance(value, str) and depth:
        return value.strip() in ("", "[]", "{}", "null") or _says_nothing_found(value[:_LOOKED_AT])
    return value is None or value in ({}, "")


def _members_hold_nothing(value: dict[str, Any], depth: int) -> bool:
    plain = {_plain_key(key): item for key, item in value.items()}
    if any(plain.get(key) for key in _GOES_ON) or any(_is_number(plain.get(key)) and plain[key] for key in _COUNTS):
        return False  # the last page of a list, or one of several
    lists = [item for key, item in value.items() if _is_list_name(key) and not _is_number(item)]
    if lists:
        # An order without items is an order; what stands about the search itself is nothing.
        others = [key for key, item in value.items() if isinstance(item, dict) and item and not _is_list_name(key)]
        return all(map(_ABOUT_THE_SEARCH.search, map(str, others))) and all(
            _holds_nothing(item, depth + 1) for item in lists
        )
    told = {key: item for key, item in plain.items() if key not in _ECHOES}
    if told and all(_GOOD_NEWS.match(f"no {key}") for key in told):
        return False
    if len(told) == 1 and "message" in told:
        return isinstance(told["message"], str) and _says_nothing_found(told["message"])
    return any(len(key) >= _SHORTEST_NAME for key in told) and all(
        (item == 0 if key in _COUNTS and _is_number(item) else _is_hollow(item, depth, key))
        for key, item in told.items()
    )


def _is_hollow(item: Any, depth: int, key: str = "") -> bool:
    """Whether a part of a result is a container with nothing in it; a number or a word is something."""
    if isinstance(item, str):
        return key in _WRAPS and _holds_nothing(item, depth + 1)
    return item is None or (isinstance(item, (list, dict)) and _holds_nothing(item, depth + 1))


def _is_list_name(key: Any) -> bool:
    """`hits`, `organic_results`, `searchResults`."""
    return re.split(r"[_\W]|(?<=[a-z])(?=[A-Z])", str(key))[-1].lower() in _LISTS


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float))


def _why(result: dict[str, Any]) -> str | None:
    """Which part of a result says that it failed."""
    for name, item in result.items():
        if _says_failed(_plain_key(name), item) and not (name.lower() in _STATES and _is_record(result, item)):
            return f"{name} is {str(item).lower()}" if isinstance(item, bool) else f"{name} {item}"
    return _why_together(result)


def _why_together(result: dict[str, Any]) -> str | None:
    """Which members say it that say nothing alone."""
    errors, status, raised = result.get("errors"), result.get("status"), result.get("__type")
    is_report = "valid" in result or "isValid" in result or "is_valid" in result  # what was checked is wrong
    has_words = isinstance(result.get("message") or result.get("msg"), str)
    code = result.get("code")
    is_code = (type(code) is int and code < 0) or _is_http_error(code) or _ERRNO.fullmatch(str(code)) is not None
    is_refused = isinstance(status, str) and status.lower() in _REFUSED_WORDS and bool(_words(result))
    signs = {
        "errors": isinstance(errors, (list, dict)) and errors and not result.get("data") and not is_report,
        "detail": _are_complaints(result.get("detail")),
        "fault": isinstance(result.get("fault") or result.get("Fault"), dict),
        str(raised): isinstance(raised, str) and raised.endswith(("Exception", "Error")),
        f"status {status}": is_refused and not _is_record(result, status),
        f"code {code}": has_words and is_code,
        "type error": has_words and result.get("type") == "error",
    }
    return next((sign for sign, is_so in signs.items() if is_so), None)


def _are_complaints(detail: Any) -> bool:
    """`[{"loc": ["body"], "msg": "field required"}]`, as web frameworks refuse a request."""
    return isinstance(detail, list) and bool(detail) and all(isinstance(one, dict) and "msg" in one for one in detail)


def _is_record(result: dict[str, Any], status: Any) -> bool:
    """Whether a status is that of the thing which was asked for: a job, an order or a room, with an id of its own."""
    keys = {_plain_key(key) for key in result} - _OWN_IDS
    is_plain_failure = isinstance(status, str) and status.lower().startswith("error")
    is_plain_failure &= "createdat" not in keys or bool(_words(result))
    return not is_plain_failure and any(key.endswith(("id", "createdat", "updatedat")) for key in keys)


def _says_failed(key: str, item: Any) -> bool:
    """Whether one member of a result says by itself that the call failed."""
    if key in _EXIT:
        return type(item) is int and item != 0
    if key in ("exception", "errormessage", "errorcode"):
        return isinstance(item, str) and _is_told(item)
    is_word = key in _STATES and isinstance(item, str) and item.lower() in _FAILED_WORDS
    is_told = (key in _SAYS_FAILED and _truth(item) is True) or (key in _SAYS_DONE and _truth(item) is False)
    is_told = is_told or (key == "ok" and type(item) is int and item == 0)
    return is_told or is_word or (key in _STATUS and _is_http_error(item))


def _is_http_error(value: Any) -> bool:
    code = whole_number(value)
    return code is not None and 400 <= code < 600


def _is_told(error: Any) -> bool:
    """Whether an error is one: a text or an object that says more than that there is none."""
    return bool(error) and (
        isinstance(error, dict) or (isinstance(error, str) and error.strip().lower() not in _NO_ERROR)
    )


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
            said = said.get("message") or said.get("text") or said.get("msg")
        if isinstance(said, str) and said.strip():
            return said
    return ""


def _opened(result: Any) -> Any:
    """A result without what it is wrapped in: JSON in a text, an RPC's envelope, the one text part of a message."""
    if isinstance(result, str):
        result = parse_embedded(result)
    if isinstance(result, dict) and "jsonrpc" in result and "result" in result:
        result = result["result"]
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
        text = result[0].get("text")
        if isinstance(text, str):
            return parse_embedded(text)
    return result
