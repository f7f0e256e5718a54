"""
What a tool's result says of itself although the call counts as done: that it failed, and why.

Tools for models rarely raise: they answer `{"isError": true, …}`, `{"ok": false}`, "HTTP 404" or "order 7 not found",
and the stored status stays ok. That status decides what is counted; what is said here is for findings. A member counts
by its name and its value together; a text only by how it begins or ends. A record of something that failed, figures
of failures, a page about errors and code that raises one are results like any other.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.empty_results import ABOUT_THE_CALL, opened, plain_key
from agentdbg.analysis.error_texts import error_said_in, is_error_text
from agentdbg.analysis.failure_statements import states_failure
from agentdbg.analysis.program_endings import last_words
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import one_line
from agentdbg.events.facts import whole_number

__all__ = ["error_in_answer", "error_in_result", "is_done_in_part"]

_LOOKED_AT = 200
_SHORT = 2_000
_DEEPEST = 3
_MOST_ITEMS = 50
_MEMBERS_OF_A_RECORD = 3
_SAYS_FAILED = frozenset(
    {
        "iserror",
        "haserror",
        "haserrors",
        "error",
        "errors",
        "errored",
        "failed",
        "interrupted",
        "isfailed",
        "failure",
        "timedout",
        "timeout",
    }
)
_SAYS_DONE = frozenset(
    {"acknowledged", "ok", "success", "succeeded", "successful", "issuccess", "issuccessful", "isok"}
)
_OF_RECORDS = ("id", "createdat", "endedat", "finishedat", "startedat", "updatedat")
_OWN_IDS = frozenset({"id", "requestid", "traceid", "toolcallid", "callid", "correlationid", "valid", "invalid"})
_STATES = frozenset({"estado", "outcome", "result", "state", "status"})
_EXIT = frozenset({"exit", "exitcode", "returncode", "exitstatus", "rc", "retcode", "errcode", "errno", "ret"})
_STATUS = frozenset({"statuscode", "httpstatus", "httpcode", "httpstatuscode", "responsecode", "status"})
_CODE = frozenset({"code", "cod", *_STATUS})
_ERRORS = frozenset({"err", "erreur", "errmsg", "error", "fehler", "errormsg", "failure", "toolerror"})
_ERROR_WORDS = frozenset(
    {
        "faultcode",
        "faultstring",
        "exception",
        "errormessage",
        "errorcode",
        "errortext",
        "failuremessage",
        "functionerror",
    }
)
_NO_ERROR = frozenset({"", "0", "false", "n/a", "na", "nil", "no", "none", "null", "ok", "success"})
_REFUSED_WORDS = frozenset({"declined", "denied", "refused", "rejected"})
_FAILED_WORDS = frozenset(
    {
        "error",
        "errored",
        "fail",
        "failed",
        "failure",
        "fatal",
        "ko",
        "timeout",
        "timed_out",
        "not_found",
        "unsuccessful",
    }
)
_BARE_MESSAGE = frozenset({"detail", "message", "msg"})
_BESIDE_A_MESSAGE = frozenset({"code", "documentationurl", "requestid", "timestamp", "traceid"})
"""An answer of nothing but a message is told by its words, as a text is."""
_BESIDE_A_CODE = frozenset({"details", "errors", "hint", "name", "status", "type", *_BARE_MESSAGE, *_BESIDE_A_MESSAGE})
_FINE_CODE = re.compile(r"0+|[123]\d\d|ok|success\w*|none|[A-Z]{2,3}", re.IGNORECASE)
_ERROR_ITEM = frozenset({"code", "errorcode", "fields", "message"})
_CLASS = re.compile(r"[A-Z]\w*(?:Error|Exception)")
_ERRNO = re.compile(r"E[A-Z]{3,}")
_DONE_COUNT = re.compile(
    r"(?:total|num|n|records|rows|items)?(?:accepted|completed|created|deleted|done|entries|imported|inserted|indexed|items"
    r"|migrated|ok|passed|passes|processed|saved|sent|succeeded|success|successes|successful|updated|uploaded|written|results)"
    r"(?:count|items|records|rows)?"
)
_FAILED_COUNT = re.compile(
    r"(?:total|num|n|records|rows|items)?"
    r"(?:errored|errors|errorcount|failed|failures?|notfound|rejected|unprocessed|writeerrors)"
)
_FAILED_ITEMS = re.compile(
    r"(?:failed|unprocessed)(?:count|entries|entrycount|ids|items|keys|put|records?|recordcount|rows)+"
)
_OVER_TIME = re.compile(
    r"(?:^|_)(?:avg|date|day|from|hour|month|mean|p\d\d|period|rate|ratio|since|week|window|year)(?:_|$)"
)
"""Figures of a stretch of time are a report about others."""
_TOLD_BY_TEXT = MappingProxyType(
    {
        "signal": re.compile("SIG"),
        "sqlstate": re.compile("(?!00)"),
        "stacktrace": re.compile("Traceback"),
        "traceback": re.compile("Traceback"),
    }
)
_MEMBER = re.compile(r"([A-Za-z_][\w-]{0,30}): +(\S.*)")
_FEWEST_LINES = 2
_ABOUT_OTHERS = ("common", "frequent", "known", "last", "past", "recent", "top")
_AROUND = (
    *("result", "toolResult", "tool_result", "response", "reply", "data", "output", "observation", "content", "text"),
    *("body", "value", "structuredContent"),
)
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


def error_in_result(result: Any) -> str | None:
    """The error a result reports although its call counts as done; None when it reports none."""
    if isinstance(result, str) and len(result) > _SHORT and result[:1] in ("{", "[") and not _may_tell(result):
        return None  # reading a long text takes a while, and nearly every result is fine
    return _error_in(opened(result), 0)


def is_done_in_part(result: Any) -> bool:
    """
    Whether a result that reports an error may be that of something done all the same.

    A program that ended with a code may have done half of its work, an id or an amount stands for what was made.
    """
    result = opened(result)
    if isinstance(result, str):
        return not (is_error_text(result) or states_failure(result[:_LOOKED_AT])) and last_words(result) is not None
    if not isinstance(result, dict):
        return isinstance(result, list)
    inner = [opened(result[name]) for name in _AROUND if result.get(name)]
    if len(inner) == 1 and isinstance(inner[0], (dict, list)):
        return is_done_in_part(inner[0])
    return any(_stands_for_work(plain_key(key), item) for key, item in result.items())


def _stands_for_work(key: str, item: Any) -> bool:
    is_own_id = key == "id" or (key.endswith("id") and key not in _OWN_IDS and not isinstance(item, bool))
    if key in _EXIT or not item or is_own_id:
        return bool(item)
    return _is_amount(item) and not (key in _CODE or key in _ERRORS or key.endswith("errors"))


def _error_in(result: Any, depth: int) -> str | None:
    if isinstance(result, str):
        return _error_in_text(result)
    if isinstance(result, list):
        if len(result) == 1 and isinstance(result[0], str):
            return one_line(result[0], 160) if is_error_text(result[0]) else None
        return next((one for item in result[:_MOST_ITEMS] if (one := _error_of_one_item(item))), None)
    if not isinstance(result, dict) or depth > _DEEPEST:
        return None
    error = next((one for key, one in result.items() if _names_error(key) and _is_told(one)), None)
    if error is not None:
        return one_line(failure_of({"error": error}).text, 160)
    why = _why(result)
    return one_line(_words(result) or why, 160) if why is not None else _error_inside(result, depth)


@lru_cache(maxsize=8)  # several rules ask the same of one result
def _error_in_text(text: str) -> str | None:
    members = _members_in(text)
    if members and (why := _why(members)):
        return one_line(_words(members) or why, 160)
    return one_line(said, 160) if (said := error_said_in(text)) else None


def _names_error(key: Any) -> bool:
    return plain_key(key).rpartition(".")[2] in _ERRORS


def _members_in(text: str) -> dict[str, Any]:
    """The members of a text whose every line is one: `status: error`, as YAML and many programs print them."""
    lines = text.splitlines() if len(text) <= _SHORT else []
    found = [_MEMBER.fullmatch(line) for line in lines]
    if len(lines) < _FEWEST_LINES or not all(found):
        return {}
    return {one[1]: int(one[2]) if one[2].isdigit() else one[2] for one in found if one}


def _error_of_one_item(item: Any) -> str | None:
    """What one of many results says of its failure: `{"id": 2, "ok": false, "error": "gone"}`."""
    if isinstance(item, dict) and list(map(plain_key, item)) == ["error"] and _is_told(*item.values()):
        return one_line(failure_of(item).text, 160)
    if isinstance(item, dict) and {plain_key(key) for key in item} <= _ERROR_ITEM and "message" in item:
        return one_line(str(item["message"]), 160)
    if not isinstance(item, dict) or not any(
        plain_key(key) in _SAYS_DONE and one is False for key, one in item.items()
    ):
        return None
    error = item.get("error")
    return one_line(failure_of({"error": error}).text, 160) if _is_told(error) else None


def _error_inside(result: dict[str, Any], depth: int) -> str | None:
    """What a result says that only wraps another one; beside other things, an inner error is a part of the truth."""
    inner: list[Any] = [opened(result[name]) for name in _AROUND if result.get(name)]
    if len(inner) == 1 and all(name in _AROUND or plain_key(name) in ABOUT_THE_CALL for name in result):
        return _error_in(inner[0], depth + 1)
    if len(result) == 1:
        thing = next(iter(result.values()))
        return (
            _error_of_thing(thing)
            if isinstance(thing, dict)
            else _error_in(thing, depth + 1)
            if _is_items(thing)
            else _said_in(result, depth)
        )
    return _said_in(result, depth)


def _is_items(thing: Any) -> bool:
    return isinstance(thing, list) and bool(thing) and isinstance(thing[0], dict)


def _said_in(result: dict[str, Any], depth: int) -> str | None:
    """What a result says that is nothing but a message, or what a program printed."""
    printed = result.get("stderr")
    has_ended_well = any(plain_key(key) in _EXIT and item == 0 for key, item in result.items())
    if isinstance(printed, str) and is_error_text(printed) and not result.get("stdout") and not has_ended_well:
        return _error_in(printed, depth + 1)
    said = [item for key, item in result.items() if plain_key(key) not in _BESIDE_A_MESSAGE]
    is_bare = len(said) == 1 and isinstance(said[0], str) and not _BARE_MESSAGE.isdisjoint(map(plain_key, result))
    return _error_in(said[0], depth + 1) if is_bare else None


def _error_of_thing(thing: dict[str, Any]) -> str | None:
    """What the one thing that was made or changed says: its own error, complaints, or why it was refused."""
    error = thing.get("error")
    if isinstance(error, dict) and _is_told(error):
        return one_line(failure_of({"error": error}).text, 160)
    status = next((item for key, item in thing.items() if plain_key(key) in _STATES), None)
    reason = next((item for key, item in thing.items() if plain_key(key).endswith("reason")), None)
    if isinstance(status, str) and status.lower() in _FAILED_WORDS | _REFUSED_WORDS and isinstance(reason, str):
        return one_line(reason, 160)
    if complaints := _complaints_in(thing):
        return one_line(_words({"errors": complaints}) or "errors", 160)
    code = next((item for key, item in thing.items() if plain_key(key) in _STATUS and _is_http_error(item)), None)
    return f"status {code}" if code is not None else _failed_part(thing)


def error_in_answer(answer: Any) -> str | None:
    """The error that stands in an answer's place; a model that says in words what it could not do has answered."""
    if isinstance(answer, str) and not isinstance(parse_embedded(answer), (dict, list)):
        return one_line(answer, 160) if is_error_text(answer) else None
    answer = opened(answer)
    if isinstance(answer, dict) and not any(map(_names_error, answer)):
        about = {plain_key(key) for key in answer} - _STATES - {plain_key(name) for name in _WORDS} - _SAYS_DONE
        if about - _SAYS_FAILED - _CODE - _EXIT:
            return None  # it speaks of something
    return error_in_result(answer)


