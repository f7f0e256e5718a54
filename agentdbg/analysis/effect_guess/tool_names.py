"""
Guess from a tool's name whether it writes or reads: `create_issue`, `sendEmail`, `file_search`, `mark_as_read`.

The first verb decides. Many words are verbs and things: `order_pizza` orders, `order_status` tells, and of
`pending_order` nobody knows. A name that could mean both is unknown: a write that is called a read passes unseen, while
an unknown one is asked about.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from agentdbg.analysis.effect_guess import name_words as known

if TYPE_CHECKING:
    from agentdbg.analysis.effect_guess.effect_kind import EffectKind

__all__ = ["name_effect", "words_of"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


_NAMESPACE = re.compile(r"__|[.:/]")
_Words = tuple[str, ...]


@lru_cache(maxsize=4096)
def name_effect(name: str) -> EffectKind:
    """What the words of a name say."""
    words = words_of(name)
    if "_".join(words) in known.HARMLESS:
        return "read"
    if words[:2] == ("transfer", "to"):
        return _hand_over(words)
    for at, word in enumerate(words):
        found = _verb_effect(word, words[:at], words[at + 1 :])
        if found is not None:
            return found
    return "read" if words and words[-1] in known.TOLD and _are_things(words[:-1]) else "unknown"


@lru_cache(maxsize=4096)
def words_of(name: str) -> _Words:
    """The words of a name in small letters, without the server it stands behind: `mcp__shop__getUser`, `shop.get`."""
    last = next((part for part in reversed(_NAMESPACE.split(name)) if _WORD.search(part)), "")
    return tuple(word.lower() for word in _WORD.findall(last))


def _hand_over(words: _Words) -> EffectKind:
    """`transfer_to_billing_agent`, the name frameworks give it, moves the talk; `transfer_to_account` moves money."""
    if not known.MONEY.isdisjoint(words):
        return "write"
    return "unknown" if known.AGENTS.isdisjoint(words) else "read"


def _verb_effect(word: str, before: _Words, rest: _Words) -> EffectKind | None:
    """What a word says as a verb at its place; None for a word that is none there."""
    if word in known.BY_OBJECT:
        return _by_object(word, before, rest)
    if word in known.READS or word in known.READS_OR_THINGS:
        return _read_effect(word, before, rest)
    if _is_write(word):
        return "write"
    if word in known.WRITES_OR_THINGS:
        return _write_or_thing(word, rest)
    if word in known.THINGS_OR_WRITES or word in known.WRITES_FIRST:
        return _thing_or_write(word, before, rest)
    return None


def _read_effect(word: str, before: _Words, rest: _Words) -> EffectKind:
    if _also_writes(rest):
        return "write"
    writes = [other for other in rest if other in known.WRITES]
    if word in known.READS_OR_THINGS and len(rest) == len(writes) == 1:
        return "write"  # `poll_create`
    is_verb = word in known.READS or _are_things(before)
    if word in ("list", "search") and rest and rest[-1].endswith("s"):
        is_verb = True  # `acme_list_orders`: the word before is most likely the name of a service
    if word in ("evaluate", "query"):  # what is given to it decides
        is_verb &= bool(rest) and known.CODE.isdisjoint(before + rest)
    if word in known.READS_OR_THINGS:
        is_verb &= not writes and not (rest and rest[-1] in known.WRITES_OR_THINGS)  # `scan_job_start`
    elif word not in known.NAMES_WHAT_IT_GETS:
        is_verb &= not (rest and rest[0] in known.WRITES)  # `find_delete`
    return "read" if is_verb else "unknown"


def _are_things(words: _Words) -> bool:
    """Whether none of the words can be a verb that we do not know."""
    return all(word in known.NOUNS or (word.endswith("s") and len(word) > 3) for word in words)


def _also_writes(rest: _Words) -> bool:
    """`get_or_create_user`, `search_and_replace`, `search_replace`."""
    if rest[:1] == ("replace",):
        return True
    return any(
        word in ("and", "or", "then") and (_is_write(after) or _can_write(after)) for word, after in pairwise(rest)
    )


def _can_write(word: str) -> bool:
    return word in known.WRITES_OR_THINGS or word in known.THINGS_OR_WRITES or word in known.WRITES_FIRST


def _write_or_thing(word: str, rest: _Words) -> EffectKind | None:
    if word == "mark":
        return "write"  # `mark_as_read`
    if rest and rest[-1] in known.READS:
        return None  # `refund_get`
    if rest and rest[-1] in known.READS_OR_THINGS:
        return "unknown"  # `share_list`
    if len(rest) == 1 and rest[0] in known.TOLD:
        return _told(word, rest[0])
    return "write"


def _thing_or_write(word: str, before: _Words, rest: _Words) -> EffectKind | None:
    if not rest and before:
        return "unknown" if known.SCREEN.isdisjoint(before) else "write"  # `error_message`, `browser_type`
    if word in known.WRITES_FIRST:
        # `post_get` has a verb of its own, `schedule_visit` perhaps.
        reads = [other for other in rest if other in known.READS_OR_THINGS]
        return None if rest and rest[0] in known.READS else "unknown" if reads else "write"
    if any(_is_verb(other) for other in rest):
        return None  # `file_search`, `message_send`: the clearer word decides
    if len(rest) == 1 and rest[0] in known.TOLD:
        return _told(word, rest[0])
    return "write"


def _told(word: str, thing: str) -> EffectKind:
    """`exchange_rate` and `order_status` tell something; `lock_price` and `email_details` may be something done."""
    return "read" if word in known.TELLS and thing in known.TOLD_OF_WRITES else "unknown"


def _is_verb(word: str) -> bool:
    return word in known.READS or word in known.READS_OR_THINGS or word in known.WRITES_OR_THINGS or _is_write(word)


def _is_write(word: str) -> bool:
    if word in known.WRITES:
        return True
    stem = word[2:]
    if len(stem) < 3 or word in known.READS or _can_write(word):
        return False
    if word.startswith("de"):
        return stem in known.WRITES
    return word.startswith(("un", "re")) and (stem in known.WRITES or _can_write(stem) or stem in known.UNDONE)


def _by_object(verb: str, before: _Words, rest: _Words) -> EffectKind:
    """`resolve_ticket` and `resolve_path`, `open_account` and `open_file`."""
    writes, reads, otherwise = known.BY_OBJECT[verb]
    if _also_writes(rest) or not writes.isdisjoint(before + rest):
        return "write"
    found = "read" if not reads.isdisjoint(before + rest) else otherwise
    return found if _are_things(before) else "unknown"
