"""A program under `agentdbg run` does what it does under Python: output, exit code, traceback, `__main__`, signals."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.autorun.conftest import without_our_line

if TYPE_CHECKING:
    from tests.autorun.conftest import Programs
    from tests.conftest import Recorded

pytestmark = pytest.mark.slow

SCRIPTS = {
    "comes to its end": "print('done')",
    "exits with a number": "import sys; print('a'); sys.exit(3)",
    "exits with a text": "import sys; print('a'); sys.exit('the reason')",
    "exits with nothing": "import sys; sys.exit()",
    "exits with zero": "raise SystemExit(0)",
    "exits with more than a byte": "raise SystemExit(256 + 7)",
    "exits with an object": "raise SystemExit(['x'])",
    "raises": "def work():\n    raise ValueError('no such city')\nwork()",
    "raises from another": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e",
    "raises what is frozen": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Denied(Exception):\n"
    "    why: str\ntry:\n    raise Denied('seat')\nexcept Denied as first:\n    raise Denied('seats') from first",
    "raises what cannot be compared": "class Odd(Exception):\n    def __eq__(self, other):\n        raise ValueError\n"
    "try:\n    raise Odd('a')\nexcept Odd:\n    raise Odd('b')",
    "raises what is no group": "class Lazy(Exception):\n    @property\n    def exceptions(self):\n"
    "        raise RuntimeError('not loaded')\nraise Lazy('mine')",
    "raises without a cause": "raise Exception('a') from None",
    "does not compile": "print('never'\n",
    "has a null byte": "x = '\\x00'\nprint(repr(x))",
    "is interrupted": "print('a', flush=True); raise KeyboardInterrupt",
    "leaves at once": "import os; print('a', flush=True); os._exit(5)",
    "ends by a signal": "import os, signal; print('a', flush=True); os.kill(os.getpid(), signal.SIGTERM)",
    "aborts": "import os; print('a', flush=True); os.abort()",
    "has an own hook": "import sys\nsys.excepthook = lambda *given: print('hook', given[0].__name__, "
    "given[2].tb_frame.f_code.co_name, given[2].tb_next)\n1 / 0",
    "shows its globals": "print(sorted(globals()), __name__, __package__, __spec__, __doc__, __file__)\n"
    "print(type(__loader__).__name__, type(__builtins__).__name__, __loader__.path)",
    "shows sys": "import sys\nprint(sys.argv, sys.path, sys.orig_argv, sys.flags, sys.warnoptions)",
    "is its own main": "import sys, __main__\n"
    "print(__main__.__dict__ is globals(), sys.modules['__main__'] is __main__)",
    "registers atexit": "import atexit\n"
    "atexit.register(print, 'first')\natexit.register(print, 'second')\nprint('end')",
    "exits from atexit": "import atexit, sys\natexit.register(lambda: print('bye'))\nsys.exit(4)",
    "waits for its threads": "import threading, time\n"
    "threading.Thread(target=lambda: (time.sleep(0.2), print('thread'))).start()\nprint('main')",
    "fails in a thread": "import threading\n"
    "t = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join(); print('on')",
    "fails in a pool": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(1) as pool:\n    try:\n        pool.submit(lambda: 1 / 0).result()\n"
    "    except ZeroDivisionError as error:\n        raise RuntimeError from error",
    "is async": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 7\nprint(asyncio.run(f()))",
    "pickles its own class": "import pickle\nclass A:\n    x = 1\n"
    "print(pickle.loads(pickle.dumps(A())).x, A.__module__)",
    "warns": "import warnings\nwarnings.warn('careful')\nprint('on')",
    "forks": "import os, sys\npid = os.fork()\nif pid == 0:\n    print('child', flush=True)\n    sys.exit(3)\n"
    "print('parent', os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
    "reads its input": "import sys\nprint([line for line in sys.stdin], sys.stdin.fileno())",
    "writes bytes": "import sys\nsys.stdout.buffer.write(bytes(range(256)))",
    "closes its output": "import sys, os\nsys.stdout.flush()\nsys.stderr.close()\nprint('quiet')",
    "has future annotations": "from __future__ import annotations\ndef f(x: Nowhere): pass\nprint(f.__annotations__)",
    "inherits no future": "def f(x: int): pass\nprint(f.__annotations__)",
    "starts a process pool": "import multiprocessing\ndef double(x):\n    return 2 * x\n"
    "if __name__ == '__main__':\n    with multiprocessing.get_context('spawn').Pool(1) as pool:\n"
    "        print(pool.map(double, [1, 2, 3]))",
}
# Two interpreters for each of them add up; the others are tested among the slow ones.
IN_EVERY_RUN = {"exits with a number", "raises", "is interrupted", "shows sys"}
ARGUMENTS = ["", "-x", "--name", "two words", "-m", "--help", "--", "=", "ünïcode", "*", "$HOME", "--max-llm-calls=1"]


@pytest.mark.parametrize(
    "what", [what if what in IN_EVERY_RUN else pytest.param(what, marks=pytest.mark.slow) for what in SCRIPTS]
)
def test_a_script_behaves_as_under_python(programs: Programs, what: str) -> None:
    """Nobody can use a recorder that changes what it records."""
    programs.write("agent.py", SCRIPTS[what])
    plain = programs.plain("agent.py", given=b"one\ntwo\n")
    recorded = programs.recorded("agent.py", given=b"one\ntwo\n")

    assert recorded.stdout == plain.stdout
    assert recorded.returncode == plain.returncode
    assert without_our_line(recorded.stderr) == plain.stderr


def test_a_traceback_shows_the_programs_frames_alone(programs: Programs) -> None:
    """Who reads it looks for his own line; the decorators around it say nothing to him."""
    programs.write("agent.py", "import agentdbg\n\n\n@agentdbg.tool\ndef look():\n    1 / 0\n\n\nlook()\n")
    shown = programs.recorded("agent.py").stderr.decode()

    assert [line.split(", ")[1:] for line in shown.splitlines() if "  File " in line] == [
        ["line 9", "in <module>"],
        ["line 6", "in look"],
    ]


@pytest.mark.slow
def test_endless_recursion_ends_as_under_python(programs: Programs) -> None:
    """A few frames of ours lie below the program's, so the limit comes that much earlier; all else is the same."""
    programs.write("agent.py", "def f(): f()\nf()")
    plain, recorded = programs.plain("agent.py"), programs.recorded("agent.py")

    assert recorded.returncode == plain.returncode == 1
    assert without_our_line(recorded.stderr).splitlines()[:5] == plain.stderr.splitlines()[:5]


