"""
What a program takes from chance and from the machine, where it comes up in what it asks.

An id that it draws, the clock, a temporary folder, an address in memory: each run has others, and a program that puts
one into a prompt does what it did. So where two inputs differ, a text that this process has drawn since the replay
began stands for the one that was recorded at its place, and a reading of the clock for a near one. What was not drawn
is as strict as the rest: an id that somebody wrote down and changed is a difference.

Nothing of it is on any tape: the recorded side stands in the recorded inputs, the drawn one in the memory of this
process.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import os
import re
import sys
import time
import uuid
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from agentdbg.faults import pass_on
from agentdbg.import_hook import when_imported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Chance", "Moment"]

_TEMPORARY = r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s\"'`,;:()<>\[\]{}]+|[A-Z]:\\[^\s\"']*\\Temp\\[^\s\"']+"
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_FULL_TIME = r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?"
_TIME_OF_DAY = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?[AaPp][Mm])?"
_EPOCH = r"1\d{9}(?:\d{3}|\.\d+)?"
_WORDS = "|".join(
    (
        rf"(?P<folder>{_TEMPORARY})",
        rf"(?<![\w.])(?P<time>{_FULL_TIME}|{_TIME_OF_DAY}|{_EPOCH})(?!\w)",
        r"(?<=\bat )(?P<address>0x[0-9a-fA-F]{6,16})(?=>|, file \")",  # as Python writes it, and not that of a crash
        rf"(?<![0-9A-Za-z])(?P<drawn>{_UUID}|[0-9a-fA-F]{{6,128}})(?![0-9A-Za-z])",
        r"(?<!\w)(?<!\d\.)(?P<process>\d{1,7})(?!\w|\.\d)",
    )
)
_TOKEN = re.compile(_WORDS)
_ENCODED = re.compile(_WORDS + r"|(?P<encoded>[A-Za-z0-9_+/-]{6,}={0,2})")
"""With ids in base64 too; any longer word may be one, so these are only looked for when the others do not do."""
_FOLDERS = ("/private/tmp/", "/var/tmp/", "/tmp/")  # noqa: S108 -- compared with, not used
_DAY_S = 86_400
_MOST_DRAWN = 20_000
_LONGEST_DRAWN = 64
_SHORT = 12
"""A piece of so few characters is cut from an end: anywhere else among many, a number would be found by chance."""
_MOST_DIFFERENT = 8
"""So many characters of a temporary file's name are chance."""


class Moment(NamedTuple):
    """When a call was made in the recording: the clock of its run began, was, and the program had worked so long."""

    began: float
    now: float
    worked_s: float
    process: int | None = None
    """The number of the process that made it, where that is known."""


