"""What the pages show of a terminal is what a terminal shows."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from examples.fake_openai_server import Answer, FakeServer
from tests.docs.pages import ROOT, every_sample, lines_of, steady_output
from tests.interop.otel.collector import Collector
from tests.receiver.running import RunningReceiver, receiver

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
_HASH = re.compile(r"\b[0-9a-f]{32}([0-9a-f]{32})?\b")
_SIZE = re.compile(r"[\d.]+ [kM]B")
_SHARE = re.compile(r"[\d.,]+(?= ?(%|tokens))")


# Which file makes what a page shows of a terminal, all of it; the file names the page.
PRODUCED = {
    "README.md": "tests/docs/test_installed.py",
    "docs/breakpoints.md": __file__,
    "docs/cli.md": __file__,
    "docs/configuration.md": __file__,
    "docs/diff.md": "tests/analysis/checks/test_diff_docs.py",
    "docs/export.md": __file__,
    "docs/findings.md": "tests/analysis/findings/test_docs.py",
    "docs/fork.md": __file__,
    "docs/gates.md": "tests/analysis/checks/test_docs.py",
    "docs/getting-started.md": "tests/docs/test_installed.py",
    "docs/html.md": __file__,
    "docs/import.md": __file__,
    "docs/integrations/anthropic.md": "tests/integrations/test_framework_examples.py",
    "docs/integrations/crewai.md": "tests/integrations/test_framework_examples.py",
    "docs/integrations/http.md": __file__,
    "docs/integrations/langchain.md": "tests/integrations/test_framework_examples.py",
    "docs/integrations/litellm.md": "tests/integrations/test_framework_examples.py",
    "docs/integrations/openai-agents.md": "tests/integrations/test_framework_examples.py",
    "docs/integrations/openai.md": "tests/integrations/test_framework_examples.py",
    "docs/integrations/pydantic_ai.md": "tests/integrations/test_framework_examples.py",
    "docs/opentelemetry.md": __file__,
    "docs/privacy.md": __file__,
    "docs/pytest.md": "tests/analysis/checks/test_docs.py",
    "docs/receive.md": __file__,
    "docs/replay.md": __file__,
    "docs/run.md": __file__,
    "docs/sql.md": "tests/interop/exports/test_sql_page.py",
    "docs/tutorials/claude-code.md": "tests/docs/test_examples.py",
    "docs/tutorials/fix-and-test.md": "tests/docs/test_examples.py",
    "docs/tutorials/langgraph.md": "tests/integrations/test_framework_examples.py",
    "docs/tutorials/openai-agents.md": "tests/integrations/test_framework_examples.py",
}


class Shell:
    """A terminal in an empty folder, on a machine with the demo's runs."""

    def __init__(self, folder: Path, data_dir: Path) -> None:
        self.folder = folder
        bin_folder = Path(sys.executable).parent
        self.environment = {
            **os.environ,
            "HOME": str(folder),
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYTHONIOENCODING": "utf-8",
            "AGENTDBG_DATA_DIR": str(data_dir),
        }

    def type(self, line: str) -> str:
        """What the terminal shows after this line."""
        done = subprocess.run(
            ["sh", "-c", line.replace("agentdbg ", f"{sys.executable} -m agentdbg ", 1)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return done.stdout

    def answer(self, line: str, *answers: str) -> str:
        """What a person sees who types this line, and then answers each time the cursor waits behind a question."""
        pty = pytest.importorskip("pty")
        words = ["sh", "-c", line.replace("agentdbg ", f"{sys.executable} -m agentdbg ", 1)]
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe(words[0], words, {**self.environment, "NO_COLOR": "1", "COLUMNS": "100"})
        shown, waiting, seen, ends_at = b"", list(answers), 0, time.monotonic() + 60
        while time.monotonic() < ends_at:
            if select.select([terminal], [], [], 0.3)[0]:
                try:
                    piece = os.read(terminal, 65_536)
                except OSError:  # what a terminal says whose program has ended
                    break
                shown += piece
            elif waiting and shown[seen:].endswith((b": ", b") ")):
                seen = len(shown)
                os.write(terminal, waiting.pop(0).encode())
                time.sleep(0.2)  # a person looks at what they typed
                os.write(terminal, b"\r")
        os.close(terminal)
        os.waitpid(child, 0)
        # A line that is edited is drawn again from its beginning.
        lines = shown.decode().replace("\r\n", "\n").replace("\x1b[K", "").split("\n")
        return "\n".join(line.rpartition("\r")[2].rstrip() for line in lines)

    def run_named(self, name: str) -> str:
        """The id of the run of this name."""
        listed = json.loads(self.type("agentdbg list --json"))
        found: str = next(run["run_id"] for run in listed["runs"] if run["run_name"] == name)
        return found


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    Shell(folder, folder / "data").type("agentdbg demo --no-view --live-seconds 0")
    return folder / "data"


@pytest.fixture
def shell(tmp_path: Path, demo: Path) -> Shell:
    return Shell(tmp_path, demo)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


def alike(text: str) -> str:
    """What is printed, without what differs from run to run."""
    return _SHARE.sub("N", steady_output(_HASH.sub("HASH", text)))


def test_the_demo_says_what_the_page_of_commands_shows(tmp_path: Path) -> None:
    """It is the first sample on docs/cli.md; below it only commands stand, which make no output."""
    shell = Shell(tmp_path, tmp_path / "data")
    with every_sample("docs/cli.md") as was_compared:
        command, expected = next(lines_of("docs/cli.md"))
        shown = shell.type(f"{command} --live-seconds 0").replace(str(tmp_path / "data"), "~/.agentdbg")

        assert alike(shown) == alike(expected)
        was_compared(command)


@pytest.mark.parametrize("page", ["docs/export.md", "docs/html.md"])
def test_an_export_is_as_its_page_shows_it(page: str, shell: Shell) -> None:
    """Somebody decides by the page whether the format is the one they need."""
    run_id = shell.run_named("demo: book a flight")
    with every_sample(page) as was_compared:
        for command, expected in lines_of(page):
            typed = re.sub(r"~/\.agentdbg/runs/[0-9a-f-]+", f"$AGENTDBG_DATA_DIR/runs/{run_id}", command)
            shown = shell.type(typed.replace("latest", run_id))
            if command.startswith("sha256sum"):
                shown = re.sub(r"\S*/events", "events", shown)

            assert alike(shown) == alike(expected), command
            was_compared(command)


ASKS = """
import sys, httpx2
question = sys.argv[1] if len(sys.argv) > 1 else "Say hello."
body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": question}]}
answer = httpx2.post("URL/chat/completions", json=body).json()
print(answer["choices"][0]["message"]["content"])
"""


@pytest.mark.parametrize("page", ["docs/run.md", "docs/integrations/http.md"])
def test_a_program_that_knows_nothing_of_us_is_recorded_as_its_page_shows(page: str, shell: Shell) -> None:
    """It is the first thing somebody with an agent of their own tries."""
    command, expected = next(lines_of(page))
    said, _, _ = expected.partition("\n")
    with every_sample(page) as was_compared, FakeServer(lambda _: Answer(text=said)) as server:
        (shell.folder / command.split()[2]).write_text(ASKS.replace("URL", server.openai_url), encoding="utf-8")

        assert alike(shell.type(command)) == alike(expected)
        assert len(server.requests) == 1
        was_compared(command)


def test_what_a_push_says_is_on_its_page(shell: Shell, collector: Collector) -> None:
    """The dry run comes before the first real one, as on the page; then there is nothing new; then nobody listens."""
    run_id = shell.run_named("demo: book a flight")
    sent, dry, again, nobody = lines_of("docs/opentelemetry.md")
    with every_sample("docs/opentelemetry.md") as was_compared:
        for command, expected in (dry, sent, again, nobody):
            if command == nobody[0]:
                collector.close()
            typed = command.replace("9277", run_id).replace("http://localhost:4318", collector.url)
            shown = shell.type(typed).replace(collector.url, "http://localhost:4318")

            assert alike(shown) == alike(expected), command
            was_compared(command)


def test_what_a_receiver_says_is_on_its_page(tmp_path: Path) -> None:
    """Its first lines are what people copy into the other terminal; then each run says that it began and ended."""
    command, expected = next(lines_of("docs/receive.md"))

    with receiver(tmp_path / "data", "--port", "0") as running:
        port = str(running.port)
    with subprocess.Popen(
        [sys.executable, "-m", "agentdbg", "receive", "--port", port],
        env={**os.environ, "AGENTDBG_DATA_DIR": str(tmp_path / "data"), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline().replace(port, "4318") for _ in range(6)]
        token = shown[4].rpartition("=")[2].strip()
        span = {
            "traceId": "ab" * 16,
            "spanId": "cd" * 8,
            "name": "shop",
            "startTimeUnixNano": "1",
            "endTimeUnixNano": "2",
        }
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
        sender = RunningReceiver(process, int(port), f"http://127.0.0.1:{port}", token, tmp_path / "data")
        assert sender.post(body, {"content-type": "application/json"}).status == 200
        shown += [process.stdout.readline() for _ in range(2)]
        process.terminate()

    with every_sample("docs/receive.md") as was_compared:
        assert command == "agentdbg receive"
        assert alike(re.sub(r"token=\S+", "token=…", "".join(shown))) == alike(expected)
        was_compared(command)


LOOKS_UP = """
import sys
import time

from agentdbg import llm, tool


@llm(model="house-model")
def ask(question: str) -> str:
    time.sleep(1.5)
    return "It is 3 degrees in Oslo."


@tool(effect="read")
def search(query: str) -> str:
    return "3 degrees"


answer = ask(sys.argv[1])
search("weather Oslo")
print(answer)
"""


def test_a_replay_says_what_its_page_shows(shell: Shell) -> None:
    """Equal, then with another query, then writing a file, then made into a test."""
    program = shell.folder / "agent.py"
    changed = LOOKS_UP.replace("weather Oslo", "weather in Oslo")
    writing = LOOKS_UP + 'open("report.txt", "w").write(answer)\n'
    versions = iter([LOOKS_UP, LOOKS_UP, changed, writing, LOOKS_UP])
    run_id = ""
    with every_sample("docs/replay.md") as was_compared:
        for command, expected in lines_of("docs/replay.md"):
            program.write_text(next(versions), encoding="utf-8")
            shown = shell.type(command.replace("3f2a", run_id))
            run_id = run_id or shown.rpartition("agentdbg view ")[2].strip()

            assert alike(shown) == alike(expected), shown
            was_compared(command)
    assert not (shell.folder / "report.txt").exists()


def _transcripts(folder: Path) -> None:
    """Three conversations, the same with an entry that is none, a text and a table."""
    chats = [
        [{"role": "user", "content": f"Where is order {n}?"}, {"role": "assistant", "content": "It left on Monday."}]
        for n in range(6)
    ]
    entries: list[dict[str, object]] = [{"task_id": n, "traj": chat} for n, chat in enumerate(chats)]
    (folder / "airline.json").write_text(json.dumps(entries[:3]), encoding="utf-8")
    (folder / "runs.json").write_text(json.dumps([entries[3], {"task_id": 9, "error": "timeout"}, *entries[4:]]))
    (folder / "notes.txt").write_text("Remember the milk", encoding="utf-8")
    (folder / "spans.parquet").write_bytes(b"PAR1" + bytes(60) + b"PAR1")


def _sessions(folder: Path) -> None:
    """Two sessions of Claude Code, a year apart."""
    folder.mkdir(parents=True)
    session = ROOT / "tests" / "interop" / "fixtures" / "claude" / "5f2d1c0e-3b7a-4d2f-8a61-c90e17b4d3aa.jsonl"
    text = session.read_text(encoding="utf-8")
    (folder / session.name).write_text(text, encoding="utf-8")
    older = folder / "6a1e9b7c-1d53-4c8e-9f20-3b7d0c5a8e14.jsonl"
    asked = "The till rounds each line instead of the total. Please fix it."
    older.write_text(text.replace(session.stem, older.stem).replace(asked, "Move tile reading into one module"))
    os.utime(older, (1_731_800_000, 1_731_800_000))


def test_an_import_says_what_its_page_shows(tmp_path: Path) -> None:
    """What was taken, what was here already, and what was refused and why."""
    shell = Shell(tmp_path, tmp_path / "data")
    _transcripts(tmp_path)
    last = ""
    with every_sample("docs/import.md") as was_compared:
        for command, expected in lines_of("docs/import.md"):
            if "--from claude" in command:
                _sessions(tmp_path / ".claude" / "projects" / "-home-dev-till")
                assert _SIZE.sub("SIZE", alike(shell.answer(command, "1"))) == _SIZE.sub("SIZE", alike(expected))
                was_compared(command)
                continue
            if "| jq" in command:
                afresh = Shell(tmp_path, tmp_path / "elsewhere")
                told = json.loads(afresh.type(command.partition("|")[0] + " 2>/dev/null"))["imported"][0]
                assert alike(json.dumps(told, indent=2)) == alike(expected)
                was_compared(command)
                continue
            shown = shell.type(f"({last}) > /dev/null 2>&1; {command}" if command.startswith("echo") else command)
            last = command

            assert alike(shown) == alike(expected), shown
            was_compared(command)


SUPPORTS = """
from agentdbg import llm, tool, trace


@llm(model="house-model")
def ask(question: str) -> str:
    return f"I will {question}."


@tool(effect="read")
def find_order(order: str) -> dict:
    return {"total": 4000}


@trace("support")
def handle(question: str) -> str:
    ask(question)
    return ask(f"refund {find_order('A-17')['total']}")


print(handle("look A-17 up"))
"""


def test_a_fork_says_what_its_page_shows(tmp_path: Path) -> None:
    """The line that names the new run, and the family it then belongs to."""
    shell = Shell(tmp_path, tmp_path / "data")
    (tmp_path / "agent.py").write_text(SUPPORTS, encoding="utf-8")
    shell.type(f"{sys.executable} agent.py")
    run_id = shell.run_named("support")
    with every_sample("docs/fork.md", lambda command: "--trials" not in command) as was_compared:
        for command, expected in lines_of("docs/fork.md"):
            if "--trials" not in command:
                shown = shell.type(command.replace("3f2a", run_id))

                assert alike(shown) == alike(expected), shown
                was_compared(command)


DECIDES = """
from pathlib import Path

from agentdbg import llm, tool, trace


@tool(effect="read")
def find_order(order: str) -> dict:
    return {"total": 4000}


@llm(model="gpt-4o")
def decide(question: str) -> str:
    asked = Path("asked")  # a model that changes its mind
    asked.write_text((asked.read_text() if asked.exists() else "") + "x")
    return "ask for a photo" if len(asked.read_text()) == 2 else "refund"


@tool(effect="write")
def refund(order: str, amount: int) -> dict:
    return {"ok": True}


@trace("support")
def handle(order: str) -> str:
    total = find_order(order)["total"]
    answer = decide(f"{order} came broken and cost {total}.")
    if answer == "refund":
        refund(order, total)
    return answer


handle("A-17")
"""


def test_trials_say_what_their_page_shows(tmp_path: Path) -> None:
    """The table is what one decides by; a trial that did otherwise is the reason to run several."""
    shell = Shell(tmp_path, tmp_path / "data")
    (tmp_path / "agent.py").write_text(DECIDES, encoding="utf-8")
    shell.type(f"{sys.executable} agent.py")
    with every_sample("docs/fork.md", lambda command: "--trials" in command) as was_compared:
        ((command, expected),) = [line for line in lines_of("docs/fork.md") if "--trials" in line[0]]
        shown = shell.type(command.replace("3f2a", shell.run_named("support")))

        assert alike(shown) == alike(expected), shown
        was_compared(command)


IN_CLEAR = """
from agentdbg import record_tool_call, traced_run

KEY = "sk-proj-" + "Zk3vQ8xw1TnB5rYp0LdM7sHc" * 2
for number in range(2):
    with traced_run(f"nightly {number}"):
        for _ in range(3 if number else 0):
            record_tool_call("call", args={"header": f"Bearer {KEY}"}, result="ok")
        if number:
            record_tool_call("login", args={"user": "ada", "password": "hunter2-9Xq-4412"}, result="ok")
"""


REFUNDS = """from agentdbg import llm, tool


@llm(model="house-model")
def ask(question):
    return "refund"


@tool(effect="write")
def refund(order, amount):
    print("refunded", amount)
    return {"ok": True}


def handle(order):
    if ask(f"What is to be done about {order}?") == "refund":
        refund(order, 4000)


handle("A-17")
"""


def test_settings_and_their_mistakes_are_told_as_their_page_shows(tmp_path: Path) -> None:
    """Somebody looks up where a value came from, or why one was not taken."""
    shell = Shell(tmp_path, Path("/home/ada/runs"))
    (tmp_path / "agent.py").write_text("from agentdbg import traced_run\n\nwith traced_run('an agent'):\n    pass\n")
    with every_sample("docs/configuration.md") as was_compared:
        for command, expected in lines_of("docs/configuration.md"):
            if "agent.py" in command:
                shell.environment["AGENTDBG_DATA_DIR"] = str(tmp_path / "data")
            shown = shell.type(command.replace("python ", f"{sys.executable} "))

            assert sorted(alike(shown).splitlines()) == sorted(alike(expected).splitlines()), shown
            was_compared(command)


def test_an_audit_says_what_its_page_shows(tmp_path: Path) -> None:
    """What was recorded in clear is named by its beginning and its length, never whole."""
    shell = Shell(tmp_path, tmp_path / "data")
    (tmp_path / "agent.py").write_text(IN_CLEAR, encoding="utf-8")
    shell.type(f"AGENTDBG_REDACT=0 {sys.executable} agent.py 2> /dev/null")
    with every_sample("docs/privacy.md") as was_compared:
        ((command, expected),) = lines_of("docs/privacy.md")

        assert alike(shell.type(command)) == alike(expected)
        was_compared(command)


def test_a_pause_looks_as_its_page_shows_it(tmp_path: Path) -> None:
    """Somebody types after the page; what they see should be what they read."""
    shell = Shell(tmp_path, tmp_path / "data")
    (tmp_path / "agent.py").write_text(REFUNDS, encoding="utf-8")
    ((command, expected),) = lines_of("docs/breakpoints.md")
    answers = re.findall(r"^\(agentdbg\) (.+)$", expected, re.MULTILINE)
    with every_sample("docs/breakpoints.md") as was_compared:
        assert alike(shell.answer(command, *answers)) == alike(expected)
        was_compared(command)
