"""
The pieces verdicts are written with: plain words, names of the program in code, errors quoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from agentdbg.analysis.wording import cut, duration, money, one_line, tokens

if TYPE_CHECKING:
    from agentdbg.analysis.loop_cost import LoopCost
    from agentdbg.analysis.stats import FailedCalls

__all__ = ["Line", "VerdictPart", "code", "cost_of", "line", "quote", "text_of", "times"]


class VerdictPart(TypedDict):
    """A stretch of a sentence and how it is set."""

    text: str
    style: Literal["plain", "code", "quote"]


class Line(TypedDict):
    """One sentence, and the event it speaks of."""

    n: int | None
    parts: list[VerdictPart]


def code(name: Any) -> VerdictPart:
    """A name the user's program uses."""
    return {"text": one_line(str(name), 120), "style": "code"}


def quote(error: str) -> VerdictPart:
    """Somebody else's words."""
    return {"text": cut(error, 300), "style": "quote"}


def line(number: int | None, *pieces: str | VerdictPart) -> Line:
    """A sentence from plain words and styled parts; neighbouring words become one part."""
    parts: list[VerdictPart] = []
    for piece in pieces:
        if not isinstance(piece, str):
            parts.append(piece)
        elif piece and parts and parts[-1]["style"] == "plain":
            parts[-1]["text"] += piece
        elif piece:
            parts.append({"text": piece, "style": "plain"})
    return {"n": number, "parts": parts}


def text_of(sentence: Line) -> str:
    """The sentence as plain text."""
    return "".join(piece["text"] for piece in sentence["parts"])


def times(group: FailedCalls, unopened: int) -> str:
    """`failed`, `failed twice`, `failed 5 times`; `over` when not every failure was looked at."""
    count = len(group.numbers)
    if count == 1 and not unopened:
        return "failed"
    if count == 2 and not unopened:
        return "failed twice"
    return f"failed {'over ' if unopened else ''}{count:,} times"


def cost_of(loop: LoopCost, run_ms: int | None) -> str:
    """`16 calls, 68k tokens, $0.21 and 22.5 s, 29 % of the run`."""
    said = [f"{loop.calls:,} calls"] if loop.calls else []
    if loop.tokens:
        said.append(f"{tokens(loop.tokens)} tokens")
    if loop.cost_usd:
        said.append(money(loop.cost_usd))
    said.append(duration(loop.milliseconds))
    joined = f"{', '.join(said[:-1])} and {said[-1]}" if len(said) > 1 else said[0]
    share = round(100 * loop.milliseconds / run_ms) if run_ms else 0
    return f"{joined}, {share} % of the run" if 1 <= share <= 100 else joined
