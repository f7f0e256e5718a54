"""
Whether a piece of Python reads or writes, by what it calls: `open("x")` reads, `open("x", "w")` writes.

Surely a read is what only computes, or reads with functions that are known. Everything else is unknown, unless a call
in it surely writes. The code is parsed and never run.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from typing import TYPE_CHECKING

from agentdbg.analysis.effect_guess import python_names as known
from agentdbg.analysis.effect_guess.effect_kind import EffectKind, together
from agentdbg.analysis.effect_guess.sql_statements import looks_like_sql, sql_effect
from agentdbg.analysis.effect_guess.tool_names import name_effect

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["python_effect"]

_LONGEST = 50_000
_MAGIC = re.compile(r"^\s*[!%].*$", re.MULTILINE)
_PLAIN = (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp)
_MODE = re.compile(r"[rwaxbtU+]{1,4}")
_NOT_THEIRS = frozenset({"builtins", "codecs", "importlib", "io", "os", "pathlib", "shutil", "subprocess", "sys"})
"""Modules that other modules have inside: `json.codecs` is not json's."""
_RUN_SQL = frozenset({"execute", "executemany", "read_sql", "read_sql_query", "query"})
_MAY_RUN_CODE = frozenset({"eval", "read_pickle", "memmap"})


def python_effect(code: str) -> EffectKind:
    """What a piece of code does; unknown for what is no Python."""
    if len(code) > _LONGEST:
        return "unknown"
    bare = _MAGIC.sub("pass", code)  # `!ls` and `%pip install` of a notebook
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the code's own literals would warn of
            tree = ast.parse(bare)
        kinds = list(_Reader(tree).kinds())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "unknown"
    return together([*kinds, "unknown"] if bare != code else kinds)