class Chance:
    """What this process has drawn, and what it stands for."""

    def __init__(self) -> None:
        self.temporary = ""
        """The private folder of the replay."""
        self.has_recorded_clock = False
        self.read_from = time.monotonic()
        """When the clock was last set; since then it ticks as long as the program works now."""
        self._drawn: deque[str] = deque(maxlen=_MOST_DRAWN)
        self._latest = object()
        """Another one after each that is drawn, in whatever thread."""
        self._joined = (object(), "")
        """All that was drawn as one text, and up to where."""
        self._now_for: dict[str, str] = {}
        """By what was recorded: what stands in its place now."""
        self._folders: dict[str, str] = {}
        self._undo: list[Callable[[], None]] = []

    # What is drawn.

    def watch(self) -> Callable[[], None]:
        """Remember what is drawn from here on; gives what ends that."""
        self._watch(os, "urandom", self._note_bytes)
        when_imported(["random"], lambda _: self._watch(sys.modules["random"], "_urandom", self._note_bytes))
        known: Any = uuid
        if getattr(known, "_generate_time_safe", None) is not None:
            self._number_by_itself(known)
        self._watch(uuid, "uuid1", self._note_id)
        if getattr(known, "_node", 0) is None:  # it would start a program to learn the machine's own
            known._node = int.from_bytes(os.urandom(6), "big") | 1 << 40  # as where there is none  # noqa: SLF001
            self._undo.append(lambda: setattr(known, "_node", None))
        return self._stop

    def _watch(self, owner: Any, name: str, note: Callable[[Any], None]) -> None:
        draw = getattr(owner, name, None)
        if draw is None:
            return

        @functools.wraps(draw)
        def drawn(*args: Any, **kwargs: Any) -> Any:
            made = draw(*args, **kwargs)
            note(made)
            return made

        setattr(owner, name, drawn)
        self._undo.append(lambda: setattr(owner, name, draw))

    def _number_by_itself(self, known: Any) -> None:
        """What the system's library made is made in Python under another clock, and would take a random number."""
        make = known.uuid1

        @functools.wraps(make)
        def uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
            made: uuid.UUID = make(node, int.from_bytes(os.urandom(2), "big") >> 2 if clock_seq is None else clock_seq)
            return made

        known.uuid1 = uuid1
        self._undo.append(lambda: setattr(known, "uuid1", make))

    def _stop(self) -> None:
        while self._undo:
            self._undo.pop()()

    def _note_bytes(self, made: bytes) -> None:
        if 3 <= len(made) <= _LONGEST_DRAWN:
            self._drawn.append(made.hex())
            if len(made) == 16:
                self._note_id(uuid.UUID(bytes=made, version=4))
            self._drawn.append(base64.b64encode(made).decode())
            self._drawn.append(base64.urlsafe_b64encode(made).decode())
            self._latest = object()

    def _note_id(self, made: uuid.UUID) -> None:
        self._drawn.append(made.hex)
        self._latest = object()

    def _is_drawn(self, text: str) -> bool:
        latest, (joined_to, joined) = self._latest, self._joined
        if joined_to is not latest:
            joined = "\n".join(["", *self._drawn, ""])
            self._joined = (latest, joined)
        return any(_holds(joined, piece) for piece in (text.replace("-", "").lower(), text.rstrip("=")))

    # What stands for what.

    def is_same(self, recorded: Any, now: Any, moment: Moment | None) -> bool:
        """Whether two inputs differ in nothing but what chance has put there; then what stands for what is kept."""
        found: dict[str, str] = {}
        folders: dict[str, str] = {}
        if not all(self._stands_for(*pair, moment, found, folders) for pair in _unequal(recorded, now)):
            return False
        self._now_for.update(found)
        self._folders.update(folders)
        return True

    def _stands_for(
        self, recorded: Any, now: Any, moment: Moment | None, found: dict[str, str], folders: dict[str, str]
    ) -> bool:
        if type(recorded) in (int, float) and type(now) in (int, float):
            return self._is_read(str(recorded), str(now), moment) or _is_process(str(recorded), str(now), moment)
        if type(recorded) is not str or type(now) is not str:
            return False
        for pattern in (_TOKEN, _ENCODED):
            pairs = _pairs(pattern, recorded, now)
            if pairs is not None:
                return all(self._is_chance(*pair, moment, found, folders) for pair in pairs)
        return False

    def _is_chance(
        self,
        kind: str,
        recorded: str,
        now: str,
        moment: Moment | None,
        found: dict[str, str],
        folders: dict[str, str],
    ) -> bool:
        if kind == "address" or _is_process(recorded, now, moment):
            return True
        if kind == "time":
            return self._is_read(recorded, now, moment)
        if kind == "folder":
            return self._is_folder(recorded, now, folders)
        known = found.get(recorded) or self._now_for.get(recorded)
        if known is not None:
            return known == now
        # Two that were told apart are not one now.
        is_taken = now in found.values() or now in self._now_for.values()
        if is_taken or kind == "process" or not self._is_drawn(now):
            return False
        found[recorded] = now
        if "-" in recorded and "-" in now:
            found.setdefault(recorded.replace("-", ""), now.replace("-", ""))
        return True

    def _is_folder(self, recorded: str, now: str, folders: dict[str, str]) -> bool:
        """Whether a path into the private folder stands for one into the folder for temporary files."""
        own = os.path.join(self.temporary, "")
        if not self.temporary or not now.startswith(own):
            return False
        base = next((base for base in _bases(recorded) if recorded.startswith(base)), "")
        was, is_now = re.split(r"[\\/]", recorded[len(base) :]), re.split(r"[\\/]", now[len(own) :])
        if len(was) != len(is_now) or not all(map(_is_made_up_alike, was, is_now)):
            return False
        changed = max((at for at, (old, new) in enumerate(zip(was, is_now, strict=True)) if old != new), default=0)
        folders[base + "/".join(was[: changed + 1])] = own + "/".join(is_now[: changed + 1])
        return True

    def _is_read(self, recorded: str, now: str, moment: Moment | None) -> bool:
        """Whether both are readings of the clock in this run, no further apart than the program's own work is."""
        if moment is None or not self.has_recorded_clock:
            return False
        unit = 60.0 if recorded.count(":") == 1 else 1.0
        works_s = time.monotonic() - self.read_from
        most = 2.0 + moment.worked_s + works_s + (unit if unit > 1 else 0)
        readings = zip(_readings(recorded, moment.now), _readings(now, moment.now), strict=False)

        def is_in_run(reading: float) -> bool:
            return moment.began - unit - 1 <= reading <= moment.now + most

        return any(is_in_run(was) and is_in_run(one) and abs(was - one) <= most for was, one in readings)

    def filled(self, plain: Any) -> Any:
        """A recorded value with what stands in the place of what was drawn then."""
        if not self._now_for and not self._folders:
            return plain
        return self._filled(plain)

    def _filled(self, plain: Any) -> Any:
        if type(plain) is str:
            return self._filled_text(plain)
        if type(plain) is list:
            return [self._filled(item) for item in plain]
        if type(plain) is dict:
            return {key: self._filled(value) for key, value in plain.items()}
        return plain

    def _filled_text(self, text: str) -> str:
        for was, now in self._folders.items():
            text = text.replace(was, now)
        if self._now_for:
            for pattern in (_TOKEN, _ENCODED):
                text = pattern.sub(lambda found: self._now_for.get(found[0], found[0]), text)
        return text


