"""
Reasons to suspect a step: each rule looks at the story of a run and names decisions, with the events that show why.

A rule blames the decision, not the symptom: where a call failed, the step that asked for it; where an answer holds a
figure that nobody gave, the step that said it first. Every sentence states what the log shows and no more; that a step
is suspected is said by its rank. The weights order the rules; `make bench-blame` measures what comes of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.suspects.origins import Sources, answer_values, gives_one_answer, holds, ids_in, typed_values
from agentdbg.analysis.wording import as_json, code, cut, line, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.analysis.suspects.run_story import RunStory, Step
    from agentdbg.analysis.wording import Line, VerdictPart

__all__ = ["RULES", "Ground"]

_TELLING_LENGTH = 2
_TELLING_PART = 80
"""So much of an error tells it from others."""
_FADES = 0.8
"""What a second ground of one kind weighs against the first: causes come early."""


@dataclass(frozen=True)
class Ground:
    """One reason to suspect the decision at `place`. `evidence` are places of the story too."""

    kind: str
    place: int
    weight: float
    line: Line
    evidence: tuple[int, ...]


def asked_for_failure(story: RunStory) -> Iterator[Ground]:
    """The decision, the call it asked for, how that failed and what followed."""
    weight = 1.0
    blamed: set[int | tuple[str, str]] = set()
    for place, step in enumerate(story.steps):
        if step.trouble is None:
            continue
        decision = place if step.is_decision else step.by
        alike = (step.name, step.trouble[:_TELLING_PART])
        if decision is None or decision in blamed or alike in blamed:
            continue
        blamed |= {decision, alike}
        again = _worked_later(story, place)
        yield Ground(
            "asked_for_failure",
            decision,
            weight * (0.6 if again is not None else 1.0),
            line(story.steps[decision].number, *_failure_words(story, decision, place, again)),
            (decision, place, *(() if again is None else (again,))),
        )
        weight *= _FADES


def _failure_words(story: RunStory, decision: int, place: int, again: int | None) -> list[str | VerdictPart]:
    asking, failed = story.steps[decision], story.steps[place]
    words: list[str | VerdictPart] = [code(asking.name), f" #{asking.number} "]
    if place == decision:
        words += ["failed: "]
    elif failed.kind == "tool":
        words += ["asked for ", code(failed.name), f" #{failed.number}, which failed: "]
    else:
        words += [f"led to an error, seen at #{failed.number}: "]
    words.append(quote(cut((failed.trouble or "").rstrip(" ."), 160)))
    if again is not None:
        return [*words, f". The same call worked at #{story.steps[again].number}."]
    following = sum(step.trouble is not None for step in story.steps[place + 1 :])
    if following and story.is_whole:
        return [*words, f". {following:,} more {'error' if following == 1 else 'errors'} followed."]
    return [*words, "."]


def _worked_later(story: RunStory, place: int) -> int | None:
    """The next call of the same tool, if that worked."""
    failed = story.steps[place]
    if failed.kind != "tool":
        return None
    later = (at for at in range(place + 1, len(story.steps)) if story.steps[at].kind == "tool")
    found = next((at for at in later if story.steps[at].name == failed.name), None)
    return found if found is not None and story.steps[found].trouble is None else None


def asked_for_nothing(story: RunStory) -> Iterator[Ground]:
    """The decisions whose lookups came back empty."""
    weight = 0.8
    for place, step in enumerate(story.steps):
        if step.is_empty and step.by is not None:
            asking = story.steps[step.by]
            words = (
                code(asking.name),
                f" #{asking.number} asked for ",
                code(step.name),
                f" #{step.number}, which gave nothing.",
            )
            yield Ground("asked_for_nothing", step.by, weight, line(asking.number, *words), (step.by, place))
            weight *= _FADES


def typed_data(story: RunStory) -> Iterator[Ground]:
    """Code with data in it that no source gave."""
    weight = 0.95
    for place, step, sources in _with_sources(story):
        values = typed_values(step.text)
        missing = [value for value in values if not sources.hold(value)]
        if len(missing) >= 3 and 2 * len(missing) >= len(values):
            shown = ", ".join(f"“{cut(value, 40)}”" for value in missing[:3])
            words = (
                code(step.name),
                f" #{step.number} wrote {len(missing)} values into its code that nothing before it holds: {shown} …",
            )
            yield Ground("typed_data", place, weight, line(step.number, *words), (place,))
            weight *= _FADES


_ASSUMES = re.compile(
    r"\b(?:(?:let['\u2019]?s|let us|we(?:'ll| will| can)?|i(?:'ll| will)?) (?:assume|suppose|pretend|simulate)"
    r"|assuming\b|for (?:the sake of|illustration|demonstration)|hypothetical(?:ly)?|placeholder"
    r"|dummy data|as an example|mock(?:ed)? (?:data|result|response)|simulated? (?:data|result|response|search)"
    r"|(?:example|sample) (?:data|list|values)|from memory|i recall|to my knowledge"
    r"|based on (?:my|general) knowledge)",
    re.IGNORECASE,
)


def assumed(story: RunStory) -> Iterator[Ground]:
    """Decisions that say themselves that they go by something other than what was found."""
    weight = 0.8
    for place in story.decisions:
        step = story.steps[place]
        found = _ASSUMES.search(step.text)
        if found and not holds(story.asked, found[0]):
            words = (code(step.name), f" #{step.number} goes by an assumption: ", quote(_around(step.text, found)))
            yield Ground("assumed", place, weight, line(step.number, *words), (place,))
            weight *= _FADES


def _around(text: str, found: re.Match[str]) -> str:
    """The sentence of a match."""
    begin = max(text.rfind(sign, 0, found.start()) for sign in (". ", "\n", "! ", "? ")) + 1
    return one_line(text[begin : found.end() + 120], 160)


def said_the_answer_first(story: RunStory) -> Iterator[Ground]:
    """Where the answer comes from: the decision that said it first, or that asked for the result that holds it."""
    last, answer = story.answer
    if last is None:
        return
    is_short = gives_one_answer(answer)
    for value in answer_values(answer)[:12]:
        if len(value) > 1 and holds(story.asked, value):
            continue
        first = next((place for place, step in enumerate(story.steps) if _says(step, value)), None)
        if first is None:
            continue
        step = story.steps[first]
        shown = quote(cut(value, 80))
        if step.is_decision:
            if first == last and not is_short:
                continue
            if first == last:
                rest = " as its answer, which nothing before it holds."
            else:
                rest = " first, which the answer repeats; nothing before it holds it."
            if len(value) <= _TELLING_LENGTH:
                rest = " as its answer, first."
            kind = "answered_alone" if first == last else "said_first"
            words: tuple[str | VerdictPart, ...] = (code(step.name), f" #{step.number} said ", shown, rest)
            yield Ground(kind, first, 0.75 if is_short else 0.4, line(step.number, *words), (first, last))
        elif step.by is not None:
            asking = story.steps[step.by]
            words = (
                code(asking.name),
                f" #{asking.number} led to #{step.number}, the first to hold ",
                shown,
                ", which the answer repeats.",
            )
            yield Ground(
                "led_to_answer",
                step.by,
                0.45 if is_short else 0.25,
                line(asking.number, *words),
                (step.by, first, last),
            )
        return


def _says(step: Step, value: str) -> bool:
    """Whether a step holds a value; of a digit or two, which stand everywhere, only what is given as the answer."""
    if len(value) > _TELLING_LENGTH:
        return holds(step.text, value)
    if step.is_decision:
        return gives_one_answer(step.text) and value in answer_values(step.text)
    return step.text.strip() == value


def id_from_nowhere(story: RunStory) -> Iterator[Ground]:
    """Calls with an id that nobody gave."""
    weight = 0.9
    sources = Sources(story.asked)
    for place, step in enumerate(story.steps):
        if step.kind == "tool" and step.by is not None:
            for path, value in ids_in(step.args):
                if not sources.hold(value):
                    asking = story.steps[step.by]
                    words = (
                        code(asking.name),
                        f" #{asking.number} gave ",
                        code(step.name),
                        f" #{step.number} the {path} ",
                        quote(value),
                        ", which nothing before it holds.",
                    )
                    yield Ground("id_from_nowhere", step.by, weight, line(asking.number, *words), (step.by, place))
                    weight *= _FADES
                    break
        if not step.is_decision:
            sources.add(step)


def changed_something(story: RunStory) -> Iterator[Ground]:
    """The decisions that changed something outside; the first of a kind is where a wrong one would be."""
    weight = 0.6
    for place, step in enumerate(story.steps):
        if step.kind == "tool" and step.writes and step.trouble is None and step.by is not None:
            asking = story.steps[step.by]
            words = (
                code(asking.name),
                f" #{asking.number} let ",
                code(step.name),
                f" #{step.number} change something.",
            )
            yield Ground("changed_something", step.by, weight, line(asking.number, *words), (step.by, place))
            weight *= _FADES


_GIVES_UP = re.compile(
    r"\b(?:(?:was|were|am|are|been) (?:unable|not able) to|access denied|permission denied|verify you are human|captcha"
    r"|could(?: not|n['\u2019]t) (?:find|access|locate|open|retrieve|load|determine|verify|complete|be found)"
    r"|(?:page|file|item|result|user|site) (?:not found|is not available|isn['\u2019]t available)"
    r"|no (?:relevant |matching |direct )?(?:results?|information|data|matches) (?:were |was )?(?:found|available)"
    r"|404|timed? ?out|did(?: not|n['\u2019]t) (?:find|return|yield|load|work))",
    re.IGNORECASE,
)


def met_a_wall(story: RunStory) -> Iterator[Ground]:
    """Decisions that report that something did not work."""
    weight = 0.55
    for place in story.decisions:
        step = story.steps[place]
        found = _GIVES_UP.search(step.text)
        if found and not step.calls and not holds(story.asked, found[0]):
            words = (
                code(step.name),
                f" #{step.number} reports that something did not work: ",
                quote(_around(step.text, found)),
            )
            yield Ground("met_a_wall", place, weight, line(step.number, *words), (place,))
            weight *= _FADES


def learnt_nothing_new(story: RunStory) -> Iterator[Ground]:
    """Where the same result came back, or the same thing was said again."""
    seen: dict[tuple[str, int], int] = {}
    weight = 0.6
    for place, step in enumerate(story.steps):
        words = " ".join(step.text.split())[:2_000] if step.kind != "tool" else as_json([step.args, step.text[:2_000]])
        if len(words) < 20 or step.trouble is not None:
            continue
        key = (step.name, hash(words))
        decision = place if step.is_decision else step.by
        if key in seen and decision is not None and story.steps[seen[key]].number != step.number:
            asking, before = story.steps[decision], story.steps[seen[key]]
            what = (
                "said again what it had said at"
                if step.is_decision
                else f"brought back what #{step.number} shows, the same as"
            )
            sentence = line(asking.number, code(asking.name), f" #{asking.number} {what} #{before.number}.")
            yield Ground("nothing_new", decision, weight, sentence, (decision, place, seen[key]))
            weight *= _FADES
        seen.setdefault(key, place)


def acted_first_or_last(story: RunStory) -> Iterator[Ground]:
    """The first decision that did something, and the one the answer was given in: where to look when nothing shows."""
    acting = [place for place in story.decisions if _acts(story, place)]
    for weight, place, what in (
        (0.3, acting[0] if acting else None, "is the first step that did something"),
        (0.2, story.answer[0], "gave the answer"),
    ):
        if place is not None:
            step = story.steps[place]
            yield Ground(
                "position", place, weight, line(step.number, code(step.name), f" #{step.number} {what}."), (place,)
            )
    for place in story.decisions:
        step = story.steps[place]
        yield Ground(
            "position",
            place,
            0.1 / (1 + place),
            line(step.number, code(step.name), f" #{step.number} decided how to go on."),
            (place,),
        )


def _acts(story: RunStory, place: int) -> bool:
    step = story.steps[place]
    return (
        bool(step.calls)
        or "```" in step.text
        or any(other.by == place and other.kind == "tool" for other in story.steps[place + 1 : place + 8])
    )


def _with_sources(story: RunStory) -> Iterator[tuple[int, Step, Sources]]:
    """Every decision with all that was given before it."""
    sources = Sources(story.asked)
    for place, step in enumerate(story.steps):
        if step.is_decision:
            yield place, step, sources
        else:
            sources.add(step)


RULES: tuple[Callable[[RunStory], Iterator[Ground]], ...] = (
    asked_for_failure,
    asked_for_nothing,
    typed_data,
    assumed,
    said_the_answer_first,
    id_from_nowhere,
    changed_something,
    met_a_wall,
    learnt_nothing_new,
    acted_first_or_last,
)