def _may_tell(text: str) -> bool:
    if text.lower().startswith(("[error", "[fatal", "[exit", "[process")):
        return True
    ends = f"{text[:_LOOKED_AT]}{text[-_LOOKED_AT:]}"
    return _TELLING_KEY.search(ends) is not None or _TELLING_TEXT.search(ends) is not None


def _why(result: dict[str, Any]) -> str | None:
    """Which part of a result says that it failed."""
    if _is_a_no(result):
        return None
    for name, item in result.items():
        if _says_failed(plain_key(name), item) and not (
            (name.lower() in _STATES or plain_key(name).startswith("failure")) and _is_record(result, item)
        ):
            return f"{name} is {str(item).lower()}" if isinstance(item, bool) else f"{name} {item}"
    return _why_together(result)


def _is_a_no(result: dict[str, Any]) -> bool:
    """`grep`, `test` and their kin end with 1 and print nothing where the answer is no."""
    printed = [item for key, item in result.items() if plain_key(key) in ("stdout", "stderr")]
    codes = [item for key, item in result.items() if plain_key(key) in _EXIT]
    return codes == [1] and printed == ["", ""]


def _why_together(result: dict[str, Any]) -> str | None:
    """Which members say it that say nothing alone."""
    status, raised = result.get("status") or result.get("outcome"), result.get("__type")
    code = next((item for key, item in result.items() if plain_key(key) in _CODE), None)
    is_code = (type(code) is int and code < 0) or _is_http_error(code) or _ERRNO.fullmatch(str(code)) is not None
    is_refused = isinstance(status, str) and status.lower() in _REFUSED_WORDS and bool(_words(result))
    is_printed = not {"stdout", "stderr"}.isdisjoint(map(plain_key, result))
    signs = {
        "errors": bool(_complaints_in(result)),
        "detail": _are_complaints(result.get("detail")),
        "fault": isinstance(result.get("fault") or result.get("Fault"), dict),
        str(raised): isinstance(raised, str) and raised.endswith(("Exception", "Error")),
        f"status {status}": is_refused and not _is_record(result, status),
        f"code {code}": bool(code) and ((is_code and bool(_words(result))) or _is_error_object(result, code)),
        f"exit code {code}": type(code) is int and code != 0 and is_printed and not _is_http_error(code),
        "not done": _is_undone(result),
        "no success": any(plain_key(key) in _SAYS_DONE and one == 0 for key, one in result.items())
        and bool(_words(result)),
        "type error": isinstance(result.get("message") or result.get("msg"), str)
        and any(_is_error_class(result.get(key)) for key in ("type", "name")),
    }
    return next((sign for sign, is_so in signs.items() if is_so), None) or _failed_part(result)


