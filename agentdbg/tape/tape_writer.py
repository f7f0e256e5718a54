"""
The tape of a run that is being recorded: every value of its calls, whole, redacted, once.

A call is taken in two steps, because what it is given may be changed while it runs: `begin` keeps the input, and the
`TapeCall` that it gives keeps the outcome when the call ends (`returned`, `raised`, `yielded`, `exchanged`, …). Neither
writes. `write` does, with one `write()` for the new values and the call's line, and is called by whoever holds the
run's lock, just before the call's event is written. So no event that is on disk lacks its values.

    call = writer.begin("tool", "search", {"q": "oslo"}, lane, place)
    call.returned(result)                      # or raised(error), yielded(items, …), exchanged(…), lost("why")
    writer.write(call, event_id)               # under the run's lock; None when it belongs to no event

A tape that cannot be written costs nothing but itself: `state` and `why` say so, and run.json with them.
"""

from __future__ import annotations

import functools
import re
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg import encoding
from agentdbg.events import new_id
from agentdbg.faults import Shield, pass_on
from agentdbg.interruptions import is_interruption
from agentdbg.own_os import os
from agentdbg.redaction.sealed_items import own_copy
from agentdbg.storage.layout import TAPE_FILE
from agentdbg.storage.writer import RunWriter
from agentdbg.tape import program
from agentdbg.tape.exchanges import clean_chunks, kept_headers, unpacked_chunks
from agentdbg.tape.origin import data_folder_key, proven
from agentdbg.tape.raised_from import frames_of
from agentdbg.tape.value_names import name_of
from agentdbg.tape.value_store import (
    Lost,
    Taken,
    ValueStore,
    marshalled,
    pieces_in_order,
    raw_bytes,
    read_body,
)
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from agentdbg.config import Config
    from agentdbg.redaction import Redactor
    from agentdbg.redaction.sealed_items import SealedValue

__all__ = ["TapeCall", "TapeWriter"]

_PROCESS = new_id()
_process_id = os.getpid()

_MB = 1_000_000
_MOST_NAMES = 1_000
_UNCHANGING = frozenset({type(None), str, bool, int, float, complex, bytes, range, type(...)})
MOST_KEYS = 50
KEY_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)


