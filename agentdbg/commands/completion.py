"""
Completion for bash, zsh and fish: the script each shell needs, and the answers it asks us for.

A shell calls `agentdbg` with `_AGENTDBG_COMPLETE` set and the line so far in `COMP_WORDS`; we print the words that fit,
one on each line.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agentdbg.commands.find_runs import newest_runs
from agentdbg.commands.help_text import help_of
from agentdbg.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agentdbg.commands.help_page import Help

__all__ = ["ASKED", "answer_shell", "install", "script"]

ASKED = "_AGENTDBG_COMPLETE"

_SCRIPTS = {
    "bash": """\
_agentdbg_complete() {
    local IFS=$'\\n'
    COMPREPLY=( $(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _AGENTDBG_COMPLETE=complete_bash "$1") )
}
complete -o default -F _agentdbg_complete agentdbg
""",
    "zsh": """\
_agentdbg_complete() {
    local -a found
    local place=$((CURRENT - 1))
    found=("${(@f)$(env COMP_WORDS="${(F)words}" COMP_CWORD=$place _AGENTDBG_COMPLETE=complete_zsh agentdbg)}")
    if [[ -n "$found" ]]; then _describe -V agentdbg found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
compdef _agentdbg_complete agentdbg
""",
    "fish": """\
function __agentdbg_complete
    env COMP_WORDS=(commandline -cp | string collect) _AGENTDBG_COMPLETE=complete_fish agentdbg
end
complete -c agentdbg -n __fish_use_subcommand -f -a '(__agentdbg_complete)'
complete -c agentdbg -n 'not __fish_use_subcommand' -a '(__agentdbg_complete)'
""",
}


def script(shell: str | None) -> str:
    """What completes in that shell, or in the one that started us."""
    return _SCRIPTS[_shell(shell)]


def install(shell: str | None) -> str:
    """Make completion last for that shell, or for the one that started us; returns what was done, as a sentence."""
    chosen = _shell(shell)
    home = Path.home()
    if chosen == "fish":
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        written = folder / "fish" / "completions" / "agentdbg.fish"
    else:
        folder = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
        written = folder / "agentdbg" / f"completion.{chosen}"
    written.parent.mkdir(parents=True, exist_ok=True)
    written.write_text(_SCRIPTS[chosen], encoding="utf-8")
    if chosen != "fish":  # which reads that folder by itself
        started_with = home / ".bashrc" if chosen == "bash" else Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
        _add_line(started_with, f"source {shlex.quote(str(written))}")
    return f"Completion for {chosen} is installed in {written}; open a new terminal to use it."


def _add_line(file: Path, line: str) -> None:
    present = file.read_text(encoding="utf-8", errors="surrogateescape") if file.exists() else ""
    if line not in present.splitlines():
        with file.open("a", encoding="utf-8") as settings:
            settings.write(f"{'' if present.endswith(chr(10)) or not present else chr(10)}{line}\n")


def _shell(wanted: str | None) -> str:
    candidates = [wanted] if wanted else [_parent_process(), os.environ.get("SHELL", "")]
    for candidate in candidates:
        name = os.path.basename(candidate).removeprefix("-").removesuffix(".exe")
        if name in _SCRIPTS:
            return name
    known = ", ".join(_SCRIPTS)
    if wanted:
        raise UsageError(f"there is no completion for {wanted!r}, only for {known}")
    raise UsageError(f"which shell? `agentdbg --install-completion NAME`, where NAME is one of {known}")


def _parent_process() -> str:
    try:
        asked = ["ps", "-o", "comm=", "-p", str(os.getppid())]
        return subprocess.run(asked, capture_output=True, text=True, check=False, timeout=5).stdout.strip()  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""


def answer_shell(commands: Mapping[str, str], root: Help) -> None:
    """Print the words that may stand at the end of the line."""
    line, place = os.environ.get("COMP_WORDS", ""), os.environ.get("COMP_CWORD", "")
    words = line.split("\n") if "\n" in line else _split(line)
    at = int(place) if place.isdigit() else len(words) - 1
    current = words[at] if at < len(words) else ""
    kind = os.environ[ASKED]
    for word, text in _candidates(words[1:at], current, commands, root):
        about = " ".join(text.split())
        if kind.endswith("zsh"):
            sys.stdout.write(word.replace(":", "\\:") + (f":{about}" if about else "") + "\n")
        else:
            sys.stdout.write(f"{word}\t{about}\n" if kind.endswith("fish") else f"{word}\n")


def _split(line: str) -> list[str]:
    """The words of a line as a shell has them; the last one is empty where the next one begins."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark that is still open
        words = line.split()
    return [*words, ""] if not words or line[-1:].isspace() else words


def _candidates(before: Sequence[str], current: str, commands: Mapping[str, str], root: Help) -> list[tuple[str, str]]:
    if not before:
        found = _options(root) if current.startswith("-") else dict(commands)
    elif before[0] not in commands:
        return []
    else:
        found = _of_command(before[0], before[1:], current)
    return [(word, about) for word, about in found.items() if word.startswith(current)]


def _of_command(name: str, before: Sequence[str], current: str) -> dict[str, str]:
    shown = help_of(name)
    if "--" in before or (before and before[-1] in _options(shown, with_value=True)):
        return {}
    if name == "run" and _has_program(before, shown):
        return {}
    if current.startswith("-"):
        return _options(shown)
    if not shown.names_runs:
        return {}
    return {"latest": "the newest run", **{run["run_id"][:8]: run["run_name"] or "" for run in newest_runs(50)}}


def _has_program(before: Sequence[str], shown: Help) -> bool:
    """Whether the program to run was named already: what follows it belongs to it."""
    takes_value = _options(shown, with_value=True)
    return any(
        not word.startswith("-") and (at == 0 or before[at - 1] not in takes_value) for at, word in enumerate(before)
    )


def _options(shown: Help, *, with_value: bool = False) -> dict[str, str]:
    """The names of options, and what each is for; all of them, or those that take a value."""
    found = {}
    for left, about in shown.sections["Options"]:
        named = [part.split() for part in left.split(", ")]
        if not with_value or any(len(words) > 1 for words in named):
            found.update({words[0]: about for words in named})
    return found
