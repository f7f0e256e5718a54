"""
Figures that do not hold: equations that do not come out, and figures that nobody gave and that follow from nothing.

A figure follows from what was given if it is the sum, difference, product, quotient or share of it, or the total of a
list. What an agent says it reckoned, estimated or converted may rest on more than the log shows, and is left alone.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_answer import reads_something
from agentdbg.analysis.suspects.grounds import Ground
from agentdbg.analysis.suspects.origins import Sources, holds
from agentdbg.analysis.suspects.sums import Figures, wrong_sums
from agentdbg.analysis.text_facts import facts_in
from agentdbg.analysis.wording import code, cut, line, quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.analysis.suspects.run_story import RunStory, Step

__all__ = ["RULES"]

_FADES = 0.8
_SHORTEST = 3
_SMALLEST = 12
_DEEPEST = 3
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_MAY_BE_RECKONED = re.compile(
    r"\?|\b(?:about|around|approx\w*|average\w*|between|convert\w*|e\.g|equivalent|estimat\w*|example|if|like|likely|mean"
    r"|median|might|nearly|per|perhaps|probably|roughly|say|step|such as|typical\w*|up to|usually|version|within|would"
    r"|could|business days|hours?|minutes?|minus|plus|times|off|fahrenheit|celsius|kelvin|miles?|feet|foot|inch(?:es)?"
    r"|pounds|ounces|oz|lbs?|gallons|lit(?:er|re)s?|million|billion|thousand)\b|[~\u2248=]"
    r"|\d\s?[x*\u00d7]\s?\d|https?:",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![\w.,/:#-])\d[\d,]{0,14}(?:\.\d{1,8})?(?![\w/:-]|[.,]\d)")
_OF_THE_CALL = re.compile(
    r"(?:^|_)(?:angle|at|batch|brightness|celsius|chunk|count|days?|degrees|depth|duration|end|for|height|hours?|interval|k"
    r"|length|level|limit|line|lines|max|min|minutes?|ms|n|num|offset|page|per|percent|port|position|priority|s|seconds?"
    r"|size|speed|start|temperature|time|timeout|timestamp|top|ts|ttl|volume|width|x|y|year|zoom)(?:$|_)",
    re.IGNORECASE,
)
"""Figures that whoever calls may choose."""
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


def wrong_sum(story: RunStory) -> Iterator[Ground]:
    """Decisions with an equation that does not come out."""
    weight = 2.5
    for place in story.decisions:
        step = story.steps[place]
        found = next((one for one in wrong_sums(step.text, story.asked) if one.said not in story.asked), None)
        if found is not None:
            words = (
                code(step.name),
                f" #{step.number} says “",
                quote(cut(found.said, 100)),
                f"”, which comes to {found.right}.",
            )
            yield Ground("wrong_sum", place, weight, line(step.number, *words), (place,))
            weight *= _FADES


def figure_from_nowhere(story: RunStory) -> Iterator[Ground]:
    """Answers to what tools gave, with a figure that nothing holds and that follows from nothing."""
    if not _is_one_agent(story):
        return
    figures, sources = Figures(), Sources(story.asked)
    figures.add(story.asked)
    weight, after_result = 1.5, False
    for place, step in enumerate(story.steps):
        if not step.is_decision:
            after_result = after_result or step.kind == "tool"
            figures.add(step.text)
            sources.add(step)
            continue
        if after_result and not step.calls and not step.has_tools:
            new = _not_given(_plainly_said(step.text), sources, figures)
            if new:
                words = (
                    code(step.name),
                    f" #{step.number} says ",
                    quote(cut(", ".join(new[:4]), 80)),
                    "; nothing before it holds that, and no simple sum of what does.",
                )
                yield Ground("figure_from_nowhere", place, weight, line(step.number, *words), (place,))
                weight *= _FADES
        figures.add(step.text)


def _not_given(said: list[str], sources: Sources, figures: Figures) -> list[str]:
    """The figures that were not given, nor follow from those that were and from one another."""
    left, before = list(dict.fromkeys(said)), len(said) + 1
    while len(left) < before:
        before = len(left)
        known = [one for one in left if sources.hold(one) or figures.give(one)]
        left = [one for one in left if one not in known]
        figures.add(" ".join(known))
    return left


def _is_one_agent(story: RunStory) -> bool:
    """Whether one agent talks with its tools; what several say to each other comes from one another."""
    return len({story.steps[place].name for place in story.decisions}) == 1


def _plainly_said(text: str) -> list[str]:
    """The figures of the sentences that say them as facts: with decimals, or of three digits; years and codes not."""
    found: list[str] = []
    for sentence in _SENTENCE.split(_CODE.sub(" ", text[:4_000])):
        if not _MAY_BE_RECKONED.search(sentence):
            found += [one for one in _FIGURE.findall(sentence) if _tells(one)]
    return found


def _tells(figure: str) -> bool:
    digits = figure.replace(",", "")
    return len(digits) >= _SHORTEST and not re.fullmatch(r"(?:1[5-9]|20)\d\d", digits)


def gave_figure_from_nowhere(story: RunStory) -> Iterator[Ground]:
    """Calls that may change something, with a figure that nothing holds and that follows from nothing."""
    figures = Figures()
    figures.add(story.asked)
    weight = 1.5
    for step in story.steps:
        if step.kind == "tool" and step.by is not None and not reads_something(step.name):
            name, value = next(_new_in(step.args, figures), ("", ""))
            if name and not holds(story.steps[step.by].text, value):
                asking = story.steps[step.by]
                words = (
                    code(asking.name),
                    f" #{asking.number} gave ",
                    code(step.name),
                    f" #{step.number} the {name} {value}; ",
                    "nothing before it holds that, and no simple sum of what does.",
                )
                evidence = (step.by, story.steps.index(step))
                yield Ground("gave_figure_from_nowhere", step.by, weight, line(asking.number, *words), evidence)
                weight *= _FADES
        if not step.is_decision or not step.has_tools:
            figures.add(step.text)


def _new_in(args: Any, figures: Figures) -> Iterator[tuple[str, str]]:
    for name, value in _numbers(args):
        if not _OF_THE_CALL.search(name) and value > _SMALLEST and not figures.give(f"{value:.10g}", exactly=True):
            yield name, f"{value:,.10g}"


def _numbers(args: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    if isinstance(args, dict) and depth <= _DEEPEST:
        for key, item in list(args.items())[:40]:
            yield from _numbers(item, str(key), depth + 1)
    elif isinstance(args, list) and depth <= _DEEPEST:
        for item in args[:20]:
            yield from _numbers(item, name, depth + 1)
    elif name and isinstance(args, (int, float)) and not isinstance(args, bool):
        yield name, float(args)


def claims_after_nothing(story: RunStory) -> Iterator[Ground]:
    """The first answer after lookups that gave nothing or failed, with a name, date or figure that nothing holds."""
    if not _is_one_agent(story):
        return
    sources = Sources(story.asked)
    before: Step | None = None
    for place, step in enumerate(story.steps):
        if step.is_decision and before is not None and not step.calls and not step.has_tools:
            facts = facts_in(_CODE.sub(" ", step.text[:4_000]))
            new = [one for one in sorted(facts.hard - {"no"}) + sorted(facts.soft) if not sources.hold(one)]
            new = [one for one in new if len(one) > 2]
            if new and not _OPEN.search(step.text):
                what = "failed" if before.trouble is not None else "gave nothing"
                words = (
                    code(step.name),
                    f" #{step.number} states what nothing before it holds, right after ",
                    code(before.name),
                    f" #{before.number} {what}: ",
                    quote(cut(", ".join(new[:4]), 100)),
                    ".",
                )
                evidence = (place, story.steps.index(before))
                yield Ground("claims_after_nothing", place, 2.2, line(step.number, *words), evidence)
                return
        if not step.is_decision:
            if step.kind == "tool":
                before = step if step.is_empty or step.trouble is not None else None
            sources.add(step)


_OPEN = re.compile(
    r"\?|\b(?:could(?: not|n['\u2019]t)|cannot|can['\u2019]t|unable|sorry|unfortunately|no|not|none|nothing|fail\w*"
    r"|errors?|try|let me|i['\u2019]ll|i will|instead|however|assum\w+|general\w*|known|maybe|perhaps)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""Words with which an answer says that something was missing, or goes on looking."""


RULES: tuple[Callable[[RunStory], Iterator[Ground]], ...] = (
    wrong_sum,
    figure_from_nowhere,
    gave_figure_from_nowhere,
    claims_after_nothing,
)
