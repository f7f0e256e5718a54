"""What `agentdbg run` and AGENTDBG_AUTO=1 record of a program that says nothing itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import agentdbg
from tests.autorun.conftest import without_our_line

if TYPE_CHECKING:
    from tests.autorun.conftest import Programs
    from tests.conftest import Recorded, RecordedRun

pytestmark = pytest.mark.slow

ENDINGS: dict[str, tuple[str, str, str | None]] = {
    "its end": ("pass", "ok", None),
    "exit 0": ("import sys; sys.exit(0)", "ok", None),
    "exit 3": ("import sys; sys.exit(3)", "error", "SystemExit"),
    "a raised SystemExit": ("raise SystemExit(1)", "error", "SystemExit"),
    "a text": ("import sys; sys.exit('no key')", "error", "SystemExit"),
    "an exception": ("{}['city']", "error", "KeyError"),
    "Ctrl-C": ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
    "a syntax error": ("def", "error", "SyntaxError"),
}
RECORDING = """
    import agentdbg
    with agentdbg.tool_call("search", {"q": "Paris"}) as call:
        call.result = ["sunny"]
    agentdbg.record_llm_call("gpt-4o", "hello", "hi")
"""


@pytest.mark.parametrize("ending", list(ENDINGS))
@pytest.mark.slow
def test_the_run_ends_as_the_program_ends(programs: Programs, recorded: Recorded, ending: str) -> None:
    """The list of runs tells at a glance which program failed, and of what."""
    source, status, error_type = ENDINGS[ending]
    programs.write("agent.py", source)
    programs.recorded("agent.py")

    run = recorded.only()
    end = run.one("RUN_END")["payload"]
    assert run.meta["status"] == end["status"] == status
    assert [event["payload"]["error_type"] for event in run.of_type("ERROR")] == ([error_type] if error_type else [])
    assert (end.get("error") or {}).get("error_type") == error_type
    assert end.get("exit_code", "unknown") == 0 or status == "error"


@pytest.mark.slow
def test_an_installed_script_is_called_by_its_name(programs: Programs, recorded: Recorded, tmp_path: Path) -> None:
    """Where an installer put it tells nothing about the run; a script of one's own is shown with its folder."""
    for name in ("serve", "serve.py"):
        script = tmp_path / "bin" / name
        script.parent.mkdir(exist_ok=True)
        script.write_text("print(1)")
        programs.recorded(str(script))

    names = {run.meta["run_name"].partition(" - ")[0] for run in recorded.all()}
    assert names == {"serve", f"{tmp_path}/bin/serve.py"}


@pytest.mark.slow
def test_the_stack_of_a_failure_shows_the_program_alone(programs: Programs, recorded: Recorded) -> None:
    """Frames of the recorder are noise for whoever looks for the fault."""
    programs.write("agent.py", "def work():\n    raise ValueError('x')\nwork()")
    programs.recorded("agent.py")

    stack = recorded.only().one("ERROR")["payload"]["stack"]
    assert stack.count("File ") == 2
    assert "agentdbg" not in stack.replace(str(programs.folder), "")


def test_one_line_says_where_to_look(programs: Programs, recorded: Recorded) -> None:
    """Whoever just ran the agent wants to see it, not to look for it."""
    programs.write("agent.py", RECORDING)
    stderr = programs.recorded("agent.py").stderr.decode()
    short_id = recorded.only().meta["run_id"][:8]

    assert stderr == f"agentdbg: recorded run {short_id} (ok, 4 events); open it with: agentdbg view {short_id}\n"


def test_the_line_at_the_end_names_the_run_that_holds_the_calls(programs: Programs, recorded: Recorded) -> None:
    """A trace with limits of its own is a run of its own; the one around it is empty and shows nobody anything."""
    programs.write(
        "limited.py",
        """
        import agentdbg

        @agentdbg.trace(max_llm_calls=5)
        def agent():
            agentdbg.record_llm_call("gpt-4o", prompt="hi", response="hello")

        agent()
        """,
    )
    stderr = programs.recorded("limited.py").stderr.decode()

    inner = next(run for run in recorded.all() if run.meta["counts"]["llm_calls"])
    assert f"recorded run {inner.meta['run_id'][:8]} (ok, 3 events)" in stderr


