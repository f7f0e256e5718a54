"""Deciders are asked again after whatever interrupted somebody who asked them."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest

from agentdbg import current_run, tool, traced_run
from agentdbg.recorder.consultation import is_anybody_to_ask
from agentdbg.recorder.context import own_scope
from agentdbg.recorder.deciders import Decider, deciding


@tool
def search(query: str) -> str:
    return query


@pytest.mark.parametrize("at", range(1, 9))
def test_an_interruption_leaves_nobody_unasked(at: int) -> None:
    """Ctrl-C in the middle of a question must not switch breakpoints, mocks and replays off for good."""
    left = at

    def interrupt(frame: Any, event: str, _argument: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and frame.f_code.co_name == "_ask":
            left -= 1
            if left == 0:
                raise KeyboardInterrupt

    with traced_run("asked"), deciding(Decider()):
        sys.setprofile(interrupt)
        try:
            search("x")
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)

        assert is_anybody_to_ask("tool")


def test_a_place_in_a_run_is_given_back_at_once() -> None:
    """Some programs switch the cyclic collector off; a scope in a ring would keep its run for ever."""
    gc.collect()
    gc.disable()
    try:
        with traced_run("brief"):
            search("x")
            scope = own_scope()
            assert scope is not None
            known = weakref.ref(scope)
            del scope
        assert current_run() is None
        assert known() is None
    finally:
        gc.enable()
