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

from agentdbg.analysis.effect_guess.verbs_abroad import effect_abroad

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
    abandon abolish abort accelerate accept accredit accrue ack acknowledge acquire act activate adapt add adjust
    administer admit adopt advance advertise affix airdrop align allocate allot allow alter amend amortize animate
    annotate announce anonymize apologise apologize append apply appoint apprehend approve arbitrate arm arrange
    arrest aspirate assemble assign associate attach attack attest authenticate authorise authorize autofill autofix
    automate autopay autosave autoscale awaken backfill backport bake ban banish begin bestow bind blacklist
    blocklist blur boost bootstrap borrow bounce brew brighten bump bundle burn bury buy bypass calibrate cancel
    carve centralize certify change cherry chmod chown clean cleanse cleanup clear collapse colorize commence
    compensate compile compress conceal condemn configure connect consolidate constrain construct continue
    contribute convene cook cordon correct corrupt cosign cp craft create crush curate customize darken dblclick
    deactivate deallocate deauthorize decide declare decline declutter decommission decompress decorate decouple
    decr decrease decrement dedicate deduct dedupe defer deflate defragment defrost dehydrate del delegate delete
    delist deliver demolish demote denoise deny deport deprecate dequeue deregister desaturate designate despawn
    destroy detach detain detonate dial dig dilute dim disable disapprove disarm disassociate disband disburse
    discard discharge disclose disconnect discontinue disengage disinfect dismantle dismiss dismount dispatch
    dispense displace dispose disrupt dissociate dissolve distribute divert donate downgrade downscale downvote drag
    drain draw duplicate dye earmark edit eject elevate eliminate embezzle emit empower empty emulate enable endorse
    enforce engage engrave enhance enlarge enlist enqueue enrich enrol enroll enter entrust equip eradicate erase
    escalate establish etch evacuate evict excavate exclude exempt exhume exit exonerate expedite expel expire
    expose expropriate extend extinguish extradite extrude fabricate failover falsify fasten fertilize finalize
    finetune flatten flip flush flushall flushdb follow forbid foreclose forfeit forge forget forgive fortify
    forward freeze fulfil fulfill fumigate furlough furnish garnish give glue graft grant grind hack halt halve hang
    handle handoff harden harvest heal hibernate hide hire hoist hospitalize hydrate ignite illuminate immunize
    impeach impersonate implant implement impose impound imprison improve incentivize incinerate incorporate incr
    increase increment indict induce infect inflate inform infuse ingest init initialise initialize initiate inject
    inoculate inscribe insert instantiate instruct insulate insure integrate intensify interact intercept interrupt
    intervene introduce invalidate invert invest invite invoke irrigate isolate jettison join justify kick kill
    knock laminate launder leave legalize lend lengthen levy liberate lift lighten liquidate loan lodge login logout
    loosen loot lower lubricate manage management manipulate manufacture marry maximize medicate mend migrate minify
    minimize mint mitigate mkdir mobilize moderate modify monetize mop mount mow mutate mute mv nack negotiate
    neutralize nickname nominate notarize notify nudge nullify obfuscate occupy offboard offload omit onboard
    operate opt ordain organise organize orient oust outbid outsource overclock overhaul override overrule overturn
    overwrite paint pardon park paste patrol pave pay penalize perforate persist perturb plow polish pollute
    populate postpone pour precondition preheat prepay prepend prescribe preserve prevent prioritize proclaim
    procure produce prohibit prolong promote propagate prorate prosecute protect provision prune publicize publish
    pump punish purge purify put quantize quash quit raid reap rebalance rebase reboot rebuild recategorize recharge
    reclaim reclassify recolor reconcile reconfigure reconnect recover recreate recruit rectify recycle redact
    redeem redeploy redesign redirect redistribute redo redraw redrive reduce refactor refill refinance refine reflash
    reformat refresh refuel refuse regenerate rehire rehydrate reimage reimburse reinforce reinstate reject rejoin
    relabel relinquish relocate remap remaster remediate remember remind remit remix remodel remove rename
    renegotiate renew renounce renovate rent reopen reorder reorganize repair reparent repartition repeal replace
    replenish replicate reply repost reprint reprioritize reprocess reprogram republish repurpose requeue
    requisition reroute rerun reschedule rescind rescue resell reserve reset reshape resign resize respond restart
    restock restore restrict restructure resubmit resurface resuscitate retain retarget retire retitle retouch
    retract retrain retrofit retry reunite revamp revert revise revitalize revive revoke rewind rework rewrite rinse
    rm rmdir rollback rotate rsvp sabotage salvage sanction sanitize save scaffold scrub seal seize sell send set settle
    setup sharpen shatter shelve shorten shred shrink shuffle shut shutdown sideload silence simplify skip slide
    snooze solder solicit solve sow spawn spend spin splice spray sprinkle squash squeeze stabilize stamp
    standardize steer sterilize stimulate stitch straighten streamline strengthen stretch strike strip subdivide
    sublease submit subpoena subscribe subsidize substitute sue summon suppress surcharge surrender suspend sustain
    sweep swing swipe switchover synchronise synchronize taint tear teleport terminate tether thaw throttle tighten
    tilt tint toast toggle toss tow transact transcode transmit transplant transport transpose trash trigger trim
    truncate tune turn uncheck undo unfavorite unfriend ungroup unhide unify uninstall unleash unload unlock unmount
    unplug unpublish unseal unstage unsubscribe unveil unzip update upgrade upsell upsert upvote vacate vaccinate
    vaporize ventilate veto void vouch waive wake warm warn warp wash weaken weld whitelist widen wipe withdraw
    withhold wrap write yank zap