@pytest.mark.slow
def test_the_verbs_of_the_program_record_into_the_run_of_the_process(programs: Programs, recorded: Recorded) -> None:
    """A program may be written for AgentDbg and be run this way: it is one run, its traces are spans."""
    programs.write(
        "agent.py", RECORDING + "    @agentdbg.trace\n    def agent(): agentdbg.record_state({'a': 1})\n    agent()"
    )
    assert programs.recorded("agent.py").returncode == 0

    run = recorded.only()
    assert run.types() == ["RUN_START", "TOOL_CALL", "LLM_CALL", "STATE_UPDATE", "STATE_UPDATE", "RUN_END"]
    assert run.events[-2]["meta"] == {"span": "agent"}


@pytest.mark.slow
def test_threads_and_exit_handlers_still_record(programs: Programs, recorded: Recorded) -> None:
    """The run is closed last, after everything of the program."""
    programs.write(
        "agent.py",
        """
        import agentdbg, atexit, threading, time
        atexit.register(lambda: agentdbg.record_tool_call("cleanup"))
        threading.Thread(target=lambda: (time.sleep(0.1), agentdbg.record_tool_call("late"))).start()
        """,
    )
    programs.recorded("agent.py")

    assert [event["name"] for event in recorded.only().of_type("TOOL_CALL")] == ["late", "cleanup"]
    assert recorded.only().types()[-1] == "RUN_END"


@pytest.mark.slow
def test_the_name_is_the_one_given_or_that_of_the_program(programs: Programs, recorded: Recorded) -> None:
    """A person recognises a run by its name."""
    programs.write("agent.py", "")
    programs.write("package/__main__.py", "")
    programs.recorded("agent.py")
    programs.recorded("-m", "package")
    programs.recorded("--name", "nightly", "agent.py")
    programs.recorded("--name=other", "agent.py")

    names = [run.meta["run_name"] for run in recorded.all()]
    assert re.fullmatch(r"agent\.py - \d{4}-\d\d-\d\d \d\d:\d\d", names[0])
    assert names[1].startswith("package - ")
    assert names[2:] == ["nightly", "other"]


def test_limits_stop_the_program(programs: Programs, recorded: Recorded) -> None:
    """A limit on the command line guards an agent nobody may change."""
    programs.write(
        "agent.py",
        """
        import agentdbg
        for number in range(10):
            with agentdbg.llm_call("gpt-4o", str(number)):
                print(number, flush=True)
        """,
    )
    result = programs.recorded("--max-llm-calls", "2", "--stop-on-loop", "agent.py")

    assert result.stdout == b"0\n1\n"
    assert result.returncode == 1
    assert b"AgentDbgGuardrailExceeded: max_llm_calls exceeded" in result.stderr
    run = recorded.only()
    assert run.meta["counts"]["llm_calls"] == 2
    assert run.meta["guardrails"]["max_llm_calls"] == 2
    assert run.meta["guardrails"]["stop_on_loop"] is True
    assert run.one("ERROR")["payload"]["guardrail"] == "max_llm_calls"


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    [
        "import time\nwhile True: time.sleep(0.01)",
        "import asyncio\nasync def main():\n    while True: await asyncio.sleep(0.01)\nasyncio.run(main())",
    ],
    ids=["plain", "asyncio"],
)
def test_a_program_that_is_out_of_time_is_stopped(programs: Programs, recorded: Recorded, source: str) -> None:
    """An agent that hangs records nothing, and must be stopped all the same."""
    programs.write("agent.py", source)
    result = programs.recorded("--max-duration-s", "0.3", "agent.py")

    assert result.returncode == 1
    assert recorded.only().one("ERROR")["payload"]["guardrail"] == "max_duration_s"


@pytest.mark.slow
def test_a_swallowed_stop_still_ends_the_program_with_the_public_exception(
    programs: Programs, recorded: Recorded
) -> None:
    """An agent that catches everything cannot run on past its limit, and the user reads a name they know."""
    programs.write(
        "agent.py",
        """
        import agentdbg
        while True:
            try:
                with agentdbg.llm_call("gpt-4o", "x"):
                    pass
            except Exception:
                pass
        """,
    )
    result = programs.recorded("--max-llm-calls", "1", "agent.py")

    assert result.returncode == 1
    assert b"AgentDbgGuardrailExceeded" in result.stderr
    assert b"RunStopped" not in result.stderr
    assert recorded.only().meta["status"] == "error"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["nowhere.py"],
        ["-m"],
        ["--name"],
        ["--max-llm-calls", "many", "agent.py"],
        ["--max-llm-calls"],
        ["--unknown", "agent.py"],
        ["-x", "agent.py"],
    ],
)
@pytest.mark.slow
def test_wrong_use_is_one_sentence_and_exit_2(programs: Programs, recorded: Recorded, words: list[str]) -> None:
    """A typing mistake gets an answer, not a traceback and not a run."""
    programs.write("agent.py", "print('ran')")
    result = programs.recorded(*words)

    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.startswith(b"agentdbg: ")
    assert result.stderr.count(b"\n") == 1
    assert recorded.all() == []


