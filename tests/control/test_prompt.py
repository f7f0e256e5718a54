"""The prompt at a breakpoint, typed by a person at a real terminal."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")

PROGRAM = """
import agentdbg, sys

@agentdbg.tool
def refund(order, amount):
    print("refunding", order, amount, flush=True)
    return {"ok": True}

@agentdbg.tool
def note(text):
    return refund("inner", 1) if text == "deep" else text

def work():
    answers = []
    for call in (lambda: refund("A-17", 4000), lambda: note("deep"), lambda: note("last")):
        try:
            answers.append(call())
        except TimeoutError as error:
            answers.append(f"TimeoutError: {error}")
    print("answers", answers, flush=True)

work()
"""


class Session:
    """A program at a terminal: what it printed, and the lines typed whenever it asks."""

    def __init__(self, folder: Path, data_dir: Path, *options: str, env: dict[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "agent.py").write_text(PROGRAM)
        self._words = [sys.executable, "-m", "agentdbg", "run", *options, "agent.py"]
        if options[:1] == ("replay",):
            self._words = [sys.executable, "-m", "agentdbg", *options]
        self._env = {**os.environ, "AGENTDBG_DATA_DIR": str(data_dir), "TERM": "xterm", **(env or {})}
        self._folder = folder

    def type(self, *lines: str) -> tuple[str, int]:
        """Type each line when it is asked for; `self.echoes` says afterwards whether the terminal still shows keys."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self._folder)
            os.execve(self._words[0], self._words, self._env)
        printed, waiting, answered = b"", list(lines), 0
        ends_at = time.monotonic() + 30
        while time.monotonic() < ends_at:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    piece = os.read(terminal, 65_536)
                except OSError:
                    break
                if not piece:
                    break
                printed += piece
            elif waiting and printed[answered:].rstrip().endswith((b"(agentdbg)", b"(Pdb)")):
                answered = len(printed)
                os.write(terminal, waiting.pop(0).encode())
        _, status = os.waitpid(child, 0)
        self.echoes = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
        os.close(terminal)
        return printed.decode("utf-8", "replace").replace("\r", ""), os.waitstatus_to_exitcode(status)


@pytest.fixture
def session(tmp_path: Path, data_dir: Path) -> Session:
    return Session(tmp_path, data_dir, "--break", "tool:refund where args.amount>100")


def test_help_print_edit_and_go_on(session: Session) -> None:
    """The first thing everybody does."""
    printed, code = session.type(
        "help\r", "p args.amount\r", "e args.amount=40\r", "e args.amount={\r", "w\r", "l\r", "nonsense\r", "c\r"
    )

    assert "⏸ before tool refund" in printed
    assert "Enter c  continue" in printed
    assert "\n4000\n" in printed
    assert "agent.py:15 in <lambda>" in printed
    assert "that is not JSON" in printed
    assert "There is no command 'nonsense'" in printed
    assert "refunding A-17 40\n" in printed
    assert code == 0


def test_skip_raise_and_mock_make_no_call(tmp_path: Path, data_dir: Path) -> None:
    """Three ways to answer in a call's place."""
    session = Session(tmp_path, data_dir, "--break", "tool:refund", "--break", "tool:note")

    printed, _ = session.type('raise TimeoutError "slow"\r', 'skip {"skipped": 1}\r', 'mock "m"\r')

    assert "answers ['TimeoutError: slow', {'skipped': 1}, 'm']" in printed
    assert "refunding" not in printed


def test_next_into_and_out(tmp_path: Path, data_dir: Path) -> None:
    """Stepping stops where a debugger would."""
    session = Session(tmp_path, data_dir, "--break", "call:1")

    printed, _ = session.type("n\r", "s\r", "o\r", "c\r")

    stops = [line.split("   ")[0] for line in printed.splitlines() if line.startswith("⏸")]
    assert stops == ["⏸ before tool refund", "⏸ before tool note", "⏸ before tool refund", "⏸ before tool note"]


def test_breakpoints_are_added_and_deleted(session: Session) -> None:
    """While one looks, one finds the next place."""
    printed, _ = session.type("b tool:note\r", "d 1\r", "d 7\r", "b nowhere\r", "c\r", "c\r", "c\r")

    assert "  2  tool:note" in printed
    assert "delete needs the number of a breakpoint" in printed
    assert "'nowhere' is no place to break at" in printed
    assert printed.count("⏸ before tool note") == 2


CROWD = """
import agentdbg, asyncio, threading

@agentdbg.tool
def ring(n):
    return n

@agentdbg.tool
async def aring(n):
    return n

async def tasks():
    await asyncio.gather(*(aring(n) for n in range(8)))

@agentdbg.trace(name="crowd")
def work():
    threads = [threading.Thread(target=ring, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    print("all through", flush=True)

work()
"""


