"""
Secrets that the form around them suggests and they themselves confirm: `connect("db", "root", …)`, `auth admin:…`.

A call that connects, a word of logging in, a function that hashes: none of them says for sure that a secret follows,
so only what nobody would write as a word or a name is taken. `ROUGHLY` and `WORDS` say, as in `named_forms`, what a
text without any of these forms does not hold.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from agentdbg.redaction.keys import is_chosen, is_drawn, is_told, is_uuid, looks_random
from agentdbg.redaction.named_forms import ROUGH_SPACE, ROUGH_TAB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agentdbg.redaction.assigned_values import Span

__all__ = ["ROUGHLY", "WORDS", "told_forms"]

_QUOTE = r"\\*[\"']"
_QUOTE_OR_NONE = r"(?:\\*[\"'])?"
_NAME_OR_QUOTED = r"\\*[\"']?[\w.@+\-]{1,64}\\*[\"']?"
_LINE_END = r"(?:\r?\n|(?:\\+r)?\\+n)"
_LINE_END_ROUGHLY = r"(?:[\r\n]|\\+[nr])"
_CONNECTS = "(?:[Cc]onnect|[Cc]onnection|PDO|mysqli|FTP|FTP_TLS|ldap_bind|PlainAuth)"
_WAYS_IN = "auth|basic|creds?|credentials|log ?in|sign in|echo"
_IN_BETWEEN = "with|using|as|are|following|credentials|the"
_MAKERS = (
    r"hmac|hashlib\.|crypt|hashpw|signwith|pbkdf2|passw(?:or)?d|pw_set|encrypt_string|create_?user|credentials?\.|sendline"
    r"|wifi\.begin"
)
_GAP = r"(?:[^A-Za-z0-9\"'\\]|\\+[nrtf]|\\+u[0-9a-fA-F]{4})*"
"""Spaces of any kind, as they are and as JSON writes them."""
_ROUGHLY = (
    rf"{_CONNECTS}\([^()]*[\"'][^\s\"'\\]+{_QUOTE}{_GAP},{_GAP}{_QUOTE}",
    r"(?i:[nysea] (?:pass)?(?:code|pin))(?: [^ ]{2}|:| =)?:?[ \t]+[*`\"'\\]*[0-9]{3}",
    (
        rf"(?i:{_WAYS_IN}|{_IN_BETWEEN}|-[ua]|userpwd)(?:[:=,]*| -)[ \t]+[\\\"']*[A-Za-z][^\s\"':%,/]*"
        r"(?: / |[:%,])[^\s\"'`|/:,]{6}"
    ),
    (
        rf"toCharArray|(?i:{_MAKERS})[^\s()\\\"',]*(?:\([^()]*|[ \t]+\\*(?:'[^()]*)?)"
        r"[\"'][^\"'\\\s,]{8}[^\"'\\\s,]*\\*[\"']"
    ),
    r"[?&]code=[A-Za-z0-9_\-%.]{20}",
    r"(?i:password|passcode|passphrase|secret|token)[^\n.]* (?i:set|changed|reset|updated) to [*`\"'\\]*[^\s\"'`*]{5}",
    # Behind the words of a login, on a terminal, and in the commands of protocols.
    r"(?i:pass(?:word|code|phrase)|pwd|passwd)[ \t]+[\\\"'`*]*[^\s\"'`]*[0-9]",
    r"(?i:login|creds|credentials):[ \t]*[\\\"'`]*[A-Za-z][^\s/]*/[^\s]{6}",
    r"send(?:line|_line)?[ \t]+(?:-- )?[\\]*[\"']",
    rf"{ROUGH_SPACE}(?:-[pP]|-pw|/rp)[ =][\\\"']*[^\s\"'`\\]{{6}}",
    r"passwd[ \t]|_passphrase[ \t]|rootpw|kinit|cryptsetup|secret-tool|read -r?s|encrypt_string",
    r"obscure|[uU]nseal|--secret[ \t]",
    (
        r"(?:echo|printf)[ \t][^\n|]*\|[ \t]*(?:sudo[ \t]+)?"
        r"(?:kinit|base64|openssl|gpg|cryptsetup|secret-tool|ansible-v|pass|docker|podman)"
    ),
    (
        rf"(?i:password|passcode|passphrase|token|secret|key)[^\n:\\]*:(?:[ \t]*{_LINE_END_ROUGHLY})+[ \t]*"
        rf"[^\s\"'`:=,(){{}}\[\]<>\\]{{8,}}[ \t]*(?:{_LINE_END_ROUGHLY}|$|\")"
    ),
    rf"(?:^|[\"]|{_LINE_END_ROUGHLY})[ \t]*(?:user|USER) [^\s\"\\]+ [^\s\"\\]{{6,}}(?:{_LINE_END_ROUGHLY}|$|\")",
    r"login=[^\s:]+:|\]:[0-9]+[ \t]+[^\s:]+:|: (?:EAP|PSK|XAUTH|NTLM|PIN) ",
    r"basic_auth[ \t]|(?i:creds?|credentials|login) - |chpasswd|\.(?:pem|p12|pfx|crt):|http-basic",
    rf"AUTH[^A-Za-z0-9]|IDENTIFY |[0-9] LOGIN |[sS][nN][mM][pP]|SETUSER |get;[^{{}}]*\}}{_GAP}=",
)
ROUGHLY = [part.replace(r"[ \t]", ROUGH_TAB) for part in _ROUGHLY]
"""JSON writes a tab as two letters."""
WORDS = (
    "connect(", "connection(", "pdo(", "mysqli(", "ftp(", "ftp_tls(", "ldap_bind(", "plainauth(",
    "tochararray", "hashlib.", "hmac", "rypt", "hashpw", "signwith",
    "bkdf2", "passw", "pw_set", "create_user", "createuser", "sendline", "wifi.begin", "basic ", "basic:", "cred",
    "log in", "login", "sign in", "-u ", "-a ", "userpwd", "auth ", "auth:", "echo ", "&code=", "?code=",
    "set to ", "changed to ", "updated to ", "password", "passcode", "passphrase", "passwd", "pwd ", "creds:",
    "credentials:", "passwd", "_passphrase", "rootpw", "kinit", "cryptsetup", "secret-tool", "read -", "encrypt_string",
    "basic_auth", "obscure", "unseal", "--secret", "printf", "echo", "token",
    "secret", "key", " -", " /rp", "user ", "login=", "]:",
    " eap ", " psk ", " xauth ", " ntlm ", " pin ", ".pem:", ".p12:", ".pfx:", ".crt:",
    "http-basic", "send ", "send_line", "auth", "identify ", " login ", "snmp", "setuser ", "get;",
    *(f"{end} {what}" for end in "nysea" for what in ("code", "pin", "passcode", "passpin")),
)  # fmt: skip


def told_forms(text: str) -> Iterator[Span]:
    """Where the secrets of such forms stand, each as (start, end)."""
    for form in _FORMS:
        if any(map(text.__contains__, form.literals)):
            for found in form.pattern.finditer(text):
                if form.is_secret(found["secret"]):
                    yield found.span("secret")
    yield from _of_commands(text)
    for word in _PASSWORD_WORD.finditer(text):
        if is_chosen(word["secret"]) and _LOGGING_IN.search(text, max(0, word.start() - 90), word.start()):
            yield word.span("secret")
    if any(map(text.__contains__, _MAKERS_ROUGHLY)):
        for maker in _MAKER.finditer(text):
            for literal in _LITERAL.finditer(text, *maker.span("arguments")):
                secret = literal["secret"]
                if is_chosen(secret) or (is_drawn(secret) and not _ALGORITHM.fullmatch(secret)):
                    yield literal.span("secret")


def _is_of_login(value: str) -> bool:
    return is_told(value) and any(map(str.isdigit, value))


def _is_chosen(value: str) -> bool:
    """Whether digits and capitals or signs are mixed, as in no name of a file."""
    return _is_of_login(value) and any(letter.isupper() or letter in "!@#$%^&*" for letter in value)


_SNAKE = re.compile(r"[a-z0-9_]*")


def _is_no_name(value: str) -> bool:
    """`connect("clicked", "on_click2")` names a function."""
    return is_told(value) and _SNAKE.fullmatch(value) is None


def _is_made_or_drawn(value: str) -> bool:
    return is_chosen(value) or is_drawn(value)


def _is_by_itself(value: str) -> bool:
    return is_chosen(value) or (looks_random(value) and not is_uuid(value))


def _is_surely_chosen(value: str) -> bool:
    """Not `Headers2`, the name of a file."""
    return is_chosen(value) and (sum(map(str.isdigit, value)) > 1 or any(letter in "!@#$%^&*" for letter in value))


def _is_any(value: str) -> bool:
    return value != ""


class _Form(NamedTuple):
    """One way of writing a secret, and what it must look like; in a text without all the literals it is not."""

    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    is_secret: Callable[[str], bool]


_FORMS = (
    _Form(
        ("onnect(", "onnection(", "PDO(", "mysqli(", "FTP(", "FTP_TLS(", "ldap_bind(", "PlainAuth("),
        re.compile(
            rf"{_CONNECTS}\([^()\n]{{0,200}}?{_QUOTE}[\w.@+=,\-]{{1,80}}{_QUOTE}\s{{0,4}},\s{{0,8}}{_QUOTE}"
            rf"(?P<secret>(?=[^\"'\n\\]{{0,80}}[0-9A-Z!@#$%^&*])[^\"'\n\\]{{1,200}}){_QUOTE}\s{{0,4}}[,)]"
        ),
        _is_no_name,
    ),
    # `skopeo copy --src-creds bob:…`, `stats auth admin:…`, `log in with admin / …`
    _Form(
        ("auth", "asic", "cred", "ogin", "og in", "ign in", "echo ", "-u ", "-A ", "-U ", "USERPWD"),
        re.compile(
            rf"(?:\b(?i:{_WAYS_IN})|(?<=\s)-[uAU]|USERPWD,?)(?:[:=]?| -)(?:"
            rf"(?:[ \t]{{1,4}}(?i:{_IN_BETWEEN}):?){{0,4}}[ \t]{{1,4}})(?:{_QUOTE})?"
            r"[A-Za-z][\w.@\-]{0,60}(?: / |[:%,])(?P<secret>[^\s\"'`\\|/:,]{6,100})(?=[\s\"'`\\|.]|$)"
        ),
        _is_of_login,
    ),
    _Form(
        (".toCharArray",),
        re.compile(r"[\"'](?P<secret>[^\"'\\\n]{6,100})[\"']\.toCharArray\(\)"),
        is_told,
    ),
    # `Your verification code is 482913`
    _Form(
        ("code", "Code", "CODE", "pin", "PIN"),
        re.compile(
            r"\b(?:verification|confirmation|security|login|access|one-time|authentication|2fa|mfa)"
            r" (?:pass)?(?:code|pin)"
            r"(?: is|:| =)?:?[ \t]{1,4}[*`\"']{0,2}(?P<secret>[0-9]{3}[ -]?[0-9]{1,5})(?![\w%]|\.\w)",
            re.IGNORECASE,
        ),
        _is_any,
    ),
    # `The password of bob has been set to …`
    _Form(
        (" to ",),
        re.compile(
            r"(?i:\b(?:password|passcode|passphrase|secret|token)\b)[^\n.]{0,60}? (?:set|changed|reset|updated) to "
            r"[*`\"']{0,2}(?P<secret>[^\s\"'`*]{5,100}[^\s\"'`*.,;:!?)])"
        ),
        _is_chosen,
    ),
    # `Login: admin/…`
    _Form(
        ("ogin:", "reds:", "redentials:"),
        re.compile(
            r"\b(?i:login|creds|credentials):[ \t]{0,4}(?:\\*[\"'`])?[A-Za-z][\w@\-]{0,60}/"
            r"(?P<secret>[^\s\"'`\\|/:,.]{6,100})"
        ),
        _is_surely_chosen,
    ),
    # A script that answers a prompt.
    _Form(
        ("send",),
        re.compile(
            rf"(?i:pass(?:word|phrase|code))[^\n]{{0,40}}{_LINE_END}\s{{0,20}}send(?:_line|line)?[ \t]{{1,4}}(?:-- )?"
            rf"{_QUOTE}(?P<secret>[^\"'\n\\$]{{6,100}})"
        ),
        _is_any,
    ),
    # `Please use the following password:`, and in a line of its own what it is.
    _Form(
        (":\n", ":\r\n", ":\\n", ":\\r\\n"),
        re.compile(
            rf"(?i:password|passcode|passphrase|token|secret|key)\b[^\n:\\]{{0,80}}:"
            rf"(?:[ \t]{{0,4}}{_LINE_END}){{1,3}}[ \t]{{0,8}}"
            rf"(?P<secret>[^\s\"'`\\:=,(){{}}\[\]<>]{{8,200}})[ \t]{{0,4}}(?={_LINE_END}|$)"
        ),
        _is_by_itself,
    ),
    # A user and a password in the lines of files that know no names.
    _Form(
        ("user ", "USER "),
        re.compile(
            rf"(?:^|\n|\\n)[ \t]{{0,20}}(?:user|USER) [\w.@\-]{{1,64}} (?P<secret>[^\s\"'\\]{{6,100}})(?={_LINE_END}|$)"
        ),
        _is_made_or_drawn,
    ),
    _Form(
        ("basic_auth",),
        re.compile(
            rf"\bbasic_auth[ \t]{{1,4}}{_QUOTE}[\w.@+\-]{{1,64}}{_QUOTE}\s?,\s?"
            rf"{_QUOTE}(?P<secret>[^\s\"'\\]{{4,200}}){_QUOTE}"
        ),
        is_told,
    ),
    _Form(
        ("login=",),
        re.compile(r"\blogin=[\w.@\-]{1,64}:(?P<secret>[^\s\"'\\]{6,100})"),
        _is_made_or_drawn,
    ),
    _Form(
        ("]:",),
        re.compile(r"\]:[0-9]{2,5}[ \t]{1,8}[\w.@+\-]{1,64}:(?P<secret>[^\s\"'\\]{6,100})"),
        _is_made_or_drawn,
    ),
    _Form(
        (" EAP ", " PSK ", " XAUTH ", " NTLM ", " PIN "),
        re.compile(rf": (?:EAP|PSK|XAUTH|NTLM|PIN) {_QUOTE}(?P<secret>[^\s\"'\\]{{4,200}}){_QUOTE}"),
        _is_any,
    ),
    _Form(
        ("chpasswd",),
        re.compile(r"chpasswd[^\n]{0,40}(?:\n[^\n]{0,40}){0,3}?\b[a-z_][\w\-]{0,31}:(?P<secret>[^\s\"'\\:]{6,100})"),
        is_told,
    ),
    _Form(
        ("--cert", "-E "),
        re.compile(r"(?:--cert|-E)[ =][\w./\-]{1,100}\.(?:pem|p12|pfx|crt):(?P<secret>[^\s\"'\\]{4,100})"),
        is_told,
    ),
    _Form(
        ("http-basic",),
        re.compile(r"\bhttp-basic\.[\w.\-]{1,80} [\w.@\-]{1,64} \\*[\"']?(?P<secret>[^\s\"'\\]{6,200})"),
        is_told,
    ),
    # Redis, IMAP, IRC and SNMP.
    _Form(
        ("AUTH",),
        re.compile(
            rf"AUTH{_LINE_END}(?:\$[0-9]{{1,4}}{_LINE_END}[^\s\\]{{1,64}}{_LINE_END})?\$[0-9]{{1,4}}{_LINE_END}"
            rf"(?P<secret>[^\s\\]{{4,200}}){_LINE_END}"
        ),
        _is_any,
    ),
    _Form(
        ("LOGIN ", "IDENTIFY "),
        re.compile(
            rf"(?:\b[A-Za-z]{{0,4}}[0-9]{{1,6}} LOGIN {_NAME_OR_QUOTED}|\bIDENTIFY(?: {_NAME_OR_QUOTED}(?= [^\s]))?)"
            rf" {_QUOTE_OR_NONE}(?P<secret>[^\s\"'`\\]{{6,100}})"
        ),
        _is_of_login,
    ),
    _Form(
        ("snmp", "SNMP"),
        re.compile(
            r"(?i:\bsnmp)[^\n|;]{0,80}?(?: -[cAX]|[ \t]community)[ \t]{1,4}(?:\\*[\"'])?(?P<secret>[^\s\"'`\\]{6,100})"
        ),
        is_told,
    ),
    _Form(
        ("SETUSER ",),
        re.compile(r"SETUSER \S{1,64}[^\n>]{0,80} >(?P<secret>[^\s\"'\\]{4,200})"),
        _is_any,
    ),
    # `public string ApiKey { get; set; } = "…"`
    _Form(
        ("get;",),
        re.compile(
            r"(?i:key|token|secret|password|pass|pwd|credentials?|connection_?string|dsn)\s{0,4}\{\s{0,8}get;[^{}]{0,40}\}\s{0,4}=\s{0,4}@?"
            rf"{_QUOTE}(?P<secret>[^\"\\\n]{{6,400}}){_QUOTE}"
        ),
        is_told,
    ),
    # What somebody has logged in with, or calls a function with.
    _Form(
        ("&code=", "?code="),
        re.compile(r"[?&]code=(?P<secret>[A-Za-z0-9_\-%.]{20,400}={0,2})"),
        looks_random,
    ),
)
_USER_THEN_PASSWORD = re.compile(
    r"(?<=\s)(?:-[uUl]|--?user(?:name)?|/ru)[ =]{0,2}[^\s-][^\s]{0,80}[^\n|;]{0,80}?"
    r"\s(?:-[pP]|-pw|/rp)[ =]\\*[\"']?"
    r"(?P<secret>[^\s\"'`\\]{6,100})"
)
_FOR_PASSWORDS = re.compile(
    r"(?:(?<![\w./\-])(?:[a-z]{0,8}passwd|[a-z]{1,8}_passphrase|rootpw|kinit|cryptsetup|secret-tool|read -r?s)"
    r"|encrypt_string|rclone obscure|operator unseal|Unseal Key [0-9]{1,3}:|config set [^\n|]{0,40}--secret)"
    r"[ \t](?P<rest>[^\n|;&]{1,160})"
)
_PIPED = re.compile(
    r"\b(?:echo|printf)[ \t]{1,4}(?:-n[ \t]{1,4})?(?:%s[ \t]{1,4})?\\*[\"']?(?P<rest>[^\s\"'`|$]{6,200})"
    r"\\*[\"']?[ \t]{0,4}\|[ \t]{0,4}(?:sudo[ \t]{1,4})?"
    r"(?:kinit|base64|openssl|gpg|cryptsetup|secret-tool|ansible-vault|pass insert|passwd"
    r"|(?:docker|podman) secret)\b"
)
_ARGUMENT = re.compile(r"[^\s\"'\\]{6,200}")
_COMMANDS = (("passwd", "_passphrase", "rootpw", "kinit", "cryptsetup", "secret-tool", "read -", "encrypt_string",
              "obscure", "nseal", "--secret"), _FOR_PASSWORDS), (("echo ", "printf "), _PIPED)  # fmt: skip


def _of_commands(text: str) -> Iterator[Span]:
    """What a user's name comes before, as `-U sa -P …`, and what is given to commands that do nothing else."""
    for found in _USER_THEN_PASSWORD.finditer(text):
        if is_chosen(found["secret"]):
            yield found.span("secret")
    for literals, pattern in _COMMANDS:
        if any(map(text.__contains__, literals)):
            for command in pattern.finditer(text):
                for word in _ARGUMENT.finditer(text, *command.span("rest")):
                    if is_chosen(word[0]) or is_drawn(word[0]):
                        yield word.span()


