"""Being told when a package is imported, whatever a program does before, and leaving no trace."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import threading
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.faults import settings
from agentdbg.import_hook import when_imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages that can be imported, and an import system that is put back."""
    monkeypatch.syspath_prepend(str(tmp_path))
    modules, finders = set(sys.modules), list(sys.meta_path)
    yield tmp_path
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_it_is_told_after_the_package_was_executed(folder: Path) -> None:
    """An integration wraps what the package defines, so it has to be defined."""
    (folder / "framework_one.py").write_text("value = 1")
    seen: list[tuple[str, int]] = []
    when_imported(["framework_one"], lambda name: seen.append((name, sys.modules[name].value)))

    import framework_one  # type: ignore[import-not-found]

    importlib.reload(framework_one)
    assert seen == [("framework_one", 1)]


def test_a_loaded_package_shows_no_trace_of_the_hook(folder: Path) -> None:
    """Programs look at loaders and specs: resources, packaging tools and type checkers all do."""
    (folder / "framework_two.py").write_text("own = dict(vars(__loader__))")
    when_imported(["framework_two"], lambda name: None)
    expected = SourceFileLoader("framework_two", str(folder / "framework_two.py"))

    module = importlib.import_module("framework_two")
    assert module.own == vars(module.__loader__) == vars(expected)
    assert module.__loader__ == expected
    assert module.__spec__ is not None
    assert module.__spec__.loader is module.__loader__


def test_what_is_imported_already_is_told_at_once(folder: Path) -> None:
    """AGENTDBG_AUTO=1 starts when agentdbg is imported, which may be after the framework."""
    seen: list[str] = []
    when_imported(["json"], seen.append)

    assert seen == ["json"]


def test_a_package_that_fails_is_waited_for_again(folder: Path) -> None:
    """A program may try, fall back, and try again; its exception is its own."""
    (folder / "framework_three.py").write_text(
        "import sys\nif not hasattr(sys, 'ready_three'): raise OSError('not yet')"
    )
    seen: list[str] = []
    when_imported(["framework_three"], seen.append)
    with pytest.raises(OSError, match="not yet"):
        importlib.import_module("framework_three")
    sys.ready_three = True  # type: ignore[attr-defined]
    importlib.import_module("framework_three")

    assert seen == ["framework_three"]
    del sys.ready_three  # type: ignore[attr-defined]


