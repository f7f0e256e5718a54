"""
Whether a command line reads or writes: `ls -la` reads, `rm x`, `git push`, `sed -i` and `> file` write.

Every command of a line counts, also inside `$(…)`, behind `xargs` and in `bash -c`. What is not surely a read is
unknown: a program nobody knows, a script that is run, a line that cannot be split.
"""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

from agentdbg.analysis.effect_guess import shell_syntax as programs
from agentdbg.analysis.effect_guess.python_and_sql import python_effect, sql_effect
from agentdbg.analysis.effect_guess.shell_syntax import SimpleCommand, Unreadable, split_commands
from agentdbg.analysis.effect_guess.tool_names import EffectKind, name_effect, together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["shell_effect"]

_DEEPEST = 5
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_NO_FILE = frozenset({"/dev/null", "/dev/stderr", "/dev/stdout", "/dev/tty", "-", "NUL", "$null"})
_ONLY_TELLS = frozenset({"--version", "--help", "-V", "-version"})
_CMDLET = re.compile(r"([A-Z][a-z]+)-[A-Z]\w+")
_CMDLET_READS = frozenset({"Get", "Select", "Where", "Format", "Measure", "Test", "Compare", "ForEach", "Sort", "Find"})
_SHORT_OPTIONS = re.compile(r"-[A-Za-z]+")
_HTTP_READS = frozenset({"GET", "HEAD", "OPTIONS"})


def shell_effect(text: str, depth: int = 0) -> EffectKind:
    """What a command line does, all its commands together."""
    try:
        commands = split_commands(text)
    except Unreadable:
        return "unknown"
    if depth > _DEEPEST or not commands:
        return "unknown"
    return together(_command_effect(command, depth) for command in commands)


def _command_effect(command: SimpleCommand, depth: int) -> EffectKind:
    kinds = [shell_effect(inner, depth + 1) for inner in command.inner]
    if any(target not in _NO_FILE for target in command.writes_to):
        kinds.append("write")
    words = list(command.words)
    while words and (_ASSIGNMENT.match(words[0]) or words[0] in programs.KEYWORDS):
        del words[0]
    if words:
        kinds.append(_words_effect(words, command, depth))
    return together(kinds)


def _words_effect(words: Sequence[str], command: SimpleCommand, depth: int) -> EffectKind:
    """What a program does with the words behind it."""
    name, rest = words[0].rpartition("/")[2], list(words[1:])
    if name in programs.WRAPPERS:
        return _wrapped_effect(name, rest, command, depth)
    name = programs.ALIKE.get(name, name)
    if name in programs.SHELLS or name in ("eval", "trap"):
        return _shell_program(name, rest, command, depth)
    if name == "find":
        return _find(rest, command, depth)
    if (elsewhere := _run_elsewhere(name, rest)) is not None:
        return shell_effect(elsewhere, depth + 1)
    if name in _RULES_FOR_TEXT:
        return _RULES_FOR_TEXT[name](rest, command.given)
    return _RULES[name](rest) if name in _RULES else _program_effect(name, rest)


def _program_effect(name: str, rest: Sequence[str]) -> EffectKind:
    """What a program does that has no rule of its own."""
    if len(rest) == 1 and rest[0] in _ONLY_TELLS:
        return "read"
    if name in programs.READS or name in programs.READS_UNLESS:
        return "write" if _has(rest, programs.READS_UNLESS.get(name, frozenset())) else "read"
    if name in programs.WRITES or name in programs.WRITES_UNLESS or name.startswith("mkfs."):
        return "read" if _has(rest, programs.WRITES_UNLESS.get(name, frozenset())) else "write"
    if name in programs.BY_SUBCOMMAND:
        return _subcommand_effect(name, rest)
    cmdlet = _CMDLET.fullmatch(name)
    if cmdlet is not None and cmdlet[1] in _CMDLET_READS:
        return "read"
    return "write" if cmdlet is not None and name_effect(cmdlet[1]) == "write" else "unknown"


def _has(words: Sequence[str], options: frozenset[str]) -> bool:
    """Whether one of the options is given: alone, with a value, or among short ones: `-ni`."""
    letters = {option[1] for option in options if len(option) == 2}
    for word in words:
        if word in options or word.partition("=")[0] in options or ("=" in options and "=" in word):
            return True
        if _SHORT_OPTIONS.fullmatch(word) and not letters.isdisjoint(word[1:]):
            return True
    return False


