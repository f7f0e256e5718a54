"""
Whether a text that a tool gave is a complaint: an exception, a crash, "Error: …", a statement of failure.

A text counts only by how it begins, or by how the program ended that printed it: a page about errors, a log that
mentions one and code that raises one are texts like any other. So a label, a class of exceptions or the words of a
shell have to stand first, and of plain sentences the first has to be a statement of failure.
"""

from __future__ import annotations

import re

from agentdbg.analysis.failure_statements import only_tells, states_failure, worked_after_all
from agentdbg.analysis.program_endings import ends_failed, last_words
from agentdbg.analysis.server_answers import is_error_page, is_status_line

__all__ = ["error_said_in", "is_error_text"]

_LOOKED_AT = 200
_SENTENCES_IN = 400
_SHORT = 2_000
_ERRNO_NAME = (
    "E(?:ACCES|ADDRINUSE|AI_AGAIN|CONNREFUSED|CONNRESET|EXIST|HOSTUNREACH|ISDIR|NOENT|NOTDIR|NOTEMPTY|NOTFOUND|PERM|PIPE"
    "|TIMEDOUT)"
)
_ERROR_TEXT = re.compile(
    r"\s*(?:(?:Code: \d+\. )?(?:[A-Za-z_][\w.]*(?:::\w*)*)?(?:Error|Exception)\s*:(?!\s*(?:Raised|Thrown|Occurs) )"
    r"|Traceback \(most recent call last\)"
    r"|(?:error|fatal|failed)\s*:(?!\s*(?:0|no|none)\s*(?:$|[\n,;]))"
    r"|ERROR(?=\s*[:\d(\[\]-]|\s+[A-Z]|\s*$|\s+(?:at|calling|executing|in|running|while)\b)"
    r"|(?i:an error occurred|an exception occurred)"
    r"|(?i:(?:bash|sh|zsh): )|HTTP(?:/[\d.]+)? [45]\d\d\b(?!(?: [A-Z]\w+)* (?:is|are|means?)\b| [a-z])"
    r"|(?:Error )?[45]\d\d (?:[A-Z][a-z]+ ?){1,3}(?:$|[:.\n])|Error [45]\d\d:"
    # The class of an exception behind its module, as other languages and databases print it; programs that crashed.
    r"|\(?(?:[a-z_]\w*\.)+(?:[A-Z]\w*(?:Error|Exception)\b|(?<=errors\.)[A-Z]\w*: |(?<=exceptions\.)[A-Z]\w*: )"
    r"|Caused by: |ORA-\d{5}: |error\[\w+\]: |npm (?:ERR!|error) |make(?:\[\d+\])?: \*\*\* |panic: "
    r"|terminate called after |goroutine \d+ \["
    r"|thread '[^'\n]*' panicked at |(?:Segmentation fault|Bus error|Aborted|[A-Z][a-z ]+)\b\s*\(core dumped\)"
    r"|Segmentation fault\b\s*$|Killed\s*$|(?:\S+: )?net::ERR_"
    r"|near \"[^\"]*\": syntax"
    r"|File \"[^\"\n]+\", line \d+[^\n]*\n|[^\n]{1,120}\(\w+Error\)\s*(?:$|\n)|E: (?:Unable|Could|Failed|Package)\b"
    rf"|(?:connect|read|write|getaddrinfo|open|spawn|bind|listen|socket) {_ERRNO_NAME}\b|{_ERRNO_NAME}: (?!see )[a-z])"
)
_LABELLED = re.compile(
    # "SQL error: …", "MCP error -32602: …", "Error response from daemon: …"; but "Connection error: 0, timeout: 0".
    r"""(?:[a-z_][\w./-]*:\ )? (?:(?!info|on|debug|warn|handl|caught|fix|ignor|expect|resolv|recover|from)
        [a-z'/-]+\ ){0,3}
        [\[(]?(?:(?:failure|failed)(?=\s*:)|(?!on)[a-z]*error|[a-z]*exception|fatal)[\])]?
        (?:\ (?:code|number|status))?:?
        (?:\ ?-?\d+|\ ?\([^()\n]{1,60}\)|\ '[45]\d\d\b[^'\n]*')?
        (?:\ (?!handling|messages?|codes?|rates?|logs?|tests?|pages?|reports?|bars?|budgets?|types?|proves?|\d)
           [a-z]+[^:\n]{0,80}?)?
        \s*[:!] (?!\s*(?: \d[\d.,]*\s*(?:$|[%,;)]) | none\b | no\b(?!\ such) | n/a
          | (?:raised|thrown|occurs|returned)\ (?:by|if|when) )) \s*\S
      | [\[(](?:[a-z]*error|fatal|exception|failure|failed)[\])]
      | (?-i:(?:[A-Z]\w*:\ )?(?:[A-Z]+_)+(?:FAILED|ERROR|DENIED|EXCEEDED|NOT_FOUND|UNAVAILABLE|EXHAUSTED|TIMEOUT)\b)
      | (?-i:[A-Z]\w*(?:Aborted|Conflict|Denied|Exceeded|Exists|Exit|Failed|Failure|Fault|Forbidden|Interrupt|Iteration
          |Mismatch|NotFound|Refused|Timeout|Unavailable)):\ \S
      | (?!(?:example|possible|sample|typical)\b)(?:[\w.)-]+\ ){0,5}(?:error|exception|failure|traceback):\s*$
      | (?:[\w'-]+\ ){1,6}(?:encountered|got|raised|received|reported|returned|threw)\ an\ (?:\w+\ )?
          (?:error|exception)\b
      | (?:access|bus|connection|internal|network|parse|protocol|runtime|server|ssl|syntax|system|tls|type|unexpected
          |unknown|validation)\ error[.!]?\s*$
      | (?:aborted|blocked|cancell?ed(?=:\ (?:by|user))|declined|denied|interrupted|refused|rejected):
          \ (?!(?-i:[A-Z][a-z]+)\s*$)[^\s\d]
      | exception\ (?-i:[A-Z])\w*\( | \w+(?:[ ]\w+)?\ \[error\ \d+\]:
      | (?:an?|the)\ (?:\w+\ ){0,2}(?:error|exception)
        \ (?:(?:has\ )?(?:occurred|happened)|was\ (?:raised|thrown|returned))\b
      | (?:oops\W+)?something\ went\ wrong\b | (?-i:[A-Z])\w*error\ [45]\d\d\b
      | (?:the\ )?tool\ (?:\w+\ )?(?:returned|raised)\ an?\ (?:error|exception)\b
      | [\w.]+(?:Error|Exception)\s*$ | (?:aborted|error|fatal|failed)[.!]?\s*$ | \w+:\ panic!\ (?=\()
      | (?-i:[A-Z][a-z]+(?:\ [a-z]+){0,2}\ (?<!uman\ ))error
          (?:\ at\ (?:char|col|line|pos)\w*\ \d+[^\n]*)?[.!]?\s*$
      | (?-i:E[A-Z]{4,}|[A-Z]\w+BackOff|OOMKilled)\s*$
      | (?-i:KeyboardInterrupt|Stop(?:Async)?Iteration|SystemExit)\s*$ | sqlstate\[(?!00)
      | (?-i:(?:[a-z_]\w*\.)+[A-Z]\w*(?:Denied|Exceeded|Failed|Mismatch|NotFound|Refused|Timeout|Unavailable))\s*$
      | [\w ]{1,40}\ due\ to\ (?:an?\ )?(?:\w+\ )?(?:error|exception)\b | merge\ conflicts?\ in\ \S
      | (?:error|exception)\s+(?:executing|running|calling|in|while|during|occurred|at|reading|parsing)\b
      | \S+\.\w{1,5}:\d+:\d+(?::|\ -)\ (?!warning|note|info)\S | err_\w+ | \(\d{3,5},\ ['"]
      | [45]\d\d\ [\w\ ]{3,30}:\ [a-z]
      | cmake\ error\ at | [45]\d\d[ -][45]\.\d\.\d\ | \#(?:REF|VALUE|NAME|NULL|NUM|DIV/0|N/A)\b
      # Programs that name a place, a number or a code of their own.
      | \[errno\ \d+\] | \S+[:(]\d+(?:[:,]\d+)?(?:\)?:)?\s(?:fatal\ )?error(?:\ \w*\d+|\[\w+\])?:(?:\s|$)
      | (?:\S+:\d+:\d+:\ )?undefined:\ \w | \w+:\ \(\d{1,3}\)\ (?-i:[A-Z]) | msg\ \d+,\ level\ \d+,
      | conflict\ \(\w+ | -?err\ \w+""",
    re.VERBOSE | re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"""(?:awk|cargo|chmod|chown|cp|crontab|curl|docker|gcc|git|gpg|grep|helm|java|javac|kubectl|ld|ls|lua|mkdir|mount
          |mv|mysql|node|npm|openssl|perl|php|pip|psql|python|rm|rmdir|rsync|ruby|rustc|scp|sed|ssh|sudo|svn|systemctl|tar
          |unzip|wget|xargs|yarn|zip):\ (?!\d|warning|note|info)
        (?=[^\n]*(?:['"`]|:\ |\b(?:ambiguous|bad|can't|cannot|cycle|denied|dubious|error|exists?|expected|fail\w*|fatal
          |illegal|incorrect|invalid|is\ a|malformed|missing|must|no|none|not|only|refus\w+|requires?|too|try|unable
          |un(?!ix|it|der|til)[a-z]+|usage|wrong|\w+n't)\b))""",
    re.VERBOSE | re.IGNORECASE,
)
"""A program and what it complains of; "docker: running" is its state."""
_NONE_OF_IT = re.compile(
    r"(?!\S*[a-z](?:Error|Exception):)[^:\n]{1,60}:\s*(?:false|n/a|never|no|nobody|none)\s*(?:$|[.,;\n])|(?!\w+(?:Error|Exception):)\w+:\s*0(?![\w.:])",
    re.IGNORECASE,
)
"""`Quota exceeded: false`, `Fatal: 0 accidents`; but `KeyError: 0`."""
_TELLING = re.compile(
    r"^\w+: |^#|\d|conflict|err|exception|fail|fatal|level|undefined|wrong|_|[a-z][A-Z]|: \(", re.IGNORECASE
)
_PICTURE = re.compile(r"(?:\*\*+ (?=[(A-Z])|==\d+==|[^\w\s<\[({'\"`#|*>+=~.,;:/\\$-]+\s*)+")
_PROMPT = re.compile(r"\s*(?:\$|>>>|PS [^>\n]*>|hint:|#(?= \S+\n\S+:\d+:)) [^\n]*\n|\s*\w+[>$] (?=\S+: )")
"""The command that a terminal shows above what it printed."""
_PLACE = re.compile(r"(?:[ \t]*(?:[\w./\\:-]+:\d+(?::\d+)?:?|throw [^\n]*|[~^]+)?[ \t]*\n)+")
"""Lines that show where in the code it was."""
_TITLED = re.compile(
    r"[^\n]*[:?–-]\s+(?:how to|what (?:it|they|is|are|to)|why"
    r"|(?:an?|the) (?:\w+ ){0,2}(?:base|band|book|class|film|guide|history|introduction|novel|overview|podcast|story"
    r"|tale))\b",
    re.IGNORECASE,
)
"""A text about an error."""
_LABEL = re.compile(
    r"\s*(?:output|stdout|stderr|result|observation|(?:code |execution )?(?:output|logs?))\s*:\s*", re.IGNORECASE
)
"""What stands before the output of a program, and is no part of it."""
_CODE = re.compile(
    r"\s*(?:assert|catch|class|const|def|except|export|func(?:tion)?|fn|if|import|let|new|print|private|public|raise"
    r"|return|static|throw|try|use|var)\b.*[({:;=]|\s*(?://|/\*|<(?!\w+>:\d)\w)"
)
_USAGE = re.compile(r"usage: .*^(?:\S+ )?error: ", re.IGNORECASE | re.DOTALL | re.MULTILINE)
"""How a program is to be called, and what was wrong with the call."""
_LISTED = re.compile(r"\s*(?:[-*|#]|\d+[.)])\s")
"""A list below a line makes a heading of it."""


