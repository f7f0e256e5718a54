"""
Secrets inside text that need no name beside them: providers' tokens, private keys, JWTs, logins in addresses.

Every expression is bounded or starts at a boundary its own run cannot contain.
"""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from agentdbg.events import REDACTED
from agentdbg.faults import pass_on
from agentdbg.redaction.key_words import word_set
from agentdbg.redaction.named_forms import named_forms, page_fields, prefixed
from agentdbg.redaction.suspicion import ADDRESSES, FORMS, LOGINS, ORDINARY, PARTS, SCHEMES, TOKENS, TOLD
from agentdbg.redaction.token_formats import SHAPES
from agentdbg.redaction.told_forms import told_forms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from agentdbg.redaction.assigned_values import Span

__all__ = ["shaped_secrets"]


def shaped_secrets(text: str, kinds: Collection[str]) -> Iterator[Span]:
    """Where the secrets of these kinds stand that need no name beside them, each as (start, end)."""
    if ORDINARY in kinds:
        yield from prefixed(text)
        yield from page_fields(text)
        yield from _aws_secrets(text)
    if TOKENS in kinds:
        yield from _provider_tokens(text)
        yield from _private_keys(text)
        yield from _jwts(text)
    if PARTS in kinds:
        yield from _parts_of_fixed_length(text)
    if ADDRESSES in kinds:
        yield from _url_credentials(text)
    if SCHEMES in kinds:
        yield from _schemes(text)
    if LOGINS in kinds:
        yield from _logins(text)
    if FORMS in kinds:
        yield from named_forms(text)
    if TOLD in kinds:
        yield from told_forms(text)


def _provider_tokens(text: str) -> Iterator[Span]:
    for shape in SHAPES:
        literal = shape.literal
        position = text.find(literal)
        while position >= 0:
            start = position - shape.before
            token = shape.token.match(text, start) if start >= 0 and _begins_here(text, start, literal) else None
            if token:
                yield token.span()
            position = text.find(literal, token.end() if token else position + len(literal))


_ESCAPE_BEFORE = re.compile(r"(?:\\[nrtbf]|%[0-9A-Fa-f]{2}|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4})$")


def _begins_here(text: str, start: int, literal: str = "") -> bool:
    """Whether a token can begin at `start`: not in the middle of a word, unless what stands before is an escape."""
    if start == 0 or (not literal[:1].isalnum() and start > 0 and literal[:1]):
        return True
    before = text[start - 1]
    if not (before.isascii() and before.isalnum()):
        return True
    return _ESCAPE_BEFORE.search(text, max(0, start - 6), start) is not None


_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----|PuTTY-User-Key-File-"
)
_END_OF_KEY = re.compile(
    r"-----END (?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1)-----|Private-MAC:[^\n]*"
)


def _private_keys(text: str) -> Iterator[Span]:
    """From BEGIN to END; without an END, to the end of the text, as it may have been cut off."""
    position = 0
    while begin := _PRIVATE_KEY.search(text, position):
        end = _END_OF_KEY.search(text, begin.end())
        position = end.end() if end else len(text)
        yield begin.start(), position


_JWT = re.compile(r"eyJ[A-Za-z0-9_\-]{5,}(?:\.[A-Za-z0-9_\-]*){1,4}", re.ASCII)
_JWT_CHARACTER = re.compile(r"[A-Za-z0-9_\-]")


def _jwts(text: str) -> Iterator[Span]:
    position = text.find("eyJ")
    while position >= 0:
        # Only at the start of its run: a run of `eyJeyJeyJ…` must not be tried again and again.
        token = None
        inside_run = position > 0 and _JWT_CHARACTER.match(text, position - 1) is not None
        if not inside_run or _ESCAPE_BEFORE.search(text, max(0, position - 6), position):
            token = _JWT.match(text, position)
        if token and len(token[0]) >= 24:
            yield token.span()
        position = text.find("eyJ", token.end() if token else position + 3)


_DISCORD_BOT = re.compile(
    r"(?:(?<![A-Za-z0-9_\-.])|(?<=\\[nrtbf]))[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.(?P<signed>[A-Za-z0-9_\-]{27,45})"
)


def _parts_of_fixed_length(text: str) -> Iterator[Span]:
    """Parts and no literal; a long host name has the same lengths, but no capitals and digits in its last one."""
    for pattern in (_DISCORD_BOT, _ZHIPU, _NGROK, _OKTA):
        for found in pattern.finditer(text):
            if {"upper", "lower", "digit"} <= {_kind(letter) for letter in found["signed"]}:
                yield found.span()
    for found in _PAIR.finditer(text):
        yield found.span()