""")
WRITES_OR_THINGS = word_set("""
    archive award backup bid block boot broadcast capture charge checkout claim click clone close commission commit
    confirm control copy delay deploy deposit draft drop exchange favorite fill fix flag fork gift grade hail
    highlight hold import install launch like link lock mark mention merge move patch pause pin play press purchase
    push quarantine raise refund register relay release resume return retweet reverse reward rollout scale seed
    share ship sign sponsor stake start stash stop swap switch sync tap tip trade transfer transition tweet upload
    vacuum vote wire
""")
"""Verbs in most names, `close_issue` and `file_upload`; but `exchange_rate` and `refund_status` tell something."""
THINGS_OR_WRITES = word_set("bookmark email file index issue label log message order record star store tag text type")
"""Verbs as the first word, `order_pizza`; things as the last one, `pending_order`, and before a verb, `file_search`."""
WRITES_FIRST = word_set("""
    bill book bridge clock comment complete contact debit end exercise feed fire fund invoice land lease mail make pick
    place post power queue refer request schedule shift stage trust water
""")
"""Verbs as the first word, whatever follows: `schedule_visit`; things as the last one, `blog_post`."""
READS = word_set("""
    aggregate analyse analyze assess autocomplete browse calculate classify compare compute decode decompile
    describe detect diagnose disassemble discover encode enumerate evaluate examine explain explore extract fetch
    filter find geocode get glob grep hover infer inspect introspect investigate look lookup measure navigate
    observe parse peek predict read recall recommend reflect retrieve scrape show simulate suggest summarise
    summarize think transcribe translate validate verify wait whoami
""")
READS_OR_THINGS = word_set("""
    count crawl diff embed estimate forecast list poll preview query reason scan screenshot scroll search view
    visit watch
""")
"""`list_orders` reads, `list_create` does not, and of `wibble_list` nobody knows which word is the verb."""
NAMES_WHAT_IT_GETS = word_set("describe fetch get read show wait")
"""A verb behind one of these is a thing: `get_update`."""
TOLD_OF_WRITES = word_set("history policy rate rates status")
"""Behind one of `TELLS` they make a thing of a verb: `exchange_rate`; but `transfer_balance` moves money."""
TELLS = word_set("charge commit deploy exchange merge order refund release return trade transfer")
TOLD = TOLD_OF_WRITES | word_set("""
    availability balance contents deliveries depth detail details docs documentation feedback health hours info
    information levels limits log logs metadata output overview permalink price prices progress quota readings
    results schema size state stats summary timeline tracking tree url version
