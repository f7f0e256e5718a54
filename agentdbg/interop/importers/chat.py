"""
OpenAI-style chat transcripts: a list of messages, an object that holds one, or many of them.

Understands files of benchmarks (a list of runs, each with its messages under `traj`, `messages`, `conversation` …),
requests and fine-tuning data (`{"messages": …, "tools": …}`), and one of either on each line. What else stands beside
the messages (task, trial, reward) becomes the run's metadata.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentdbg.interop.drafts import EntryProblem, RunDraft
from agentdbg.interop.group_chats import is_spoken
from agentdbg.interop.importers.chat_forms import as_chat
from agentdbg.interop.importers.message_forms import request_in
from agentdbg.interop.sessions import short_name
from agentdbg.interop.sources import moment_ms
from agentdbg.interop.transcripts import error_in_text, is_message, steps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.interop.sources import Source

TITLE = "chat transcript"

_MESSAGES = (
    "messages",
    "contents",
    "input",
    "traj",
    "trajectory",
    "conversation",
    "conversations",
    "history",
    "transcript",
    "dialog",
)
_RUNS = ("runs", "results", "simulations", "samples", "data", "items", "conversations", "trajectories", "rollouts")
_JUDGES = re.compile(
    r"score|reward|metric|eval|grade|rating|feedback|judg|verdict|^(?:meta(?:data)?|results?)$",
    re.IGNORECASE,
)
_LABELS = re.compile(r"mistake_|ground_?truth", re.IGNORECASE)
"""What people wrote about the run afterwards. It would tell an explanation what it has to find out."""
_LONGEST_FACT, _LONGEST_FACTS = 500, 4_000
_SAYS_NOTHING = frozenset(
    {"api_conversation_history", "chat", "conversation", "history", "log", "messages", "session", "thread"}
    | {"trace", "trajectory", "transcript"}
)
"""Names of files that each session has; what was asked for tells them apart."""
_TAG = re.compile(r"</?[a-z_]{1,30}>")
_MOMENTS = ("started_at", "start_time", "created", "created_at", "timestamp")
_NAMES = ("name", "run_name", "title", "task_name", "task_id", "instance_id", "id")


def recognises(source: Source) -> bool:
    if source.is_folder or source.is_zip:
        return False
    return any(_looks_right(item) for _, item in source.documents[:5]) or _has_message_lines(source)


def read(source: Source) -> Iterator[RunDraft | EntryProblem]:
    by_length: dict[int, list[Any]] = {}
    for found in _read_all(source):
        if isinstance(found, RunDraft):
            # Two trials may go the same way to the last word; they are two runs, and still the same two the next time.
            known = by_length.setdefault(len(found.steps), [])
            copies = known.count(found.identity)
            known.append(found.identity)
            yield replace(found, identity=[found.identity, copies]) if copies else found
        else:
            yield found


def _read_all(source: Source) -> Iterator[RunDraft | EntryProblem]:
    documents = source.documents
    if _has_message_lines(source):
        yield _draft(source, "", [item for _, item in documents], {})
        return
    for place, document in documents:
        yield from _read_document(source, place, document)


def _read_document(source: Source, place: str, document: Any) -> Iterator[RunDraft | EntryProblem]:
    messages = _messages_of(document)
    if messages is not None:
        yield from _attempt(source, place, messages, document)
        return
    entries = _entries_of(document)
    if entries is None:
        yield EntryProblem(place, "no messages and no list of runs in it")
        return
    source.expected = len(entries)
    for number, entry in enumerate(entries, 1):
        where = f"{place}, entry {number}".removeprefix(", ")
        messages = _messages_of(entry)
        if messages is None:
            yield EntryProblem(where, f"no list of messages in it; it is {_described(entry)}")
        else:
            yield from _attempt(source, where, messages, entry)


def _attempt(source: Source, where: str, messages: list[Any], entry: Any) -> Iterator[RunDraft | EntryProblem]:
    try:
        yield _draft(source, where, messages, entry if isinstance(entry, dict) else {})
    except ValueError as error:
        yield EntryProblem(where, str(error))


def _draft(source: Source, where: str, messages: list[Any], entry: dict[str, Any]) -> RunDraft:
    answered = _final_answer(entry)
    whole = messages if answered is None else [*messages, answered]
    steps = steps_of(whole, model=entry.get("model"), tools=entry.get("tools"))
    facts = {key: value for key, value in entry.items() if isinstance(value, (str, int, float, bool))}
    facts.pop("model", None)
    for label in [key for key in entry if _LABELS.match(key)]:
        facts.pop(label, None)
    failure = _failure(facts.pop("error", None) or entry.get("error"))
    return RunDraft(
        identity=entry or messages,
        name=_name(source, where, entry, messages),
        format="chat",
        steps=steps,
        entry=where,
        started_ms=moment_ms(next((entry[name] for name in _MOMENTS if entry.get(name)), None)),
        error=failure,
        meta={
            **{key: value for key, value in facts.items() if not isinstance(value, str) or len(value) <= _LONGEST_FACT},
            **{
                key: entry[key]
                for key in entry
                if _JUDGES.search(key) and not _LABELS.match(key) and _is_small(entry[key])
            },
        },
    )


def _failure(told: Any) -> dict[str, Any] | None:
    """What ended the run, where the entry says so."""
    if isinstance(told, str) and told.strip():
        return error_in_text(told) or {"error_type": "Error", "message": told}
    if isinstance(told, dict) and told:
        kind = told.get("type") or told.get("error_type") or told.get("name")
        message = told.get("message") or told.get("detail") or told
        return {"error_type": kind if isinstance(kind, str) else "Error", "message": message}
    return None


def _is_small(value: Any) -> bool:
    """Whether nested facts (scores, what a reward is made of) are few enough to stand in the metadata."""
    return isinstance(value, (dict, list)) and len(str(value)) <= _LONGEST_FACTS


def _name(source: Source, where: str, entry: dict[str, Any], messages: list[Any]) -> str:
    given = next((entry[key] for key in _NAMES if isinstance(entry.get(key), (str, int)) and entry[key] != ""), None)
    trial = entry.get("trial")
    if given is not None:
        named = f"{source.stem} {given}" if isinstance(given, int) or len(str(given)) < 6 else str(given)
        return f"{named}/{trial}" if isinstance(trial, (int, str)) else named
    if where:
        return f"{source.stem}, {where}"
    asked = _TAG.sub(" ", request_in(messages)) if source.stem in _SAYS_NOTHING else ""
    return short_name(asked, source.stem)


def _final_answer(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The answer of a stored response object that stands beside its request's messages."""
    response = entry.get("response") if isinstance(entry.get("response"), dict) else entry
    choices = response.get("choices") if response is not None else None
    if isinstance(choices, list) and choices and isinstance(choices[0], dict) and is_message(choices[0].get("message")):
        usage = (response or {}).get("usage") or entry.get("usage")
        return {**choices[0]["message"], "usage": usage, "finish_reason": choices[0].get("finish_reason")}
    return None


def _has_message_lines(source: Source) -> bool:
    """Whether each line of a file is a message."""
    told = [item for _, item in source.documents]
    return len(told) > 1 and (all(map(is_message, told)) or all(map(is_spoken, told)))


def _looks_right(document: Any) -> bool:
    if is_message(document) or _messages_of(document) is not None:
        return True
    entries = _entries_of(document)
    return entries is not None and any(_messages_of(entry) is not None for entry in entries)


def _messages_of(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return as_chat(document)
    if not isinstance(document, dict):
        return None
    for key in _MESSAGES:
        messages = as_chat(document.get(key))
        if messages is not None:
            return messages
    request = document.get("request") or document.get("body")
    return _messages_of(request) if isinstance(request, dict) else None


def _entries_of(document: Any) -> list[Any] | None:
    if isinstance(document, list):
        return document
    if isinstance(document, dict):
        for key in _RUNS:
            if isinstance(document.get(key), list):
                found: list[Any] = document[key]
                return found
    return None


def _described(entry: Any) -> str:
    if isinstance(entry, dict):
        keys = ", ".join(list(entry)[:4])
        return f"an object with {keys}" if keys else "an empty object"
    return f"a {type(entry).__name__}"
