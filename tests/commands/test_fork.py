"""`agentdbg fork`: served up to the step, changed there, live from there; the recorded run stays as it is."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from agentdbg import llm, tool, trace

@tool(effect="read")
def search(query):
    print("search", query)
    return {"hits": [query.upper()]}

@tool(effect="write")
def refund(order, amount):
    print("refund", order, amount)
    return {"ok": True}

@llm(model="m")
def think(messages):
    print("think", messages[-1]["content"])
    return "about " + messages[-1]["content"]

@trace
def agent():
    messages = []
    for number in range(5):
        messages.append({"role": "tool", "content": str(search(f"q{number}"))})
        messages.append({"role": "assistant", "content": think(messages)})
    refund("A-17", 40)
    return think(messages)

agent()
"""
ASYNC = PROGRAM.replace("def ", "async def ").replace("str(search", "str(await search")
ASYNC = ASYNC.replace("think(messages)}", "await think(messages)}").replace("return think(", "return await think(")
ASYNC = ASYNC.replace('    refund("A-17"', '    await refund("A-17"').replace(
    "\nagent()\n", "\nimport asyncio\nasyncio.run(agent())\n"
)
SAID = """return "about " + messages[-1]["content"]"""
PIECES = """yield "about "
    yield messages[-1]["content"]"""
PROGRAMS = {
    "whole": PROGRAM,
    "streamed": PROGRAM.replace(SAID, PIECES).replace(": think(messages)", ': "".join(think(messages))'),
    "async": ASYNC,
    "async streamed": ASYNC.replace(SAID, PIECES)
    .replace("await think(messages)}", '"".join([piece async for piece in think(messages)])}')
    .replace("await think(messages)", "[piece async for piece in think(messages)]"),
}
PROGRAMS["streamed"] = PROGRAMS["streamed"].replace("return think(messages)", "return list(think(messages))")
# The steps of the agent in their order: five rounds of search and think, a refund, a last think.
STEPS = [name for _ in range(5) for name in ("search", "think")] + ["refund", "think"]