@pytest.mark.slow
def test_a_limit_in_the_program_beats_the_same_one_on_the_command_line(programs: Programs, recorded: Recorded) -> None:
    """Arguments beat the environment, limit by limit; the help and docs/guardrails.md say so."""
    programs.write(
        "agent.py",
        """
        import agentdbg

        @agentdbg.trace(max_llm_calls=2)
        def agent():
            for number in range(9):
                agentdbg.record_llm_call("m", response=str(number), usage={"total_tokens": 10})

        agent()
        """,
    )
    programs.recorded("--max-llm-calls", "0", "agent.py")
    programs.recorded("--max-llm-calls", "0", "--max-tokens", "15", "agent.py")

    stopped = [run for run in recorded.all() if run.of_type("ERROR") and run.of_type("LLM_CALL")]
    assert [run.of_type("ERROR")[0]["payload"]["guardrail"] for run in stopped] == ["max_llm_calls", "max_tokens"]
    assert [run.of_type("ERROR")[0]["payload"]["threshold"] for run in stopped] == [2, 15]


@pytest.mark.slow
def test_help_names_every_limit(programs: Programs) -> None:
    """The options are found where people look for them."""
    result = programs.recorded("--help")

    assert result.returncode == 0
    for option in ("--name", "--stop-on-loop", "--max-llm-calls", "--max-cost-usd", "--max-duration-s", "-m MODULE"):
        assert option in result.stdout.decode()


@pytest.mark.slow
def test_switched_off_the_program_runs_unrecorded(programs: Programs, recorded: Recorded) -> None:
    """AGENTDBG_ENABLED=0 turns all of it off, and it is said."""
    programs.write("agent.py", "import os\nprint('ran', 'AGENTDBG_AUTO' in os.environ)\nraise SystemExit(3)")
    result = programs.recorded("agent.py", environment={"AGENTDBG_ENABLED": "0"})

    assert (result.stdout, result.returncode) == (b"ran False\n", 3)
    assert b"recording is off" in result.stderr
    assert recorded.all() == []


@pytest.mark.slow
def test_a_data_folder_that_cannot_be_made_does_not_stop_the_program(programs: Programs, tmp_path: Path) -> None:
    """The recorder's trouble is not the program's."""
    programs.write("agent.py", "print('ran')\nraise SystemExit(3)")
    (tmp_path / "file").write_text("")
    result = programs.recorded("agent.py", environment={"AGENTDBG_DATA_DIR": str(tmp_path / "file" / "data")})

    assert (result.stdout, result.returncode) == (b"ran\n", 3)
    assert b"agentdbg: " in result.stderr


CHILDREN: dict[str, str] = {
    "script": "subprocess.run([sys.executable, 'child.py'])",
    "command": "subprocess.run([sys.executable, '-c', 'import child'])",
    "module": "subprocess.run([sys.executable, '-m', 'child'])",
    "copied environment": "subprocess.run([sys.executable, 'child.py'], env=dict(os.environ))",
    "shell": "os.system(f'{sys.executable} child.py')",
    "spawn": "multiprocessing.get_context('spawn').Process(target=child.work).start()",
}


@pytest.mark.parametrize("way", list(CHILDREN))
@pytest.mark.slow
def test_a_python_child_is_a_run_linked_to_its_parent(programs: Programs, recorded: Recorded, way: str) -> None:
    """Agents start other agents; who looks at one finds the others."""
    programs.write("child.py", "import agentdbg\ndef work(): agentdbg.record_tool_call('in_child')\nwork()")
    programs.write(
        "agent.py",
        "import multiprocessing, os, subprocess, sys\n"
        f"if __name__ == '__main__':\n    import child\n    {CHILDREN[way]}\n",
    )
    result = programs.recorded("agent.py")

    parent, child = _family(recorded.all())
    assert result.returncode == 0
    assert child.meta["metadata"] == {"parent_run_id": parent.meta["run_id"]}
    assert child.meta["status"] == "ok"
    assert {event["name"] for event in child.of_type("TOOL_CALL")} == {"in_child"}
    assert result.stderr.count(b"agentdbg: recorded run") == 1


