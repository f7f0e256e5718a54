"""
Guess what one call does: from what a shell, a database, an interpreter or a web client is asked to do, else by name.

`bash("ls -la")` reads and `bash("rm x")` writes, whatever the name says. Where the name and what is asked disagree, the
write wins; where what is asked is not surely a read, the call is unknown.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.analysis.effect_guess.python_and_sql import looks_like_sql, python_effect, sql_effect
from agentdbg.analysis.effect_guess.shell_commands import shell_effect
from agentdbg.analysis.effect_guess.tool_names import (
    THINGS_OR_WRITES,
    EffectKind,
    name_effect,
    together,
    word_set,
    words_of,
)
from agentdbg.events import TRUNCATED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Guess", "call_effect"]


@dataclass(frozen=True)
class _Call:
    name: str
    words: frozenset[str]
    args: Mapping[str, Any]

    def is_of(self, words: frozenset[str]) -> bool:
        """Whether one of the words is in the tool's name."""
        return not words.isdisjoint(self.words)

    def texts(self, keys: frozenset[str]) -> list[str]:
        """The texts that were given under one of these names."""
        found: list[str] = []
        for key, value in self.args.items():
            if key.lower() not in keys:
                continue
            if isinstance(value, str) and value.strip():
                found.append(value)
            elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
                # `["rm", "-rf", "x"]` is one command, `commands` are several.
                found += value if key.lower() in ("commands", "cmds", "statements") else [shlex.join(value)]
        return found


class Guess(NamedTuple):
    """What a call does, and whether that was told from what it was asked to do, not from its name."""

    kind: EffectKind
    is_asked: bool = False


def call_effect(name: str, args: Any) -> Guess:
    """What a call of a tool does, as far as its name and its arguments say."""
    by_name = name_effect(name)
    if isinstance(args, str):
        args = {"input": args}
    if not isinstance(args, dict):
        return Guess(by_name)
    for key in _WRAPPED_IN:  # `action: {"type": "exec", "command": …}`, `options: {"method": "POST"}`
        if isinstance(inner := args.get(key), dict):
            args = {**inner, **{name: value for name, value in args.items() if name != key}}
    words = words_of(name)
    call = _Call(name, frozenset(words), args)
    if _is_harmless(call, words):
        return Guess("read", is_asked=True)
    if _ASKED.isdisjoint(args) and not call.is_of(_INTERPRETERS):
        return Guess(by_name)
    kinds = [kind for judge in _JUDGES if (kind := judge(call)) is not None]
    if not kinds:
        return Guess(by_name)
    asked = together(kinds)
    # What runs anything it is given says nothing by its name, and neither does what manages something, or `email`.
    says_nothing = call.is_of(_SHELLS | _DATABASES | _ACTORS) or (len(words) == 1 and words[0] in THINGS_OR_WRITES)
    if asked != "read" or (by_name != "unknown" and not says_nothing):
        found = together([asked, by_name])
        return Guess(found, is_asked=found == asked)
    return Guess("read", is_asked=True)


def _is_harmless(call: _Call, words: tuple[str, ...]) -> bool:
    """A sum, which is named like a write: `add(2, 3)`; a hand-over to another agent: `transfer_to_billing()`."""
    if words[:2] == ("transfer", "to"):
        return name_effect(call.name) == "unknown" and call.args.keys() <= _HAND_OVER
    if not call.args or not call.words or not call.words <= _SUMS:
        return False
    return all(_is_number(value) and _OPERAND.fullmatch(key) is not None for key, value in call.args.items())


def _shell(call: _Call) -> EffectKind | None:
    is_shell = call.is_of(_SHELLS) or call.args.get("language") in ("bash", "sh", "shell")
    texts = call.texts(_COMMAND_KEYS | _TEXT_KEYS if is_shell else _COMMAND_KEYS)
    if is_shell:
        return _judged(texts, shell_effect)
    if any(text.split(None, 1)[:1] == [call.name] for text in texts):  # `ls` was given `ls -la`
        found = _judged(texts, shell_effect)
        return None if found == "unknown" else found
    # Another tool's command may be a word that a shell knows too; only what writes is taken from it.
    return "write" if any(" " in text and shell_effect(text) == "write" for text in texts) else None


def _sql(call: _Call) -> EffectKind | None:
    texts = call.texts(_SQL_KEYS)
    if call.is_of(_DATABASES):
        texts += [text for text in call.texts(_TEXT_KEYS) if looks_like_sql(text)]
    return _judged(texts, sql_effect) if texts else None


def _python(call: _Call) -> EffectKind | None:
    language = str(call.args.get("language") or "python").lower()
    if not call.is_of(_CODE) or language in ("bash", "sh", "shell", "sql"):
        return None
    texts = call.texts(_CODE_KEYS if "code" in call.words else _CODE_KEYS | _TEXT_KEYS)
    if not texts:
        return None
    return _judged(texts, _python_with_commands) if language in ("python", "python3", "py") else "unknown"


def _python_with_commands(code: str) -> EffectKind:
    return python_effect(code, shell_effect)


def _javascript(call: _Call) -> EffectKind | None:
    """A script for a page: clicking, sending and storing are found; of all else nobody knows."""
    texts = call.texts(_SCRIPT_KEYS) if call.is_of(_SCRIPTED) else []
    return "write" if any(_SCRIPT_WRITES.search(text) for text in texts) else None