_PAIR = re.compile(
    r"(?:(?<![A-Za-z0-9_\-./:])|(?<=\\[nrtbf]))(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}:[0-9a-f]{32}|[0-9a-f]{24}:[0-9a-f]{64}"
    r"|[12]/(?:[0-9]{16}/)?[0-9]{16}:[0-9a-f]{32}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"
    r"|(?:AC)?[0-9a-f]{32}:[0-9a-f]{32}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\|[A-Za-z0-9_\-]{40,50}"
    r"|[0-9]{15,16}\|[A-Za-z0-9_\-]{27}|0\.[0-9a-f\-]{36}\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22}==|[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{6}:[A-Za-z0-9_\-]{43})(?![A-Za-z0-9])"
)
"""fal, Ghost, Asana, Mailgun, Facebook, Bitwarden, Ably: who it is, and the secret behind a colon or a dash."""
_ZHIPU = re.compile(
    r"(?:(?<![A-Za-z0-9_\-./])|(?<=\\[nrtbf]))[0-9a-f]{32}\.(?P<signed>[A-Za-z0-9]{16}|[A-Za-z0-9_\-]{24})(?![A-Za-z0-9_\-]|\.\w)"
)
_OKTA = re.compile(
    r"(?:(?<![A-Za-z0-9_\-./+])|(?<=\\[nrtbf]))00(?P<signed>[A-Za-z0-9_\-]{40})(?![A-Za-z0-9_\-/+=]|\.\w)"
)
_NGROK = re.compile(r"(?<![A-Za-z0-9_\-./])[12][A-Za-z0-9]{26}_(?P<signed>[A-Za-z0-9]{20,22})(?![A-Za-z0-9_\-])")
_USERINFO = re.compile(r"://(?P<userinfo>[^\s\x00-\x1f\"'<>\\/?#]*)@")
_LOOSE_USERINFO = re.compile(
    r"://(?P<userinfo>[^\s\"'<>\\/?#@:]{0,80}:[0-9]{0,80}[^\d\s/?#\"'<>\\@][^\s\"'<>\\@]{0,160})@"
)
_ESCAPED_USERINFO = re.compile(
    r"%3A(?://|%2F%2F)[\w.~\-]{0,80}(?P<userinfo>%3A[^\s\"'<>\\/?#&@:]{1,160}?)%40", re.IGNORECASE | re.ASCII
)
_ACCOUNTS = word_set(
    "git hg svn root admin user ubuntu ec2-user postgres mysql mongo redis anonymous guest www deploy username"
)


_ACCOUNT = re.compile(r"[a-z]{2,8}(?:[.\-_][a-z]{2,8}){0,2}")
"""`https://bob@example.com`: whose it is, and no password."""
_EXAMPLE = re.compile(
    r"(?:user|username|login|me|name)?:(?:pass|passwd|password|pw|pwd)"
    r"|[\w.\-]{1,40}:(?:\$\{\w{1,80}\}|\$\w{1,80}|\*{3,}|<[\w\- ]{1,40}>)"
    r"|(?:\{[^{}]{0,80}\}|%s|\$\{?\w{1,80}\}?|:|<[\w\- ]{1,40}>){1,5}",
    re.IGNORECASE,
)
"""`user:pass`, `{user}:{password}`: what documentation and code write in its place."""


def _url_credentials(text: str) -> Iterator[Span]:
    """`scheme://user:password@host`; an account name alone, as in `ssh://git@host`, is none."""
    for found in _ESCAPED_USERINFO.finditer(text):
        yield found.span("userinfo")
    if "://" not in text or "@" not in text:
        return
    for pattern in (_USERINFO, _LOOSE_USERINFO):
        for found in pattern.finditer(text):
            userinfo = found["userinfo"]
            if (
                userinfo
                and userinfo.lower() not in _ACCOUNTS
                and not _ACCOUNT.fullmatch(userinfo)
                and not _EXAMPLE.fullmatch(userinfo)
                and userinfo.strip("@:") != REDACTED
            ):
                yield found.span("userinfo")


_BEARER = re.compile(
    r"\b(?:bearer|oauth|negotiate|ntlm)(?:\s|%20|\+|\\[nrt]|\\*[\"']){1,8}(?P<token>[A-Za-z0-9_\-.~+/]{8,}=*)",
    re.IGNORECASE | re.ASCII,
)
_BASIC = re.compile(r"\bbasic(?:\s|%20|\+){1,4}(?P<token>[A-Za-z0-9+/_\-]{8,}={0,2})", re.IGNORECASE | re.ASCII)
_WORDS_ONLY = re.compile(r"[A-Za-z][a-z]*(?:[-./_+][A-Za-z]?[a-z]*)*[.]?")


_CONSTANT = re.compile(r"[A-Z]{2,20}(?:_[A-Z]{2,20}){1,5}")
"""`Bearer YOUR_TOKEN`."""


_IS_NAME = re.compile(r":(?:[ \t]|\r?\n)")
"""`scheme: bearer`, and in the line below `bearerFormat: JWT`."""


def _schemes(text: str) -> Iterator[Span]:
    """What an Authorization header would carry, wherever it stands."""
    for found in _BEARER.finditer(text):
        token = found["token"]
        if _IS_NAME.match(text, found.end()) and "\n" in text[found.start() : found.start("token")]:
            continue
        if not _WORDS_ONLY.fullmatch(token) and not _CONSTANT.fullmatch(token) and REDACTED not in token:
            yield found.span("token")
    for found in _BASIC.finditer(text):
        if _is_login(found["token"]):
            yield found.span("token")


