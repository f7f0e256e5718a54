"""
Secrets that the form around them gives away: a Kubernetes Secret, a Terraform variable, a call that takes a key.

Each form is an expression that is bounded or starts at a boundary its own run cannot contain; `ROUGHLY` says for all of
them, wider and without look-around, what a text without any of them does not hold, and `WORDS` the same in plain words.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from agentdbg.redaction.assigned_values import is_harmless, read_quoted
from agentdbg.redaction.key_words import names_a_key
from agentdbg.redaction.keys import is_drawn, is_told, is_uuid, looks_random

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentdbg.redaction.assigned_values import Span

__all__ = [
    "PAGE_ROUGHLY",
    "PREFIXED_ROUGHLY",
    "ROUGHLY",
    "ROUGH_SPACE",
    "ROUGH_TAB",
    "WORDS",
    "is_kubernetes_secret",
    "named_forms",
    "page_fields",
    "prefixed",
]

_QUOTE = r"\\*[\"']"
_TELLING = r"(?i:key|token|secret|pass|pwd|cred|auth|conn|dsn)"
_GIVEN_A_KEY = r"(?:Credentials?|SecretStr|SecretBytes|A(?:pi|PI)Key|A(?:pi|PI)Token|BearerAuth|TokenAuth)\("
_OWNER = r"[A-Za-z][A-Za-z0-9]{1,14}"
_MARKERS = (
    "live|test|prod|production|development|staging|sandbox|sk"
    "|secret|key|apikey|api|pat|personal|token|tok|admin|auth|oauth|access|svc|v[0-9]"
)
_GLUED = "[a-z0-9]{0,8}[b-df-hj-np-tv-z0-9]sk|[a-z]{1,12}key|[a-z]{0,8}secret|[A-Z]{0,6}TKN(?:-[0-9])?"
_DRAWN = 28
"""So many letters and digits in a row, of all three kinds, are drawn: the ids of providers are shorter."""
_DRAWN_OF_TWO = 40
_TAKES_A_KEY = (
    r"(?:Client(?:::new)?|Twilio|Sequelize|connect|cookieParser|Fernet|hmac\.new|createHmac|jwt\.[a-z]{4,6}|createClient|create_client|login|authenticate"
    r"|SecretKeySpec|AES\.new|pgp_sym_[a-z]{7})\("
)
_LOGS_IN = (
    r"(?:[Ll]ogin|[Aa]uthenticate|[A-Za-z]_?[Aa]uth|Credentials?|getConnection"
    r"|simple_bind(?:_s)?|bindAsync|WiFi\.begin)"
)
ROUGH_TAB = r"(?:[ \t]|\\+t)"
ROUGH_SPACE = (
    r"(?:[\s\x{0b}\x{1c}-\x{1f}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}]"
    r"|\\+[nrtf]|\\+u00[01][0-9a-fA-F])"
)
"""As they are, and as JSON writes them."""
PAGE_ROUGHLY = r"<(?:meta|input)[^A-Za-z0-9]"
PREFIXED_ROUGHLY = rf"[A-Za-z0-9][_\-.|:][A-Za-z0-9_\-+/]{{{_DRAWN}}}"
ROUGHLY = [
    r"kind[\\\"']*[ \t]?:[ \t]?[\\\"']*Secret",
    r"variable[ \t]+[\\]*\"",
    rf"{_GIVEN_A_KEY}",
    rf"{_TAKES_A_KEY}[^)]*[\"'][A-Za-z0-9+/_\-=]{{10}}",
    rf"{_TELLING}[^\s|?]*{ROUGH_TAB}*(?:\|\||\?\?|or){ROUGH_TAB}*[\\]*[\"'][A-Za-z0-9+/_\-.~=]{{8}}",
    rf"(?:[Nn]ame|[Kk]ey)={_QUOTE}[^\"'\\]*{_TELLING}[^\"'\\]*{_QUOTE}(?:[ \t][^<>]*)?>",
    r"kty\\*\"",
    r":(?:5432|5433|6543|26257|\*):[^\s:]+:[^\s:]+:",
    r"jdbc:oracle|sqlplus|impdp|expdp",
    rf"(?:[A-Za-z0-9][_\-](?:{_MARKERS})|sk|key|secret|TKN(?:-[0-9])?)[_\-][A-Za-z0-9_\-]{{16}}",
    r"://[^\s\"'<>\\]*(?:[hH]ook|/key/|/token/|/integration/|hc-ping\.com)",
    rf"(?:<<<|<\((?:echo|printf)(?:{ROUGH_TAB}+-[^\s])?){ROUGH_TAB}*[\\]*[\"']?[A-Za-z0-9+/_\-.~]{{8}}|@(?:tcp|unix)\(",
    rf"(?:{ROUGH_SPACE}(?:-[pPktawANX]|/p(?:ass)?[: ])|login)(?:[ =\t]|\\+t)?[\\\"'&]*[A-Za-z0-9+/_\-.~!@#$%^&*]{{6}}",
    rf"{_LOGS_IN}\([^)]*,",
    r"SecureString|masterauth|openssl[^\n|;]* -|[ \t]/p:[\\\"']*[^\s\"'\\]{6}|simple_bind|WiFi\.begin|bindAsync",
    (
        rf"echo{ROUGH_TAB}[^\n|]*\|{ROUGH_TAB}*(?:(?:docker|podman|helm|gh|az|oc)[^\n|]*(?:login|stdin)|sudo|passwd|chpasswd"
        rf"|[^\n|]*(?:(?:secrets?|env|var|variables?){ROUGH_TAB}|-(?:data-file|secret-file|password-fd|passphrase-fd)))"
    ),
    r"htpasswd|net use|smbclient|(?:secrets?|keys) +(?:versions +)?(?:set|put|add|create)",
    r"create +secret|kv put|put-parameter|add_user|change_password",
]
WORDS = (
    "kind", "variable", "credential", "secret", "apikey", "apitoken", "bearerauth", "tokenauth", "client", "fernet",
    "twilio", "sequelize", "connect(", "cookieparser",
    "hmac", "pgp_sym", "jwt.", "login", "authenticate", "aes.new", "||", "??", " or ",
    "name=", "key=", "echo ", "htpasswd", "net use", "kv put", "<(", "put-parameter", "keys set",
    "add_user", "change_password",
    "auth(", "getconnection", "hook", "/key/", "/token/", "/integration/", "hc-ping", "<<<", "@tcp(", "@unix(", " -",
    " /p", "tkn", "key-", "key_", "secret", "sk-", "sk_",
    "securestring", "masterauth", "openssl ", "bind", "wifi.begin",
    "<meta", "<input", "kty", ":5432:", ":5433:", ":6543:", ":26257:", ":*:", "jdbc:oracle", "sqlplus",
    "impdp ", "expdp ",
    *(f"{joint}{marker}{joint}" for marker in _MARKERS.replace("[0-9]", "").split("|")[:-1] for joint in "_-"),
    "_v", "-v",
)  # fmt: skip


def named_forms(text: str) -> Iterator[Span]:
    """Where the secrets of such forms stand, each as (start, end)."""
    if "Secret" in text:
        yield from _kubernetes(text)
    yield from _terraform(text)
    yield from _calls(text)
    for pattern in (_FALLBACK, *((_ELEMENT,) if _holds_any(text, _OPENS_ELEMENT) else ())):
        for found in pattern.finditer(text):
            secret = found["secret"]
            if looks_random(secret) or is_drawn(secret) or (pattern is _ELEMENT and is_told(secret)):
                yield found.span("secret")
    yield from _commands(text)
    yield from _webhooks(text)
    yield from _marked(text)
    for pattern in (*((_PGPASS,) if _holds_any(text, _PORTS) else ()), _ORACLE, *((_JWK,) if "kty" in text else ())):
        for found in pattern.finditer(text):
            if pattern is not _PGPASS or is_told(found["secret"]):
                yield found.span("secret")


def _holds_any(text: str, literals: tuple[str, ...]) -> bool:
    return any(map(text.__contains__, literals))


def is_kubernetes_secret(entries: list[tuple[Any, Any]]) -> bool:
    """Whether a dict with these entries is a Kubernetes object whose data is secret."""
    return any(type(key) is type(value) is str and key == "kind" and value == "Secret" for key, value in entries)


_KIND = re.compile(rf"(?<![A-Za-z])kind(?:{_QUOTE})?[ \t]?:[ \t]?(?:{_QUOTE})?Secret(?![A-Za-z])")
_DATA = re.compile(rf"(?<![A-Za-z])(?:stringData|data)(?:{_QUOTE})?[ \t]?:")
_LINE = r"(?:\r?\n|(?:\\+r)?\\+n)"
_YAML_ENTRY = re.compile(rf"{_LINE}[ \t]+[\w.\-]+:[ \t]*(?P<secret>(?:(?!\\+[nr])[^\s])+)")
_JSON_ENTRY = re.compile(rf"\s{{0,40}}[{{,]\s{{0,40}}{_QUOTE}[\w.\-]{{1,200}}{_QUOTE}\s{{0,4}}:\s{{0,4}}(?={_QUOTE})")


def _kubernetes(text: str) -> Iterator[Span]:
    """The values of `data` and `stringData`, as YAML and as JSON."""
    if not _KIND.search(text):
        return
    for data in _DATA.finditer(text):
        at = data.end()
        while entry := _YAML_ENTRY.match(text, at):
            at = entry.end()
            if not is_harmless(entry["secret"], quoted=True):
                yield entry.span("secret")
        while member := _JSON_ENTRY.match(text, at):
            quoted = read_quoted(text, member.end())
            if quoted is None or quoted[1] <= quoted[0]:
                break
            yield quoted
            at = quoted[1] + 1 + (text[quoted[1] : quoted[1] + 1] == "\\")


_VARIABLE = re.compile(rf"variable[ \t]{{1,8}}{_QUOTE}[\w\-]{{0,80}}{_TELLING}[\w\-]{{0,80}}{_QUOTE}[ \t]{{0,8}}\{{")
_DEFAULT = re.compile(rf"(?<![\w.])default[ \t]{{0,40}}=[ \t]{{0,8}}(?={_QUOTE})")
_LONGEST_VARIABLE = 800


def _terraform(text: str) -> Iterator[Span]:
    """`variable "api_key" { default = "…" }`."""
    for variable in _VARIABLE.finditer(text):
        default = _DEFAULT.search(text, variable.end(), variable.end() + _LONGEST_VARIABLE)
        if default and (quoted := read_quoted(text, default.end())) and quoted[0] < quoted[1]:
            yield quoted


_CALL = re.compile(rf"{_GIVEN_A_KEY}(?P<all>\s{{0,8}}(?=[bBrRuU]?{_QUOTE}))|{_TAKES_A_KEY}")
_ARGUMENT = re.compile(r"[\"'](?P<secret>[A-Za-z0-9+/_\-.~=]{10,200})\\*[\"']")
_LONGEST_CALL = 300


def _calls(text: str) -> Iterator[Span]:
    """`AzureKeyCredential("…")` whatever it is given, `Client(account, "…")` only what looks random."""
    for call in _CALL.finditer(text):
        if call["all"] is not None:
            quoted = read_quoted(text, call.end())
            if quoted and (is_told(text[slice(*quoted)]) or looks_random(text[slice(*quoted)])):
                yield quoted
            continue
        for argument in _ARGUMENT.finditer(text, call.end(), call.end() + _LONGEST_CALL):
            if ")" in text[call.end() : argument.start()]:
                break
            secret = argument["secret"]
            if is_drawn(secret) or (looks_random(secret) and not is_uuid(secret)):
                yield argument.span("secret")


_FALLBACK = re.compile(
    rf"{_TELLING}[\w\]()\"'.]{{0,40}}[ \t]{{0,4}}(?:\|\||\?\?|\bor)[ \t]{{0,4}}{_QUOTE}"
    r"(?P<secret>[A-Za-z0-9+/_\-.~=]{8,200})"
)
"""`process.env.API_KEY || "…"`."""
_ELEMENT = re.compile(
    rf"(?:[Nn]ame|[Kk]ey)={_QUOTE}[\w.\-]{{0,80}}{_TELLING}[\w.\-]{{0,20}}{_QUOTE}(?:[ \t][^<>]{{0,80}})?>"
    rf"(?:\s{{0,20}}<\w{{1,20}}>)?(?P<secret>[^<>\s]{{6,200}})<"
)
"""`<string name="google_maps_key">…</string>`, `<setting name="ApiSecret"><value>…</value>`."""
_OPENS_ELEMENT = ("name=", "key=", "Name=", "Key=")
_MARKED = re.compile(
    rf"(?<![A-Za-z0-9_\-])(?P<owner>{_OWNER})[_\-](?P<marker>{_MARKERS})[_\-](?![a-z]{{2,20}}[_\-])(?P<secret>[A-Za-z0-9_\-]{{16,200}})"
)
"""`acme_live_…`: the keys of a provider nobody has told us of; most say in their second word what they are."""
_GLUED_MARKER = re.compile(
    rf"(?<![A-Za-z0-9_\-.])(?P<owner>{_GLUED})[_\-](?![a-z]{{2,20}}[_\-])(?P<secret>[A-Za-z0-9_\-]{{16,200}})"
)
"""`ctx7sk-…`, `tskey-…`, `SWMTKN-1-…`: a prefix that ends in what it is."""
_OPTION = re.compile(
    rf"(?<=\s)(?:-[pPktawANX][= ]?|(?P<windows>/p(?:ass)?[: ])|(?<=[a-z][ \t])login[ \t])(?:{_QUOTE})?"
    r"(?P<secret>[A-Za-z0-9+/_\-.~!@#$%^&*]{6,200})(?=[\s\"'\\]|$)"
)
"""`twine upload -p …`, `vault login …`: what a machine has drawn, after one letter."""


def _is_drawn(value: str) -> bool:
    """Whether capitals, small letters and digits are mixed as they are in no path, hash or id."""
    return (
        looks_random(value)
        and not is_uuid(value)
        and value != value.lower()
        and value != value.upper()
        and any(map(str.isdigit, value))
        and "/" not in value
    )


def _marked(text: str) -> Iterator[Span]:
    """What stands after a prefix that says what it is, and after an option of one letter."""
    for found in _OPTION.finditer(text):
        if is_told(found["secret"]) and (found["windows"] or _is_drawn(found["secret"]) or is_drawn(found["secret"])):
            yield found.span("secret")
    for found in _MARKED.finditer(text):
        if looks_random(found["secret"]) and (found["marker"] != "key" or names_a_key([found["owner"].lower(), "key"])):
            yield found.span()
    for found in _GLUED_MARKER.finditer(text):
        if looks_random(found["secret"]) and (found["owner"][-3:] != "key" or names_a_key([found["owner"]])):
            yield found.span()


_HOOK_ADDRESS = re.compile(
    r"(?:(?<=http)|(?<=https)|(?<=wss))://[^\s\"'<>\\?#]{0,120}?(?:[hH]ook|/key/|/token/|/integration/|hc-ping\.com)(?P<rest>[^\s\"'<>\\]{6,400})"
)
_PART_OF_PATH = re.compile(r"[^/?&=@#.]{5,300}")


def _webhooks(text: str) -> Iterator[Span]:
    """Whoever knows the address of a webhook can call it: the parts of its path that nobody has named."""
    for address in _HOOK_ADDRESS.finditer(text):
        for part in _PART_OF_PATH.finditer(text, *address.span("rest")):
            if is_told(part[0], 5) and any(map(str.isdigit, part[0])):
                yield part.span()


_PREFIXED = re.compile(
    rf"(?:(?<![A-Za-z0-9_\-.+/=])|(?<=[A-Za-z]=))(?P<owner>[A-Za-z][A-Za-z0-9]{{0,14}})(?:[_\-.][a-z0-9]{{1,10}}){{0,2}}[_\-.|:]"
    rf"(?P<secret>[A-Za-z0-9_\-+/]{{{_DRAWN},400}})={{0,2}}(?:\.[A-Za-z0-9_\-]{{{_DRAWN},400}}){{0,2}}(?![A-Za-z0-9_\-+/=]|\.\w)"
)
_LONGEST_PREFIX = 48
_LONG_RUN = re.compile(rb"[A-Za-z0-9]{10}")
_HEX = re.compile(rb"[0-9a-fA-F\-]*")
_OF_ONE_KIND = re.compile(rb"[a-z]+|[A-Z]+|[0-9]+")
_KINDS = (re.compile(rb"[a-z]"), re.compile(rb"[A-Z]"), re.compile(rb"[0-9]"))
_OF_RUNS = bytes(
    byte if chr(byte).isascii() and (chr(byte).isalnum() or byte in b"_-+/") else 32 for byte in range(256)
)
"""Leaves the letters of a drawn text and makes all others spaces."""
_HASHES = re.compile(
    r"sha[0-9]*|md[0-9]|h[0-9]|blake[0-9a-z]*|[a-z]*hash|digest|integrity|nonce|etag|[a-z]*id"
    r"|asst|batch|call|chatcmpl|cmpl|evt|file|gen|item|msg|req|resp|rs|run|step|thread|toolu",
    re.IGNORECASE,
)
"""What stands before a hash, or before what a provider calls a thing."""


def prefixed(text: str) -> Iterator[Span]:
    """`acme_…`: a long drawn text after somebody's prefix, as all new kinds of keys are made; no hash, no id."""
    # To split the text takes a tenth of the time that the expression takes, and few texts have such a run.
    runs = {run for run in text.encode("ascii", "replace").translate(_OF_RUNS).split() if len(run) >= _DRAWN}
    if not any(map(_ends_drawn, runs)):
        return
    for found in _PREFIXED.finditer(text):
        secret = found["secret"]
        if _is_mixed(secret.encode()) and looks_random(secret) and not _HASHES.fullmatch(found["owner"]):
            yield found.span()


