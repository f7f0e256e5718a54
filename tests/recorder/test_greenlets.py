"""A greenlet that is spawned inside a run records into it, and sees no other context variable of its spawner."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Recorded

pytest.importorskip("greenlet")

# gevent is not installed here. Its greenlets are those of `greenlet`, with a hook that is called where one is spawned.
_PROGRAM = """
    import contextvars, sys, types
    import greenlet

    class Greenlet(greenlet.greenlet):
        callbacks = []
        add_spawn_callback = classmethod(lambda cls, callback: cls.callbacks.append(callback))

        @classmethod
        def spawn(cls, work, *given):
            spawned = cls(work)
            for callback in cls.callbacks:
                callback(spawned)
            return lambda: spawned.switch(*given)

    for name in ("gevent", "gevent.greenlet"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["gevent.greenlet"].Greenlet = Greenlet
    import agentdbg

    theirs = contextvars.ContextVar("theirs", default="nothing")

    def work(name):
        agentdbg.record_event("SEEN", name, {"theirs": theirs.get()})
        if name == "outer":
            Greenlet.spawn(work, "inner")()

    outside = Greenlet.spawn(work, "outside")
    theirs.set("something")
    with agentdbg.traced_run("one"):
        first = Greenlet.spawn(work, "outer")
        with agentdbg.traced_run("span"):
            second = Greenlet.spawn(work, "in the span")
            second()
        first()
        outside()
    assert not agentdbg.has_active_run()
"""


def test_a_greenlet_belongs_to_the_run_it_is_spawned_in(recorded: Recorded) -> None:
    subprocess.run([sys.executable, "-c", textwrap.dedent(_PROGRAM)], check=True, timeout=120)

    run = recorded.only()
    seen = {event["name"]: event for event in run.of_type("SEEN")}
    assert set(seen) == {"outer", "inner", "in the span"}
    assert {event["payload"]["theirs"] for event in seen.values()} == {"nothing"}
    assert seen["in the span"]["parent_id"] == run.of_type("STATE_UPDATE")[0]["event_id"]
    assert seen["outer"]["parent_id"] == run.one("RUN_START")["event_id"]
