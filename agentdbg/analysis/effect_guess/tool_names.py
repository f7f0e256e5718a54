"""
Guess from a tool's name whether it writes or reads: `create_issue`, `sendEmail`, `file_search`, `mark_as_read`.

The first verb decides. Many words are verbs and things: `order_pizza` orders, `order_status` tells, and of
`pending_order` nobody knows. A name that could mean both is unknown: a write that is called a read passes unseen, while
an unknown one is asked about. A word stands in one set, by what it nearly always means in a name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EffectKind", "name_effect", "together", "word_set", "words_of"]

EffectKind = Literal["write", "read", "unknown"]
"""`unknown` is neither: nobody may call it harmless."""


def together(kinds: Iterable[EffectKind]) -> EffectKind:
    """One write makes a write of all; else one that nobody knows makes all of them unknown. Nothing at all reads."""
    found = set(kinds)
    return "write" if "write" in found else "unknown" if "unknown" in found else "read"


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as the tables of names are written."""
    return frozenset(text.split())


WRITES = word_set("""
    accept acknowledge activate add adjust allocate alter append apply approve assign attach authorize ban bump buy
    cancel change clean clear cordon create deactivate decline decrement delegate delete destroy detach dial disable
    discard dismiss drag drain duplicate edit empty enable enqueue enroll erase escalate evict expire finalize flip
    flush follow forward fulfill grant hire hset increment insert invite invoke join kill leave manage migrate modify
    mutate mute notify overwrite pay persist postpone prioritize promote provision prune publish purge put rebase
    rebuild reboot redo refill refresh refuel regenerate reject remove rename reopen replace reply reprioritize rerun
    reschedule reserve reset respond restart restore retry revert revoke rewrite rollback rotate save scrub sell send
    set shutdown silence skip snooze submit subscribe suspend swipe terminate toggle trash trigger truncate turn undo
    uninstall unlock unsubscribe update upgrade upsert upvote void wipe withdraw write
""")
WRITES_OR_THINGS = word_set("""
    archive block capture charge checkout click clone close commit confirm copy deploy deposit draft drop exchange fill
    fix fork import install launch like link lock mark merge move patch pause pin play press purchase push refund
    register release resume return retweet scale share ship sign start stop swap sync tap trade transfer transition
    tweet upload vote
""")
"""Verbs in most names, `close_issue` and `file_upload`; but `exchange_rate` and `refund_status` tell something."""
THINGS_OR_WRITES = word_set("email file issue label log message order star store tag text type")
"""Verbs as the first word, `order_pizza`; things as the last one, `pending_order`, and before a verb, `file_search`."""
WRITES_FIRST = word_set("book complete debit place post request schedule")
"""Verbs as the first word, whatever follows: `schedule_visit`; things as the last one, `blog_post`."""
READS = word_set("""
    aggregate analyse analyze browse calculate classify compare compute describe detect evaluate examine explain explore
    extract fetch find get glob goto grep hover inspect look lookup navigate parse peek predict read recall recommend
    reflect retrieve scrape show simulate suggest summarise summarize think transcribe translate validate verify wait
    whoami
""")
READS_OR_THINGS = word_set("""
    count crawl diff download embed estimate forecast list poll preview query reason scan screenshot scroll search
    snapshot view visit watch
""")
"""`list_orders` reads, `list_create` does not, and of `wibble_list` nobody knows which word is the verb."""
NAMES_WHAT_IT_GETS = word_set("describe fetch get read show wait")
"""A verb behind one of these is a thing: `get_update`."""
TOLD_OF_WRITES = word_set("history policy rate rates status")
"""Behind one of `TELLS` they make a thing of a verb: `exchange_rate`; but `transfer_balance` moves money."""
TELLS = word_set("charge commit deploy exchange merge order refund release return trade transfer")
TOLD = TOLD_OF_WRITES | word_set("""
    availability balance contents detail details docs documentation hours info information log logs metadata price
    prices results schema stats tree version
""")
"""What a name of nothing but things ends with when it tells something: `account_balance`."""
NOUNS = word_set("""
    account api aws azure batch booking brave browser build bulk calendar car chat city code codebase collection company
    confluence contact currency customer data database dataset db directory discord doc docker docs document drive
    duckduckgo entity event exa file firecrawl flight folder full gcp gdrive git github gitlab gmail google gsheets helm
    hotel hubspot hybrid image inventory issue item jira job json kb keyword knowledge kubectl label linear market mcp
    media memory message mongo mongodb movie music my mysql network news node nosql notion order outlook page payment
    people pg playwright postgres product project public puppeteer qdrant recipe redis repo repository resource room
    salesforce semantic sentry server service shipment shipping shop shopify similarity slack spec sql sqlite stock
    store stripe supabase symbol system table tag task tavily tax teams telegram thread ticket topic train travel url
    user vector vendor video weather web wiki workspace youtube zendesk
""")
"""Things and services that names begin with; a plural is taken for one too."""
UNDONE = word_set("watch")
"""With `un` before them they are verbs: `unstar_repository`."""
HARMLESS = word_set("attempt_completion calculator final_answer finish page_down page_up sequentialthinking task_done")
"""How an agent thinks aloud, counts, turns a page, or ends."""
AGENTS = word_set("agent agents assistant expert human humans operator representative specialist supervisor support")
MONEY = word_set("account accounts address bank card checking iban savings wallet")
SCREEN = word_set("browser element keyboard page playwright puppeteer screen selenium")
CODE = word_set("""
    bash bigquery browser code command cypher database db duckdb execute graphql javascript js mongo mongodb mysql neo
    pg playwright postgres postgresql puppeteer python redis run script shell snowflake sql sqlite
""")
"""Where one of these is asked to read something, what it is given decides."""

