"""
Take one run to a collector, batch by batch, and remember how far that went.

The memory of it is a small file per run and collector among the caches, replaced after every batch that was taken. Who
deletes it sends everything once more, which the ids of the spans make harmless. A batch that was taken while its
acknowledgement got lost is sent again, with the same ids.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from agentdbg.analysis.run_columns import CALL_START, LLM, SPAN, TOOL
from agentdbg.encoding import decode_json, encode_json
from agentdbg.index.follow import Follower
from agentdbg.index.run_index import load_run_meta
from agentdbg.interop.otel.delivery import TooLarge
from agentdbg.interop.otel.otlp import encode_batch, encode_span, read_answer
from agentdbg.interop.otel.outline import RUN, Outline
from agentdbg.interop.otel.spans_out import SpanMaker
from agentdbg.storage.layout import index_dir, make_private_folder, open_private, replace_file
from agentdbg.storage.reader import run_folder
from agentdbg.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from agentdbg.events import Event, RunMeta
    from agentdbg.interop.otel.delivery import Collector, Delivery
    from agentdbg.interop.otel.outline import Node

__all__ = ["Pushed", "RunPush"]

_OPERATIONS = frozenset({RUN, LLM, TOOL, SPAN, CALL_START})
_MOST_SPANS = 512
_MOST_BYTES = 1 << 20
"""Of a request, before it is packed; collectors commonly take four megabytes and more."""
_LARGEST_MEMORY = 1 << 16


@dataclass
class Pushed:
    """What came of a push so far."""

    sent: int = 0
    before: int = 0
    """Spans that the collector has from an earlier push."""
    refused: int = 0
    problem: str = ""
    """Why, as the collector says."""
    forgotten: str = ""
    """Why it could not be remembered what was sent."""
    operations: Counter[str] = field(default_factory=Counter)
    """The spans by what they are: `chat`, `execute_tool`, `invoke_agent`, `embeddings` and `other`."""


class RunPush:
    """One run on its way to one collector."""

    def __init__(
        self,
        run_id: str,
        data_dir: Path,
        collector: Collector,
        *,
        openinference: bool = False,
        service: str | None = None,
        again: bool = False,
        lean: bool = False,
    ) -> None:
        self.meta: RunMeta = load_run_meta(run_id, data_dir)
        self.is_over = False
        self.pushed = Pushed()
        self._data_dir = data_dir
        self._service = service
        self._outline = Outline()
        self._maker = SpanMaker(run_id, openinference_names=openinference, lean=lean)
        self._follower = Follower(run_folder(run_id, data_dir), run_id)
        words = f"{'openinference' if openinference else 'genai'}{' lean' if lean else ''}"
        self._memory = _Memory(data_dir, run_id, collector, words)
        self._known = self._before = 0 if again else self._memory.spans()
        self._made = 0
        self._batch: list[Any] = []
        self._batch_bytes = 0
        self._batch_end = 0
        """How many spans there are up to the last of the batch."""

    @property
    def run_id(self) -> str:
        return self.meta["run_id"]

    @property
    def damaged_lines(self) -> int:
        """Lines of the log that are no events, so that nothing could be sent of them."""
        return self._follower.damaged

    @property
    def is_live(self) -> bool:
        """Whether more may come: the run is being recorded and has not ended."""
        return self.meta["status"] == "running" and not self._outline.has_ended

    def advance(self, delivery: Delivery | None, progress: Callable[[float], None] = lambda _: None) -> int:
        """Send every span that is complete now, and give how many; without a delivery they are only counted."""
        before = self.pushed.sent
        # Whether the run is over is asked first: what it wrote before that is then surely read.
        self.meta = load_run_meta(self.run_id, self._data_dir)
        while events := self._follower.poll():
            for event in events:
                self._take(event, delivery)
            progress(self._outline.taken / (sum(self.meta.get("event_counts", {}).values()) or 1))
        if not self.is_live and not self.is_over:
            for node in self._outline.finish():
                self._add(node, delivery)
            self.is_over = True
        self._flush(delivery)
        if self.is_over and self._made < self._before:
            # More was remembered than there is: the memory is of another log, and proves nothing about this one.
            self._begin_anew()
            self.advance(delivery, progress)
        return self.pushed.sent - before

    def _begin_anew(self) -> None:
        self._follower.close()
        self._follower = Follower(run_folder(self.run_id, self._data_dir), self.run_id)
        self._outline = Outline()
        self._known = self._before = self._made = self.pushed.before = 0
        self.is_over = False

    def close(self) -> None:
        """Let go of the run's file."""
        self._follower.close()

    def _take(self, event: Event, delivery: Delivery | None) -> None:
        start = self._outline.start
        if start is not None and start["event_id"] == event["event_id"]:
            # The file begins anew: it was compressed or scrubbed meanwhile. What was sent is skipped.
            self._flush(delivery)
            self._outline, self._known, self._made = Outline(), max(self._known, self._made), 0
        self._maker.hear(event)
        for node in self._outline.take(event):
            self._add(node, delivery)

    def _add(self, node: Node, delivery: Delivery | None) -> None:
        self._made += 1
        if self._made <= self._known:
            self.pushed.before = min(self._before, max(self.pushed.before, self._made))
            return
        span = self._maker.make(node, self.meta)
        self.pushed.operations[span.name.partition(" ")[0] if node.kind in _OPERATIONS else "other"] += 1
        if delivery is None:
            self.pushed.sent += 1
            return
        encoded = encode_span(span)
        size = encoded.ByteSize()
        if self._batch and self._batch_bytes + size > _MOST_BYTES:
            self._flush(delivery)
        self._batch.append(encoded)
        self._batch_bytes += size
        self._batch_end = self._made
        if len(self._batch) >= _MOST_SPANS:
            self._flush(delivery)

    def _flush(self, delivery: Delivery | None) -> None:
        if not self._batch or delivery is None:
            return
        self._send(self._batch, delivery)
        self._batch, self._batch_bytes = [], 0
        try:
            self._memory.remember(self._batch_end)
        except OSError as error:
            # The spans are there; whoever pushes again sends them once more, which does no harm.
            self.pushed.forgotten = error.strerror or type(error).__name__

    def _send(self, spans: list[Any], delivery: Delivery) -> None:
        try:
            answer = delivery.send(encode_batch(spans, self._resource()))
        except TooLarge as error:
            if len(spans) == 1:
                self.pushed.refused += 1
                self.pushed.problem = str(error)
                return
            half = len(spans) // 2
            self._send(spans[:half], delivery)
            self._send(spans[half:], delivery)
            return
        rejected, why = read_answer(answer)
        rejected = min(rejected, len(spans))
        self.pushed.sent += len(spans) - rejected
        self.pushed.refused += rejected
        self.pushed.problem = delivery.without_secrets(why) or self.pushed.problem

    def _resource(self) -> dict[str, Any]:
        return {
            "service.name": self._service or self._program(),
            "telemetry.sdk.name": "agentdbg",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": __version__,
        }

    def _program(self) -> str:
        """The program that was recorded, by the name of its file."""
        start = self._outline.start
        argv = start["payload"].get("argv") if start else None
        first = argv[0] if isinstance(argv, list) and argv else None
        return PurePath(first).stem if isinstance(first, str) and PurePath(first).stem else "agent"


class _Memory:
    """How many spans of a run a collector has, in a file."""

    def __init__(self, data_dir: Path, run_id: str, collector: Collector, words: str) -> None:
        address = f"{collector.scheme}://{collector.host}:{collector.port}{collector.path} {words}"
        key = hashlib.sha256(address.encode()).hexdigest()[:16]
        self._path = index_dir(data_dir) / "push" / f"{run_id}-{key}.json"
        self._facts = {"run_id": run_id, "collector": collector.shown, "words": words}

    def spans(self) -> int:
        try:
            descriptor = open_private(self._path, os.O_RDONLY)
            with os.fdopen(descriptor, "rb") as file:
                content = decode_json(file.read(_LARGEST_MEMORY))
        except (OSError, ValueError):
            return 0
        if not isinstance(content, dict) or {**content, **self._facts} != content:
            return 0
        count = content.get("spans")
        return count if type(count) is int and count > 0 else 0

    def remember(self, spans: int) -> None:
        make_private_folder(self._path.parent)
        replace_file(self._path, encode_json({**self._facts, "spans": spans}) + b"\n")
