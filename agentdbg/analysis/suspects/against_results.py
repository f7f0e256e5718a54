"""
Decisions that do not fit what came back: a claim that a result denies, something said to be done that no call did, a
result that nobody used, and calls about another thing than the one that was asked for.

A claim counts only where it names the member of the result that denies it, and a figure only where nothing in the run
holds it and it does not follow from what does by simple arithmetic.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.effect_guess.tool_names import name_effect, words_of
from agentdbg.analysis.run_answer import reads_something
from agentdbg.analysis.suspects.claims import claim_in, is_told_of, only_asks
from agentdbg.analysis.suspects.grounds import Ground
from agentdbg.analysis.suspects.origins import Sources, holds, ids_in
from agentdbg.analysis.suspects.states_said import other_currency, other_state
from agentdbg.analysis.suspects.sums import Figures
from agentdbg.analysis.text_facts import facts_in
from agentdbg.analysis.value_text import parse_embedded
from agentdbg.analysis.wording import as_json, code, cut, line, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.analysis.suspects.run_story import RunStory, Step

__all__ = ["RULES"]

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[\u3002\uff01\uff1f])|\n+|, (?=(?:shall|would|should|do|can|could|may) )")
_HEDGES = re.compile(
    r"\b(?:not|no|never|nor|without|if|unless|whether|would|could|should|might|may|once|when|until|instead|rather|before"
    r"|was|were|had|used to|per|each|plus|minus|difference|total|sum|remaining|left|about|around|roughly|approximately"
    r"|nearly|equivalent|converted|fahrenheit|percent|average)\b|n['\u2019]t\b|\?|%",
    re.IGNORECASE,
)
"""Words after which a sentence does not plainly say what a result says."""
_LIMITS = re.compile(
    r"\b(?:from|after|on (?:the|request|demand|\d|\w+days?|weekends?)|only|except|every|till|later|again|soon|tomorrow"
    r"|next|usually)\b",
    re.IGNORECASE,
)
"""What is so at some other time says nothing of now."""
_DEEPEST = 3
_STEM = 6
_THIRD = 3
_TELLING = 80
_MOST_MEMBERS = 60
_LONGEST_VALUE = 40
_SHORTEST_KEY = 4
_PLAIN_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def contradicts_result(story: RunStory) -> Iterator[Ground]:
    """An answer that says something else of a member of the last result than the result does."""
    for place, step, results in _after_results(story):
        told = _denied(story, step, results, place) or _stands_otherwise(story, step, results, place)
        if told is not None:
            name, said, result, value = told
            words = (
                code(step.name),
                f" #{step.number} says “",
                quote(cut(said, 100)),
                "”, but ",
                code(result.name),
                f" #{result.number} gave ",
                *((code(name), " ") if name else ()),
                code(cut(as_json(value), 60)),
                ".",
            )
            evidence = (place, story.steps.index(result))
            yield Ground("contradicts_result", place, 2.5, line(step.number, *words), evidence)


def _after_results(story: RunStory) -> Iterator[tuple[int, Step, list[Step]]]:
    """Each answer in words, with the results that came since the decision before it."""
    results: list[Step] = []
    for place, step in enumerate(story.steps):
        if step.kind == "tool" and step.trouble is None:
            results.append(step)
        elif step.is_decision:
            if results and step.text.strip() and not step.calls and not step.has_tools:
                yield place, step, results
            results = []


def _denied(story: RunStory, step: Step, results: list[Step], place: int) -> tuple[str, str, Step, Any] | None:
    members = [(result, *member) for result in results for member in _members(parse_embedded(result.text))]
    names = [" ".join(words_of(name)) for _, name, _ in members]
    for sentence in _SENTENCE.split(step.text[:4_000]):
        for (result, name, value), words in zip(members, names, strict=True):
            # Of a member that occurs twice nobody knows which one is meant.
            if len(words) < _SHORTEST_KEY or names.count(words) > 1 or words not in sentence.lower():
                continue
            if _HEDGES.search(sentence.lower().replace(words, "")):
                continue
            said = _said_of(words, sentence)
            is_denied = (
                value is False
                and not _LIMITS.search(sentence)
                and re.search(rf"\b(?:is|are)(?: \w+ly| still)? {re.escape(words)}\b", sentence)
            )
            if is_denied or (said is not None and _differs(said, value) and not _is_known(story, place, said)):
                return name, sentence.strip(), result, value
    return None


def _stands_otherwise(
    story: RunStory, step: Step, results: list[Step], place: int
) -> tuple[str, str, Step, Any] | None:
    """What an answer says of how a thing stands, or of a price, that its result has otherwise."""
    sentences = _SENTENCE.split(step.text[:4_000])
    known = "\n".join(one.text for one in story.steps[:place] if one.kind == "tool")
    found = other_state(sentences, results) or other_currency(sentences, results, known)
    return None if found is None else (found.name, found.said, found.result, found.value)


def _members(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The named scalars of a result."""
    if isinstance(value, dict) and depth <= _DEEPEST:
        for key, item in list(value.items())[:_MOST_MEMBERS]:
            if isinstance(item, (dict, list)):
                yield from _members(item, depth + 1)
            elif isinstance(item, (bool, int, float)) or (isinstance(item, str) and 0 < len(item) <= _LONGEST_VALUE):
                yield str(key), item
    elif isinstance(value, list) and depth <= _DEEPEST:
        for item in value[:_MOST_MEMBERS]:
            yield from _members(item, depth + 1)