def _is_error_class(name: Any) -> bool:
    return isinstance(name, str) and (name in ("error", "Error") or _CLASS.fullmatch(name) is not None)


def _complaints_in(result: dict[str, Any]) -> Any:
    """The `errors` or `userErrors` of a result that holds nothing else."""
    if any(plain_key(key) in ("valid", "isvalid") for key in result):
        return None  # what was checked is wrong
    for key, item in result.items():
        if not isinstance(item, (list, dict)) or not item or item == {"count": 0}:
            continue
        name = plain_key(key)
        if name == "errors" and isinstance(item, list) and _is_of_graphql(item[0]):
            return item
        others = [one for other, one in result.items() if other != key and plain_key(other) not in ABOUT_THE_CALL]
        if (name == "errors" and not result.get("data")) or (
            name.endswith(("errors", "errormessages")) and not name.startswith(_ABOUT_OTHERS) and not any(others)
        ):
            return item
    return None


def _is_undone(result: dict[str, Any]) -> bool:
    """`{"booked": false, "reason": "…"}`: what was asked for was not done, and here is why."""
    undone = [key for key, item in result.items() if item is False and plain_key(key).endswith(("ed", "sent", "paid"))]
    others = {plain_key(key) for key in result} - {plain_key(key) for key in undone}
    return len(undone) == 1 and bool(others) and others <= {"reason", "message", "why"} and bool(_words(result))