def test_the_arguments_belong_to_the_program(programs: Programs) -> None:
    """An agent's own `--help` or `--name` must reach the agent, and odd words must arrive unharmed."""
    programs.write("agent.py", "import sys\nprint(sys.argv)")
    plain = programs.plain("agent.py", *ARGUMENTS)
    recorded = programs.recorded("--name", "mine", "agent.py", *ARGUMENTS)

    assert recorded.stdout == plain.stdout


@pytest.mark.slow
@pytest.mark.parametrize("target", ["agent.py", "./agent.py", "sub/agent.py", "link.py", "sub/../agent.py"])
def test_a_script_finds_its_neighbours(programs: Programs, target: str) -> None:
    """Imports beside the script work by `sys.path[0]`, which follows a link to where the script really lies."""
    for folder in ("", "sub/"):
        programs.write(folder + "neighbour.py", f"where = {folder!r}")
        programs.write(folder + "agent.py", "import sys, neighbour\nprint(neighbour.where, __file__, sys.path[0])")
    (programs.folder / "link.py").symlink_to(programs.folder / "sub" / "agent.py")

    assert programs.recorded(target).stdout == programs.plain(target).stdout != b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "module", ["package", "package.tool", "single", "nowhere", "package.nowhere", "package.broken"]
)
def test_a_module_behaves_as_under_python(programs: Programs, module: str) -> None:
    """`python -m` has its own rules: relative imports, `__spec__`, a path in argv[0], its own messages."""
    show = "import sys\nprint(__name__, __package__, __spec__.name, __file__, sys.argv, sys.path[0])\n"
    programs.write("package/__init__.py", "")
    programs.write("package/neighbour.py", "value = 5")
    programs.write("package/__main__.py", "from .neighbour import value\nprint(value)\n" + show)
    programs.write("package/tool.py", "from .neighbour import value\n" + show + "raise SystemExit(value)")
    programs.write("package/broken.py", "from .neighbour import nothing")
    programs.write("single.py", show)
    plain = programs.plain("-m", module, "-m", "x")
    recorded = programs.recorded("-m", module, "-m", "x")

    assert recorded.stdout == plain.stdout
    assert recorded.returncode == plain.returncode
    assert without_our_line(recorded.stderr) == plain.stderr