def test_a_child_that_never_heard_of_agentdbg_is_recorded(programs: Programs, recorded: Recorded) -> None:
    """Zero code means zero code in the children too; how they failed is part of the story."""
    programs.write(
        "agent.py", "import subprocess, sys\nfor n in (1, 2): subprocess.run([sys.executable, f'child{n}.py'])"
    )
    programs.write("child1.py", "import sys\nprint(sys.path[0])\nsys.exit(3)")
    programs.write("child2.py", "1 / 0")
    plain, result = programs.plain("agent.py"), programs.recorded("agent.py")

    assert result.stdout == plain.stdout
    assert without_our_line(result.stderr) == plain.stderr
    errors = {run.one("ERROR")["payload"]["error_type"] for run in recorded.all() if run.of_type("ERROR")}
    assert errors == {"SystemExit", "ZeroDivisionError"}


@pytest.mark.slow
def test_an_exit_that_the_child_catches_is_no_failure(programs: Programs, recorded: Recorded) -> None:
    """`sys.exit` inside a `try` ends nothing."""
    programs.write("agent.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])")
    programs.write("child.py", "import sys\ntry:\n    sys.exit(3)\nexcept SystemExit:\n    pass")
    programs.recorded("agent.py")

    assert [run.meta["status"] for run in recorded.all()] == ["ok", "ok"]


@pytest.mark.slow
def test_grandchildren_are_linked_to_their_own_parent(programs: Programs, recorded: Recorded) -> None:
    """The tree of processes is a tree of runs."""
    programs.write(
        "agent.py", "import subprocess, sys\nif len(sys.argv) < 4: subprocess.run([sys.executable, *sys.argv, 'x'])"
    )
    programs.recorded("agent.py", "x")

    runs = recorded.all()
    parents = [run.meta["metadata"].get("parent_run_id") for run in runs]
    ids = [run.meta["run_id"] for run in runs]
    assert len(runs) == 3
    assert set(parents) == {None, *ids} - {ids[_depth(runs).index(2)]}


@pytest.mark.slow
def test_helpers_that_nobody_asked_for_are_no_runs(programs: Programs, recorded: Recorded) -> None:
    """Python starts a resource tracker of its own, and the program may call our commands: neither is an agent."""
    programs.write(
        "agent.py",
        """
        import subprocess, sys
        from multiprocessing import resource_tracker
        resource_tracker.ensure_running()
        subprocess.run([sys.executable, "-m", "agentdbg", "--version"], stdout=subprocess.DEVNULL)
        """,
    )
    programs.recorded("agent.py")

    assert len(recorded.all()) == 1


