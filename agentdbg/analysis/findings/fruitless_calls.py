"""
Calls made again and again that bring nothing: the same search in other words, or the same call for what is known.

The detector that runs beside an agent looks at a short window. Here the whole run has been read, so repeats count
wherever they stand. What brought something new is work, so is a lookup of one thing after the other, and so is trying
again after something was changed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.call_results import failure_of
from agentdbg.analysis.effects import effect_of
from agentdbg.analysis.empty_results import is_empty
from agentdbg.analysis.findings.evidence import Evidence, Finding
from agentdbg.analysis.result_signs import error_in_result
from agentdbg.analysis.run_answer import reads_something
from agentdbg.analysis.wording import as_json, code, line, quote
from agentdbg.events.facts import call_failed
from agentdbg.loops.step_contents import asks_for_another

if TYPE_CHECKING:
    from agentdbg.analysis.findings.evidence import RunEnd
    from agentdbg.analysis.wording import VerdictPart
    from agentdbg.events import Event

__all__ = ["FruitlessCalls"]

_OFTEN = 4
_ALIKE = 0.4
_MOST_TOOLS = 200
_WORD = re.compile(r"\w+")
_LOOKED_AT = 2_000
_TELLING = 80
_BARE_CODE = re.compile(r"(?:exit_?code|return_?code|exit_?status|rc) 1", re.IGNORECASE)
_PARTICULAR = re.compile(r"\d+|'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")


class _Stretch:
    """Calls of one tool in a row that brought nothing, each much like the one before."""

    def __init__(self, error: str | None) -> None:
        self.evidence = Evidence()
        self.asked = ""
        self.words: frozenset[str] = frozenset()
        self.error = error


class FruitlessCalls:
    """Follows each tool for as long as it brings nothing."""

    types = frozenset({"TOOL_CALL"})

    def __init__(self) -> None:
        self._open: dict[str, _Stretch] = {}
        self._done: list[tuple[str, _Stretch]] = []

    def observe(self, number: int, event: Event, payload: dict[str, Any]) -> None:
        name, result = event["name"], payload.get("result")
        error = failure_of(payload).text if call_failed(payload) else error_in_result(result)
        if error is not None and _BARE_CODE.fullmatch(error):
            error = None  # a search in files that finds nothing ends like this
        is_nothing = error is not None or (reads_something(name) and is_empty(result))
        if self._open and error is None and effect_of(event).kind == "write":
            for other in list(self._open):
                self._close(other)
        known = self._open.get(name)
        if not is_nothing:
            if known is not None:
                self._close(name)
            return
        asked = as_json(payload.get("args"))[:_LOOKED_AT]
        words = frozenset(_WORD.findall(asked.lower()))
        if known is not None and not _is_alike(known, asked, words, error):
            self._close(name)
            known = None
        if known is None and len(self._open) >= _MOST_TOOLS:
            return
        if known is None:
            known = self._open[name] = _Stretch(error)
        known.asked, known.words = asked, words
        known.evidence.add(number, event["event_id"])

    def _close(self, name: str) -> None:
        stretch = self._open.pop(name)
        if stretch.evidence.count >= _OFTEN:
            self._done.append((name, stretch))

    def finish(self, _end: RunEnd) -> list[Finding]:
        for name in list(self._open):
            self._close(name)
        return [_finding(name, stretch) for name, stretch in self._done]


def _is_alike(known: _Stretch, asked: str, words: frozenset[str], error: str | None) -> bool:
    if (known.error is None) != (error is None) or asks_for_another(known.asked.encode(), asked.encode()):
        return False
    if error is not None and known.error is not None and _gist(error) == _gist(known.error):
        return True
    either = len(known.words | words)
    return either == 0 or len(known.words & words) / either >= _ALIKE


def _gist(error: str) -> str:
    """What an error says, without what it was asked for: quoted words and figures."""
    return _PARTICULAR.sub("", error)[:_TELLING]


def _finding(name: str, stretch: _Stretch) -> Finding:
    count = stretch.evidence.count
    said: list[str | VerdictPart] = [code(name), f" was called {count:,} times in much the same way, and gave "]
    if stretch.error is None:
        said.append("nothing each time.")
    else:
        said += ["an error each time, first: ", quote(stretch.error)]
    figures = {"kind": "stall", "pattern": f"TOOL_CALL:{name}", "repetitions": count}
    return Finding("loop", "warning", line(stretch.evidence.numbers[0], *said), stretch.evidence, figures)
