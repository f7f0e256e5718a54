"""`agentdbg export`: runs in the forms other people and other tools read."""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agentdbg.analysis.wording import count_noun
from agentdbg.commands.find_runs import find
from agentdbg.commands.options import Argument, Option, chosen_format
from agentdbg.commands.terminal import Progress, Terminal
from agentdbg.commands.times import since as moment
from agentdbg.exceptions import UsageError
from agentdbg.index.run_index import RunFilter, RunIndex, load_run_meta
from agentdbg.interop.exports.run_content import Run, part_of, write_whole
from agentdbg.interop.tables.parquet import write_tables
from agentdbg.storage.layout import make_private_folder, run_dir
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.interop.exports.run_content import Progress as Report

EXAMPLES = """
agentdbg export latest                                   # writes run-a41f29c0.json here
agentdbg export latest --out run.json
agentdbg export a41f --out - | jq '.events | length'
agentdbg export a41f --out shared/run.html               # opens in any browser, offline
agentdbg export a41f --format markdown --out -           # to paste into an issue
agentdbg export a41f --format chrome --out trace.json    # opens in Perfetto
agentdbg export --all --format parquet --out tables/     # for DuckDB, Spark, pandas
agentdbg export --since 7d --format jsonl --out week.jsonl
agentdbg export a41f --format jsonl --with-tape --out run.jsonl   # with every value whole; import reads it back
"""


@dataclass(frozen=True)
class Format:
    """How a format is written: the ending of its files, and whether several runs go into one."""

    suffix: str
    module: str = ""
    """The one in `interop.exports` that writes it as a stream; none for tables, which are a folder."""
    holds_many: bool = True


FORMATS = {
    "json": Format("json", "json_document", holds_many=False),
    "jsonl": Format("jsonl", "jsonl"),
    "markdown": Format("md", "markdown"),
    "chrome": Format("json", "chrome_trace"),
    "parquet": Format("parquet"),
    "html": Format("html", "html", holds_many=False),
}
_OF_OTHERS = frozenset({"csv", "db", "docx", "pdf", "sqlite", "tsv", "txt", "xls", "xlsx", "xml", "yaml", "yml"})
"""Endings of files that hold something else than any of these formats."""