def _ends_drawn(run: bytes) -> bool:
    """Whether what follows one of the first joints of a run is drawn, or the whole of it: a prefix is short."""
    joints = [at + 1 for at, byte in enumerate(run[:_LONGEST_PREFIX]) if byte in b"_-"]
    return any(len(run) - at >= _DRAWN and _is_mixed(run[at:]) for at in (0, *joints))


def _is_mixed(secret: bytes) -> bool:
    letters = secret.translate(None, b"_-+/")
    if 3 * (len(_OF_ONE_KIND.findall(letters)) - 1) < len(letters) or not _LONG_RUN.search(secret):
        return False  # a drawn text has few dashes; words that are joined by them have many
    if None not in [kind.search(letters) for kind in _KINDS]:
        return True
    return len(secret) >= _DRAWN_OF_TWO and not _HEX.fullmatch(secret)  # others are the ids and hashes of many


_FIELD_OF_PAGE = re.compile(
    rf"<(?:meta|input)\s[^<>]{{0,120}}?(?:name={_QUOTE}[\w.\-]{{0,40}}{_TELLING}[\w.\-]{{0,40}}|type={_QUOTE}password){_QUOTE}"
    rf"[^<>]{{0,120}}?(?:content|value)={_QUOTE}(?P<secret>[^\"'<>\\]{{6,400}})"
)


