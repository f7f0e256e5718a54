"""
Read one value out of a text, and tell a secret from code and placeholders.

A value in quotes ends at the quote that closes it, at whatever depth of escaping it stands; a bare one ends where the
next thing begins. `is_harmless` knows what people write in place of a secret: None, a type, a variable, a call, `***`.
"""

from __future__ import annotations

import re

from agentdbg.events import REDACTED
from agentdbg.redaction.key_words import says_nothing, word_set
from agentdbg.redaction.keys import looks_random

__all__ = [
    "LINE_END",
    "QUOTE",
    "SPACE",
    "Span",
    "is_harmless",
    "read_brackets",
    "read_quoted",
    "read_unquoted",
]


Span = tuple[int, int]

QUOTE = r"(?:\\*[\"'`]|&quot;|&#3[49];|%2[27])"
SPACE = r"(?:\s|\\+[nrt])"
LINE_END = r"(?:\r?\n|(?:\\+r)?\\+n)"
"""Each as it is, and as it stands in a text within a text."""

_OPENING = re.compile(
    r"(?:[bBrRuUfFNL@$]|u8){0,2}(?P<slashes>\\*)"
    r"(?P<mark>\"\"\"|'''|```(?=[^\s`]{1,200}```)|[\"'`]|&quot;|&#3[49];|%2[27])"
)