BY_OBJECT: dict[str, tuple[frozenset[str], frozenset[str], Literal["read", "unknown"]]] = {
    "ask": (frozenset(), word_set("followup question questions user"), "unknown"),
    "check": (word_set("in out"), frozenset(), "read"),
    "convert": (word_set("account contact lead opportunity quote"), frozenset(), "read"),
    "extract": (word_set("archive tar zip"), frozenset(), "read"),
    "load": (word_set("driver extension module plugin"), frozenset(), "read"),
    "open": (
        word_set("account case channel dispute door garage gate incident issue position pr pull ticket trade valve"),
        word_set("directory doc document file files folder image link node nodes notebook page site tab url website"),
        "unknown",
    ),
    "resolve": (
        word_set("""
            alert bug case comment complaint conflict conversation discussion dispute error finding incident issue
            problem request review thread ticket violation
        """),
        word_set("""
            address dependencies dependency dns doc domain entity handle host hostname id ids ip library location name
            names package path ref reference symbol type uri url user username variable version
        """),
        "unknown",
    ),
    "run": (word_set("action automation deployment job migration pipeline playbook workflow"), frozenset(), "unknown"),
    "take": (frozenset(), word_set("screenshot screenshots"), "unknown"),
    "select": (word_set("checkbox dropdown option playwright puppeteer radio"), frozenset(), "read"),
    "track": (word_set("event metric"), word_set("delivery flight order package parcel shipment"), "unknown"),
    "watch": (word_set("issue repo repository thread"), word_set("file folder logs video"), "unknown"),
}
"""Verbs that say nothing alone: what makes them a write, what makes them a read, and what they are otherwise."""


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


_NAMESPACE = re.compile(r"__|[.:/]")
_Words = tuple[str, ...]


@lru_cache(maxsize=4096)
def name_effect(name: str) -> EffectKind:
    """What the words of a name say."""
    words = words_of(name)
    if "_".join(words) in HARMLESS:
        return "read"
    if words[:2] == ("transfer", "to"):
        return _hand_over(words)
    for at, word in enumerate(words):
        found = _verb_effect(word, words[:at], words[at + 1 :])
        if found is not None:
            return found
    return "read" if words and words[-1] in TOLD and _are_things(words[:-1]) else "unknown"


@lru_cache(maxsize=4096)
def words_of(name: str) -> _Words:
    """The words of a name in small letters, without the server it stands behind: `mcp__shop__getUser`, `shop.get`."""
    last = next((part for part in reversed(_NAMESPACE.split(name)) if _WORD.search(part)), "")
    return tuple(word.lower() for word in _WORD.findall(last))


def _hand_over(words: _Words) -> EffectKind:
    """`transfer_to_billing_agent`, the name frameworks give it, moves the talk; `transfer_to_account` moves money."""
    if not MONEY.isdisjoint(words):
        return "write"
    return "unknown" if AGENTS.isdisjoint(words) else "read"