class Recorded:
    """A recorded program, and ways to fork it."""

    def __init__(self, folder: Path, program: str = PROGRAM) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        (folder / "agent.py").write_text(program)
        self._run([sys.executable, "agent.py"])
        self.run_dir = next((self.data_dir / "runs").iterdir())
        self.calls = [e for e in self.events(self.run_dir) if e["event_type"] in ("LLM_CALL", "TOOL_CALL")]

    def fork(self, *options: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return self._run([sys.executable, "-m", "agentdbg", "fork", self.run_dir.name[:8], *options], env)

    def _run(self, words: list[str], env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "AGENTDBG_DATA_DIR": str(self.data_dir), **(env or {})}
        return subprocess.run(
            words, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )

    def events(self, run_dir: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (run_dir / "events.jsonl").read_text().splitlines()]

    def newest(self) -> Path:
        return max((self.data_dir / "runs").iterdir(), key=lambda path: path.stat().st_ctime_ns)

    def digest(self) -> str:
        content = b"".join(path.read_bytes() for path in sorted(self.run_dir.rglob("*")) if path.is_file())
        return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return Recorded(tmp_path_factory.mktemp("fork"))


@pytest.fixture(scope="module", params=PROGRAMS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The agent, written with plain functions, with generators, with coroutines, with asynchronous generators."""
    return Recorded(tmp_path_factory.mktemp("fork"), PROGRAMS[request.param])


@pytest.mark.parametrize("step", range(len(STEPS)))
def test_each_step_can_be_changed(written: Recorded, step: int) -> None:
    """Live calls come only after the cut, the change reaches what follows, the parent's bytes stay."""
    recorded = written
    before = recorded.digest()
    edit = "response=EDITED" if STEPS[step] == "think" else 'result={"edited": "EDITED"}'

    done = recorded.fork("--at", recorded.calls[step]["event_id"][:12], "--set", edit, "--writes", "allow")

    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == STEPS[step + 1 :]
    assert recorded.digest() == before
    events = recorded.events(recorded.newest())
    served = [e["payload"].get("served") for e in events if e["event_type"] in ("LLM_CALL", "TOOL_CALL")]
    assert served == ["recorded"] * step + ["edited"] + [None] * (len(STEPS) - step - 1)
    if step < 9 and STEPS[step] == "search":
        assert "EDITED" in done.stdout.splitlines()[0]


def test_an_edited_input_makes_the_call(recorded: Recorded) -> None:
    """What if it had searched for something else?"""
    done = recorded.fork("--at", recorded.calls[2]["event_id"][:12], "--set", "args.query=other", "--writes", "allow")

    assert done.stdout.splitlines()[0] == "search other"
    assert "2 served, 1 changed, 0 mocked, 10 live" in done.stderr


def test_a_write_is_denied_without_a_terminal(recorded: Recorded) -> None:
    """Nothing is written that nobody agreed to, and the run says why it ended."""
    done = recorded.fork("--after", recorded.calls[0]["event_id"][:12])

    assert done.returncode == 1
    assert "refund A-17" not in done.stdout
    assert "agentdbg: not made: refund writes" in done.stderr
    assert json.loads((recorded.newest() / "run.json").read_text())["status"] == "error"


@pytest.mark.parametrize("is_caught", [True, False])
def test_a_fork_whose_write_was_refused_is_replayed_and_becomes_a_test(tmp_path: Path, is_caught: bool) -> None:
    """The program got an exception there; it gets the same again, and nothing is written."""
    refund = '    refund("A-17", 40)'
    caught = f"    try:\n    {refund}\n    except Exception as error:\n        print(error)"
    recorded = Recorded(tmp_path, PROGRAM.replace(refund, caught) if is_caught else PROGRAM)
    forked = recorded.fork("--at", recorded.calls[8]["event_id"][:12], "--set", 'result={"hits": []}')
    assert "not made: refund writes" in forked.stderr
    fork = recorded.newest().name
    served = [event["payload"].get("served") for event in recorded.events(recorded.newest())]
    assert served.count("refused") == 1

    again = recorded._run([sys.executable, "-m", "agentdbg", "replay", fork])
    made = recorded._run([sys.executable, "-m", "agentdbg", "test", fork, "--name", "refused"])

    assert (again.returncode, "equal" in again.stderr) == (0, True), again.stderr
    assert (made.returncode, "it passes" in made.stdout) == (0, True), made.stdout + made.stderr
    assert "assert_effects([])" in (tmp_path / "tests" / "test_refused.py").read_text()


@pytest.mark.parametrize("writes", [(), ("--writes", "deny"), ("--writes", "recorded")])
def test_a_write_with_other_arguments_is_a_write(recorded: Recorded, writes: tuple[str, ...]) -> None:
    """The step at the cut is made anew with what it is given, so it needs the same leave as those after it."""
    done = recorded.fork("--at", recorded.calls[10]["event_id"][:12], "--set", "args.amount=4000", *writes)

    assert done.returncode == 1
    assert "refund" not in done.stdout
    assert "agentdbg: not made: refund writes" in done.stderr
    assert ("not on the tape" in done.stderr) == ("recorded" in writes)


QUERIES = """
from agentdbg import tool, trace

@tool
def run_sql(sql):
    print("run_sql", sql)

@tool
def delete_user(name):
    print("delete_user", name)

@tool(effect="read")
def look_up(name):
    print("look_up", name)

@trace
def agent():
    for call, given in [(run_sql, "SELECT 1"), (run_sql, "SELECT 2"), (delete_user, "ann"), (look_up, "ann")]:
        try:
            call(given)
        except Exception as error:
            print(type(error).__name__)

agent()
"""


def test_what_is_changed_in_all_calls_is_judged_as_it_would_be_made(tmp_path: Path) -> None:
    """A query that only read may delete with what it is given now; calls without such an argument stay as they are."""
    recorded = Recorded(tmp_path, QUERIES)
    done = recorded.fork("--at", recorded.calls[0]["event_id"][:12], "--set-all", "args.sql=DELETE FROM users")

    assert done.stdout.splitlines() == [*["AgentDbgForkRefused"] * 3, "look_up ann"]
    assert "agentdbg: look_up is not changed by --set-all: there is no argument 'sql'" in done.stderr
    assert "could not" not in done.stderr


@pytest.mark.parametrize(
    ("limit", "at"), [("MAX_LLM_CALLS", 0), ("MAX_LLM_CALLS", 5), ("MAX_TOOL_CALLS", 4), ("MAX_EVENTS", 4)]
)
def test_limits_count_what_a_fork_makes(recorded: Recorded, limit: str, at: int) -> None:
    """What is served was paid for long ago: a limit of two leaves two calls behind the cut, wherever that is."""
    cut = recorded.calls[at]["event_id"][:12]
    forked = recorded.fork("--after", cut, "--writes", "allow", env={f"AGENTDBG_{limit}": "2"})

    made = [line.split()[0] for line in forked.stdout.splitlines()]
    counted = [name for name in made if limit == "MAX_EVENTS" or (name == "think") == (limit == "MAX_LLM_CALLS")]
    left = STEPS[at + 1 :]
    expected = [name for name in left if limit == "MAX_EVENTS" or (name == "think") == (limit == "MAX_LLM_CALLS")]
    assert counted == expected[:2]
    assert f"{limit.lower()} exceeded" in (recorded.newest() / "events.jsonl").read_text()


def test_a_run_that_a_limit_stopped_goes_on_in_a_fork(tmp_path: Path) -> None:
    """It has all of the limit before it again; the same run replayed is stopped where it was."""
    stopped = Recorded(tmp_path, PROGRAM.replace("@trace\n", "@trace(max_llm_calls=4)\n"))
    cut = stopped.calls[6]["event_id"][:12]

    forked = stopped.fork("--after", cut, "--writes", "allow")

    assert [line.split()[0] for line in forked.stdout.splitlines()] == STEPS[7:12]
    assert json.loads((stopped.newest() / "run.json").read_text())["counts"]["llm_calls"] == 6


def test_a_recorded_write_can_be_served(recorded: Recorded) -> None:
    """The same call is on the tape, so its result is known."""
    done = recorded.fork("--after", recorded.calls[0]["event_id"][:12], "--writes", "recorded")

    assert done.returncode == 0, done.stderr
    assert "refund A-17" not in done.stdout


def test_a_fork_names_its_parent_and_can_be_forked(recorded: Recorded) -> None:
    """A family is found again from its files."""
    recorded.fork("--at", recorded.calls[0]["event_id"][:12], "--set", "result=1", "--writes", "allow")
    child = recorded.newest()
    replay = json.loads((child / "run.json").read_text())["replay"]
    assert replay["mode"] == "fork"
    assert replay["parent_run_id"] == replay["root_run_id"] == recorded.run_dir.name
    assert replay["edits"] == [{"path": "result", "op": "set", "value": 1}]

    call = next(e for e in recorded.events(child) if e["event_type"] == "LLM_CALL")
    words = [sys.executable, "-m", "agentdbg", "fork", child.name[:8], "--at", call["event_id"][:12]]
    done = recorded._run([*words, "--set", "response=again", "--writes", "allow"])

    assert done.returncode == 0, done.stderr
    grandchild = json.loads((recorded.newest() / "run.json").read_text())["replay"]
    assert (grandchild["parent_run_id"], grandchild["root_run_id"]) == (child.name, recorded.run_dir.name)


def test_mocks_hold_in_a_fork(recorded: Recorded) -> None:
    """A mock is asked before the write policy: nothing is made for it."""
    done = recorded.fork("--after", recorded.calls[1]["event_id"][:12], "--mock", 'refund={"ok": false}')

    assert done.returncode == 0, done.stderr
    assert "refund A-17" not in done.stdout


def test_what_is_mocked_is_served_until_the_cut(recorded: Recorded) -> None:
    """The steps before it are those of the recording; a mock that nothing was made for is said."""
    at = recorded.calls[4]["event_id"][:12]

    done = recorded.fork("--at", at, "--mock", 'search={"hits": []}', "--fault", "refnud=500", "--writes", "allow")

    assert done.returncode == 0, done.stderr
    served = [e["payload"].get("served") for e in recorded.events(recorded.newest()) if e["event_type"] == "TOOL_CALL"]
    assert served == ["recorded", "recorded", "mock", "mock", "mock", None]
    assert "agentdbg: refnud=500 was not used: no call of refnud was to be made\n" in done.stderr
    assert "search={" not in done.stderr


def test_trials_are_counted(recorded: Recorded) -> None:
    """The table agrees with the runs; --expect decides the exit code."""
    at = ("--at", recorded.calls[9]["event_id"][:12], "--set", "response=x", "--writes", "allow", "--trials", "2")

    done = recorded.fork(*at, "--expect", "effects")

    assert done.returncode == 0, done.stderr
    assert '2 of 2: refund({"amount": 40, "order": "A-17"}) (as recorded)' in done.stdout
    other = recorded.fork(*at, "--expect", "answer")
    assert other.returncode == 1
    assert "--expect answer is not met: 2 of 2 trials differ in it" in other.stderr


FLAKY = """
import os, random
from agentdbg import llm, tool, trace

@tool(effect="read")
def get_order(order):
    return {"total": 4000}

@tool(effect="write")
def refund(order, amount):
    with open("refunds.txt", "a") as file:
        file.write(f"{amount}\\n")
    return {"ok": True}

@llm(model="m")
def think(prompt):
    return "refund" if random.random() < 0.5 else "ask"

@trace(name="flaky")
def agent():
    order = get_order("A-17")
    return refund("A-17", order["total"]) if think(str(order)) == "refund" else "a photo, please"

agent()
"""


def test_trials_of_a_flaky_agent_are_what_happened(tmp_path: Path) -> None:
    """The table is counted against what the agent wrote; every trial forks the same run, whatever is the latest."""
    (tmp_path / "agent.py").write_text(FLAKY)
    env = {**os.environ, "AGENTDBG_DATA_DIR": str(tmp_path / "data")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "agentdbg", *words]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    parent = run("run", "agent.py").stderr.rpartition("recorded run ")[2].split()[0]
    (tmp_path / "refunds.txt").unlink(missing_ok=True)

    done = run("fork", "latest", "--at", "3", "--set", "result.total=40", "--writes=allow", "--trials=5", "--jobs=2")

    written = (tmp_path / "refunds.txt").read_text().split() if (tmp_path / "refunds.txt").exists() else []
    rows = [line for line in done.stdout.splitlines() if " 1 + " in line]
    assert len(rows) == 5
    assert sum("refund({" in row for row in rows) == len(written)
    assert set(written) <= {"40"}
    assert all(re.search(r"1 \+ [12]\s*$", row) for row in rows)
    assert all("→" in row or "refund" in row or "the same" in row for row in rows)

    tree = run("list", "--tree").stdout.splitlines()[1:]
    assert tree[0].startswith(parent)
    assert ["└ fork at #3, result.total=40" in row for row in tree] == [False] + [True] * 5
    assert run("delete", parent, "--yes").returncode == 0
    shown = run("show", tree[1].split()[0])
    assert shown.returncode == 0, shown.stderr
    assert f"Fork of {parent} at #3" in shown.stdout
    assert "which is not here" in run("list", "--tree").stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--at", "999", "--set", "result=1"), "has no call at '999'"),
        (("--at", "CALL", "--set", "result.nope.deep=1"), "no 'nope' to go into"),
        (("--at", "CALL", "--set", "result={"), "begins like JSON"),
        (("--at", "CALL", "--set", "response=1"), "set with result="),
        (("--at", "CALL", "--set", "args.qurey=1"), "no argument 'qurey'; there are: query"),
        (("--at", "00000000-0000-4000-8000-000000000000", "--set", "result=1"), "has no call at"),
        (("--at", "CALL", "--set", "result=@nowhere.json"), "cannot be read"),
        (("--at", "CALL", "--set", "result"), "takes PATH=VALUE"),
        (("--at", "CALL", "--set", "args=1"), "one of them is args.query"),
        (("--at", "CALL", "--set", "result=1", "--report", "nowhere/r.json"), "there is no folder"),
        (("--at", "CALL", "--set", "result=1", "--report", "."), "that is a folder"),
        (("--at", "CALL", "--set", "result=1", "--mock", "search#0=1"), "counted from #1"),
        (("--at", "CALL", "--set", "result=1", "--allow", "all"), "--allow 'all' does not fit"),
        (("--at", "CALL", "--set", "result[=1"), "is not a path"),
        (("--at", "CALL"), "what is to be changed?"),
        (("--set", "result=1"), "which step?"),
        (("--at", "CALL", "--set", "result=1", "--writes", "maybe"), "--writes is 'maybe'"),
        (("--at", "CALL", "--set", "result=1", "--secret", "x"), "--secret x"),
        (("--at", "CALL", "--set", "result=1", "--trials", "0"), "--trials is '0'"),
        (("--at", "CALL", "--set", "result=1", "--expect", "effects"), "--expect is about trials"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_runs(
    recorded: Recorded, options: tuple[str, ...], sentence: str
) -> None:
    """One clear message, exit 2, nothing run."""
    runs = len(list((recorded.data_dir / "runs").iterdir()))

    done = recorded.fork(*(word.replace("CALL", recorded.calls[0]["event_id"][:12]) for word in options))

    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert len(list((recorded.data_dir / "runs").iterdir())) == runs


OBJECTS = """
from dataclasses import dataclass
from decimal import Decimal
from agentdbg import tool, trace

@dataclass
class Hit:
    sku: str
    price: Decimal

@tool
def find(query):
    return [Hit(query, Decimal("1.50")), Hit("other", Decimal(2))]

@tool(effect="read")
def total(hits):
    return hits[0].price * 2

@trace
def agent():
    print(total(find("cup")))

agent()
"""


def test_a_field_of_an_object_is_changed(tmp_path: Path) -> None:
    """The program's classes are its own: nothing of them is known before it runs, but for what was recorded."""
    recorded = Recorded(tmp_path, OBJECTS)
    find, total = (call["event_id"] for call in recorded.calls)

    given = recorded.fork("--at", find, "--set", "result[0].price=9.75")
    asked = recorded.fork("--at", total, "--set", "args.hits[0].price=4")
    wrong = recorded.fork("--at", find, "--set", "result[0].cost=9")
    wrong_input = recorded.fork("--at", total, "--set", "args.hits[0].cost.net=9")

    assert (given.stdout, given.returncode) == ("19.50\n", 0), given.stderr
    assert (asked.stdout, asked.returncode) == ("8\n", 0), asked.stderr
    assert wrong.returncode == wrong_input.returncode == 2
    assert "there is no 'cost'" in wrong.stderr + wrong_input.stderr
    assert "sku, price" in wrong_input.stderr


NO_FORM = """
import threading
from agentdbg import tool, trace

class Refused(Exception):
    def __init__(self, order, *, why):
        super().__init__(order)
        self.why = why

class Session:
    def __init__(self):
        self.lock = threading.Lock()

@tool(effect="read")
def check(order):
    raise Refused(order, why="too late")

@tool(effect="read")
def login():
    return Session()

@tool(effect="read")
def lines():
    yield Session()

@trace
def agent():
    for step in (lambda: check("A-17"), login, lambda: list(lines())):
        try:
            print(step())
        except Exception as error:
            print(type(error).__name__)

agent()
"""


@pytest.mark.parametrize("step", range(3))
def test_what_is_replaced_as_a_whole_need_not_be_rebuilt(tmp_path: Path, step: int) -> None:
    """What a failed tool raised, or a value without a form on the tape, is what one wants to replace."""
    recorded = Recorded(tmp_path, NO_FORM)
    call = recorded.calls[step]["event_id"]

    given = recorded.fork("--at", call, "--set", 'result="fine"')
    raised = recorded.fork("--at", call, "--set", "error=KeyError: gone")
    part = recorded.fork("--at", call, "--set", "result.total=3")

    assert given.stdout.splitlines()[step] == ("['fine']" if step == 2 else "fine"), given.stderr
    assert raised.stdout.splitlines()[step] == "KeyError", raised.stderr
    assert part.returncode == 2, part.stdout


WRITING = """
from agentdbg import tool, trace

@tool(effect="read")
def search(query):
    return query.upper()

@trace
def agent():
    print(search("one"))
    with open("notes.txt", "a") as notes:
        notes.write("note ")
    print(search("two"))

agent()
"""


def test_what_happens_between_calls_before_the_step_is_let_through_or_told(tmp_path: Path) -> None:
    """Until the step the machine is closed, so a program that opens its database first needs a way through."""
    recorded = Recorded(tmp_path, WRITING)
    notes, last = tmp_path / "notes.txt", recorded.calls[1]["event_id"]
    notes.write_text("")

    closed = recorded.fork("--at", last, "--set", 'result="changed"')
    assert "the step was not reached: the program would write the file notes.txt before it" in closed.stderr
    assert notes.read_text() == ""
    rule = closed.stderr.partition("--allow ")[2].split()[0]

    opened = recorded.fork("--at", last, "--set", 'result="changed"', "--allow", rule)
    assert (opened.returncode, opened.stdout) == (0, "ONE\nchanged\n"), opened.stderr
    assert notes.read_text() == "note "

    (tmp_path / ".agentdbg").mkdir()
    (tmp_path / ".agentdbg" / "replay.yaml").write_text('allow: ["write:notes.txt"]\n')
    by_file = recorded.fork("--at", last, "--set", 'result="changed"')
    assert (by_file.returncode, by_file.stdout) == (0, "ONE\nchanged\n"), by_file.stderr


def test_a_step_that_a_changed_program_does_not_come_to_is_told(tmp_path: Path) -> None:
    """Nothing was changed then, and the figures alone would not say why."""
    recorded = Recorded(tmp_path, PROGRAM)
    last = recorded.calls[-1]["event_id"]
    (tmp_path / "agent.py").write_text(PROGRAM.replace("range(5)", "range(0)").replace("refund(", "len(", 2))

    done = recorded.fork("--at", last, "--set", 'response="changed"')

    assert "the step was not reached: the program " in done.stderr