@pytest.mark.slow
def test_the_environments_own_sitecustomize_still_runs(programs: Programs) -> None:
    """We use that hook to reach children; whoever used it before us keeps it."""
    programs.write("site/sitecustomize.py", "print('theirs')")
    programs.write("agent.py", "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])")
    programs.write("child.py", "import sys, sitecustomize\nprint(sitecustomize.__file__, sys.path)")
    path = os.pathsep.join([str(programs.folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    plain = programs.plain("agent.py", environment={"PYTHONPATH": path})
    result = programs.recorded("agent.py", environment={"PYTHONPATH": path})

    assert result.stdout == plain.stdout
    assert result.stdout.count(b"theirs") == 2


def test_an_older_python_can_read_what_a_child_imports_first() -> None:
    """A program may start a Python that is ten years old; our file in its path must not disturb it."""
    import agentdbg

    source = (_package(agentdbg) / "autorun" / "startup" / "sitecustomize.py").read_text()
    assert "from __future__" not in source
    assert 'f"' not in source
    assert "def " not in source


def test_auto_records_a_program_that_imports_agentdbg(programs: Programs, recorded: Recorded) -> None:
    """Some programs are started by something that cannot be told to start them through us."""
    programs.write("agent.py", "import agentdbg\nagentdbg.record_tool_call('search')\nraise ValueError('x')")
    result = programs.plain("agent.py", environment={"AGENTDBG_AUTO": "1"})

    run = recorded.only()
    assert run.types() == ["RUN_START", "TOOL_CALL", "ERROR", "RUN_END"]
    assert run.one("RUN_END")["payload"]["error"]["error_type"] == "ValueError"
    assert result.returncode == 1
    assert b"agentdbg: recorded run" in result.stderr


@pytest.mark.slow
def test_auto_is_off_unless_asked_for(programs: Programs, recorded: Recorded) -> None:
    """`import agentdbg` alone records nothing."""
    programs.write("agent.py", "import agentdbg\nagentdbg.record_tool_call('search')")
    for value in ("", "0", "false"):
        programs.plain("agent.py", environment={"AGENTDBG_AUTO": value})

    assert recorded.all() == []


def _package(module: Any) -> Path:
    from pathlib import Path

    return Path(module.__file__).parent


def _family(runs: list[RecordedRun]) -> tuple[RecordedRun, RecordedRun]:
    assert len(runs) == 2
    parents = [run for run in runs if not run.meta["metadata"]]
    assert len(parents) == 1
    return parents[0], next(run for run in runs if run is not parents[0])


def _depth(runs: list[RecordedRun]) -> list[int]:
    by_id = {run.meta["run_id"]: run for run in runs}

    def depth(run: RecordedRun) -> int:
        parent = run.meta["metadata"].get("parent_run_id")
        return 0 if parent is None else 1 + depth(by_id[parent])

    return [depth(run) for run in runs]


RAISED_EXITS: dict[str, tuple[str, int]] = {
    "a number": ("raise SystemExit(3)", 3),
    "what main gives": ("def main(): return 5\nraise SystemExit(main())", 5),
    "a text": ("raise SystemExit('no key')", 1),
    "zero": ("raise SystemExit(0)", 0),
    "in a task": ("import asyncio\nasync def work(): raise SystemExit(6)\nasyncio.run(work())", 6),
    "caught": ("try: raise SystemExit(3)\nexcept SystemExit: pass", 0),
    "in a thread": (
        "import threading\nat = threading.Thread(target=lambda: exec('raise SystemExit(9)'))\nat.start(); at.join()",
        0,
    ),
}


@pytest.mark.parametrize(
    ("way", "raised"),
    [*(("AGENTDBG_AUTO", raised) for raised in RAISED_EXITS), ("child", "a number"), ("child", "caught")],
)
@pytest.mark.slow
def test_an_exit_the_program_raises_itself_is_its_exit_status(
    programs: Programs, recorded: Recorded, raised: str, way: str
) -> None:
    """`raise SystemExit(main())` is how many a script ends; a failure that counts as ended well is never looked at."""
    python = _python_that_tells()
    source, code = RAISED_EXITS[raised]
    programs.write("agent.py", f"import agentdbg\n{source}")
    programs.write(
        "parent.py", "import subprocess, sys\nsys.exit(subprocess.run([sys.executable, 'agent.py']).returncode)"
    )
    words = [python, "agent.py"] if way == "AGENTDBG_AUTO" else [python, *programs.run_command[1:], "parent.py"]
    # The other Python has none of our wheels; what it needs of ours lies here.
    environment = {"PYTHONPATH": os.path.dirname(os.path.dirname(agentdbg.__file__))}
    result = programs.start(words, environment=environment | ({"AGENTDBG_AUTO": "1"} if way == "AGENTDBG_AUTO" else {}))

    run = next(run for run in recorded.all() if "agent.py" in run.meta["run_name"])
    assert result.returncode == code
    assert run.one("RUN_END")["payload"]["exit_code"] == code
    assert run.meta["status"] == ("error" if code else "ok")
    assert [event["name"] for event in run.of_type("ERROR")] == (["SystemExit"] if code else [])


def _python_that_tells() -> str:
    """A Python that tells which exception leaves a program: 3.12 or later, this one or another one at hand."""
    # Where several are installed by one tool they lie side by side.
    neighbours = sorted(Path(sys.base_prefix).parent.glob("*/bin/python3"))
    for candidate in (sys.executable, "python3.14", "python3.13", "python3.12", *map(str, neighbours)):
        path = shutil.which(candidate)
        asked = "import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 15))"
        if path and subprocess.run([path, "-c", asked], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip("needs Python 3.12 or later")
