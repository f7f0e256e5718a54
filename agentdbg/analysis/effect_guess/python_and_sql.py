"""
Whether a piece of Python or SQL reads or writes: `open("x")` reads, `open("x", "w")` and `DELETE FROM x` write.

Surely a read is what only computes, or reads with functions that are known. Everything else is unknown, unless a call
in it surely writes. Code is parsed and never run; SQL is read statement by statement, by its words outside of texts and
comments.
"""

from __future__ import annotations

import ast
import builtins
import re
import shlex
import warnings
from typing import TYPE_CHECKING

from agentdbg.analysis.effect_guess.tool_names import EffectKind, name_effect, together, word_set

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["looks_like_sql", "python_effect", "sql_effect"]

_LONGEST_SQL = 200_000
_NOT_WORDS = re.compile(r"--[^\n]*|/\*(?!!).*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL)
_NOT_WORDS_ESCAPED = re.compile(
    r"--[^\n]*|/\*(?!!).*?\*/|'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`[^`]*`|\[[^\]]*\]", re.DOTALL
)
"""Some databases take a backslash before a quote for part of the text, others for its end."""
_WORD = re.compile(r"[a-z_][\w.]*")
_CALLED = re.compile(r"([a-z_][\w.]*)\s*\(")
_READS = frozenset({"select", "with", "show", "describe", "desc", "explain", "values", "table", "pragma", "from"})
_WRITES = frozenset(
    {"insert", "update", "delete", "merge", "replace", "upsert", "create", "alter", "drop", "truncate", "grant"}
    | {"revoke", "rename", "import", "load", "refresh", "kill", "comment", "undrop", "deny", "bulk"}
)
_NEITHER = frozenset({"begin", "start", "commit", "rollback", "end", "savepoint", "use", "set", "abort"})
_SET_FOR_ALL = frozenset({"global", "password", "persist", "persist_only"})
_PRAGMA_WRITES = frozenset({"incremental_vacuum", "optimize", "shrink_memory", "wal_checkpoint"})
_OTHERS = frozenset({"call", "exec", "execute", "do", "copy", "vacuum", "analyze", "lock", "attach", "detach"})
_WRITE_INSIDE = re.compile(r"\b(?:insert\s+into|update\s+[\w.]+\s+set|delete\s+from|merge\s+into|replace\s+into)\b")
_STATEMENT = re.compile(
    r"select\b.*(?:\bfrom\b|\*|\d|\(| q )|with\s+(?:recursive\s+)?\w+.*\bas\b.*\(|insert\s+(?:or\s+\w+\s+)?into\b"
    r"|(?:update|merge)\s+\S+(?:\s+(?:as\s+)?\w+)?\s+(?:set|using)\b|(?:delete|replace)\s+(?:from|into)\b|merge\s+into\b"
    r"|(?:create|alter|drop|truncate)\s+(?:or\s+replace\s+)?(?:\w+\s+)?(?:table|view|index|database|schema|function|user"
    r"|role|trigger|sequence|type|procedure|extension|policy)\b|truncate\s+\w+\s*;?$|explain\s*\(|do\s*(?:\$|q\b)|copy\s*\(|(?:grant|revoke)\s+\w+.*\bon\b"
    r"|refresh\s+materialized\b|set\s+[\w@.]+\s*(?:=|\bto\b)|set\s+(?:global|session|local|persist)\b|values\s*\(|table\s+\w+\s*;?$"
    r"|(?:show|describe|desc|explain|pragma|call|exec|execute|vacuum|copy|attach)\s+\w+|(?:begin|commit|rollback)\b\s*;",
    re.DOTALL,
)
_EXPLAINED = re.compile(
    r"\s*explain\s*(?:\([^)]*\banaly[sz]e\b(?!\s*(?:false|off|0))[^)]*\)|(?:\w+\s+)?analy[sz]e\b(?:\s+verbose\b)?)(.*)",
    re.DOTALL,
)
_INTO = re.compile(r"\binto\b")
_LOCKS = re.compile(r"\bfor\s+(?:no\s+key\s+)?update\b|\bfor\s+(?:key\s+)?share\b")
_DOES_SOMETHING = re.compile(
    r"\b(?:setval|nextval|set_config|lo_\w+|pg_(?:terminate|cancel|reload|rotate|switch|sleep|advisory|write|drop)\w*"
    r"|dblink\w*|openquery|openrowset|xp_\w+|sp_\w+|load_extension|writefile|edit|sys_\w+|query_to_xml)\s*\("
)


def looks_like_sql(text: str) -> bool:
    """Whether a text begins as a statement does, and not as a sentence: not `delete my account`."""
    return _STATEMENT.match(_bare(text[:2_000]).lstrip(" \t\r\n(")) is not None


def sql_effect(text: str) -> EffectKind:
    """What the statements of a text do together; unknown for what is no SQL."""
    if len(text) > _LONGEST_SQL:
        return "unknown"
    readings = [_NOT_WORDS, _NOT_WORDS_ESCAPED] if "\\" in text else [_NOT_WORDS]
    statements = [part for pattern in readings for part in _bare(text, pattern).split(";") if part.strip()]
    return together(map(_statement_effect, statements)) if statements else "unknown"


def _bare(text: str, not_words: re.Pattern[str] = _NOT_WORDS) -> str:
    """The text in small letters without comments, and with nothing in its quotes."""
    return not_words.sub(lambda found: " " if found[0][:2] in ("--", "/*") else " q ", text).lower()


def _statement_effect(statement: str) -> EffectKind:
    words = _WORD.findall(statement)
    first = words[0] if words else ""
    if first in _WRITES or (first == "pragma" and ("=" in statement or not _PRAGMA_WRITES.isdisjoint(words[1:]))):
        return "write"
    if explained := _EXPLAINED.match(statement):  # with ANALYZE the statement is run
        return _statement_effect(explained[1])
    if first in _NEITHER or first == "explain":
        return "write" if first == "set" and words[1:2] and words[1] in _SET_FOR_ALL else "read"
    if first in _OTHERS:
        return _other_effect(first, statement)
    if first not in _READS or "/*!" in statement:  # a comment that is run
        return "unknown"
    return _query_effect(statement, words)


def _other_effect(first: str, statement: str) -> EffectKind:
    """`DO $$ BEGIN DELETE FROM … $$`; `COPY t FROM …` and `COPY … TO 'file'`, but `COPY … TO STDOUT` shows."""
    if _WRITE_INSIDE.search(statement):
        return "write"
    if first != "copy":
        return "unknown"
    return "read" if re.search(r"\bto\s+stdout\b", statement) else "write"


def _query_effect(statement: str, words: Sequence[str]) -> EffectKind:
    """What a statement does that begins as a query: with another one inside it may write."""
    inside = {"insert", "delete", "merge"} if words[0] == "with" else set()
    if not inside.isdisjoint(words) or _WRITE_INSIDE.search(statement) or _INTO.search(statement):
        return "write"
    if _LOCKS.search(statement) or _DOES_SOMETHING.search(statement):
        return "unknown"
    # `SELECT delete_user(5)`; functions of one word, such as replace(), belong to the language.
    called = (name.rpartition(".")[2] for name in _CALLED.findall(statement))
    return "unknown" if any("_" in name and name_effect(name) == "write" for name in called) else "read"


PURE_BUILTINS = word_set("""
    abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset
    hash hex id int isinstance issubclass iter len list map max min next object oct ord pow print range repr reversed
    round set slice sorted str sum tuple type zip Exception KeyError RuntimeError TypeError ValueError
""")
READING_METHODS = word_set("""
    agg aggregate all any argmax argmin as_posix astype capitalize ceil columns corr count cumsum date decode describe
    diff difference digest dropna encode endswith equals exists explode fillna find findall first flatten floor format
    fromisoformat get glob group groupby groups head hexdigest index info intersection isalpha isdigit isna isnull
    isoformat items iterdir iterrows itertuples join joinpath json keys last loads lower lstrip match mean median melt
    min max mode most_common notna now nunique partition pivot pivot_table quantile read readline readlines resample
    reset_index reshape rglob rjust rolling round rpartition rsplit rstrip sample search seek set_index shape shift size
    sort_index sort_values split splitlines startswith stat std strftime strip strptime sum swapcase tail timestamp
    title to_dict to_list to_numpy tolist total_seconds transpose unique upper value_counts values var where with_suffix
    zfill
""")
IN_MEMORY = word_set("""
    add append apply clear close combine copy discard drop drop_duplicates extend filter insert map merge pop popitem
    remove rename replace reverse setdefault sort sub transform translate update
""")
"""What lists, tables and texts have as well as files and databases: a read only where the thing is surely one of the
first."""
WRITING_METHODS = word_set("""
    commit delete_many delete_one dump insert_many insert_one make_archive mkdir patch post put rmdir rmtree save
    savefig savetxt savez send send_message sendmail symlink_to to_excel to_feather to_file to_parquet to_pickle to_sql
    touch unlink update_many update_one upload upload_file write write_bytes write_text writelines writerow writerows
""")
COMPUTING = word_set("""
    abc array ast base64 binascii bisect calendar cmath collections copy csv dataclasses datetime decimal difflib enum
    fractions functools hashlib heapq hmac html itertools json math numbers numpy operator pandas pprint random re scipy
    secrets statistics string struct sympy textwrap time types typing unicodedata uuid zlib
""")
"""Modules that compute; a function of theirs that writes is named like the methods that do."""
MODULES: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "glob": (word_set("glob iglob"), frozenset()),
    "httpx": (word_set("get head options"), word_set("delete patch post put")),
    "io": (word_set("BytesIO StringIO"), frozenset()),
    "os": (
        word_set("access cpu_count fspath get getcwd getenv getlogin getpid listdir lstat scandir stat walk")
        | word_set("abspath basename dirname exists expanduser getmtime getsize isdir isfile join normpath realpath")
        | word_set("relpath split splitext"),
        word_set("""
            chmod chown kill link makedirs mkdir mkfifo remove removedirs rename renames replace rmdir symlink truncate
            unlink utime write
        """),
    ),
    "pathlib": (word_set("Path PurePath PurePosixPath cwd home"), frozenset()),
    "platform": (word_set("machine node platform processor python_version release system uname version"), frozenset()),
    "requests": (word_set("get head options"), word_set("delete patch post put")),
    "shutil": (word_set("disk_usage get_terminal_size which"), word_set("copy copy2 copyfile copytree move rmtree")),
    "subprocess": (frozenset(), frozenset()),
    "sys": (word_set("exc_info getrecursionlimit getsizeof"), frozenset()),
    "urllib": (word_set("parse_qs quote unquote urlencode urljoin urlparse urlsplit"), frozenset()),
}
"""Modules of which single functions are known: those that read, those that write."""


