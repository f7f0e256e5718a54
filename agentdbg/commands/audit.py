"""
`agentdbg audit`: what the rules of today would hide in runs that are already stored.

Rules grow, and some runs were recorded with redaction off or came from another tool. Nothing is shown whole: a finding
is its first characters and its length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from agentdbg.bounded.json_size import check_json_size
from agentdbg.commands.options import Option
from agentdbg.commands.scrub import Scrubber, stored_folders
from agentdbg.commands.streams import confirmed, need_somebody
from agentdbg.commands.terminal import Progress, Styled, Terminal, problem
from agentdbg.config import load_config
from agentdbg.encoding import decode_json, encode_json
from agentdbg.events import REDACTED
from agentdbg.redaction import DEFAULT_KEYS, RedactionRules, Redactor
from agentdbg.redaction.keys import is_uuid, looks_random
from agentdbg.redaction.whole import SecretNumbers, TooSlow
from agentdbg.storage.reader import default_data_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXAMPLES = """
agentdbg audit                 # what would be hidden today; exits with 1 when there is something
agentdbg audit --strict        # and every long text that looks drawn at random
agentdbg audit --scrub --yes   # replace what was found
"""

_SHORTEST_SCRUBBED = 8
"""A shorter text stands in too many places to be replaced everywhere."""
_SHOWN = 20
_NOT_READ = frozenset({"spec_version", "event_id", "run_id", "parent_id", "event_type", "ts"})
_NOT_READ_OF_A_TAPE = frozenset({"tape", "run_id", "process", "mac", "rules", "v", "h", "l", "b"})
_TAPE_NAME = re.compile(rb'"@[A-Za-z0-9_-]{22}"')
"""What stands in a line of a tape for the value of another: a hash, and so no secret, however random it looks."""
_MOST_LINE_MEMORY = 50 << 20
"""What one line may take when it is read; it is held more than once."""


def command(
    strict: Annotated[bool, Option("--strict", help="Also report long texts that look random.")] = False,
    scrub: Annotated[bool, Option("--scrub", help="Replace what was found by __REDACTED__, after asking.")] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """
    Search every stored run, its tape and the deleted ones for secrets that the rules of today would hide.

    Exits with 1 when something was found and not replaced. Findings are shown by their first characters only.
    """
    data_dir = default_data_dir()
    auditor = _Auditor(data_dir, _redactor(), strict=strict)
    folders = stored_folders(data_dir)
    with Progress("Looking through the runs") as progress:
        for position, folder in enumerate(folders):
            auditor.look_into(folder)
            progress.at((position + 1) / len(folders))
    out = Terminal()
    if as_json:
        out.json(
            {
                "runs": len(folders),
                "found": auditor.as_json(),
                "skipped": [*auditor.done.running, *auditor.done.too_large],
            }
        )
    else:
        _say(out, auditor, len(folders))
    if auditor.found and not (scrub and _scrubbed(out, auditor, data_dir, yes=yes)):
        raise SystemExit(1)


def _redactor() -> Redactor:
    """Today's rules with the user's own patterns and keys, also where the user has switched redaction off."""
    config = load_config()
    keys = tuple(dict.fromkeys((*DEFAULT_KEYS, *config.redact_keys)))
    return Redactor(RedactionRules(keys=keys, patterns=config.redact_patterns))


class _Found(SecretNumbers):
    """Collects what the redactor takes out of one line."""

    __slots__ = ("texts",)

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def mark(self, secret: Any) -> str:
        if secret != REDACTED and not (isinstance(secret, str) and secret.startswith(f"{REDACTED}:")):
            self.texts += _leaves(secret)
        return super().mark(secret)


@dataclass
class _OfRun:
    """What one run holds: each text and how often it was there."""

    texts: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> None:
        self.texts[text] = self.texts.get(text, 0) + 1


class _Auditor(Scrubber):
    """Reads run folders as `scrub` does, and changes nothing."""

    def __init__(self, data_dir: Path, redactor: Redactor, *, strict: bool) -> None:
        super().__init__(data_dir, lambda text: (text, 0), dry_run=True)
        self.found: dict[str, _OfRun] = {}
        self._redactor = redactor
        self._strict = strict
        self._run = _OfRun()

    def look_into(self, folder: Path) -> None:
        """All files of one run."""
        self._run = _OfRun()
        self.scrub_folder(folder)
        if self._run.texts:
            self.found[folder.name] = self._run

    def scrub_line(self, line: bytes) -> tuple[bytes, int]:
        """The line as it is, and how much was found in it."""
        try:
            check_json_size(line, _MOST_LINE_MEMORY)
            value = decode_json(line.rstrip(b"\r\n"))
        except ValueError:  # not JSON, or made to take all memory: a text then
            value = line.decode("utf-8", "replace")
        if isinstance(value, dict):
            is_event = "event_type" in value
            value = value if is_event else decode_json(_TAPE_NAME.sub(b"null", line.rstrip(b"\r\n")))
            skipped = _NOT_READ if is_event else _NOT_READ_OF_A_TAPE
            value = {key: item for key, item in value.items() if key not in skipped}
        found = _Found()
        try:
            self._redactor.whole(value, encode_json(value), found)
        except (TooSlow, RecursionError):
            problem("one line took too long to read and was left out")
        texts = [*found.texts, *(_random_texts(value) if self._strict else ())]
        for text in texts:
            self._run.add(text)
        return line, len(texts)

    def as_json(self) -> list[dict[str, Any]]:
        """Every finding, without the secret."""
        return [
            {"run_id": run_id, "begins_with": text[:4], "length": len(text), "times": times}
            for run_id, run in self.found.items()
            for text, times in run.texts.items()
        ]


def _leaves(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() and value != REDACTED else []
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in _leaves(item)] if isinstance(value, list) else []


_LONG_TEXT = re.compile(r"(?<![A-Za-z0-9_\-./+])[A-Za-z0-9_\-+=]{24,200}(?![A-Za-z0-9_\-./+])")
_ID_OF_SOMETHING = re.compile(
    r"(?:call|chatcmpl|cmpl|toolu|tooluse|req|msg|run|resp|rs|fc|fp|asst|thread|step|file|batch|evt|item|gen|id)[-_]"
)


def _random_texts(value: Any) -> Iterator[str]:
    """Texts of capitals, small letters and digits that nobody wrote; ids that model services give are left out."""
    for leaf in _leaves(value):
        for token in _LONG_TEXT.findall(leaf[:200_000]):
            kinds = {"upper" if letter.isupper() else "lower" if letter.islower() else "other" for letter in token}
            is_mixed = {"upper", "lower"} <= kinds and any(map(str.isdigit, token))
            if is_mixed and looks_random(token) and not is_uuid(token) and not _ID_OF_SOMETHING.match(token):
                yield token


def _say(out: Terminal, auditor: _Auditor, runs: int) -> None:
    looked = f"{runs:,} {'run' if runs == 1 else 'runs'} looked through"
    if auditor.done.running:
        looked += f"; {len(auditor.done.running):,} still running, not read"
    if auditor.done.too_large:
        names = ", ".join(run_id[:8] for run_id in auditor.done.too_large[:_SHOWN])
        problem(f"{len(auditor.done.too_large):,} hold a line or a file too large to be read whole: {names}")
    if not auditor.found:
        out.sentence(Styled("✓ ", "ok"), f"{looked}: nothing that the rules of today would hide.", hang=2)
        return
    count = sum(len(run.texts) for run in auditor.found.values())
    out.line(f"{looked}. {count:,} {'text' if count == 1 else 'texts'} would be hidden today:")
    for run_id, run in list(auditor.found.items())[:_SHOWN]:
        for text, times in list(run.texts.items())[:_SHOWN]:
            often = "" if times == 1 else f", {times:,} times"
            out.line(f"{run_id[:8]}  {text[:4]}…  {len(text):,} characters{often}", indent=2)
    out.sentence(
        "`agentdbg audit --scrub` replaces them; --json lists all. Renew what is a real secret: it was on disk."
    )


def _scrubbed(out: Terminal, auditor: _Auditor, data_dir: Path, *, yes: bool) -> bool:
    """Replace what was found; False when it was not wanted, or when something had to stay."""
    texts = {text for run in auditor.found.values() for text in run.texts}
    secrets = sorted((text for text in texts if len(text) >= _SHORTEST_SCRUBBED), key=len, reverse=True)
    if len(secrets) < len(texts):
        left = len(texts) - len(secrets)
        problem(f"{left:,} are shorter than {_SHORTEST_SCRUBBED} characters, so they stay; delete the run if in doubt")
    if not secrets:
        return False
    if not yes:
        need_somebody("audit asks before it changes stored runs")
        if not confirmed(f"Replace {len(secrets):,} in {len(auditor.found):,} runs for good?"):
            out.line("Nothing was changed.")
            return False
    expression = re.compile("|".join(map(re.escape, secrets)))
    scrubber = Scrubber(data_dir, lambda text: expression.subn(REDACTED, text), dry_run=False)
    for folder in stored_folders(data_dir):
        if folder.name in auditor.found:
            scrubber.scrub_folder(folder)
    scrubber.drop_caches()
    places, runs = scrubber.done.matches, len(scrubber.done.runs)
    out.line(
        f"Replaced in {places:,} {'place' if places == 1 else 'places'} of {runs:,} {'run' if runs == 1 else 'runs'}."
    )
    return len(secrets) == len(texts)
