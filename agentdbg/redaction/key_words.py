"""
What the words of a key say: that it counts, that it turns a page, that it opens something when its value looks random.

Each question is about the words alone, in small letters and in their order; `keys` reads them out of a key.
"""

from __future__ import annotations

import re

__all__ = [
    "AFTERWORDS",
    "HOLDS_SECRETS",
    "KEY_NAME_ENDS",
    "KEY_NAME_ENDS_ROUGHLY",
    "KEY_NAME_STEMS",
    "PASSWORD_ENDS",
    "counts_passes",
    "counts_some",
    "counts_tokens",
    "describes",
    "escaped_spelling",
    "is_field_name",
    "is_no_password",
    "names_a_key",
    "says_nothing",
    "turns_a_page",
    "without_escapes",
    "word_set",
]


def escaped_spelling(word: str) -> str | None:
    """An expression for a word as JSON writes it in ASCII, however often it was written so; None when it is ASCII."""
    if word.isascii():
        return None
    return "".join(re.escape(letter) if letter.isascii() else rf"\\+u{ord(letter):04x}" for letter in word)


HOLDS_SECRETS = "secret|credential|password|token|auth|key"
"""What is in the name of a section, or of a nested part, that holds nothing else."""

_ESCAPED = re.compile(r"\\+u([0-9a-fA-F]{4})")


