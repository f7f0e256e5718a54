"""
What a run was asked, what it answered, and what it ended with where it has no answer.

A run may end without a failure and still have nothing to show: its last call failed and was swallowed, a search came
back and nobody read it, the model asked for a tool that was not called, or what it returned is a traceback. `last_word`
looks at four events at most: the end of the run and of its last span, its last model call and its last call of any
kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.closing_words import without_closing_word
from agentdbg.analysis.result_signs import error_in_answer, error_in_result
from agentdbg.analysis.run_columns import LLM, payload_of
from agentdbg.analysis.unfinished_answers import is_unfinished
from agentdbg.analysis.value_text import argument_text, outcome_of, plain_text
from agentdbg.analysis.wording import code, line, one_line, quote
from agentdbg.events.facts import call_failed, reads_something

if TYPE_CHECKING:
    from agentdbg.analysis.run_columns import RunColumns
    from agentdbg.analysis.stats import Tally
    from agentdbg.analysis.wording import Line
    from agentdbg.events import Event

__all__ = [
    "ANSWER_TOOLS",
    "LastWord",
    "Numbered",
    "asks_in_words",
    "ends_a_run",
    "final_answer",
    "first_request",
    "last_word",
    "reads_something",
    "spoken",
]

_ANSWER_KEYS = ("answer", "final_answer", "output", "result", "response", "content", "text", "message", "summary")
# How far before a closing word the answer may stand.
_LOOK_BACK, _ANSWERS_OPENED = 200, 12
_SHORTEST_NAME = 2
ANSWER_TOOLS = frozenset({"final_answer", "finish", "submit", "answer", "respond", "done", "complete"})


def final_answer(tally: Tally, limit: int = 300) -> str | None:
    """The run's answer on one line: what it returned, else what the model said last, else what it handed in."""
    columns = tally.columns
    places = (tally.end, tally.last_call, tally.last_span)
    end, last, span = (None if number is None else (number, columns.event(number)) for number in places)
    returned = spoken(_returned(end, last, span)[1])
    if returned:
        return one_line(returned, limit)
    if tally.last_llm is not None:
        said = _last_said(columns, tally.last_llm)
        if said:
            return one_line(said, limit)
    if last is not None and last[1]["event_type"] == "TOOL_CALL" and last[1]["name"] in ANSWER_TOOLS:
        payload = payload_of(last[1])
        handed_in = spoken(payload.get("args")) or spoken(payload.get("result"))
        return one_line(handed_in, limit) if handed_in else None
    return None


def _last_said(columns: RunColumns, number: int) -> str:
    """What a model said last in words: its last answer, or one before it where that only closes the talk."""
    said = conversation.answer(payload_of(columns.event(number)).get("response"))
    if said.calls or not said.text.strip():
        return ""
    opened = 0
    for before in range(number, max(number - _LOOK_BACK, 0), -1):
        if columns.kind[before - 1] == LLM:
            turn = conversation.answer(payload_of(columns.event(before)).get("response"))
            words = without_closing_word(turn.text)
            if words and not turn.calls:
                return words
            opened += 1
            if opened >= _ANSWERS_OPENED:
                break
    return said.text


def _returned(end: Numbered | None, last: Numbered | None, span: Numbered | None) -> tuple[Numbered | None, Any]:
    """
    What the run returned, and where that stands: at its end, else at the end of its last span.

    A program that `agentdbg run` records returns nothing itself; the function in it that is traced does. What is called
    after the span may be the answer as well, and then the span is none.
    """
    result = None if end is None else payload_of(end[1]).get("result")
    if result is not None or span is None or (last is not None and last[0] > span[0]):
        return end, result
    return span, payload_of(span[1]).get("output")


def spoken(result: Any) -> str | None:
    """A value as an answer; None for what is a sign of success rather than an answer."""
    if isinstance(result, str):
        return without_closing_word(result) or None
    if result is None or isinstance(result, bool) or result in ([], {}):
        return None
    if isinstance(result, dict):
        for key in _ANSWER_KEYS:
            if isinstance(result.get(key), str) and result[key].strip():
                return str(result[key])
        if result.get("role") == "assistant" and isinstance(result.get("content"), list):  # the message itself
            parts = [part.get("text") for part in result["content"] if isinstance(part, dict)]
            if words := "\n".join(part for part in parts if isinstance(part, str) and part.strip()):
                return without_closing_word(words) or None
        if isinstance(result.get("messages"), list):
            return _last_turn(conversation.turns(result, last=_ANSWERS_OPENED))
    return plain_text(outcome_of(result, room=300))