class Lane(Protocol):
    """One thread of control of the program, as the recorder knows it."""

    late: bool
    """Whether it was named late, so that its name may be another next time."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def first_digest(self) -> str:
        """A digest of the plain arguments of what runs in it; empty when there are none."""


class TapeCall:
    """One call on its way to the tape. Nothing here raises; what cannot be stored is said in its line."""

    __slots__ = (
        "_given",
        "_out",
        "_raw",
        "_store",
        "_taken",
        "can_be_served",
        "fields",
        "input",
        "is_ended",
        "started",
    )

    def __init__(
        self, store: ValueStore, fields: dict[str, Any], given: Any, started: float, sealed: SealedValue | None = None
    ) -> None:
        self.fields = fields
        self.started = started
        self.can_be_served = True
        """Whether the place where the call is made could give a recorded outcome instead."""
        self._store = store
        self._given = given
        if sealed is not None and id(given) in sealed.raws:
            self._raw = marshalled(given)
        else:
            self._raw = raw_bytes(given) if type(given) in (dict, list) else None
        self._taken: list[Taken] = []
        self._out: dict[str, Any] = {"lost": "it never ended"}
        self.is_ended = False
        """Whether its outcome is known."""
        body = read_body(given)
        taken = self._take(given, raw=self._raw, sealed=sealed) if body is given else self._take(body)
        self.input = taken or _nothing(store)

    @property
    def input_hash(self) -> str:
        """The `h` of this call."""
        return self.input.digest.decode()

    # How it ended.

    def returned(self, value: Any, sealed: SealedValue | None = None) -> None:
        """The call gave this back; `sealed` is the same as its event stores it."""
        self._end({"ok": value}, sealed)

    def raised(self, error: Any, trace: TracebackType | None = None) -> None:
        """
        The call raised this; a framework may tell of an error in words alone.

        `trace` is the exception's traceback where we stood around the call.
        """
        if type(error).__name__ == "CancelledError" and not isinstance(error, Exception):
            self._out = {"cancelled": True}
            self._note_changes()
        else:
            frames = frames_of(error, trace) if isinstance(error, BaseException) else None
            kept = None if frames is None else self._take(frames)
            self._end({"err": error})
            if kept is not None and "err" in self._out:
                self._out["tb"] = encoding.RawJson(kept.reference)

    def as_it_is_now(self, item: Any) -> Any:
        """A list or dict of Python's own types as it is now, whatever is done to it later; any other value itself."""
        raw = raw_bytes(item) if type(item) in (dict, list) else None
        return item if raw is None else own_copy(raw)

    def yielded(
        self, items: list[Any], value: Any = None, error: BaseException | None = None, *, is_closed: bool = False
    ) -> None:
        """A generator gave these one by one, and then returned, raised, or was closed by its consumer."""
        try:
            kept = self._store.take_items(items)
        except Exception as fault:  # as in `_take`
            if is_interruption(fault):
                raise
            self.lost(_reason(fault))
            return
        self._taken.append(kept)
        self._note(kept)
        self._end({"ret": value} if error is None else {"err": error})
        if "lost" not in self._out:
            self._out = {"items": encoding.RawJson(kept.reference), **self._out}
            if is_closed:
                self._out["closed"] = True

    def exchanged(
        self,
        status: int,
        headers: Mapping[str, str],
        chunks: Sequence[bytes],
        at: Sequence[float] = (),
        cut: str | None = None,
    ) -> None:
        """
        An HTTP exchange brought this response: its chunks as they came, and when each came, in milliseconds.

        `cut` says why there are no more: "closed" by its consumer, or the name of the exception it broke off with.
        """
        kept = kept_headers(headers)
        try:
            whole = unpacked_chunks(chunks, kept.pop("content-encoding", "").strip().lower())
            clean = clean_chunks(self._store.redactor, self._store.numbers, whole)
        except Exception as fault:  # as in `_take`
            if is_interruption(fault):
                raise
            self.lost(_reason(fault))
            return
        pieces = self._take([piece for _, piece in clean], is_shared=False)
        if pieces is not None:
            times = [at[number] for number, _ in clean] if len(at) == len(chunks) else []
            said = {"status": status, "headers": kept, "chunks": encoding.RawJson(pieces.reference), "at": times}
            self._out = {"http": {**said, "cut": cut}}
        self.is_ended = True
        self._given = self._raw = None

    def answer_inside(self) -> None:
        """A client's call: what it asks over HTTP is all of what it was given, and is what a replay answers."""
        self.fields["s"] = 0
        self.fields["why"] = "what it asks over HTTP is answered"

    def lost(self, why: str) -> None:
        """How it ended cannot be told."""
        self._out = {"lost": why}
        self.fields["s"] = 0
        self.is_ended = True

    def _end(self, outcome: dict[str, Any], sealed: SealedValue | None = None) -> None:
        for name, value in outcome.items():
            taken = self._take(value, is_shared=False, sealed=sealed)
            if taken is not None:
                self._out = {name: encoding.RawJson(taken.reference)}
                self._note(taken)
        self._note_changes()

    def _note(self, taken: Taken) -> None:
        if taken.unknown is not None:
            self.fields["s"] = 0
            self.fields["why"] = f"{taken.unknown} cannot be recorded"

    def _note_changes(self) -> None:
        """Keep what the call did to its arguments: what it changed is changed again when it is served."""
        if self._raw is not None:
            changed = self._take(self._given) if raw_bytes(self._given) != self._raw else None
        else:
            changed = self._taken_if_other() if self._may_have_changed() else None
        if changed is not None:
            self.fields["after"] = encoding.RawJson(changed.reference)
        self._given = self._raw = None
        self.is_ended = True

    def _may_have_changed(self) -> bool:
        """Whether a tool was given an object, whose fields it may have set."""
        given = self._given
        return (
            self.fields["k"] == "tool" and type(given) is dict and not _UNCHANGING.issuperset(map(type, given.values()))
        )

    def _taken_if_other(self) -> Taken | None:
        with Shield("look at the arguments of a call again"):
            now = self._store.take(self._given)
            if now.digest != self.input.digest:
                self._taken.append(now)
                return now
        return None

    def _take(
        self, value: Any, *, is_shared: bool = True, raw: bytes | None = None, sealed: SealedValue | None = None
    ) -> Taken | None:
        try:
            taken = self._store.take(value, is_shared=is_shared, raw=raw, sealed=sealed)
        except Exception as fault:  # a value that cannot be kept is no reason not to record the call
            if is_interruption(fault):
                raise
            self.lost(_reason(fault))
            return None
        self._taken.append(taken)
        return taken

    def line(self, event_id: str | None, ended: float) -> bytes:
        """The call's own line."""
        fields, times = self.fields, [int(self.started * 1000), int(ended * 1000)]
        if not self.can_be_served and fields.setdefault("s", 1):
            fields["s"], fields["why"] = 0, "it was only observed"
        said = {"c": event_id, **fields, "h": self.input_hash, "in": encoding.RawJson(self.input.reference)}
        said |= {"out": self._out, "s": fields.get("s", 1), "t": times}
        return encoding.encode(said) + b"\n"

    def values(self) -> list[Taken]:
        """All that its line refers to."""
        return self._taken


