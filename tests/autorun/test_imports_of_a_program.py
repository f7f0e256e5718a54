"""A program may import a model client in any way: under `agentdbg run` its limits hold all the same."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.autorun.conftest import Programs
    from tests.conftest import Recorded

# A client with the one method that every request of the real one goes through.
CLIENT = """
    import types

    class OpenAI:
        base_url = "http://localhost"

        def request(self, cast_to, options):
            print("asked")
            return {"model": "m", "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}

        def ask(self):
            return self.request(dict, types.SimpleNamespace(method="post", url="/chat/completions", json_data={}))

    class AsyncOpenAI:
        async def request(self, cast_to, options): ...
"""
LAZILY = """
    import importlib.util, sys
    spec = importlib.util.find_spec("openai")
    spec.loader = importlib.util.LazyLoader(spec.loader)
    openai = importlib.util.module_from_spec(spec)
    sys.modules["openai"] = openai
    spec.loader.exec_module(openai)
"""
BY_HAND = """
    import importlib.util, sys
    spec = importlib.util.find_spec("openai")
    openai = importlib.util.module_from_spec(spec)
    sys.modules["openai"] = openai
    spec.loader.exec_module(openai)
"""
FROM_AN_ARCHIVE = """
    import os, sys, zipfile
    with zipfile.ZipFile("packages.zip", "w") as packed:
        for folder, _, names in os.walk("openai"):
            for name in names:
                if name.endswith(".py"):
                    packed.write(os.path.join(folder, name))
        packed.writestr("other.py", "")
    sys.path[0] = "packages.zip"
    import importlib.util
    importlib.util.find_spec("openai")
    import other, openai
"""
FORGOTTEN = """
    import sys, openai
    for name in [name for name in sys.modules if name.partition(".")[0] == "openai"]:
        del sys.modules[name]
    import openai
"""
WAYS = {
    "a plain import": "import openai",
    "a look": "import importlib.util\nimportlib.util.find_spec('openai')\nimport openai",
    "two looks": "from importlib.util import find_spec\nfind_spec('openai'), find_spec('openai')\nimport openai",
    "lazily": LAZILY,
    "by hand": BY_HAND,
    "a reload": "import importlib, openai\nimportlib.reload(openai)",
    "forgotten and imported anew": FORGOTTEN,
    "forgotten in part": "import sys, openai\ndel sys.modules['openai']\nimport openai",
    "an archive": FROM_AN_ARCHIVE,
    "another thread": "import threading\nt = threading.Thread(target=__import__, args=('openai',))\n"
    "t.start(); t.join()\nimport openai",
}


@pytest.mark.parametrize("way", [pytest.param(way, marks=() if way == "a look" else pytest.mark.slow) for way in WAYS])
def test_limits_hold_however_the_client_is_imported(programs: Programs, recorded: Recorded, way: str) -> None:
    """Five calls under a limit of two, recorded as "ok", is money that a user believed to be safe."""
    programs.write("openai/__init__.py", "from openai._client import AsyncOpenAI, OpenAI")
    programs.write("openai/_client.py", CLIENT)
    programs.write("agent.py", textwrap.dedent(WAYS[way]) + "\nfor _ in range(5): openai.OpenAI().ask()\n")
    ended = programs.recorded("--max-llm-calls", "2", "agent.py")

    assert (ended.stdout.split(), ended.returncode) == ([b"asked", b"asked"], 1), ended.stderr.decode()
    assert b"max_llm_calls exceeded" in ended.stderr
    assert recorded.only().meta["counts"]["llm_calls"] == 2


@pytest.mark.slow
def test_a_client_in_one_file_is_recorded_after_a_reload(programs: Programs, recorded: Recorded) -> None:
    """What is executed again defines its classes again."""
    programs.write("openai.py", CLIENT)
    programs.write(
        "agent.py",
        """
        import importlib, openai
        importlib.reload(openai)
        for _ in range(5): openai.OpenAI().ask()
        """,
    )
    ended = programs.recorded("--max-llm-calls", "2", "agent.py")

    assert (ended.stdout.split(), ended.returncode) == ([b"asked", b"asked"], 1), ended.stderr.decode()
    assert recorded.only().meta["counts"]["llm_calls"] == 2


@pytest.mark.slow
def test_importing_it_again_and_again_records_each_call_once(programs: Programs, recorded: Recorded) -> None:
    """A test suite forgets and imports a package hundreds of times; the client must not be wrapped each time."""
    programs.write("openai/__init__.py", "from openai._client import AsyncOpenAI, OpenAI")
    programs.write("openai/_client.py", CLIENT)
    programs.write(
        "agent.py",
        """
        import sys, traceback
        for _ in range(50):
            sys.modules.pop("openai", None)
            import openai
        OpenAI = openai.OpenAI

        def request(self, cast_to, options):
            print(len(traceback.extract_stack()))
            return {}

        OpenAI.request.__wrapped__.__code__ = request.__code__
        OpenAI.request.__wrapped__.__globals__["traceback"] = traceback
        OpenAI().ask()
        """,
    )
    ended = programs.recorded("agent.py")

    assert ended.returncode == 0, ended.stderr.decode()
    assert int(ended.stdout) < 20
    assert recorded.only().meta["counts"]["llm_calls"] == 1
