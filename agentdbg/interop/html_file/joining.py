"""
Make one plain script of ES modules.

A page that is opened from a file may load no modules, and a content security policy that names the script by its hash
needs it in one piece. Each module becomes a function that is called when somebody first needs it. Only what the page's
own modules use is understood: named imports and exports and `import("…")`. Anything else raises: a default, `import *`,
`import.meta`, or an exported name that may change later, since what is imported here is a copy.

Find strings, templates, patterns and comments in JavaScript, so that none is taken for code.

`tokens_of` gives what stands between plain code: comments, texts, and the words that matter to imports and exports.
What cannot be told for sure raises `UnknownSyntax`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Token", "UnknownSyntax", "join_modules", "tokens_of"]

_NAMES = r"\{([\w$\s,]*)\}"
_IMPORT = re.compile(rf'import\s+(?:{_NAMES}\s+from\s+)?"([^"\n]+)";')
_EXPORT_LIST = re.compile(rf"export\s+{_NAMES};")
_EXPORT = re.compile(r"export\s+(?=(?:(?:async\s+)?function\b\s*\*?|class\b|const\b)\s*([\w$]+))")
_LATER = re.compile(r'import\(\s*"([^"\n]+)"\s*\)')
_FIELD = re.compile(r"\w+\s*:")
_WORD = re.compile(r"[\w$]+")
_INDENT = re.compile(r"\n\s+")
_ENDS_SCRIPT = re.compile(r"</script|<!--", re.IGNORECASE)

_FRAME = """(() => {{
"use strict";
const made = new Map();
const need = (name) => {{
if (!made.has(name)) made.set(name, modules[name]());
return made.get(name);
}};
const modules = {{
{modules}
}};
need("{entry}");
}})();"""


def join_modules(read: Callable[[str], str], entry: str, instead: Mapping[str, str]) -> str:
    """
    Give one script that does what the module `entry` does, with everything it imports.

    `read` gives a module's text by its path. Whoever imports a path that `instead` names gets the other one; only that
    other one itself may still import the first.
    """
    joiner = _Joiner(read, instead)
    joiner.add(entry, (), is_later=False)
    script = _FRAME.format(modules="\n".join(joiner.done.values()), entry=entry)
    if _ENDS_SCRIPT.search(script):
        raise UnknownSyntax("a script in HTML cannot hold what would end it")
    return script


class _Joiner:
    """The modules that are functions already, each after those it imports."""

    def __init__(self, read: Callable[[str], str], instead: Mapping[str, str]) -> None:
        self.done: dict[str, str] = {}
        self._read = read
        self._instead = instead

    def add(self, path: str, above: tuple[str, ...], *, is_later: bool) -> None:
        """Make `path` a function, and before it what it imports."""
        if path in above:
            raise UnknownSyntax(f"{path} imports itself by way of {' and '.join(above[above.index(path) + 1 :])}")
        if path in self.done:
            return
        try:
            module = _Module(self._read(path))
        except UnknownSyntax as error:
            raise UnknownSyntax(f"{path}: {error}") from None
        for specifier in module.imports:
            self.add(self._resolved(path, specifier), (*above, path), is_later=is_later)
        for specifier in module.later:
            self.add(self._resolved(path, specifier), (), is_later=True)
        text = module.text(lambda specifier: self._resolved(path, specifier))
        body = f"{{\n{text.strip()}\nreturn {{ {', '.join(module.exports)} }};\n}}"
        # In brackets, browsers compile a function while they load it; else they skim it now and read it again later.
        self.done[path] = f'"{path}"() {body},' if is_later else f'"{path}": (() => {body}),'

    def _resolved(self, path: str, specifier: str) -> str:
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
        replacement = self._instead.get(found, found)
        return found if replacement == path else replacement


class _Module:
    """One module's code in pieces: what stays as it is, and what is imported where."""

    def __init__(self, script: str) -> None:
        self.imports: list[str] = []
        self.later: list[str] = []
        self.exports: list[str] = []
        self._script = script
        self._pieces: list[str | tuple[str, str]] = []
        """Code, or an import's specifier with the code in which `%s` stands for the module."""
        self._changing: set[str] = set()
        at = 0
        for token in tokens_of(script):
            if token.start >= at:  # else it is part of a statement that was taken whole
                at = self._take(at, token)
        self._pieces.append(_INDENT.sub("\n", script[at:]))
        self._refuse_changing_exports()

    def text(self, resolved: Callable[[str], str]) -> str:
        """The code as the body of a function; `resolved` gives the module that a specifier means."""
        return "".join(piece if type(piece) is str else piece[1] % resolved(piece[0]) for piece in self._pieces)

    def _take(self, at: int, token: Token) -> int:
        """Take the code from `at` to a token and the token itself, or the whole statement it begins; where to go on."""
        self._pieces.append(_INDENT.sub("\n", self._script[at : token.start]))
        word = self._script[token.start : token.end]
        if token.kind == "comment":
            # What is written for readers stays in the package. A line's end may end a statement, so that is kept.
            self._pieces.append("\n" if "\n" in word else " ")
        elif token.kind == "text" or self._is_a_field(token):
            self._pieces.append(word)
        elif word == "import":
            return self._take_import(token.start)
        elif word == "export":
            return self._take_export(token.start)
        else:
            self._pieces.append(word)
            # All words up to the end of the statement, of which the declared ones are some.
            self._changing.update(_WORD.findall(self._script[token.end : self._script.find(";", token.end)]))
        return token.end

    def _take_import(self, at: int) -> int:
        found = _LATER.match(self._script, at)
        if found is not None:
            self.later.append(found[1])
            self._pieces.append((found[1], 'Promise.resolve().then(() => need("%s"))'))
            return found.end()
        found = self._understood(_IMPORT, at)
        names = ", ".join(name.replace(" as ", ": ") for name in _names(found[1] or ""))
        self.imports.append(found[2])
        self._pieces.append((found[2], f'const {{ {names} }} = need("%s");' if names else 'need("%s");'))
        return found.end()

    def _take_export(self, at: int) -> int:
        found = _EXPORT.match(self._script, at)
        if found is not None:
            self.exports.append(found[1])
            return found.end()
        found = self._understood(_EXPORT_LIST, at)
        for name in _names(found[1]):
            own, _, public = name.partition(" as ")
            self.exports.append(f"{public}: {own}" if public else own)
        return found.end()

    def _refuse_changing_exports(self) -> None:
        for export in self.exports:
            own = export.rpartition(": ")[2]
            if own in self._changing:
                raise UnknownSyntax(f"{own} is exported and may change; whoever imports it would not see that")

    def _understood(self, statement: re.Pattern[str], at: int) -> re.Match[str]:
        found = statement.match(self._script, at)
        if found is None:
            raise UnknownSyntax(self._script[at : at + 100].partition("\n")[0])
        return found

    def _is_a_field(self, token: Token) -> bool:
        """Whether a word is a name after a dot or a key before a colon, and no keyword."""
        before = self._script[max(0, token.start - 100) : token.start].rstrip()
        return before.endswith(".") or _FIELD.match(self._script, token.start) is not None