""")
"""What a name of nothing but things ends with when it tells something: `account_balance`."""
NOUNS = word_set("""
    account airtable alert api appointment artist asana aws azure batch bitbucket booking brave browser bucket build
    bulk cache calendar camera car card chat chroma city clickup client cloudflare cloudwatch code codebase
    collection command company config confluence console contact container contract course credit currency customer
    data database datadog dataset db dependency device directory discord doc docker docs document door drive
    duckduckgo dynamodb elastic elasticsearch entity event exa figma file firebase firecrawl firestore flight folder
    freshdesk full game gcp gdrive git github gitlab gmail google grafana gsheets helm hf hotel hubspot hybrid image
    intercom inventory issue item jira job json kafka kb keyword knowledge kubectl kubernetes lab label lambda
    linear mailchimp maps market mcp media member memory message mobile monday mongo mongodb movie music my mysql
    neo neon netlify network news node nosql notion obsidian okta onedrive onenote opensearch order outlook output
    package page pagerduty patient payment paypal people pg pinecone player playwright portfolio postgres product
    profile project prometheus public puppeteer qdrant quickbooks recipe reddit redis repo repository resource room
    salesforce semantic sentry server service session sharepoint shipment shipping shop shopify similarity slack
    snowflake spec spotify sql sqlite square stock store stripe student subscription supabase symbol system table
    tag task tavily tax teams telegram tenant terminal thread ticket timer todoist token topic train travel trello
    twilio twitter unity url user vault vector vehicle vendor vercel video wallet weather weaviate web webhook wiki
    wordpress workspace xero youtube zendesk zone zoom
""")
"""Things and services that names begin with; a plural is taken for one too."""
UNDONE = word_set("watch")
"""With `un` before them they are verbs: `unstar_repository`."""
ASKS = word_set("am are can did does has have is should was were")
"""A name that begins so asks a question: `is_order_cancelled`, `can_delete`."""
HARMLESS = word_set("""
    attempt_completion calculator final_answer finish manage_todo_list page_down page_up sequentialthinking task_done
    todo_write update_plan update_todo_list write_todos
""")
"""How an agent thinks aloud, keeps its own list of steps, counts, turns a page, or ends."""
GIT_READS = word_set("blame describe diff log reflog shortlog show status")
SHOWN = word_set("alert banner dialog modal notification popup toast")
"""What is put before a person, or only looked at: nobody knows which."""
FILED = word_set("clipboard disk docx drive epub excel file pdf pptx xlsx")
"""Where a result goes that is kept: `export_doc_to_pdf`."""
MOVED = word_set("arm base car dock drone goal pose position robot vehicle waypoint")
"""What moves when it is told to navigate, where a page is only shown."""
PLAYED = word_set("media player song track")
"""What is turned to the next one, `media_next`, where a page is only shown."""
AGENTS = word_set("agent agents assistant expert human humans operator representative specialist supervisor support")
MONEY = word_set("account accounts address bank card checking iban savings wallet")
SCREEN = word_set("browser element keyboard page playwright puppeteer screen selenium ui")
CODE = word_set("""
    bash bigquery browser code command cypher database db duckdb execute graphql javascript js mongo mongodb mysql neo
    pg playwright postgres postgresql puppeteer python redis run script shell snowflake sql sqlite
