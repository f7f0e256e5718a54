"""
Secrets that the form around them suggests and they themselves confirm: `connect("db", "root", …)`, `auth admin:…`.

A call that connects, a word of logging in, a function that hashes: none of them says for sure that a secret follows,
so only what nobody would write as a word or a name is taken. `ROUGHLY` and `WORDS` say, as in `named_forms`, what a
text without any of these forms does not hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.redaction.keys import is_drawn, is_told, looks_random

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.redaction.assigned_values import Span

__all__ = ["ROUGHLY", "WORDS", "told_forms"]

_QUOTE = r"\\*[\"']"
_CONNECTS = "(?:[Cc]onnect|[Cc]onnection|PDO|mysqli)"
_WAYS_IN = "auth|basic|creds?|credentials|log ?in|sign in|echo"
_IN_BETWEEN = "with|using|as|are|following|credentials|the"
_MAKERS = (
    r"hmac|hashlib\.|crypt|hashpw|signwith|pbkdf2|passw(?:or)?d|pw_set|encrypt_string|create_?user|credentials?\.|sendline"
    r"|wifi\.begin"
)
ROUGHLY = [
    rf"{_CONNECTS}\([^)]*,",
    r"(?i:[nysea] (?:pass)?(?:code|pin))[ :=]",
    (
        rf"(?i:{_WAYS_IN}|{_IN_BETWEEN}|-[ua]|userpwd)[:=,]*[ \t]+[\\\"']*[A-Za-z][^\s\"':%,/]*"
        r"(?: / |[:%,])[^\s\"'`\\|/:,]{6}"
    ),
    rf"toCharArray|(?i:{_MAKERS})[A-Za-z0-9_.]*[ \t]*[(\\\"']",
    r"[?&]code=[A-Za-z0-9_\-%.]{20}",
    r" (?:set|changed|reset|updated) to ",
]
WORDS = (
    "connect(", "connection(", "pdo(", "mysqli(", "tochararray", "hashlib.", "hmac", "rypt", "hashpw", "signwith",
    "bkdf2", "passw", "pw_set", "create_user", "createuser", "sendline", "wifi.begin", "basic ", "basic:", "cred",
    "log in", "login", "sign in", "-u ", "-a ", "userpwd", "auth ", "auth:", "echo ", "&code=", "?code=",
    "set to ", "changed to ", "updated to ",
    *(f"{end} {what}" for end in "nysea" for what in ("code", "pin", "passcode", "passpin")),
)  # fmt: skip


def told_forms(text: str) -> Iterator[Span]:
    """Where the secrets of such forms stand, each as (start, end)."""
    for form in _FORMS:
        if any(map(text.__contains__, form.literals)):
            for found in form.pattern.finditer(text):
                if form.is_secret(found["secret"]):
                    yield found.span("secret")
    if any(map(text.__contains__, _MAKERS_ROUGHLY)):
        for maker in _MAKER.finditer(text):
            for literal in _LITERAL.finditer(text, *maker.span("arguments")):
                if is_drawn(literal["secret"]) and not _ALGORITHM.fullmatch(literal["secret"]):
                    yield literal.span("secret")


def _is_of_login(value: str) -> bool:
    return is_told(value) and any(map(str.isdigit, value))


def _is_chosen(value: str) -> bool:
    """Whether digits and capitals or signs are mixed, as in no name of a file."""
    return _is_of_login(value) and any(letter.isupper() or letter in "!@#$%^&*" for letter in value)


_SNAKE = re.compile(r"[a-z0-9_]*")


def _is_no_name(value: str) -> bool:
    """`connect("clicked", "on_click2")` names a function."""
    return is_told(value) and _SNAKE.fullmatch(value) is None


def _is_any(value: str) -> bool:
    return value != ""


class _Form(NamedTuple):
    """One way of writing a secret, and what it must look like; in a text without all the literals it is not."""

    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool]


_FORMS = (
    _Form(
        ("onnect(", "onnection(", "PDO(", "mysqli("),
        re.compile(
            rf"{_CONNECTS}\([^()\n]{{0,200}}?{_QUOTE}[\w.@+\-]{{1,60}}{_QUOTE}\s{{0,4}},\s{{0,8}}{_QUOTE}"
            rf"(?P<secret>(?=[^\"'\n\\]{{0,80}}[0-9A-Z!@#$%^&*])[^\"'\n\\]{{1,200}}){_QUOTE}\s{{0,4}}[,)]"
        ),
        _is_no_name,
    ),
    # `skopeo copy --src-creds bob:…`, `stats auth admin:…`, `log in with admin / …`
    _Form(
        ("auth", "asic", "cred", "ogin", "og in", "ign in", "echo ", "-u ", "-A ", "-U ", "USERPWD"),
        re.compile(
            rf"(?:\b(?i:{_WAYS_IN})|(?<=\s)-[uAU]|USERPWD,?)(?:[:=]?"
            rf"(?:[ \t]{{1,4}}(?i:{_IN_BETWEEN}):?){{0,4}}[ \t]{{1,4}})(?:{_QUOTE})?"
            r"[A-Za-z][\w.@\-]{0,60}(?: / |[:%,])(?P<secret>[^\s\"'`\\|/:,]{6,100})(?=[\s\"'`\\|.]|$)"
        ),
        _is_of_login,
    ),
    _Form(
        (".toCharArray",),
        re.compile(r"[\"'](?P<secret>[^\"'\\\n]{6,100})[\"']\.toCharArray\(\)"),
        is_told,
    ),
    # `Your verification code is 482913`
    _Form(
        ("code", "Code", "CODE", "pin", "PIN"),
        re.compile(
            r"\b(?:verification|confirmation|security|login|access|one-time|authentication|2fa|mfa)"
            r" (?:pass)?(?:code|pin)"
            r"(?: is|:| =)?:?[ \t]{1,4}[*`\"']{0,2}(?P<secret>[0-9]{3}[ -]?[0-9]{1,5})(?![\w%]|\.\w)",
            re.IGNORECASE,
        ),
        _is_any,
    ),
    # `The password of bob has been set to …`
    _Form(
        (" to ",),
        re.compile(
            r"(?i:\b(?:password|passcode|passphrase|secret|token)\b)[^\n.]{0,60}? (?:set|changed|reset|updated) to "
            r"[*`\"']{0,2}(?P<secret>[^\s\"'`*]{5,100}[^\s\"'`*.,;:!?)])"
        ),
        _is_chosen,
    ),
    # What somebody has logged in with, or calls a function with.
    _Form(
        ("&code=", "?code="),
        re.compile(r"[?&]code=(?P<secret>[A-Za-z0-9_\-%.]{20,400}={0,2})"),
        looks_random,
    ),
)
_MAKERS_ROUGHLY = (
    "hmac", "HMAC", "Hmac", "hashlib.", "rypt", "hashpw", "ignWith", "bkdf2", "assw", "pw_set", "create_user",
    "createUser", "redential", "sendline", "WiFi.begin",
)  # fmt: skip
_MAKER = re.compile(rf"(?i:{_MAKERS})[\w.]{{0,20}}(?:\(|[ \t]{{1,4}}(?='))(?P<arguments>[^()\n]{{0,200}})")
"""`bcrypt.hashpw("…")`, `Credentials.basic("me", "…")`: calls that are given a password or a key."""
_LITERAL = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=[(, =][bBrRuU])){_QUOTE}(?P<secret>[^\"'\\\s,]{{8,200}}){_QUOTE}")
_ALGORITHM = re.compile(
    r"[A-Za-z]{0,12}(?:SHA|sha|MD|md|HS|RS|ES|PS|AES|aes|RSA|UTF|utf)[\w\-/]{0,16}|[\w.+\-]{1,64}@[\w.\-]{1,64}"
)
"""`HmacSHA256`, `me@example.com`."""
