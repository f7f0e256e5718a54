"""Events packed for the file."""

from __future__ import annotations

from agentdbg.encoding import encode_json
from agentdbg.interop.html_file.contents import Packer
from tests.interop.html_file.opened import opened


def test_a_block_is_ready_when_it_is_large() -> None:
    """Memory does not grow with the run."""
    packer = Packer()
    ready = [packer.add(encode_json({"number": number, "text": f"{number} " * 5_000})) for number in range(120)]

    assert sum(map(bool, ready)) >= 2
    assert opened(b"".join(ready) + packer.flush()).blocks("events")[0][0] == 1