""")
"""Where one of these is asked to read something, what it is given decides."""

BY_OBJECT: dict[str, tuple[frozenset[str], frozenset[str], Literal["read", "unknown"]]] = {
    "ask": (frozenset(), word_set("followup question questions user"), "unknown"),
    "build": (
        word_set("app binary chart container dependency docker image job package project release site target"),
        frozenset(),
        "unknown",
    ),
    "call": (word_set("contact customer number phone service user webhook"), frozenset(), "unknown"),
    "check": (word_set("box checkbox"), frozenset(), "read"),
    "convert": (
        word_set("account card contact issue lead opportunity order quote task ticket"),
        word_set("currency date html markdown temperature time timezone unit units"),
        "unknown",
    ),
    "download": (frozenset(), frozenset(), "unknown"),
    "execute": (
        word_set("action automation backup cronjob import job migration order payment plan playbook purchase refund")
        | word_set("swap task trade transaction transfer workflow"),
        frozenset(),
        "unknown",
    ),
    "extract": (word_set("archive method superclass tar zip"), frozenset(), "read"),
    "format": (
        word_set("cell cells code column disk document file paragraph range row sheet source table"),
        frozenset(),
        "unknown",
    ),
    "generate": (frozenset(), frozenset(), "unknown"),
    "go": (frozenset(), word_set("back forward page url"), "unknown"),
    "goto": (
        frozenset(),
        word_set("browser declaration definition line page playwright puppeteer reference symbol url"),
        "unknown",
    ),
    "input": (word_set("field form text"), frozenset(), "unknown"),
    "load": (
        frozenset(),
        word_set("""
            config configuration content context csv data dataset doc docs document documents file files html image json
            memory page pages pdf prompt skill table text url web website
        """),
        "unknown",
    ),
    "open": (
        word_set("""
            account blind case channel cover curtain dispute door garage gate incident issue position pr pull shutter
            ticket trade valve window
        """),
        word_set("directory doc document file files folder image link node nodes notebook page site tab url website"),
        "unknown",
    ),
    "pull": (
        word_set("branch changes chart commits docker git helm image latest model remote repo repository"),
        frozenset(),
        "unknown",
    ),
    "rate": (
        word_set("answer article book conversation driver item movie post product response ride seller song video"),
        frozenset(),
        "unknown",
    ),
    "react": (word_set("comment message post to"), frozenset(), "unknown"),
    "reload": (word_set("config configuration core nginx plugin server service"), frozenset(), "unknown"),
    "report": (
        word_set("abuse bug comment fraud incident issue message outage post problem spam user"),
        frozenset(),
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
    "run": (
        word_set(
            "action automation build container cronjob deployment job macro migration payroll pipeline playbook pod"
        )
        | word_set("routine task vba webhook workflow"),
        frozenset(),
        "unknown",
    ),
    "take": (frozenset(), word_set("screenshot screenshots"), "unknown"),
    "train": (word_set("agent classifier model network"), frozenset(), "unknown"),
    "snapshot": (
        word_set("cluster collection database db disk filesystem instance machine server vm volume"),
        frozenset(),
        "read",
    ),
    "select": (
        word_set("checkbox dropdown option playwright puppeteer radio seat"),
        word_set("all column columns data database from page query record records row rows sql table where"),
        "unknown",
    ),
    "track": (
        word_set("event expense habit meal metric workout"),
        word_set("delivery flight order package parcel shipment"),
        "unknown",
    ),
    "watch": (
        word_set("issue page repo repository thread ticket topic"),
        word_set("file folder logs video"),
        "unknown",
    ),
}
"""Verbs that say nothing alone: what makes them a write, what makes them a read, and what they are otherwise."""
ALSO_THINGS = word_set("build call format input pull rate react report snapshot train")
"""Those of them that are things in most names: `exchange_rate`, `pull_request_read`, `report_list`."""


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


_ASKED_LAST = word_set("calculate compute describe explain fetch find get lookup read retrieve show validate verify")
_REDIS_READS = re.compile(r"[hlsxz](?:m?get(?:all)?|keys|vals|len|range|members|card|exists|ismember|score|scan)")
_REDIS = re.compile(r"[hlrsxz](?:m?set(?:nx)?|add|push|pop|rem|del|incrby|trim|move|store)")
"""Commands of Redis: `hset`, `lpush`, `zincrby`."""
_COMPOUND = re.compile(r"(?:auto|batch|bulk|counter|cross|hard|hot|mass|multi|over|pre|soft)(\w{3,})")
_THING = re.compile(r"(?!augment|implement|partition|position|segment|supplement)\w+(?:tion|ment|ity|flow)")
"""How words end that are hardly ever verbs: `workflow_list`, `configuration_view`."""
_NAMESPACE = re.compile(r"__|[.:/]")
_Words = tuple[str, ...]


@lru_cache(maxsize=4096)
def name_effect(name: str) -> EffectKind:
    """What the words of a name say."""
    words = words_of(name)
    if "_".join(words) in HARMLESS or (words[:1] and words[0] in ASKS and len(words) > 1 and not _also_writes(words)):
        return "read"
    if words[:2] == ("transfer", "to"):
        return _hand_over(words)
    if words[:1] == ("git",) and not GIT_READS.isdisjoint(words[1:2]) and not any(map(_is_write, words[2:])):
        return "read"
    return _by_verb(words, name)


def _by_verb(words: _Words, name: str) -> EffectKind:
    """What the first verb says, else what a name of nothing but things ends with."""
    for at, word in enumerate(words):
        found = _verb_effect(word, words[:at], words[at + 1 :])
        if found is not None:
            return found
    if _also_writes(words):
        return "write"
    if words and words[-1] in TOLD and _are_things(words[:-1]):
        return "read"
    return effect_abroad(name) or "unknown"


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
        moves = word == "navigate" and not MOVED.isdisjoint(before + rest)
        is_put = word == "show" and not SHOWN.isdisjoint(rest[-1:])
        return "unknown" if moves or is_put else _read_effect(word, before, rest)
    if (_REDIS_READS.fullmatch(word) and not rest) or _is_write(word):
        return "read" if _REDIS_READS.fullmatch(word) else "write"
    if word in WRITES_OR_THINGS:
        return _write_or_thing(word, rest)
    if word in THINGS_OR_WRITES or word in WRITES_FIRST:
        return _thing_or_write(word, before, rest)
    makes = word == "new" and (not rest or not (before or rest[-1].endswith("s")))  # `tab_new`, `new_task`
    turns = word in ("on", "off") and before and not rest  # `lights_off`
    plays = word in ("next", "previous") and not rest and not PLAYED.isdisjoint(before[-1:])
    return "write" if makes or turns or plays else None


def _read_effect(word: str, before: _Words, rest: _Words) -> EffectKind:
    if _also_writes(rest):
        return "write"
    writes = [other for other in rest if other in WRITES]
    if word in READS_OR_THINGS and len(rest) == len(writes) == 1:
        return "write"  # `poll_create`
    if word == "list" and len(rest) > 1 and rest[0] in WRITES_FIRST and rest[-1][-1] != "s" and rest[-1] not in TOLD:
        return "unknown"  # `todo_list_complete_item`, `list_contact_group`
    if word in ("list", "poll") and rest[:1] == (*writes[:1],) != () and not (rest[-1][-1] == "s" or rest[-1] in TOLD):
        return "write"  # `shopping_list_add_item`; but `list_update_jobs`
    is_verb = word in READS or _are_things(before)
    if word in ("list", "search") and rest and rest[-1].endswith("s"):
        is_verb = True  # `acme_list_orders`: the word before is most likely the name of a service
    if word == "search" and not rest:
        is_verb = True  # `arxiv_search`: hardly any tool does something else to a search
    if word in ("recommend", "suggest"):
        is_verb &= bool(rest)  # `suggest_dates`; but `review_suggest` may leave a suggestion
    if word in ("evaluate", "query"):  # what is given to it decides
        is_verb &= bool(rest) and CODE.isdisjoint(before + rest)
    if word in READS_OR_THINGS:
        told = word == "list" and not before and rest[:1] != (*writes[:1],) and rest[-1].endswith("s")
        is_verb &= told or (not writes and not (rest and rest[-1] in WRITES_OR_THINGS))  # `scan_job_start`
    elif word not in NAMES_WHAT_IT_GETS:
        is_verb &= WRITES.isdisjoint(rest[:1] + rest[-1:])  # `find_delete`, `verify_sender_add`
    return "read" if is_verb else "unknown"


def _are_things(words: _Words) -> bool:
    """Whether none of the words can be a verb that we do not know."""
    return all(word in NOUNS or (word.endswith("s") and len(word) > 3) or _THING.fullmatch(word) for word in words)


def _also_writes(rest: _Words) -> bool:
    """`get_or_create_user`, `search_and_replace`, `search_replace`, `extract_pages_to_file`."""
    if rest[:1] == ("replace",) or (rest[-2:-1] == ("to",) and rest[-1] in FILED):
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
        return None if rest[-1] in _ASKED_LAST else "unknown"  # `refund_get`; `vacuum_analyze`
    if rest and rest[-1] in READS_OR_THINGS and rest[-2:-1] not in (("from",), ("in",), ("to",)):
        return "unknown"  # `share_list`
    if len(rest) == 1 and rest[0] in TOLD:
        return _told(word, rest[0])
    return "write"


def _thing_or_write(word: str, before: _Words, rest: _Words) -> EffectKind | None:
    if not rest and before:
        is_done = not SCREEN.isdisjoint(before) or (word == "post" and before[-1] in ("http", "requests"))
        return "write" if is_done else "unknown"  # `browser_type`, `requests_post`; `error_message`, `blog_post`
    if word in WRITES_FIRST:
        # `post_get` has a verb of its own, `schedule_visit` perhaps.
        reads = [other for other in rest[-1:] if other in READS_OR_THINGS or (other in TOLD and len(rest) == 1)]
        return None if rest and rest[0] in READS else "unknown" if reads else "write"
    if rest[:1] == ("from",) or (word == "text" and rest[:1] == ("to",)):
        return "unknown"  # `message_from_link`, `text_to_speech`
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
    if word in WRITES or _REDIS.fullmatch(word):
        return True
    stem = word[2:]
    if len(stem) < 3 or word in READS or _can_write(word):
        return False
    if word.startswith("de"):
        return stem in WRITES
    compound = _COMPOUND.fullmatch(word)  # `bulkdelete`, `countersign`, `hotfix`
    if compound is not None and (compound[1] in WRITES or _can_write(compound[1])):
        return True
    return word.startswith(("un", "re")) and (stem in WRITES or _can_write(stem) or stem in UNDONE)


def _by_object(verb: str, before: _Words, rest: _Words) -> EffectKind | None:
    """`resolve_ticket` and `resolve_path`, `open_account` and `open_file`."""
    if before and len(rest) == 1 and _is_write(rest[0]):
        return None  # `pipeline_run_create`: the clearer word decides
    writes, reads, otherwise = BY_OBJECT[verb]
    rest = (*rest, *(word[:-1] for word in rest if word.endswith("s") and word[:-1] in writes))  # `open_tickets`
    if rest and not writes.isdisjoint(rest):
        before = before[1:]  # `kind_build_image`: the first word is most likely the name of a service
    if verb in ALSO_THINGS and (not _are_things(before) or any(map(_is_verb, rest)) or rest[:1] == ("request",)):
        return None
    is_gate = verb == "check" and not {"in", "out"}.isdisjoint(rest[:1] + rest[-1:])  # `check_in_guest`
    if is_gate or _also_writes(rest) or not writes.isdisjoint(before + rest):
        return "write"
    if verb in ("execute", "run") and rest and rest[-1].removesuffix("s") in WRITES:
        return "write"  # `execute_edits`, `run_cleanup`
    found = "read" if not reads.isdisjoint(before + rest) else otherwise
    is_gesture = verb != "snapshot" and not rest and not SCREEN.isdisjoint(before)  # `browser_check` ticks a box
    return found if _are_things(before) and not is_gesture else "unknown"
