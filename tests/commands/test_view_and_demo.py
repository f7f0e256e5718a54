"""`agentdbg view` and `agentdbg demo`: from nothing to a page in front of one's eyes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.commands import view
from agentdbg.server import viewer_process
from agentdbg.server.lifecycle import Viewer
from tests.analysis.story import Story
from tests.commands.stored import Ran, store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


pytestmark = pytest.mark.slow


def start_view(*arguments: str) -> tuple[subprocess.Popen[str], dict[str, Any]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "view", "--no-browser", "--json", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())


def stop(process: subprocess.Popen[str]) -> int:
    process.send_signal(signal.SIGINT)
    code = process.wait(20)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    return code


def test_view_says_where_it_serves_and_serves_there(data_dir: Path) -> None:
    """One line of JSON, then a server that ends on Ctrl-C; a second view finds the first."""
    run_id = store(data_dir, Story())
    process, said = start_view("--port", "0")
    try:
        assert (said["run_id"], said["status"], said["spec_version"]) == (run_id, "serving", "0.1")
        assert said["url"].startswith("http://127.0.0.1:")
        assert f"/?run_id={run_id}&token=" in said["url"]
        base = said["url"].partition("/?")[0]
        with urllib.request.urlopen(f"{base}/api/runs", timeout=10) as answer:
            assert json.load(answer)["total"] == 1

        second, again = start_view()
        assert second.wait(20) == 0
        assert again["url"] == said["url"]
        second.communicate()
    finally:
        assert stop(process) == 0


def test_a_taken_port_is_a_clear_error(data_dir: Path, cli: Callable[..., Ran]) -> None:
    """Never a claim to serve."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = cli("view", "--no-browser", "--json", "--port", str(taken.getsockname()[1]))

    assert (ran.code, ran.out) == (10, "")
    assert "--port" in ran.err


def test_a_number_that_is_no_port_is_wrong_use(cli: Callable[..., Ran]) -> None:
    """Trying again will not help, so it is not told like a port that is taken."""
    ran = cli("view", "--no-browser", "--json", "--port", "99999")

    assert (ran.code, ran.out) == (2, "")
    assert "65535" in ran.err


def test_a_folder_without_runs_is_served_and_a_wrong_run_is_not(
    cli: Callable[..., Ran], data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The empty page says what to do; a run that was named must exist."""
    asked: list[dict[str, Any]] = []

    def serve(folder: Path, **options: Any) -> None:
        asked.append({"folder": folder, **options})
        options["on_ready"](Viewer("127.0.0.1", 8712))

    monkeypatch.setattr(viewer_process, "serve", serve)
    ran = cli("view", "--no-browser", "--json", "--allow-host", "box")
    assert ran.json == {
        "spec_version": "0.1",
        "run_id": None,
        "url": "http://127.0.0.1:8712/",
        "status": "serving",
    }
    assert (asked[0]["folder"], asked[0]["port"], asked[0]["allowed_hosts"]) == (data_dir, 8712, ("box",))
    assert "Viewer at http://127.0.0.1:8712/" in cli("view", "--no-browser").out
    assert cli("view", "ffff").code == 2
    assert len(asked) == 2


def test_no_text_browser_on_a_machine_without_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take over the terminal of whoever is logged in there."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    assert view._has_browser() is (os.name == "nt" or sys.platform == "darwin")
    monkeypatch.setenv("BROWSER", "firefox")
    assert view._has_browser() is True
    monkeypatch.setenv("SSH_CONNECTION", "1 2 3 4")
    assert view._has_browser() is False


def test_the_demo_records_five_agents_and_says_what_each_showed(cli: Callable[..., Ran], data_dir: Path) -> None:
    """The first minute with the tool: everything it can show, without a key and without a network."""
    ran = cli("demo", "--no-view", "--live-seconds", "2")

    assert ran.code == 0
    assert "✓ Finished  demo: refund an order" in ran.out
    assert "parse_invoice raised KeyError: 'Due', which ended the run." in ran.out
    assert "book failed 4 times with the same error" in ran.out
    assert "Stopped: book repeated 4 times (stop_on_loop limit: 4)." in ran.out
    assert "✓ Finished  demo: research a question" in ran.out
    assert "● Running  demo: crawl a catalogue" in ran.out
    assert "Traceback" not in ran.err
    runs = {run["run_name"]: run for run in cli("list", "--json").json["runs"]}
    assert runs["demo: research a question"]["counts"]["tool_calls"] == 3
    assert runs["demo: book a flight"]["counts"]["loop_warnings"] == 1


def test_the_running_one_ends_by_itself(data_dir: Path) -> None:
    """A demo that leaves a process behind for good would be a bad guest."""
    from agentdbg.demo.crawl import crawl
    from agentdbg.storage import list_runs

    assert crawl(0.2) == 1
    assert [run["status"] for run in list_runs()] == ["ok"]


def test_a_demo_that_could_not_record_says_so(cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    """Five verdicts of nothing would be confusing."""
    monkeypatch.setenv("AGENTDBG_ENABLED", "0")
    ran = cli("demo", "--no-view")

    assert ran.code == 2
    assert "AGENTDBG_ENABLED" in ran.err