def test_a_package_that_is_not_there_is_not_found(folder: Path) -> None:
    """Most programs try optional packages; ImportError must come as ever, and the wait go on."""
    seen: list[str] = []
    when_imported(["framework_four"], seen.append)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("framework_four")
    (folder / "framework_four").mkdir()
    (folder / "framework_four" / "__init__.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module("framework_four")

    assert seen == ["framework_four"]


def test_other_imports_are_left_alone(folder: Path) -> None:
    """A few looks into dicts are all that other packages see of us."""
    (folder / "unrelated_five.py").write_text("")
    seen: list[str] = []
    when_imported(["framework_five"], seen.append)
    importlib.import_module("unrelated_five")

    assert seen == []


# What programs do before, or instead of, a plain import.


def _probe(name: str) -> None:
    assert importlib.util.find_spec(name) is not None
    importlib.import_module(name)


def _probe_twice(name: str) -> None:
    first, second = importlib.util.find_spec(name), importlib.util.find_spec(name)
    assert first == second
    importlib.import_module(name)


def _probe_with_pkgutil(name: str) -> None:
    assert any(module.name == name for module in pkgutil.iter_modules())
    assert pkgutil.resolve_name(name) is sys.modules[name]


def _probe_in_a_thread_import_in_another(name: str) -> None:
    for work in (importlib.util.find_spec, importlib.import_module):
        thread = threading.Thread(target=work, args=(name,))
        thread.start()
        thread.join()


def _import_in_many_threads(name: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(importlib.import_module, [name] * 8))


def _execute_the_probed_spec(name: str) -> None:
    """The recipe of the documentation of importlib."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _execute_it_and_import_it_later(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    importlib.import_module("later")


def _load_lazily(name: str) -> None:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    loader = spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    assert module.value == 1


def _use_the_older_of_two_specs(name: str) -> None:
    older = importlib.util.find_spec(name)
    importlib.util.find_spec(name)
    assert older is not None
    assert older.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(older)
    older.loader.exec_module(sys.modules[name])


def _load_from_its_file(name: str) -> None:
    found = PathFinder.find_spec(name)
    assert found is not None
    assert found.origin is not None
    spec = importlib.util.spec_from_file_location(name, found.origin)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    importlib.import_module("later")


def _import_a_part_of_it(name: str) -> None:
    importlib.import_module(f"{name}.part")


def _have_another_finder_in_front(name: str) -> None:
    """As tools for tracing have one: it asks the import system again, and puts a loader around the one it gets."""

    class Around:
        def __init__(self, loader: Any) -> None:
            self.loader = loader
            self.exec_module = self._exec_module

        def _exec_module(self, module: types.ModuleType) -> None:
            self.loader.exec_module(module)

        def create_module(self, spec: ModuleSpec) -> Any:
            return self.loader.create_module(spec)

    class Finder:
        asking = False

        def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            if self.asking or fullname != name:
                return None
            self.asking = True
            spec = importlib.util.find_spec(fullname)
            self.asking = False
            assert spec is not None
            spec.loader = Around(spec.loader)  # type: ignore[assignment]
            return spec

    sys.meta_path.insert(0, Finder())
    importlib.import_module(name)


def _have_another_finder_behind(name: str) -> None:
    ours = sys.meta_path.pop(0)

    class Lending:
        def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            return PathFinder.find_spec(fullname, path, target)

    sys.meta_path[0:0] = [ours, Lending()]
    importlib.import_module(name)


def _load_with_a_loader_that_takes_no_attributes(name: str) -> None:
    class Closed:
        __slots__ = ()

        def create_module(self, spec: ModuleSpec) -> None:
            return None

        def exec_module(self, module: types.ModuleType) -> None:
            module.value = 1  # type: ignore[attr-defined]

    class Finder:
        def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            return ModuleSpec(name, Closed()) if fullname == name else None  # type: ignore[arg-type]

    sys.meta_path.insert(1, Finder())
    importlib.import_module(name)
    importlib.import_module("later")


def _load_with_a_loader_that_is_a_class(name: str) -> None:
    """As the interpreter's own loaders for frozen modules are."""

    class Loader:
        @staticmethod
        def create_module(spec: ModuleSpec) -> None:
            return None

        @staticmethod
        def exec_module(module: types.ModuleType) -> None:
            module.value = 1  # type: ignore[attr-defined]

        @classmethod
        def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
            return ModuleSpec(name, cls) if fullname == name else None  # type: ignore[arg-type]

    sys.meta_path.insert(1, Loader)
    before = dict(vars(Loader))
    importlib.import_module(name)
    importlib.import_module("later")
    assert dict(vars(Loader)) == before


WAYS = [
    _probe,
    _probe_twice,
    _probe_with_pkgutil,
    _probe_in_a_thread_import_in_another,
    _import_in_many_threads,
    _execute_the_probed_spec,
    _execute_it_and_import_it_later,
    _load_lazily,
    _use_the_older_of_two_specs,
    _load_from_its_file,
    _import_a_part_of_it,
    _have_another_finder_in_front,
    _have_another_finder_behind,
    _load_with_a_loader_that_takes_no_attributes,
    _load_with_a_loader_that_is_a_class,
]


@pytest.mark.parametrize("load", WAYS, ids=lambda way: way.__name__.strip("_"))
def test_whatever_a_program_does_it_is_told_once(folder: Path, load: Callable[[str], None]) -> None:
    """A guardrail that is gone because somebody looked for the package first costs a night's money."""
    name = f"framework{load.__name__}"
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text("import wave\nvalue = 1\nimport colorsys\n")
    (folder / name / "part.py").write_text("")
    (folder / "later.py").write_text("")
    for module in ("wave", "colorsys"):  # what the package imports passes the hook as well
        sys.modules.pop(module, None)
    seen: list[int] = []
    when_imported([name], lambda name: seen.append(sys.modules[name].value))
    load(name)
    importlib.import_module(name)
    importlib.util.find_spec(name)

    assert seen == [1]
    loader = sys.modules[name].__loader__
    assert "exec_module" not in (vars(loader) if isinstance(loader, SourceFileLoader) else ())


def test_a_probe_shows_what_it_shows_without_us(folder: Path) -> None:
    """Nobody who merely asks whether a package is there may get anything else for an answer."""
    (folder / "framework_probed.py").write_text("")
    when_imported(["framework_probed"], lambda name: None)
    spec, plain = importlib.util.find_spec("framework_probed"), PathFinder.find_spec("framework_probed")

    assert spec is not None
    assert plain is not None
    assert type(spec.loader) is type(plain.loader) is SourceFileLoader
    assert spec == importlib.util.find_spec("framework_probed")
    assert (spec.name, spec.origin, spec.cached, spec.has_location) == (
        plain.name,
        plain.origin,
        plain.cached,
        plain.has_location,
    )
    importlib.import_module("framework_probed")
    assert spec == plain == sys.modules["framework_probed"].__spec__


def test_a_package_forgotten_and_imported_anew_is_told_again(folder: Path) -> None:
    """Test suites do that; the new module has new classes, which nobody has wrapped."""
    (folder / "framework_anew.py").write_text("")
    seen: list[types.ModuleType] = []
    when_imported(["framework_anew"], lambda name: seen.append(sys.modules[name]))
    first = importlib.import_module("framework_anew")
    del sys.modules["framework_anew"]
    second = importlib.import_module("framework_anew")

    assert seen == [first, second]
    assert first is not second


def test_who_wants_to_know_is_told_of_a_reload(folder: Path) -> None:
    """A module that is executed again defines its classes anew."""
    (folder / "framework_again.py").write_text("class Client: pass")
    seen: list[type] = []
    when_imported(["framework_again"], lambda name: seen.append(sys.modules[name].Client), each_time=True)
    module = importlib.import_module("framework_again")
    first = module.Client
    importlib.reload(module)

    assert seen == [first, module.Client]


def test_packages_in_one_archive_are_told_apart(folder: Path) -> None:
    """All modules in a zip file share one loader."""
    archive = folder / "packages.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("framework_zipped", "framework_other", "unrelated_zipped"):
            packed.writestr(f"{name}.py", "value = 1")
    sys.path.insert(0, str(archive))
    try:
        seen: list[str] = []
        when_imported(["framework_zipped", "framework_other"], seen.append)
        importlib.util.find_spec("framework_zipped")
        importlib.util.find_spec("framework_other")
        importlib.import_module("unrelated_zipped")
        assert seen == []

        other = importlib.import_module("framework_other")
        importlib.import_module("framework_zipped")
        assert seen == ["framework_other", "framework_zipped"]
        assert "exec_module" not in vars(other.__loader__)
    finally:
        sys.path.remove(str(archive))


def test_a_folder_of_that_name_is_no_package_yet(folder: Path) -> None:
    """A folder without `__init__` has no code to wait for; the package may still come."""
    (folder / "framework_folder").mkdir()
    seen: list[str] = []
    when_imported(["framework_folder"], seen.append)
    assert importlib.import_module("framework_folder").__spec__ is not None
    assert seen == []

    del sys.modules["framework_folder"]
    (folder / "framework_folder" / "__init__.py").write_text("")
    importlib.invalidate_caches()
    importlib.import_module("framework_folder")
    assert seen == ["framework_folder"]


def test_a_lazy_module_is_not_loaded_by_us(folder: Path) -> None:
    """Whoever loads lazily wants to save the time; other imports must not spend it."""
    (folder / "framework_lazy.py").write_text("raise OSError('executed')")
    (folder / "unrelated_six.py").write_text("")
    when_imported(["framework_lazy"], lambda name: None)
    spec = importlib.util.find_spec("framework_lazy")
    assert spec is not None
    assert spec.loader is not None
    spec.loader = importlib.util.LazyLoader(spec.loader)
    sys.modules["framework_lazy"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["framework_lazy"])
    importlib.import_module("unrelated_six")
    when_imported(["framework_lazy"], lambda name: None)

    with pytest.raises(OSError, match="executed"):
        _ = sys.modules["framework_lazy"].value


def test_a_stand_in_is_left_alone(folder: Path) -> None:
    """Tests put objects of their own under a package's name."""
    (folder / "unrelated_seven.py").write_text("")
    seen: list[str] = []
    when_imported(["framework_stand_in", "framework_blocked"], seen.append)
    sys.modules["framework_stand_in"] = types.ModuleType("framework_stand_in")
    sys.modules["framework_blocked"] = None  # type: ignore[assignment]
    importlib.import_module("unrelated_seven")

    assert seen == []


def test_a_copy_that_nobody_can_import_is_left_alone(folder: Path) -> None:
    """Telling of it would make us import a package that the program has not imported."""
    (folder / "framework_copied.py").write_text("")
    seen: list[str] = []
    when_imported(["framework_copied"], seen.append)
    spec = importlib.util.find_spec("framework_copied")
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))

    assert (seen, "framework_copied" in sys.modules) == ([], False)
    importlib.import_module("framework_copied")
    assert seen == ["framework_copied"]


def test_two_who_wait_for_the_same_package_are_both_told(folder: Path) -> None:
    """A run's threads and a program's integrations wait at the same time."""
    (folder / "framework_shared.py").write_text("")
    seen: list[str] = []
    when_imported(["framework_shared"], lambda name: seen.append("first"))
    when_imported(["framework_shared"], lambda name: seen.append("second"))
    importlib.util.find_spec("framework_shared")
    importlib.import_module("framework_shared")

    assert seen == ["first", "second"]


def test_a_fault_of_ours_does_not_reach_the_import(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program asked for a package, and it gets it."""
    monkeypatch.setattr(settings, "raise_faults", False)
    (folder / "framework_eight.py").write_text("")
    seen: list[str] = []
    when_imported(["framework_eight"], lambda name: 1 / 0)  # type: ignore[arg-type]
    when_imported(["framework_eight"], seen.append)
    importlib.import_module("framework_eight")

    assert seen == ["framework_eight"]
    assert "ZeroDivisionError" in capsys.readouterr().err
