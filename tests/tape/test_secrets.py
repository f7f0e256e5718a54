"""No secret reaches the tape: through seams, in any place of a value, and through streams cut at every size."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.whole import SecretNumbers
from agentdbg.tape.exchanges import clean_chunks, unpacked_chunks
from agentdbg.tape.value_store import Lost, ValueStore, pieces_in_order
from tests.redaction.test_odd_places import PLACES, SECRET
from tests.redaction.test_vendor_tokens import TOKENS

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

REDACTOR = Redactor(RedactionRules())


def _written(value: Any, *, items: bool = False) -> bytes:
    """All that the tape would hold of a value."""
    store = ValueStore(REDACTOR)
    taken = store.take_items(value) if items else store.take(value)
    return b"".join(piece.line for piece in pieces_in_order(taken.pieces)) + taken.reference


def _core(token: str) -> str:
    """A part of a token that is certainly secret."""
    return token[-12:-2]


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_is_taken_out_wherever_it_stands(name: str) -> None:
    """In a message, an argument, a key, bytes, a tuple, an exception, a nested JSON text."""
    token = TOKENS[name]
    places: list[Any] = [
        f"the key is {token} so",
        {"messages": [{"role": "user", "content": f"use {token} now"}], "model": "x"},
        [{"role": "user", "content": [{"type": "text", "text": f"use {token} now"}]}],
        {"a": {"b": {"c": [f"{token}"]}}},
        (token,),
        {f"{token}": 1},
        f"say {token} twice {token}".encode(),
        ValueError(f"bad {token} here"),
        json.dumps({"text": f"use {token} now"}),
    ]

    for place in places:
        assert _core(token).encode() not in _written(place), place


@pytest.mark.parametrize("name", PLACES)
def test_odd_places_are_as_clean_as_in_the_log(name: str) -> None:
    """Pairs, headers, options, reprs: what the log takes out, the tape takes out."""
    made = PLACES[name]
    value = made() if callable(made) else made
    logged = REDACTOR.seal({"value": value}).encoded

    try:
        taped = _written(value)
    except Lost:
        return
    if SECRET.encode() not in logged:
        assert SECRET.encode() not in taped


def _openai(text: str, size: int) -> list[bytes]:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    docs = [{"id": "c", "choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    return [b"data: " + json.dumps(doc).encode() + b"\n\n" for doc in docs] + [b"data: [DONE]\n\n"]


def _anthropic(text: str, size: int) -> list[bytes]:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    docs = [
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": piece}} for piece in pieces
    ]
    return [b"event: content_block_delta\ndata: " + json.dumps(doc).encode() + b"\n\n" for doc in docs]


def _arguments(text: str, size: int) -> list[bytes]:
    """A tool call whose arguments are JSON in pieces."""
    whole = json.dumps({"command": text})
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    docs = [
        {"type": "response.function_call_arguments.delta", "item_id": f"fc_{number % 2}", "delta": piece}
        for piece in pieces
        for number in (0,)
    ]
    return [b"data: " + json.dumps(doc).encode() + b"\r\n\r\n" for doc in docs]


def _lines(text: str, size: int) -> list[bytes]:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return [json.dumps({"message": {"content": piece}, "done": False}).encode() + b"\n" for piece in pieces]


def _plain_events(text: str, size: int) -> list[bytes]:
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    return [f"event: token\ndata: {piece}\n\n".encode() for piece in pieces]


def _document(text: str, size: int) -> list[bytes]:
    body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    return [body[start : start + size] for start in range(0, len(body), size)]


def _text(text: str, size: int) -> list[bytes]:
    body = text.encode()
    return [body[start : start + size] for start in range(0, len(body), size)]


FORMS: dict[str, Callable[[str, int], list[bytes]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "arguments": _arguments,
    "json lines": _lines,
    "plain events": _plain_events,
    "one document": _document,
    "text": _text,
}
CORPUS = {name: TOKENS[name] for name in ("openai project", "github classic", "aws secret", "slack bot", "google")}


def _spoken(body: bytes) -> str:
    """What a reader of a stream hears: all texts of it, joined."""
    heard: list[str] = []

    def listen(value: Any) -> None:
        if isinstance(value, str):
            heard.append(value)
        elif isinstance(value, dict):
            for key, child in value.items():
                if key not in ("id", "type", "item_id"):
                    listen(child)
        elif isinstance(value, list):
            for child in value:
                listen(child)

    for line in body.decode().splitlines():
        text = line.removeprefix("data:").removeprefix(" ")
        if text.startswith("{"):
            listen(json.loads(text))
        elif not text.startswith("event:"):
            heard.append(text)
    return "".join(heard)


@pytest.mark.parametrize("form", FORMS)
def test_a_streamed_secret_is_found_however_it_is_cut(form: str) -> None:
    """A model gives a key in pieces of any size, and the network cuts the events again wherever it likes."""
    for token in (*CORPUS.values(), "password=hunter2-Xq9zz8"):
        text = f"Here it is: {token} and that is all of it, 12 characters."
        for size in range(1, 65):
            events = FORMS[form](text, size)
            body = b"".join(events)
            cuts = (events, [body[start : start + size] for start in range(0, len(body), size)])
            for chunks in cuts:
                clean = clean_chunks(REDACTOR, SecretNumbers(), chunks)
                kept = b"".join(piece for _, piece in clean)
                said = _spoken(kept)

                assert _core(token) not in said, (form, token, size)
                assert _core(token).encode() not in kept
                assert "Here it is: " in said
                assert "and that is all of it, 12 characters." in said
                assert kept.count(b"data:") == body.count(b"data:")
                assert [number for number, _ in clean] == sorted({number for number, _ in clean})


@pytest.mark.parametrize("size", range(1, 65))
def test_a_generators_secret_is_found_however_it_is_cut(size: int) -> None:
    """The same for what a function yields: texts, or dicts as clients give them."""
    for token in CORPUS.values():
        text = f"Here it is: {token} and that is all."
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        for items in (pieces, [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]):
            kept = _written(items, items=True)
            heard = (
                "".join(json.loads(kept.partition(b'"d":')[2].partition(b"}\n")[0] or kept)) if items is pieces else ""
            )

            assert _core(token) not in heard
            assert _core(token).encode() not in kept


def _only_value(kept: bytes) -> list[Any]:
    value = json.loads(kept.splitlines()[0])
    return list(value["d"] if isinstance(value, dict) else value)


def test_two_texts_that_take_turns_are_read_apart() -> None:
    """Two choices of one answer, each with a key, piece by piece."""
    token = TOKENS["openai project"]
    docs = [
        {"choices": [{"index": choice, "delta": {"content": token[start : start + 4]}}]}
        for start in range(0, len(token), 4)
        for choice in (0, 1)
    ]

    clean = REDACTOR.whole_pieces(docs, SecretNumbers())

    for choice in (0, 1):
        said = "".join(doc["choices"][0]["delta"]["content"] for doc in clean if doc["choices"][0]["index"] == choice)
        assert said == "__REDACTED__:0"


def test_a_compressed_body_is_read_and_what_cannot_be_read_is_lost() -> None:
    """Nobody sees a secret in bytes that are packed."""
    body = json.dumps({"key": TOKENS["github classic"]}).encode()
    packed = gzip.compress(body)
    chunks = [packed[start : start + 7] for start in range(0, len(packed), 7)]

    assert b"".join(unpacked_chunks(chunks, "gzip")) == body
    with pytest.raises(Lost, match="br cannot be read"):
        unpacked_chunks(chunks, "br")
    with pytest.raises(Lost, match="not text"):
        clean_chunks(REDACTOR, SecretNumbers(), [b"\xff\xfe " + TOKENS["github classic"].encode()])


def test_a_stream_without_secrets_stays_as_it_came() -> None:
    """To the byte, chunk by chunk."""
    for form in FORMS.values():
        chunks = form("nothing to see here, walk on; ümlaut ✓", 5)

        assert [piece for _, piece in clean_chunks(REDACTOR, SecretNumbers(), chunks)] == chunks
