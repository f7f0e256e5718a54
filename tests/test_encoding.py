"""The two encoders: which of them writes is nobody's business, so what they write must read the same."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg import encoding

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=_JSON)
def test_the_first_values_of_a_process_read_as_all_others_do(value: Any) -> None:
    """The beginning of a run is written by the standard library, the rest of it by the wheel."""
    try:
        fast = encoding.encode_json(value)
    except (ValueError, TypeError):  # a lone surrogate, which neither writes
        with pytest.raises((ValueError, TypeError)):
            encoding._encode_plain(value)
        return
    first = encoding._encode_plain(value)
    assert json.loads(first) == json.loads(fast)
    assert encoding.decode_json(first) == encoding.decode_json(fast)


def test_after_a_few_values_the_wheel_writes() -> None:
    """A process that goes on writing gets the fast way, without asking for it."""
    program = (
        "import sys\n"
        "from agentdbg import encoding\n"
        "encoding.encode({})\n"
        "assert 'msgspec' not in sys.modules\n"
        "for number in range(1100): assert encoding.encode([number]) == b'[%d]' % number\n"
        "print('msgspec' in sys.modules, encoding.load_fast())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded, is_fast = done.stdout.split()
    assert loaded == is_fast


def test_what_is_compared_is_written_by_one_encoder_from_the_first_value_on() -> None:
    """A float may be written in two ways, and equal calls must stay equal."""
    program = (
        "from agentdbg import encoding\n"
        "first = encoding.encode_json([1e-7, 1e22])\n"
        "for _ in range(30): assert encoding.encode_json([1e-7, 1e22]) == first\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