def _wrapped_effect(name: str, rest: list[str], command: SimpleCommand, depth: int) -> EffectKind:
    """`sudo`, `env`, `timeout 5`, `xargs -n 1`: what follows their own options is run."""
    while rest and (rest[0].startswith("-") or _ASSIGNMENT.match(rest[0]) or rest[0][:1].isdigit()):
        del rest[: 2 if rest[0] in programs.WRAPPERS[name] else 1]
    if name in ("chroot", "flock"):  # the folder, the lock
        del rest[:1]
    if not rest:
        return "read" if name in ("env", "time", "exec", "xargs") else "unknown"
    return _words_effect(rest, SimpleCommand(words=rest, given=command.given), depth)


def _shell_program(name: str, rest: list[str], command: SimpleCommand, depth: int) -> EffectKind:
    if name == "eval":
        return shell_effect(" ".join(rest), depth + 1)
    if name == "trap":
        return shell_effect(rest[0], depth + 1) if len(rest) > 1 else "unknown"
    at = next((at for at, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c|-[Cc]ommand|--command", word)), None)
    if at is not None:
        return shell_effect(rest[at + 1], depth + 1) if len(rest) > at + 1 else "unknown"
    return shell_effect(command.given, depth + 1) if command.given is not None else "unknown"


def _run_elsewhere(name: str, rest: Sequence[str]) -> str | None:
    """The command that `ssh host`, `docker exec box` or `kubectl exec pod --` runs; None where nobody can tell."""
    if name in ("docker", "kubectl"):
        if _subcommands(rest)[0][:1] != ["exec"] or (name == "kubectl" and "--" not in rest):
            return None
        rest = rest[rest.index("--" if name == "kubectl" else "exec") + 1 :]
    elif name != "ssh" or any("command" in word.lower() for word in rest[:-1]):  # `-o ProxyCommand=…`
        return None
    at = 0
    while name != "kubectl" and at < len(rest) and rest[at].startswith("-"):
        at += 2 if rest[at] in _TAKE_A_VALUE[name] else 1
    words = rest if name == "kubectl" else rest[at + 1 :]  # without the host or the container
    return (" ".join(words) if name == "ssh" else shlex.join(words)) if words else None


_TAKE_A_VALUE = {
    "docker": frozenset({"-e", "-u", "-w", "--env", "--env-file", "--user", "--workdir"}),
    "ssh": frozenset({"-b", "-c", "-D", "-E", "-F", "-i", "-J", "-L", "-l", "-o", "-p", "-R", "-S", "-W"}),
}


def _python(rest: list[str], given: str | None) -> EffectKind:
    if rest[:1] == ["-c"] and len(rest) > 1:
        return python_effect(rest[1], shell_effect)
    return python_effect(given, shell_effect) if rest in ([], ["-"]) and given is not None else "unknown"


def _sql_client(rest: list[str], given: str | None) -> EffectKind:
    asked = [after for word, after in pairwise(rest) if word in programs.CODE_OPTIONS]
    # `sqlite3 shop.db "select 1"`
    asked = asked or ([given] if given is not None else [word for word in rest if " " in word])
    return together(map(sql_effect, asked)) if asked else "unknown"


def _sed(rest: list[str]) -> EffectKind:
    if any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in rest):
        return "write"
    # `w file` and `e` inside of a script.
    return "unknown" if any(re.search(r"(?:^|[;/0-9$}\s])[wWe](?:\s|$)", word) for word in rest) else "read"


def _awk(rest: list[str]) -> EffectKind:
    if any(word == "inplace" for word in rest):
        return "write"
    program = " ".join(word for word in rest if not word.startswith("-"))
    if re.search(r"\bprintf?\b[^;}<>]*>>?\s*\"(?!/dev/)", program):
        return "write"
    # Greater-than is common in conditions; behind a print it is a file.
    if re.search(r"system\s*\(|\bgetline\b|\|\s*(?:&|\")|print[^;}]*>", program) or _has(rest, frozenset({"-f"})):
        return "unknown"
    return "read"


def _perl(rest: list[str]) -> EffectKind:
    return "write" if any(re.match(r"-[a-zA-Z0]*i", word) for word in rest) else "unknown"


def _httpie(rest: list[str]) -> EffectKind:
    words = [word for word in rest if not word.startswith("-")]
    method = words[0] if words and words[0].isupper() else ""
    sends = any(re.match(r"[\w.-]+(?::?=(?!=)|@)", word) for word in words[1:])
    if _has(rest, frozenset({"-o", "-d", "--output", "--download"})) or (method or sends) not in (*_HTTP_READS, False):
        return "write"
    return "read" if method else "unknown"  # it posts what it is given on its input


def _gh(rest: list[str]) -> EffectKind:
    if rest[:1] != ["api"]:
        return _subcommand_effect("gh", rest)
    method = next((after for word, after in pairwise(rest) if word in ("-X", "--method")), "")
    method = method or next((found[1] for word in rest if (found := re.match(r"(?:--method=|-X)(.+)", word))), "")
    if not method and "graphql" in rest:
        return "write" if any("mutation" in word for word in rest) else "unknown"
    if not method:
        method = "POST" if _has(rest, frozenset({"-f", "-F", "--field", "--raw-field", "--input"})) else "GET"
    return "read" if method.upper() in _HTTP_READS else "write"


def _kubectl(rest: list[str]) -> EffectKind:
    if _subcommands(rest)[0][:2] in (["rollout", "status"], ["rollout", "history"], ["auth", "can-i"]):
        return "read"
    return _subcommand_effect("kubectl", rest)


def _hostname(rest: list[str]) -> EffectKind:
    return "write" if any(not word.startswith("-") for word in rest) else _program_effect("hostname", rest)


def _tee(rest: list[str]) -> EffectKind:
    return "write" if any(word not in _NO_FILE for word in rest if not word.startswith("-")) else "read"


def _uniq(rest: list[str]) -> EffectKind:
    return "write" if sum(not word.startswith("-") for word in rest) > 1 else "read"


def _xxd(rest: list[str]) -> EffectKind:
    return "write" if "-r" in rest or sum(not word.startswith("-") for word in rest) > 1 else "read"


def _tar(rest: list[str]) -> EffectKind:
    first = rest[0] if rest else ""
    return "read" if "--list" in rest or re.fullmatch(r"-?[abd-qs-tv-wyz]*t[abd-qs-tv-wyz]*", first) else "write"


def _find(rest: list[str], command: SimpleCommand, depth: int) -> EffectKind:
    deletes = any(word in ("-delete", "-fprint", "-fprint0", "-fprintf", "-fls") for word in rest)
    kinds: list[EffectKind] = ["write"] if deletes else []
    for at, word in enumerate(rest):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            run = rest[at + 1 :]
            ends = [end for end, sign in enumerate(run) if sign in (";", "+")]
            inner = run[: ends[0]] if ends else run
            kinds.append(_words_effect(inner, command, depth) if inner else "unknown")
    return together(kinds)


def _curl(rest: list[str]) -> EffectKind:
    method = ""
    sends = saves = False
    for word, after in pairwise([*rest, ""]):
        if given := re.match(r"(?:-[a-zA-Z]*?X|--request=?)(.*)", word):
            method = given[1] or after
        elif re.match(r"-[a-zA-Z]*[dFT]|--(?:data|form|json|upload-file)", word):
            sends = True
        elif re.match(r"-[a-zA-Z]*O|--remote-name", word):
            saves = True
        elif re.match(r"-[a-zA-Z]*[oDc](?![a-zA-Z])|--(?:output|cookie-jar|dump-header)", word):
            saves |= after not in _NO_FILE
    if not method:
        method = "POST" if sends and not _has(rest, frozenset({"-G", "--get"})) else "GET"
    if saves or method.upper() not in _HTTP_READS:
        return "write"
    return "unknown" if _has(rest, frozenset({"-K", "--config"})) else "read"


def _wget(rest: list[str]) -> EffectKind:
    if any(word.startswith(("--post", "--body", "--method")) for word in rest):
        return "write"
    to_output = any(re.fullmatch(r"-[a-zA-Z]*O-", word) or word == "--output-document=-" for word in rest)
    to_output |= any(re.fullmatch(r"-[a-zA-Z]*O", word) and after in _NO_FILE for word, after in pairwise(rest))
    return "read" if to_output or "--spider" in rest else "write"


def _git(rest: list[str]) -> EffectKind:
    while rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else 1]
    if not rest:
        return "read"
    name, given = rest[0], [word for word in rest[1:] if not word.startswith("-")]
    options = frozenset(word.partition("=")[0] for word in rest[1:] if word.startswith("-"))
    if "--output" in options:
        return "write"
    only_shows = name == "apply" and not options.isdisjoint(_GIT_APPLY_SHOWS) and "--apply" not in options
    if only_shows or (name == "config" and len(given) == 1 and options <= {"--global", "--local", "--system"}):
        return "read"
    if name in _GIT_LISTS:
        by_options, by_words = _GIT_LISTS[name]
        if given:
            return "read" if given[0] in by_words or not by_options.isdisjoint(options) else "write"
        is_list = name != "stash" and options <= by_options | _GIT_SHOWS
        return "read" if is_list else "write"
    return _subcommand_effect("git", rest)


