# ruff: noqa: INP001 -- not a package: a folder that stands in a path
"""
What a Python child of a recorded program imports at its start, because this folder stands first in its PYTHONPATH.

It steps out of the way (the folder leaves sys.path, the environment's own sitecustomize is imported) and then lets
agentdbg record the process, where agentdbg is installed. It is read by whatever Python the program starts, so it is
written in what all of them understand.
"""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry) != _folder]
_this = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize  # type: ignore[import-not-found] # noqa: F401 -- the environment's own, if it has one
except ImportError:
    if "sitecustomize" in sys.modules or getattr(sys.exc_info()[1], "name", "sitecustomize") != "sitecustomize":
        raise
finally:
    # Python expects to find under this name what it has just imported.
    sys.modules.setdefault("sitecustomize", _this)  # type: ignore[arg-type] # it was there a moment ago
    if sys.version_info >= (3, 10) and os.environ.get("AGENTDBG_AUTO", "0") != "0":
        try:
            import agentdbg.autorun.process

            agentdbg.autorun.process.start_child()
        except ImportError:  # this Python has no agentdbg: its program runs on, unrecorded
            pass
