"""
The words in tools' names that tell writing from reading.

A word stands in one set, by what it nearly always means in a name. What is missing here is unknown, never harmless.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "AGENTS",
    "BY_OBJECT",
    "CODE",
    "HARMLESS",
    "MONEY",
    "NAMES_WHAT_IT_GETS",
    "NOUNS",
    "READS",
    "READS_OR_THINGS",
    "SCREEN",
    "TELLS",
    "THINGS_OR_WRITES",
    "TOLD",
    "TOLD_OF_WRITES",
    "UNDONE",
    "WRITES",
    "WRITES_FIRST",
    "WRITES_OR_THINGS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRITES = _words("""
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
WRITES_OR_THINGS = _words("""
    archive block capture charge checkout click clone close commit confirm copy deploy deposit draft drop exchange fill
    fix fork import install launch like link lock mark merge move patch pause pin play press purchase push refund
    register release resume return retweet scale share ship sign start stop swap sync tap trade transfer transition
    tweet upload vote
""")
"""Verbs in most names, `close_issue` and `file_upload`; but `exchange_rate` and `refund_status` tell something."""
THINGS_OR_WRITES = _words("email file issue label log message order star store tag text type")
"""Verbs as the first word, `order_pizza`; things as the last one, `pending_order`, and before a verb, `file_search`."""
WRITES_FIRST = _words("book complete debit place post request schedule")
"""Verbs as the first word, whatever follows: `schedule_visit`; things as the last one, `blog_post`."""
READS = _words("""
    aggregate analyse analyze browse calculate classify compare compute describe detect evaluate examine explain explore
    extract fetch find get glob goto grep hover inspect look lookup navigate parse peek predict read recall recommend
    reflect retrieve scrape show simulate suggest summarise summarize think transcribe translate validate verify wait
    whoami
""")
READS_OR_THINGS = _words("""
    count crawl diff download embed estimate forecast list poll preview query reason scan screenshot scroll search
    snapshot view visit watch
""")
"""`list_orders` reads, `list_create` does not, and of `wibble_list` nobody knows which word is the verb."""
NAMES_WHAT_IT_GETS = _words("describe fetch get read show wait")
"""A verb behind one of these is a thing: `get_update`."""
TOLD_OF_WRITES = _words("history policy rate rates status")
"""Behind one of `TELLS` they make a thing of a verb: `exchange_rate`; but `transfer_balance` moves money."""
TELLS = _words("charge commit deploy exchange merge order refund release return trade transfer")
TOLD = TOLD_OF_WRITES | _words("""
    availability balance contents detail details docs documentation hours info information log logs metadata price
    prices results schema stats tree version
""")
"""What a name of nothing but things ends with when it tells something: `account_balance`."""
NOUNS = _words("""
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
UNDONE = _words("watch")
"""With `un` before them they are verbs: `unstar_repository`."""
HARMLESS = _words("attempt_completion calculator final_answer finish page_down page_up sequentialthinking task_done")
"""How an agent thinks aloud, counts, turns a page, or ends."""
AGENTS = _words("agent agents assistant expert human humans operator representative specialist supervisor support")
MONEY = _words("account accounts address bank card checking iban savings wallet")
SCREEN = _words("browser element keyboard page playwright puppeteer screen selenium")
CODE = _words("""
    bash bigquery browser code command cypher database db duckdb execute graphql javascript js mongo mongodb mysql neo
    pg playwright postgres postgresql puppeteer python redis run script shell snowflake sql sqlite
""")
"""Where one of these is asked to read something, what it is given decides."""

BY_OBJECT: dict[str, tuple[frozenset[str], frozenset[str], Literal["read", "unknown"]]] = {
    "ask": (frozenset(), _words("followup question questions user"), "unknown"),
    "check": (_words("in out"), frozenset(), "read"),
    "convert": (_words("account contact lead opportunity quote"), frozenset(), "read"),
    "extract": (_words("archive tar zip"), frozenset(), "read"),
    "load": (_words("driver extension module plugin"), frozenset(), "read"),
    "open": (
        _words("account case channel dispute door garage gate incident issue position pr pull ticket trade valve"),
        _words("directory doc document file files folder image link node nodes notebook page site tab url website"),
        "unknown",
    ),
    "resolve": (
        _words("""
            alert bug case comment complaint conflict conversation discussion dispute error finding incident issue
            problem request review thread ticket violation
        """),
        _words("""
            address dependencies dependency dns doc domain entity handle host hostname id ids ip library location name
            names package path ref reference symbol type uri url user username variable version
        """),
        "unknown",
    ),
    "run": (_words("action automation deployment job migration pipeline playbook workflow"), frozenset(), "unknown"),
    "take": (frozenset(), _words("screenshot screenshots"), "unknown"),
    "select": (_words("checkbox dropdown option playwright puppeteer radio"), frozenset(), "read"),
    "track": (_words("event metric"), _words("delivery flight order package parcel shipment"), "unknown"),
    "watch": (_words("issue repo repository thread"), _words("file folder logs video"), "unknown"),
}
"""Verbs that say nothing alone: what makes them a write, what makes them a read, and what they are otherwise."""