class _Reader:
    """One piece of code: what its names stand for, and what it does with them."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._own = {node.name for node in self._nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        self._imported: dict[str, str] = {}
        """What a name was imported as: `np` is numpy, `run` is subprocess.run."""
        for node in self._nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    full = alias.name if alias.asname else alias.name.partition(".")[0]
                    self._imported[alias.asname or full] = full
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                self._imported.update((alias.asname or alias.name, f"{module}.{alias.name}") for alias in node.names)
        self._made: set[str] = set()
        """Names that stand for nothing but values in memory."""
        for _ in range(2):  # a name may be made from another
            self._made.update(self._names_made())

    def kinds(self) -> Iterator[EffectKind]:
        called = {id(node.func) for node in self._nodes if isinstance(node, ast.Call)}
        for node in self._nodes:
            if isinstance(node, ast.Call):
                yield self._call_effect(node)
            elif isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called:
                yield self._mention_effect(node)
        for full in self._imported.values():
            yield "read" if full.partition(".")[0] in known.COMPUTING | known.MODULES.keys() else "unknown"

    def _names_made(self) -> Iterator[str]:
        for node in self._nodes:
            if isinstance(node, ast.Assign) and self._is_plain(node.value):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
            elif isinstance(node, ast.For) and self._is_plain(node.iter) and isinstance(node.target, ast.Name):
                yield node.target.id

    def _is_plain(self, value: ast.expr) -> bool:
        """Whether a value lives in memory alone: written down, computed, or made from such."""
        if isinstance(value, ast.Name):
            return value.id in self._made
        if isinstance(value, (ast.Subscript, ast.Attribute)):
            return self._is_plain(value.value)
        if isinstance(value, ast.BinOp):
            return self._is_plain(value.left) and self._is_plain(value.right)
        if not isinstance(value, ast.Call):
            return isinstance(value, _PLAIN)
        path = self._path(value.func) or ""
        is_computed = path in known.PURE_BUILTINS or path.partition(".")[0] in known.COMPUTING
        return is_computed or (isinstance(value.func, ast.Attribute) and self._is_plain(value.func.value))

    def _call_effect(self, call: ast.Call) -> EffectKind:
        path = self._path(call.func)
        name = path if path is not None else call.func.attr if isinstance(call.func, ast.Attribute) else ""
        last = name.rpartition(".")[2]
        if last == "open":
            return _open_effect(call, is_function=path in ("open", "io.open", "codecs.open"))
        if last in _RUN_SQL:
            return _sql_in(call)
        if isinstance(call.func, ast.Name) and name == call.func.id:
            return self._function_effect(name)
        if path is not None and self._is_imported(call.func):
            return _module_effect(path, has_arguments=bool(call.args))
        return self._method_effect(call, last)

    def _function_effect(self, name: str) -> EffectKind:
        if name in self._own or name in known.PURE_BUILTINS:
            return "read"
        # Else a function that was made before, or a tool that the code may call.
        return "unknown" if hasattr(builtins, name) else name_effect(name)

    def _method_effect(self, call: ast.Call, name: str) -> EffectKind:
        """What a method of some object does, by its name."""
        if name in known.WRITING_METHODS or (
            name.startswith("to_") and call.args and name not in known.READING_METHODS
        ):
            return "write"
        if name in known.IN_MEMORY:
            return "read" if isinstance(call.func, ast.Attribute) and self._is_plain(call.func.value) else "unknown"
        return "read" if name in known.READING_METHODS or name.startswith(("is_", "get_", "read_")) else "unknown"

    def _mention_effect(self, node: ast.Name | ast.Attribute) -> EffectKind:
        """What may be done with a function that is only named: `map(os.remove, files)`."""
        if isinstance(node, ast.Name):
            is_plain = node.id not in self._imported and (
                node.id in known.PURE_BUILTINS or not hasattr(builtins, node.id)
            )
            return "read" if is_plain or node.id in self._own else self._named(node)
        return "unknown" if node.attr.startswith("__") or node.attr in known.WRITING_METHODS else self._named(node)

    def _named(self, node: ast.Name | ast.Attribute) -> EffectKind:
        path = self._path(node)
        if path is None or not self._is_imported(node):
            return "read" if isinstance(node, ast.Attribute) else "unknown"
        module, _, name = path.partition(".")
        writes = known.MODULES[module][1] if module in known.MODULES else frozenset()
        return "unknown" if name.rpartition(".")[2] in writes else "read"

    def _is_imported(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in self._imported

    def _path(self, node: ast.expr) -> str | None:
        """`os.path.join` of a name with dots, its first part as it was imported; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self._imported.get(node.id, node.id), *reversed(parts)])


def _open_effect(call: ast.Call, *, is_function: bool) -> EffectKind:
    """By the mode: the argument of that name, or the one at its place; of a method that may be the first or second."""
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[1:2] if is_function else call.args[:2]
    if any(keyword.arg is None for keyword in call.keywords):
        return "unknown"
    texts = [mode.value for mode in modes if isinstance(mode, ast.Constant) and isinstance(mode.value, str)]
    if any(_MODE.fullmatch(text) and set(text) & set("wax+") for text in texts):
        return "write"
    return "read" if len(texts) == len(modes) else "unknown"


def _sql_in(call: ast.Call) -> EffectKind:
    text = call.args[0] if call.args else None
    if isinstance(text, ast.Constant) and isinstance(text.value, str) and looks_like_sql(text.value):
        return sql_effect(text.value)
    return "unknown"


def _module_effect(path: str, *, has_arguments: bool) -> EffectKind:
    """What a function of an imported module does."""
    module, name = path.partition(".")[0], path.rpartition(".")[2]
    if not _NOT_THEIRS.isdisjoint(path.split(".")[1:]) and module != "os":
        return "unknown"
    if module in known.COMPUTING:
        if name in known.WRITING_METHODS or (name.startswith("to_") and has_arguments):
            return "write"
        return "unknown" if name in _MAY_RUN_CODE or (name == "load" and module == "numpy") else "read"
    reads, writes = known.MODULES.get(module, (frozenset(), frozenset()))
    return "read" if name in reads else "write" if name in writes else "unknown"
