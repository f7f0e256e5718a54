"""A payload that comes again is not searched again, and nothing else gets past the search for that reason."""

from __future__ import annotations

import random
import tracemalloc

from agentdbg import encoding
from agentdbg.redaction import RedactionRules, Redactor
from agentdbg.redaction.whole import SecretNumbers

_KEY = "sk-proj-Qm7Zt2Lw9Xb4Nc6Vd8Rf1Gh3Jk5Pq0Sa"


def test_a_secret_as_long_as_a_harmless_text_is_still_found() -> None:
    """What is known to be harmless is looked up by its length."""
    redactor = Redactor(RedactionRules())
    harmless = {"prompt": "a few harmless words of that length here"}
    secret = {"prompt": _KEY}
    assert len(harmless["prompt"]) == len(_KEY)

    for _ in range(3):
        assert redactor.seal(harmless).value == harmless
        assert _KEY.encode() not in redactor.seal(secret).encoded


def test_a_payload_that_changes_under_our_hands_is_searched_again() -> None:
    """An agent keeps appending to one list of messages, so the object says nothing."""
    redactor = Redactor(RedactionRules())
    messages = [{"role": "user", "content": "Say hello to the people."}]
    redactor.seal({"prompt": messages})

    messages[0]["content"] = _KEY[:24]

    assert _KEY[:24].encode() not in redactor.seal({"prompt": messages}).encoded


def test_a_redactor_with_other_limits_shares_what_is_known_to_be_harmless() -> None:
    """The starts of calls are cut shorter than their ends; the rules are the same."""
    redactor = Redactor(RedactionRules())
    fields = {"input": "word " * 200}
    whole = redactor.seal(fields)

    cut = redactor.with_limit(100).seal(fields)

    assert whole.value == fields
    assert len(cut.encoded) < 200


def test_what_is_remembered_has_a_ceiling() -> None:
    """A run of a million different payloads must not fill the memory of its host."""
    redactor = Redactor(RedactionRules())
    redactor.seal({"prompt": "word " * 10})
    tracemalloc.start()
    try:
        for length in range(2_000):
            redactor.seal({"prompt": "word " * 2_000 + "x" * length})
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 3_000_000


def test_options_and_points_of_a_list_are_no_reason_for_the_careful_walk() -> None:
    """A command line and a list with dashes are ordinary values; only an option that names a secret is not."""
    redactor = Redactor(RedactionRules())
    for items in (["git", "log", "-n", "5", "--oneline"], ["- a point", "- another"], ["ls", "-la"] * 20):
        payload = {"args": {"items": items}}

        assert redactor.seal(payload).value is payload
        assert redactor.seal(payload).encoded == redactor._seal_carefully(payload)[1]
    assert b"hunter2" not in redactor.seal({"args": ["psql", "-v", "--password", "hunter2"]}).encoded
    assert b"hunter2" not in redactor.seal({"args": ["psql"] * 63 + ["--password", "hunter2"] + ["x"] * 9}).encoded


def test_tape_and_event_search_a_text_once_and_say_what_they_would_say_alone() -> None:
    """What one of them has learnt of a text the other uses; the bytes are those of a redactor that knows nothing."""
    chance = random.Random(17)
    shared, numbers = Redactor(RedactionRules()), SecretNumbers()
    alone = SecretNumbers()
    texts: list[str] = []
    for _ in range(120):
        words = [chance.choice(("word", "token", "password", "def f(self):", "x = 1")) for _ in range(200)]
        if chance.random() < 0.3:
            words[chance.randrange(200)] = chance.choice((_KEY, f"password = {_KEY}", "__REDACTED__", "__REDACTED__:3"))
        texts.append(" ".join(words))
        message = {"role": "user", "content": chance.choice(texts), "more": [chance.choice(texts)]}
        fresh = Redactor(RedactionRules())
        if chance.random() < 0.5:
            assert shared.seal({"prompt": [message]}).encoded == fresh.seal({"prompt": [message]}).encoded
        encoded = encoding.encode(message)
        assert shared.whole(message, encoded, numbers) == Redactor(RedactionRules()).whole(message, encoded, alone)
        assert shared.seal({"prompt": [message]}).encoded == fresh.seal({"prompt": [message]}).encoded
