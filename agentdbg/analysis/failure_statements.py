"""
Whether a sentence states a failure: "Unable to book: …", "Order 7 was not found", "Zugriff verweigert".

The grammar is small. A statement begins with what could not be done ("could not open …") or with what is wrong with
what was given ("invalid date format"); or it says of its subject that it was not found, refused, exceeded or expired,
and ends there or goes on with the circumstances. Programs put their name, a place or a tag before it. A definition
("Invalid Date is a value that …"), a title, a condition, a question and what stands in quotes state nothing.
"""

from __future__ import annotations

import re

from agentdbg.analysis.failure_phrases import states_foreign_failure

__all__ = ["only_tells", "states_failure", "worked_after_all"]

_LONGEST = 300
"""A subject may be anything, so what is said of one counts only where a text says little else."""
_MOST_PREFIXES = 4


def _any(words: str) -> str:
    """One of the words between bars, for a pattern in which spaces do not count."""
    return f"(?:{'|'.join(word.strip().replace(' ', chr(92) + ' ') for word in words.split('|'))})"


_CIRCUMSTANCES = _any(
    "after | as | at | because | before | by (?!the (?!bank|host|issuer|provider|remote|server|system|user)) | due"
    " | during | for | from | if | in | on | or | right now"
    " | so | to | trying | under | waiting | while | with | within | yet"
)
_NUMBER = r"\d[\d.,]*\s*(?:%|m?s\b|[;,)]|$)"
_ENDS = rf"(?= \s*$ | \s*[;,.!()–—] | \s*:(?!\s*{_NUMBER}) | \s+-\s | \s+{_CIRCUMSTANCES}\b )"
"""Where a statement ends, or its circumstances begin; `timeouts: 3` is a figure."""
_PREFIX = re.compile(
    r"""(?: [a-z_.~/$-][\w./\\+~-]*(?:\[\d+\])? | [A-Z]:\\[^\s:]+ | [A-Z]\w*(?:[.-]\w+)+ | [A-Z]\w*[A-Z]\w*
          | [A-Z]\d{2,4}
          | [A-Z][a-z]+\ "[^"\n]+" | Message | line\ \d+ | \d{1,6} ) \ ?: [\ \t]+
      | \*{2,4}\ + | [A-Z][A-Z_]{3,}\ (?=[a-z]) | \( \w[\w.]* \)\ + | \[ [^\[\]\n]{1,40} \] \s*:? \s+""",
    re.VERBOSE,
)
"""What stands before the words of a program: `ls: `, `/bin/sh: 1: `, `Get-Item : `, `(NotFound) `, `[docker] `."""
_WRAPPED = re.compile(r"[a-z][\w ]{2,40}: [^\n]+$")
"""Errors inside errors, all in small letters: `read header: unexpected EOF`."""
_LISTED = re.compile(
    r"(?:[-*•#>+]|\[(?:PASS(?:ED)?|OK|INFO|SUCCESS)\]|//|/\*|--|\[?\d{4}-\d\d-\d\d[\dT:., Z]*\]?|\d+[.)])\s"
)
"""A point of a list, a heading or a comment."""
_QUOTED = re.compile(r"(?<!\w)'[^'\n]{1,80}'(?!\w)|\"[^\"\n]{1,80}\"|`[^`\n]{1,80}`")
_SENTENCE_ENDS = re.compile(r"[.!?](?=\s+\S|$)|\n|。")
_CODE_NAME = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+){1,5}|(?:[A-Z]?[a-z]+)(?:[A-Z][a-z]+){1,5}")
"""The name of an error, as services give it: `card_declined`, `USER_NOT_FOUND`, `InvalidToken`."""
_WORDS_APART = re.compile(r"[_-]|(?<=[a-z])(?=[A-Z])")
_GOES_ON = re.compile(r"[.!]\s+(?:instead|so|but)\b", re.IGNORECASE)
"""What was asked for is not there, and here is something else."""
_WORKED = re.compile(
    r"[.;!\n].*\b(?:reconnected|recovered|succeeded|successful(?:ly)?)\b(?!.*\b(?:err|fail|not\b))"
    r"|^\W*(?:\w+ ){0,4}?(?:connected|reconnected|recovered|succeeded) after\b",
    re.IGNORECASE | re.DOTALL,
)
_TELLS = re.compile(
    r"""\b(?:is|are|was|were)\s+(?:an?|the|one|often|raised|thrown|shown|written|used|usually)\b
        (?!\ (?:directory|required))
      | \b(?:means?|refers?\ to|stands?\ for|denotes?|indicates?|describes?)\b
      | \(\d{4}\) | ^(?!.*\bdid\ you\b).*\?\s*$ | ^(?:raised|thrown|occurs)\ (?:by|if|when)\b
      | ^returns?\ \d | \bfor\ comment\b | \b(?:dans|em|en|im|nel|wurde[n]?|в)\ (?:19|20)\d\d\b
      | ^(?:avoiding|causes|common|debugging|fixing|preventing|typical|understanding)\b
      | ^(?:anleitung|como|comment|cómo|guide|как|руководство|wie)\b
      | \bstatus\ codes: | ^\w+:\ \d+\ of\ \d+
      | \b(?:he|she|his|her|him)\b | ,\ according\ to\b | \bin\ (?:Q[1-4]|\d+\ of\ \d+)\b
      | \b(?:in|since)\ (?:19|20)\d\d\b | \b(?:yesterday|last\ (?:\w+day|week|month|year|night)|ago)\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""A definition, a title with its year, a question, or what happened once or to somebody."""
_NO_STATEMENT = re.compile(
    _any(
        # Somebody speaks, a condition, a heading, something that was done.
        "i | i'm | we | hi | hello | yes | sure | thanks? | since | because | although | if | when | whenever | unless"
        " | once | in case | where | why | how | what | notes? | tip | make sure | ensure | check | some | most | many"
        " | no | none | nothing | ticket | issue | subject | news | alert | rule | policy | successfully"
        " | fixed | resolved | recovered | created | added | updated | merged | deleted | removed | renamed | restored"
        " | ignored | handled | retried | retrying | closed"
    )
    + r"\b(?!\ longer)",
    re.VERBOSE | re.IGNORECASE,
)

_WRONG = _any(
    "invalid | malformed | no such | non-existent | nonexistent | uncaught | undefined | unhandled | unknown"
    " | unrecogni[sz]ed | unresolved | unsupported"
)
_GENERAL = r"(?!\ (?:are|can|may|will)\b)"
"""Not what is so of all of a kind: "invalid tokens are rejected"."""
_WRONG_HERE = _any(
    "ambiguous | bad | incomplete | duplicate | expired | illegal | incorrect | insufficient | missing"
    " | not enough | too many"
    " | unauthori[sz]ed | unexpected | wrong"
)
_NOUN = _any(
    "access | account | action | address | amount | api key | argument | attempt | balance | body | booking | card"
    " | channel | char(?:acter)? | class | code | column | command | config(?:uration)? | connection | content"
    " | coupon | credential | credit | data | database | date | dependenc(?:y|ies) | directory | domain | element"
    " | email | encoding | entry | environment variable | eof | escape | expression | field | file | flag | format"
    " | function | fund | group | handle | header | host | id | identifier | import | index | input | instruction"
    " | item | json | key | keyword | length | library | login | memory | method | mode | model | module | name"
    " | node | number | object | operand | operation | operator | option | order | output | package | page"
    " | parameter | password | path | permission | pin | port | privilege | project | property | query | quota"
    " | range | record | reference | request | resource | response | result | right | row | schema | scheme | scope"
    " | seat | section | selector | server | session | signature | size | space | state | statement | status"
    " | stock | symbol | syntax | table | tag | time | token | tool | type | unit | uri | url | user | username"
    " | value | variable | version | xml"
)
"""What one gives to a program, or it needs."""
_WORD = r"(?-i: \.{0,3}[a-z0-9_$*(…][\w.$*()…'/-]* | [A-Z0-9_]{2,}s? | Q )"
"""A word of a sentence; those of titles begin with capitals."""
_GIVEN = _any("provided|supplied|specified|given|received|detected|encountered|for|in|at|near|on|from|of type")
_GUARDED = _any(
    "access|authentication|authori[sz]ation|query|statement|card|charge|connection|deployment|download|handshake|login|operation|payment"
    "|permission|request|transaction|transfer|upload"
)
_DENIED = _any(
    "aborted | blocked | cancell?ed | closed | declined | denied | failed | forbidden | lost | refused | rejected"
    " | reset | throttled"
)
_NOT_TAKEN = _any("not possible | not delivered | not sent | bounced | declined | refused | rejected")
_NOT_SO = _any("found|allowed|permitted|implemented|supported|authori[sz]ed|authenticated|logged in|available")
_ERRNO = _any(
    "argument list too long | out of memory | bad file descriptor | broken pipe | file exists | forbidden"
    " | is a directory"
    " | name or service not known | no route to host | no space left on device | not a directory"
    " | operation not permitted | unauthenticated | unauthori[sz]ed | unavailable"
)
_RIGHTS = _any(r"access | authori\w+ | credits? | enough | permissions? | privileges? | rights?")
_IS = _any("is | was | were | has been | have been")
_NOT = _any(
    "accessible | allowed | attached | authenticated | authori[sz]ed | available | configured | connected | defined"
    " | executed | found | given | implemented | initiali[sz]ed | installed | interactable | logged in | performed"
    " | permitted | processed | provided | reachable | readable | recogni[sz]ed | registered | saved | sent | set"
    " | specified | supplied | supported | visible | writable"
)
_WORK = _any("action | call | command | execution | operation | process | query | request | run | script | step | tool")
_STOPPED = _any("aborted | blocked | cancell?ed | declined | denied | interrupted | rejected | stopped | terminated")
_IN_GENERAL = r"""(?! an?\ .*\bcan | [a-z\ ]+s\ can | (?!failed|expired|denied|refused|rejected|unauth)[a-z]+ed\b
    | \w+ing\ is\b )"""
"""What is so of all things of a kind ("tickets cannot be changed"), and what somebody has done."""
_TERSE = re.compile(
    rf"""{_IN_GENERAL}(?-i:[^\W\d]\w*(?:\ [a-z\d'-]+|\ [A-Z\d]+){{0,3}}?) (?<!\bno)(?<!\bnone)
    \ (?:is\ (?:currently\ )?)? (?:
        {_any("corrupt | exhausted | expired | exceeded | failed | fails | invalid | malformed | mismatch | missing")}
      | {_any("overloaded | rolled back | timed out | unavailable | unknown | unreachable | unsupported")}
      | too\ \w+ | out\ of\ (?:bounds|memory|range|space) | (?:not|no\ longer)\ (?:{_NOT}|{_NOT_SO}|valid)
      | (?:already\ )?{_any("registered | taken")} | by\ zero ) (?:[.!]?\s*$|:)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A text of few words, as programs with little room say it: "balance too low", "host unreachable"."""
_LONGEST_TERSE = 60
_BEGINS = re.compile(
    rf"""(?:
      # What could not be done.
        (?:sorry,?\ |oops[,!]?\ )? (?:the\ (?:tool|server|system|command|agent)\ (?:was\ |is\ )?|(?:i|we)\ (?!can))?
        (?: {_any("unable | was unable | not able | failed | refused | refusing")}\ to\ (?-i:[a-z])
          | {_any("could not | couldn't | cannot | can not | can't")}\ (?!is\b)(?-i:[a-z])\w* | impossible\ to\ [a-z] )
        (?![^:]*,\ (?:the|an?|it|he|she|they)\b)
      # What is wrong with what was given.
      | (?: {_WRONG} (?:{_GENERAL}\ {_WORD}){{1,5}}? (?!\s*,)
          | (?:{_WRONG}|{_WRONG_HERE}) (?:\ [\w'/-]+){{0,4}}?\ {_NOUN}(?:e?s)? (?:\ {_WORD})?? )
        (?= \s*$ | \s*[;,.!(=] | \s*:(?!\s*{_NUMBER}) | \s+-\s | \s+\[ | \s+{_GIVEN}\b )
      # What was refused, or took too long.
      | (?: (?:\w+\ ){{0,3}}{_GUARDED}\ (?:{_any("was | is | has been | attempt")}\ )?{_DENIED}
          | (?:\w+\ ){{0,3}}(?:(?:not|in)\ ?(?:accepted|correct)|too\ (?:big|deep|large|long|short|small)|offline)
          | (?:\w+\ )?(?:aborted|blocked|interrupted|terminated)(?=\ by\b|\s*:)
          | (?:\S+\ ){{0,3}}{_any("timed out | deadline exceeded")} | not\ {_NOT_SO} | {_ERRNO}
          | an?\ (?:\w+\ ){{1,4}}(?:is|was)\ required | no\ (?:\w+\ ){{1,4}}(?:was|were)\ (?:performed|applied|provided)
        ){_ENDS}
      # An action that was not taken, and why: "Rebooking not possible: the fare is sold out".
      | (?:[\w-]+\ ){{0,2}}?[\w-]*[^s\W]\ (?:{_any("was | has been")}\ )?{_NOT_TAKEN}(?=:\ (?-i:[a-z])\S*\ )
      | (?:[\w/]+\ ){{0,3}}time-?out
        (?=\s*$ | \s*[.!] | \s*:(?!\s*{_NUMBER})\s | \ {_any("after | exceeded | waiting | while")}\b )
      | no\ (?:\w+\ ){{1,3}}exists?\b | there\ (?:is|was)\ no\ (?:\w+\ ){{1,3}}(?:called|matching|named|with)\ \S
      | (?:i|we)\ (?:found|could\ find)\ no\ \w | empty\ (?:body|reply|response|result)\b
      | (?:please\ )?verify\ (?:that\ )?you\ are\ (?:not\ )?(?:a\ )?(?:human|robot)
      | {_any("argument | field | flag | key | option | parameter | property")}\ Q
        \ is\ {_any("required | missing | invalid")}
      | (?:[\w'-]+\ ){{1,4}}(?:died|hang\ up|hung\ up){_ENDS} | socket\ hang\ up
      | (?:(?:we're|we\ are|i'm)\ )?sorry,?
        \ (?:but|no|i\ (?:am|can|could|do|don|was)|something|that|the|this|we|you|your)\b
      | expected\ [^,]{{1,60}},?\ (?:but\ )?(?:got|received|found|was)\b | \d+\ validation\ errors?\ for\b
      | (?:reached|exceeded|hit)\ (?:the\ |your\ )?(?:max\w*|limit)\b
      | (?:please\ enable|(?:\w+\ ){{0,3}}requires)\ (?:javascript|cookies)\b
      | no\ (?:\w+\ ){{1,3}}(?:registered|configured|defined|installed|supplied|specified|provided|given)\b
      | no\ (?:\w+\ ){{1,3}}(?:called|for|like|matching|named|with)\ [^:\n]{{1,80}}?
        \ (?:exists?|matche[sd]|{_IS}\ {_NOT})\b
      | (?:\w+\ ){{0,3}}{_WORK}\ {_IS}\ {_STOPPED}\b
      | you\ (?:can't|cannot|may\ not)\ \w+\ (?:here|that|this)\b | (?:giving\ up|aborting)\b
      | unexpected\ (?:character|end|eof|identifier|indent|keyword|symbol|token)\b
      | temporary\ failure\b | (?:i|we)\ (?:was|were|am|are)\ not\ able\ to\b
      | lost\ connection\b | there\ (?:was|is)\ an?\ (?:error|issue|problem)\b
      | (?:\w+\ ){{1,4}}(?:closed|crashed|ended|exited|quit|stopped|terminated)\ unexpectedly\b
      | deadlock\ (?:detected|found)\b | please\ (?:enter|provide|specify|supply)\b
      | (?:\w+\ )?syntax\ error\ (?:at|in|near|on)\b | signal:\ \w+
      | (?:i|we)\ (?:don't|do\ not)\ have\ (?:\w+\ ){{0,2}}{_RIGHTS}
      | (?:this|the|your)\ (?:\w+\ ){{1,2}}(?:has|have)\ already\ been\ \w+{_ENDS}
      | the\ user\ (?:doesn't|does\ not)\ want\b | no\ module\ named\b
      | you(?: (?:'ve|\ have)?\ (?:already\ )?{_any("exceeded | reached | run out of | used up | hit")}\ your
          | \ (?:do\ not|don't)\ have\ (?:\w+\ ){{0,3}}{_RIGHTS}
          | (?:\ are|'re)\ not\ {_any("authori[sz]ed | allowed | permitted | logged | signed | a member")}
          | \ (?:must|need\ to)\ (?:be\ )?{_any("logged | signed | authenticated | log in | sign in")} )\b )""",
    re.VERBOSE | re.IGNORECASE,
)

_BROKEN = _any(
    "aborted | blocked | corrupt | corrupted | denied | interrupted | invalid | killed | malformed | offline"
    " | destroyed | detached | overloaded"
    " | out of bounds | out of memory | out of range | refused | throttled | unauthori[sz]ed | unavailable"
    " | undefined | unreachable | unsupported"
)
_EXPECTED = _any(
    r"absolute | an? int\w* | an? list | an? number | an? positive | an? string | an? valid | at least | at most"
    r" | between | greater | in the future | in the past | less | numeric | of type | one of | positive | provided"
    r" | specified | unique | valid"
)
_DOES_NOT = _any(
    r"appear | contain | exist | have access | have authori\w+ | have enough | have permission | match"
    r" | recogni[sz]e | respond | understand"
)
_IS_NOT = _any(
    "a known | a recogni[sz]ed | a valid | allowed to | an existing | assignable | authori[sz]ed to | callable"
    " | clickable | editable | executable | hashable | iterable | permitted to | recogni[sz]ed as | serializable"
    " | subscriptable"
)
_SUBORDINATE = _any(
    "are | because | claims? | if | reported | reports? that | said | says | that | thinks? | unless | until | when"
    " | where | whether | which | who"
)
"""What was not found "when …" or "which …" is a part of another sentence."""
_SAID_OF_IT = re.compile(
    rf"""{_IN_GENERAL}(?:\S(?:(?!\ {_SUBORDINATE}\b)[^:\n]|:(?=\S)){{0,160}}?)??\b(?:
      (?: could(?:\ not|n't)\ (?:be|have)\ \w+
        | {_any("cannot | can not | can't | may not")}\ be\ \w+(?=\s*$|\s*[:;,.!(])
        | (?:{_IS}\ )?not\ {_NOT} | {_IS}\ {_BROKEN}
        | {_IS}(?:n't|\ no\ longer|\ currently(?:\ not)?|\ temporarily)\ (?:accessible|found|(?:un)?available|valid)
        | (?:has\ |have\ |(?<!\d\ )(?<!\bnone\ )(?<!\bnot\ )(?<!\bnever\ )(?<!\b(?:or|if)\ ))
          (?:expired|failed|crashed|timed\ out)
        | has\ gone\ away | violates\ (?:\w+\ ){{0,3}}constraint | deadlock\ (?:detected|found)
        | already\ {_any("booked | exists? | taken | in use | registered | reserved")}
        | no\ longer\ exists?
        | must\ be\ {_EXPECTED}[\w\ .-]*
        | (?:exceeds?|exceeded|exhausted)
          (?:\ (?:{_any("the | your | its")}\ (?:\w+\ ){{0,2}})?
            {_any("maximum|limit|quota|balance|allowed|available")}[\w\ ]*)?
        | {_any("limit | quota")}\ (?:(?:was|has\ been|is)\ )?{_any("reached | hit")}
      ){_ENDS}
      | {_NOUN}\ is\ {_any("busy | closed | disabled | down | full | locked | suspended")}{_ENDS}
      | (?: (?:{_any("does | did | you do")}(?:\ not|n't)\ {_DOES_NOT} | do(?:\ not|n't)\ (?:appear|exist|match))
          | is\ not\ {_IS_NOT} | is\ outside\ (?:of\ )?the\ (?:allowed|permitted|valid)
          | is\ in\ the\ past | is\ password[ -]protected | appears?\ to\ have\ (?:crashed|died|failed)
          | but\ \w+\ is\ false
          | has\ no\ {_any("attribute | column | member | method | property")} | is(?:n't|\ not)\ working
          | {_any("password | authentication | login | captcha")}\ (?:is\ )?required | got\ an\ unexpected
          | {_any("cannot | can't | could not | couldn't | unable to")}
            \ {_any("access|connect|create|find|load|open|read|remove|resolve|stat")}
          | Q\ is\ (?:not\ defined|a\ required) )\b )""",
    re.VERBOSE | re.IGNORECASE,
)

_TELLING = re.compile(
    r"\b(?:able|aborted|aborting|accepted|access|already|ambiguous|argument|authentication|available|bad|"
    r"blocked|booked|broken|busy|by|can|canceled|cancelled|cannot|captcha|closed|column|configured|"
    r"constraint|correct|corrupt|corrupted|could|couldn|crashed|deadline|deadlock|declined|defined|"
    r"denied|descriptor|destroyed|detached|did|didn|died|directory|disabled|do|does|doesn|don|"
    r"down|duplicate|empty|enable|enter|error|exceeded|exceeds|exhausted|expected|expired|fail|"
    r"failed|fails|file|forbidden|found|full|given|giving|gone|hang|has|have|hit|hung|illegal|"
    r"impossible|incomplete|incorrect|installed|insufficient|interrupted|invalid|is|isn|issue|killed|"
    r"limit|locked|login|longer|lost|low|malformed|may|mismatch|missing|must|no|non|nonexistent|"
    r"not|offline|operation|out|overloaded|password|permission|problem|provide|provided|quota|re|"
    r"reached|refused|refusing|registered|rejected|requires|reserved|reset|rolled|route|signal|"
    r"sorry|specified|specify|stopped|such|supplied|supply|supported|suspended|syntax|taken|"
    r"temporary|terminated|there|throttled|time|timed|timeout|too|unable|unauthenticated|"
    r"unauthorised|unauthorized|unavailable|uncaught|undefined|unexpected|unexpectedly|unhandled|"
    r"unknown|unreachable|unrecognised|unrecognized|unresolved|unsupported|validation|ve|verify|"
    r"violates|was|wasn|were|wrong|you|zero)\b",
    re.IGNORECASE,
)
"""A sentence with none of these words is looked at no further."""


def only_tells(sentence: str) -> bool:
    """Whether a sentence defines or asks something, or tells what happened once."""
    return _TELLS.search(sentence) is not None


def worked_after_all(text: str) -> bool:
    """Whether a short text says in the end that what it speaks of worked: "attempt 1 failed. Attempt 2 succeeded"."""
    return len(text) <= _LONGEST and _WORKED.search(text) is not None


def states_failure(text: str) -> bool:
    """Whether the first sentence of a text, without who says it, is a statement of failure."""
    text = text.strip().replace("’", "'")
    if _CODE_NAME.fullmatch(text):
        text = _WORDS_APART.sub(" ", text).lower()
    said, is_program = _without_prefixes(text)
    is_program = is_program or _WRAPPED.match(said) is not None
    end = found.start() if (found := _SENTENCE_ENDS.search(said)) else len(said)
    sentence = said[:end]
    if any(mark in sentence for mark in "'\"`"):
        sentence = _QUOTED.sub("Q", sentence)
    sentence = sentence.strip()
    if len(sentence) > _LONGEST:
        return False
    is_foreign = len(text) <= _LONGEST and states_foreign_failure(said[:end])
    if (
        not (is_foreign or _TELLING.search(sentence))
        or _GOES_ON.match(said, end)
        or _LISTED.match(text)
        or only_tells(said[: end + 1])
    ):
        return False
    said_by_all = [sentence, sentence.rpartition(": ")[2]] if is_program else [sentence]
    if is_foreign or any(map(_BEGINS.match, said_by_all)):
        return True
    if not is_program and (len(text) > _LONGEST or _NO_STATEMENT.match(sentence)):
        return False
    is_terse = len(text) <= _LONGEST_TERSE and "\n" not in text
    return any(map(_SAID_OF_IT.match, said_by_all)) or (is_terse and _TERSE.match(sentence) is not None)


def _without_prefixes(text: str) -> tuple[str, bool]:
    said = text
    for _ in range(_MOST_PREFIXES):
        found = _PREFIX.match(said)
        if found is None:
            break
        said = said[found.end() :]
    return said, said is not text