def test_who_waits_to_be_asked_goes_on_when_the_breakpoint_is_deleted(tmp_path: Path, data_dir: Path) -> None:
    """Sixteen wait at two breakpoints, one is asked about; the others have nothing to wait for once both are gone."""
    session = Session(tmp_path, data_dir, "--break", "tool:ring", "--break", "tool:aring")
    (tmp_path / "agent.py").write_text(CROWD)

    printed, code = session.type("d 1\r", "d 1\r", "c\r")

    assert printed.count("⏸") == 1
    assert "all through" in printed
    assert code == 0


def test_the_editor_changes_the_arguments(session: Session, tmp_path: Path) -> None:
    """`$EDITOR` gets JSON and gives JSON back."""
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys, json\np = sys.argv[1]\nd = json.load(open(p))\nd['amount'] = 7\njson.dump(d, open(p, 'w'))\n"
    )
    session._env["EDITOR"] = f"{sys.executable} {editor}"

    printed, _ = session.type("e\r", "c\r")

    assert "refunding A-17 7\n" in printed


def test_history_and_completion(session: Session) -> None:
    """Arrow up brings the last line back; Tab completes commands and paths."""
    printed, _ = session.type("p args.am\t\r", "\x1b[A\r", "con\t\r")

    assert printed.count("\n4000\n") == 2
    assert "refunding A-17 4000" in printed


def test_pdb_stands_in_the_callers_frame(session: Session) -> None:
    """The program's own variables are what one wants to see."""
    printed, _ = session.type("pdb\r", "up\r", "p len(answers)\r", "q\r", "c\r")

    assert "agent.py(15)<lambda>" in printed
    assert "\n0\n" in printed


def test_quit_and_ctrl_c_end_the_program(session: Session, tmp_path: Path, data_dir: Path) -> None:
    """As Ctrl-C does: the exit code says so, and nothing is refunded."""
    printed, code = session.type("q\r")
    assert "refunding" not in printed
    assert code in {1, 130, -2}

    printed, code = Session(tmp_path, data_dir, "--break", "tool:refund").type("\x03")
    assert "refunding" not in printed
    assert code in {1, 130, -2}


ASYNC = """
import agentdbg, asyncio

@agentdbg.tool
async def refund(order, amount):
    print("refunding", order, amount, flush=True)
    return {"ok": True}

async def caller(order):
    reason = f"asked for {order}"
    return await refund(order, 4000)

async def work():
    for order in ("A-17", "B-18"):
        try:
            await asyncio.wait_for(caller(order), 3)
        except asyncio.TimeoutError:
            print("timed out", flush=True)

asyncio.run(work())
"""


def test_a_task_is_seen_from_within_and_a_pause_that_is_over_leaves_the_terminal(
    tmp_path: Path, data_dir: Path
) -> None:
    """A paused task is on no stack; when it is cancelled meanwhile, the next one gets the prompt."""
    session = Session(tmp_path, data_dir, "--break", "tool:refund")
    (tmp_path / "agent.py").write_text(ASYNC)

    printed, code = session.type("w\r", "pdb\r", "p reason\r", "up\r", "q\r", "c\r")

    assert "  1  agent.py:11 in caller" in printed
    assert "asyncio/" not in printed
    assert "'asked for A-17'" in printed
    assert printed.count("⏸") == 2
    assert code == 0

    printed, code = session.type("w\r", "p not typed to its end")
    assert printed.count("timed out") == 2
    assert printed.count("This waits no longer.") == 2
    assert code == 0


def test_ctrl_c_at_a_task_gives_the_terminal_back(tmp_path: Path, data_dir: Path) -> None:
    """A shell in which one does not see what one types is what a debugger must not leave behind."""
    session = Session(tmp_path, data_dir, "--break", "tool:refund")
    (tmp_path / "agent.py").write_text(ASYNC)

    printed, code = session.type("\x03")

    assert "refunding" not in printed
    assert code in {1, 130, -2}
    assert session.echoes


def test_a_job_in_the_background_asks_nothing(tmp_path: Path, data_dir: Path) -> None:
    """The shell would stop it as soon as it touches the terminal, and it would hang until somebody sees that."""
    session = Session(tmp_path, data_dir, "--break", "tool:refund")
    words = " ".join(f"'{word}'" for word in session._words)
    session._words = ["/bin/bash", "-c", f"set -m; {words} & wait"]

    printed, _ = session.type()

    assert "nobody can answer" in printed
    assert "refunding A-17 4000" in printed