def _last_turn(said: list[conversation.Turn]) -> str | None:
    """What the assistant said at the end of a talk, or before the word that closed it."""
    for turn in reversed(said):
        words = without_closing_word(turn.text)
        if words or turn.calls or not turn.text:
            return words or None if turn.role == "assistant" else None
    return None


def first_request(tally: Tally, limit: int = 1_000) -> str | None:
    """What the run was asked: the first user message, else the arguments of the traced function."""
    columns = tally.columns
    if tally.first_llm is not None:
        for turn in conversation.turns(payload_of(columns.event(tally.first_llm)).get("prompt")):
            if turn.role == "user" and turn.text.strip() and not _WRAPPED.fullmatch(turn.text.strip()):
                return one_line(turn.text, limit)
    if tally.start is not None:
        payload = payload_of(columns.event(tally.start))
        given = {**_keyed(payload.get("args")), **_keyed(payload.get("kwargs"))}
        return argument_text(given, limit) if given else None
    return None


_WRAPPED = re.compile(r"<([a-z][\w-]*)>(?:(?!</\1>).)*</\1>", re.DOTALL)
"""A message that is one element and nothing else: a program wrote it, not a person."""


def _keyed(args: Any) -> dict[str, Any]:
    if isinstance(args, dict):
        return args
    return {str(position): item for position, item in enumerate(args)} if isinstance(args, list) else {}


Numbered = tuple[int, "Event"]
"""An event and its number in the file."""

_ABOUT_ERRORS = re.compile(
    r"\b(?:err(?:or|eur|ore)s?|erro|errores|exceptions?|fail\w*|fehler\w*|traceback|stack ?trace"
    r"|translat\w+|übersetz\w+"
    r"|tradu\w+|rewrite|rephrase|writ(?:e|ing)|draft|compose|404|print|repeat|quote|raises?|throws?|ошибк\w+)\b|错误|エラー|翻译|翻訳",
    re.IGNORECASE,
)
"""What is asked by somebody who may be answered with an error's words."""
_BEGINS_TO_READ = re.compile(r"(?:search|find|get|list|read|fetch|query|look|retrieve|load)(?=[A-Z_.\-\s])")
_ENDS = re.compile(
    r"(?:^|[_.\-\s])(?:final|finish\w*|answer|submit|done|complete|completed|respond|response|reply|output|result|end|exit"
    r"|stop|terminate|transfer|handoff|handover|hand|escalate|delegate)(?:$|[_.\-\s])"
    r"|^(?:final|finish|answer|submit|complete|respond|transfer|handoff|escalate)(?=[A-Z])",
    re.IGNORECASE,
)
_GAVE_UP = re.compile(
    r"\s*(?:agent stopped due to (?:iteration|max iterations|time) limit|sorry, need more steps to process this request"
    r"|agent stopped due to max iterations|reached max(?:imum)? (?:number of )?(?:steps|iterations|turns)\b)",
    re.IGNORECASE,
)


def ends_a_run(name: str) -> bool:
    """Whether a tool ends a run, going by its name: it hands in an answer, or hands the user over."""
    return _ENDS.search(name) is not None and not _BEGINS_TO_READ.match(name)


class LastWord(NamedTuple):
    """What a run ended with instead of an answer."""

    kind: Literal["no_answer", "error_as_answer"]
    severity: Literal["warning", "info"] | None
    """`info` where the last step may well have been the purpose of the run, None where its name says so."""
    line: Line


def last_word(
    end: Numbered | None, model: Numbered | None, last: Numbered | None, span: Numbered | None, *, uses_tools: bool
) -> LastWord | None:
    """What a run ended with; None for an answer, and where the log does not say."""
    place, returned = _returned(end, last, span)
    if returned is not None and returned not in ("", [], {}) and not isinstance(returned, bool):
        return _bad_answer(place, returned)
    if model is None or last is None:
        return None
    said = conversation.answer(payload_of(model[1]).get("response"))
    is_action = last[0] > model[0] and last[1]["event_type"] == "TOOL_CALL" and asks_in_words(said.text, last[1])
    if said.text.strip() and not said.calls and not is_action and not call_failed(payload_of(model[1])):
        return _bad_words(model, said.text, uses_tools=uses_tools)
    if call_failed(payload_of(last[1])):
        return _after_failure(last, "failed", failure_of(payload_of(last[1])).text)
    if last[1]["event_type"] == "TOOL_CALL":
        return _after_tool(last)
    return _after_model(last, said, uses_tools=uses_tools)


