"""A payload that comes again is not searched again, and nothing else gets past the search for that reason."""

from __future__ import annotations

import tracemalloc

from agentdbg.redaction import RedactionRules, Redactor

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
