"""
Do something when a package has been imported, whatever the program does before.

`when_imported` takes the packages to wait for. The callback comes when the package's code has run to its end, once for
each module object, also when the program first looked whether the package is there, loads it lazily or by hand, fails
and tries again, or forgets it and imports it anew. Importing anything else costs a few looks into dicts.

A loader is watched through an attribute of its own, set when it is found and taken back before the package's code
runs. A loader in which nothing can be set, or that never came past here, is not watched: what it loaded is noticed
when the next module is imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from agentdbg.faults import Shield, pass_on
from agentdbg.interpreter import frames_of_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.machinery import ModuleSpec

__all__ = ["when_imported"]


def when_imported(packages: Iterable[str], then: Callable[[str], None], *, each_time: bool = False) -> None:
    """
    Call `then` with the name of each package once it is imported; at once for those that are already.

    With `each_time` it is called again when a module is executed again (`importlib.reload`).
    """
    _finder.wait_for(sorted(packages), _Waiter(then, each_time))


class _Waiter(NamedTuple):
    then: Callable[[str], None]
    each_time: bool

    def tell(self, package: str) -> None:
        with Shield(f"follow the import of {package}"):  # it would reach the program that has just imported the package
            self.then(package)


class _Finder:
    """Finds nothing of its own: it lets those behind it find, and learns when the module has been executed."""

    def __init__(self) -> None:
        self._waiters: dict[str, list[_Waiter]] = {}
        self._told: dict[str, tuple[Any, Any]] = {}
        """By package: the module that was executed, and what then stood in `sys.modules` (it may replace itself)."""
        self._watches: WeakValueDictionary[int, _Watch] = WeakValueDictionary()

    def wait_for(self, packages: Iterable[str], waiter: _Waiter) -> None:
        """Tell `waiter` of these packages."""
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        for package in packages:
            self._waiters.setdefault(package, []).append(waiter)
            module = sys.modules.get(package)
            if module is not None and (self._knows(package, module) or not _is_unfinished(module)):
                self._told[package] = (module, module)
                waiter.tell(package)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Part of the import system: find a module we wait for as everybody else would, and watch its loader."""
        self._look_around()
        if fullname not in self._waiters:
            return None
        spec = self._find_behind(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader, fullname)
        return spec

    def _watch(self, loader: Any, package: str) -> None:
        try:
            own = vars(loader)
            watch = own.get("exec_module")
            if not isinstance(watch, _Watch):
                watch = _Watch(loader, own)
            watch.stand(package)
            self._watches[id(watch)] = watch
        except (AttributeError, TypeError) as error:
            pass_on(error)  # it has no exec_module, or nothing can be set in it: `_look_around` will see the module

    def _find_behind(self, fullname: str, path: Any, target: Any) -> ModuleSpec | None:
        """What the finders after this one find; those before it have been asked already."""
        finders = list(sys.meta_path)
        for finder in finders[finders.index(self) + 1 :] if self in finders else finders:
            find_spec = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find_spec is None else find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None

    def _look_around(self) -> None:
        """Notice what has been loaded past us."""
        for package in tuple(self._waiters):
            module = sys.modules.get(package)
            if module is not None and not self._knows(package, module) and _was_loaded(module):
                self.executed(package, module)

    def executed(self, package: str, module: ModuleType) -> None:
        """The module's code has run to its end. A copy that is not in `sys.modules` is nothing anybody waits for."""
        present = sys.modules.get(package)
        if present is None:
            return
        is_again = self._knows(package, module)
        self._told[package] = (module, present)
        for watch in list(self._watches.values()):  # those of earlier looks for the package
            watch.leave(package)
        for waiter in tuple(self._waiters.get(package, ())):
            if waiter.each_time or not is_again:
                waiter.tell(package)

    def _knows(self, package: str, module: Any) -> bool:
        return any(known is module for known in self._told.get(package, ()))


_finder = _Finder()


class _Watch:
    """Stands in a loader as its `exec_module` until the modules it was found for have been executed."""

    def __init__(self, loader: Any, own: dict[str, Any]) -> None:
        self._execute = loader.exec_module
        self._own = own
        self._before = {key: own[key] for key in ("exec_module",) if key in own}
        self._packages: set[str] = set()

    def stand(self, package: str) -> None:
        self._packages.add(package)
        self._own["exec_module"] = self

    def leave(self, package: str) -> None:
        if package not in self._packages:
            return
        self._packages.discard(package)
        if not self._packages:
            self._own.pop("exec_module", None)
            self._own.update(self._before)
        if self._packages:  # a loader may be shared, and another thread have just found something
            self._own["exec_module"] = self

    def __call__(self, module: ModuleType) -> None:
        package = module.__name__
        if package not in self._packages:
            self._execute(module)
            return
        self.leave(package)
        try:
            self._execute(module)
        except BaseException:
            self.stand(package)  # the program may try again
            raise
        _finder.executed(package, module)

    # Loaders are equal when their attributes are; two that are watched are as equal as they were.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Watch)

    def __hash__(self) -> int:
        return hash(_Watch)


def _was_loaded(module: Any) -> bool:
    """Whether this is a real module, and not what a test has put in its place, and is loaded."""
    if not isinstance(module, ModuleType):
        return False
    spec = _names(module).get("__spec__")
    return getattr(spec, "loader", None) is not None and not _is_unfinished(module)


def _is_unfinished(module: Any) -> bool:
    """Whether the module is still being executed, in whatever thread, or is a lazy one that has not been touched."""
    if not isinstance(module, ModuleType):
        return False
    if type(module).__name__ == "_LazyModule":
        return True
    names = _names(module)
    if getattr(names.get("__spec__"), "_initializing", False):
        return True
    for frame in frames_of_threads().values():
        level: Any = frame
        while level is not None:
            if level.f_globals is names and level.f_code.co_name == "<module>":
                return True
            level = level.f_back
    return False


def _names(module: ModuleType) -> dict[str, Any]:
    """The module's names, without waking a lazy one."""
    return object.__getattribute__(module, "__dict__")  # type: ignore[no-any-return]
