"""
Make one plain script of ES modules.

A page that is opened from a file may load no modules, and a content security policy that names the script by its hash
needs it in one piece. Each module becomes a function that is called when somebody first needs it. Only what the page's
own modules use is understood: named imports and exports and `import("…")`. Anything else raises: a default, `import *`,
`import.meta`, or an exported name that may change later, since what is imported here is a copy.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from agentdbg.interop.html_file.script_tokens import Token, UnknownSyntax, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["UnknownSyntax", "join_modules"]

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