def _request(call: _Call) -> EffectKind | None:
    method = next((str(call.args[key]).upper() for key in ("method", "http_method", "verb") if call.args.get(key)), "")
    if method in _HTTP_METHODS:
        is_read = method in ("GET", "HEAD", "OPTIONS") and not _OVERRIDES.search(str(call.args.get("headers")))
        return "read" if is_read else "write"
    asked = [_outermost(text) for text in call.texts(frozenset({"query", "mutation", "document"}))]
    if "graphql" in call.words and asked:
        if any(re.search(r"\bmutation\b", text) for text in asked):
            return "write"
        return "read" if all(map(_GRAPHQL_READS.fullmatch, asked)) else "unknown"
    if any(map(_MUTATION.match, asked)):
        return "write"
    return None


def _outermost(text: str) -> str:
    """A GraphQL document with `.` for what stands in braces, without comments and texts: `query A . mutation B .`."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*|\.', " ", text[:20_000])
    while (bare := re.sub(r"\{[^{}]*\}|\([^()]*\)", ".", text)) != text:
        text = bare
    return text


def _stages(call: _Call) -> EffectKind | None:
    """An aggregation that ends in another collection, which is a read for all its name says."""
    stages = call.args.get("pipeline")
    is_kept = isinstance(stages, list) and any(isinstance(one, dict) and one.keys() & _KEPT for one in stages)
    return "write" if is_kept else None


def _action(call: _Call) -> EffectKind | None:
    """A word that says what to do: `action: "list"`, `command: "view"`; the mode in which a file is opened."""
    mode = call.args.get("mode")
    if call.is_of(_FILES) and isinstance(mode, str):
        if re.fullmatch(r"[rwaxbt+]{1,3}", mode):
            return "write" if set(mode) & set("wax+") else "read"
        if (told := name_effect(mode)) != "unknown":
            return told
    if call.is_of(_SHELLS | _SUMS):
        return None
    if "computer" in call.words and (kind := _SCREEN_ACTIONS.get(str(call.args.get("action")))):
        return kind
    found = [call.args[key] for key in _ACTION_KEYS if isinstance(call.args.get(key), str)]
    kinds = [name_effect(text) for text in found if re.fullmatch(r"[A-Za-z][\w-]{1,40}", text)]
    known = [kind for kind in kinds if kind != "unknown"]
    return together(known) if known else None


_JUDGES = (_shell, _sql, _python, _javascript, _request, _stages, _action)


def _judged(texts: list[str], judge: Callable[[str], EffectKind]) -> EffectKind:
    """What all texts do together; of one that was cut nobody knows the rest, and none at all says nothing."""
    if not texts:
        return "unknown"
    kinds: list[EffectKind] = [judge(text) for text in texts]
    return together([*kinds, "unknown"] if any(TRUNCATED in text for text in texts) else kinds)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or (isinstance(value, list) and all(map(_is_number, value)))


_SHELLS = word_set("bash sh shell terminal powershell cmd command commands zsh exec ssh tmux")
_DATABASES = word_set("""
    athena bigquery clickhouse database databricks db duckdb mysql pg postgres postgresql query redshift snowflake sql
    sqlite supabase warehouse
""")
_CODE = word_set("python ipython jupyter repl interpreter notebook cell code py")
_INTERPRETERS = _SHELLS | _DATABASES | _CODE | word_set("http request requests graphql")
_ACTORS = word_set("browser computer control editor manage management manager memory mongo mongodb tracker")
_FILES = word_set("file open")
_COMMAND_KEYS = word_set("command commands cmd cmds shell_command bash_command command_line cmdline")
_SQL_KEYS = word_set("sql sql_query statement statements")
_CODE_KEYS = word_set("code source script python_code cell_source new_source")
_TEXT_KEYS = word_set("code input query q script text content source request tool_input __arg1 arg")
_ACTION_KEYS = ("action", "operation", "op", "command", "method", "subcommand")
_WRAPPED_IN = ("action", "arguments", "init", "input", "options", "params", "request")
_SCREEN_ACTIONS: dict[str, EffectKind] = {
    "cursor_position": "read",
    "hold_key": "write",
    "key": "write",
    "left_mouse_down": "write",
    "left_mouse_up": "write",
    "mouse_move": "read",
    "zoom": "read",
}
_OVERRIDES = re.compile(r"method-override", re.IGNORECASE)
"""A header that makes another request of it."""
_MUTATION = re.compile(r"\s*mutation\b")
_GRAPHQL_READS = re.compile(r"(?:\s*(?:(?:query|subscription|fragment)\b[^.]*)?\.+)+\s*")
_SCRIPTED = word_set("evaluate eval javascript js script")
_SCRIPT_KEYS = word_set("function script expression code javascript js")
_SCRIPT_WRITES = re.compile(
    r"\.(?:click|submit|requestSubmit|setItem|removeItem|writeFile\w*|unlink\w*|rm\w*|sendBeacon)\s*\("
    r"|method[\"']?\s*:\s*[\"'](?:POST|PUT|PATCH|DELETE)|\.(?:value|innerHTML|checked)\s*=[^=]",
    re.IGNORECASE,
)
_ASKED = (
    _COMMAND_KEYS
    | _SQL_KEYS
    | frozenset(_ACTION_KEYS)
    | word_set("http_method verb mode mutation document language pipeline")
    | _SCRIPT_KEYS
)
_HTTP_METHODS = word_set("GET HEAD OPTIONS POST PUT PATCH DELETE")
_KEPT = frozenset({"$merge", "$out"})
_SUMS = word_set("""
    add arithmetic average calculate calculator compute divide mean multiply numbers power product sqrt square subtract
    sum two
""")
_OPERAND = re.compile(r"[a-z]|(?:num|number|value|n|x|y)_?\d?|first|second|left|right|numbers|values|base|exponent")
_HAND_OVER = word_set("context input message note query reason summary task topic")