def _said_of(words: str, sentence: str) -> str | None:
    """What a sentence says of a member: "the balance is 250 euros", "Status: shipped"."""
    found = re.search(
        r"(?:^|\b(?:the|your|its|their|this|and|current|new)\s+|['\u2019]s\s+|[*_,:(]\s*)"
        rf"{re.escape(words)}\b(?:\s+(?:of|for)\s+(?:\w+\s+){{1,4}}?)?\s*(?:is|was|are|:|=|comes to)\s+(?:now\s+)?"
        r"[*_`\"'\u201c$\u20ac\u00a3]*([\w.,:/-]+)",
        sentence,
        re.IGNORECASE,
    )
    return found[1].rstrip(".,:;") if found else None


def _differs(said: str, value: Any) -> bool:
    """Whether what was said is of the same sort as a value, and another one."""
    if isinstance(value, bool):
        return said.lower() in ({"false", "no"} if value else {"true", "yes"})
    plain = said.replace(",", "")
    if isinstance(value, (int, float)):
        if not _PLAIN_NUMBER.fullmatch(plain) or abs(float(plain) - value) <= 0.5 + abs(value) * 0.01:
            return False
        ratio = float(plain) / value if value else 0.5
        return not (ratio and (float(ratio).is_integer() or (1 / ratio).is_integer()))
    text = str(value)
    if any(sign.isdigit() for sign in text):
        # An id or a date: another of the same shape.
        return any(sign.isdigit() for sign in said) and _shape(said) == _shape(text) and said.lower() != text.lower()
    return text.lower() in _STATES and said.lower() in _STATES and _STATES[text.lower()] != _STATES[said.lower()]


def _shape(text: str) -> str:
    return re.sub(r"[A-Za-z]", "a", re.sub(r"\d", "9", text))


_GOOD = """confirmed approved accepted active open available completed complete done delivered paid passed succeeded
    success enabled eligible"""
_BAD = """cancelled canceled rejected declined denied refused failed inactive closed unavailable disabled expired
    ineligible"""
_WAITS = "pending processing queued waiting unpaid delayed scheduled shipped draft"
_STATES = {word: number for number, group in enumerate((_GOOD, _BAD, _WAITS)) for word in group.split()}
"""Words for how a thing stands; two of one group may mean the same."""


def _is_known(story: RunStory, place: int, said: str) -> bool:
    """Whether anything in the run before holds what was said, or it is the sum or difference of two figures."""
    plain = said.replace(",", "")
    texts = [story.asked, *(step.text for step in story.steps[:place])]
    if not _PLAIN_NUMBER.fullmatch(plain):
        return any(holds(text, said) for text in texts) if any(sign.isdigit() for sign in said) else False
    if any(holds(text, said) for text in texts):
        return True
    figures = {float(found[0]) for text in texts for found in list(_PLAIN_NUMBER.finditer(text.replace(",", "")))[:200]}
    wanted = float(plain)
    return any(abs(wanted - one) in figures or wanted + one in figures for one in figures if one)