def _is_process(recorded: str, now: str, moment: Moment | None) -> bool:
    """Whether each is the number of its own process. Nothing is put in its place elsewhere: any number may be equal."""
    return moment is not None and recorded == str(moment.process) and now == str(os.getpid())


def _holds(joined: str, piece: str) -> bool:
    if len(piece) > _SHORT:
        return piece in joined
    return f"\n{piece}" in joined or f"{piece}\n" in joined or f"{piece}=" in joined


def _unequal(recorded: Any, now: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs of plain values that are not equal; what has no partner is paired with nothing."""
    if type(recorded) is dict and type(now) is dict and recorded.keys() == now.keys():
        for key, value in recorded.items():
            yield from _unequal(value, now[key])
    elif type(recorded) is list and type(now) is list and len(recorded) == len(now):
        for old, new in zip(recorded, now, strict=True):
            yield from _unequal(old, new)
    elif type(recorded) is not type(now) or recorded != now:
        yield recorded, now


def _pairs(pattern: re.Pattern[str], recorded: str, now: str) -> list[tuple[str, str, str]] | None:
    """The words of two texts that differ, with their kind; None when they are not the same text around them."""
    olds, news = list(pattern.finditer(recorded)), list(pattern.finditer(now))
    if len(olds) != len(news) or pattern.sub("\0", recorded) != pattern.sub("\0", now):
        return None
    pairs: list[tuple[str, str, str]] = []
    for old, new in zip(olds, news, strict=True):
        if old[0] != new[0]:
            if old.lastgroup != new.lastgroup and "time" in (old.lastgroup, new.lastgroup):
                return None
            pairs.append((new.lastgroup or "", old[0], new[0]))
    return pairs


def _bases(path: str) -> tuple[str, ...]:
    """The folders for temporary files that a recorded path may be in, the longest first."""
    mac = re.match(r"(?:/private)?/var/folders/[^/]+/[^/]+/T/", path)
    windows = re.match(r"[A-Z]:\\.*?\\Temp\\", path)
    return (*(found[0] for found in (mac, windows) if found), *_FOLDERS)


def _is_made_up_alike(old: str, new: str) -> bool:
    """Whether two names are one but for the few characters that `tempfile` draws."""
    if old == new:
        return True
    if len(old) != len(new):
        return False
    different = [at for at, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
    return different[-1] - different[0] < _MOST_DIFFERENT


def _readings(text: str, near: float) -> list[float]:
    """What moments a text may stand for, in seconds since 1970: here and in Greenwich, on the day of another moment."""
    try:
        if "-" in text[4:5]:
            moment = dt.datetime.fromisoformat(text.replace(",", ".").replace("Z", "+00:00"))
            if moment.tzinfo is not None:
                return [moment.timestamp()]
            return [moment.timestamp(), moment.replace(tzinfo=dt.timezone.utc).timestamp()]
        if ":" not in text:
            number = float(text)
            return [number / 1000 if number > 1e11 else number]
        clock, half = text.rstrip("aApPmM ").replace(",", "."), text.rstrip("mM")[-1:].lower()
        parts = [float(part) for part in clock.split(":")]
    except (ValueError, OverflowError) as error:
        pass_on(error)
        return []
    hours = parts[0] % 12 + 12 * (half == "p") if half in ("a", "p") else parts[0]
    since_midnight = hours * 3600 + parts[1] * 60 + sum(parts[2:])
    readings: list[float] = []
    for zone in (None, dt.timezone.utc):
        midnight = dt.datetime.fromtimestamp(near, tz=zone).replace(hour=0, minute=0, second=0, microsecond=0)
        reading = midnight.timestamp() + since_midnight
        readings.append(reading - _DAY_S if reading > near + _DAY_S / 2 else reading)
    return readings