def _is_of_graphql(error: Any) -> bool:
    """An error beside the data there is, with the place in the query that it is about."""
    return isinstance(error, dict) and "message" in error and not {"extensions", "locations", "path"}.isdisjoint(error)


def _is_error_object(result: dict[str, Any], code: Any) -> bool:
    """Whether a result is a code and a message and nothing else, and the code is none of success."""
    names = {plain_key(key) for key in result}
    said = (result[key] for key in result if plain_key(key) in ("message", "msg", "details"))
    has_message = isinstance(next(said, None), str)
    is_bare = has_message and names <= _CODE | _BESIDE_A_CODE and ("details" in names or isinstance(code, str))
    return is_bare and _FINE_CODE.fullmatch(str(code)) is None


def _failed_part(result: dict[str, Any]) -> str | None:
    """How many of a batch failed, where beside it stands how many did not."""
    if any(_OVER_TIME.search(str(key).lower()) for key in result):
        return None
    is_batch = any(_DONE_COUNT.fullmatch(plain_key(key)) and _is_amount(item) for key, item in result.items())
    for key, item in result.items():
        is_count = (is_batch and _FAILED_COUNT.fullmatch(plain_key(key))) or _FAILED_ITEMS.fullmatch(plain_key(key))
        if is_count and _is_amount(item) and item:
            return f"{key}: {item if isinstance(item, int) else len(item)}"
    return None


