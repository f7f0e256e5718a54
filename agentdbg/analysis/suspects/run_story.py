"""
A run as a story: who decided what, what was done because of it, and what came back.

Not every agent calls tools by name. Some write code or a command into their answer, and the result stands as a
message in the next prompt ("exitcode: 1 …", "Observation: …"). Such a message is a step here as a tool's call is, and
belongs to the decision before it. Texts are kept in part, so that a long run stays small.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentdbg.analysis import conversation
from agentdbg.analysis.call_results import failure_of, outcome_of
from agentdbg.analysis.effects import effect_of
from agentdbg.analysis.empty_results import is_empty
from agentdbg.analysis.error_texts import is_error_text
from agentdbg.analysis.result_signs import error_in_result
from agentdbg.analysis.run_answer import reads_something, spoken
from agentdbg.analysis.suspects.parts_played import is_closing, reports_output
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json, one_line
from agentdbg.events import MEDIA
from agentdbg.events.facts import call_failed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agentdbg.events import Event

__all__ = ["UNNAMED", "RunStory", "Step", "error_seen_in"]

UNNAMED = "the model"
"""What a model is called whose name nobody recorded."""

_MOST_STEPS = 600
_LONGEST = 12_000
_LONGEST_OF_ALL, _MOST_STEPS_OF_ALL = 2_000_000, 20_000
_LOOKED_AT = 3_000
_NEW_MESSAGES = 6

_SEEN_ERROR = re.compile(
    r"^[^\n]{0,80}?(?:exit ?code:? *[1-9]\d*\b|\(execution failed\)|Traceback \(most recent call last\)"
    r"|\b[A-Z]\w*(?:Error|Exception): |code execution failed|HTTP(?:/[\d.]+)? (?:error )?[45]\d\d\b)"
    r"|^\s*(?:Call id: \S+\s+)?(?:Error|ERROR|Fatal|FATAL)(?:\s*:|\s+in\b)",
    re.MULTILINE,
)
_LOGGED = re.compile(r"\W*(?:\d{4}-\d\d-\d\d|\d\d?:\d\d)")
"""A line of a log, which tells what happened to others."""
_MEDIA = re.compile(rf"{MEDIA} [^\"\\]+")
_ONE_SENTENCE = re.compile(r"\s*\w+ \w+")
_NAMED_ERROR = re.compile(r"\b[A-Za-z_][\w.]*(?:Error|Exception)\b:.*")


def error_seen_in(text: str) -> str | None:
    """The line of an output that reports an error; None where there is none near its beginning."""
    head = text[:_LOOKED_AT]
    if is_error_text(head):
        return one_line(_telling_line(head), 160)
    found = next((one for one in _SEEN_ERROR.finditer(head) if not _LOGGED.match(one[0])), None)
    return one_line(_telling_line(head[found.start() :]), 160) if found else None


def _telling_line(text: str) -> str:
    """Of a traceback the last line, which names the error; else the first."""
    lines = [part.strip() for part in text.splitlines() if part.strip()]
    named = [found[0] for part in lines if (found := _NAMED_ERROR.search(part))]
    return named[-1] if named else lines[0] if lines else ""


@dataclass
class Step:
    """
    One step. `model` decides, `tool` was called, `heard` is a message that came with the next prompt.

    `number` is the event it stands in, `by` the place in the story of the decision it belongs to.
    """

    number: int
    event_id: str
    kind: Literal["model", "tool", "heard"]
    name: str
    text: str
    args: Any = None
    calls: list[conversation.Call] = field(default_factory=list)
    trouble: str | None = None
    is_empty: bool = False
    writes: bool = False
    may_be_done: bool = False
    """Whether a write failed in a way that says nothing of whether it was done: its connection broke, time ran out."""
    has_tools: bool = False
    """Whether a tool was called because of it."""
    by: int | None = None

    @property
    def is_decision(self) -> bool:
        return self.kind == "model"


class RunStory:
    """Takes every event of a run in order."""

    def __init__(self, longest: int = _LONGEST, most_steps: int = _MOST_STEPS) -> None:
        self._longest, self._most_steps = longest, most_steps
        self.steps: list[Step] = []
        self.asked = ""
        """What the run was asked, and its instructions: all that was there before the first decision."""
        self.begins_with_task = False
        """Whether the first message hands the task over, as in a talk between agents: nothing was asked before it."""
        self.returned: str | None = None
        self.is_whole = True
        """Whether every step was kept; of a longer run only the beginning is, and nothing is said of its end."""
        self._places: dict[str, int] = {}
        self._heard: set[int] = set()
        self._latest: int | None = None
        self._tools_since_model = False

    @classmethod
    def of(cls, events: Iterable[Event]) -> RunStory:
        """The story of a run that has been recorded."""
        return cls().after(events)

    @classmethod
    def of_values(cls, events: Iterable[Event]) -> RunStory:
        """The story of a run with all its texts, for whoever looks for a value in them."""
        return cls(_LONGEST_OF_ALL, _MOST_STEPS_OF_ALL).after(events)

    def after(self, events: Iterable[Event]) -> RunStory:
        """The same story, once it was told these events."""
        for number, event in enumerate(events, 1):
            payload: Any = event.get("payload")
            if isinstance(payload, dict):
                self.observe(number, event, payload)
        return self

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        """Take the next event."""
        event_type = event["event_type"]
        if event_type == "RUN_START":
            given = {key: payload[key] for key in ("args", "kwargs") if payload.get(key)}
            self.asked = as_json(given)[: self._longest] if given else ""
        elif event_type == "RUN_END":
            self.returned = spoken(payload.get("result"))
        elif len(self.steps) >= self._most_steps:
            self.is_whole = False
        elif event_type == "LLM_CALL":
            self._model(number, event, payload)
        elif event_type == "TOOL_CALL":
            self._tool(number, event, payload)
        elif event_type == "MESSAGE":
            self._message(number, event, payload)

    @property
    def decisions(self) -> list[int]:
        """The places of the steps in which something was decided."""
        return [place for place, step in enumerate(self.steps) if step.is_decision]

    @property
    def answer(self) -> tuple[int | None, str]:
        """The place of the last word, and the words: what was returned, else what was decided last."""
        if not self.is_whole:
            return None, ""
        spoke = [place for place in self.decisions if self.steps[place].text.strip()]
        last = next((place for place in reversed(spoke) if not is_closing(self.steps[place].text)), None)
        if self.returned:
            return last, self.returned
        return (None, "") if last is None else (last, self.steps[last].text)

    def _add(self, step: Step) -> None:
        self._places[step.event_id] = len(self.steps)
        self.steps.append(step)

    def _model(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        self._listen(number, event, payload.get("prompt"))
        response = payload.get("response")
        said = conversation.answer(response)
        told = response.get("name") if isinstance(response, dict) else None
        named = told or (event.get("meta") or {}).get("speaker")
        name = named if isinstance(named, str) and named else event["name"]
        name = UNNAMED if name == "unknown" else name
        step = Step(number, event["event_id"], "model", name, said.text[: self._longest], calls=said.calls)
        if call_failed(payload):
            step.trouble = failure_of(payload).text
        elif not said.calls and reports_output(name, said.text):
            # A terminal that takes part in a conversation decides nothing.
            step.kind, step.by = "heard", self._latest
            step.trouble = error_seen_in(said.text)
        if self._latest is None and step.is_decision and not self.asked.strip():
            self.asked, self.begins_with_task = step.text, True
        self._add(step)
        if step.is_decision:
            self._latest = len(self.steps) - 1
        self._tools_since_model = False

    def _message(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        """What was said and is no answer; later prompts may hold it too."""
        name = payload.get("name")
        text = conversation.text_of(payload)[: self._longest]
        self._heard.add(hash(conversation.text_of(payload)))
        step = Step(number, event["event_id"], "heard", name if isinstance(name, str) else event["name"], text)
        if self._latest is not None and reports_output(step.name, text):
            step.trouble, step.by = error_seen_in(text), self._latest
        self._add(step)

    def _tool(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        result, args = payload.get("result"), parse_embedded(payload.get("args"))
        text = result if isinstance(result, str) else as_json(result)
        parent = self._places.get(event.get("parent_id") or "")
        by = parent if parent is not None and self.steps[parent].is_decision else self._latest
        step = Step(number, event["event_id"], "tool", event["name"], text[: self._longest], args=args, by=by)
        effect = effect_of(event)
        step.writes = effect.kind == "write"
        if call_failed(payload):
            step.trouble = failure_of(payload).text
            step.text = step.trouble if result is None else f"{step.trouble}\n{step.text}"
        else:
            # What was looked up may well speak of errors; what a program prints is about itself.
            reads = reads_something(event["name"])
            printed = result if isinstance(result, str) and not reads else ""
            step.trouble = error_in_result(result) or error_seen_in(printed)
            if step.trouble is None and step.writes and isinstance(result, str) and _ONE_SENTENCE.match(result):
                # An edit that found nothing to replace did nothing.
                step.trouble = one_line(result, 160) if is_empty(result) else None
            step.is_empty = step.trouble is None and reads and is_empty(result)
        if step.trouble is not None and step.writes and effect.source != "asked":
            step.may_be_done = outcome_of({"error": step.trouble}) == "unknown"
        self._add(step)
        if by is not None:
            self.steps[by].has_tools = True
        self._tools_since_model = True

    def _media_in(self, prompt: Any) -> list[str]:
        """How the images of a prompt are described, for whoever looks for a value."""
        return _MEDIA.findall(as_json(prompt)) if self._longest == _LONGEST_OF_ALL else []

    def _listen(self, number: int, event: Event, prompt: Any) -> None:
        """The messages that came since the last decision; before the first one they are what was asked."""
        if self._latest is None:
            words = "\n".join([*(turn.text for turn in conversation.turns(prompt)), *self._media_in(prompt)])
            self.asked = f"{self.asked}\n{words}"[: 3 * self._longest]
            return
        new: list[conversation.Turn] = []
        for turn in reversed(conversation.turns(prompt, last=_NEW_MESSAGES)):
            if turn.role in ("assistant", "system") or turn.missing:
                break
            new.append(turn)
        for turn in reversed(new):
            if (turn.role == "tool" and self._tools_since_model) or not turn.text.strip():
                continue
            known = hash(turn.text)
            if known not in self._heard and turn.text[:200] not in self.asked:
                self._heard.add(known)
                observed = turn.role == "tool" or reports_output("", turn.text)
                # What a tool brought is a step already; the message only repeats it.
                is_news = not self._tools_since_model and (observed or is_error_text(turn.text))
                trouble = error_seen_in(turn.text) if is_news else None
                step = Step(number, event["event_id"], "heard", turn.role, turn.text[: self._longest], trouble=trouble)
                step.by = self._latest
                self.steps.append(step)
