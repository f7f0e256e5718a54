"""
Whether a text that a tool gave is a complaint: an exception, a crash, an HTTP status, "Error: …", "Build failed".

A text counts only by how it begins: a page about errors, a log that mentions one and code that raises one are texts
like any other. So a label, a class of exceptions or the words of a shell have to stand first, and of plain sentences
the whole first line has to be a complaint.
"""

from __future__ import annotations

import re

__all__ = ["error_said_in", "is_error_text"]

_LOOKED_AT = 200
_ERRNO_NAME = (
    "E(?:ACCES|ADDRINUSE|AI_AGAIN|CONNREFUSED|CONNRESET|EXIST|HOSTUNREACH|ISDIR|NOENT|NOTDIR|NOTEMPTY|NOTFOUND|PERM|PIPE"
    "|TIMEDOUT)"
)
_ERROR_TEXT = re.compile(
    r"\s*(?:(?:[A-Za-z_][\w.]*)?(?:Error|Exception)\s*:|Traceback \(most recent call last\)"
    r"|(?:error|fatal|failed)\s*:"
    r"|ERROR(?=\s*[:\d(\[\]-]|\s+[A-Z]|\s*$|\s+(?:at|calling|executing|in|running|while)\b)"
    r"|(?i:an error occurred|an exception occurred)"
    r"|(?i:(?:bash|sh|zsh): )|HTTP(?:/[\d.]+)? [45]\d\d\b(?! [a-z])"
    r"|(?:Error )?[45]\d\d (?:[A-Z][a-z]+ ?){1,3}(?:$|[:.\n])|Error [45]\d\d:"
    # The class of an exception behind its module, as other languages and databases print it; programs that crashed.
    r"|\(?(?:[a-z_]\w*\.)+(?:[A-Z]\w*(?:Error|Exception)\b|(?<=errors\.)[A-Z]\w*: |(?<=exceptions\.)[A-Z]\w*: )"
    r"|Caused by: |ORA-\d{5}: |error\[\w+\]: |npm ERR! |make(?:\[\d+\])?: \*\*\* |panic: |goroutine \d+ \["
    r"|thread '[^'\n]*' panicked at |Segmentation fault\b\s*(?:$|\()|Killed\s*$|(?:\S+: )?net::ERR_"
    r"|near \"[^\"]*\": syntax"
    r"|File \"[^\"\n]+\", line \d+\s*\n|[^\n]{1,120}\(\w+Error\)\s*(?:$|\n)|E: (?:Unable|Could|Failed|Package)\b"
    rf"|(?:connect|read|write|getaddrinfo|open|spawn|bind|listen|socket) {_ERRNO_NAME}\b|{_ERRNO_NAME}: (?!see )[a-z])"
)
_RESULT_ERROR = re.compile(
    r"\s*(?:\[?(?:error|fatal|failed|failure|exception)\b\]?(?! (?:handling|messages?|codes?|rates?|logs?|tests?)\b)"
    r"(?=\s*[:\]!]|\s*[.,-](?:\s|$)|\s+(?:executing|running|calling|in|while|during|occurred|to|with|at|reading|parsing)\b)"
    r"|\[(?:error|fatal)\]|(?:<\?xml[^>\n]*>\s*)?<\w*error\b|error code:? ?[1-9]"
    r"|(?:<[^<>\n]{1,120}>\s*){1,6}<(?:\w+:)?fault(?:string|code)?\b|\w+: \(\d{1,3}\) [A-Z]"
    r"|(?:\w+ ){0,3}(?:execution|call|request|command) (?:has )?failed\b"
    r"|(?:could not|couldn't|cannot|can't|unable to) (?:find|open|read|connect|access|execute|parse|load|fetch|reach)\b"
    r"|(?:<[^>\n]{1,80}>\s*){1,6}[45]\d\d\b|(?:http )?status(?: code)?:? [45]\d\d\b"
    r"|(?:permission|access) denied(?! [a-z])|unauthori[sz]ed(?! [a-z])|forbidden(?! [a-z])"
    r"|(?:(?:the )?(?:\w+ )?time(?:d ?)?out|connection (?:refused|reset|timed out))"
    r"(?=\s*[:.!]|\s+(?:after|while)\b|\s*$)"
    r"|(?:unknown|no such) (?:tool|command|function|method|action|option)\b(?=\s*[:'\"`])"
    r"|invalid (?:arguments?|inputs?|requests?|parameters?|syntax|json|api key)(?=\s*[:.]|\s*$)"
    r"|(?:the )?tool (?:\w+ )?(?:returned|raised) an? (?:error|exception)\b"
    r"|\[?(?:process )?exit(?:ed with)?[ _]?(?:code|status)\W{0,3}-?[1-9]\d*\b"
    r"|(?:[\w./-]+: ){1,3}[^\n]{0,160}(?:no such file or directory|command not found|permission denied|not found"
    r"|is a directory|not a directory|operation not permitted|illegal option|unrecognized option)[^\n]{0,80}\s*$)",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    # "SQL error: …", "MCP error -32602: …", "Uncaught TypeError: …"; but "Connection error: 0, timeout: 0".
    r"(?:[a-z][\w.-]*: )?(?:(?!info|debug|warn|handl|caught|fix|ignor|expect|resolv)[a-z'/-]+ ){0,3}"
    r"\[?(?:[a-z]+error|error|exception|failure)\]?(?: -?\d+)?(?:\s*:| '[45]\d\d|(?<=\])) *"
    r"(?!\d|none\b|no\b(?! such)|n/a)\S.*"
    # "Compilation failed", "Navigation failed: timeout"; but "12 passed, 1 failed" and "Build failed last Tuesday".
    r"|(?:sorry, )?(?!\d)[a-z][\w' ]{0,40}(?<!\d) failed(?: with\b.*|\s*[:!].*|\.?)"
    r"|(?:sorry, )?[\w' ]{1,40} (?:has failed|timed out|could not be \w+|couldn't be \w+|was not (?:found|saved|sent))"
    r"(?:\s*[:!].*| (?:after|while) .*|\.?)"
    r"|\[errno \d+\].*|no such file or directory\b.*|http (?:error|status) [45]\d\d\b.*|\w+(?:Error|Exception)"
    r"|\S+:\d+(?::\d+)?: (?:fatal )?error: .*|error \w*\d+: .*|'\S+' is not recognized as .*"
    r"|(?:missing|invalid) required [\w ]{3,20}(?:\s*:.*|\.?)|duplicate key value\b.*|deadlock found\b.*"
    r"|you (?:do not|don't) have (?:permission|access)\b.*|you are not (?:authori[sz]ed|allowed)\b.*"
    r"|(?:an? )?(?:unexpected|unknown|internal) error (?:has )?occurred\b.*"
    r"|something went wrong(?:\.?| (?:while|when|with)\b.*)(?: please try again.*)?"
    r"|(?:internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|bad request"
    r"|method not allowed|not authenticated)\.?"
    r"|(?:api |your )?(?:rate limit|quota|usage limit)s? (?:was |has been |is )?(?:exceeded|reached)"
    r"(?:\s*[:.!,;].*| for .*)?"
    r"|(?:tool|function|command|method|element|selector|module|package|column|table|file) ?[^.:;,\n]{0,60}"
    r"(?:not found|does not exist|doesn't exist|is not (?:defined|supported|available))\b(?:\s*[:(].*|[.!])?"
    r"|response status:? [45]\d\d\b.*|status=[45]\d\d\b.*",
    re.IGNORECASE,
)
"""What the whole first line of a failed tool's text says, where nothing but a complaint stands in it."""
_NOT_A_WORD = re.compile(r"[^\w\s<\[({'\"`#|*>+=~.,;:/\\$-]+\s*")
"""The picture before a complaint."""
_LABEL = re.compile(
    r"\s*(?:output|stdout|stderr|result|observation|(?:code |execution )?(?:output|logs?))\s*:\s*", re.IGNORECASE
)
"""What stands before the output of a program, and is no part of it."""
_LISTED = re.compile(r"\s*(?:[-*|#]|\d+[.)])\s")
"""A list below a line makes a heading of it."""


def is_error_text(text: str) -> bool:
    """Whether a text begins like an error: an exception's class, a traceback, a shell's complaint, an HTTP status."""
    return _ERROR_TEXT.match(text[:_LOOKED_AT]) is not None


def error_said_in(text: str) -> str | None:
    """The text from its complaint on, without what a label or a picture says before it; None for any other text."""
    said = text[label.end() :] if (label := _LABEL.match(text[:_LOOKED_AT])) else text
    said = said[sign.end() :] if (sign := _NOT_A_WORD.match(said)) else said
    is_error = is_error_text(said) or _RESULT_ERROR.match(said[:_LOOKED_AT]) is not None or _is_complaint(said)
    return said if is_error else None


def _is_complaint(text: str) -> bool:
    first, _, rest = text[:_LOOKED_AT].strip().partition("\n")
    return len(first) < _LOOKED_AT and not _LISTED.match(rest) and _COMPLAINT.fullmatch(first.strip()) is not None
