"""
Whether a tool's result holds nothing: null, an empty text or list, "No results found", or lists that are all empty.

What was looked for and is better not there (errors, problems, rejected items) is no empty result: it is good news.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from agentdbg.analysis.value_text import parse_embedded

__all__ = ["ABOUT_THE_CALL", "is_empty", "opened", "plain_key"]

_LOOKED_AT = 200
_DEEPEST = 3
_LONGEST_PYTHON = 2_000
_SHORTEST_NAME = 3
_GOOD_NEWS = re.compile(
    r"\s*(?:there (?:are|were) )?(?:no|0|zero)\s+(?:\w+\s+){0,2}(?:bugs?|changes|conflicts?|diagnostics|differences"
    r"|errors?|failures?|findings|issues?|leaks?|problems?|violations?|vulnerabilit(?:y|ies)|warnings?)\b",
    re.IGNORECASE,
)
"""What was looked for and is better not there."""
_BETTER_EMPTY = re.compile(r"(?:errors?|exceptions|failed|failures?|rejected|unprocessed)")
_NOTHING_FOUND = re.compile(
    r"\s*\(?(?:[^.\n]{0,40}\b(?:returned|found|gave|yielded|with|there (?:are|were))\s+)?"
    r"(?:no|0|zero)\s+(?:\w+\s+){0,2}"
    r"(?:results?|records?|match(?:es)?|hits?|rows?|items?|data|documents?|entries|files?|found|affected|available"
    r"|returned)\b[^\n]{0,80}$"
    r"|\s*(?:nothing(?: (?:(?:was )?found|to show|matched(?: [^\n.]{0,60})?|happens))?|none found|not found"
    r"|[(<\[]?empty[)>\]]?"
    r"|\(no (?:output|results?)\))\.?\s*$"
    r"|[^.\n]{0,40}\b(?:did(?: not|n't) (?:match|find|return) any|could(?: not|n't) find any|returned nothing)"
    r"\b[^\n]{0,80}$"
    r"|\s*(?:Empty DataFrame\b|Empty set\s*(?:$|\()|No such \w+\.?\s*$|There (?:are|were) no (?:\w+ ){1,4}?\w+\.?\s*$)"
    r"|(?:[^\n]*\n[-+| ]+\n)?\s*\(0 rows\)\s*$|\s*<(\w+)(?:\s[^<>]*)?(?:/>|>\s*</\1>)\s*$",
    re.IGNORECASE,
)
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
    | {"articles", "edges", "nodes", "pages"}
)
_WRAPS = frozenset({"result", "response", "output", "content", "body", "text", "stdout"})
_GOES_ON = ("next", "nextpage", "nexttoken", "nextcursor", "nextpagetoken", "cursor", "hasmore", "hasnextpage")
_COUNTS = frozenset(
    {"count", "total", "rows", "hits", "matches", "results", "found", "numresults", "totalcount", "totalresults"}
    | {"resultcount", "rowcount", "totalhits", "size", "length", "numfound", "n"}
)
ABOUT_THE_CALL = frozenset(
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


_OF_THE_CALL = frozenset(
    {"ok", "success", "succeeded", "successful", "done", "complete", "completed", "finished"}
    | {"200", "no_results", "empty"}
)
"""What a status says of the call and not of a thing."""
_COUNT_ENDS = ("count", "estimate", "found", "hits", "size", "total")
_ABOUT_THE_SEARCH = re.compile(
    r"(?:^|_|(?<=[a-z]))(?:aggregations?|facets?|filters?|info|information|links|meta|metadata|paging|pagination|params"
    r"|parameters?|query|request|shards|stats|suggest|totals?|usage)$",
    re.IGNORECASE,
)


def plain_key(key: Any) -> str:
    """A member's name without the differences of style: `isError`, `is_error`, `is-error`."""
    return str(key).replace("_", "").replace("-", "").lower()


