"""
Reasons to suspect a step: each rule looks at the story of a run and names decisions, with the events that show why.

A rule blames the decision, not the symptom: where a call failed, the step that asked for it; where an answer holds a
figure that nobody gave, the step that said it first. Every sentence states what the log shows and no more; that a step
is suspected is said by its rank. A weight says how much likelier the ground makes the step: 1 doubles what its place in
the run says. `make bench-blame` measures what comes of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.analysis.suspects.origins import Sources, answer_values, gives_one_answer, holds, ids_in, typed_values
from agentdbg.analysis.suspects.parts_played import actors_in, acts, part_of
from agentdbg.analysis.text_facts import facts_in
from agentdbg.analysis.wording import as_json, code, cut, line, one_line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.analysis.suspects.run_story import RunStory, Step
    from agentdbg.analysis.wording import Line, VerdictPart

__all__ = ["RULES", "Ground"]

_TELLING_LENGTH = 2
_TELLING_PART = 80
"""So much of an error tells it from others."""
_TALK = 3
"""So many decisions make a talk; a model that is asked once answers from memory, and that is all it can do."""
_CLAIMS = 2
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
    weight = 2.0
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
            weight * (0.5 if again is not None else 1.0),
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
        worked = story.steps[again]
        what = "The same call" if worked.args == failed.args else f"Another call of {failed.name}"
        return [*words, f". {what} worked at #{worked.number}."]
    following = sum(step.trouble is not None for step in story.steps[place + 1 :])
    if following and story.is_whole:
        return [*words, f". {following:,} more {'error' if following == 1 else 'errors'} followed."]
    return [*words, "."]


def _worked_later(story: RunStory, place: int) -> int | None:
    """The next call of the same tool, if that worked and is no other item of a batch."""
    failed = story.steps[place]
    if failed.kind != "tool":
        return None
    later = (at for at in range(place + 1, len(story.steps)) if story.steps[at].kind == "tool")
    found = next((at for at in later if story.steps[at].name == failed.name), None)
    if found is None or story.steps[found].trouble is not None or _is_next_item(story, place, story.steps[found]):
        return None
    return found


def _is_next_item(story: RunStory, place: int, worked: Step) -> bool:
    """Whether a write that worked is the next of a batch, after one that failed between two that did not."""
    failed = story.steps[place]
    before = next((one for one in reversed(story.steps[:place]) if one.kind == "tool"), None)
    is_alike = before is not None and before.name == failed.name and before.trouble is None
    return failed.writes and is_alike and worked.args != failed.args


def asked_for_nothing(story: RunStory) -> Iterator[Ground]:
    """The decisions whose lookups came back empty."""
    weight = 1.2
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
    weight = 1.8
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
    r"|generally speaking|general information|based on (?:my|our|general|common) knowledge)",
    re.IGNORECASE,
)


def assumed(story: RunStory) -> Iterator[Ground]:
    """Decisions that say themselves that they go by something other than what was found."""
    weight = 1.5
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
                rest = "” as its answer; no step before it has these words."
            else:
                rest = "” first, which the answer repeats; nothing before it holds it."
            if len(value) <= _TELLING_LENGTH:
                rest = "” as its answer, first."
            kind = "answered_alone" if first == last else "said_first"
            words: tuple[str | VerdictPart, ...] = (code(step.name), f" #{step.number} said “", shown, rest)
            yield Ground(
                kind,
                first,
                (0.4 if first == last else 1.2) * (1.0 if is_short else 0.6),
                line(step.number, *words),
                (first, last),
            )
        elif step.by is not None:
            asking = story.steps[step.by]
            words = (
                code(asking.name),
                f" #{asking.number} led to #{step.number}, the first to hold “",
                shown,
                "”, which the answer repeats.",
            )
            yield Ground(
                "led_to_answer",
                step.by,
                0.5 if is_short else 0.3,
                line(asking.number, *words),
                (step.by, first, last),
            )
        return


def claimed_alone(story: RunStory) -> Iterator[Ground]:
    """Names and figures said in a talk between agents, right after other words and not after anything found."""
    if len(story.decisions) < _TALK:
        return
    weight = 1.0
    given = Sources(story.asked)
    before: Step | None = None
    for place, step in enumerate(story.steps):
        if (
            step.is_decision
            and before is not None
            and before.is_decision
            and part_of(step) == "works"
            and not acts(step)
        ):
            new = [value for value in _facts_stated(step.text) if not given.hold(value)]
            if len(new) >= _CLAIMS:
                words = (
                    code(step.name),
                    f" #{step.number} states what nothing before it holds, and looked nothing up: ",
                    quote(cut(", ".join(new[:4]), 100)),
                )
                yield Ground("claimed_alone", place, weight, line(step.number, *words), (place,))
                weight *= _FADES
        given.add(step)
        before = step


_INTENDS = re.compile(
    r"\b(?:let(?:'|\u2019)?s|let us|we (?:need|will|should|can|must)|i(?:'|\u2019)?ll|i will|i (?:need|should)|please"
    r"|could you|next step|plan|if)\b|\?$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def _facts_stated(text: str) -> list[str]:
    """The names, figures and dates of the sentences that state something; what is intended or asked is no claim."""
    stated = " ".join(part for part in _SENTENCE.split(text) if not _INTENDS.search(part))
    facts = facts_in(stated)
    return sorted(value for value in facts.hard | facts.soft if len(value) > _TELLING_LENGTH)


_CONCLUDES = re.compile(
    r"\b(?:total|result|value|count|number|sum|there (?:are|is)|equals?|is|are|be)(?:\s+\w+)?\W{1,8}"
    r"(?:```\w*\s*)?(\d{1,2})\b(?![.,]\d)",
    re.IGNORECASE,
)


def _says(step: Step, value: str) -> bool:
    """Whether a step holds a value; of a digit or two, which stand everywhere, only what is given as the answer."""
    if len(value) > _TELLING_LENGTH:
        return holds(step.text, value)
    if not step.is_decision:
        return step.text.strip() == value
    if gives_one_answer(step.text):
        return value in answer_values(step.text)
    return any(found[1] == value for found in _CONCLUDES.finditer(step.text))


def id_from_nowhere(story: RunStory) -> Iterator[Ground]:
    """Calls with an id that nobody gave."""
    weight = 2.5
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
                        f" #{step.number} the {path} “",
                        quote(value),
                        "”, which nothing before it holds.",
                    )
                    yield Ground("id_from_nowhere", step.by, weight, line(asking.number, *words), (step.by, place))
                    weight *= _FADES
                    break
        if not step.is_decision:
            sources.add(step)


def changed_something(story: RunStory) -> Iterator[Ground]:
    """The decisions that changed something outside: wherever they stand in the run, a wrong one is a harm done."""
    weight = 1.2
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
    r"|(?:http|error|status|code):? 404|404 (?:error|not found|page)|timed? ?out"
    r"|did(?: not|n['\u2019]t) (?:find|return|yield|load|work))",
    re.IGNORECASE,
)


def met_a_wall(story: RunStory) -> Iterator[Ground]:
    """Decisions that report that something did not work; to a person that is often the right answer."""
    if _is_talk_with_a_person(story):
        return
    weight = 0.6
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


_TURNS_AWAY = re.compile(
    r"\bunfortunately\b|\b(?:i am|i['\u2019]m|we are|we['\u2019]re) (?:unable|not able|sorry,? but)"
    r"|\bi (?:cannot|can['\u2019]t|can not|do(?: not|n['\u2019]t) have (?:access|the ability|a way))"
    r"|\b(?:cannot|can['\u2019]t|unable to) (?:proceed|access|help|assist)",
    re.IGNORECASE,
)


def turned_away(story: RunStory) -> Iterator[Ground]:
    """The first refusal in a talk with a person in which nothing was ever looked up or done."""
    acted = any(step.kind == "tool" or acts(step) for step in story.steps)
    if acted or not story.is_whole or not _is_talk_with_a_person(story):
        return
    for place in story.decisions:
        step = story.steps[place]
        found = _TURNS_AWAY.search(step.text)
        if found:
            said = quote(_around(step.text, found))
            words = (code(step.name), f" #{step.number} turned a request away, and no tool was ever called: ", said)
            yield Ground("turned_away", place, 0.8, line(step.number, *words), (place,))
            return


def _is_talk_with_a_person(story: RunStory) -> bool:
    """Whether somebody spoke after the first decision, and not a program about its output."""
    return any(step.kind == "heard" and step.name == "user" and step.trouble is None for step in story.steps)


_DECLARES = re.compile(
    r"\"is_request_satisfied\"\s*:\s*\{[^{}]*\"answer\"\s*:\s*true"
    r"|\b(?:request|task|question) (?:is|has been|was) (?:now )?(?:fully |successfully )?"
    r"(?:satisfied|completed?|answered|solved|resolved)\b",
    re.IGNORECASE,
)


def declared_done(story: RunStory) -> Iterator[Ground]:
    """The decision after which nothing more was looked up, because it took the task for done."""
    for place in story.decisions[1:]:
        step = story.steps[place]
        found = _DECLARES.search(step.text)
        if found and not acts(step):
            words = (code(step.name), f" #{step.number} took the task for done.")
            yield Ground("declared_done", place, 0.9, line(step.number, *words), (place,))
            return


_NO_PROGRESS = re.compile(
    r"\"\w*(?:in_loop|stuck|stalled)\"\s*:\s*(?:\{[^{}]*\"answer\"\s*:\s*)?true"
    r"|\"\w*progress\w*\"\s*:\s*(?:\{[^{}]*\"answer\"\s*:\s*)?false",
    re.IGNORECASE,
)


def brought_no_progress(story: RunStory) -> Iterator[Ground]:
    """The step of work after which the run's own ledger says that it gets nowhere."""
    weight = 1.5
    worked: int | None = None
    for place in story.decisions:
        step = story.steps[place]
        if part_of(step) == "works":
            worked = place
        elif worked is not None and _NO_PROGRESS.search(step.text):
            work = story.steps[worked]
            words = (
                code(work.name),
                f" #{work.number} came before #{step.number}, which says that the run gets nowhere.",
            )
            yield Ground("no_progress", worked, weight, line(work.number, *words), (worked, place))
            worked = None
            weight *= _FADES


