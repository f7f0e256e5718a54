"""
A run as the steps that are compared: each event's own content, without what is different every time.

Ids, times, durations, token counts and costs are no content, nor is what a prompt only repeats; meta is labels.
`likeness` says how alike two steps are, from 0 to 1, and is asked only where nothing exact holds the two runs together.
Splitting texts into words is most of its work, so each step keeps its words. `Totals` says what a run came to.
"""

from __future__ import annotations

import re
import tempfile
import threading
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from agentdbg.analysis.conversation import Turn, answer, last_text
from agentdbg.analysis.effects import SideEffect, normal_form
from agentdbg.analysis.run_columns import CALL_KINDS, END, LLM, SPAN, START, TOOL, lacks_times
from agentdbg.analysis.wording import as_json, number_or_none
from agentdbg.encoding import decode_json, encode_json
from agentdbg.events.facts import RunTotals, call_failed, cost_of, tokens_of
from agentdbg.loops.volatile import VOLATILE_KEYS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from agentdbg.analysis.call_results import Outcome
    from agentdbg.analysis.diff.model_context import History

__all__ = [
    "NOT_CONTENT",
    "Arguments",
    "Contents",
    "Side",
    "Step",
    "Totals",
    "TotalsCounter",
    "are_akin",
    "comparable",
    "encoded",
    "fingerprint",
    "likeness",
    "likeness_table",
    "print_of",
]

NOT_CONTENT = frozenset({"usage", "cost_usd", "served", "source", "tool_name", "duration_ms", "call_id"})
"""Numbers that follow from the rest, places in the code, and what only repeats the event's name."""
_NAMELESS = frozenset({LLM, START, END})
"""Steps that stay the same under another name."""


Kept = dict[str, Any] | int
_HELD = 100_000
"""Bytes of contents that one run may hold in memory, encoded."""


class Contents:
    """
    What the steps of one run say. Those of a long run lie in a nameless private file and are fetched when asked for:
    most steps are the same in both runs, and nobody looks into them again.
    """

    def __init__(self, most_held: int = _HELD) -> None:
        self._left = most_held
        self._file: BinaryIO | None = None
        self._end = 0
        self._is_at_end = True
        self._seeking = threading.Lock()

    def keep(self, content: dict[str, Any], size: int) -> Kept:
        """The content itself, which has about `size` bytes as JSON, or its place in the file."""
        if self._left > 0:
            self._left -= size
            return content
        try:
            return self._written(encode_json(content))
        except (OSError, TypeError, ValueError, OverflowError, RecursionError):  # no room, or no JSON: given by hand
            return content

    def fetch(self, place: int) -> dict[str, Any]:
        """The content at a place that `keep` gave."""
        assert self._file is not None
        with self._seeking:
            self._file.seek(place)
            text = self._file.readline()
            self._is_at_end = False
        return cast("dict[str, Any]", decode_json(text))

    def __del__(self) -> None:
        # A comparison lives as long as somebody looks at it; nobody has to remember to close it.
        if self._file is not None:
            self._file.close()

    def _written(self, text: bytes) -> int:
        with self._seeking:
            if self._file is None:
                self._file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 -- lives as long as the steps do
            if not self._is_at_end:
                self._file.seek(self._end)
                self._is_at_end = True
            begin = self._end
            self._end += self._file.write(text + b"\n")
        return begin