def without_escapes(name: str) -> str:
    """A name with the letters that JSON has written as numbers."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name) if "\\" in name else name


def word_set(text: str) -> frozenset[str]:
    """The words of a text: lists of them read best as words."""
    return frozenset(text.split())


# A name whose last word is one of these loses a value that looks random.
PASSWORD_ENDS = ("pass", "passwd", "passwrd", "pswd", "pw", "pwd")
_ENDS_IN = ("key", "keys", *PASSWORD_ENDS)
_IS = (
    "appid", "assertion", "creds", "hmac", "mnemonic", "oauth", "pat", "pats", "pem", "pepper", "psk", "pw", "salt",
    "sas", "seed", "sig", "sigs", "signature", "signatures", "sk", "verifier",
)  # fmt: skip
# What may stand after that word: which one of several, how it is written, where it is used.
AFTERWORDS = (
    "b64", "base64", "base", "contents", "content", "current", "data", "default", "development", "dev", "encoded",
    "hex", "live", "main", "material", "new", "old", "pem", "private", "production", "prod", "raw", "sandbox", "sha",
    "staging", "stage", "string", "str", "test", "text", "value", "v", "words",
)  # fmt: skip
# Keys that find something and guard nothing, and signatures of functions.
_OTHER_KEYS = word_set(
    "answer arrow bucket cache candidate child click column comparison composite compound ctrl dedup dedupe "
    "deduplication dict dictionary document entity entry escape field first foreign group grouping hash home hot i18n "
    "idempotency index item join json keyboard label last locale lock lookup memo memoization message missing modifier "
    "mutex natural node object order parent partition press primary prop property pub public publishable range record "
    "region row s3 shard shift shortcut site sort sorting surrogate tab translation tree unique verification "
    "verifying"
)
_OTHER_SIGNATURES = word_set("call constructor function git method time type")
_WORDS_IN_KEY = word_set(
    "bypass compass donkey encompass hockey hotkey inchikey jockey lackey monkey overpass pubkey smokey surpass "
    "trespass turkey underpass whiskey"
)


def names_a_key(words: list[str]) -> bool:
    """Whether the last word is key, pat, sig or the like, and the one before it does not say that it opens nothing."""
    last = len(words) - 1
    while last > 0 and words[last] not in _IS and (words[last] in AFTERWORDS or words[last].isdigit()):
        last -= 1
    if last < 0:
        return False
    word, before = words[last], words[last - 1] if last else ""
    if word not in _IS and not word.endswith(_ENDS_IN):
        return word == "hash" and before == "api"
    if word in _WORDS_IN_KEY or (before in _OTHER_KEYS and word != "salt"):
        return False
    return not (word.startswith("sig") and before in _OTHER_SIGNATURES)


_AFTERWORD = rf"(?:[_\-.]?(?i:{'|'.join(AFTERWORDS)}|[0-9]+))*"
KEY_NAME_STEMS = (
    "api", "appid", "assertion", "creds", "hmac", "key", "mnemonic", "oauth", "pass", "pat", "pem", "pepper", "psk",
    "pswd", "pw", "salt", "sas", "seed", "sig", "sk", "verifier",
)  # fmt: skip
"""What a text without any such name holds none of."""
KEY_NAME_ENDS = re.compile(
    rf"(?:(?i:{'|'.join(_ENDS_IN[::-1])}|api[_\-.]?hash)|(?<![A-Za-z])(?i:{'|'.join(_IS[::-1])})"
    rf"|(?<=[a-z])(?:{'|'.join(word.capitalize() for word in _IS[::-1])})){_AFTERWORD}(?![A-Za-z0-9_])"
)
"""The last words of every name that `names_a_key` knows, as they stand in a text, from their stem on."""
KEY_NAME_ENDS_ROUGHLY = (
    rf"(?:(?i:{'|'.join(_ENDS_IN[::-1])}|api[_\-.]?hash)|(?:^|[^A-Za-z]|\\+[nrtbf])(?i:{'|'.join(_IS[::-1])})"
    rf"|[a-z](?:{'|'.join(word.capitalize() for word in _IS[::-1])})){_AFTERWORD}"
)
"""The same without look-around."""


_DESCRIBING = word_set(
    "age alg algorithm arn attempts audience backend backends banner bucket change changed changes class classes "
    "consent count counts days decimals digits dir directory disabled domain duration enabled encoder endpoint "
    "endpoints env error errors expiration expired expires expiry factory failures field fields file filename files "
    "flow flows folder form format found generator handler handlers hasher hashers helper hint hours interval "
    "issuer jar kind label len length level lifetime location manager max maximum method methods middleware min "
    "minimum minutes mode months ms name names page path paths placeholder policies policy prefix present protected "
    "provider providers reason ref reference region required requirements retries rotated rotation rule rules "
    "samesite scanning scheme schemes scope scopes screen seconds serializer serializers service size sock socket "
    "source standard state status store strategy strength supply supported symbol time timeout timestamp ttl type "
    "types updated uri uris url urls valid validation validator validators var variable version view"
)
_SPECIAL = word_set("bos cls decoder eos image mask pad sep special stop unk")
_BESIDE_SPECIAL = word_set("additional all begin default end forced id ids start str suppress token tokens")


def describes(words: list[str]) -> bool:
    """Whether a name only speaks of a secret (`token_type`, `password_file`), or of the tokens of a model."""
    if not words:
        return False
    if words[-1] in _DESCRIBING or (words[-1] == "at" and words[1:]) or words[-2:] == ["expires", "in"]:
        return True
    if words[-1] == "id" and words[-2:-1] in (["secret"], ["credentials"]):  # which one it is
        return True
    if words[0] == "existing":  # `existingSecret: my-db`, as charts write it
        return True
    return not _SPECIAL.isdisjoint(words) and (_SPECIAL | _BESIDE_SPECIAL).issuperset(words)


_FIELD_NAMES = word_set(
    "address age avatar bio city code comment content count country created_at date description email first_name "
    "full_name id key label last_name login message name note password_hash phone role state status title type "
    "updated_at url user user_id user_name username value zip api_key apikey auth authorization cookie secret token"
)


_NAME_OF_VARIABLE = re.compile(
    r"(?:[A-Z]{2,20}_){1,6}(?:KEY|PASSWORD|SECRET|TOKEN)|(?:access|auth|client|device|id|refresh)_(?:code|credentials|token)"
)


def is_field_name(text: object) -> bool:
    """Whether the second of two words is the name of a field as well, and not the value of the first."""
    return type(text) is str and (
        (len(text) < 20 and text.lower() in _FIELD_NAMES) or _NAME_OF_VARIABLE.fullmatch(text) is not None
    )


_PAGING_WORDS = word_set("continuation cursor page pagination paging resume scroll skip sync")
_BESIDE_PAGING = word_set(
    "after before continue current end first initial last list marker next opaque prev previous request response "
    "result results resume start starting token x"
)
_PAGE_TOKENS = frozenset({"nexttoken", "nextpagetoken", "pagetoken", "continuationtoken", "nextcontinuationtoken"})


def turns_a_page(words: list[str], squeezed: str) -> bool:
    """Whether a token only says where a list goes on: `next_page_token`, `continuation_token`, `NextToken`."""
    if squeezed in _PAGE_TOKENS:
        return True
    return not _PAGING_WORDS.isdisjoint(words) and (_PAGING_WORDS | _BESIDE_PAGING).issuperset(words)


_BEFORE_PASS = word_set("boarding bus day hall mountain press rail season ski to travel")
_AFTER_PASS = word_set("at count criteria criterion fail k per percent rate ratio threshold through to yield")


def is_no_password(words: list[str], at: int) -> bool:
    """Whether the word pass at this place says what passes, or how often: `FAIL_TO_PASS`, `pass_rate`, `pass_at_1`."""
    return not _BEFORE_PASS.isdisjoint(words[max(0, at - 1) : at]) or not _AFTER_PASS.isdisjoint(words[at + 1 : at + 2])


_MOST_OF = word_set("avg count max maximum min minimum n num number total")


def counts_some(words: list[str]) -> bool:
    """Whether a number under this key says how many there are, or may be: `max_cookies`, `num_secrets`."""
    return len(words) > 1 and words[0] in _MOST_OF


_PASSED_WORDS = word_set(
    "all at checks count first k mark min minimum n no num number of pass percent percentage rate ratio second step"
    " steps test tests third threshold total"
)


def counts_passes(words: list[str]) -> bool:
    """Whether a number under this key says how many passed, or what it takes to pass."""
    return "pass" in words and all(word in _PASSED_WORDS or word.isdigit() for word in words)


_LONGEST_PLACEHOLDER = 90
_NOTHING = word_set(
    "none null nil undefined unset missing absent not-set true false required optional same-origin include omit "
    "http header query apikey jwt openidconnect basic bearer digest oauth oauth2"
) | {""}
_PLACEHOLDER = re.compile(
    r"(?:(?:Bearer|Basic|Token) )?\$\{[^{}]{1,80}\}|\$[A-Z_][A-Z0-9_]{2,80}"
    r"|\$?\{\{[^{}]{1,80}\}\}|<[A-Za-z/][A-Za-z _/|\-]{0,80}>"
    r"|<\|[a-z_]{1,40}\|>|\[[A-Z]{1,20}\]|\*{3,}|x{4,}|X{4,}|\.{3}|(?:[Yy]our|YOUR)[-_ ][A-Za-z\-_ ]{1,60}"
)


def says_nothing(text: str) -> bool:
    """Whether a text under a secret key is only a missing value, written out, or holds the place of one."""
    if len(text) > _LONGEST_PLACEHOLDER:
        return False
    return text.strip().lower() in _NOTHING or _PLACEHOLDER.fullmatch(text) is not None


_COUNTING_WORDS = word_set(
    "1h 1k 1m 5m accepted accumulated actual after ai answer anthropic approx approximate assistant audio available "
    "average avg batch before begin billable billed budget cache cached candidate candidates capacity chunk "
    "completion completions consumed context cost count counter counts creation creations current day detail "
    "details document documents draft embedding embeddings ephemeral estimate estimated eval evaluated example "
    "extra final first gen end generated generation history hit hour hours ids image in indices input inputs k last "
    "latency left len length limit limits llm logprob logprobs max maximum mean median message messages million min "
    "minimum minute minutes miss model ms n new num number of offset offsets out output outputs overlap p50 p95 p99 "
    "per percent position positions predicted prediction price processed prompt prompts query question quota rate "
    "ratelimit ratio read reads reasoning received rejected remaining request requested requests reset response "
    "sample sampled saved start second seconds seen sent size speed step steps sum summary system text think "
    "thinking thought thoughts thousand throughput time to tok top token tokens tool tools total totals trained ttl "
    "turn type uncached unused usage use used video window with without word words write writes x"
)
_NUMBER_OF = word_set("avg max maximum mean min minimum n num number total")
_COUNTS_BY_ITSELF = word_set(
    "begin budget cost count counter counts detail details embedding embeddings end ids indices latency len length "
    "limit limits logprob logprobs max maximum min minimum ms num number offset offsets per percent position "
    "positions price quota rate ratio size start throughput time total usage"
)


_COUNTS_AT_END = word_set(
    "budget cost count counter counts idx index indices latency len length limit limits max min num number offset "
    "offsets percent position positions price quota rate ratio size throughput total usage"
)


def counts_tokens(words: list[str], squeezed: str) -> bool:
    """Whether the words of a key say that it holds numbers of tokens: plural, or with a word of counting beside it."""
    if "token" not in squeezed:
        return False
    if words[-1:] == ["tokens"] and words[0] in _NUMBER_OF:
        return True
    if words[-1] in _COUNTS_AT_END and ("token" in words or "tokens" in words):
        return True
    if not _COUNTING_WORDS.issuperset(words):
        return False
    return "tokens" in words or ("token" in words and not _COUNTS_BY_ITSELF.isdisjoint(words))