_GIT_LISTS: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "branch": (
        frozenset({"--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"}),
        frozenset(),
    ),
    "tag": (frozenset({"-l", "--list", "-n", "--contains", "--points-at", "--merged"}), frozenset()),
    "remote": (frozenset(), frozenset({"show", "get-url"})),
    "config": (frozenset({"--get", "--list", "-l", "--get-all", "--get-regexp"}), frozenset({"list", "get"})),
    "stash": (frozenset(), frozenset({"list", "show"})),
    "worktree": (frozenset(), frozenset({"list"})),
    "submodule": (frozenset(), frozenset({"status", "summary"})),
    "reflog": (frozenset(), frozenset({"show", "exists"})),
    "notes": (frozenset(), frozenset({"list", "show"})),
}
"""Commands of git that list when they are given one of these options or words, or nothing."""
_GIT_APPLY_SHOWS = frozenset({"--check", "--stat", "--numstat", "--summary"})
_GIT_SHOWS = frozenset(
    {"-a", "-r", "-v", "-vv", "--all", "--remotes", "--verbose", "--show-current", "--sort", "--format"}
)


def _subcommand_effect(name: str, rest: Sequence[str]) -> EffectKind:
    """What the first words behind a program say, the tables before what the words mean in a tool's name."""
    reads, writes = programs.BY_SUBCOMMAND[name]
    words, is_sure = _subcommands(rest)
    kinds = [_subcommand_kind(word, reads, writes) for word in words]
    if not words:
        return "read" if rest and rest[0] in reads else "unknown"
    if not is_sure and "write" in kinds:
        return "write"
    # Only the first two words are commands; what follows is what they are given: `docker inspect rm`.
    return next((kind for kind in kinds[:2] if kind is not None), "write" if "write" in kinds[2:3] else "unknown")


