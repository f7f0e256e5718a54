"""
Whether SQL reads or writes, statement by statement, by its words outside of texts and comments.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agentdbg.analysis.effect_guess.effect_kind import EffectKind, together
from agentdbg.analysis.effect_guess.tool_names import name_effect

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["looks_like_sql", "sql_effect"]

_LONGEST = 200_000
_NOT_WORDS = re.compile(r"--[^\n]*|/\*(?!!).*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
_NOT_WORDS_ESCAPED = re.compile(
    r"--[^\n]*|/\*(?!!).*?\*/|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL
)
"""Some databases take a backslash before a quote for part of the text, others for its end."""
_WORD = re.compile(r"[a-z_][\w.]*")
_CALLED = re.compile(r"([a-z_][\w.]*)\s*\(")
_READS = frozenset({"select", "with", "show", "describe", "desc", "explain", "values", "table", "pragma", "from"})
_WRITES = frozenset(
    {"insert", "update", "delete", "merge", "replace", "upsert", "create", "alter", "drop", "truncate", "grant"}
    | {"revoke", "rename", "import", "load", "refresh", "kill", "comment", "undrop", "deny", "bulk"}
)
_NEITHER = frozenset({"begin", "start", "commit", "rollback", "end", "savepoint", "use", "set", "abort"})
_OTHERS = frozenset({"call", "exec", "execute", "do", "copy", "vacuum", "analyze", "lock", "attach", "detach"})
_WRITE_INSIDE = re.compile(r"\b(?:insert\s+into|update\s+[\w.]+\s+set|delete\s+from|merge\s+into|replace\s+into)\b")
_STATEMENT = re.compile(
    r"select\b.*(?:\bfrom\b|\*|\d|\(| q )|with\s+(?:recursive\s+)?\w+.*\bas\b.*\(|insert\s+(?:or\s+\w+\s+)?into\b"
    r"|(?:update|merge)\s+\S+(?:\s+(?:as\s+)?\w+)?\s+(?:set|using)\b|(?:delete|replace)\s+(?:from|into)\b|merge\s+into\b"
    r"|(?:create|alter|drop|truncate)\s+(?:or\s+replace\s+)?(?:\w+\s+)?(?:table|view|index|database|schema|function|user"
    r"|role|trigger|sequence|type|procedure|extension|policy)\b|truncate\s+\w+\s*;?$|(?:grant|revoke)\s+\w+.*\bon\b"
    r"|(?:show|describe|desc|explain|pragma|call|exec|execute|vacuum|copy|attach)\s+\w+|(?:begin|commit|rollback)\b\s*;",
    re.DOTALL,
)
_INTO = re.compile(r"\binto\b")
_LOCKS = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\b|\bfor\s+(?:key\s+)?share\b")
_DOES_SOMETHING = re.compile(
    r"\b(?:setval|nextval|set_config|lo_\w+|pg_(?:terminate|cancel|reload|rotate|switch|sleep|advisory|write|drop)\w*"
    r"|dblink\w*|xp_\w+|sp_\w+|load_extension|writefile|edit|sys_\w+|query_to_xml)\s*\("
)


def looks_like_sql(text: str) -> bool:
    """Whether a text begins as a statement does, and not as a sentence: not `delete my account`."""
    return _STATEMENT.match(_bare(text[:2_000]).lstrip()) is not None


def sql_effect(text: str) -> EffectKind:
    """What the statements of a text do together; unknown for what is no SQL."""
    if len(text) > _LONGEST:
        return "unknown"
    readings = [_NOT_WORDS, _NOT_WORDS_ESCAPED] if "\\" in text else [_NOT_WORDS]
    statements = [part for pattern in readings for part in _bare(text, pattern).split(";") if part.strip()]
    return together(map(_statement_effect, statements)) if statements else "unknown"


def _bare(text: str, not_words: re.Pattern[str] = _NOT_WORDS) -> str:
    """The text in small letters without comments, and with nothing in its quotes."""
    return not_words.sub(lambda found: " " if found[0][:2] in ("--", "/*") else " q ", text).lower()


def _statement_effect(statement: str) -> EffectKind:
    words = _WORD.findall(statement)
    first = words[0] if words else ""
    if first in _WRITES:
        return "write"
    if first == "explain" and "analyze" in words[:3]:  # with it the statement is run
        return _statement_effect(statement.split("analyze", 1)[1])
    if first in _NEITHER or first == "explain":
        return "read"
    if first not in _READS or "/*!" in statement or (first == "pragma" and "=" in statement):  # a comment that is run
        return "unknown"
    return _query_effect(statement, words)


def _query_effect(statement: str, words: Sequence[str]) -> EffectKind:
    """What a statement does that begins as a query: with another one inside it may write."""
    inside = {"insert", "delete", "merge"} if words[0] == "with" else set()
    if not inside.isdisjoint(words) or _WRITE_INSIDE.search(statement) or _INTO.search(statement):
        return "write"
    if _LOCKS.search(statement) or _DOES_SOMETHING.search(statement):
        return "unknown"
    # `SELECT delete_user(5)`; functions of one word, such as replace(), belong to the language.
    called = (name.rpartition(".")[2] for name in _CALLED.findall(statement))
    return "unknown" if any("_" in name and name_effect(name) == "write" for name in called) else "read"
