"""The bounds themselves: what they let through is read as before, what they stop is stopped before it takes memory."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import time
import tracemalloc
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.bounded import TooMuch
from agentdbg.bounded.archives import open_archive, read_member
from agentdbg.bounded.files import GzipReader, is_within_bounds, read_all, read_small
from agentdbg.bounded.json_size import SMALL, takes_too_much
from agentdbg.bounded.strict_loading import load_strictly
from agentdbg.bounded.yaml_loading import BoundedLoader
from agentdbg.config import load_config
from agentdbg.encoding import decode_json

if TYPE_CHECKING:
    from pathlib import Path

MB = 1 << 20


def unpacked(packed: bytes, size: int = 65_536) -> bytes:
    reader, found = GzipReader(io.BytesIO(packed)), b""
    while chunk := reader.read(size):
        found += chunk
    return found


@given(st.lists(st.binary(max_size=3000), min_size=1, max_size=4), st.integers(1, 5000), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_what_is_packed_comes_out_again(parts: list[bytes], size: int, padding: int) -> None:
    """Several members, empty ones, and the zeros that some tools put at the end."""
    packed = b"".join(map(gzip.compress, parts)) + bytes(padding)

    assert unpacked(packed, size) == b"".join(parts)
    assert read_all(io.BytesIO(packed), 20_000) == b"".join(parts)


@given(st.binary(min_size=1, max_size=2000), st.data())
@settings(max_examples=60, deadline=None)
def test_a_damaged_file_is_said_to_be_damaged(content: bytes, data: st.DataObject) -> None:
    """It ends too early, or a byte is another one: never a crash, never silently less."""
    packed = bytearray(gzip.compress(content))
    if data.draw(st.booleans()):
        packed = packed[: data.draw(st.integers(2, len(packed) - 1))]
    else:
        packed[data.draw(st.integers(len(packed) - 8, len(packed) - 1))] ^= 1
    with pytest.raises((zlib.error, EOFError)):
        unpacked(bytes(packed))


def test_a_packed_file_unpacks_to_so_much_and_no_more() -> None:
    """A thousand to one is what deflate can do at most, and nobody's log."""
    with pytest.raises(TooMuch, match="200 times"):
        unpacked(gzip.compress(bytes(20 * MB)))
    with pytest.raises(TooMuch, match="more than 1 MB"):
        read_all(io.BytesIO(gzip.compress(bytes(2 * MB))), MB)
    with pytest.raises(TooMuch, match="more than 1 MB"):
        read_all(io.BytesIO(bytes(2 * MB)), MB)
    assert is_within_bounds(1000, MB)


@pytest.mark.slow
def test_a_log_that_repeats_itself_is_no_trap() -> None:
    """Every call of an agent holds the conversation so far; that packs well, and is what packing is for."""
    chosen = random.Random(7)
    words = "".join(chosen.choice("abcdefghijklmnop ") for _ in range(20_000))
    lines = b"".join(json.dumps({"event_id": chosen.random(), "prompt": words}).encode() + b"\n" for _ in range(1500))

    assert len(lines) > 20 * MB
    assert unpacked(gzip.compress(lines, 9)) == lines


@pytest.mark.slow
def test_many_tiny_members_take_no_longer_than_their_bytes() -> None:
    """Each is twenty bytes; copying the rest of the file for each of them would take minutes."""
    begun = time.monotonic()

    assert unpacked(gzip.compress(b"") * 50_000) == b""
    assert time.monotonic() - begun < 20


def test_a_member_of_an_archive_is_bounded_whatever_the_archive_says(tmp_path: Path) -> None:
    """The size in the list of files is the sender's claim."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("small", b"x")
        archive.writestr("large", bytes(4 * MB))
    with zipfile.ZipFile(path) as archive:
        assert read_member(archive, "small", MB) == b"x"
        with pytest.raises(TooMuch):
            read_member(archive, "large", MB)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_cannot_be_unpacked_in_pieces_is_not_unpacked(method: int, tmp_path: Path) -> None:
    """A few bytes of bzip2 hold hundreds of megabytes, and `zipfile` gives them all at once."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("large", bytes(100 * MB))
    tracemalloc.start()
    with zipfile.ZipFile(tmp_path / "a.zip") as archive, pytest.raises(NotImplementedError, match="deflate"):
        read_member(archive, "large", MB)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert taken < 10 * MB


