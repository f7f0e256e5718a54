"""
What a command line is made of: its simple commands, split as a shell would, and what common programs do.

It is no shell: nothing is expanded. What it cannot split it says so, and whoever asked must not take it for harmless. A
program that is not in the tables of names, and of the words that follow them, is unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from agentdbg.analysis.effect_guess.tool_names import word_set

__all__ = ["SimpleCommand", "Unreadable", "split_commands"]


READS = word_set("""
    : [ [[ ack ag apropos arch base32 base64 basename bc break cal case cat cd cksum clear cmp col column comm continue
    cut dc declare df diff dig dir dirname done du echo egrep esac exit expand expr factor false fgrep fi file fmt fold
    for free getconf getent grep groups head help hexdump history host id info iostat jobs join jq last ldd less let
    local locale locate logname ls lsb_release lsblk lscpu lsof man md5sum more mpstat netstat nl nm nproc nslookup
    numfmt objdump od paste pgrep pidof ping popd printenv printf ps pstree pushd pwd read readelf readlink readonly
    realpath return rev rg select seq set sha1sum sha224sum sha256sum sha384sum sha512sum shift shopt size sleep ss stat
    strings sum tac tail test tput tr traceroute true tsort tty type typeset ulimit uname unexpand unset uptime users
    vmstat w wait wc where whereis which who whoami whois zcat zgrep zless export }
""")
KEYWORDS = word_set("! { do elif else if then until while time")
"""Words of the shell that stand before a command."""
WRITES = word_set("""
    adduser at chattr chgrp chmod chown copy cp csplit dd del deluser doas ed erase fallocate fdisk groupadd groupdel
    halt insmod install kill killall ln logger mail mailx md mkdir mkfifo mkfs mknod mktemp mkswap modprobe
    mount move mutt mv nft parted passwd patch pkill poweroff rd reboot ren rename renice rm rmdir rmmod rsync scp
    sendmail setfacl sftp shred shutdown split swapoff swapon telinit touch truncate tune2fs ufw umount unlink useradd
    userdel usermod wall wipefs zip
""")
READS_UNLESS = {
    "alias": frozenset({"="}),
    "date": word_set("-s --set"),
    "fd": word_set("-x -X --exec --exec-batch"),
    "history": word_set("-a -c -d -n -r -w"),
    "hostname": word_set("-F -b"),
    "journalctl": word_set("--vacuum-size --vacuum-time --vacuum-files --rotate --flush"),
    "shuf": word_set("-o --output"),
    "sort": word_set("-o --output"),
    "tree": word_set("-o"),
    "xmllint": word_set("-o --output"),
    "yq": word_set("-i --inplace"),
}
"""Programs that only read unless one of these is among their words."""
WRITES_UNLESS = {
    "black": word_set("--check --diff"),
    "crontab": word_set("-l"),
    "iptables": word_set("-L -S --list --list-rules"),
    "gunzip": word_set("-c -t -l --stdout --to-stdout --test --list"),
    "gzip": word_set("-c -t -l --stdout --to-stdout --test --list"),
    "bzip2": word_set("-c -t --stdout --test"),
    "xz": word_set("-c -t -l --stdout --test --list"),
    "unzip": word_set("-l -p -t -v -Z"),
    "sysctl": word_set("-a -n --all"),
}
"""Programs that write unless one of these is among their words."""
ALIKE = {
    "apt": "apt-get",
    "docker-compose": "docker",
    "gawk": "awk",
    "ipython": "python",
    "k": "kubectl",
    "mawk": "awk",
    "mariadb": "mysql",
    "nawk": "awk",
    "nodejs": "node",
    "oc": "kubectl",
    "pip3": "pip",
    "pnpm": "npm",
    "podman": "docker",
    "python2": "python",
    "python3": "python",
    "yarn": "npm",
    "dnf": "yum",
    "gsed": "sed",
}
WRAPPERS = {
    "builtin": frozenset[str](),
    "busybox": frozenset[str](),
    "chroot": word_set("--userspec --groups"),
    "command": frozenset[str](),
    "env": word_set("-u -C --unset --chdir"),
    "exec": word_set("-a"),
    "flock": word_set("-w -E --timeout --conflict-exit-code"),
    "ionice": word_set("-c -n -p"),
    "nice": word_set("-n"),
    "nohup": frozenset[str](),
    "setsid": frozenset[str](),
    "stdbuf": word_set("-i -o -e"),
    "sudo": word_set("-u -g -h -p -C -U -r -t -D"),
    "timeout": word_set("-s -k --signal --kill-after"),
    "unbuffer": frozenset[str](),
    "unshare": frozenset[str](),
    "watch": word_set("-n --interval"),
    "xargs": word_set("-n -P -I -d -L -s -a -E --max-args --max-procs --arg-file --delimiter"),
}
"""Programs that run what follows them, and their options that take the next word with them."""
SHELLS = word_set("bash sh zsh dash ksh fish ash powershell pwsh runuser su")
CODE_OPTIONS = word_set("-c -e --eval --command --execute -E")
SQL_CLIENTS = word_set("psql mysql sqlite3 duckdb clickhouse-client bq snowsql cockroach")

_LOOKS = "list ls get show view describe info status search help version"
BY_SUBCOMMAND: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "git": (
        word_set("""
            annotate blame cat-file check-ignore cherry count-objects describe diff diff-index diff-tree for-each-ref
            grep help log ls-files ls-remote ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show
            show-ref status var verify-commit version whatchanged
        """),
        word_set("""
            add am apply bisect checkout cherry-pick clean clone commit filter-branch gc init merge mv notes pull push
            rebase replace reset restore revert rm submodule switch update-index update-ref worktree
        """),
    ),
    "pip": (
        word_set("check debug freeze help index inspect list show"),
        word_set("install uninstall download wheel cache"),
    ),
    "npm": (
        word_set("explain fund help list ll ls outdated ping prefix root search view whoami why info"),
        word_set(
            "add ci dedupe deprecate i install link login publish prune rebuild remove rm un uninstall unpublish up"
        )
        | word_set("update upgrade version dist-tag init create owner access token"),
    ),
    "apt-get": (
        word_set("changelog list policy search show depends rdepends check"),
        word_set("autoremove clean dist-upgrade full-upgrade install purge remove update upgrade build-dep download"),
    ),
    "apt-cache": (word_set("depends policy rdepends search show showpkg stats madison"), frozenset()),
    "dpkg": (
        word_set("-l -L -s -S --list --status --listfiles --search"),
        word_set("-i -r -P --install --remove --purge"),
    ),
    "yum": (
        word_set("list info search provides repolist check-update"),
        word_set("install remove update upgrade erase"),
    ),
    "apk": (word_set("info list search version policy"), word_set("add del update upgrade fix")),
    "brew": (
        word_set("list info search outdated deps config doctor home leaves"),
        word_set("install uninstall upgrade tap"),
    ),
    "conda": (word_set("info list search"), word_set("create install remove update uninstall")),
    "cargo": (word_set("metadata search tree version"), word_set("add install publish remove uninstall yank update")),
    "ruff": (word_set("rule linter version"), word_set("format clean")),
    "go": (word_set("doc list version"), word_set("clean get install fmt")),
    "gem": (word_set("list search info which environment"), word_set("install uninstall update push")),
    "systemctl": (
        word_set(
            "cat is-active is-enabled is-failed list-dependencies list-timers list-unit-files list-units show status"
        ),
        word_set(
            "daemon-reload disable enable isolate kill mask reboot poweroff reload restart start stop unmask edit"
        ),
    ),
    "service": (word_set("--status-all status"), word_set("start stop restart reload")),
    "kubectl": (
        word_set("api-resources api-versions cluster-info describe diff events explain get logs top version wait"),
        word_set("""
            annotate apply autoscale cordon cp create delete drain edit expose label patch replace run scale set taint
            uncordon
        """),
    ),
    "docker": (
        word_set("diff events history images info inspect logs ls port ps search stats top version"),
        word_set("""
            build commit cp create import kill load login pause prune pull push rename restart rm rmi run save start
            stop tag unpause update up down
        """),
    ),
    "helm": (word_set("diff env get history lint list ls search show status template verify version"), frozenset()),
    "terraform": (
        word_set("graph list output plan providers show validate version"),
        word_set("apply destroy import init mv push rm taint untaint"),
    ),
    "gh": (word_set(f"{_LOOKS} checks diff watch"), frozenset()),
    "glab": (word_set(f"{_LOOKS} diff"), frozenset()),
    "aws": (word_set(f"{_LOOKS} head-object head-bucket tail wait lookup-events"), word_set("cp mv rm mb rb sync")),
    "gcloud": (word_set(f"{_LOOKS} read"), word_set("ssh scp")),
    "az": (word_set("list show"), frozenset()),
    "heroku": (word_set("apps logs ps releases info"), frozenset()),
    "fly": (word_set("status logs list"), frozenset()),
    "vercel": (word_set("list ls inspect logs whoami"), word_set("--prod")),
    "redis-cli": (
        word_set(
            "exists get hget hgetall hkeys info keys lrange llen mget scan smembers strlen ttl type zrange zcard dbsize"
        )
        | word_set(
            "EXISTS GET HGET HGETALL HKEYS INFO KEYS LRANGE LLEN MGET SCAN SMEMBERS STRLEN TTL TYPE ZRANGE DBSIZE"
        ),
        word_set(
            "append decr del expire flushall flushdb hset incr lpush rpush set sadd zadd DEL FLUSHALL FLUSHDB SET"
        ),
    ),
    "ip": (word_set("show list"), word_set("add del set flush replace")),
    "ifconfig": (word_set("-a"), word_set("up down")),
    "tmux": (
        word_set("ls list-sessions list-windows capture-pane show"),
        word_set("kill-session kill-server send-keys"),
    ),
    "mc": (word_set("ls stat cat find head tree du"), word_set("cp mv rm mb rb mirror")),
}
"""Programs whose next words say what they do: those that read, those that write. Any other is guessed like a tool's."""
VALUE_OPTIONS = word_set("""
    -n --namespace --context --cluster --kubeconfig -f --file -H --host --profile --region --output --project -R --repo
    -a --app -h -p --subscription -g --resource-group -C --config
""")
"""Options that take the next word with them, before a command."""


_LONGEST = 20_000
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_REDIRECTION = re.compile(r"(?:\d*|&)(?:>>|>\||>&|<<<|<<-|<<|<>|<&|>|<)")
_COMMENT_BEFORE = frozenset(" \t\n;&|(")


class Unreadable(ValueError):
    """The text is no command line that can be split: a quote that never ends, a text that was cut."""


@dataclass
class SimpleCommand:
    """One command: its words without quotes, the files it writes to, and the commands it runs to make its words."""

    words: list[str] = field(default_factory=list)
    writes_to: list[str] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    given: str | None = None
    """What is given to it in place: a here-document or a here-string."""


def split_commands(text: str) -> list[SimpleCommand]:
    """The simple commands of a text in order; Unreadable for what is none."""
    if len(text) > _LONGEST:
        raise Unreadable
    return _Splitter(text.replace("\r\n", "\n").replace("\\\n", " ")).split()


class _Splitter:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._commands: list[SimpleCommand] = []
        self._command = SimpleCommand()
        self._waiting: list[tuple[SimpleCommand, str, bool]] = []
        """Here-documents whose text begins on the next line, the word that ends each, and whether it is quoted."""

    def split(self) -> list[SimpleCommand]:
        while self._at < len(self._text):
            self._step()
        self._end_command()
        return self._commands

    def _step(self) -> None:
        text, at = self._text, self._at
        if text[at] in " \t":
            self._at += 1
        elif text[at] == "#" and (at == 0 or text[at - 1] in _COMMENT_BEFORE):
            end = text.find("\n", at)
            self._at = len(text) if end < 0 else end
        elif redirection := _REDIRECTION.match(text, at):
            self._redirect(redirection[0])
        elif operator := next((sign for sign in _OPERATORS if text.startswith(sign, at)), None):
            self._at += len(operator)
            self._end_command()
            if operator == "\n":
                self._take_documents()
        else:
            self._command.words.append(self._word())

    def _end_command(self) -> None:
        command = self._command
        if command.words or command.writes_to or command.inner:
            self._commands.append(command)
        self._command = SimpleCommand()

    def _redirect(self, sign: str) -> None:
        self._at += len(sign)
        kind = sign.lstrip("0123456789&")
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        is_quoted = self._text[self._at : self._at + 1] in ("'", '"', "\\")
        target = self._word()
        if kind in ("<<", "<<-"):
            self._waiting.append((self._command, target, is_quoted))
        elif kind == "<<<":
            self._command.given = target
        elif kind not in ("<", "<&") and not (kind == ">&" and (target.isdigit() or target == "-")):
            self._command.writes_to.append(target)

    def _take_documents(self) -> None:
        for command, ending, is_quoted in self._waiting:
            lines = self._text[self._at :].split("\n")
            body = next((at for at, line in enumerate(lines) if line.strip("\t") == ending), None)
            if body is None:
                raise Unreadable
            command.given = "\n".join(lines[:body])
            if not is_quoted:  # what stands in `$(…)` is run
                inside = _Splitter('"' + command.given.replace('"', "") + '"').split()
                command.inner += [text for found in inside for text in found.inner]
            self._at = min(self._at + sum(len(line) + 1 for line in lines[: body + 1]), len(self._text))
        self._waiting = []

    def _word(self) -> str:
        """The next word without its quotes; what it runs is put aside."""
        text, word = self._text, ""
        while self._at < len(text) and text[self._at] not in " \t\n;|&()<>":
            sign = text[self._at]
            if sign == "'":
                word += self._until("'")
            elif sign == '"':
                word += self._quoted()
            elif sign == "\\":
                word += text[self._at + 1 : self._at + 2]
                self._at += 2
            else:
                word += self._plain()
        return word

    def _plain(self) -> str:
        text = self._text
        if text.startswith("$((", self._at):
            return self._expansion("))")
        if text.startswith("$(", self._at):
            self._at += 1
            self._command.inner.append(self._parenthesis())
            return "$()"
        if text[self._at] == "`":
            self._command.inner.append(self._until("`"))
            return "$()"
        if text.startswith("${", self._at):
            return self._expansion("}")
        self._at += 1
        return text[self._at - 1]

    def _expansion(self, ending: str) -> str:
        """`${name}` and `$((1 + 2))`, in which nothing may be run."""
        end = self._text.find(ending, self._at)
        word = self._text[self._at : end + len(ending)]
        if end < 0 or "`" in word or "$(" in word[2:]:
            raise Unreadable
        self._at = end + len(ending)
        return word

    def _until(self, sign: str) -> str:
        end = self._text.find(sign, self._at + 1)
        if end < 0:
            raise Unreadable
        inside, self._at = self._text[self._at + 1 : end], end + 1
        return inside

    def _quoted(self) -> str:
        text, word = self._text, ""
        self._at += 1
        while self._at < len(text):
            sign = text[self._at]
            if sign == '"':
                self._at += 1
                return word
            if sign == "\\":
                word += text[self._at + 1 : self._at + 2]
                self._at += 2
            elif sign in "$`":
                word += self._plain()
            else:
                word += sign
                self._at += 1
        raise Unreadable

    def _parenthesis(self) -> str:
        """What stands between parentheses, of which more may be inside; quotes inside may hold single ones."""
        begin, depth, quote = self._at + 1, 0, ""
        while self._at < len(self._text):
            sign = self._text[self._at]
            if sign == "\\":
                self._at += 1
            elif quote:
                quote = "" if sign == quote else quote
            elif sign in "'\"":
                quote = sign
            elif sign in "()":
                depth += 1 if sign == "(" else -1
            self._at += 1
            if depth == 0:
                return self._text[begin : self._at - 1]
        raise Unreadable
