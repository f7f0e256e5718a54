"""
A comparison of two runs in words: the verdict, how each run ended, and how much of it could be compared.

The steps prove what was recorded. That a run goes on, that its process is gone, that lines of its log are damaged,
only the reader of its files knows, and says it in a `Log`: a verdict without that would take a run that broke off for
one that did its work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from agentdbg.analysis.diff.told import VERDICT_WORDS, notes, sentences
from agentdbg.analysis.run_columns import CALL_KINDS, END
from agentdbg.analysis.wording import code, count_noun, cut, line, quote

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.analysis.call_results import Outcome
    from agentdbg.analysis.diff.result import Diff, Row
    from agentdbg.analysis.diff.steps import Side, Step
    from agentdbg.analysis.diff.told import Sentence
    from agentdbg.analysis.wording import VerdictPart

__all__ = ["Log", "Part", "Told", "has_failed", "never_returned", "outcome_of_row", "tell"]

Part = Literal["effects", "tools", "prompts"]
_PATHS_NAMED = 3
_ERROR_ROOM = 110
"""Of an error, what a sentence about two runs can hold and still be read; the row of its event has more."""
_SIGNS = {"same": "=", "same_effects": "≈", "different_effects": "≠", "unknown_effects": "?"}


@dataclass(frozen=True)
class Log:
    """What the reader of a run's files knows of it."""

    run_id: str = ""
    is_running: bool = False
    damaged_lines: int = 0
    unwritten_events: int = 0


@dataclass(frozen=True)
class Told:
    """A comparison as a person reads it. `is_good` when nothing in it has to be looked at."""

    sign: str
    verdict: str
    is_good: bool
    sentences: list[Sentence]
    notes: list[str]


def tell(diff: Diff, a: Log, b: Log, only: Part | None = None) -> Told:
    """The comparison in words; `only` is the part of the runs that it was narrowed to."""
    ending = list(_ending_sentence(diff, a, b))
    damage = [*_damage("A", a), *_damage("B", b), *_same_run(a, b)]
    if only == "prompts":
        # What the runs did is not asked, so neither the verdict nor the sentences speak of it.
        is_same = diff.first_difference is None
        sign, verdict = ("=", "Same prompts") if is_same else ("≠", "Different prompts")
        return Told(sign, verdict, is_same and not ending, [*ending, *_prompt_sentences(diff)], damage)
    is_good = diff.effects.are_same and not ending
    verdict, told = VERDICT_WORDS[diff.verdict], sentences(diff)
    # Steps that nobody compared are not said to be the same.
    if only == "effects":
        verdict = "Same effects" if diff.effects.are_same else verdict
        told = sentences(replace(diff, rows=()))[diff.effects.are_same :]
    elif only == "tools":
        verdict = "Same tool calls" if diff.verdict == "same" else verdict
        told = [_of_tool_calls(sentence) for sentence in told]
    return Told(_SIGNS[diff.verdict], verdict, is_good, [*ending, *told], [*notes(diff), *damage])


def has_failed(diff: Diff, row: Row) -> bool:
    """Whether the call of a row failed wherever it was made: then a write changed nothing."""
    return row.kind in CALL_KINDS and all(step.failed for step in _steps(diff, row))


def outcome_of_row(diff: Diff, row: Row) -> Outcome:
    """What came of the write of a row, the most that may have come of it where both runs made it."""
    places = ((diff.side_a, row.a), (diff.side_b, row.b))
    found = {outcome for side, number in places if (outcome := side.outcomes.get(number or 0)) is not None}
    return "done" if "done" in found else "unknown" if found else "refused"


def never_returned(diff: Diff, row: Row) -> bool:
    """Whether the call of a row has no end wherever it was made."""
    return all(step.content.get("returned") is False for step in _steps(diff, row))


def _steps(diff: Diff, row: Row) -> list[Step]:
    places = ((diff.side_a, row.a), (diff.side_b, row.b))
    return [side.steps[number] for side, number in places if number is not None]


class _Ending(NamedTuple):
    words: str
    error: str = ""
    number: int | None = None


def _ending_sentence(diff: Diff, a: Log, b: Log) -> Iterator[Sentence]:
    """Nothing, where both runs ended in the same way."""
    ended = _ending(diff.side_a, a), _ending(diff.side_b, b)
    # Two errors may differ in a clock or an address alone, which the comparison knows to be no difference.
    ends = next((row for row in reversed(diff.rows) if row.kind == END), None)
    is_same_end = ends is not None and (ends.op == "same" or ends.wording)
    if is_same_end or ended[0][:2] == ended[1][:2]:
        return
    pieces: list[str | VerdictPart] = []
    for name, one in zip(("A ", ", B "), ended, strict=True):
        pieces += [name, one.words, *((": ", quote(cut(one.error.rstrip("."), _ERROR_ROOM))) if one.error else ())]
    yield _say(ended[0].number, ended[1].number, *pieces, ".")


def _ending(side: Side, log: Log) -> _Ending:
    if not side.count:
        return _Ending("holds no events")
    end = next((step for step in reversed(side.steps.values()) if step.kind == END), None)
    if end is None:
        return _Ending("is still running" if log.is_running else "never ended")
    if side.totals.status != "error":
        return _Ending("finished", number=end.number)
    return _Ending("failed", str(end.content.get("error") or ""), end.number)


def _of_tool_calls(sentence: Sentence) -> Sentence:
    parts: list[VerdictPart] = [
        {**part, "text": part["text"].replace("very step is", "very tool call is")} for part in sentence["parts"]
    ]
    return {**sentence, "parts": parts}


def _prompt_sentences(diff: Diff) -> Iterator[Sentence]:
    changed = [row for row in diff.rows if row.op == "changed"]
    both = sum(row.a is not None and row.b is not None for row in diff.rows)
    if changed:
        paths = list(dict.fromkeys(change.path for row in changed for change in row.changes))
        more = f" and {len(paths) - _PATHS_NAMED} more" if len(paths) > _PATHS_NAMED else ""
        said = f"{len(changed):,} of {count_noun(both, 'model call')} that both made got something else: "
        yield _say(changed[0].a, changed[0].b, said, code(", ".join(paths[:_PATHS_NAMED])), f"{more}.")
    elif both:
        yield _say(None, None, f"Both made {count_noun(both, 'model call')} and gave the same to each.")
    for name, op in (("A", "deleted"), ("B", "inserted")):
        alone = [row for row in diff.rows if row.op == op]
        if alone:
            yield _say(alone[0].a, alone[0].b, f"Only {name} made {count_noun(len(alone), 'more model call')}.")


def _say(a: int | None, b: int | None, *pieces: str | VerdictPart) -> Sentence:
    return {"a": a, "b": b, "parts": line(None, *pieces)["parts"]}


def _same_run(a: Log, b: Log) -> Iterator[str]:
    """Of course they are the same then, and whoever did not choose them has to know why."""
    if a.run_id and a.run_id == b.run_id:
        yield "A and B are the same run."


def _damage(name: str, log: Log) -> Iterator[str]:
    if log.damaged_lines:
        are = "line of its log is" if log.damaged_lines == 1 else "lines of its log are"
        yield f"{name} is not whole: {log.damaged_lines:,} {are} damaged, and what stood there was not compared."
    if log.unwritten_events:
        were = "event was" if log.unwritten_events == 1 else "events were"
        yield f"{name} is not whole: {log.unwritten_events:,} {were} never written, and could not be compared."