_NO_CLAIM = re.compile(
    r"\b(?:not|no|never|nor|without|if|unless|whether|would|could|should|might|may|(?<!at )once|when|until|instead"
    r"|rather|before|was|were|had|used to|each)\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
"""Words after which a sentence does not plainly say that something was done."""
_CLAUSE_ENDS = re.compile(r"[,:;]\s|\s[\u2013-]\s")
_DID = re.compile(
    r"\b(?:I(?: have|['\u2019]ve)?|we(?: have|['\u2019]ve)?) (?:just |now |also |successfully |already )?"
    r"(sent|e?mailed|booked|cancell?ed|deleted|ordered|scheduled|refunded|transferred|uploaded|paid|reserved"
    r"|rescheduled|(?:updated|changed|removed|moved|submitted)(?= your\b))\b"
    r"|\b(?:I(?: have|['\u2019]ve)|we(?: have|['\u2019]ve)) (?:just |now |also |successfully )?"
    r"((?:added|applied|credited|enrolled)(?=[^.!?]{1,60}?\b(?:to|in|for|on) (?:your|(?:the )?(?:account|booking|order"
    r"|reservation|subscription|ticket))\b)|(?:activated|deactivated|enabled|disabled|extended|lowered|raised|removed"
    r"|upgraded|waived)(?= (?:your|(?:the )?(?:account|booking|card|fee|line|order|plan|reservation|subscription))\b))"
    r"|\byour\b[^.]{1,60}\b(?:has|have) been (?:successfully )?(booked|cancell?ed|updated|changed|submitted"
    r"|reserved|rescheduled)\b",
    re.IGNORECASE,
)


def claims_undone(story: RunStory) -> Iterator[Ground]:
    """The first claim to have done something, in a run whose tools only looked things up."""
    tools = [step for step in story.steps if step.kind == "tool"]
    if not tools or not story.is_whole:
        return
    for place in story.decisions:
        step = story.steps[place]
        if any(one.writes or not _only_looks(one) for one in tools if one.number < step.number):
            return
        for sentence in _SENTENCE.split(step.text[:4_000]):
            # What the tools tell of is nothing that the agent claims to have done.
            if not step.calls and _claims_alone(sentence, tools, _last_words(story, place)):
                words = (
                    code(step.name),
                    f" #{step.number} says that something was done, and no call before it did anything: ",
                    quote(one_line(sentence, 140)),
                )
                yield Ground("claims_undone", place, 2.0, line(step.number, *words), (place,))
                return


def _only_looks(call: Step) -> bool:
    return reads_something(call.name) or name_effect(call.name) == "read"


def _last_words(story: RunStory, place: int) -> str:
    """What was said to the agent last before a step."""
    heard = (step.text for step in reversed(story.steps[:place]) if step.kind == "heard")
    return next(heard, story.asked.rstrip().rpartition("\n")[2])


def _claims_alone(sentence: str, tools: list[Step], asked: str) -> bool:
    """Whether a sentence claims that something was done of which no result has a word."""
    found = _DID.search(sentence)
    if found is not None:
        if _NO_CLAIM.search(sentence[: found.end()] + _CLAUSE_ENDS.split(sentence[found.end() :], maxsplit=1)[0]):
            return False
        if found[0].lower().startswith("your") and only_asks(asked):
            return False
        did = next(part for part in found.groups() if part).lower()[:_STEM]
        return not any(did in one.text.lower() for one in tools)
    claim = claim_in(sentence)
    if claim is None or (not claim.is_own and only_asks(asked)):
        return False
    return not any(is_told_of(claim.kind, one.text) for one in tools)


def asked_about_another(story: RunStory) -> Iterator[Ground]:
    """A call about an id of the same shape as the only one that was asked for, which no call was ever about."""
    asked = _ids_of(story.asked)
    shapes = Counter(map(_shape, asked))
    used = "\n".join(as_json(step.args) for step in story.steps if step.kind == "tool").lower()
    for wanted in asked:
        if shapes[_shape(wanted)] > 1 or wanted.lower() in used:
            continue
        for place, step in enumerate(story.steps):
            given = next((value for _, value in ids_in(step.args) if _shape(value) == _shape(wanted)), None)
            if step.kind == "tool" and step.by is not None and given is not None:
                asking = story.steps[step.by]
                words = (
                    code(asking.name),
                    f" #{asking.number} gave ",
                    code(step.name),
                    f" #{step.number} ",
                    quote(given),
                    "; what was asked for is ",
                    quote(wanted),
                    ", and no call is about it.",
                )
                yield Ground("asked_about_another", step.by, 2.6, line(asking.number, *words), (step.by, place))
                return


def changed_another(story: RunStory) -> Iterator[Ground]:
    """A change of a thing that nobody named, where the only one of its shape that was asked for was never changed."""
    asked = _ids_of(story.asked)
    shapes = Counter(map(_shape, asked))
    said = "\n".join([story.asked, *(step.text for step in story.steps if step.kind == "heard")]).lower()
    writes = [step for step in story.steps if step.kind == "tool" and step.writes]
    changed = "\n".join(as_json(step.args) for step in writes).lower()
    seen = "\n".join(as_json(step.args) for step in story.steps if step.kind == "tool").lower()
    for wanted in asked:
        if shapes[_shape(wanted)] > 1 or wanted.lower() in changed or wanted.lower() not in seen:
            continue
        for step in writes:
            given = next((value for _, value in ids_in(step.args) if _shape(value) == _shape(wanted)), None)
            if given is not None and step.by is not None and given.lower() not in said:
                asking = story.steps[step.by]
                words = (
                    code(asking.name),
                    f" #{asking.number} gave ",
                    code(step.name),
                    f" #{step.number} ",
                    quote(given),
                    "; what was named is ",
                    quote(wanted),
                    ", and no call changed that.",
                )
                evidence = (step.by, story.steps.index(step))
                yield Ground("changed_another", step.by, 2.0, line(asking.number, *words), evidence)
                return


def _ids_of(text: str) -> list[str]:
    found = re.findall(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9][\w-]{3,40}(?![\w-])", text[:4_000])
    return list(dict.fromkeys(found))


def asked_again(story: RunStory) -> Iterator[Ground]:
    """The third time that a call was asked for which had failed twice in the same way: nothing was learnt from it."""
    failed: dict[tuple[str, str], list[int]] = {}
    for place, step in enumerate(story.steps):
        if step.kind != "tool" or step.trouble is None or step.by is None:
            continue
        before = failed.setdefault((step.name, step.trouble[:_TELLING]), [])
        before.append(place)
        if len(before) == _THIRD:
            asking, first = story.steps[step.by], story.steps[before[0]]
            words = (
                code(asking.name),
                f" #{asking.number} asked for ",
                code(step.name),
                f" #{step.number} again, which had failed in the same way at #{first.number}.",
            )
            yield Ground("asked_again", step.by, 1.5, line(asking.number, *words), (step.by, place, before[0]))


def repeated_write(story: RunStory) -> Iterator[Ground]:
    """A write asked for again that broke off and may have been done, without a look whether it was."""
    tools = [(place, step) for place, step in enumerate(story.steps) if step.kind == "tool"]
    for (_, first), (place, again) in pairwise(tools):
        is_same = first.may_be_done and again.writes and (first.name, first.args) == (again.name, again.args)
        if is_same and again.by is not None:
            asking = story.steps[again.by]
            words = (
                code(asking.name),
                f" #{asking.number} asked for ",
                code(again.name),
                f" #{again.number} at once, after the same had ended at #{first.number} with ",
                quote(cut(first.trouble or "", 80)),
                " and may have been done.",
            )
            evidence = (again.by, place, story.steps.index(first))
            yield Ground("repeated_write", again.by, 2.4, line(asking.number, *words), evidence)
            return


def unused_result(story: RunStory) -> Iterator[Ground]:
    """The first lookup whose news no later step has a word of; named is who went on without it."""
    if not story.is_whole:
        return
    sources = Sources(story.asked)
    for place, step in enumerate(story.steps):
        if step.kind == "tool" and step.trouble is None and not step.is_empty and reads_something(step.name):
            facts = facts_in(step.text[:4_000])
            new = [value for value in facts.hard | facts.soft if len(value) > 2 and not sources.hold(value)]
            later = story.steps[place + 1 :]
            after = next((at for at in range(place + 1, len(story.steps)) if story.steps[at].is_decision), None)
            if new and after is not None and not _come_up_again(new, step.text[:4_000], story.asked, later):
                asking = story.steps[after]
                words = (
                    code(asking.name),
                    f" #{asking.number} goes on without what ",
                    code(step.name),
                    f" #{step.number} gave: no new name, figure or id in it comes up in a later step.",
                )
                yield Ground("unused_result", after, 0.2, line(asking.number, *words), (after, place))
                return
        if not step.is_decision:
            sources.add(step)


def _come_up_again(new: list[str], text: str, asked: str, later: list[Step]) -> bool:
    """Whether a later step has one of the new facts of a result, or a figure that follows from those in it."""
    wanted = [value.lower() for value in new]
    for step in later:  # the quick way first: nearly always something is said again as it was
        said = f"{step.text}\n{as_json(step.args)}\n{as_json([call.args for call in step.calls])}".lower()
        if any(value in said for value in wanted):
            return True
    given, figures = facts_in(asked), Figures()
    figures.add(text)
    for step in later:
        facts = facts_in(step.text[:8_000])
        if not facts.hard.isdisjoint(new):
            return True
        told = (one.lstrip("-") for one in facts.hard - given.numbers_and_ids)
        if step.is_decision and any(_PLAIN_NUMBER.fullmatch(one) and figures.give(one) for one in told):
            return True
    return False


RULES: tuple[Callable[[RunStory], Iterator[Ground]], ...] = (
    contradicts_result,
    claims_undone,
    asked_about_another,
    changed_another,
    asked_again,
    repeated_write,
    unused_result,
)
