"""What holds for the packing of any events."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.encoding import decode_json, encode_json
from agentdbg.interop.html_file.contents import Packer
from tests.interop.html_file.opened import opened

pytestmark = pytest.mark.slow

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=40).map(lambda text: text * 4)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(_TEXTS, _VALUES, max_size=4), min_size=1, max_size=8))
def test_what_is_packed_is_unpacked_again(events: list[dict[str, Any]]) -> None:
    """Quotes, backslashes, control characters, strings that come again: none of it may change on the way."""
    packer = Packer()
    blocks = b"".join(packer.add(encode_json(event)) for event in events) + packer.flush()

    assert [decode_json(line) for line in opened(blocks).events()] == events
