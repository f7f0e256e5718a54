"""A receiver in this process, with a clock that the test holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.config import load_config
from agentdbg.receiver.bodies import PROTOBUF, read_batch
from agentdbg.receiver.traces import Traces
from tests.receiver.running import stored_runs

if TYPE_CHECKING:
    from pathlib import Path


@dataclass
class Receiving:
    """What a request does, without the request; `now` is the clock."""

    data_dir: Path
    now: float = 1000.0
    traces: Traces = field(init=False)

    def __post_init__(self) -> None:
        self.start()

    def start(self, **settings: Any) -> None:
        """A receiver is started, also in the place of one that is gone."""
        self.traces = Traces(load_config(), clock=lambda: self.now, **settings)

    def take(self, body: bytes, media_type: str = PROTOBUF) -> list[str]:
        batch = read_batch(body, media_type)
        return batch.rejected + self.traces.take(batch.spans)

    def wait(self, seconds: float) -> None:
        """Time passes, and the receiver looks around."""
        self.now += seconds
        self.traces.look_around()

    def runs(self) -> list[list[dict[str, Any]]]:
        return stored_runs(self.data_dir)

    def only(self) -> list[dict[str, Any]]:
        (events,) = self.runs()
        return events


@pytest.fixture
def receiving(data_dir: Path) -> Receiving:
    """A receiver that has just been started."""
    return Receiving(data_dir)
