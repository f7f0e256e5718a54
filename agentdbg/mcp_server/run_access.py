"""
The runs of one data folder as the tools read them.

Everything is read from the files and kept in memory. Caches that other readers keep are read, but nothing is written,
not even those. One question is answered at a time.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.families import parent_of, relation
from agentdbg.analysis.value_text import plain_text
from agentdbg.analysis.wording import cut, one_line
from agentdbg.exceptions import EventNotFound, RunNotFound, UnsupportedSpecVersion
from agentdbg.index.run_index import RunFilter, RunIndex
from agentdbg.server.open_runs import Views
from agentdbg.storage.dialects import is_supported_version
from agentdbg.storage.reader import find_run, program_of

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.analysis.rows import Row
    from agentdbg.events import RunMeta
    from agentdbg.server.run_view import RunView

__all__ = ["Reader", "event_line", "run_brief"]

_LONGEST_NAME = 200
_LONGEST_PART = 300


class Reader:
    """One data folder. It may be missing: then there are no runs."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.lock = threading.Lock()
        self._runs = RunIndex(data_dir, keep=False)
        self._views = Views(data_dir)

    def runs(self) -> RunIndex:
        """Every run, as it is now."""
        self._runs.refresh(thorough=False)
        return self._runs

    def run_id(self, wanted: str) -> str:
        """The id of the run meant by an id, the beginning of one, or `latest`."""
        if wanted.strip().lower() != "latest":
            return find_run(wanted, self.data_dir)
        newest = self.runs().page(RunFilter(), 1).runs
        if not newest:
            raise RunNotFound("latest", self.data_dir)
        return program_of(newest[0], self.data_dir)

    def open(self, wanted: str) -> tuple[RunMeta, RunView]:
        """A run and all its events, as they are now."""
        run_id = self.run_id(wanted)
        meta = self._runs.get(run_id)
        if not is_supported_version(meta["spec_version"]):
            raise UnsupportedSpecVersion(run_id, meta["spec_version"])
        view = self._views.get(run_id)
        view.extend(None)
        return meta, view

    def event_number(self, view: RunView, wanted: str) -> int:
        """An event's number, from `49`, `#49` or its id."""
        text = wanted.strip().removeprefix("#").lower()
        is_number = text.isascii() and text.isdigit() and len(text) < 12
        number = int(text) if is_number else view.index.number_of(text)
        if number is None or not 1 <= number <= view.index.total:
            raise EventNotFound(wanted[:100], view.run_id)
        return number


def run_brief(meta: RunMeta, headline: str | None = None, state: str | None = None) -> dict[str, Any]:
    """What a list says of a run; what is not known is left out."""
    brief: dict[str, Any] = {
        "run_id": meta["run_id"],
        "run_name": cut(meta["run_name"] or "", _LONGEST_NAME) or None,
        "status": meta["status"],
        "state": state,
        "started_at": meta["started_at"],
        "duration_ms": meta["duration_ms"],
        **meta["counts"],
        "total_tokens": meta.get("total_tokens"),
        "cost_usd": meta.get("cost_usd"),
        "status_reason": cut(meta.get("status_reason") or "", _LONGEST_PART) or None,
        "headline": cut(headline or "", _LONGEST_PART) or None,
        "parent_run_id": parent_of(meta),
        "relation": cut(relation(meta), _LONGEST_PART) or None,
    }
    return {key: value for key, value in brief.items() if value is not None}


def event_line(row: Row) -> dict[str, Any]:
    """One event in a line: who, what it was given, the outcome."""
    shown = row["preview"]
    given = plain_text(shown["input"]).strip()
    if shown["same_as"]:
        given = f"same arguments as #{shown['same_as']}"
    elif shown["rest_as"]:
        given = f"{given}, the rest as in #{shown['rest_as']}"
    line: dict[str, Any] = {
        "n": row["n"],
        "type": cut(row["event_type"], 80),
        "name": cut(row["name"], _LONGEST_NAME),
        "parent": row["parent_n"],
        "depth": row["depth"],
        "at_ms": row["start_ms"],
        "duration_ms": row["duration_ms"],
        "status": row["status"],
        "severity": row["severity"],
        "tokens": row["tokens"],
        "cost_usd": row["cost_usd"],
        "source": cut(row["source"] or "", _LONGEST_NAME) or None,
        "input": cut(given, _LONGEST_PART) or None,
        "error": one_line(shown["error"], _LONGEST_PART) if shown["error"] else None,
        "outcome": cut(plain_text(shown["outcome"]), _LONGEST_PART) or None,
    }
    return {key: value for key, value in line.items() if value is not None}
