"""
What web servers answer when something failed: a status line, an error page, an error document.

A page counts by its title, a document by its outermost element: pages about errors have more to say in both.
"""

from __future__ import annotations

import re

__all__ = ["is_error_page", "is_status_line"]

_LOOKED_AT = 200
_TITLES_IN = 600
_REASON = r"""(?:bad\ request|unauthori[sz]ed|payment\ required|forbidden|(?:page\ )?not\ found|method\ not\ allowed
    |conflict|gone|unprocessable\ entity|too\ many\ requests|(?:internal\ )?server\ error|not\ implemented
    |bad\ gateway|(?:service|website)\ (?:is\ )?(?:temporarily\ )?unavailable|temporarily\ unavailable
    |(?:gateway|request)\ time-?out)"""
_STATUS_LINE = re.compile(
    rf"""(?:(?:http|response|server|api|request)[\w/. ]*\ )?
        (?:status|error|code|got|returned|returns|responded|answered|received|http)
        (?:\ (?:with|a|the|an|status|code|error|http))*:?\ ?[45]\d\d\b(?!\ (?:errors?|pages?)\b)
      | (?:[45]\d\d\ )?{_REASON}(?:\ error)?(?:\ [45]\d\d)?(?=\s*[.!:,]|\s*$)
      | (?:GET|POST|PUT|PATCH|DELETE|HEAD)\ \S+\ [45]\d\d\b | status=[45]\d\d\b""",
    re.VERBOSE | re.IGNORECASE,
)
_PAGE = re.compile(r"\s*<(?:!doctype|html|head|body|title|h1|center)\b", re.IGNORECASE)
_TITLE = re.compile(r"<(title|h1)\b[^>]*>\s*([^<]{1,120}?)\s*</\1>", re.IGNORECASE)
_ERROR_TITLE = re.compile(
    rf"""(?:error\W{{0,3}})?(?:[45]\d\d)?\W{{0,3}}(?:{_REASON})?(?:\ error)?(?:\W{{1,3}}[45]\d\d)?
      | error\s*[|–—-]\ .* | (?:oops\W{{1,3}})?something\ went\ wrong.*
      | (?:access|permission)\ (?:to\ .*\ )?(?:(?:has\ been|is)\ )?denied\b.*
      | (?:page|site|server)\ (?:not\ found|(?:is\ )?unavailable|error)\b.*
      # Walls against robots.
      | just\ a\ moment\W* | attention\ required\b.* | are\ you\ (?:a\ )?(?:robot|human)\b.*""",
    re.VERBOSE | re.IGNORECASE,
)
_ERROR_DOCUMENT = re.compile(
    r"""\s*(?:<\?xml[^>\n]*>\s*)? (?: <(?:\w+:)?\w*(?:error|exception|fault)(?:s|response)?\b(?![/-]|\s+count=["']0)
      | <\w+\b[^>\n]{0,120}\b(?:status|stat|result|success)=["'](?:error|fail(?:ed|ure)?|false)["']
      | (?:<[^<>\n]{1,120}>\s*){1,6}<(?:\w+:)?fault(?:string|code)?\b )""",
    re.VERBOSE | re.IGNORECASE,
)


def is_status_line(line: str) -> bool:
    """Whether a line begins with a status of HTTP that is an error: "Got status 404 from …", "Bad gateway"."""
    return _STATUS_LINE.match(line) is not None


def is_error_page(text: str) -> bool:
    """Whether HTML or XML is an error: `<title>502 Bad Gateway</title>`, `<Error><Code>NoSuchKey</Code>`."""
    if _PAGE.match(text[:_LOOKED_AT]) is None:
        return _ERROR_DOCUMENT.match(text[:_LOOKED_AT]) is not None
    return any(_ERROR_TITLE.fullmatch(title) is not None for _, title in _TITLE.findall(text[:_TITLES_IN]))