def command(
    runs: Annotated[list[str] | None, Argument("[RUN]...", "Runs: ids, unique prefixes, or `latest`.", "runs")] = None,
    out: Annotated[
        str | None,
        Option("--out", "-o", metavar="PATH", help="Where to; `-` is standard output. Left out: a new file here."),
    ] = None,
    form: Annotated[
        str | None,
        Option(
            "--format",
            "-f",
            metavar="FORMAT",
            help="json, jsonl, markdown, chrome, parquet or html; else by the ending.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="The same as --format json.")] = False,
    all_runs: Annotated[bool, Option("--all", help="Every run there is.")] = False,
    since: Annotated[str | None, Option("--since", metavar="WHEN", help="Those since 2h, 7d, today …")] = None,
    with_tape: Annotated[
        bool, Option("--with-tape", help="The whole values of calls too (json, jsonl): a recording by itself.")
    ] = False,
) -> None:
    """
    Write runs in a form others read. json is one document: spec_version, run and events. jsonl is the events as they
    are stored. markdown is the run for a person or an issue. chrome opens in Perfetto. html is one file with the viewer
    in it. parquet is a folder with two tables, runs and events. What is written is for your eyes only (mode 0600).
    """
    by_ending = "json" if form is not None or as_json else _by_ending(out or "")
    form = chosen_format(by_ending if form is None else form, by_ending, as_json=as_json)
    chosen_form = FORMATS.get(form)
    if chosen_form is None:
        raise UsageError(f"there is no format {form!r}; it is one of {', '.join(FORMATS)}")
    if with_tape and form not in ("json", "jsonl"):
        raise UsageError(f"a tape goes into json and jsonl; {form} leaves it out")
    chosen = _chosen(runs or [], since, all_runs=all_runs)
    out = out or _free_name(chosen, form)
    with Progress("Exporting") as progress:
        if form == "parquet":
            _write_tables(chosen, out, progress.at)
        elif chosen_form.holds_many or len(chosen) == 1:
            _write_one(chosen, form, out, progress.at, with_tape=with_tape)
        else:
            _write_folder(chosen, form, Path(out), progress.at, with_tape=with_tape)
    if out != "-":
        Terminal(sys.stderr).line(f"Wrote {out}: {count_noun(len(chosen), 'run')} as {form}.", cut=False)


def _by_ending(out: str) -> str:
    """The format that a file's name asks for; json where it asks for none. One that is not written is refused."""
    ending = Path(out).suffix.lower().removeprefix(".")
    if ending in _OF_OTHERS:
        raise UsageError(f"no run is written as .{ending}; the formats are {', '.join(FORMATS)} (--format chooses one)")
    return next((name for name, form in FORMATS.items() if ending in (form.suffix, name)), "json")


def _free_name(chosen: Sequence[Run], form: str) -> str:
    """A name in the current folder that nothing has yet, by the run's id."""
    stem = f"run-{chosen[0].run_id[:8]}" if len(chosen) == 1 else f"runs-{form}"
    is_folder = form == "parquet" or (len(chosen) > 1 and not FORMATS[form].holds_many)
    suffix = "" if is_folder else f".{FORMATS[form].suffix}"
    names = (f"{stem}{f'-{number}' if number > 1 else ''}{suffix}" for number in count(1))
    return next(name for name in names if not Path(name).exists())


def _chosen(names: Sequence[str], since: str | None, *, all_runs: bool) -> list[Run]:
    """The runs asked for, in the order they were named, or the oldest first."""
    if bool(names) + all_runs + (since is not None) != 1:
        raise UsageError("say which runs, in one way: their ids or `latest`, --since 7d, or --all")
    data_dir = default_data_dir()
    if names:
        ids = dict.fromkeys(find(name, data_dir) for name in names)
        metas = [load_run_meta(run_id, data_dir) for run_id in ids]
    else:
        index = RunIndex(data_dir)
        with Progress("Reading runs") as progress:
            index.refresh(thorough=False, progress=progress.at)
        metas = index.page(RunFilter(since=None if since is None else moment(since)), None).runs[::-1]
        if not metas:
            raise UsageError(f"there are no runs in {data_dir}" + (f" since {since}" if since else ""))
    return [Run(meta, run_dir(data_dir, meta["run_id"])) for meta in metas]


def _write_one(chosen: Sequence[Run], form: str, out: str, progress: Report, *, with_tape: bool = False) -> None:
    """One file, or standard output."""
    write = importlib.import_module(f"agentdbg.interop.exports.{FORMATS[form].module}").write
    if with_tape:
        write = partial(write, with_tape=True)
    if out != "-":
        with suppress(OSError):  # what cannot be made is said by who writes into it
            os.makedirs(Path(out).parent, exist_ok=True)
        write_whole(Path(out), lambda put: write(chosen, put, progress))
        return
    standard_output = Terminal()
    write(chosen, standard_output.bytes, progress)
    standard_output.flush()


def _write_folder(chosen: Sequence[Run], form: str, folder: Path, progress: Report, *, with_tape: bool) -> None:
    """A file for each run, named by its id."""
    _make_folder(str(folder), f"a {form} file holds one run")
    for position, run in enumerate(chosen):
        path = folder / f"{run.run_id}.{FORMATS[form].suffix}"
        _write_one([run], form, str(path), part_of(progress, position, len(chosen)), with_tape=with_tape)


def _write_tables(chosen: Sequence[Run], out: str, progress: Report) -> None:
    _make_folder(out, "parquet is two files")
    write_tables(chosen, Path(out), progress)


def _make_folder(out: str, why: str) -> None:
    path = Path(out)
    if out == "-" or (path.exists() and not path.is_dir()):
        raise UsageError(f"{why}, so --out is a folder for them; {out!r} is none")
    if not path.is_dir():
        with suppress(OSError):  # what cannot be made is said by who writes into it
            os.makedirs(path.parent, exist_ok=True)
        make_private_folder(path)