class TapeWriter:
    """One run's tape.jsonl. `begin` may be called from any thread, `write` under the run's lock."""

    __slots__ = (
        "_begun",
        "_clean_texts",
        "_config",
        "_counting",
        "_folder",
        "_head",
        "_is_begun",
        "_left",
        "_started",
        "_store",
        "_writer",
        "_written",
        "why",
    )

    def __init__(self, folder: str, config: Config, redactor: Redactor) -> None:
        self._folder = folder
        self._config = config
        self._store = ValueStore(redactor)
        self._writer = RunWriter(folder, fsync=config.fsync, file_name=TAPE_FILE)
        self._written: set[bytes] = set()
        self._left = int(config.tape_max_mb * _MB)
        self._head = b""
        self._is_begun = False
        self._begun = 0
        self._counting = threading.RLock()
        self._clean_texts: dict[str, str] = {}
        self._started = time.monotonic()
        self.why: str | None = None
        """Why something is missing on the tape; None while nothing is."""

    @property
    def state(self) -> str:
        """Of the tape: none (nothing was to be kept so far), whole or partial."""
        return "partial" if self.why is not None else "whole" if self._is_begun else "none"

    def prepare(self, run_id: str, argv: list[str], start: Mapping[str, Any], module: Any = None) -> None:
        """Have the head ready; it is written with the first call."""
        call = None
        if start.get("function_name") and type(module) is str:
            given = {**_as_dict(start.get("args")), **_as_dict(start.get("kwargs"))}
            call = {"function": f"{module}:{start['function_name']}", "in": self._reference(given)}
        head = {
            "tape": 1,
            "run_id": run_id,
            "agentdbg": __version__,
            "python": ".".join(map(str, sys.version_info[:3])),
            "process": process_name(),
            "started": round(time.time(), 3),
            "seed": program["seed"],
            "hash_seed": os.environ.get("PYTHONHASHSEED") or "random",
            "argv": argv,
            "module": program["module"] if program["whole"] else _module_of_main(),
            "whole": program["whole"],
            "cwd": _current_folder(),
            "keys": _names_of_keys(len(os.environ)),
            "call": call,
            "rules": self._rules(),
        }
        self._started = time.monotonic()
        self._head = proven(encoding.encode(head), data_folder_key(self._config.data_dir)) + b"\n" + self._head

    def _rules(self) -> str:
        config = self._config
        rules = (config.redact, config.redact_keys, config.redact_values, config.redact_patterns)
        return name_of(repr(rules).encode()).decode()

    def _reference(self, given: Any) -> Any:
        """The reference to what the traced function was called with; its lines follow the head."""
        try:
            taken = self._store.take(given)
        except Exception as fault:  # as in `_take`
            if is_interruption(fault):
                raise
            self.why = _reason(fault)
            return None
        self._head = self._lines(taken)
        return encoding.RawJson(taken.reference)

    def begin(
        self,
        kind: str,
        name: Any,
        given: Any,
        lane: Lane,
        place: int,
        source: str | None = None,
        sealed: SealedValue | None = None,
    ) -> TapeCall:
        """A call is about to be made with `given`, in a lane and at a place of it; `sealed` is what its event gets."""
        fields: dict[str, Any] = {"k": kind, "n": self._clean(name), "lane": lane.name, "p": place}
        with self._counting:
            fields["o"] = self._begun
            self._begun += 1
        if place == 0 and (digest := lane.first_digest):
            fields["g"] = digest
        if lane.late:
            fields["late"] = True
        if source is not None:
            path, colon, line = source.rpartition(":")  # `reset_password.py` names no secret, and 42 is none
            fields["src"] = self._clean(path) + colon + line
        return TapeCall(self._store, fields, given, time.monotonic() - self._started, sealed)

    def _clean(self, text: Any) -> str:
        """A name or a path as it is stored; the few of a run come up again and again."""
        if type(text) is str and text in self._clean_texts:
            return self._clean_texts[text]
        clean = self._store.redactor.clean_text(text)
        if type(text) is str and len(self._clean_texts) < _MOST_NAMES:
            self._clean_texts[text] = clean
        return clean

    def write(self, call: TapeCall, event_id: str | None) -> bool:
        """Put a call and its new values onto the tape with one write; the caller holds the run's lock."""
        with Shield("write the tape of a run"):  # the event is to be written whatever becomes of its tape
            return self._write(call, event_id)
        self.why = "it could not be written"
        return False

    def _write(self, call: TapeCall, event_id: str | None) -> bool:
        call.fields["b"] = self._begun
        line = call.line(event_id, time.monotonic() - self._started)
        lines, new = self._new_lines(call.values())
        data = self._head + lines + line
        if len(data) > self._left:
            call.lost("the tape has no room left")
            self.why = f"it would take more than {self._config.tape_max_mb:g} MB"
            call.fields.pop("after", None)
            call.input = _nothing(self._store)
            data, new = self._head + call.line(event_id, time.monotonic() - self._started), set()
        elif b'"out":{"lost":' in line:
            self.why = self.why or "a value could not be kept"
        is_written = self._writer.append(data)
        if is_written:
            self._head, self._is_begun = b"", True
            self._left -= len(data)
            self._written |= new
            _forget(call.values())
        else:
            self.why = self._writer.problem or "it could not be written"
        return is_written

    def _lines(self, taken: Taken) -> bytes:
        lines, new = self._new_lines([taken])
        self._written |= new
        return lines

    def _new_lines(self, values: list[Taken]) -> tuple[bytes, set[bytes]]:
        """What of some values is not on the tape yet, each after what it needs."""
        lines: list[bytes] = []
        new: set[bytes] = set()
        for taken in values:
            for piece in pieces_in_order(taken.pieces):
                if piece.line and piece.name not in self._written and piece.name not in new:
                    new.add(piece.name)
                    lines.append(piece.line)
        return b"".join(lines), new

    def close(self) -> None:
        """Give the descriptor back."""
        self._writer.close()


