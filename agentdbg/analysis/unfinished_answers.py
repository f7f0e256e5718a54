"""
Whether what a model said last is no answer: an action that nobody carried out, or only what it is about to do.

Agents that act in text end a turn with `Action: search[…]`, a tag that stands for a command, or code and nothing else.
Code counts only after the output of other code: a person may have asked for it. Promises count in a run that uses
tools, where another step could have kept them.
"""

from __future__ import annotations

import re
from typing import Literal

from agentdbg.analysis.closing_words import without_closing_word
from agentdbg.analysis.value_text import parse_embedded

__all__ = ["is_unfinished"]

_LOOKED_AT = 2_000
_LONGEST_PROMISE = 300
_FINISHES = re.compile(
    r"final|finish|answer|submit|done|complete|respond|reply|none\b|n/a|stop|exit|end\b|terminate|transfer|handoff"
    r"|ask_user",
    re.IGNORECASE,
)
_ACTION = re.compile(r"^[ \t]*\**Action(?:[ _]?\d+)?\**[ \t]*:[ \t]*\**[ \t]*(\S[^\n]*)?", re.MULTILINE | re.IGNORECASE)
_CONCLUDED = re.compile(r"^\s*\**(?:final answer|answer|observation)\b", re.MULTILINE | re.IGNORECASE)
_JSON = re.compile(r"\{.*\}", re.DOTALL)
_TAG = re.compile(
    r"(?:^[ \t]*|(?<=[.!?] ))<(execute_\w+|tool_call|tool_use|function_call|invoke|action|function)\b[^>]*>"
    r".*?(?:</\1>)?\s*(?:</\w+>\s*)*\Z",
    re.DOTALL | re.MULTILINE,
)
"""A tag within a sentence is spoken of."""
_OF_AN_AGENT = re.compile(r"^[ \t]*\**(?:Thought|Action Input|Observation)\b", re.MULTILINE | re.IGNORECASE)
"""What stands beside an action without brackets; else it may be advice, or a film."""
_ONLY_CODE = re.compile(r"\s*```\w*\n(?:(?!```).)*```\s*", re.DOTALL)
_HANDS_IN = re.compile(
    r"^[ \t]*(?:[\w.]+\.)?(?:final_answer|finish|finish_task|submit|submit_answer|answer|done|complete|terminate)\(",
    re.MULTILINE,
)
"""Code that hands the answer in: it need not be run for the answer to stand there."""
_OUTPUT = re.compile(
    r"\s*(?:\[?(?:code |execution )?(?:output|result|logs?|observation|stdout|stderr)\]?\s*:|exit ?code\b"
    r"|Traceback \()",
    re.IGNORECASE,
)
_STEPS = (
    "analy[sz]e|begin by|browse|calculate|call|check|compute|continue|examine|fetch|find|first|get|inspect|investigate"
    "|look|now|open|query|read|retrieve|run|search|see|start by|take a look|test|try|verify"
)
_PROMISE = re.compile(
    rf"(?:.*[.!:]\s+)?(?:(?:now|next|first|then|so|ok(?:ay)?|sure|great)[,!.]?\s+)*"
    rf"(?:(?:now )?let me (?:{_STEPS})"
    rf"|(?:now )?i(?:'ll| will| am going to|'m going to)(?: now| next| then)? (?:{_STEPS})"
    r"|(?:one|just a) moment|hold on|einen moment|ich (?:suche|prüfe|schaue|werde) (?:jetzt|nun)|un momento"
    r"|voy a (?:buscar|comprobar|revisar|consultar)|je vais (?:maintenant )?(?:chercher|vérifier|consulter)"
    r"|un instant|сейчас (?:проверю|найду|поищу)|让我(?:查|看|搜)|我来(?:查|看|搜))\b[^.!?\n]*[.!:…]*\s*",
    re.IGNORECASE | re.DOTALL,
)
_TO_A_PERSON = re.compile(
    r"\?"
    r"|\b(?:back to you|later|once|when|soon|shortly|agent|colleagues?|human|representative|tomorrow|hours|days"
    r"|if you|daily|every|further|keep|monitor\w*|nightly|watch\w*|weekly|whether i)\b",
    re.IGNORECASE,
)


def is_unfinished(text: str, asked: str, *, uses_tools: bool) -> Literal["action", "promise"] | None:
    """What stands in an answer's place; `asked` is the message that it replies to."""
    end = without_closing_word(text)[-_LOOKED_AT:].replace("’", "'")
    if _ONLY_CODE.fullmatch(end) and _OUTPUT.match(asked):
        return None if _HANDS_IN.search(end) else "action"
    if _is_action(end):
        return "action"
    is_short = uses_tools and len(end) <= _LONGEST_PROMISE
    return "promise" if is_short and _PROMISE.fullmatch(end) and not _TO_A_PERSON.search(end) else None


def _is_action(text: str) -> bool:
    tag = _TAG.search(text)
    if tag is not None:
        return _FINISHES.search(tag[0]) is None
    last = next(reversed([*_ACTION.finditer(text)]), None)
    if last is None or _CONCLUDED.search(text, last.end()):
        return False
    what = last[1] if last[1] and not last[1].startswith(("```", "{")) else _named_in(text[last.start() :])
    called = re.match(r"[\w.-]+\s*(?:(?P<with>[\[({])|$)", what)
    is_call = called is not None and (called["with"] or what != last[1] or _OF_AN_AGENT.search(text))
    return bool(is_call) and _FINISHES.search(what) is None


def _named_in(text: str) -> str:
    """The action's name in `{"action": "search", "action_input": "…"}`."""
    found = _JSON.search(text)
    action = parse_embedded(found[0]) if found else None
    name = action.get("action") or action.get("name") or action.get("tool") if isinstance(action, dict) else ""
    return name if isinstance(name, str) else ""
