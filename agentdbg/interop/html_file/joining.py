"""
ES modules made into one plain script.

A page that is opened from a file may load no modules, and a content security policy that names the script by its hash
needs it in one piece. Each module becomes a function that is called when somebody first needs it. Only what the page's
own modules use is understood: named imports and exports and `import("…")`; anything else raises.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["UnknownSyntax", "join_modules"]

_DOC_COMMENT = re.compile(r"/\*\*(?:(?!\*/).)*\*/", re.DOTALL)
_OWN_LINES = re.compile(rf"^[ \t]*{_DOC_COMMENT.pattern}[ \t]*\n", re.DOTALL | re.MULTILINE)
_LINE_COMMENT = re.compile(r"^[ \t]*//.*\n", re.MULTILINE)
_IMPORT = re.compile(r'^import\s+(?:\{([^}]*)\}\s+from\s+)?"([^"]+)";$', re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export\s+\{([^}]*)\};$", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) ([\w$]+))", re.MULTILINE)
_LATER = re.compile(r'\bimport\("([^"]+)"\)')
_NOT_UNDERSTOOD = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
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


class UnknownSyntax(Exception):
    """A module is written in a way that is not understood here."""


def join_modules(read: Callable[[str], str], entry: str, instead: Mapping[str, str]) -> str:
    """
    One script that does what the module `entry` does, with everything it imports.

    `read` gives a module's text by its path. Whoever imports a path that `instead` names gets the other one; only that
    other one itself may still import the first.
    """
    done: dict[str, str] = {}
    _add(entry, read, instead, done, (), is_later=False)
    script = _FRAME.format(modules="\n".join(done.values()), entry=entry)
    if _ENDS_SCRIPT.search(script):
        raise UnknownSyntax("a script in HTML cannot hold what would end it")
    return script


def _add(
    path: str,
    read: Callable[[str], str],
    instead: Mapping[str, str],
    done: dict[str, str],
    above: tuple[str, ...],
    *,
    is_later: bool,
) -> None:
    """Make `path` a function, and before it what it imports."""
    if path in above:
        raise UnknownSyntax(f"{path} imports itself by way of {' and '.join(above[above.index(path) + 1 :])}")
    if path in done:
        return
    text = _without_comments(read(path))
    exports: list[str] = []

    def resolved(specifier: str) -> str:
        found = posixpath.normpath(posixpath.join(posixpath.dirname(path), specifier))
        replacement = instead.get(found, found)
        return found if replacement == path else replacement

    def now(match: re.Match[str]) -> str:
        _add(resolved(match[2]), read, instead, done, (*above, path), is_later=is_later)
        names = ", ".join(name.replace(" as ", ": ") for name in _names(match[1] or ""))
        call = f'need("{resolved(match[2])}");'
        return f"const {{ {names} }} = {call}" if names else call

    def later(match: re.Match[str]) -> str:
        _add(resolved(match[1]), read, instead, done, (), is_later=True)
        return f'Promise.resolve().then(() => need("{resolved(match[1])}"))'

    def listed(match: re.Match[str]) -> str:
        for name in _names(match[1]):
            own, _, public = name.partition(" as ")
            exports.append(f"{public}: {own}" if public else own)
        return ""

    def declared(match: re.Match[str]) -> str:
        exports.append(match[1])
        return ""

    text = _EXPORT.sub(declared, _EXPORT_LIST.sub(listed, _LATER.sub(later, _IMPORT.sub(now, text))))
    if left := _NOT_UNDERSTOOD.search(text):
        raise UnknownSyntax(f"{path}: {left[0]}")
    body = f"{{\n{text.strip()}\nreturn {{ {', '.join(exports)} }};\n}}"
    # In brackets, browsers compile a function while they load it; else they skim it now and read it again when called.
    done[path] = f'"{path}"() {body},' if is_later else f'"{path}": (() => {body}),'


def _names(text: str) -> list[str]:
    return [" ".join(name.split()) for name in text.split(",") if name.strip()]


def _without_comments(text: str) -> str:
    """The code as browsers need it; what is written for readers stays in the package."""
    return _LINE_COMMENT.sub("", _DOC_COMMENT.sub("", _OWN_LINES.sub("", text)))