POOL = """
import agentdbg
from concurrent.futures import ThreadPoolExecutor

@agentdbg.tool
def ring(n):
    print("bong", flush=True)
    return n

@agentdbg.tool
def pieces(n):
    yield from range(n)

@agentdbg.trace(name="pool")
def work():
    agentdbg.breakpoint("look", order="A-17")
    list(pieces(2))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ring, range(8)))

work()
"""


@pytest.mark.parametrize("end", ["q\r", "\x03"])
def test_the_end_at_one_thread_is_the_end_of_all(tmp_path: Path, data_dir: Path, end: str) -> None:
    """The pool waits for its other threads, and each of them would ask once more."""
    session = Session(tmp_path, data_dir, "--break", "tool:ring")
    (tmp_path / "agent.py").write_text(POOL)

    printed, code = session.type("c\r", end)

    assert printed.count("⏸ before tool ring") in (1, 2)  # a second may have begun to ask at that very moment
    assert "bong\n" not in printed
    assert code in {1, 130, -2}
    assert session.echoes


def test_what_nobody_can_change_says_why(tmp_path: Path, data_dir: Path) -> None:
    """A change that is taken and does nothing would be worse than none; a path may begin at what is shown."""
    session = Session(tmp_path, data_dir, "--break", "tool:pieces", "--break", "tool:pieces:after")
    (tmp_path / "agent.py").write_text(POOL)

    printed, code = session.type("p order\r", "e order=1\r", "c\r", "e n=3\r", "c\r", "p\r", "skip []\r", "c\r")

    assert '"A-17"\n' in printed
    assert "only be looked at here: no call waits" in printed
    assert '"result": [\n    0,\n    1,\n    2\n  ]' in printed
    assert "only be looked at here: the program has it already" in printed
    assert code == 0


def test_the_programs_stdout_is_its_own(tmp_path: Path, data_dir: Path) -> None:
    """A program whose output is piped elsewhere gets nothing of ours into it."""
    Session(tmp_path, data_dir)
    words = f"{sys.executable} -m agentdbg run --break tool:refund agent.py > out.txt"
    session = Session(tmp_path, data_dir)
    session._words = ["/bin/sh", "-c", words]

    session.type("c\r", "c\r")

    assert (tmp_path / "out.txt").read_text().splitlines()[0] == "refunding A-17 4000"
    assert "⏸" not in (tmp_path / "out.txt").read_text()


def test_another_terminal_answers_and_the_first_is_told(tmp_path: Path, data_dir: Path) -> None:
    """The program waits in one window, the person sits at another."""
    program = Session(tmp_path, data_dir, "--break", "tool:refund where args.amount>100", "--wait", "30")
    program._words = ["/bin/sh", "-c", " ".join(f"'{word}'" for word in program._words) + " < /dev/null"]
    other = Session(tmp_path, data_dir)
    other._words = ["/bin/sh", "-c", f"sleep 2; {sys.executable} -m agentdbg attach"]

    with ThreadPoolExecutor() as pool:
        running = pool.submit(program.type)
        attached, _ = other.type("e args.amount=40\r", "c\r")
        printed, code = running.result()

    assert "⏸ before tool refund" in attached
    assert "The run has ended." in attached
    assert "refunding A-17 40\n" in printed
    assert code == 0


def test_what_attach_raises_is_what_was_typed(tmp_path: Path, data_dir: Path) -> None:
    """A KeyError says its text in quotes, which must not be quoted once more on the way."""
    program = Session(tmp_path, data_dir, "--break", "tool:refund where args.amount>100", "--wait", "30")
    (tmp_path / "agent.py").write_text(PROGRAM.replace("TimeoutError", "KeyError"))
    program._words = ["/bin/sh", "-c", " ".join(f"'{word}'" for word in program._words) + " < /dev/null"]
    other = Session(tmp_path / "data", data_dir)
    other._words = ["/bin/sh", "-c", f"sleep 2; {sys.executable} -m agentdbg attach"]

    with ThreadPoolExecutor() as pool:
        running = pool.submit(program.type)
        attached, _ = other.type("pdb\r", 'raise KeyError "A-17"\r')
        printed, _ = running.result()

    assert "at its own terminal" in attached
    assert """answers ["KeyError: 'A-17'\"""" in printed


WALK = """
import agentdbg

@agentdbg.tool
def refund(order):
    return {"ok": True}

@agentdbg.llm(model="m")
def think(messages):
    return "about " + messages[-1]["content"]

@agentdbg.trace(name="walk")
def work():
    for n in range(3):
        print("round", n, flush=True)
        think([{"role": "user", "content": f"q{n}"}])
        agentdbg.record_state({"round": n})
        refund(f"A-{n}")

work()
"""