def read_quoted(text: str, at: int) -> Span | None:
    """What stands between the quotes that open at `at`; None when there are none."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return None
    start = opening.end()
    mark = opening["mark"]
    depth = len(opening["slashes"])
    closing = text.find(mark, start)
    while closing >= 0:
        slashes = closing
        while slashes > start and text[slashes - 1] == "\\":
            slashes -= 1
        escapes = closing - slashes
        # A quote inside the value carries more backslashes than the one that opened it; fewer close an outer string.
        if mark == "'" and escapes == depth == 0 and start < closing and text.startswith(mark, closing + 1):
            closing = text.find(mark, closing + 2)  # SQL and YAML write a quote within quotes twice
            continue
        if escapes <= depth and (escapes == depth or depth):
            return start, slashes
        if escapes % (2 * (depth + 1)) == depth:
            return start, closing - depth
        closing = text.find(mark, closing + len(mark))
    return start, _end_of_line(text, start)


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return end if end >= 0 else len(text)


_LONGEST_BRACKETS = 4000
_DEEPEST_BRACKETS = 8
_PUNCTUATION = re.compile(r"[\[\]{}()\"']")


def read_brackets(text: str, at: int) -> Span | None:
    """
    From an opening bracket to the one that closes it, when something that could be secret stands inside.

    Brackets that do not close within reach are taken to the end of the line: both limits keep a text made of opening
    brackets from being read over and over.
    """
    level = 0
    limit = min(len(text), at + _LONGEST_BRACKETS)
    position = at
    while mark := _PUNCTUATION.search(text, position, limit):
        position = mark.end()
        if mark[0] in "\"'":
            quoted = read_quoted(text, mark.start())
            if quoted is not None and quoted[1] < limit:
                position = quoted[1] + 1
        elif mark[0] in "[{(":
            level += 1
            if level > _DEEPEST_BRACKETS:
                break
        else:
            level -= 1
            if level == 0:
                inside = text[at + 1 : mark.start()].strip()
                return (at, position) if _could_hide_something(inside) else None
    return at, _end_of_line(text, at)


def _could_hide_something(inside: str) -> bool:
    return any(mark in inside for mark in "\"'") or any(letter.isdigit() for letter in inside)


_BARE = re.compile(r"(?:(?!\\[nrt\"'`])[^\s\"'`<>])*")
_NEXT_THING = re.compile(r"[,;&|](?=\s|$|[\w.\-]{1,64}\s?[=:]|[\"'`\\{\[])")
_CLOSERS = {")": "(", "]": "[", "}": "{"}


def read_unquoted(text: str, at: int) -> Span:
    """A bare value: up to a space or quote, or to a comma or `&` that begins the next thing."""
    bare = _BARE.match(text, at)
    end = bare.end() if bare else at
    if ahead := _NEXT_THING.search(text, at, min(len(text), end + 65)):
        end = min(end, ahead.start())
    value = text[at:end].rstrip(",;.!?:|&")
    while value and value[-1] in _CLOSERS and value.count(value[-1]) > value.count(_CLOSERS[value[-1]]):
        value = value[:-1].rstrip(",;")
    return at, at + len(value)


_HARMLESS_WORDS = word_set(
    "none null nil undefined true false await new yes no on off str string int integer bool boolean "
    "float bytes any object dict list optional number text password token secret required "
    "missing invalid expired empty unset unknown default "
    "not must should can cannot is are was the a an and or if when with your my this that it be to for from in of "
    "enabled disabled ok error failed incorrect wrong correct valid changed reset self cls anystr secretstr type "
    "literal redacted hidden removed masked n/a na field header value name param parameter argument bearer basic "
    "auth authentication authorization please see use using via per used too here below above auto pass return raise "
    "continue break yield changeme change_me change-me changeit placeholder todo fixme optional plain login cram-md5 "
    "incomplete inherit anonymous xoauth2 oauth2 oauth ntlm gssapi digest"
)
_PLACEHOLDER = re.compile(
    r"\$\{[^}]*\}|\$[A-Za-z_]\w*|\$[0-9]{1,2}|\$?\{\{?[^{}]*\}\}?|[a-z]{2,6}[-_]"
    r"|\$\((?:aws|bw|cat|doppler|gcloud|gopass|kubectl|op|pass|security|sops|vault) [^()]{1,200}\)"
    r"|<[^<>]*>|%\(?\w*\)?s|[a-z]{2,6}[-_](?:\.{3}|…|[x*]{3,})|\*+|\.{2,}|…|x{3,}|X{3,}|\?+|-+|_+|@{1,2}\w+@{1,2}|%[A-Z_][A-Z0-9_]{2,60}%|\$env:\w+"
    r"|(?:[Yy]our|YOUR)[-_ ][\w\- ]*|[Xx]{3,}[\w\-]*"
)
_LEAST_SECRET = 3
_NOTHING_AND_MORE = re.compile(r"(?:null|None|undefined|true|false|void 0)[,;)}\]]|[A-Za-z]{1,2}[)}\]]{1,4}[{(;,]")
_ATTRIBUTE = re.compile(
    r"(?:os|self|cls|settings|config|conf|cfg|env|environ|process|args|opts|options|request|req|response|resp|data|"
    r"params|ctx|context|app|client|user|secrets|event|result|kwargs|this|session|creds|credentials|obj)"
    r"(?:\.[A-Za-z_]\w*)+"
)
_TYPE = re.compile(
    r"(?:[a-z]+\.)?(?:[A-Z][A-Za-z]*|dict|list|tuple|type)\[.*"
    r"|&(?:'\w{1,20} )?(?:str|mut \w{1,40}|[A-Z][A-Za-z]{1,40})$"
)
_PASSED = re.compile(r"[0-9]{1,3}|(?i:test).*|.*(?:::|/|\.(?:py|js|ts|go|rs|rb|java|php|cs))\b.*")
"""What a test report says after PASS: how many, or which."""
_ADDRESS = re.compile(r"https?://[\w.\-/:#%]{3,300}")
_PATH = re.compile(r"(?:~|\.{1,2})?/|[A-Za-z]:\\")


_MARKER = re.compile(REDACTED + "(?::[0-9]+)?")


def is_harmless(value: str, *, quoted: bool, name: str = "") -> bool:  # noqa: PLR0911 -- a line for each reason
    """Whether `value` stands where a secret could stand but is none: code, a type, a placeholder, a plain word."""
    shown = value.strip()
    if not shown or (REDACTED in shown and _MARKER.sub("", shown).strip(" ;,=") == ""):
        return True
    if _PLACEHOLDER.fullmatch(shown) or _HEADER_NAME.fullmatch(shown) or _is_format(shown):
        return True
    if quoted:
        return says_nothing(shown)
    if (len(shown) < _LEAST_SECRET and shown.isalpha()) or _NOTHING_AND_MORE.match(shown):
        return True  # `{password:e,rawPassword:t}`, `password=null,t.at(1)`
    if shown[:1] in {"@", ":"} and name.lower().endswith(shown[1:].lower()):
        return True  # `password = @password`
    word = shown.strip(".,;:!?()[]*")
    if word.lower() in _HARMLESS_WORDS or (word.isupper() and name.lower().replace("-", "_").endswith(word.lower())):
        return True  # `--api-key KEY`: what the help of a command calls it
    if _TYPE.match(shown) or _ATTRIBUTE.fullmatch(shown) or _looks_like_call(shown):
        return True
    if name.lower().endswith(("cookie", "cookies")) and shown.isalpha() and shown.islower():
        return True  # `cookies: flour and sugar`
    if name.lower() == "pass":
        return _PASSED.fullmatch(shown) is not None
    if _ADDRESS.fullmatch(shown) and not any(map(looks_random, re.split("[/#]", shown))):
        return True  # what is secret in one is found without a name
    last = name.lower().rstrip("s")
    return last.endswith(("file", "path", "pwd", "dir", "_url", "-url")) and _PATH.match(shown) is not None


_HEADER_NAME = re.compile(
    r"(?:[A-Z][a-z]{1,12}-){0,3}(?:Authorization|authorization|Cookie2?)|X(?:-[A-Z][A-Za-z]{1,12}){1,3}"
)
"""`auth_header = "Proxy-Authorization"`: where the secret will stand."""
_FIELD = re.compile(r"%(?:\(\w{1,40}\))?[srdi](?![A-Za-z0-9])|\{[^{}]{0,80}\}")
_WITHIN_WORD = re.compile(r"[A-Za-z0-9]\{[^{}]{0,80}\}[A-Za-z0-9]")
"""`correct{horse}battery`: a field stands beside words, not inside one."""
_BESIDE_FIELDS = re.compile(r"[A-Za-z\s:/.,_=;<>|?&()\[\]+\-]*", re.ASCII)


def _is_format(shown: str) -> bool:
    """`%s:%s`, `Bearer {token}`: fields to be filled in, and beside them nothing but words."""
    rest, fields = _FIELD.subn("", shown)
    return fields > 0 and _BESIDE_FIELDS.fullmatch(rest) is not None and not _WITHIN_WORD.search(shown)


_CALL = re.compile(r"(?:await |new |not )?\$?[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|::|->)[A-Za-z_]\w*)*!?(?P<open>[(\[])")


def _looks_like_call(shown: str) -> bool:
    """`os.getenv("X")`, `environ["X"]`, `get_token(`: the arguments are read on their own."""
    call = _CALL.match(shown)
    if call is None:
        return False
    return call.end() == len(shown) or shown.endswith((")", "]")) or shown[call.end() : call.end() + 1] in "\"'"
