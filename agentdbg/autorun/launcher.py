"""
Run a program in this process the way the interpreter itself would.

The program finds the `__main__`, `sys.argv`, `sys.path` and `sys.orig_argv` it would find under plain Python, and ends
the way it would: its SystemExit, its traceback (without our frames) and its Ctrl-C reach the interpreter, which does
with them what it always does. `Program` says what to run; `prepare` sets the stage, `execute` runs it.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = ["Program", "execute", "forget_shadowed", "prepare", "without_own_frames"]

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
# What every Python has loaded before the program's first line, so that no file of the program could shadow it.
_ALWAYS_LOADED = {"__main__", "abc", "codecs", "encodings", "genericpath", "io", "ntpath", "os", "posixpath", "site"}
_ALWAYS_LOADED |= {"sitecustomize", "stat", "usercustomize"}
_replaced: list[types.ModuleType] = []


class Program(NamedTuple):
    """What comes after `python` on a command line: a script or a module, and its arguments."""

    target: str
    arguments: list[str]
    is_module: bool

    @property
    def shown_name(self) -> str:
        """What a run of it is called; for a script that is installed somewhere, that is its name."""
        shown = self.target.rstrip("/\\") or self.target
        is_installed = os.path.isabs(shown) and not self.is_module and not os.path.splitext(shown)[1]
        return os.path.basename(shown) if is_installed else shown

    @property
    def path(self) -> str:
        """Where the script is: absolute, and else as it was given, as Python shows it."""
        return os.path.join(os.getcwd(), self.target)

    @property
    def is_container(self) -> bool:
        """Whether the script is a folder or an archive with a `__main__` in it."""
        if self.is_module or self.target.endswith(".py"):
            return False
        if os.path.isdir(self.target):
            return True
        import zipfile  # noqa: PLC0415 -- only for scripts that are not called .py

        return zipfile.is_zipfile(self.target)


def prepare(program: Program, own_arguments: int) -> None:
    """
    Let `sys` look as it would under plain Python, but for `sys.path`.

    There the program's folder stands last until the program begins, so that its `uuid.py` is not taken for ours.

    `own_arguments` is how many words of the command line stand between the command's name and the program.
    """
    shown = ["-m", program.target] if program.is_module else [program.target]
    sys.orig_argv[:] = [*_interpreter_words(own_arguments), *shown, *program.arguments]
    sys.argv[:] = ["-m" if program.is_module else program.target, *program.arguments]
    if not _is_path_safe():
        del sys.path[0]  # our own script's folder
    sys.path += _own_folders(program)


def forget_shadowed(folder: str) -> None:
    """
    Let the program import its own modules where they are called like ones that we have loaded.

    A `token.py` beside the script is what its `import token` finds under plain Python. We keep the module we have.
    """
    try:
        names = os.listdir(folder or ".")
    except OSError:
        return
    for name in names:
        module, dot, ending = name.partition(".")
        loaded = sys.modules.get(module)
        if loaded is None or module in _ALWAYS_LOADED or not _could_be_in(folder, loaded):
            continue
        if (dot and ending == "py") or os.path.isfile(os.path.join(folder, name, "__init__.py")):
            for known in [one for one in sys.modules if one == module or one.startswith(f"{module}.")]:
                del sys.modules[known]


def _could_be_in(folder: str, loaded: types.ModuleType) -> bool:
    """Whether the import system, asked again, could find another module of that name in the folder."""
    spec = getattr(loaded, "__spec__", None)
    origin = getattr(spec, "origin", None)
    if origin in (None, "built-in", "frozen"):  # those are found before any folder is looked at
        return False
    return not str(origin).startswith(os.path.join(os.path.realpath(folder), ""))


def execute(program: Program, note_end: Callable[[BaseException | None], BaseException]) -> NoReturn:
    """
    Run the program as `__main__` and end the process as it ends.

    `note_end` is told what ended it (None: it came to its end) and says what to raise.
    """
    try:
        _run(program)
    except BaseException as error:  # noqa: BLE001 -- also Ctrl-C and SystemExit are ends of a program
        ending = note_end(error)
    else:
        ending = note_end(None)
    for shown in _with_linked(ending):
        BaseException.with_traceback(shown, without_own_frames(shown.__traceback__))  # some cannot be assigned to
    theirs = ending.__traceback__
    _hide_own_frames(ending, theirs)
    raise ending.with_traceback(theirs)


def _run(program: Program) -> None:
    main = _new_main()
    for folder in _own_folders(program):
        del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]
        sys.path.insert(0, folder)
    forget_shadowed(sys.path[0])
    if program.is_module or program.is_container:
        # This is what `python -m` itself calls, so that its frames and its messages are the same too.
        from runpy import _run_module_as_main  # type: ignore[attr-defined] # noqa: PLC0415

        if program.is_module:
            _run_module_as_main(program.target)
        else:
            _run_module_as_main("__main__", False)
        return
    main.__file__ = path = program.path
    if sys.version_info < (3, 15):
        main.__dict__["__cached__"] = None
    exec(_compiled(main, path), main.__dict__)  # noqa: S102 -- running the user's program is what we are asked to do


def _new_main() -> types.ModuleType:
    """A `__main__` as the interpreter makes it, in place of the one that is our own script."""
    _replaced.append(sys.modules["__main__"])  # what still runs in it needs its globals
    main = types.ModuleType("__main__")
    main.__loader__ = BuiltinImporter
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    return main


def _compiled(main: types.ModuleType, path: str) -> types.CodeType:
    if path.endswith(".pyc"):
        sourceless = SourcelessFileLoader("__main__", path)
        main.__loader__ = sourceless
        code = sourceless.get_code("__main__")
        assert code is not None
        return code
    main.__loader__ = SourceFileLoader("__main__", path)
    with open(path, "rb") as file:
        source = file.read()
    return compile(source, path, "exec", dont_inherit=True)


def _interpreter_words(own_arguments: int) -> list[str]:
    """The interpreter and its options, as they were given to us."""
    words = sys.orig_argv[: len(sys.orig_argv) - own_arguments - 1]
    if words[-2:-1] == ["-m"]:
        return words[:-2]
    return words[:-1] or [sys.executable]


def _own_folders(program: Program) -> list[str]:
    """What plain Python puts before the rest of `sys.path`."""
    return [_first_path(program)] if program.is_container or not _is_path_safe() else []


def _is_path_safe() -> bool:
    return bool(getattr(sys.flags, "safe_path", sys.flags.isolated))


def _first_path(program: Program) -> str:
    if program.is_module:
        return os.getcwd()
    if program.is_container:
        return program.path
    return os.path.dirname(os.path.realpath(program.target))


def without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames that lie around and between the program's own because of us."""
    first = here = _skip_own(trace)
    while here is not None:
        following = _skip_own(here.tb_next)
        here.tb_next = following
        here = following
    return first


_GROUPS: Any = getattr(builtins, "BaseExceptionGroup", ())


def _with_linked(error: BaseException) -> list[BaseException]:
    """The exception, and those that are shown with it: causes, contexts, members of groups. Runs no code of theirs."""
    found = [error]
    known = {id(error)}
    for one in found:
        members = one.exceptions if isinstance(one, _GROUPS) else ()
        for other in (one.__cause__, one.__context__, *members):
            if other is not None and id(other) not in known:
                known.add(id(other))
                found.append(other)
    return found


def _skip_own(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        trace = trace.tb_next
    return trace


def _hide_own_frames(ending: BaseException, theirs: TracebackType | None) -> None:
    """On its way up the exception collects our frames again; whoever shows it must not see them."""
    hook = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        sys.excepthook = hook
        if error is ending:
            trace = theirs
            BaseException.with_traceback(error, theirs)
            sys.last_traceback = theirs
        hook(kind, error, trace)

    sys.excepthook = show
