"""`agentdbg prune`: old runs deleted or compressed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from agentdbg.commands.options import Option
from agentdbg.commands.streams import confirmed, somebody_answers
from agentdbg.commands.terminal import Terminal, clean
from agentdbg.commands.times import parse_age
from agentdbg.config import load_config
from agentdbg.exceptions import UsageError
from agentdbg.storage.housekeeping import Pruned, drop_tapes, prune
from agentdbg.storage.layout import check_data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.config import Config
    from agentdbg.events import RunMeta

EXAMPLES = """
agentdbg prune --older-than 30d --dry-run
agentdbg prune --older-than 30d --keep 50
agentdbg prune --older-than 30d --yes          # asks nothing, also on a terminal
agentdbg prune --older-than 7d --compress
agentdbg prune --older-than 7d --tapes         # only the whole values of calls, the runs stay
"""

_DAY_S = 86_400
_NAMED = 10


def command(
    older_than: Annotated[str | None, Option("--older-than", metavar="AGE", help="Runs older than 30d, 12h …")] = None,
    keep: Annotated[int | None, Option("--keep", metavar="N", help="Spare the N newest runs.", at_least=0)] = None,
    compress: Annotated[bool, Option("--compress", help="Gzip them instead of deleting them.")] = False,
    tapes: Annotated[bool, Option("--tapes", help="Drop only their tapes: the whole values of calls.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would be done.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """
    Delete or compress old runs. Running ones are never touched; deleted ones can be restored for a day. On a terminal
    it asks before it deletes; a script, which nobody could answer, is not asked.
    """
    config = load_config()
    check_data_dir(config.data_dir)
    done = Pruned()
    if tapes:
        if older_than is None or compress:
            raise UsageError(
                "--tapes drops the tapes of runs older than a time: agentdbg prune --tapes --older-than 30d"
            )
        done = drop_tapes(parse_age(older_than), keep, dry_run=dry_run, data_dir=config.data_dir)
    elif older_than is not None or keep is not None:
        age = None if older_than is None else parse_age(older_than)
        if not (compress or dry_run or yes) and somebody_answers():
            found = prune(age, keep, dry_run=True, data_dir=config.data_dir).deleted
            if found and not _confirmed(found):
                Terminal(sys.stderr).line("Nothing was deleted.")
                return
        done = prune(age, keep, compress=compress, dry_run=dry_run, data_dir=config.data_dir)
    elif config.compress_after_days is None:
        raise UsageError("say which runs: --older-than 30d, --keep 50, or both")
    _do_as_configured(config, done, dry_run=dry_run)
    out = Terminal()
    if as_json:
        ids = {
            "deleted": [run["run_id"] for run in done.deleted],
            "compressed": [run["run_id"] for run in done.compressed],
            "tapes_dropped": [run["run_id"] for run in done.without_tape],
        }
        out.json({**ids, "freed_bytes": done.freed_bytes, "dry_run": dry_run})
        return
    _say(out, done, dry_run=dry_run)


def _confirmed(found: Sequence[RunMeta]) -> bool:
    lines = [f"  {clean(_shown(run))}" for run in found[:_NAMED]]
    if len(found) > _NAMED:
        lines.append(f"  and {len(found) - _NAMED:,} more; --dry-run lists them all")
    lines.append(f"Delete {'this run' if len(found) == 1 else f'these {len(found):,} runs'}?")
    return confirmed("\n".join(lines))


def _shown(run: RunMeta) -> str:
    return f"{run['run_id'][:8]}  {run['started_at'][:10]}  {run['run_name'] or 'unnamed'}"


def _do_as_configured(config: Config, done: Pruned, *, dry_run: bool) -> None:
    """What the settings `compress_after_days` and `tape_days` ask for, beside what was asked for now."""
    touched = {run["run_id"] for run in (*done.deleted, *done.compressed, *done.without_tape)}
    dropped = drop_tapes(config.tape_days * _DAY_S, dry_run=dry_run, data_dir=config.data_dir)
    done.without_tape += [run for run in dropped.without_tape if run["run_id"] not in touched]
    done.freed_bytes += dropped.freed_bytes
    if config.compress_after_days is None:
        return
    more = prune(config.compress_after_days * _DAY_S, compress=True, dry_run=dry_run, data_dir=config.data_dir)
    done.compressed += [run for run in more.compressed if run["run_id"] not in touched]
    done.freed_bytes += more.freed_bytes


def _say(out: Terminal, done: Pruned, *, dry_run: bool) -> None:
    for verb, past, runs in (("delete", "Deleted", done.deleted), ("compress", "Compressed", done.compressed)):
        for run in runs:
            lead = f"Would {verb}" if dry_run else past
            out.line(f"{lead} {_shown(run)}")
    for run in done.without_tape:
        out.line(f"{'Would drop' if dry_run else 'Dropped'} the tape of {_shown(run)}")
    if not done.deleted and not done.compressed and not done.without_tape:
        out.line("Nothing to prune.")
    elif done.freed_bytes:
        freed = f"{done.freed_bytes / 1e6:,.1f} MB" if done.freed_bytes >= 1e5 else f"{done.freed_bytes:,} bytes"
        later = " within a day, when the trash is emptied" if done.deleted else ""
        out.sentence(f"{freed} {'would be' if dry_run else 'are'} freed{later}.")