def _verb_effect(word: str, before: _Words, rest: _Words) -> EffectKind | None:
    """What a word says as a verb at its place; None for a word that is none there."""
    if word in BY_OBJECT:
        return _by_object(word, before, rest)
    if word in READS or word in READS_OR_THINGS:
        return _read_effect(word, before, rest)
    if _is_write(word):
        return "write"
    if word in WRITES_OR_THINGS:
        return _write_or_thing(word, rest)
    if word in THINGS_OR_WRITES or word in WRITES_FIRST:
        return _thing_or_write(word, before, rest)
    return None


def _read_effect(word: str, before: _Words, rest: _Words) -> EffectKind:
    if _also_writes(rest):
        return "write"
    writes = [other for other in rest if other in WRITES]
    if word in READS_OR_THINGS and len(rest) == len(writes) == 1:
        return "write"  # `poll_create`
    is_verb = word in READS or _are_things(before)
    if word in ("list", "search") and rest and rest[-1].endswith("s"):
        is_verb = True  # `acme_list_orders`: the word before is most likely the name of a service
    if word in ("evaluate", "query"):  # what is given to it decides
        is_verb &= bool(rest) and CODE.isdisjoint(before + rest)
    if word in READS_OR_THINGS:
        is_verb &= not writes and not (rest and rest[-1] in WRITES_OR_THINGS)  # `scan_job_start`
    elif word not in NAMES_WHAT_IT_GETS:
        is_verb &= not (rest and rest[0] in WRITES)  # `find_delete`
    return "read" if is_verb else "unknown"


def _are_things(words: _Words) -> bool:
    """Whether none of the words can be a verb that we do not know."""
    return all(word in NOUNS or (word.endswith("s") and len(word) > 3) for word in words)


def _also_writes(rest: _Words) -> bool:
    """`get_or_create_user`, `search_and_replace`, `search_replace`."""
    if rest[:1] == ("replace",):
        return True
    return any(
        word in ("and", "or", "then") and (_is_write(after) or _can_write(after)) for word, after in pairwise(rest)
    )


def _can_write(word: str) -> bool:
    return word in WRITES_OR_THINGS or word in THINGS_OR_WRITES or word in WRITES_FIRST


def _write_or_thing(word: str, rest: _Words) -> EffectKind | None:
    if word == "mark":
        return "write"  # `mark_as_read`
    if rest and rest[-1] in READS:
        return None  # `refund_get`
    if rest and rest[-1] in READS_OR_THINGS:
        return "unknown"  # `share_list`
    if len(rest) == 1 and rest[0] in TOLD:
        return _told(word, rest[0])
    return "write"


def _thing_or_write(word: str, before: _Words, rest: _Words) -> EffectKind | None:
    if not rest and before:
        return "unknown" if SCREEN.isdisjoint(before) else "write"  # `error_message`, `browser_type`
    if word in WRITES_FIRST:
        # `post_get` has a verb of its own, `schedule_visit` perhaps.
        reads = [other for other in rest if other in READS_OR_THINGS]
        return None if rest and rest[0] in READS else "unknown" if reads else "write"
    if any(_is_verb(other) for other in rest):
        return None  # `file_search`, `message_send`: the clearer word decides
    if len(rest) == 1 and rest[0] in TOLD:
        return _told(word, rest[0])
    return "write"


def _told(word: str, thing: str) -> EffectKind:
    """`exchange_rate` and `order_status` tell something; `lock_price` and `email_details` may be something done."""
    return "read" if word in TELLS and thing in TOLD_OF_WRITES else "unknown"


def _is_verb(word: str) -> bool:
    return word in READS or word in READS_OR_THINGS or word in WRITES_OR_THINGS or _is_write(word)


def _is_write(word: str) -> bool:
    if word in WRITES:
        return True
    stem = word[2:]
    if len(stem) < 3 or word in READS or _can_write(word):
        return False
    if word.startswith("de"):
        return stem in WRITES
    return word.startswith(("un", "re")) and (stem in WRITES or _can_write(stem) or stem in UNDONE)


def _by_object(verb: str, before: _Words, rest: _Words) -> EffectKind:
    """`resolve_ticket` and `resolve_path`, `open_account` and `open_file`."""
    writes, reads, otherwise = BY_OBJECT[verb]
    if _also_writes(rest) or not writes.isdisjoint(before + rest):
        return "write"
    found = "read" if not reads.isdisjoint(before + rest) else otherwise
    return found if _are_things(before) else "unknown"
