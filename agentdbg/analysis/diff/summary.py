"""
A comparison in words: whether the runs left the same behind, where and how they part, how each ended.

Only what the two logs prove is said. Each sentence names the events it is about, in A and in B. That a run goes on,
that its process is gone, that lines of its log are damaged, only the reader of its files knows, and says it in a
`Log`: a verdict without that would take a run that broke off for one that did its work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from agentdbg.analysis.run_columns import CALL_START, END, EXCEPTION, LLM, LOOP, SPAN, START, STATE, TOOL
from agentdbg.analysis.value_text import argument_text, parse_embedded, plain_text, value
from agentdbg.analysis.wording import VerdictPart, code, count_noun, cut, line, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agentdbg.analysis.diff.changes import Change
    from agentdbg.analysis.diff.effect_changes import CallChanges, ChangedEffect, EffectChanges
    from agentdbg.analysis.diff.result import Diff
    from agentdbg.analysis.diff.steps import Side, Step
    from agentdbg.analysis.effects import SideEffect
    from agentdbg.analysis.wording import VerdictPart

__all__ = [
    "Log",
    "Part",
    "Sentence",
    "Told",
    "does",
    "given_to",
    "next_step",
    "notes",
    "numbers_of",
    "sentences",
    "step_text",
    "tell",
]

Part = Literal["effects", "tools", "prompts"]
_VERDICTS = {
    "same": ("=", "Same"),
    "same_effects": ("≈", "Same effects"),
    "different_effects": ("≠", "Different effects"),
    "unknown_effects": ("?", "Effects unknown"),
}
_ERROR_ROOM = 110
"""Of an error, what a sentence about two runs can hold and still be read; the row of its event has more."""
_FEW = 3
_ROOM = 60
_LEAD = 18


class Sentence(TypedDict):
    """One sentence and the events it speaks of."""

    a: int | None
    b: int | None
    parts: list[VerdictPart]


def sentences(diff: Diff) -> list[Sentence]:
    """What the reader needs to know first."""
    told = list(_effect_sentences(diff.effects))
    if diff.verdict == "same":
        return [_say(None, None, f"Every step is the same, {len(diff.rows):,} on each side."), *told]
    spoken_of = {(sentence["a"], sentence["b"]) for sentence in told} - {(None, None)}
    parting = [sentence for sentence in _parting(diff) if (sentence["a"], sentence["b"]) not in spoken_of]
    return [*told, *parting, *_given(diff)]


def notes(diff: Diff) -> list[str]:
    """What the verdict rests on where nobody declared it."""
    said = []
    guessed, unknown = diff.effects.guessed_tools, diff.effects.unknown_tools
    if guessed:
        name, have, them = ("name", "has", "it") if len(guessed) == 1 else ("names", "have", "them")
        said.append(
            f"Guessed from the {name}: {_names(guessed)} {have} side effects. "
            f'Mark {them} with @tool(effect="write") to be certain.'
        )
    if unknown:
        them = "it" if len(unknown) == 1 else "them"
        said.append(
            f'Side effects unknown: {_names(unknown)}. Mark {them} with @tool(effect="write") or @tool(effect="read"), '
            f"or name {them} in write_tools or read_tools."
        )
    if diff.pairing.cut:
        said.append(
            f"{count_noun(diff.pairing.cut, 'step')} of both runs stand where nothing is equal for very long; "
            "they were paired in pieces, so some may have a better partner than the one shown."
        )
    if not diff.effects.same_order and diff.effects.are_same:
        said.append("The effects came in another order.")
    return said


def _effect_sentences(effects: EffectChanges) -> Iterator[Sentence]:
    known, unknown = effects.known, effects.unknown
    if not known.are_same:
        yield from _call_sentences(known, "more effect")
    elif known.same:
        how = "equal arguments" if not known.reworded else "arguments that say the same"
        yield _say(None, None, f"Both did the same: {count_noun(known.same, 'side effect')}, with {how}.")
    elif not effects.unknown_tools:
        yield _say(None, None, "Neither run changed anything outside the agent.")
    if not unknown.are_same:
        yield from _call_sentences(unknown, "more call", "; its side effects are unknown")
    elif unknown.same:
        calls = "call" if unknown.same == 1 else f"{unknown.same:,} calls"
        yield _say(None, None, f"Both made the same {calls} with unknown side effects.")


def _call_sentences(calls: CallChanges, noun: str, doubt: str = "") -> Iterator[Sentence]:
    """The first few calls that differ, and how many more there are."""
    told = 0
    for changed in calls.changed[:_FEW]:
        told += 1
        yield _say(changed.a.number, changed.b.number, code(changed.a.name), *_changed(changed), f"{doubt}.")
    for which, only in (("A", calls.only_a), ("B", calls.only_b)):
        for effect in only[: _FEW - told] if told < _FEW else ():
            told += 1
            numbers = (effect.number, None) if which == "A" else (None, effect.number)
            if effect.repeated_by:
                yield _say(*numbers, f"{which} may have done ", code(effect.name), f" twice: {_repeat(effect)}.")
            else:
                yield _say(*numbers, f"Only {which} called ", code(effect.name), *_with(effect), f"{doubt}.")
    if calls.count > told:
        rest = calls.count - told
        differ = "differs" if rest == 1 else "differ"
        yield _say(None, None, f"{count_noun(rest, noun)} {differ}{doubt.replace('its', 'their')}.")


def _changed(effect: ChangedEffect) -> Iterator[str | VerdictPart]:
    if not effect.changes:  # the same call of a tool that nobody knows
        yield " ended differently"
        return
    change = effect.changes[0]
    if change.path == "returned":  # the last there is: the arguments are the same
        yield " returned in A and never in B" if change.was else " returned in B and never in A"
    elif change.path == "outcome":
        yield _outcomes(effect)
    else:
        yield from (" got ", *_got(change), _and_more(len(effect.changes) - 1))


def _outcomes(effect: ChangedEffect) -> str:
    """` was done in A and refused in B`; where nobody knows, why."""
    sides = sorted((("A", effect.a), ("B", effect.b)), key=lambda side: side[1].outcome == "unknown")
    (first, known), (second, other) = sides
    if other.outcome == "unknown":
        why = f": {other.failure}" if other.failure else ""
        return f" was {known.outcome} in {first}; whether in {second} nobody knows{why}"
    return f" was {effect.a.outcome} in A and {effect.b.outcome} in B"


def _repeat(effect: SideEffect) -> str:
    ended = f"ended with {effect.failure}" if effect.failure else "never returned"
    return f"#{effect.number} {ended}, and #{effect.repeated_by} repeats it"


def _got(change: Change) -> Iterator[str | VerdictPart]:
    yield code(change.path.removeprefix("args."))
    if change.op == "added":
        yield from (" ", _value(change.now), " only in B")
    elif change.op == "removed":
        yield from (" ", _value(change.was), " only in A")
    else:
        was, now = _from_where_they_differ(change.was, change.now)
        yield from (" ", _value(was), " in A and ", _value(now), " in B")


def _from_where_they_differ(was: Any, now: Any) -> tuple[Any, Any]:
    """Two long texts without the beginning that both have, but for a few words of it."""
    if not (isinstance(was, str) and isinstance(now, str)) or max(len(was), len(now)) <= _ROOM:
        return was, now
    pairs = enumerate(zip(was, now, strict=False))
    same = next((place for place, (a, b) in pairs if a != b), min(len(was), len(now)))
    begin = was.rfind(" ", 0, max(same - _LEAD, 0)) + 1 if same > _ROOM // 2 else 0
    return (f"…{was[begin:]}", f"…{now[begin:]}") if begin else (was, now)


def _value(item: Any) -> VerdictPart:
    return code(plain_text(value(item, _ROOM)))


def _and_more(count: int) -> str:
    return f", and {count_noun(count, 'more difference')}" if count > 0 else ""


def _with(effect: SideEffect) -> Iterator[str | VerdictPart]:
    shown = _args_text(effect.args, 120)
    yield from (" with ", code(shown)) if shown else (" without arguments",)
    if not effect.returned:
        yield ", which never returned"
    elif effect.outcome != "done":
        yield f", which ended with {effect.failure}"


def _args_text(args: Any, room: int) -> str:
    return argument_text(args, room) if isinstance(args, dict) else plain_text(value(args, room))


def _parting(diff: Diff) -> Iterator[Sentence]:
    at = diff.first_divergence
    if at is None:
        if any(row.wording for row in diff.rows):
            yield _say(None, None, "Only the wording differs.")
        return
    a, b = next_step(diff, at, "a"), next_step(diff, at, "b")
    numbers = (a.number if a else None, b.number if b else None)
    before = diff.rows[at - 1] if at else None
    after = ("First difference, after ", code(before.name)) if before and before.kind == TOOL else ("First difference",)
    row = diff.rows[at]
    reworded = any(change.wording for earlier in diff.rows[:at] for change in earlier.changes if not change.is_given)
    quiet = " Before that only the wording differs." if reworded else " Before that every step is the same."
    if row.op == "changed" and a is not None:
        loud = [change for change in row.changes if not change.is_quiet] or list(row.changes)
        # A model that was not named when it was recorded has no name to be called by.
        whose = "the model" if a.kind == LLM and a.name in ("", "unknown") else code(a.name)
        said = (whose, " differs in ", *_got(loud[0]), _and_more(len(loud) - 1), ".")
    else:
        said = ("A ", *does(a), ", B ", *does(b), ".")
        if _only_answers(a) and _only_answers(b):
            said = ("A answers ", _words(a), ", B answers ", _words(b), ".")
        elif a is not None and b is not None and does(a) == does(b) and a.kind == TOOL:
            said = ("A runs ", code(a.name), *given_to(a), ", B ", code(b.name), *given_to(b), ".")
    yield _say(*numbers, *after, ": ", *said, quiet if at else "")


def next_step(diff: Diff, at: int, side: str) -> Step | None:
    """The first step of one run at or after a row; a finding of ours is none."""
    for row in diff.rows[at:]:
        number = row.a if side == "a" else row.b
        if number is not None and row.kind != LOOP:
            return (diff.side_a if side == "a" else diff.side_b).steps[number]
    return None


def given_to(step: Step) -> Iterator[str | VerdictPart]:
    """What `does` left out: the words of an answer, or the arguments of what is called."""
    if _only_answers(step):
        yield f" {_words(step)}"
        return
    calls = step.said.calls[:_FEW] if step.kind == LLM else ()
    shown = cut(", ".join(_args_text(call.args, _ROOM) for call in calls), _ROOM) if calls else step_text(step, _ROOM)
    yield from (" with ", code(shown)) if shown else (" without arguments",)


def _only_answers(step: Step | None) -> bool:
    return step is not None and step.kind == LLM and not step.said.calls


def _words(step: Step | None) -> str:
    """How an answer begins."""
    return "" if step is None else f"“{one_line(step.said.text, _ROOM).removesuffix('.')}”"


def does(step: Step | None) -> tuple[str | VerdictPart, ...]:
    """What an agent does in a step, as a verb."""
    if step is None:
        return ("is over",)
    if step.kind == LLM:
        calls = step.said.calls
        if not calls:
            return ("answers",)
        return "calls ", code(", ".join(call.name for call in calls[:_FEW]) + (" …" if len(calls) > _FEW else ""))
    verbs = {TOOL: "runs ", SPAN: "enters ", STATE: "records ", EXCEPTION: "fails with ", CALL_START: "starts "}
    if step.kind in verbs:
        return verbs[step.kind], code(step.name)
    return ("ends",) if step.kind == END else ("begins",) if step.kind == START else ("has ", code(step.name))


def _given(diff: Diff) -> Iterator[Sentence]:
    """Arguments of the run, instructions, tools and parameters: what somebody changed, and not what the agent did."""
    started = [(at, change) for at, row in enumerate(diff.rows[:1]) if row.kind == START for change in row.changes]
    given = [*started, *diff.context]
    if not given:
        return
    row = diff.rows[given[0][0]]
    paths = list(dict.fromkeys(change.path for _, change in given))
    shown = ", ".join(paths[:_FEW]) + (f" and {len(paths) - _FEW} more" if len(paths) > _FEW else "")
    yield _say(row.a, row.b, "Different inputs: ", code(shown), ".")


def step_text(step: Step, room: int = 120) -> str:
    """A step in a few words: arguments, or what was answered and asked for."""
    if step.kind == LLM:
        said = step.said
        calls = ", ".join(call.name for call in said.calls)
        text = one_line(said.text, room) if said.text.strip() else ""
        return cut(" · ".join(part for part in (text, f"calls {calls}" if calls else "") if part), room)
    if step.kind in (TOOL, CALL_START):
        args = parse_embedded(step.content.get("args"))
        shown = _args_text(args, room) if args else ""
        failed = step.content.get("error")
        return cut(f"{shown} ✕ {failed}" if failed else shown, room)
    return argument_text({key: item for key, item in step.content.items() if item is not None}, room)


def numbers_of(sentence: Sentence) -> str:
    """`A#17 B#15`, the events a sentence speaks of."""
    both = (("A", sentence["a"]), ("B", sentence["b"]))
    return " ".join(f"{side}#{number}" for side, number in both if number is not None)


def _say(a: int | None, b: int | None, *pieces: str | VerdictPart) -> Sentence:
    return {"a": a, "b": b, "parts": line(None, *pieces)["parts"]}


def _names(tools: Sequence[str]) -> str:
    shown = ", ".join(one_line(tool, 60) for tool in tools[:_FEW])
    if len(tools) > _FEW:
        return f"{shown} and {len(tools) - _FEW} more"
    return " and ".join(shown.rsplit(", ", 1))


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
    (sign, verdict), told = _VERDICTS[diff.verdict], sentences(diff)
    # Steps that nobody compared are not said to be the same.
    if only == "effects":
        verdict = "Same effects" if diff.effects.are_same else verdict
        told = sentences(replace(diff, rows=()))[diff.effects.are_same :]
    elif only == "tools":
        verdict = "Same tool calls" if diff.verdict == "same" else verdict
        told = [_of_tool_calls(sentence) for sentence in told]
    return Told(sign, verdict, is_good, [*ending, *told], [*notes(diff), *damage])


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
        more = f" and {len(paths) - _FEW} more" if len(paths) > _FEW else ""
        said = f"{len(changed):,} of {count_noun(both, 'model call')} that both made got something else: "
        yield _say(changed[0].a, changed[0].b, said, code(", ".join(paths[:_FEW])), f"{more}.")
    elif both:
        yield _say(None, None, f"Both made {count_noun(both, 'model call')} and gave the same to each.")
    for name, op in (("A", "deleted"), ("B", "inserted")):
        alone = [row for row in diff.rows if row.op == op]
        if alone:
            yield _say(alone[0].a, alone[0].b, f"Only {name} made {count_noun(len(alone), 'more model call')}.")


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
