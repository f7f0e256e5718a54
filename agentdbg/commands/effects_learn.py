"""`agentdbg effects`: propose what a project's tools do, to be reviewed and committed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from agentdbg.analysis.checks.run_facts import joined
from agentdbg.analysis.wording import count_noun
from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.run_files import file_of, is_path, read_run_file
from agentdbg.commands.terminal import Terminal
from agentdbg.effect_contracts import CONTRACTS_FILE, LearnedTools
from agentdbg.exceptions import UsageError
from agentdbg.policy_file import effect_rules_of, find_policy
from agentdbg.storage.reader import default_data_dir, load_events

EXAMPLES = """
agentdbg effects learn latest                 # look at what would be written
agentdbg effects learn a41f 77c0 19be -o .agentdbg/effects.yaml
agentdbg effects learn 'good/*.json' --force  # files are runs too; replaces what is there
"""


def command(
    action: Annotated[str, Argument("learn", "What to do: learn.")],
    runs: Annotated[list[str], Argument("RUN...", "Good runs: ids, unique prefixes, `latest`, or files.", "runs")],
    out: Annotated[
        str, Option("--out", "-o", metavar="FILE", help=f"Where to; `-`, the default, prints it. Use {CONTRACTS_FILE}.")
    ] = "-",
    force: Annotated[bool, Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """
    Propose the contracts of the tools that runs have called: whether each reads or writes, and how each argument is
    compared: exact, set (order does not matter), facts (figures, dates, ids and names of a text) or ignored. Review the
    file and commit it as .agentdbg/effects.yaml; `assert`, `gate`, `baseline`, `diff` and tests go by it.
    """
    if action != "learn":
        raise UsageError(f"there is no `agentdbg effects {action}`; it is `agentdbg effects learn RUN...`")
    data_dir = default_data_dir()
    # What the file says already is not asked again: the proposal is made of the runs and the policy alone.
    learned = LearnedTools(effect_rules_of(find_policy(), with_contracts=False))
    for run in runs:
        learned.add(read_run_file(Path(run)).events if is_path(run) else load_events(find(run, data_dir), data_dir))
    if not learned.effects:
        raise UsageError("these runs call no tools, so there is nothing to learn from them")
    if out == "-":
        Terminal().bytes(learned.as_yaml().encode())
        return
    _write(file_of("--out", out), learned.as_yaml(), force=force)
    unknown = sorted(name for name, effect in learned.effects.items() if effect.kind == "unknown")
    said = f" Side effects unknown: {joined(unknown)}; say in it what they do." if unknown else ""
    Terminal().sentence(f"Wrote {out}: {count_noun(len(learned.effects), 'tool')}.{said}")


def _write(path: Path, text: str, *, force: bool) -> None:
    try:
        os.makedirs(path.parent, exist_ok=True)
        with open(path, "w" if force else "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} is there already; --force replaces it") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
