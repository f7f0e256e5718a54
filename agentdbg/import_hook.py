"""
Do something when a package has been imported, and cost nothing otherwise.

`when_imported` takes the packages to wait for. Each import of another package costs one look into a set; once all
have come, the hook is gone.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["when_imported"]


def when_imported(packages: Iterable[str], then: Callable[[str], None]) -> None:
    """Call `then` with the name of each package once it is imported; at once for those that are already."""
    wanted = set(packages)
    here = {package for package in wanted if package in sys.modules}
    finder = _Finder(then)
    for package in wanted - here:
        finder.wait_for(package)
    for package in sorted(here):
        then(package)


class _Finder:
    """Finds nothing of its own: it lets the others find, and learns when the module has been executed."""

    def __init__(self, then: Callable[[str], None]) -> None:
        self._waiting: set[str] = set()
        self._then = then

    def wait_for(self, package: str) -> None:
        """Be told of the next import of this package."""
        self._waiting.add(package)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Part of the import system: find a module we wait for as everybody else would, and watch it being loaded."""
        if fullname not in self._waiting:
            return None
        spec = _find_elsewhere(self, fullname, path, target)
        if spec is None or spec.loader is None or not self._watch(spec.loader, fullname):
            return None
        self._waiting.discard(fullname)
        if not self._waiting:
            sys.meta_path.remove(self)
        return spec

    def _watch(self, loader: Any, fullname: str) -> bool:
        """Once, and without leaving a trace: when the module has been executed the loader is what it was."""
        if not hasattr(loader, "exec_module"):
            return False
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            try:
                execute(module)
            except BaseException:
                self.wait_for(fullname)  # the program may try again
                raise
            self._then(fullname)

        try:
            loader.exec_module = exec_module
        except AttributeError:  # a loader in which nothing can be set
            return False
        return True


def _find_elsewhere(this: Any, fullname: str, path: Any, target: Any) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find_spec = None if finder is this else getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = None if find_spec is None else find_spec(fullname, path, target)
        if spec is not None:
            return spec
    return None