def _is_amount(item: Any) -> bool:
    return isinstance(item, (int, list, dict)) and not isinstance(item, bool)


def _are_complaints(detail: Any) -> bool:
    """`[{"loc": ["body"], "msg": "field required"}]`, as web frameworks refuse a request."""
    return isinstance(detail, list) and bool(detail) and all(isinstance(one, dict) and "msg" in one for one in detail)


def _is_record(result: dict[str, Any], status: Any) -> bool:
    """Whether a status is that of the thing which was asked for: a job, an order or a room, with an id of its own."""
    keys = {plain_key(key) for key in result} - _OWN_IDS
    about_it = keys - ABOUT_THE_CALL - _CODE - _STATES
    if not _words(result) and len(about_it) >= _MEMBERS_OF_A_RECORD:
        return True
    is_plain_failure = isinstance(status, str) and status.lower().startswith("error")
    is_plain_failure &= "createdat" not in keys or bool(_words(result))
    return not is_plain_failure and any(key.endswith(_OF_RECORDS) for key in keys)


def _says_failed(key: str, item: Any) -> bool:
    """Whether one member of a result says by itself that the call failed."""
    if key in _EXIT:
        return (type(item) is int and item != 0) or (isinstance(item, str) and whole_number(item) not in (None, 0))
    if key in _ERROR_WORDS:
        return _is_told(item)
    if key in _TOLD_BY_TEXT:
        return isinstance(item, str) and _TOLD_BY_TEXT[key].match(item) is not None
    if key == "status" and isinstance(item, dict):
        is_of_rpc = item.get("code") in range(1, 17) and bool(item.get("message"))
        return is_of_rpc or _is_http_error(item.get("code")) or _is_told(item.get("error"))
    is_word = key in _STATES and isinstance(item, str) and item.lower() in _FAILED_WORDS
    is_told = (key in _SAYS_FAILED and _truth(item) is True) or (key in _SAYS_DONE and _truth(item) is False)
    is_told = is_told or (key == "ok" and type(item) is int and item == 0)
    is_told = is_told or (key == "grpcstatus" and item in range(1, 17))
    is_told = is_told or (key == "errors" and isinstance(item, str) and _is_told(item))
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
    return (
        {"true": True, "yes": True, "false": False, "no": False}.get(value.lower()) if isinstance(value, str) else None
    )


def _words(result: dict[str, Any]) -> str:
    """What a failed result says in words."""
    for name in _WORDS:
        said = opened(result.get(name))
        if isinstance(said, list) and said and isinstance(said[0], (str, dict)):
            said = said[0]
        if isinstance(said, dict):
            said = said.get("message") or said.get("text") or said.get("msg")
        if isinstance(said, str) and said.strip():
            return said
    return ""
