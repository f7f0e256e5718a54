"""A test that is recorded: its recording, its run, what it expects of it, and the checks that its markers ask for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from agentdbg.analysis.wording import count_noun, money, tokens
from agentdbg.commands.terminal import clean
from agentdbg.exceptions import UsageError
from agentdbg.pytest_plugin.expectations import Expectations
from agentdbg.pytest_plugin.recording import Recording
from agentdbg.pytest_plugin.replayed_test import RecordedAnew, ReplayedTest, recording_of
from agentdbg.pytest_plugin.tested_run import RecordedRun

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["REPLAY_MARKER", "RecordedTest", "recorded_test"]

REPLAY_MARKER = "agentdbg_replay"
_JUDGEMENTS = (AssertionError, pytest.fail.Exception, pytest.skip.Exception, pytest.xfail.Exception)

_FINDINGS_SHOWN = 5

_Result = TypeVar("_Result")


def recorded_test(item: pytest.Item, data_dir: Path, temporary: Path) -> RecordedTest:
    """Begin to record a test; one that cannot be recorded fails with a sentence."""
    return _failing_kindly(lambda: RecordedTest(item, data_dir, temporary))


class RecordedTest:
    """A test that is recorded."""

    def __init__(self, item: pytest.Item, data_dir: Path, temporary: Path) -> None:
        self._item = item
        update = bool(item.config.getoption("agentdbg_update"))
        self.expectations = Expectations(item.path.parent, item.config.rootpath, update=update)
        self.replayed = _replayed(item, data_dir, temporary)
        self.recording: Recording = self.replayed or Recording(item.nodeid, data_dir)
        self.run = RecordedRun(self.recording, self.expectations)
        self._has_example = False

    def next_example(self) -> None:
        """Begin a run of its own for an example of hypothesis; the first has the run that is open already."""
        if self._has_example:
            self.recording.close()
            earlier = {*self.recording.earlier, self.recording.run_id}
            self.recording = Recording(self._item.nodeid, self.recording.data_dir, frozenset(earlier))
            self.run.begin_anew(self.recording)
        self._has_example = True

    def end(self, error: BaseException | None) -> None:
        """End the run. An assertion, a skip and the like are what a test says of it, and no failure of the agent."""
        self.recording.close(None if isinstance(error, _JUDGEMENTS) else error)

    def check(self) -> None:
        """Make the checks of all markers, the closest over the others."""
        __tracebackhide__ = True
        given: dict[str, Any] = {}
        markers = list(self._item.iter_markers("agentdbg"))
        for marker in reversed(markers):
            if marker.args:
                raise AssertionError(f"@pytest.mark.agentdbg takes rules by name, and was given {marker.args[0]!r}")
            given.update(marker.kwargs)
        if markers:
            self.expectations.check_marked(self.run, given)

    def conclude(self) -> None:
        """The test passed: make its checks, and keep it where it is recorded anew."""
        self._warn_of_other_runs()  # which raises where warnings are errors
        _failing_kindly(self.check)
        if self.replayed is not None:
            self.replayed.keep()

    def section(self) -> str:
        """What the report of this test says when it fails; empty when it has made no run."""
        return _failure_section(self.run) if self.run.run_id else ""  # a replayed one may fail before it makes one

    def _warn_of_other_runs(self) -> None:
        """What a test does in a second run is checked by nobody, and must not seem to be."""
        others = self.run.passed_over
        if others:
            names = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
            self._item.warn(
                pytest.PytestWarning(
                    f"agentdbg looks at one run of this test, and calls were recorded in others too ({names}): a "
                    "traced function with limits of its own, and a process of its own, make a run of their own"
                )
            )


def _replayed(item: pytest.Item, data_dir: Path, temporary: Path) -> ReplayedTest | RecordedAnew | None:
    """What answers the calls of a test that is marked so; None for any other."""
    marker = item.get_closest_marker(REPLAY_MARKER)
    if marker is None:
        return None
    if len(marker.args) != 1 or marker.kwargs:
        raise AssertionError("@pytest.mark.agentdbg_replay takes the file of a recording, and nothing else")
    mode = item.config.getoption("agentdbg_record")
    return recording_of(item.nodeid, data_dir, item.path.parent / marker.args[0], mode, temporary=temporary)


def _failing_kindly(action: Callable[[], _Result]) -> _Result:
    """Do it; what is wrong with the run or with what was asked fails the test with a sentence, not with a stack."""
    try:
        return action()
    except (AssertionError, UsageError) as error:
        reason = str(error)
    pytest.fail(reason, pytrace=False)


def _failure_section(run: RecordedRun) -> str:
    """A few lines for the report of a test that failed."""
    facts = run.facts()
    totals = facts.totals
    said = [
        count_noun(int(totals.get(name) or 0), noun)
        for name, noun in (("llm_calls", "model call"), ("tool_calls", "tool call"), ("errors", "error"))
    ]
    if totals.get("total_tokens"):
        said.append(f"{tokens(totals['total_tokens'] or 0)} tokens")
    if totals.get("cost_usd"):
        said.append(money(totals["cost_usd"] or 0))
    lines = [f"run {facts.run_id[:8]}: {', '.join(said)}", f"folder: {run.path}"]
    worse = [finding for finding in facts.findings if finding.severity != "info"]
    for finding in worse[:_FINDINGS_SHOWN]:
        where = "" if finding.number is None else f"#{finding.number} "
        lines.append(f"{finding.severity}: {where}{clean(finding.sentence)}")
    lines.append(f"look at it: AGENTDBG_DATA_DIR={shlex.quote(str(run.data_dir))} agentdbg view")
    return "\n".join(lines)
