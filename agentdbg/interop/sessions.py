"""
A coding agent's session, told entry by entry: requests, answers, the calls they ask for, and their results.

The logs of such agents differ in how they write this down, and the importers read that; what it amounts to as a run is
the same for all and is decided here. A session may be hundreds of megabytes of repeated conversation, so the prompt of
a call holds what is new since the call before it, and a mark for what the model had been told earlier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agentdbg.encoding import encode_json
from agentdbg.events import TRUNCATED
from agentdbg.interop.drafts import Step, error_step, message_step, model_call, span, tool_call, unanswered_call
from agentdbg.interop.transcripts import text_of, words_of

__all__ = ["Session", "exit_code_error", "in_order", "short_name"]

_LONGEST_NAME = 80
_ERROR_WORDS = 300


@dataclass
class _Asked:
    """A call that was asked for and has no result yet."""

    name: Any
    args: Any
    answer: str
    at_ms: float | None


class Session:
    """One agent's part of a session; `lane` keeps its keys apart from other agents', `under` is what it runs inside."""

    def __init__(self, *, lane: str = "", under: str | None = None) -> None:
        self.steps: list[Step] = []
        self.first_request = ""
        self.last_answer = ""
        self.began_ms: float | None = None
        self.ended_ms: float | None = None
        self._lane = lane
        self._under = under
        self._told: list[dict[str, Any]] = []
        self._earlier, self._earlier_bytes = 0, 0
        self._told_ms: float | None = None
        self._began: dict[str, float | None] = {}
        self._answers: dict[str, Step] = {}
        self._asked: dict[str, _Asked] = {}
        self._waiting: dict[str, dict[str, None]] = {}
        """The same calls by the tool's name, in their order."""
        self._diffs: dict[str, str] = {}
        self._latest: str | None = None

    def key(self, of: str) -> str:
        """The key of this session's step that its log knows by that id."""
        return f"{self._lane}{of}"

    @property
    def latest(self) -> Step | None:
        """The newest answer."""
        return None if self._latest is None else self._answers[self._latest]

    def request(
        self, content: Any, *, at_ms: float | None, source_id: str = "", role: str = "user", **said: Any
    ) -> None:
        """Something the model is told next, by a person or by the program."""
        self._tell({"role": role, "content": content, **said}, at_ms)
        if role == "user" and (not self.first_request or _is_bare_command(self.first_request)):
            self.first_request = words_of(content).strip() or self.first_request
        self.note(role, content, at_ms=at_ms, source_id=source_id, **said)

    def note(self, role: str, content: Any, *, at_ms: float | None, source_id: str = "", **said: Any) -> None:
        """Something that was said and the model is not told."""
        self.seen(at_ms)
        place: dict[str, Any] = {"parent": self._under, "at_ms": at_ms, "meta": _from(source_id)}
        self.steps.append(message_step(role, content, said=said, **place))

    def context(self, content: Any, *, role: str = "user", at_ms: float | None = None) -> None:
        """Something the program tells the model by itself: instructions, its surroundings. No event of its own."""
        self._tell({"role": role, "content": content}, at_ms)

    def answer(self, of: str, message: dict[str, Any], *, at_ms: float | None, **said: Any) -> Step:
        """An answer, or a further part of the one that is known by this id."""
        self.seen(at_ms)
        known = self._answers.get(of)
        if known is None:
            known = self._new_answer(of, message, said)
        else:
            _extend(known, message)
        if at_ms is not None and (known.at_ms is None or (at_ms > known.at_ms and self.steps[-1] is known)):
            known.at_ms = at_ms  # a part that comes after the first result does not make the answer late
        self.last_answer = words_of(message.get("content")) or self.last_answer
        return known

    def _new_answer(self, of: str, message: dict[str, Any], said: dict[str, Any]) -> Step:
        place: dict[str, Any] = {"key": self.key(of), "parent": self._under, "meta": _from(of)}
        step = model_call(said.pop("model", None), self._prompt(), message, **said, **place)
        self._answers[of] = step
        self._began[of] = self._told_ms
        self._latest = of
        self.steps.append(step)
        self._forget(message)
        return step

    def call(self, of: str, name: Any, args: Any, *, answer: str, at_ms: float | None) -> None:
        """A tool that an answer asks for; without an answer, the program uses it by itself."""
        if of not in self._asked:
            self._asked[of] = _Asked(name, args, answer, at_ms)
            self._waiting.setdefault(str(name), {})[of] = None

    def result(
        self, of: str, content: Any, *, at_ms: float | None, error: Any = None, message: Any = None, **said: Any
    ) -> Step:
        """The outcome of a call; `message` is how the model was told, where that is not the result itself."""
        self.seen(at_ms)
        asked = self._asked.pop(of, None)
        if asked is not None:
            self._waiting[str(asked.name)].pop(of, None)
        name = said.pop("name", None) or (asked.name if asked is not None else None)
        args = said.pop("args", None)
        length = None
        if asked is not None:
            args = asked.args if args is None else args
            length = at_ms - asked.at_ms if at_ms is not None and asked.at_ms is not None else None
        duration_ms = said.pop("duration_ms", None)
        said["diff"] = said.get("diff") or self._diffs.pop(of, None)
        answer = asked.answer if asked is not None else self._latest
        step = tool_call(
            name,
            args,
            content,
            error=error,
            key=self.key(of),
            parent=self.key(answer) if answer else self._under,
            at_ms=at_ms,
            duration_ms=length if duration_ms is None else duration_ms,
            meta=_from(of),
            **said,
        )
        self.steps.append(step)
        if message is None:
            message = content if content is not None or error is None else step.fields["error"]["message"]
        told = {"role": "tool", "tool_call_id": of, "content": message}
        self._tell(told, at_ms)
        return step

    def add_diff(self, of: str, diff: str) -> None:
        """What a call changed in files, told before its result or soon after."""
        step = next((step for step in reversed(self.steps[-20:]) if step.key == self.key(of)), None)
        if step is not None:
            step.fields["diff"] = diff
        else:
            self._diffs[of] = diff

    def failure(self, error: Any, *, at_ms: float | None, source_id: str = "") -> None:
        """An error that ended nothing."""
        self.seen(at_ms)
        self.steps.append(error_step(error, parent=self._under, at_ms=at_ms, meta=_from(source_id)))

    def has_answer(self, of: str) -> bool:
        """Whether this answer is known."""
        return of in self._answers

    def is_waiting(self, of: str) -> bool:
        """Whether this call waits for its result."""
        return of in self._asked

    def first_waiting(self) -> str:
        """The call that has waited longest for its result."""
        return next(iter(self._asked), "")

    def waiting_for(self, of: str, name: str) -> str:
        """The call that a result belongs to: the one of this id, else the first that waits for this tool."""
        if of in self._asked:
            return of
        return next(iter(self._waiting.get(name, ())), "")

    def close(self) -> list[Step]:
        """All steps; calls without a result stand at the end as begun."""
        for of, step in self._answers.items():
            began = self._began[of]
            if step.duration_ms is None and step.at_ms is not None and began is not None and began <= step.at_ms:
                step.duration_ms = step.at_ms - began
        for of, asked in self._asked.items():
            parent = self.key(asked.answer) if asked.answer else self._under
            place: dict[str, Any] = {"parent": parent, "at_ms": asked.at_ms, "meta": _from(of)}
            self.steps.append(unanswered_call(asked.name, asked.args, call=self.key(of), **place))
        return self.steps

    def as_span(self, name: str, key: str, under: str | None, **said: Any) -> Step:
        """The whole session as a stretch of work of another one."""
        length = None
        if self.began_ms is not None and self.ended_ms is not None:
            length = self.ended_ms - self.began_ms
        given, output = self.first_request or None, self.last_answer or None
        step = span(name, input=given, output=output, key=key, parent=under, at_ms=self.ended_ms, duration_ms=length)
        step.meta.update(said)
        return step

    def _prompt(self) -> list[Any]:
        if not self._earlier:
            return list(self._told)
        size = max(round(self._earlier_bytes / 1000), 1)
        noun = "message" if self._earlier == 1 else "messages"
        return [{TRUNCATED: f"{self._earlier} {noun}, {size} kB"}, *self._told]

    def _tell(self, message: dict[str, Any], at_ms: float | None) -> None:
        self._told.append(message)
        self._told_ms = at_ms if at_ms is not None else self._told_ms

    def _forget(self, answer: dict[str, Any]) -> None:
        for message in (*self._told, answer):
            self._earlier += 1
            self._earlier_bytes += _size(message)
        self._told = []

    def seen(self, at_ms: float | None) -> None:
        """The session lasted at least from, or to, this moment."""
        if at_ms is not None:
            self.began_ms = at_ms if self.began_ms is None else min(at_ms, self.began_ms)
            self.ended_ms = at_ms if self.ended_ms is None else max(at_ms, self.ended_ms)


