"""`agentdbg scrub`: a secret out of stored runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.asking import confirmed, need_somebody
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.scrubbing import Scrubbed, Scrubber, make_matcher, stored_folders
from agentdbg.commands.terminal import Progress, Terminal, problem
from agentdbg.exceptions import UsageError
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = """
agentdbg scrub sk-live-1a2b3c --dry-run
agentdbg scrub 'sk-live-[A-Za-z0-9]+'          # a regular expression
agentdbg scrub --fixed 'a+b/c==' --yes         # exactly this text
pass show my/token | agentdbg scrub - --yes    # keeps it out of the shell's history
"""


def command(
    pattern: Annotated[str, Argument("PATTERN", "The secret, or a regular expression; `-` reads it from stdin.")],
    fixed: Annotated[bool, Option("--fixed", "-F", help="The pattern is text, never a regular expression.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say where it is found.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """
    Replace a secret by __REDACTED__ in every stored run, the deleted ones too.

    Names, labels, events and caches are rewritten, each file whole or not at all. A run that is still running is left
    alone and named; scrub again when it has ended. This cannot be undone.
    """
    matcher = make_matcher(_secret(pattern), fixed=fixed or pattern == "-")
    data_dir = default_data_dir()
    out = Terminal()
    # Looked for first and changed after, so that the question can say how much there is.
    found = _go_through(Scrubber(data_dir, matcher, dry_run=True), data_dir)
    done = found
    if found.matches and not dry_run:
        if not yes and not _confirmed(found):
            out.line("Nothing was changed.")
            return
        done = _go_through(Scrubber(data_dir, matcher, dry_run=False), data_dir)
    if as_json:
        out.json(
            {
                "matches": done.matches,
                "runs": done.runs,
                "skipped": [*done.running, *done.too_large],
                "dry_run": dry_run,
            }
        )
    else:
        _say(out, done, dry_run=dry_run)
    if done.too_large:
        names = ", ".join(run_id[:8] for run_id in done.too_large)
        problem(f"not looked through, because they hold more than can be read: {names}; delete them if in doubt")
    if done.running:
        names = ", ".join(run_id[:8] for run_id in done.running)
        raise UsageError(f"left alone, because still running: {names}; scrub again when they have ended")


def _secret(pattern: str) -> str:
    secret = sys.stdin.read().strip("\r\n") if pattern == "-" else pattern
    if not secret.strip():
        raise UsageError("there is nothing to look for; give the secret, or a pattern that matches it")
    return secret


def _go_through(scrubber: Scrubber, data_dir: Path) -> Scrubbed:
    folders = stored_folders(data_dir)
    with Progress("Looking through the runs" if scrubber.dry_run else "Scrubbing") as progress:
        for position, folder in enumerate(folders):
            scrubber.scrub_folder(folder)
            progress.at((position + 1) / len(folders))
    scrubber.drop_caches()
    return scrubber.done


def _confirmed(found: Scrubbed) -> bool:
    need_somebody("scrub asks before it changes stored runs")
    return confirmed(f"{_amount(found)}. Replace them for good?")


def _amount(found: Scrubbed) -> str:
    places = f"{found.matches:,} {'place' if found.matches == 1 else 'places'}"
    return f"Found in {places} of {len(found.runs):,} {'run' if len(found.runs) == 1 else 'runs'}"


def _say(out: Terminal, done: Scrubbed, *, dry_run: bool) -> None:
    if not done.matches:
        out.line("Not found in any stored run.")
        return
    out.line(f"{_amount(done)}{'.' if dry_run else ', and replaced.'}")
    for run_id in done.runs:
        out.line(run_id, indent=2)
    if not dry_run:
        problem("an open viewer may still show the old text, so restart it; and renew the secret, it was on disk")
