"""What was said, read out of any shape a message may have."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.analysis.conversation import answer, turns


@pytest.mark.parametrize("kind", [["text"], {"a": 1}, 7, None, True])
def test_a_type_that_is_no_word_is_no_type(kind: Any) -> None:
    """One odd message must not take `explain`, the viewer and every gate over the run with it."""
    message = {"type": kind, "content": "hello"}

    assert answer(message).text == "hello"
    assert turns([{"type": "text", "text": "hi"}, message])[-1].text == "hi\nhello"