@dataclass(eq=False, slots=True)
class Step:
    """
    One event as it is compared.

    `content` is what it says itself, `context` what a model was given beside the messages (instructions, tools,
    parameters), `history` how many messages its prompt holds, and their fingerprint. Steps of equal content have the
    same `key`. `effect` marks a tool's call that changes something outside the agent; it is None where nobody knows.
    """

    number: int
    kind: int
    name: str
    start_ms: int
    end_ms: int
    failed: bool
    contents: Contents
    kept: Kept
    """The content, or its place in `contents`."""
    key: int = 0
    context: dict[str, Any] | None = None
    context_key: int = 0
    history: History = (0, 0)
    effect: bool | None = False
    parent: Step | None = None
    children: Sequence[Step] = ()
    depth: int = 0
    words: Any = None
    """What `likeness` keeps of it."""
    _families: frozenset[str] | None = None
    _action: int | str | None = None

    @property
    def content(self) -> dict[str, Any]:
        return self.kept if isinstance(self.kept, dict) else self.contents.fetch(self.kept)

    @property
    def said(self) -> Turn:
        """What the model answered, read when it is needed."""
        return answer(self.content.get("response"))

    @property
    def families(self) -> frozenset[str]:
        """Two steps that share one can be each other, changed: the kind, and its tool or each that a model asks for."""
        if self._families is None:
            calls = self.said.calls if self.kind == LLM else ()
            alone = str(self.kind) if self.kind in _NAMELESS else f"{self.kind}:{self.name}"
            self._families = _one_set(frozenset(f"{LLM}:{call.name}" for call in calls) or frozenset({alone}))
        return self._families

    @property
    def action(self) -> int | str:
        """What the step does, whatever is said with it or comes of it: a coarser key than its content."""
        if self._action is None:
            self._action = self._read_action()
        return self._action

    def _read_action(self) -> int | str:
        if self.kind == LLM and (calls := self.said.calls):
            return fingerprint([[call.name, normal_form(call.args)] for call in calls])
        if self.kind == TOOL:
            return fingerprint([self.name, normal_form(self.content.get("args"))])
        if self.kind in (START, END, SPAN):
            return f"{self.kind}:{self.name if self.kind == SPAN else ''}"
        return self.key


@lru_cache(maxsize=1_000)
def _one_set(families: frozenset[str]) -> frozenset[str]:
    """The same set for all steps that have equal ones: a hundred thousand steps have a few."""
    return families


def comparable(step: Step, content: dict[str, Any]) -> list[Any]:
    """What makes two steps the same: name and content, a result without the fields that belong to the single call."""
    kind = step.kind
    result = content.get("result")
    if isinstance(result, dict) and not VOLATILE_KEYS.isdisjoint(result):
        kept = {key: item for key, item in result.items() if key not in VOLATILE_KEYS}
        content = {**content, "result": kept}
    return [kind if kind in _NAMELESS else f"{kind}:{step.name}", content]


def fingerprint(value: Any) -> int:
    """A short name for a JSON value, the same in every process: equal values have equal ones, and others do not."""
    return print_of(encoded(value))


def print_of(text: bytes) -> int:
    """The fingerprint of a value that is encoded."""
    return int.from_bytes(blake2b(text, digest_size=10).digest(), "big")


def encoded(value: Any) -> bytes:
    """The value as JSON: 1, 1.0 and true are three values."""
    try:
        return encode_json(value)
    except (TypeError, ValueError, OverflowError, RecursionError):  # events given by hand may hold anything
        return repr(value).encode("utf-8", "replace")


@dataclass
class Side:
    """One of two runs: its steps by event number, those at the top, and what it came to."""

    steps: dict[int, Step]
    top: list[Step]
    order: list[Step]
    """Every step, parents before children."""
    totals: Totals
    effects: list[SideEffect]
    """The calls that changed something, and those of which nobody knows."""
    refused: list[SideEffect]
    """Writes that were not done."""
    starts: dict[int, int]
    """The CALL_STARTs that have no step of their own, and the event each belongs to."""
    count: int
    has_findings: bool

    @cached_property
    def outcomes(self) -> dict[int, Outcome]:
        """What came of the calls that did something or may have, by their numbers."""
        return {effect.number: effect.outcome for effect in self.effects}


@dataclass(frozen=True)
class Totals:
    """The figures of one side; None where nothing is known."""

    events: int = 0
    llm_calls: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    duration_ms: int | None = None
    status: str | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class TotalsCounter:
    """Notes what the events of one run say of its cost and length; the rest is counted at the end."""

    def __init__(self) -> None:
        self._spent = RunTotals()
        self._duration_ms: int | None = None
        self._status: str | None = None
        self._knows_times = True

    def add_model_call(self, payload: dict[str, Any]) -> None:
        self._spent.add_model_call(tokens_of(payload), cost_of(payload))

    def add_start(self, event: Mapping[str, Any]) -> None:
        self._knows_times = not lacks_times(event.get("meta"))

    def add_end(self, event: Mapping[str, Any], payload: Mapping[str, Any]) -> None:
        self._status = "error" if call_failed(payload) else "ok"
        self._duration_ms = number_or_none(event.get("duration_ms"))

    def totals(self, steps: Collection[Step]) -> Totals:
        """The figures, where `steps` are all events of the run."""
        kinds = [step.kind for step in steps]
        tokens_in, tokens_out, total_tokens = self._spent.tokens()
        return Totals(
            events=len(kinds),
            llm_calls=kinds.count(LLM),
            tool_calls=kinds.count(TOOL),
            failed_calls=len([step for step in steps if step.failed and step.kind in CALL_KINDS]),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            total_tokens=total_tokens,
            cost_usd=self._spent.cost(),
            duration_ms=self._length_ms(steps) if self._knows_times else None,
            status=self._status,
        )

    def _length_ms(self, steps: Iterable[Step]) -> int | None:
        if self._duration_ms is not None:
            return self._duration_ms
        moments = [step.end_ms for step in steps if step.end_ms]
        return max(moments) - min(moments) if moments else None


