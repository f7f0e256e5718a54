"""
The pytest plugin of AgentDbg: the fixture `agentdbg_run`, the markers `agentdbg` and `agentdbg_replay`.

It stands outside the package and imports nothing of it until a test asks for its run, so that it costs the tests of
other projects nothing. What it does is in `agentdbg.pytest_plugin`.
"""

from __future__ import annotations

import functools
import inspect
import re
import zlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.pytest_plugin.expectations import Accepted
    from agentdbg.pytest_plugin.recorded_test import RecordedTest
    from agentdbg.pytest_plugin.tested_run import RecordedRun

_FIXTURE = "agentdbg_run"
_REPLAY = "agentdbg_replay"
_COLLECTED = "agentdbg_baselines"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentdbg", "recorded agents (agentdbg)")
    group.addoption(
        "--agentdbg-update",
        action="store_true",
        help="accept the runs of the tests that pass as their new baselines",
    )
    group.addoption(
        "--agentdbg-record",
        choices=("none", "once", "all"),
        default="none",
        help="tests marked with agentdbg_replay: never record (none, the default), record what has no recording "
        "yet (once), or record all of them again (all)",
    )
    group.addoption(
        "--agentdbg-dir",
        metavar="DIR",
        help="keep recorded runs in DIR, a folder for each test, rather than in pytest's temporary folder",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "agentdbg(baseline=None, policy=None, **rules): record the test and check its run, "
        "for example @pytest.mark.agentdbg(baseline='refund.json', max_tokens=5000)",
    )
    config.addinivalue_line(
        "markers",
        "agentdbg_replay(file): answer the calls of the test from a recording, "
        "for example @pytest.mark.agentdbg_replay('agentdbg/refund.jsonl')",
    )
    # A worker of xdist sends what it collects to the process that started it, which writes all of it.
    if config.getoption("agentdbg_update") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_BaselineWriter(), "agentdbg-baselines")


def pytest_itemcollected(item: pytest.Item) -> None:
    """A test with the marker is recorded, whether or not it takes the run as an argument."""
    names: list[str] | None = getattr(item, "fixturenames", None)
    is_marked = any(item.get_closest_marker(marker) is not None for marker in ("agentdbg", _REPLAY))
    if names is not None and _FIXTURE not in names and is_marked:
        names.append(_FIXTURE)


_RECORDED = pytest.StashKey["RecordedTest"]()


@pytest.fixture
def agentdbg_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordedRun]:
    """The run of this test: what the agent in it does is recorded, and can be asked for and asserted on."""
    item: pytest.Item = request.node
    chosen = item.config.getoption("agentdbg_dir")
    if chosen:
        data_dir = item.config.invocation_params.dir / chosen / _folder_name(item.nodeid)
    else:
        data_dir = tmp_path_factory.mktemp("agentdbg")
    from agentdbg.pytest_plugin.recorded_test import recorded_test  # noqa: PLC0415 -- the first test that asks

    recorded = recorded_test(item, data_dir, tmp_path_factory.getbasetemp())
    item.stash[_RECORDED] = recorded
    handle = getattr(getattr(item, "obj", None), "hypothesis", None)
    if handle is None or recorded.replayed is not None:
        yield recorded.run
    else:
        inner, handle.inner_test = handle.inner_test, _each_example(handle.inner_test, recorded)
        yield recorded.run
        handle.inner_test = inner
    recorded.recording.close()


def _each_example(inner: Any, recorded: RecordedTest) -> Any:
    """The test that hypothesis calls for each example, with a run and its checks for each of them."""

    def example(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        recorded.next_example()
        result = inner(*args, **kwargs)
        recorded.check()
        return result

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        recorded.next_example()
        result = await inner(*args, **kwargs)
        recorded.check()
        return result

    return functools.wraps(inner)(awaited if inspect.iscoroutinefunction(inner) else example)


def _folder_name(node_id: str) -> str:
    """A test's name as a folder's; what had to be left out of it is told apart by a number."""
    name = re.sub(r"[^\w.-]+", "-", node_id).strip("-")
    is_plain = re.fullmatch(r"[\w./:-]{1,80}", node_id, re.ASCII)
    return name if is_plain else f"{name[:70]}-{zlib.crc32(node_id.encode()):08x}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """When the test's own code has run: end the run, and make the checks its markers ask for."""
    before = item.stash.get(_RECORDED, None)
    if before is not None and before.replayed is not None:
        before.replayed.begin()
    outcome: Any = yield
    recorded = item.stash.get(_RECORDED, None)
    if recorded is None:
        return
    error = outcome.excinfo[1] if outcome.excinfo else None
    replayed = recorded.replayed
    different = None if replayed is None else replayed.judge(error)
    if replayed is not None and different is not None:
        if isinstance(error, Exception) and not replayed.is_stopped:  # why calls are missing: it is to be seen whole
            item.add_report_section("call", "agentdbg replay", different)
        else:
            recorded.end(None)
            outcome.force_exception(pytest.fail.Exception(different, pytrace=False))
            return
    instead = None if error is None else recorded.recording.public_form(error)
    recorded.end(instead or error)
    if instead is not None:
        outcome.force_exception(instead)
    if error is not None:
        return
    try:
        recorded.conclude()
    except BaseException as failure:  # noqa: BLE001 -- becomes the outcome of the test
        outcome.force_exception(failure)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """When all fixtures are gone: `monkeypatch` may have put back the data folder that it found, which was ours."""
    yield
    recorded = item.stash.get(_RECORDED, None)
    if recorded is not None:
        recorded.recording.restore_environment()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Say in the report of a failed test where its run is; send on the baselines of one that passed."""
    outcome: Any = yield
    recorded = item.stash.get(_RECORDED, None)
    if recorded is None or call.when == "teardown":
        return
    report = outcome.get_result()
    if report.failed:
        if call.excinfo is not None:  # of a fixture that runs the agent: nothing has ended its run yet
            recorded.end(call.excinfo.value)
        section = recorded.section()
        if section:
            report.sections.append(("agentdbg", section))
    elif report.passed and call.when == "call" and recorded.expectations.collected:
        setattr(report, _COLLECTED, recorded.expectations.as_texts())


class _BaselineWriter:
    """Collects what the tests accept as their baselines, and writes it when all have run."""

    def __init__(self) -> None:
        self._collected: list[tuple[str, str, bool]] = []
        self._accepted: list[Accepted] = []
        self._problem = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._collected += getattr(report, _COLLECTED, ())

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._collected:
            from agentdbg.pytest_plugin.expectations import write_collected  # noqa: PLC0415 -- as above

            self._problem = write_collected(self._collected, self._accepted)
            if self._problem:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        terminalreporter.section("agentdbg baselines")
        for path, runs, is_written in self._accepted:
            shown = path.relative_to(config.rootpath) if path.is_relative_to(config.rootpath) else path
            made = f"from {runs} run{'' if runs == 1 else 's'}"
            terminalreporter.line(f"wrote {shown}, {made}" if is_written else f"kept {shown}, which says the same")
        if self._problem:
            terminalreporter.line(self._problem, red=True)
        elif not self._accepted:
            terminalreporter.line("no test that passed uses a baseline; nothing was written")
