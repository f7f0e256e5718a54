"""The two encoders: which of them writes is nobody's business, so what they write must read the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg import encoding

pytestmark = pytest.mark.slow

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(value=_JSON)
def test_what_both_encoders_write_reads_the_same(value: Any) -> None:
    """A run is written by the one that is installed, and may be read by the other."""
    try:
        fast = encoding.encode_json(value)
    except (ValueError, TypeError):  # a lone surrogate, which neither writes
        with pytest.raises((ValueError, TypeError)):
            encoding._encode_plain(value)
        return
    first = encoding._encode_plain(value)
    assert json.loads(first) == json.loads(fast)
    assert encoding.decode_json(first) == encoding.decode_json(fast)