def _names(text: str) -> list[str]:
    return [" ".join(name.split()) for name in text.split(",") if name.strip()]


class UnknownSyntax(Exception):
    """A module is written in a way that is not understood here."""


class Token(NamedTuple):
    """A piece of a script that is more than plain code: `kind` is comment, word or text."""

    kind: str
    start: int
    end: int


_STRING = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NEXT = re.compile(
    rf"(?P<comment>{_COMMENT.pattern})|(?P<text>{_STRING})|(?P<slash>/)|(?P<tick>`)|(?P<quote>[\"'])"
    r"|(?P<word>(?<![\w$#])(?:import|export|let|var)(?![\w$]))",
    re.DOTALL,
)
_NEXT_IN_TEMPLATE = re.compile(rf"{_NEXT.pattern}|(?P<brace>[{{}}])", re.DOTALL)
_TEMPLATE_TEXT = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
# After these words a slash begins a regular expression; after any other word, a number or a closing bracket it divides.
_BEFORE_A_VALUE = re.compile(
    r"(?<![\w$.])(?:return|typeof|case|in|of|do|else|new|delete|void|instanceof|yield|await|throw)$"
)


def tokens_of(script: str) -> Iterator[Token]:
    """What is more than plain code in a script, in order."""
    at = 0
    code_end = 0
    while found := _NEXT.search(script, at):
        kind, start, at = _token(script, found, code_end)
        if kind:
            yield Token(kind, start, at)
        if kind != "comment":
            code_end = at


def _token(script: str, found: re.Match[str], code_end: int) -> tuple[str, int, int]:
    """The kind of what was found, its start and its end; no kind for a slash that divides."""
    kind, start = str(found.lastgroup), found.start()
    if kind == "slash":
        if _ends_a_value(script, code_end, start):
            return "", start, start + 1
        pattern = _REGEX.match(script, start)
        return "text", start, _end(pattern, "a regular expression", script, start)
    if kind == "tick":
        return "text", start, _template_end(script, start + 1)
    if kind == "quote":
        raise _no_end("a string", script, start)
    return kind, start, found.end()


def _template_end(script: str, at: int) -> int:
    """Where the template literal whose text begins at `at` ends."""
    start = at - 1
    while True:
        at = _end(_TEMPLATE_TEXT.match(script, at), "a template", script, start)
        if script.startswith("`", at):
            return at + 1
        if not script.startswith("${", at):
            raise _no_end("a template", script, start)
        at = _expression_end(script, at + 2)


def _expression_end(script: str, at: int) -> int:
    """Where the `${…}` whose code begins at `at` ends."""
    start, code_end, depth = at, at, 1
    while found := _NEXT_IN_TEMPLATE.search(script, at):
        if found.lastgroup == "brace":
            depth += 1 if found[0] == "{" else -1
            at = found.end()
            if not depth:
                return at
        else:
            at = _token(script, found, code_end)[2]
        if found.lastgroup != "comment":
            code_end = at
    raise _no_end("an expression in a template", script, start)


def _ends_a_value(script: str, code_end: int, at: int) -> bool:
    """Whether a slash at `at` divides what is before it; the code before it begins at `code_end`."""
    text = _COMMENT.sub(" ", script[max(0, code_end - 1) : at]).rstrip()
    if text.endswith("${"):
        return False
    last = text[-1:]
    return last in tuple(")]}`\"'/") or ((last.isalnum() or last in ("_", "$")) and not _BEFORE_A_VALUE.search(text))


def _end(found: re.Match[str] | None, what: str, script: str, at: int) -> int:
    if found is None:
        raise _no_end(what, script, at)
    return found.end()


def _no_end(what: str, script: str, at: int) -> UnknownSyntax:
    return UnknownSyntax(f"{what} has no end: {script[at : at + 40]!r}")