def process_name() -> str:
    """One UUID for all runs of this process; a forked child is another process."""
    global _PROCESS, _process_id
    if _process_id != os.getpid():
        _PROCESS, _process_id = new_id(), os.getpid()
    return _PROCESS


def _forget(values: list[Taken]) -> None:
    """Let go of lines that are on disk; what was seen before is still found by its name."""
    for taken in values:
        for piece in pieces_in_order(taken.pieces):
            piece.line, piece.needs = b"", ()


def _nothing(store: ValueStore) -> Taken:
    return store.take(None)


def _reason(fault: Exception) -> str:
    return str(fault) if isinstance(fault, Lost) else f"it could not be read ({type(fault).__name__})"


def _as_dict(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _module_of_main() -> str | None:
    """The module that `python -m` was given; None for a script, also one that is a folder or a zip file."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = getattr(spec, "name", None)
    return name.removesuffix(".__main__") if type(name) is str and name != "__main__" else None


@functools.lru_cache(maxsize=1)
def _names_of_keys(_: int) -> list[str]:
    """Which keys the environment has, by name: a client that asks for one asks in a replay too."""
    return sorted(name for name, value in os.environ.items() if value and KEY_NAME.search(name))[:MOST_KEYS]


def _current_folder() -> str | None:
    try:
        return os.getcwd()
    except OSError as error:
        pass_on(error)
        return None