def is_error_text(text: str) -> bool:
    """Whether a text begins like an error: an exception's class, a traceback, a shell's complaint, an HTTP status."""
    return _ERROR_TEXT.match(text[:_LOOKED_AT]) is not None


def error_said_in(text: str) -> str | None:
    """The text from its complaint on, without what stands before its words; None for any other text."""
    said = text
    for before in (_LABEL, _PICTURE, _PROMPT, _PLACE):
        said = said[found.end() :] if (found := before.match(said[:_LOOKED_AT])) else said
    if _TITLED.match(said[:_LOOKED_AT]) or worked_after_all(said):
        return None
    if _NONE_OF_IT.match(said[:_LOOKED_AT]):
        return last_words(text)
    if is_error_text(said) or is_error_page(said) or _is_complaint(said) or _USAGE.match(said[:_SHORT]):
        return said
    return last_words(text)


def _is_complaint(text: str) -> bool:
    first, _, rest = text[:_LOOKED_AT].strip().partition("\n")
    if ends_failed(first):
        return True
    is_labelled = _TELLING.search(first) is not None and any(one.match(first) for one in (_LABELLED, _PROGRAM))
    is_list = _LISTED.match(rest) is not None and (not is_labelled or _LISTED.match(first) is not None)
    if is_list or _CODE.match(first):
        return False
    is_status = is_status_line(first) and not only_tells(first)
    return is_status or is_labelled or states_failure(text[:_SENTENCES_IN])