_PASSWORD_WORD = re.compile(
    r"(?i:\b(?:password|passcode|passphrase|passwd|pwd))[ \t]{1,4}(?:\*{2}|\\*[\"'`])?"
    r"(?P<secret>[^\s\"'`\\:=,;<>(){}\[\]/|]{6,100})"
)
_LOGGING_IN = re.compile(
    r"\b(?:log|logs|logged|logging|sign|signs|signed|signing|logon|connect\w{0,3}|authenticat\w{1,3}|user|username|login"
    r"|account|email|enter|try|use|using|with)\b[^\n]*$",
    re.IGNORECASE,
)
"""`logged in with username admin and password …`"""
_MAKERS_ROUGHLY = (
    "hmac", "HMAC", "Hmac", "hashlib.", "rypt", "hashpw", "ignWith", "bkdf2", "assw", "pw_set", "create_user",
    "createUser", "redential", "sendline", "WiFi.begin",
)  # fmt: skip
_MAKER = re.compile(rf"(?i:{_MAKERS})[\w.]{{0,20}}(?:\(|[ \t]{{1,4}}(?='))(?P<arguments>[^()\n]{{0,200}})")
"""`bcrypt.hashpw("…")`, `Credentials.basic("me", "…")`: calls that are given a password or a key."""
_LITERAL = re.compile(rf"(?:(?<![A-Za-z0-9])|(?<=[(, =][bBrRuU])){_QUOTE}(?P<secret>[^\"'\\\s,]{{8,200}}){_QUOTE}")
_ALGORITHM = re.compile(
    r"[A-Za-z]{0,12}(?:SHA|sha|MD|md|HS|RS|ES|PS|AES|aes|RSA|UTF|utf)[\w\-/]{0,16}|[\w.+\-]{1,64}@[\w.\-]{1,64}"
)
"""`HmacSHA256`, `me@example.com`."""
