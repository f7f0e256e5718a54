"""The command line of `agentdbg replay`, and of what is like it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from agentdbg.autorun.launcher import Program
from agentdbg.commands.help_page import Help
from agentdbg.exceptions import UsageError

__all__ = ["EXAMPLES", "LETTING", "PAUSING", "REPLAY", "About", "Words", "read_words"]

EXAMPLES = """
agentdbg replay 3f2a                            # the same program, nothing live
agentdbg replay 3f2a --until error              # stop at the first error
agentdbg replay 3f2a --ignore 'tool:search args.request_id'
agentdbg replay 3f2a --learn 77ab               # propose what always differs
agentdbg replay 3f2a --call                     # the traced function, without the server around it
agentdbg replay tests/agentdbg/refund.jsonl -- agent.py --fast
agentdbg replay latest --report report.json --allow net:localhost:5432
"""

_HELP = """
Run a recorded program again: its model and tool calls are answered from the recording, in the order in which they
ended. Nothing goes over the network, no process is started, and files are written to a private temporary folder only.
The first thing that differs is told, with both sides and the place in your code.

Exit status: 0 equal, 1 different, 2 it cannot be replayed (the message says why).
"""

LETTING: dict[str, tuple[str, str]] = {
    "--ignore": ("'CALL PATH'", "Pass over a part of inputs: 'tool:search args.query'. May be given again."),
    "--allow": ("RULE", "net:HOST[:PORT], write:PATH or run:COMMAND. May be given again."),
}
"""What lets a program through that differs, or does more than its calls, while it is answered from the recording."""
PAUSING: dict[str, tuple[str, str]] = {
    "--mock": ("NAME=…", "Answer in its place: JSON, @FILE, raise:TYPE, seq:[…], py:FILE.py:FUNCTION."),
    "--fault": ("NAME=…", "Let it fail: timeout, 500, 429, empty, garbage, cut or slow:SECONDS."),
    "--break": ("WHERE", "Pause there: tool:refund, llm:after, error, every … where args.x>1."),
    "--wait": ("SECONDS", "Without a terminal: wait so long at a pause for the page or `agentdbg attach`."),
    "--then": ("WHAT", "continue or abort, when nobody has answered in that time."),
    "--pause": ("WHICH", "call, or world: let everything wait at its next call."),
}
"""What replay and fork share with `agentdbg run`."""

_OPTIONS: dict[str, tuple[str, str]] = {
    # name: what it takes ("" for nothing), help
    "--report": ("FILE", "Write what was found as JSON."),
    "--until": ("EVENT", "Stop at this step: a number as `agentdbg show` has it, an id, error, loop or last."),
    "--loose": ("", "Serve a call from any thread of control, in recorded order."),
    "--on-divergence": (
        "WHAT",
        "stop (default), live: make what is not recorded, or nearest: serve what stands there.",
    ),
    **LETTING,
    "--clock": ("WHICH", "recorded (default) or now."),
    "--keep-sleep": ("", "Sleep as long as the program wants to."),
    "--no-record": ("", "Keep no run of the replay."),
    "--learn": ("RUN", "Run nothing: compare with another recording of the program, and propose what to ignore."),
    "--write": ("", "Add what --learn proposes to .agentdbg/replay.yaml."),
    **PAUSING,
    "--call": ("[MODULE:FUNCTION]", "Call the traced function with its recorded arguments, not the script."),
}
_REPEATED = {"--allow", "--break", "--fault", "--ignore", "--mock", "--secret", "--set", "--set-all"}
_CHOICES = {
    "--clock": ("recorded", "now"),
    "--on-divergence": ("stop", "live", "nearest"),
    "--then": ("continue", "abort"),
    "--pause": ("call", "world"),
    "--writes": ("ask", "deny", "allow", "recorded"),
}


class About(NamedTuple):
    """What a command that runs a recorded program is called, takes and says of itself."""

    command: str
    options: dict[str, tuple[str, str]]
    help: str
    examples: str

    def as_help(self) -> Help:
        rows = [(f"{name} {takes}".rstrip(), text) for name, (takes, text) in self.options.items()]
        return Help(
            usage=[f"agentdbg {self.command} [OPTIONS] RUN|FILE [-- PROGRAM [ARGUMENTS]...]"],
            about=self.help,
            sections={"Options": [*rows, ("-h, --help", "Show this help and exit.")]},
            examples=self.examples,
            names_runs=True,
        )


REPLAY = About("replay", _OPTIONS, _HELP, EXAMPLES)


class Words(NamedTuple):
    """The command line, read."""

    run: str
    options: dict[str, Any]
    program: Program | None
    own_words: int
    """How many words stand before the program."""
    folder: Path
    """Where the command was given: the paths in it begin there."""
    run_at: int = 0
    """Which word names the run, from 0."""


def read_words(words: list[str], about: About | None = None) -> Words | None:
    """Read the command line of `replay`, or of the command that `about` describes; None: its help is asked for."""
    about = about or REPLAY
    count, run, run_at = len(words), None, 0
    options: dict[str, Any] = {}
    program: Program | None = None
    while words:
        word = words.pop(0)
        if word in ("-h", "--help"):
            return None
        if word == "--":
            program = _program(words)
            break
        if word.startswith("-") and word != "-":
            _read_option(word, words, options, about)
        elif run is None:
            run, run_at = word, count - len(words) - 1
        else:
            raise UsageError(f"{word!r} is one word too many; the program to run goes behind `--`")
    if run is None:
        raise UsageError(f"which run? `agentdbg list` shows them, `agentdbg {about.command} --help` has examples")
    program_words = 0 if program is None else len(program.arguments) + (2 if program.is_module else 1)
    return Words(run, options, program, count - program_words, Path.cwd(), run_at)


def _read_option(word: str, words: list[str], options: dict[str, Any], about: About) -> None:
    name, equals, value = word.partition("=")
    if name not in about.options:
        raise UsageError(f"`agentdbg {about.command}` has no option {name}; options of the program go behind `--`")
    takes = about.options[name][0]
    if name == "--call":
        if not equals and words and ":" in words[0] and not words[0].startswith("-"):
            value = words.pop(0)
        options[name] = value
    elif not takes:
        if equals:
            raise UsageError(f"{name} takes no value")
        options[name] = True
    else:
        if not equals:
            if not words:
                raise UsageError(f"{name} needs {takes}")
            value = words.pop(0)
        if name in _CHOICES and value not in _CHOICES[name]:
            raise UsageError(f"{name} is {value!r}; it can be {', '.join(_CHOICES[name])}")
        if name in _REPEATED:
            options.setdefault(name, []).append(value)
        else:
            options[name] = value


def _program(words: list[str]) -> Program:
    words = words[1:] if words[:1] and os.path.basename(words[0]).startswith("python") and len(words) > 1 else words
    if words[:1] == ["-m"]:
        if len(words) < 2:
            raise UsageError("-m needs a module")
        return Program(words[1], words[2:], is_module=True)
    if not words:
        raise UsageError("there is no program behind `--`; give a script, or -m and a module")
    return Program(words[0], words[1:], is_module=False)
