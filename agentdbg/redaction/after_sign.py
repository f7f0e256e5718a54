"""
What a name is given after a sign of assignment: in quotes, in brackets, bare, as a header, a YAML block or a list.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.redaction.after_space import is_count, is_drawn_at, is_drawn_for, is_told_or_drawn
from agentdbg.redaction.assigned_values import (
    LINE_END,
    QUOTE,
    Span,
    is_harmless,
    read_brackets,
    read_quoted,
    read_unquoted,
)
from agentdbg.redaction.key_words import HOLDS_SECRETS
from agentdbg.redaction.keys import is_told, words_of
from agentdbg.redaction.source_code import closes_quotes, is_docstring, is_written_out

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["after_colon", "assigned", "drawn_in_call", "is_no_value", "past_annotation", "section_below"]

_ANNOTATION = re.compile(
    r"(?:&(?:'\w{1,20} )?)?(?:Optional\[|Union\[)?"
    r"[A-Za-z_][\w.]{0,40}(?:\[[\w., |]{0,60}\])?\]?(?: ?\| ?\w{1,40}){0,3} ?= ?(?!=)"
)
_SCHEME = re.compile(
    r"(?:bearer|basic|token|digest|negotiate|apikey|api-key|key|hmac|ntlm|aws4-hmac-sha256)(?:\s|%20|\+)+",
    re.IGNORECASE | re.ASCII,
)
_REST_OF_LINE = re.compile(r"(?:(?!\\[rn])[^\r\n])*")


def assigned(text: str, name_start: int, at: int, name: str, sign: str, *, counting: bool) -> Iterator[Span]:
    """The value that begins at `at`, if it is one that should go."""
    if function := _FUNCTION.match(text, at):
        at = function.end()
    quoted = read_quoted(text, at)
    if quoted is not None:
        start, end = quoted
        if _carries_scheme(name) and (scheme := _SCHEME.match(text, start, end)):
            start = scheme.end()
        if start < end and not is_harmless(text[start:end], quoted=True) and not is_written_out(text, quoted):
            yield start, end
        return
    if sign in {"==", "===", "!=", "!=="}:
        return  # a comparison with a variable, not an assignment
    if drawn := list(drawn_in_call(text, at)):
        yield from drawn
        return
    if text[at : at + 1] in {"{", "[", "("}:
        if counting:
            yield from _drawn_arguments(text, at + 1)
        elif brackets := read_brackets(text, at):
            yield brackets
        return
    if sign == ":" and _is_header(name):
        yield from _header_value(text, name_start, at, name)
        return
    yield from _bare(text, at, name, counting=counting)


_FUNCTION = re.compile(rf"(?:lambda[^:\n\"']{{0,40}}:|\([^()\n\"']{{0,40}}\)[ \t]?=>)[ \t]{{0,4}}(?={QUOTE})")
"""`get_password = lambda: "…"`."""
_CALL = re.compile(r"(?:\[\])?[A-Za-z_][\w.:]{0,60}!?\(")
_ARGUMENTS = re.compile(r"[^\n;#]{0,300}")
_ARGUMENT = re.compile(rf"(?<=[(\[,=\s])[bBrRuU]?{QUOTE}")


def drawn_in_call(text: str, at: int) -> Iterator[Span]:
    """What is drawn among the arguments of a call that begins at `at`."""
    if call := _CALL.match(text, at):
        yield from _drawn_arguments(text, call.end())


def _drawn_arguments(text: str, at: int) -> Iterator[Span]:
    """`key = bytes("…")`, `ENV.fetch("NAME", "…")`: what is drawn stays so, whatever is made of it."""
    line = _ARGUMENTS.match(text, at)
    while line and (argument := _ARGUMENT.search(text, at, line.end())):
        quoted = read_quoted(text, argument.start())
        if quoted is None:
            return
        if is_drawn_at(text, quoted):
            yield quoted
        at = quoted[1] + 1


_FALLBACK = re.compile(rf"[ \t]{{0,4}}(?:\|\||\?\?|\bor\b)[ \t]{{0,4}}(?={QUOTE})")


def _bare(text: str, at: int, name: str, *, counting: bool) -> Iterator[Span]:
    """A value without quotes."""
    start, end = read_unquoted(text, at)
    value = text[start:end]
    if value and (fallback := _FALLBACK.match(text, end)) and (other := read_quoted(text, fallback.end())):
        if is_told_or_drawn(text[slice(*other)]):
            yield other  # `password: settings.password or "…"`
        return
    is_number = (counting or "tokens" in name.lower()) and is_count(value)
    if not value or is_number or is_harmless(value, quoted=False, name=name):
        return
    if _carries_scheme(name) and (scheme := _SCHEME.match(text, start)):
        start, end = read_unquoted(text, scheme.end())
    if start < end:
        yield start, end


def _carries_scheme(name: str) -> bool:
    lowered = name.lower()
    return "auth" in lowered or "bearer" in lowered


def _is_header(name: str) -> bool:
    return name.lower().lstrip("-").endswith(("authorization", "cookie", "cookie2"))


def _header_value(text: str, name_start: int, at: int, name: str) -> Iterator[Span]:
    """An Authorization or Cookie header runs to the end of its line, or of the quotes it stands in."""
    scheme = _SCHEME.match(text, at) if _carries_scheme(name) else None
    if scheme and scheme[0][:6].lower() not in {"digest", "aws4-h", "hmac "}:
        start, end = read_unquoted(text, scheme.end())
    else:
        line = _REST_OF_LINE.match(text, at, _end_of_quotes_around(text, name_start))
        start, end = at, line.end() if line else at
    value = text[start:end].rstrip()
    if scheme is None and _IN_WORDS.match(value):
        return  # `Authorization: granted by the board`
    if name.lower().endswith(("cookie", "cookie2")):
        value = value[: attribute.start()] if (attribute := _COOKIE_ATTRIBUTE.search(value)) else value
        if "=" not in value and not is_told(value) and not attribute:
            return  # `Cookie: the header that …`
    if value and not is_harmless(value, quoted=False, name=name):
        yield start, start + len(value)


_IN_WORDS = re.compile(r"[a-z]{3,} (?:[a-z]{1,20}[ ,.]){2}")
_COOKIE_ATTRIBUTE = re.compile(
    r";\s{0,8}(?:path|domain|expires|max-age|samesite|secure|httponly|version|comment|discard|partitioned)\b",
    re.IGNORECASE,
)


def _end_of_quotes_around(text: str, name_start: int) -> int:
    """Where the quotes end that a name stands at the beginning of; the end of the text when it does not."""
    if text[name_start - 1 : name_start] not in {'"', "'", "`"}:
        return len(text)
    opening = name_start - 1
    while opening > 0 and text[opening - 1] == "\\":
        opening -= 1
    quoted = read_quoted(text, opening)
    return quoted[1] if quoted is not None else len(text)


_FILE_NAME = re.compile(
    r"\.(?:py|pyi|ipynb|[cm]?[jt]s|[jt]sx|vue|svelte|go|rs|java|kt|scala|rb|php|c|h|cc|cpp|hpp|cs|swift|dart|lua|sh|sql|md"
    r"|rst|html|s?css|json|ya?ml|toml|xml|proto)$",
    re.IGNORECASE,
)
_LINE_NUMBER = re.compile(r"[0-9]{1,6}(?![\w.\-])")
"""`reset_password.py:42`: the place of something in a file, as compilers and searches print it."""
_YAML_BLOCK = re.compile(rf"[|>][+\-1-9]{{0,2}}[ \t]*(?P<indent>{LINE_END}[ \t]+)(?=\S)")
_YAML_MARK = re.compile(r"(?:&|!!|(?P<own>!))[\w/:.\-]{1,60}[ \t]+(?!=)")
_YAML_ITEM = re.compile(
    rf"(?:{LINE_END}[ \t]*)?-[ \t]+(?:\\*[\"'])?(?P<value>[^\s\"'\\]{{1,400}})(?:\\*[\"'])?[ \t]*(?={LINE_END}|$)"
)


def past_annotation(text: str, at: int) -> int:
    """Where a value begins after what says its type: `token: str = …`, `token: !!str …`."""
    if mark := _YAML_MARK.match(text, at):
        at = mark.end()
    annotation = _ANNOTATION.match(text, at)
    return annotation.end() if annotation else at


def after_colon(text: str, separator: re.Match[str], name: str) -> list[Span] | None:
    """What stands after `name:` where only a colon is written so; None when it is a value as any other."""
    at = separator.end()
    if _LINE_NUMBER.match(text, at) and _FILE_NAME.search(name) and not separator["gap"]:
        return []
    mark = _YAML_MARK.match(text, at)
    if mark and mark["own"]:  # `!Ref DbPassword`, `!vault …`
        return [span for span in _bare(text, mark.end(), name, counting=False) if is_drawn_at(text, span)]
    if block := _YAML_BLOCK.match(text, past_annotation(text, at)):
        return [_block_lines(text, block)]
    if phrase := _phrase(text, at, name):
        return [phrase.span()]
    if words_of(name)[-1:] == ["token"] and _PLAIN.match(text, at):
        return []
    below = separator.end("sign")
    return [*_listed(text, below, name), *(_indented_below(text, below) if _HOLDS.search(name) else ())] or None


_HOLDS = re.compile(HOLDS_SECRETS, re.IGNORECASE)


_INDENTED = re.compile(
    rf"{LINE_END}+(?P<indent>[ \t]+)(?:-[ \t]+)?[\w.\-\"']{{1,64}}[ \t]{{0,4}}:[ \t]{{1,8}}(?:\\*[\"'])?"
    r"(?P<value>[^\s\"'\\]{1,400})"
)
_SETTING = re.compile(
    rf"\]?[ \t]*{LINE_END}+[\w.\-]{{1,64}}[ \t]{{0,40}}=[ \t]{{0,8}}(?:\\*[\"'])?"
    r"(?P<value>[^\s\"'\\]{1,400})(?:\\*[\"'])?"
)
_MOST_LINES = 50


def section_below(text: str, start: int, end: int) -> Iterator[Span]:
    """What is drawn in the lines below `[secrets]`, a section of a file of settings."""
    is_section = text[start - 1 : start] == "[" and text[end : end + 1] == "]" and _HOLDS.search(text, start, end)
    line = _SETTING.match(text, end) if is_section else None
    for _ in range(_MOST_LINES):
        if line is None:
            return
        if is_drawn_at(text, line.span("value")):
            yield line.span("value")
        line = _SETTING.match(text, line.end())


def _indented_below(text: str, at: int) -> Iterator[Span]:
    """What is drawn in the lines below `secrets:`, as YAML nests them."""
    line, least = _INDENTED.match(text, at), 0
    for _ in range(_MOST_LINES):
        if line is None or len(line["indent"]) < least:
            return
        least = least or len(line["indent"])
        if is_drawn_at(text, line.span("value")):
            yield line.span("value")
        at = line.end()
        line = _INDENTED.match(text, at + (text[at : at + 1] in {'"', "'"}))


def _phrase(text: str, at: int, name: str) -> re.Match[str] | None:
    """The words that some secrets are made of."""
    if not _NAMES_A_PHRASE.search(name):
        return None
    return _PHRASE.match(text, at) or (_PASSPHRASE.match(text, at) if name.lower().endswith("passphrase") else None)


_NAMES_A_PHRASE = re.compile(r"(?:mnemonic|phrase|words)$", re.IGNORECASE)
_PHRASE = re.compile(r"\\*[\"']?[a-z0-9]{2,9}(?: [a-z0-9]{2,9}){7,23}(?![A-Za-z0-9])")
_PASSPHRASE = re.compile(
    r"(?!(?:[a-z0-9]{2,12} ){0,12}(?:and|are|be|by|for|from|in|is|must|no|not|of|on|or|the|to|was|with|your)\b)"
    rf"[a-z0-9]{{2,12}}(?: [a-z0-9]{{2,12}}){{2,11}}[ \t]*(?={LINE_END}|$)"
)
"""`passphrase: correct horse battery staple`, and nothing behind it; words that are drawn make no sentence."""
_PLAIN = re.compile(r"[A-Z]?[a-z]{1,12}[.,;]?[ \t]*(?:\n|$)")
"""`token: eof`: tokens are drawn, and never one plain word."""


def is_no_value(text: str, start: int, at: int, gap: str) -> bool:
    """`if token:` with a block or a docstring below it, and `"Cookie:"`, a text that ends with the sign."""
    if "\n" in gap and (text[at : at + 1] not in {'"', "'"} or is_docstring(text, at)):
        return True
    return closes_quotes(text, start, at)


def _block_lines(text: str, block: re.Match[str]) -> Span:
    """The lines under `password: |` that are indented as the first of them is; a line may end in an escaped newline."""
    indent = block["indent"]
    line_end = indent.rstrip(" \t")
    end = text.find(line_end, block.end())
    while end >= 0 and text.startswith(indent, end):
        end = text.find(line_end, end + 1)
    return block.end(), end if end >= 0 else len(text)


def _listed(text: str, at: int, name: str) -> Iterator[Span]:
    """The items of a YAML list under a name; `secrets:` lists what they are called as often as what they are."""
    while item := _YAML_ITEM.match(text, at):
        at = item.end()
        value = item["value"]
        if is_drawn_for(name, value) or (_LISTS_PASSWORDS.search(name) and not is_harmless(value, quoted=False)):
            yield item.span("value")


_LISTS_PASSWORDS = re.compile(r"(?:pass(?:word|wd|phrase|code)|pwd)s$", re.IGNORECASE)
"""The only names whose list holds words that are secret."""