def test_back_from_a_breakpoint_in_the_code_leads_to_the_calls_before_it(tmp_path: Path, data_dir: Path) -> None:
    """It is no call itself; there were six before it."""
    session = Session(tmp_path, data_dir, "replay", "latest", "--break", "call:0")
    (tmp_path / "agent.py").write_text(WALK.replace("\nwork()", '    agentdbg.breakpoint("end")\n\nwork()'))
    subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=session._env, check=True, capture_output=True)

    printed, code = session.type("back 9\r", "back 2\r", "c\r", "c\r")

    assert "only 6 calls are before this place" in printed
    assert "⏸ before llm m   call 5" in printed
    assert code == 0


def test_a_recording_is_walked_forwards_and_back(tmp_path: Path, data_dir: Path) -> None:
    """Each call with the state and the messages of its moment; going back shows nothing twice and keeps one run."""
    session = Session(tmp_path, data_dir, "replay", "latest", "--break", "every")
    (tmp_path / "agent.py").write_text(WALK)
    subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=session._env, check=True, capture_output=True)

    printed, code = session.type("n\r", "n\r", "n\r", "messages\r", "back 2\r", "back 9\r", "d 1\r", "c\r")

    stops = [line.split("call ")[1].split()[0] for line in printed.splitlines() if line.startswith("⏸")]
    assert stops == ["1", "2", "3", "4", "2"]
    assert 'state: {"round": 1}' in printed
    assert printed.count('state: {"round": 0}') == 3
    assert '"content": "about q1"' in printed
    assert "only 1 call is before this place" in printed
    assert [printed.count(f"round {n}\n") for n in range(3)] == [1, 2, 1]  # round 1 comes after call 2
    assert "6 of 6 calls served, 0 live" in printed
    assert code == 0
    assert len(list((data_dir / "runs").iterdir())) == 2


THREADS = """
import agentdbg, threading

@agentdbg.tool
def ping(n):
    open("ran.txt", "a").write("x")
    return n

@agentdbg.tool
def step(n):
    return n

@agentdbg.trace(name="threads")
def work():
    def pings():
        for n in range(2000):
            ping(n)
    thread = threading.Thread(target=pings)
    thread.start()
    for n in range(3):
        step(n)
    thread.join()

work()
"""


def test_going_back_lets_nothing_happen_live(tmp_path: Path, data_dir: Path) -> None:
    """Other threads go on until the program begins again, and are served; nothing that is thrown away stays."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    options = ("replay", "latest", "--no-record", "--break", "tool:step")
    session = Session(tmp_path, data_dir, *options, env={"TMPDIR": str(temporary)})
    (tmp_path / "agent.py").write_text(THREADS)
    subprocess.run([sys.executable, "agent.py"], cwd=tmp_path, env=session._env, check=True, capture_output=True)
    ran = (tmp_path / "ran.txt").read_text()

    printed, code = session.type("c\r", "back\r", "d 1\r", "c\r")

    assert "back to call" in printed
    assert "2003 of 2003 calls served, 0 live" in printed
    assert code == 0
    assert (tmp_path / "ran.txt").read_text() == ran
    assert not list(temporary.iterdir())
    assert len(list((data_dir / "runs").iterdir())) == 1


MEMORY = """
import agentdbg

@agentdbg.tool
def refund(order):
    raise KeyError(order)

@agentdbg.llm(model="m")
def think(messages):
    return "answered " + messages[-1]["content"]

messages = [{"role": "user", "content": "asked"}]
messages.append({"role": "assistant", "content": think(messages)})
try:
    refund("A-17")
except KeyError:
    print("failed", flush=True)
"""


def test_what_a_model_was_given_is_shown_as_it_was_then(tmp_path: Path, data_dir: Path) -> None:
    """A program adds to the one list that is its memory; what it adds later was not given."""
    session = Session(tmp_path, data_dir, "--break", "tool:refund", "--break", "tool:refund:after")
    (tmp_path / "agent.py").write_text(MEMORY)

    printed, code = session.type("messages\r", "c\r", "c\r")

    assert "  messages: 2, the last one" in printed
    assert printed.count('"answered asked"') == 3  # at both pauses, and in the whole conversation
    assert "  raised KeyError: 'A-17'\n  messages: 2" in printed
    assert "failed\n" in printed
    assert code == 0


def test_back_is_refused_where_something_is_live(session: Session) -> None:
    """A refund that was made cannot be taken back."""
    printed, _ = session.type("back\r", "state\r", "messages\r", "c\r")

    assert "back works in `agentdbg replay`" in printed
    assert "no state was recorded yet" in printed
    assert "no model was asked yet" in printed