def in_order(*agents: list[Step]) -> list[Step]:
    """The steps of several agents as they ended; what has no time stays behind what it followed."""
    timed: list[tuple[float, Step]] = []
    for steps in agents:
        latest = 0.0
        for step in steps:
            latest = max(latest, step.at_ms if step.at_ms is not None else latest)
            timed.append((latest, step))
    return [step for _, step in sorted(timed, key=lambda pair: pair[0])]


def short_name(*candidates: str) -> str:
    """The first of these that says anything, as one short line."""
    for text in candidates:
        line = " ".join(text[: 20 * _LONGEST_NAME].split())
        if line:
            return line if len(line) <= _LONGEST_NAME else line[: _LONGEST_NAME - 1].rstrip() + "…"
    return ""


def exit_code_error(code: int, output: Any) -> dict[str, Any]:
    """A command that ended with another code than 0 as an error; the end of its output says most."""
    words = text_of(output).strip()
    said = words if len(words) <= _ERROR_WORDS else f"…{words[-_ERROR_WORDS:]}"
    return {"error_type": "ExitCode", "message": f"exit code {code}" + (f": {said}" if said else "")}


def _is_bare_command(request: str) -> bool:
    """Whether this is `/clear` or the like, which says nothing of what a session is about."""
    return request.startswith("/") and len(request.split()) == 1


def _from(source_id: str) -> dict[str, Any]:
    return {"source_id": source_id} if source_id else {}


def _extend(step: Step, message: dict[str, Any]) -> None:
    """Add a further part to an answer."""
    known = step.fields["response"]
    for key, value in message.items():
        if isinstance(value, list) and isinstance(known.get(key), list):
            known[key] += value  # the lists are the importer's own
        elif not known.get(key):
            known[key] = value


def _size(message: dict[str, Any]) -> int:
    try:
        return len(encode_json(message))
    except (TypeError, ValueError):
        return 0