_WORD = re.compile(r"\w+")
_MOST_TEXT = 1_500

Words = frozenset[str]
_WORDY = (str, dict, list)


def are_akin(left: Step, right: Step) -> bool:
    """
    Whether one can be the other, changed: two calls of a tool, two answers in words, two that ask for the same tool.

    What is akin has a likeness above 0, and what is equal or does the same is akin.
    """
    return not left.families.isdisjoint(right.families)


def likeness_table(left: Sequence[Step], right: Sequence[Step]) -> list[dict[int, float]]:
    """How alike each step of one line is to those of the other that are akin to it, by place. Most are not."""
    table = [
        {place: likeness(step, other) for place, other in enumerate(right) if are_akin(step, other)} for step in left
    ]
    for step in (*left, *right):
        step.words = None  # many small texts, which nobody asks for again
    return table


def likeness(left: Step, right: Step) -> float:
    """0 for steps that are not akin; a model may be another one."""
    kind = left.kind
    if not are_akin(left, right):
        return 0.0
    if kind != LLM and (left.key == right.key or kind in (START, END)):
        return 1.0
    words, words_right = _kept_words(left), _kept_words(right)
    if kind == TOOL:
        alike: float = 0.35 + 0.5 * words[0].likeness(words_right[0])
        return alike + (0.1 if words[1] == words_right[1] else 0.0)
    if kind == LLM:
        said = _shared(words[0], words_right[0])
        if words[1] is None:
            return 0.3 + 0.3 * _shared(left.families, right.families) + 0.3 * said
        return 0.35 + 0.4 * said + 0.2 * _shared(words[1], words_right[1])
    return 0.5 + 0.4 * _shared(words, words_right)


def _kept_words(step: Step) -> Any:
    """What is compared again and again: words of an answer and its question, a call's `Arguments` and result, words."""
    if step.words is None:
        content = step.content
        if step.kind == LLM:
            step.words = _model_words(content)
        elif step.kind == TOOL:
            step.words = Arguments(content.get("args")), content.get("result")
        else:
            step.words = _words(content)
    return step.words


def _model_words(content: dict[str, Any]) -> tuple[Words, Words | None]:
    """Those of the answer, and those of the question where no tool is asked for."""
    said = answer(content.get("response"))
    if said.calls:
        words = _words([call.args for call in said.calls])
        return words | _words(said.text) if said.text else words, None
    return _words(said.text), _words(last_text(content.get("appended")))


class Arguments:
    """What a tool was given, and the words of each text, list and table in it."""

    def __init__(self, args: Any) -> None:
        self._args = args
        named = args if isinstance(args, dict) else {}
        self._words = {key: _words(item) if isinstance(item, _WORDY) else None for key, item in named.items()}

    @cached_property
    def _all_words(self) -> Words:
        return _words(self._args)

    def likeness(self, other: Arguments) -> float:
        """The share of arguments that are equal; texts count by the words they share."""
        left, right = self._args, other._args
        if left == right:
            return 1.0
        if not (isinstance(left, dict) and isinstance(right, dict)):
            are_wordy = isinstance(left, _WORDY) and isinstance(right, _WORDY)
            return 0.9 * _shared(self._all_words, other._all_words) if are_wordy else 0.0
        alike, common = 0.0, 0
        for key, words in self._words.items():
            if key in right:
                common += 1
                words_right = other._words[key]
                if left[key] == right[key]:
                    alike += 1.0
                elif words is not None and words_right is not None:
                    alike += 0.9 * _shared(words, words_right)
        return alike / (len(left) + len(right) - common)


def _words(value: Any) -> Words:
    text = value if isinstance(value, str) else as_json(value)
    return frozenset(_WORD.findall(text[:_MOST_TEXT].lower()))


def _shared(left: frozenset[Any], right: frozenset[Any]) -> float:
    if not (left and right):
        return 0.0 if left or right else 1.0
    common = len(left & right)
    return common / (len(left) + len(right) - common)