def _is_login(token: str) -> bool:
    try:
        decoded = base64.b64decode(token[:200] + "=" * (-len(token[:200]) % 4), validate=False)
    except (binascii.Error, ValueError) as error:
        pass_on(error)
        return False
    return b":" in decoded and decoded.isascii()


_NETRC = re.compile(r"\blogin\s{1,8}[^\s|]{1,80}\s{1,8}password\s{1,8}(?P<secret>[^\s|]\S{0,200})")
_USER_OPTION = re.compile(
    r"(?<![\w-])(?:-u|--user|--proxy-user|(?<=http )-a|(?<=https )-a|(?<=xh )-a)(?:[= ]|[\"'],\s?[\"']){0,3}[\"']?"
    r"(?P<user>[\w.@+\-${}]{0,80}):(?P<secret>[^\s\"']{1,200})"
)
_ORACLE_PASSWORD = re.compile(r"\bIDENTIFIED BY (?P<secret>(?=[A-Za-z_#$]*[0-9])[A-Za-z0-9_#$]{6,60})(?=[;\s]|$)")
_CURL_USER = re.compile(
    r"\bcurl\b[^\n|;]{0,120}? -[A-Za-z]{1,8}u[= ]{1,3}\\*[\"']?"
    r"(?P<user>[\w.@+\-${}]{1,80}):(?P<secret>[^\s\"'\\]{1,200})"
)
"""`curl -sSu name:password`: the last of several letters takes the value."""
_PASSWORD_OPTION = re.compile(
    r"\b(?:(?:sshpass|mysql(?:dump|admin)?|mariadb|mongo(?:sh|dump|restore)?|docker login|podman login|az login"
    r"|registry login|oras login|7z[arz]?|u?n?rar)\b"
    r"[^\n|;&]{0,80}?[ \"']-p|(?:un)?zip\b[^\n|;&]{0,80}? -P|redis-cli\b[^\n|;]{0,80}? -a|sqlcmd\b[^\n|;]{0,80}? -P"
    r"|ldap(?:search|add|modify)\b[^\n|;]{0,80}? -w"
    r"|curl\b[^\n|;]{0,120}? -b) ?\\*[\"']?(?P<secret>[^\s\"'\\-][^\s\"'\\]{0,200})"
)
_SQL_PASSWORD = re.compile(
    r"\b(?:(?-i:IDENTIFIED\s{1,4}(?:WITH\s{1,4}\S{1,64}\s{1,4})?BY)|user\s{1,4}\S{1,64}\s{1,4}identified\s{1,4}by|(?:with|encrypted|login|user\s{1,4}\S{1,64}|role\s{1,4}\S{1,64})\s{1,4}password"
    r"|set\s{1,4}password\s{1,4}for\s{1,4}\S{1,80}\s{0,4}=)"
    r"\s{1,4}(?:password\s{0,4}\(?\s{0,4})?\\?[\"'](?P<secret>[^\"'\n\\]{1,200})",
    re.IGNORECASE,
)


def _logins(text: str) -> Iterator[Span]:
    """.netrc lines, curl's `-u name:password`, `mysql -p…`, `docker login -p …`, SQL's `IDENTIFIED BY '…'`."""
    for pattern in (_NETRC, _USER_OPTION, _CURL_USER, _PASSWORD_OPTION, _SQL_PASSWORD, _ORACLE_PASSWORD):
        for found in pattern.finditer(text):
            if (
                found["secret"] != REDACTED
                and not _is_user_and_group(found)
                and not _VARIABLE.fullmatch(found["secret"])
            ):
                yield found.span("secret")


_VARIABLE = re.compile(r"\$\{?\w{1,80}\}?")


def _is_user_and_group(found: re.Match[str]) -> bool:
    """`docker run --user 1000:1000` and `-u node:node`, which look like a login."""
    user = found.groupdict().get("user")
    return user is not None and (user.isdigit() or user == found["secret"])


_FORTY = re.compile(r"(?:(?<![A-Za-z0-9/+_\-.])|(?<=\\[nrtbf]))(?<!base64,)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_\-])")


_BASE64 = bytes(byte if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"/+") else 32 for byte in range(256))
"""Leaves the letters of base64 and makes all others spaces."""
_LENGTHS = frozenset({40, 41})
"""The second is that of a run with the letter of an escape, as in `\\n`, before it."""


def _aws_secrets(text: str) -> Iterator[Span]:
    """Forty characters of base64 that change class so often that no path, hash or word does."""
    # To split the text takes a third of the time that the expression takes, and nearly all texts have no such run.
    if _LENGTHS.isdisjoint(map(len, text.encode("ascii", "replace").translate(_BASE64).split())):
        return
    for found in _FORTY.finditer(text):
        if base64.b64decode(found[0]).isascii():
            continue  # somebody's text: no thirty random bytes are
        kinds = [_kind(letter) for letter in found[0]]
        if len(set(kinds)) >= 3 and sum(one != other for one, other in pairwise(kinds)) >= 16:
            yield found.span()


def _kind(letter: str) -> str:
    if letter.isdigit():
        return "digit"
    if letter.islower():
        return "lower"
    return "upper" if letter.isupper() else "sign"