def asks_in_words(text: str, call: Event) -> bool:
    """Whether a text asks for a call: agents that act in text name the tool, or what it is to be given."""
    args = payload_of(call).get("args")
    given = list(args.values()) if isinstance(args, dict) else [args]
    told = [call["name"], *(item for item in given if isinstance(item, str) and len(item) <= len(text) / 2)]
    return any(
        len(one.strip()) >= _SHORTEST_NAME and re.search(rf"(?<!\w){re.escape(one.strip())}(?!\w)", text)
        for one in told
    )


def _bad_words(model: Numbered, text: str, *, uses_tools: bool) -> LastWord | None:
    """What a model said instead of an answer; an error that somebody asked to see is one."""
    asked = conversation.last_text(payload_of(model[1]).get("prompt"))
    if not _ABOUT_ERRORS.search(asked) and (bad := _bad_answer(model, text)) is not None:
        return bad
    kind = is_unfinished(text, asked, uses_tools=uses_tools)
    if kind is None:
        return None
    what = "asks for an action that nobody carried out: " if kind == "action" else "only says what is to come: "
    sentence = line(model[0], f"The last answer, #{model[0]}, {what}", quote(one_line(text[-160:], 160)))
    return LastWord("no_answer", "warning", sentence)


def _bad_answer(place: Numbered | None, answer: Any) -> LastWord | None:
    number = None if place is None else place[0]
    error = error_in_answer(answer)
    if error is not None:
        return LastWord("error_as_answer", "warning", line(number, "The answer is an error message: ", quote(error)))
    if isinstance(answer, str) and _GAVE_UP.match(answer[:200]):
        said = quote(one_line(answer, 160))
        return LastWord("no_answer", "warning", line(number, "The agent stopped before it had an answer: ", said))
    return None


def _after_failure(last: Numbered, what: str, words: str) -> LastWord:
    number, event = last
    name = code(event["name"])
    said = line(number, "The run ended without an answer: its last call, ", name, f" #{number}, {what}: ", quote(words))
    return LastWord("no_answer", "warning", said)


def _after_tool(last: Numbered) -> LastWord | None:
    number, event = last
    error = error_in_result(payload_of(last[1]).get("result"))
    name = event["name"]
    if error is not None:
        return _after_failure(last, "gave an error", error)
    if ends_a_run(name):
        return LastWord("no_answer", None, line(number, "Finished with ", code(name), f" #{number}; nothing failed."))
    if reads_something(name):
        said = line(number, "The run ended with the result of ", code(name), f" #{number}; no answer followed.")
        return LastWord("no_answer", "warning", said)
    said = line(number, "The last step was ", code(name), f" #{number}; no answer followed.")
    return LastWord("no_answer", "info", said)


def _after_model(last: Numbered, said: conversation.Turn, *, uses_tools: bool) -> LastWord | None:
    number, event = last
    if said.calls:
        asked = said.calls[-1].name
        # Where no tool is recorded, asking for one may be how the model fills in a form.
        if not uses_tools or ends_a_run(asked):
            return None
        sentence = line(number, "The last answer, ", f"#{number}, asks for ", code(asked), ", which was not called.")
        return LastWord("no_answer", "warning" if reads_something(asked) else "info", sentence)
    if _is_empty_message(payload_of(last[1]).get("response")):
        sentence = line(number, "The last answer of ", code(event["name"]), f", #{number}, is empty.")
        return LastWord("no_answer", "warning", sentence)
    return None


def _is_empty_message(response: Any) -> bool:
    """Whether a model answered with nothing; a response that was not recorded, or is no message, is another matter."""
    if isinstance(response, dict):
        return "content" in response and response["content"] in (None, "", []) and not response.get("refusal")
    return isinstance(response, str) and not response.strip()
