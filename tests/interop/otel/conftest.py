"""A collector for every test, and `agentdbg push` in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agentdbg.cli import _run
from agentdbg.interop.otel import delivery
from tests.commands.stored import Ran
from tests.interop.otel.collector import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _plain_surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture
def push(collector: Collector, data_dir: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Push to the collector, or to another address when the test gives one."""

    def run(*arguments: str, to: str | None = None) -> Ran:
        capfd.readouterr()
        code = _run(["push", *arguments, "--otlp", to or collector.url])
        caught = capfd.readouterr()
        return Ran(code, caught.out, caught.err)

    return run


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the push wanted to wait, each time; it does not wait."""
    waited: list[float] = []
    real = delivery.Delivery.__init__

    def without_waiting(self: delivery.Delivery, *arguments: object, **named: object) -> None:
        real(self, *arguments, **{**named, "pause": waited.append})  # type: ignore[arg-type]

    monkeypatch.setattr(delivery.Delivery, "__init__", without_waiting)
    return waited