def learnt_nothing_new(story: RunStory) -> Iterator[Ground]:
    """Where the same result came back, or the same thing was said again."""
    seen: dict[tuple[str, int], int] = {}
    weight = 0.3
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
                else f"asked for #{step.number}, which returned the same as"
            )
            sentence = line(asking.number, code(asking.name), f" #{asking.number} {what} #{before.number}.")
            yield Ground("nothing_new", decision, weight, sentence, (decision, place, seen[key]))
            weight *= _FADES
        seen.setdefault(key, place)


def took_its_turn(story: RunStory) -> Iterator[Ground]:
    """Every decision, by its turn: where to look when nothing else shows."""
    turn = 0
    actors = actors_in(story.steps)
    for place in story.decisions:
        step = story.steps[place]
        part = part_of(step, actors)
        if story.begins_with_task and place == story.decisions[0]:
            what = "handed over the task, with code in it" if acts(step) else "handed over the task"
        elif part == "works":
            turn += 1
            what = f"is {_TURNS[turn]} step that worked on the task" if turn < len(_TURNS) else "worked on the task"
        else:
            what = "decided how to go on" if part == "manages" else "ended the talk"
        yield Ground("position", place, 0.0, line(step.number, code(step.name), f" #{step.number} {what}."), (place,))


_TURNS = ("", "the first", "the second", "the third", "the fourth", "the fifth")


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
    claimed_alone,
    id_from_nowhere,
    changed_something,
    met_a_wall,
    turned_away,
    declared_done,
    brought_no_progress,
    learnt_nothing_new,
    took_its_turn,
)
