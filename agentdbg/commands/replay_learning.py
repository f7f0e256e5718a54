"""`agentdbg replay A --learn B`: propose what a replay may pass over, from two recordings of one program."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from agentdbg.commands.streams import print_any_text
from agentdbg.commands.terminal import Terminal
from agentdbg.config import load_config
from agentdbg.control.learning import Learned, count_pairs, learn
from agentdbg.control.recorded_runs import open_recorded
from agentdbg.control.replay_file import find_replay_file, read_replay_file
from agentdbg.exceptions import UsageError
from agentdbg.storage.layout import replace_file

if TYPE_CHECKING:
    from agentdbg.commands.replay_words import Words

__all__ = ["learn_rules"]

_LONGEST_VALUE = 60


def learn_rules(words: Words) -> NoReturn:
    """Compare the two recordings, say what differs, write the rules where that is wanted, and exit."""
    data_dir = load_config().data_dir
    first, second = open_recorded(words.run, data_dir), open_recorded(words.options["--learn"], data_dir)
    try:
        found = learn(first.main, second.main)
        both, others = count_pairs(first.main, second.main)
    finally:
        first.close()
        second.close()
    if not both:
        raise UsageError(f"{first.place} and {second.place} have no call in common: are they of one program?")
    known = read_replay_file().volatile
    proposed = [one for one in found if one.rule is not None and one.rule not in known]
    _say(Terminal(), found, proposed)
    if others:
        Terminal().sentence(f"{others} {'call was' if others == 1 else 'calls were'} made in one of them only.")
    if proposed and "--write" in words.options:
        path = _write(proposed)
        sys.stdout.write(f"wrote {len(proposed)} {'rule' if len(proposed) == 1 else 'rules'} into {path}\n")
    sys.exit(0)


def _say(out: Terminal, found: list[Learned], proposed: list[Learned]) -> None:
    print_any_text()
    if not found:
        out.sentence("The inputs of the calls that both made are equal; there is nothing to pass over.")
    for one in found:
        kinds = "no kind explains it, so it is not proposed" if one.rule is None else ", ".join(one.rule.kinds)
        out.sentence(f"{one.call} {one.path}", f": {kinds}", hang=2)
        out.sentence(_shown(one.first), " / ", _shown(one.second), indent=2, hang=2)
    if proposed:
        out.sentence("As rules for .agentdbg/replay.yaml (--write adds them):")
        for one in proposed:
            out.line(f"  {_line(one)}", cut=False)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _line(learned: Learned) -> str:
    assert learned.rule is not None
    rule = learned.rule
    return f"- {{call: {json.dumps(rule.call)}, path: {json.dumps(rule.path)}, kinds: [{', '.join(rule.kinds)}]}}"


def _write(proposed: list[Learned]) -> Path:
    """Add the rules to the nearest file, or to a new one. Raises UsageError where the file is in a form of its own."""
    path = find_replay_file() or Path.cwd() / ".agentdbg" / "replay.yaml"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    if "volatile:" not in lines:
        if any(line.startswith("volatile") for line in lines):
            raise UsageError(f"volatile in {path} is not a plain list; add the rules there by hand")
        lines.append("volatile:")
    at = lines.index("volatile:") + 1
    lines[at:at] = [f"  {_line(one)}" for one in proposed]
    os.makedirs(path.parent, exist_ok=True)
    replace_file(path, ("\n".join(lines) + "\n").encode())
    read_replay_file()
    return path