def test_a_damaged_archive_is_called_damaged(tmp_path: Path) -> None:
    """Cut off, with sizes that lie, with other bytes anywhere: `zipfile` has a dozen exceptions for that."""
    dice, out = random.Random(7), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("one", "two"):
            archive.writestr(name, dice.randbytes(2_000) + bytes(20_000))
    content = out.getvalue()
    lying = content.replace(content[14:26], b"\xf0\xff\xff\xff" * 3)
    bent = [lying, content[:-30], content[: len(content) // 2] + content[-200:], b""]
    for _ in range(400):
        at = dice.choice([dice.randrange(len(content)), len(content) - dice.randrange(1, 150)])
        bent.append(content[:at] + dice.randbytes(dice.randint(1, 8)) + content[at + dice.randint(0, 4) :])
    for made in bent:
        refused = contextlib.suppress(zipfile.BadZipFile, NotImplementedError, TooMuch)
        with refused, open_archive(io.BytesIO(made)) as archive:
            for name in archive.namelist():
                read_member(archive, name, MB)


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    """A checkout may hold a link to /dev/zero, or a pipe that nobody ever writes to."""
    (tmp_path / "settings").write_bytes(b"a: 1")
    (tmp_path / "link").symlink_to(tmp_path / "settings")
    assert read_small(tmp_path / "link", 100) == b"a: 1"
    with pytest.raises(TooMuch):
        read_small(tmp_path / "settings", 3)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero", "."):
        with pytest.raises(OSError):
            read_small(tmp_path / name, 100)


HOSTILE_JSON = {
    "lists": b"[" + b"[]," * 700_000 + b"[]]",
    "objects": b"[" + b"{}," * 700_000 + b"{}]",
    "objects with a key": b"[" + b'{"a":0},' * 300_000 + b"{}]",
    "texts": b"[" + b'"ab",' * 500_000 + b'""]',
    "numbers": b"[" + b"1.5," * 700_000 + b"1]",
    "whole numbers": b"[" + b"700," * 700_000 + b"1]",
    "nested": b"[" + b"[[[[[[]]]]]]," * 200_000 + b"[]]",
    "one text": b'["' + b"a" * 3_000_000 + b'"]',
}


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE_JSON)
def test_what_json_takes_is_known_before_it_is_read(kind: str) -> None:
    """An estimate that is too low lets a file of sixteen megabytes take half a gigabyte."""
    text = HOSTILE_JSON[kind]
    assert len(text) > SMALL
    tracemalloc.start()
    value = decode_json(text)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del value

    assert takes_too_much(text, int(taken * 0.8))
    assert not takes_too_much(text, taken * 4 + len(text))


def test_signs_inside_texts_do_not_count() -> None:
    """Models write JSON, code and lists; all of that is one text."""
    inside = json.dumps({"code": [{"a": [1, 2, {}]}, 'say "hi"', "\\"]})
    text = json.dumps({"messages": [inside * 200] * 200}).encode()

    assert len(text) > 2 * MB
    assert not takes_too_much(text, 3 * len(text))


@pytest.mark.slow
@pytest.mark.parametrize("text", [b'"' * 3_000_000, b'["' + b'\\"' * 2_000_000, b"\\" * 3_000_000, b'"\\' * 1_500_000])
def test_looking_takes_one_pass(text: bytes) -> None:
    """Quotes and backslashes that never end must not make the look itself the trap."""
    begun = time.monotonic()
    takes_too_much(text, 4 * MB)

    assert time.monotonic() - begun < 10


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(8)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [{', '.join([f'*{chr(97 + n)}'] * 10)}]}}\n" for n in range(8)
)
HOSTILE_YAML = {
    "laughs": (LAUGHS, "more than 10,000 values"),
    "merges": (MERGES, "more than 10,000 values"),
    "itself": ("a: &a [*a]\n", "holds itself"),
    "long": ("a: " + "x" * 300_000, "longer than 256 KB"),
    "many": ("- a\n" * 12_000, "more than 10,000 values"),
    "deep": ("[" * 100_000, "nested too deeply: more than 50"),
}


@pytest.mark.parametrize("kind", HOSTILE_YAML)
def test_yaml_that_is_small_only_on_paper_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project's settings are read by every agent that is started in it; they must not stop one."""
    text, reason = HOSTILE_YAML[kind]
    begun = time.monotonic()
    with pytest.raises(ValueError, match=reason):
        load_strictly(text)
    (tmp_path / ".agentdbg").mkdir()
    (tmp_path / ".agentdbg" / "config.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    (problem,) = load_config().problems

    assert "could not be read" in problem
    assert "was ignored" in problem
    assert time.monotonic() - begun < 10


def test_yaml_as_people_write_it_is_read_as_before() -> None:
    """An anchor that is used twice is no trap."""
    text = "a: &a {x: 1, y: [1, 2]}\nb: *a\nc: {<<: *a, z: 3}\n"

    assert yaml.load(text, BoundedLoader) == yaml.safe_load(text)


_scalars = st.none() | st.booleans() | st.integers(-1000, 1000) | st.text("abc: -#&*!", max_size=8)
_values: st.SearchStrategy[Any] = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner),
    max_leaves=12,
)


@given(_values)
@settings(max_examples=60, deadline=None)
def test_whatever_yaml_writes_is_read_the_same(value: Any) -> None:
    """The bounds change nothing about what a document means."""
    text = yaml.safe_dump(value)

    assert yaml.load(text, BoundedLoader) == yaml.safe_load(text)


@given(st.text("[]{}&*a:-,<'\"\n ?|>!%@`#", max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    """YAML has many ways to fail, and each is a sentence."""
    with contextlib.suppress(ValueError):
        load_strictly(text)