def _subcommands(rest: Sequence[str]) -> tuple[list[str], bool]:
    """The first words that are no options, and whether none of them can be the value of one: `-n logs delete`."""
    words: list[str] = []
    is_sure = True
    takes_next = False
    for word in rest:
        if takes_next:
            takes_next = False
        elif word.startswith("-"):
            takes_next = not words and word in programs.VALUE_OPTIONS
            is_sure &= bool(words) or takes_next or "=" in word
        else:
            words.append(word)
    return words[:4], is_sure


def _subcommand_kind(word: str, reads: frozenset[str], writes: frozenset[str]) -> EffectKind | None:
    """What one word says; None for one that says nothing, such as the noun in `aws ec2 describe-instances`."""
    if word in writes:
        return "write"
    if word in reads:
        return "read"
    if word in ("api", "attach", "exec", "port-forward", "proxy", "raw", "run", "ssh"):
        return "unknown"
    guessed = name_effect(word)
    return "write" if guessed == "write" else "read" if guessed == "read" and "-" in word else None


_RULES: dict[str, Callable[[list[str]], EffectKind]] = {
    "awk": _awk,
    "apply_patch": lambda _: "write",
    "curl": _curl,
    "gh": _gh,
    "git": _git,
    "hostname": _hostname,
    "http": _httpie,
    "https": _httpie,
    "kubectl": _kubectl,
    "perl": _perl,
    "sed": _sed,
    "tar": _tar,
    "tee": _tee,
    "uniq": _uniq,
    "wget": _wget,
    "xxd": _xxd,
}
_RULES_FOR_TEXT: dict[str, Callable[[list[str], str | None], EffectKind]] = {
    "python": _python,
    **dict.fromkeys(programs.SQL_CLIENTS, _sql_client),
}
"""Programs that run a text they are given."""
