"""Sessions of coding agents for `agentdbg import`: finding and picking them, and following one that goes on."""

from __future__ import annotations

import contextlib
import sys
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.wording import count_noun, size_words, timestamp_ms
from agentdbg.commands.terminal import Column, Styled, Terminal, clean
from agentdbg.commands.times import since
from agentdbg.control.own_command import start_own_command
from agentdbg.exceptions import UsageError
from agentdbg.interop.agent_homes import AGENTS, FoundSession, find_sessions, first_request, places_of
from agentdbg.interop.drafts import RunDraft
from agentdbg.interop.importers import find_importer
from agentdbg.interop.imports import Importing
from agentdbg.interop.live_session import LiveSession
from agentdbg.interop.sources import NotReadable, Source

if TYPE_CHECKING:
    from pathlib import Path

    from agentdbg.config import Config

__all__ = ["follow_session", "wanted_sessions"]

_OFFERED = 20
_POLL_S = 0.5


def wanted_sessions(
    out: Terminal, agent: str | None, latest: bool, everything: bool, since_when: str | None, has_files: bool
) -> list[Path]:
    """The sessions that were asked for, by an option or by a person who picks."""
    if agent is None:
        if not has_files:
            raise UsageError(f"say what to import: a file, or --from with one of {', '.join(AGENTS)}")
        if everything or since_when:
            raise UsageError("--all and --since choose among the sessions that --from finds; add --from")
        return []
    if agent not in AGENTS:
        raise UsageError(f"--from knows {', '.join(AGENTS)}; {agent!r} is none of them. Give its files instead")
    found = find_sessions(agent)
    if not found:
        places = " and ".join(str(place) for place in places_of(agent))
        raise UsageError(f"no sessions of {agent} in {places}; if they lie elsewhere, give the files or their folder")
    if since_when:
        oldest = (timestamp_ms(since(since_when)) or 0) / 1000
        found = [session for session in found if session.changed_s >= oldest]
        if not found:
            raise UsageError(f"no session of {agent} has changed since {since_when}")
        everything = not latest
    if latest:
        return [found[0].path]
    if everything:
        return [session.path for session in found]
    return [session.path for session in _picked(out, agent, found)]


def _picked(out: Terminal, agent: str, found: list[FoundSession]) -> list[FoundSession]:
    """What the person at the terminal chooses."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            f"{agent} has {count_noun(len(found), 'session')}; not a terminal, so pass --latest, --all or --since"
        )
    columns = [Column("", right=True), Column("changed"), Column("size", right=True), Column("request", least=20)]
    rows = [
        (str(number), _when(session.changed_s), size_words(session.bytes), first_request(session) or session.path.name)
        for number, session in enumerate(found[:_OFFERED], 1)
    ]
    out.table(columns, rows)
    if len(found) > _OFFERED:
        out.line(Styled(f"… and {len(found) - _OFFERED:,} older ones; --all or --since imports them", "muted"))
    out.flush()
    while True:
        sys.stderr.write("Which? A number, several (1 3 5-7), all, or nothing to leave: ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
        try:
            return _chosen(answer, found)
        except ValueError as error:
            sys.stderr.write(f"{clean(str(error))}\n")


def _chosen(answer: str, found: list[FoundSession]) -> list[FoundSession]:
    """The sessions that an answer names; ValueError says what is wrong with it."""
    words = answer.replace(",", " ").split()
    if words == ["all"]:
        return found
    numbers: list[int] = []
    for word in words:
        first, dash, last = word.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"{word!r} is not a number")
        numbers += range(int(first), int(last or first) + 1) if int(last or first) <= len(found) else [len(found) + 1]
    if any(not 1 <= number <= len(found) for number in numbers):
        raise ValueError(f"choose from 1 to {len(found)}")
    return [found[number - 1] for number in dict.fromkeys(numbers)]


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")


def follow_session(out: Terminal, config: Config, sources: list[Source], format_name: str) -> None:
    """Open one session in the page, add what comes, and write it whole when the user stops."""
    if len(sources) != 1:
        raise UsageError(f"--follow takes one session, and these are {len(sources)}; add --latest, or name one file")
    (source,) = sources
    draft, origin = _draft_of(source, format_name)
    live = LiveSession(draft, config, origin, source.changed_ms)
    live.grow(draft)
    out.sentence(Styled(source.path.name, "strong"), f"  {live.run_id[:8]}  {draft.name}")
    out.sentence("Following; Ctrl-C stops.")
    out.flush()
    viewer = start_own_command(["view", live.run_id])
    try:
        with contextlib.suppress(KeyboardInterrupt):
            _watch(source, format_name, live)
    finally:
        live.let_go()
        viewer.terminate()
        viewer.wait(timeout=10)
    for outcome in Importing(config).take(Source(source.path), format_name)[1]:
        if outcome.run is not None:
            out.sentence(f"Stopped; {count_noun(outcome.run.events, 'event')} in run {outcome.run.run_id[:8]}.")


def _watch(source: Source, format_name: str, live: LiveSession) -> None:
    """Add to the run whenever the log has changed; ends with Ctrl-C."""
    known = source.path.stat()
    while True:
        time.sleep(_POLL_S)
        with contextlib.suppress(OSError, NotReadable):  # it may be replaced this very moment
            now = source.path.stat()
            if (now.st_size, now.st_mtime_ns) != (known.st_size, known.st_mtime_ns):
                known = now
                live.grow(_draft_of(Source(source.path), format_name)[0])
        live.rest()


def _draft_of(source: Source, format_name: str) -> tuple[RunDraft, dict[str, Any]]:
    """The one run that a log tells of so far."""
    name, importer = find_importer(source, format_name)
    drafts = [found for found in importer.read(source) if isinstance(found, RunDraft)]
    if len(drafts) != 1:
        raise UsageError(f"{source.shown} holds {count_noun(len(drafts), 'run')}; --follow takes a log of one session")
    return drafts[0], {"format": name, "file": source.path.name}
