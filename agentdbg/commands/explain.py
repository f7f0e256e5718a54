"""`agentdbg explain`: what went wrong in a run, in a few lines that can be pasted into an issue or to an assistant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.analysis.findings import add_to_verdict, is_said_by
from agentdbg.analysis.report import figure_line
from agentdbg.analysis.rows import row_sentence
from agentdbg.analysis.stats import figures
from agentdbg.analysis.suspects import RunStory
from agentdbg.analysis.suspects.origins import provenance, unrecorded, where_from
from agentdbg.analysis.verdict import judge
from agentdbg.analysis.wording import cut, one_line
from agentdbg.commands.opened_run import OpenedRun, examined, open_run
from agentdbg.commands.options import Argument, Option
from agentdbg.commands.row_lines import print_verdict
from agentdbg.commands.terminal import Styled, Terminal, clean, wrapped
from agentdbg.events import SPEC_VERSION
from agentdbg.exceptions import UsageError
from agentdbg.storage.reader import load_events, run_folder
from agentdbg.tape.whole_events import WholeEvents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentdbg.analysis.findings import Examination, Finding
    from agentdbg.analysis.stats import Figures
    from agentdbg.analysis.suspects import Suspect
    from agentdbg.analysis.suspects.origins import Origin, Provenance
    from agentdbg.analysis.verdict import Verdict
    from agentdbg.analysis.wording import Line

EXAMPLES = """
agentdbg explain                       # the latest run
agentdbg explain a41f --markdown       # to paste into an issue
agentdbg explain a41f --json | jq '.findings[].sentence'
agentdbg explain --where 1002          # which step brought this value
agentdbg explain --where '#14'         # where every value of event 14 came from
agentdbg explain --check || echo "look at it"
"""

_MARKS = {"critical": ("✕", "error"), "warning": ("!", "warn"), "info": ("·", "muted")}
_MOST_SHOWN = 12
_MOST_EVENTS = 8
_INDENT = 10
_MOST_FROM_TAPE = 64_000_000
"""Bytes of values that are read from the tape to look for one in them."""


def command(
    run: Annotated[str, Argument("[RUN]", "A run: its id, a unique prefix, or `latest`.", "runs")] = "latest",
    as_json: Annotated[bool, Option("--json", help="Print everything that was found as JSON.")] = False,
    as_markdown: Annotated[
        bool, Option("--markdown", "-m", help="Print Markdown, with the events it is about.")
    ] = False,
    where: Annotated[
        str | None,
        Option("--where", metavar="VALUE", help="Say where a value of the run, or every value of event #N, came from."),
    ] = None,
    check: Annotated[bool, Option("--check", help="Exit with 1 when the run failed or has problems.")] = False,
) -> None:
    """
    Explain what went wrong in a run: how it ended, which steps to look at first, what failed and what that led to,
    errors that were swallowed, results that were no answers, calls that do not fit their tool, how the prompt grew, and
    where the time went. All of it is read from the log; no model is asked. With --where VALUE it says which step
    brought a value first, and which steps hold it: a number in any form, a date, an id, a name; with --where '#N',
    where every value of event N came from. With --check the exit code is 0 for a run that ended well and 1 for one that
    failed, died, was interrupted or finished with problems; a failure that was recovered from is none.
    """
    if as_json and as_markdown:
        raise UsageError("--json and --markdown at once make no sense; choose one")
    opened = open_run(run)
    if where is not None:
        _print_where(Terminal(), opened, where, as_json=as_json)
        return
    verdict = judge(opened.tally, opened.meta, opened.now_ms)
    counted = figures(opened.tally, opened.meta, opened.now_ms)
    found = examined(opened)
    add_to_verdict(verdict, found)
    out = Terminal()
    if as_json:
        told = {"run": opened.meta, "verdict": verdict, "figures": counted}
        out.json({"spec_version": SPEC_VERSION, **told, **found.as_json()})
    else:
        _print_or_write(out, opened, verdict, counted, found, as_markdown=as_markdown)
    if check and found.state in ("problems", "failed"):
        out.flush()
        raise SystemExit(1)


def _print_or_write(
    out: Terminal,
    opened: OpenedRun,
    verdict: Verdict,
    counted: Figures,
    found: Examination,
    *,
    as_markdown: bool,
) -> None:
    # Of a run that may be good, what a suspect says is one of the findings.
    suspects = found.suspects if found.state in ("problems", "failed") else []
    told = {suspect.line["n"] for suspect in suspects}
    # What the verdict or a suspect has just said is not said again.
    more = [
        finding
        for finding in found.findings
        if not is_said_by(verdict["lines"], finding) and not (finding.figures.get("suspect") and finding.number in told)
    ][:_MOST_SHOWN]
    if as_markdown:
        out.bytes(_markdown(opened, verdict, counted, suspects, more).encode())
    else:
        _print(out, opened, verdict, counted, suspects, more)


def _print(
    out: Terminal,
    opened: OpenedRun,
    verdict: Verdict,
    counted: Figures,
    suspects: Sequence[Suspect],
    more: Sequence[Finding],
) -> None:
    name = opened.meta["run_name"] or "unnamed"
    print_verdict(out, verdict, name, opened.run_id[:8])
    _print_muted(out, figure_line(counted))
    if suspects:
        out.line()
        out.line(Styled("   Look first at", "strong"))
    for suspect in suspects:
        _print_sentence(out, Styled(f" {suspect.rank} ", "warn"), suspect.number, _with_rate(suspect), "")
    if any(suspect.hit_rate is not None for suspect in suspects):
        _print_muted(out, "In brackets: how often a suspect of its kind was the cause, in labelled runs.")
    if more:
        out.line()
    for finding in more:
        mark, style = _MARKS[finding.severity]
        shown = "muted" if finding.severity == "info" else ""
        _print_sentence(out, Styled(f" {mark} ", style), finding.number, finding.sentence, shown)
    numbers = [number for number in _numbers(verdict["lines"], more) if number]
    if numbers and out.is_terminal:
        out.line()
        shows = f"agentdbg show {opened.run_id[:8]} --event {numbers[0]}"
        _print_muted(out, f"{shows} shows it in full.")


def _with_rate(suspect: Suspect) -> str:
    """What it did, without the number that stands beside it, and how often such a step was the cause."""
    sentence = suspect.sentence.replace(f" #{suspect.number} ", " ", 1)
    return sentence if suspect.hit_rate is None else f"{sentence} ({100 * suspect.hit_rate:.0f} %)"


_WHOSE = {"asked": "given to the run", "model": "said by", "tool": "from", "heard": "in a message from"}


def _print_where(out: Terminal, opened: OpenedRun, value: str, *, as_json: bool) -> None:
    """Every step that holds a value, and whether anybody gave it before a model said it."""
    events = load_events(opened.run_id, opened.data_dir)
    with WholeEvents(run_folder(opened.run_id, opened.data_dir), most_in_all=_MOST_FROM_TAPE) as kept:
        story = RunStory.of_values(kept.sources_of(events))
    head = {"spec_version": SPEC_VERSION, "run_id": opened.run_id}
    if value.startswith("#") and value[1:].isdecimal():
        values = provenance(story, opened.number_of(value))
        if as_json:
            out.json({**head, "event": int(value[1:]), "values": [one.as_json() for one in values]})
        else:
            _print_values(out, value, values)
        return
    found = where_from(story, value)
    if as_json:
        holders = [origin.as_json() for origin in found]
        out.json({**head, "value": value, "found": holders, "not_recorded": unrecorded(story)})
        return
    out.sentence(_where_in_words(value, found))
    is_known = bool(found) and found[0].is_source and found[0].path != "args"
    missing = [number for number in unrecorded(story) if not found or number < (found[0].number or 0)]
    if missing and not is_known:
        out.sentence(f"Parts of {', '.join(f'#{number}' for number in missing[:_MOST_EVENTS])} were not recorded.")
    for origin in found:
        told = f"{_WHOSE[origin.who]} {origin.name}".rstrip() + (f", {origin.path}" if origin.path else "")
        _print_sentence(out, Styled(" · ", "muted"), origin.number, told, "")


def _print_values(out: Terminal, event: str, values: Sequence[Provenance]) -> None:
    """Every value of an event with its source."""
    if not values:
        out.sentence(f"{event} gives no call anything and says no number, date, id or name.")
    for one in values:
        origin = one.origin
        if origin is None:
            told = "from nowhere"
        else:
            told = f"{_WHOSE[origin.who]} {origin.name}".rstrip() + (f", {origin.path}" if origin.path else "")
        number = None if origin is None else origin.number
        _print_sentence(out, Styled(" · ", "muted"), number, f"{cut(one.value, 80)} ({one.path}): {told}", "")


def _where_in_words(value: str, found: Sequence[Origin]) -> str:
    if not found:
        return f"{value} is nowhere in this run."
    first = found[0]
    if first.number is None:
        return f"{value} was given to the run."
    if first.who == "model":
        return f"{value} came from nowhere: {first.name} #{first.number} said it first, and nothing before holds it."
    if first.path == "args":
        return f"{value} came from nowhere: {first.name} #{first.number} was given it, and nothing before holds it."
    return f"{value} came from {first.name} #{first.number}."


def _print_muted(out: Terminal, text: str) -> None:
    for part in wrapped(text, None if out.width is None else out.width - 3):
        out.line(Styled(f"   {part}", "muted"))


def _print_sentence(out: Terminal, mark: Styled, event: int | None, sentence: str, style: str) -> None:
    """A sentence wrapped at words, its mark and number at the left."""
    number = f"#{event}" if event is not None else ""
    width = None if out.width is None else max(out.width - _INDENT, 20)
    for position, text in enumerate(wrapped(clean(sentence), width)):
        head = [mark, Styled(f"{number:>5}  ", "accent")] if position == 0 else [" " * _INDENT]
        out.line(*head, Styled(text, style), cut=False)


def _markdown(
    opened: OpenedRun, verdict: Verdict, counted: Figures, suspects: Sequence[Suspect], more: Sequence[Finding]
) -> str:
    name = one_line(clean(opened.meta["run_name"] or "unnamed"), 120)
    sections = [
        f"## {verdict['word']}: {name}",
        "\n".join(f"- {_marked(line)}" for line in verdict["lines"]),
        figure_line(counted),
    ]
    if suspects:
        rates = [f" ({100 * suspect.hit_rate:.0f} %)" if suspect.hit_rate is not None else "" for suspect in suspects]
        ranked = [f"{one.rank}. {_marked(one.line)}{rate}" for one, rate in zip(suspects, rates, strict=True)]
        sections.append("\n".join(["### Look first at", *ranked]))
    if more:
        listed = [
            f"- {'' if finding.severity == 'info' else f'**{finding.severity}** '}{_marked(finding.line)}"
            for finding in more
        ]
        sections.append("\n".join(["### Also found", *listed]))
    numbers = _numbers([*verdict["lines"], *(suspect.line for suspect in suspects)], more)[:_MOST_EVENTS]
    if numbers:
        rows = opened.builder.rows(sorted(numbers), running=opened.is_live)
        shown = [f"- #{cut(clean(row_sentence(row)), 240)}" for row in rows]
        sections.append("\n".join(["### The events", *shown]))
    shows = f"agentdbg show {opened.run_id[:8]} --event n"
    sections.append(f"Run `{opened.run_id}` in AgentDbg; `{shows}` shows event `#n` in full.")
    return "\n\n".join(section for section in sections if section) + "\n"


def _marked(line: Line) -> str:
    text = "".join(
        f"`{clean(piece['text']).replace('`', chr(39))}`" if piece["style"] != "plain" else clean(piece["text"])
        for piece in line["parts"]
    )
    return text if line["n"] is None else f"#{line['n']}: {text}"


def _numbers(lines: Sequence[Line], more: Sequence[Finding]) -> list[int]:
    """The events spoken of, each once, in the order they are spoken of."""
    spoken: list[Any] = [line["n"] for line in lines]
    spoken += [finding.number for finding in more if finding.severity != "info"]
    return list(dict.fromkeys(number for number in spoken if number is not None))