@pytest.mark.slow
def test_a_folder_and_an_archive_run_as_under_python(programs: Programs) -> None:
    """A folder or zip file with a `__main__.py` is a script too."""
    programs.write("app/__main__.py", "import sys, helper\nprint(helper.x, __name__, sys.argv, sys.path[0])")
    programs.write("app/helper.py", "x = 1")
    subprocess.run([sys.executable, "-m", "zipapp", "app", "-o", "app.pyz"], cwd=programs.folder, check=True)

    for target in ("app", "app.pyz"):
        assert programs.recorded(target, "a").stdout == programs.plain(target, "a").stdout != b""


@pytest.mark.slow
def test_compiled_scripts_run(programs: Programs) -> None:
    """Python runs a .pyc, so we do."""
    programs.write("agent.py", "print(__name__, __file__)")
    compile_it = "import py_compile; py_compile.compile('agent.py', cfile='agent.pyc', dfile='agent.py')"
    subprocess.run([sys.executable, "-c", compile_it], cwd=programs.folder, check=True)

    assert programs.recorded("agent.pyc").stdout == programs.plain("agent.pyc").stdout != b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["token", "inspect", "typing", "logging", "dataclasses", "queue", "uuid", "hmac", "secrets", "msgspec", "yaml"],
)
def test_a_module_called_like_one_we_use_is_still_the_programs_own(programs: Programs, name: str) -> None:
    """We load parts of the standard library before the program starts; its `token.py` must win all the same."""
    programs.write(f"{name}.py", "print('mine')")
    programs.write("agent.py", f"import {name}\nprint({name}.__file__)")
    plain, recorded = programs.plain("agent.py"), programs.recorded("agent.py")

    assert recorded.stdout == plain.stdout
    assert b"mine" in recorded.stdout
    assert recorded.returncode == plain.returncode


def test_a_signal_from_outside_reaches_the_program(programs: Programs, recorded: Recorded) -> None:
    """Ctrl-C must interrupt the agent itself, and the shell must see that it was interrupted."""
    programs.write("agent.py", "import time\nprint('ready', flush=True)\ntime.sleep(30)")
    with subprocess.Popen(
        [*programs.run_command, "agent.py"], cwd=programs.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)

    assert process.returncode == -signal.SIGINT
    assert b"KeyboardInterrupt" in stderr
    assert b"launcher" not in stderr
    assert recorded.only().one("ERROR")["payload"]["error_type"] == "KeyboardInterrupt"
    assert recorded.only().meta["status"] == "error"


@pytest.mark.slow
def test_output_is_not_held_back(programs: Programs) -> None:
    """Who watches an agent sees its lines as they are printed."""
    programs.write("agent.py", "import sys, time\nprint('now', flush=True)\nsys.stdin.read()")
    with subprocess.Popen(
        [*programs.run_command, "agent.py"],
        cwd=programs.folder,
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"now\n"
        process.communicate(b"", timeout=30)

    assert process.returncode == 0


@pytest.mark.slow
def test_a_reader_that_goes_away_is_met_as_under_python(programs: Programs) -> None:
    """`agentdbg run agent.py | head` is a common way to look at output."""
    programs.write("agent.py", "for number in range(100_000): print(number)")

    def into_head(command: list[str]) -> tuple[int, bytes]:
        with subprocess.Popen(command, cwd=programs.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            process.stdout.close()
            process.stdout = None
            _, stderr = process.communicate(timeout=30)
        return process.returncode, without_our_line(stderr)

    assert into_head([*programs.run_command, "agent.py"]) == into_head([sys.executable, "agent.py"])


@pytest.mark.slow
def test_interpreter_options_are_kept(programs: Programs) -> None:
    """`python -X utf8 -m agentdbg run …` means the option for the program."""
    programs.write("agent.py", "import sys\nprint(sys.flags, sys.orig_argv)")
    options = ["-X", "utf8", "-O", "-W", "ignore"]
    plain = programs.start([sys.executable, *options, "agent.py"])
    recorded = programs.start([sys.executable, *options, "-m", "agentdbg", "run", "agent.py"])

    assert recorded.stdout == plain.stdout