_LONGEST = 50_000
_MAGIC = re.compile(r"^[ \t]*(?:!|%(?=pip |conda ))(.*)$|^[ \t]*%.*$", re.MULTILINE)
"""`!ls` and `%pip install` of a notebook, and what nobody knows: `%run`."""
_PLAIN = (ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp)
_MODE = re.compile(r"[rwaxbtU+]{1,4}")
_NOT_THEIRS = frozenset({"builtins", "codecs", "importlib", "io", "os", "pathlib", "shutil", "subprocess", "sys"})
"""Modules that other modules have inside: `json.codecs` is not json's."""
_RUN_SQL = frozenset({"execute", "executemany", "read_sql", "read_sql_query", "query"})
_RUN_COMMANDS = frozenset(
    {"os.popen", "os.system"}
    | {f"subprocess.{name}" for name in ("Popen", "call", "check_call", "check_output", "getoutput", "run")}
)
_MAY_RUN_CODE = frozenset({"eval", "read_pickle", "memmap"})


def python_effect(code: str, shell: Callable[[str], EffectKind]) -> EffectKind:
    """What a piece of code does; unknown for what is no Python. `shell` judges the command lines in it."""
    if len(code) > _LONGEST:
        return "unknown"
    if script := re.match(r"\s*%%(?:bash|sh)\b[^\n]*\n", code):
        return shell(code[script.end() :])
    bare = _MAGIC.sub("pass", code)
    lines = [shell(found[1]) if found[1] else "unknown" for found in _MAGIC.finditer(code)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what the code's own literals would warn of
            tree = ast.parse(bare)
        kinds = list(_Reader(tree, shell).kinds())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "unknown"
    return together([*kinds, *lines])


class _Reader:
    """One piece of code: what its names stand for, and what it does with them."""

    def __init__(self, tree: ast.Module, shell: Callable[[str], EffectKind]) -> None:
        self._shell = shell
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
            yield "read" if full.partition(".")[0] in COMPUTING | MODULES.keys() else "unknown"

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
        is_computed = path in PURE_BUILTINS or path.partition(".")[0] in COMPUTING
        return is_computed or (isinstance(value.func, ast.Attribute) and self._is_plain(value.func.value))

    def _call_effect(self, call: ast.Call) -> EffectKind:
        path = self._path(call.func)
        name = path if path is not None else call.func.attr if isinstance(call.func, ast.Attribute) else ""
        last = name.rpartition(".")[2]
        if last == "open":
            return _open_effect(call, is_function=path in ("open", "io.open", "codecs.open"))
        if last in _RUN_SQL:
            return _sql_in(call)
        if path in _RUN_COMMANDS:
            command = _command_in(call)
            return self._shell(command) if command else "unknown"
        if isinstance(call.func, ast.Name) and name == call.func.id:
            return self._function_effect(name)
        if path is not None and self._is_imported(call.func):
            return _module_effect(path, has_arguments=bool(call.args))
        return self._method_effect(call, last)

    def _function_effect(self, name: str) -> EffectKind:
        if name in self._own or name in PURE_BUILTINS:
            return "read"
        # Else a function that was made before, or a tool that the code may call.
        return "unknown" if hasattr(builtins, name) else name_effect(name)

    def _method_effect(self, call: ast.Call, name: str) -> EffectKind:
        """What a method of some object does, by its name."""
        if name in WRITING_METHODS or (name.startswith("to_") and call.args and name not in READING_METHODS):
            return "write"
        if name in IN_MEMORY:
            return "read" if isinstance(call.func, ast.Attribute) and self._is_plain(call.func.value) else "unknown"
        return "read" if name in READING_METHODS or name.startswith(("is_", "get_", "read_")) else "unknown"

    def _mention_effect(self, node: ast.Name | ast.Attribute) -> EffectKind:
        """What may be done with a function that is only named: `map(os.remove, files)`."""
        if isinstance(node, ast.Name):
            is_plain = node.id not in self._imported and (node.id in PURE_BUILTINS or not hasattr(builtins, node.id))
            return "read" if is_plain or node.id in self._own else self._named(node)
        return "unknown" if node.attr.startswith("__") or node.attr in WRITING_METHODS else self._named(node)

    def _named(self, node: ast.Name | ast.Attribute) -> EffectKind:
        path = self._path(node)
        if path is None or not self._is_imported(node):
            return "read" if isinstance(node, ast.Attribute) else "unknown"
        module, _, name = path.partition(".")
        writes = MODULES[module][1] if module in MODULES else frozenset()
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


def _command_in(call: ast.Call) -> str:
    """The command line that `subprocess.run` is given; empty for one that is not written down."""
    given = call.args[0] if call.args else None
    if any(keyword.arg in (None, "executable") for keyword in call.keywords):
        return ""
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    words = [item.value for item in given.elts if isinstance(item, ast.Constant)] if isinstance(given, ast.List) else []
    is_whole = isinstance(given, ast.List) and len(words) == len(given.elts)
    return shlex.join(map(str, words)) if is_whole else ""


def _module_effect(path: str, *, has_arguments: bool) -> EffectKind:
    """What a function of an imported module does."""
    module, name = path.partition(".")[0], path.rpartition(".")[2]
    if not _NOT_THEIRS.isdisjoint(path.split(".")[1:]) and module != "os":
        return "unknown"
    if module in COMPUTING:
        if name in WRITING_METHODS or (name.startswith("to_") and has_arguments):
            return "write"
        return "unknown" if name in _MAY_RUN_CODE or (name == "load" and module == "numpy") else "read"
    reads, writes = MODULES.get(module, (frozenset(), frozenset()))
    return "read" if name in reads else "write" if name in writes else "unknown"