def page_fields(text: str) -> Iterator[Span]:
    """`<input type="password" value="…">`."""
    return (found.span("secret") for found in _FIELD_OF_PAGE.finditer(text))


_PGPASS = re.compile(
    r"(?<![\w.])[\w.\-*]{1,80}:(?:5432|5433|6543|26257|\*):[\w*\-]{1,64}:[\w\-]{1,64}:(?P<secret>[^\s:\"']{6,200})"
)
_PORTS = (":5432:", ":5433:", ":6543:", ":26257:", ":*:")
_ORACLE = re.compile(
    r"(?:jdbc:oracle:\w{1,8}:|\b(?:sqlplus|impdp|expdp)[ \t]{1,4}(?:-\w[ \t]{1,4}){0,3})"
    r"[\w$#]{1,64}/(?P<secret>[^@\s\"']{1,200})@"
)
_JWK = re.compile(
    rf"{_QUOTE}(?:d|p|q|dp|dq|qi|k){_QUOTE}\s{{0,8}}:\s{{0,8}}{_QUOTE}(?P<secret>[A-Za-z0-9_\-]{{20,1500}})"
)
"""The private numbers of a JSON Web Key."""
_HERE = re.compile(
    r"(?:<<<|<\((?:echo|printf)(?:[ \t]{1,4}-\w)?)[ \t]{0,4}\\*[\"']?(?P<secret>[A-Za-z0-9+/_\-.~]{8,200})"
)
_COMMANDS = {
    ("@tcp(", "@unix("): re.compile(r"(?<![\w.])[\w.\-]{1,80}:(?P<secret>[^\s:@\"'/]{1,200})@(?:tcp|unix)\("),
    ("ogin(", "uthenticate(", "Auth(", "_auth(", "Credential", "getConnection(", "bind", "WiFi.begin("): re.compile(
        rf"{_LOGS_IN}\((?:[^()\"'\n]{{1,80}},)?\s{{0,8}}{_QUOTE}[^\"'\n:/]{{0,80}}{_QUOTE}\s{{0,4}},"
        rf"\s{{0,8}}(?:Some\()?[bBrRuU]?{_QUOTE}(?P<secret>[^\"'\n\\]{{1,200}}){_QUOTE}\s{{0,4}}[,)]"
    ),
    ("SecureString",): re.compile(
        rf"SecureString[ \t]{{1,4}}(?:-String[ \t]{{1,4}})?{_QUOTE}(?P<secret>[^\"'\n\\$]{{1,200}})"
    ),
    ("ConvertTo-SecureString",): re.compile(
        rf"{_QUOTE}(?P<secret>[^\"'\n\\$]{{1,200}}){_QUOTE}[ \t]{{0,4}}\|[ \t]{{0,4}}ConvertTo-SecureString"
    ),
    ("masterauth",): re.compile(rf"\bmasterauth[ \t]{{1,4}}(?:{_QUOTE})?(?P<secret>[^\s\"'\\]{{4,200}})"),
    ("openssl",): re.compile(
        rf"\bopenssl[ \t][^\n|;&]{{0,120}}? (?:-k|-pass(?:in|out)?[ \t]{{1,4}}pass:)[ \t]{{0,4}}(?:{_QUOTE})?"
        r"(?P<secret>[^\s\"'\\-][^\s\"'\\]{3,200})"
    ),
    ("echo",): re.compile(
        rf"\becho[ \t]{{1,4}}(?:-n[ \t]{{1,4}})?(?:{_QUOTE})?(?P<secret>[^\s\"'|$]{{4,200}})(?:{_QUOTE})?"
        r"[ \t]{0,4}\|[ \t]{0,4}"
        r"(?:(?:docker|podman|helm|gh|az|oc)[^\n|]{0,120}(?:login|stdin)|sudo[ \t]{1,4}-S|passwd|chpasswd"
        r"|[a-z][\w.\-]{1,20}[^\n|]{0,120}\b(?:(?:secrets?|env|var|variables?)[ \t]{1,4}(?:versions[ \t]{1,4})?"
        r"(?:set|put|add|create)"
        r"|--?(?:data-file|secret-file|password-fd|passphrase-fd)[= ](?:-|0)(?!\S)))"
    ),
    ("htpasswd",): re.compile(
        r"\bhtpasswd[ \t]{1,4}-[A-Za-z]*b[A-Za-z]*[ \t]{1,4}\S{1,200}[ \t]{1,4}\S{1,80}[ \t]{1,4}(?P<secret>\S{1,200})"
    ),
    ("add_user", "change_password"): re.compile(
        r"\brabbitmqctl[ \t][^\n|;&]{0,80}?\b(?:add_user|change_password)[ \t]{1,4}"
        r"[\w.@\-]{1,64}[ \t]{1,4}\\*[\"']?(?P<secret>[^\s\"'\\(=]{4,100})"
    ),
    ("net use",): re.compile(
        r"\bnet use[ \t]{1,4}(?:\S{1,8}[ \t]{1,4})?\\\S{1,200}[ \t]{1,4}"
        r"(?:/user:\S{1,100}[ \t]{1,4})?(?P<secret>[^\s/\\*]\S{3,200})(?=[ \t]{1,4}/|\s*$|\s*[\r\n])"
    ),
    ("net user",): re.compile(  # not "the net user growth of 2025"
        r"(?<![\w.])net user[ \t]{1,4}\S{1,80}[ \t]{1,4}"
        r"(?=\S{4,200}[ \t]{1,4}/|\S{0,40}[A-Za-z]\S{0,40}[0-9!@#$^&*]|\S{0,40}[0-9!@#$^&*]\S{0,40}[A-Za-z])"
        r"(?P<secret>[^\s/*]\S{3,200})"
    ),
    ("smbclient",): re.compile(r"\bsmbclient\b[^\n|;]{0,120}? -U[ \t]{0,4}[\w.\\]{1,80}%(?P<secret>[^\s\"']{1,200})"),
}
"""Each with texts of which one stands in all that it matches: an expression takes a hundred times as long to say no."""
_SECRET_SET = re.compile(
    r"\b(?:(?:secrets?|keys)[ \t]{1,4}(?:versions[ \t]{1,4})?(?:set|put|add|create)"
    r"|put-parameter|create[ \t]{1,4}secret|kv[ \t]{1,4}put)\b"
    r"(?P<rest>[^\n|;]{1,400})"
)
_SET_VALUE = re.compile(
    r"(?:--(?:body|value|secret-string)|--from-literal=[\w.\-]{1,80}|[ \t][\w.\-]{1,80}|[ \t]<<<)[= \t]"
    r"\\*[\"']?(?P<secret>[^\s\"'\\$-][^\s\"'\\]{5,200})"
)


def _commands(text: str) -> Iterator[Span]:
    """`echo … | docker login`, `gh secret set NAME --body …`, `kubectl create secret … --from-literal=name=…`."""
    for literals, pattern in _COMMANDS.items():
        if _holds_any(text, literals):
            for found in pattern.finditer(text):
                yield found.span("secret")
    for here in _HERE.finditer(text):
        if is_drawn(here["secret"]) or looks_random(here["secret"]):
            yield here.span("secret")
    for command in _SECRET_SET.finditer(text):
        for value in _SET_VALUE.finditer(text, *command.span("rest")):
            if is_told(value["secret"]):
                yield value.span("secret")
