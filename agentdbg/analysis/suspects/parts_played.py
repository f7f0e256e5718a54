"""
What part a step plays in a run of several speakers, and how likely a step is the cause before its words are looked at.

Where people labelled the step that made a run fail, it is most often one of the first that worked on the task; plans,
ledgers and the choice of the next speaker are named seldom, and a closing word never. That is a place to begin, and
what the log shows against a step moves it up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from agentdbg.analysis.suspects.run_story import Step

__all__ = ["Part", "actors_in", "acts", "is_closing", "is_machine", "part_of", "priors", "reports_output"]

Part = Literal["works", "manages", "closes"]

_MANAGERS = re.compile(
    r"orchestrat|manager|planner|supervis|coordinat|moderat|router|dispatch|director|scheduler|facilitat", re.IGNORECASE
)
_MACHINES = re.compile(
    r"terminal|executor|interpreter|environment|sandbox|console|\bshell\b|code_?runner|tool_?(?:output|result|response)",
    re.IGNORECASE,
)
_CLOSES = re.compile(
    r"\W*(?:terminate|done|exit|stop|end|finish(?:ed)?|ok(?:ay)?|approved?|agreed|thank(?: you|s)|request satisfied"
    r"|no agent selected|next speaker\b.{0,40}|task (?:is )?(?:complete|done|finished))\W*",
    re.IGNORECASE,
)
_MANAGES = re.compile(
    r"\s*(?:(?:here is (?:the|my|an?) )?(?:initial |updated |new |overall |high-level )?"
    r"(?:plan|ledger|fact sheet|facts)\b"
    r"(?: (?:survey|to follow))?\s*:|#+ *\d?\.? *(?:facts|plan)\b|<plan>|\[?plan\]?:|we are working to address)"
    r"|\"(?:next_speaker|is_request_satisfied)\"",
    re.IGNORECASE,
)
_ACTS = re.compile(
    r"^[ \t]*```|<(?:action|code|execute_\w+|function|tool_call)\b|^(?:action|code)\s*:"
    r"|^\W*I (?:clicked|typed|scrolled|opened|visited|navigated|searched|ran|executed|downloaded|pressed|hovered)\b",
    re.IGNORECASE | re.MULTILINE,
)
_OBSERVED = re.compile(
    r"\s*(?:exit ?code:|observation\b|current observation|code output:|execution (?:logs|result|output)"
    r"|\[?(?:tool|function) (?:result|output|response)|<(?:tool_response|function_results?|observation|output)\b"
    r"|tool '[^']{1,80}' (?:executed|failed)|stdout:|stderr:|output:|there is no code (?:from|in) the last"
    r"|address: \S+\s+(?:title|viewport)|last output from code|call id:|traceback \(most)",
    re.IGNORECASE,
)
_SHORT = 80
_UNLIKELY = {"works": 1.0, "manages": 0.3, "closes": 0.05}
_TASK = 0.45
"""The message that hands the task over; a program in it makes it a step of work."""


def is_machine(name: str) -> bool:
    """Whether a speaker of this name is a terminal or the like, which prints and decides nothing."""
    return _MACHINES.search(name) is not None


def reports_output(name: str, text: str) -> bool:
    """Whether a message is what a machine printed, and nobody's decision."""
    return bool(_OBSERVED.match(text)) or bool(is_machine(name) and not text.lstrip().startswith("```"))


def is_closing(text: str) -> bool:
    """Whether a message says nothing but that the talk is over, or who speaks next."""
    return len(text) <= _SHORT and _CLOSES.fullmatch(text.strip()) is not None


def acts(step: Step) -> bool:
    """Whether a step does something itself: a call, code, a command, or words about what was clicked."""
    return bool(step.calls) or step.has_tools or _ACTS.search(step.text) is not None


def part_of(step: Step, actors: Collection[str] = ()) -> Part:
    """What a decision is there for; `actors` are those who mostly act, so that their other words are plans."""
    if is_closing(step.text) and not step.calls and not step.has_tools:
        return "closes"
    if acts(step):
        return "works"
    if step.name in actors or _MANAGERS.search(step.name) or _MANAGES.search(step.text[:2_000]):
        return "manages"
    return "works"


def actors_in(steps: Sequence[Step]) -> set[str]:
    """The speakers of a run who act in at least half of their steps."""
    told: dict[str, list[bool]] = {}
    for step in steps:
        if step.is_decision:
            told.setdefault(step.name, []).append(acts(step))
    return {name for name, did in told.items() if 2 * sum(did) >= len(did)}


def priors(steps: Sequence[Step], *, begins_with_task: bool) -> tuple[dict[int, float], dict[int, float]]:
    """
    How likely each decision is the cause, by its part and its turn: the first to work 1, the second 2/3 …

    The second is by its turn alone, for a step whose own words are wrong, whatever part it plays.
    """
    found: dict[int, float] = {}
    by_turn: dict[int, float] = {}
    actors = actors_in(steps)
    turn = 0
    for place, step in enumerate(steps):
        if not step.is_decision:
            continue
        if begins_with_task and not found:
            found[place] = by_turn[place] = 2 * _TASK if acts(step) else _TASK
            continue
        part = part_of(step, actors)
        by_turn[place] = 1 / (1 + turn / 2)
        found[place] = _UNLIKELY[part] * by_turn[place]
        turn += part == "works"
    return found, by_turn