def is_empty(result: Any) -> bool:
    """Whether a result holds nothing: null, an empty text or list, "No results found", or lists that are all empty."""
    if isinstance(result, str) and len(result) > _LOOKED_AT:
        return not result.strip()
    result = opened(result)
    if isinstance(result, str):
        return result.strip().lower() in ("", "nan", "none", "null", "undefined") or _says_nothing_found(result)
    return _holds_nothing(result, 0)


def _says_nothing_found(text: str) -> bool:
    return _NOTHING_FOUND.match(text) is not None and _GOOD_NEWS.match(text) is None


def _holds_nothing(value: Any, depth: int) -> bool:
    value = opened(value) if isinstance(value, list) else value
    if isinstance(value, dict) and value:
        return depth <= _DEEPEST and _members_hold_nothing(value, depth)
    if isinstance(value, list):
        return all(_is_hollow(item, depth) for item in value)
    if isinstance(value, str) and depth:
        return value.strip() in ("", "[]", "{}", "null") or _says_nothing_found(value[:_LOOKED_AT])
    return value is None or value in ({}, "")


def _members_hold_nothing(value: dict[str, Any], depth: int) -> bool:
    plain = {plain_key(key): item for key, item in value.items()}
    if any(plain.get(key) for key in _GOES_ON) or any(_is_number(plain.get(key)) and plain[key] for key in _COUNTS):
        return False  # the last page of a list, or one of several
    lists = [
        item for key, item in value.items() if _is_list_name(key) and not _is_number(item) and not _is_good_news(key)
    ]
    if lists:
        # An order without items is an order; what stands about the search itself is nothing.
        others = [key for key, item in value.items() if isinstance(item, dict) and item and not _is_list_name(key)]
        return all(map(_ABOUT_THE_SEARCH.search, map(str, others))) and all(
            _holds_nothing(item, depth + 1) for item in lists
        )
    is_counted = any(key.endswith(_COUNT_ENDS) and item == 0 and _is_number(item) for key, item in plain.items())
    is_counted = is_counted and any(item == [] for item in plain.values())
    if is_counted and all(
        _is_number(item) or item in ([], {}, None) or key in ABOUT_THE_CALL for key, item in plain.items()
    ):
        return True
    told = {key: item for key, item in plain.items() if key not in ABOUT_THE_CALL or (item and isinstance(item, dict))}
    if told and all(map(_is_good_news, told)):
        return False
    if len(told) == 1 and "message" in told:
        return isinstance(told["message"], str) and _says_nothing_found(told["message"])
    is_named = any(len(key) >= _SHORTEST_NAME for key in told) and not _stands_somehow(plain.get("status"))
    return is_named and all(
        (item == 0 if key in _COUNTS and _is_number(item) else _is_hollow(item, depth, key))
        for key, item in told.items()
    )


def _stands_somehow(status: Any) -> bool:
    """Whether a status tells how the thing stands that was asked for: "processed", "delivered"."""
    return isinstance(status, str) and status.lower() not in _OF_THE_CALL


def _is_good_news(key: Any) -> bool:
    """Whether nothing under a name is good: `errors`, `failed`, `UnprocessedItems`."""
    name = plain_key(key)
    return _BETTER_EMPTY.match(name) is not None or _GOOD_NEWS.match(f"no {name}") is not None


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


def opened(result: Any) -> Any:
    """A result without what it is wrapped in: JSON in a text, an RPC's envelope, the one text part of a message."""
    if isinstance(result, str):
        result = _python_in(result) if result.startswith("{'") else parse_embedded(result)
    if isinstance(result, dict) and "jsonrpc" in result and "result" in result:
        result = result["result"]
    if isinstance(result, list) and len(result) == 1 and isinstance(result[0], dict):
        text = result[0].get("text")
        if isinstance(text, str):
            return parse_embedded(text)
    return result


def _python_in(text: str) -> Any:
    """A dict that a tool printed with `str`; the text itself where it is something else, or long."""
    if len(text) > _LONGEST_PYTHON:
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
