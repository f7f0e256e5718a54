"""
What common programs do when they are called from a shell: tables of names, and of the words that follow them.

A program that is not here is unknown.
"""

from __future__ import annotations

__all__ = [
    "ALIKE",
    "BY_SUBCOMMAND",
    "CODE_OPTIONS",
    "KEYWORDS",
    "READS",
    "READS_UNLESS",
    "SHELLS",
    "SQL_CLIENTS",
    "VALUE_OPTIONS",
    "WRAPPERS",
    "WRITES",
    "WRITES_UNLESS",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READS = _words("""
    : [ [[ ack ag apropos arch base32 base64 basename bc break cal case cat cd cksum clear cmp col column comm continue
    cut dc declare df diff dig dir dirname done du echo egrep esac exit expand expr factor false fgrep fi file fmt fold
    for free getconf getent grep groups head help hexdump history host id info iostat jobs join jq last ldd less let
    local locale locate logname ls lsb_release lsblk lscpu lsof man md5sum more mpstat netstat nl nm nproc nslookup
    numfmt objdump od paste pgrep pidof ping popd printenv printf ps pstree pushd pwd read readelf readlink readonly
    realpath return rev rg select seq set sha1sum sha224sum sha256sum sha384sum sha512sum shift shopt size sleep ss stat
    strings sum tac tail test tput tr traceroute true tsort tty type typeset ulimit uname unexpand unset uptime users
    vmstat w wait wc where whereis which who whoami whois zcat zgrep zless export }
""")
KEYWORDS = _words("! { do elif else if then until while time")
"""Words of the shell that stand before a command."""
WRITES = _words("""
    adduser at chattr chgrp chmod chown copy cp csplit dd del deluser doas ed erase fallocate fdisk groupadd groupdel
    halt insmod install iptables kill killall ln logger mail mailx md mkdir mkfifo mkfs mknod mktemp mkswap modprobe
    mount move mutt mv nft parted passwd patch pkill poweroff rd reboot ren rename renice rm rmdir rmmod rsync scp
    sendmail setfacl sftp shred shutdown split swapoff swapon telinit touch truncate tune2fs ufw umount unlink useradd
    userdel usermod wall wipefs zip
""")
READS_UNLESS = {
    "alias": frozenset({"="}),
    "date": _words("--set"),
    "fd": _words("-x -X --exec --exec-batch"),
    "hostname": _words("-F -b"),
    "journalctl": _words("--vacuum-size --vacuum-time --vacuum-files --rotate --flush"),
    "shuf": _words("-o --output"),
    "sort": _words("-o --output"),
    "tree": _words("-o"),
    "xmllint": _words("-o --output"),
    "yq": _words("-i --inplace"),
}
"""Programs that only read unless one of these is among their words."""
WRITES_UNLESS = {
    "crontab": _words("-l"),
    "gunzip": _words("-c -t -l --stdout --to-stdout --test --list"),
    "gzip": _words("-c -t -l --stdout --to-stdout --test --list"),
    "bzip2": _words("-c -t --stdout --test"),
    "xz": _words("-c -t -l --stdout --test --list"),
    "unzip": _words("-l -p -t -v -Z"),
    "sysctl": _words("-a -n --all"),
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
    "command": frozenset[str](),
    "env": _words("-u -C --unset --chdir"),
    "exec": _words("-a"),
    "nice": _words("-n"),
    "nohup": frozenset[str](),
    "setsid": frozenset[str](),
    "stdbuf": _words("-i -o -e"),
    "sudo": _words("-u -g -h -p -C -U -r -t -D"),
    "timeout": _words("-s -k --signal --kill-after"),
    "unbuffer": frozenset[str](),
    "watch": _words("-n --interval"),
    "xargs": _words("-n -P -I -d -L -s -a -E --max-args --max-procs --arg-file --delimiter"),
}
"""Programs that run what follows them, and their options that take the next word with them."""
SHELLS = _words("bash sh zsh dash ksh fish ash")
CODE_OPTIONS = _words("-c -e --eval --command --execute -E")
SQL_CLIENTS = _words("psql mysql sqlite3 duckdb clickhouse-client bq snowsql cockroach")

_LOOKS = "list ls get show view describe info status search help version"
BY_SUBCOMMAND: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "git": (
        _words("""
            annotate blame cat-file check-ignore cherry count-objects describe diff diff-index diff-tree for-each-ref
            grep help log ls-files ls-remote ls-tree merge-base name-rev range-diff rev-list rev-parse shortlog show
            show-ref status var verify-commit version whatchanged
        """),
        _words("""
            add am apply bisect checkout cherry-pick clean clone commit filter-branch gc init merge mv notes pull push
            rebase replace reset restore revert rm submodule switch update-index update-ref worktree
        """),
    ),
    "pip": (
        _words("check debug freeze help index inspect list show"),
        _words("install uninstall download wheel cache"),
    ),
    "npm": (
        _words("explain fund help list ll ls outdated ping prefix root search view whoami why info"),
        _words("add ci dedupe deprecate i install link login publish prune rebuild remove rm un uninstall unpublish up")
        | _words("update upgrade version dist-tag init create owner access token"),
    ),
    "apt-get": (
        _words("changelog list policy search show depends rdepends check"),
        _words("autoremove clean dist-upgrade full-upgrade install purge remove update upgrade build-dep download"),
    ),
    "apt-cache": (_words("depends policy rdepends search show showpkg stats madison"), frozenset()),
    "dpkg": (_words("-l -L -s -S --list --status --listfiles --search"), _words("-i -r -P --install --remove --purge")),
    "yum": (_words("list info search provides repolist check-update"), _words("install remove update upgrade erase")),
    "apk": (_words("info list search version policy"), _words("add del update upgrade fix")),
    "brew": (
        _words("list info search outdated deps config doctor home leaves"),
        _words("install uninstall upgrade tap"),
    ),
    "conda": (_words("info list search"), _words("create install remove update uninstall")),
    "cargo": (_words("metadata search tree version"), _words("add install publish remove uninstall yank update")),
    "go": (_words("doc list version"), _words("clean get install fmt")),
    "gem": (_words("list search info which environment"), _words("install uninstall update push")),
    "systemctl": (
        _words(
            "cat is-active is-enabled is-failed list-dependencies list-timers list-unit-files list-units show status"
        ),
        _words("daemon-reload disable enable isolate kill mask reboot poweroff reload restart start stop unmask edit"),
    ),
    "service": (_words("--status-all status"), _words("start stop restart reload")),
    "kubectl": (
        _words("api-resources api-versions cluster-info describe diff events explain get logs top version wait"),
        _words("""
            annotate apply autoscale cordon cp create delete drain edit expose label patch replace run scale set taint
            uncordon
        """),
    ),
    "docker": (
        _words("diff events history images info inspect logs ls port ps search stats top version"),
        _words("""
            build commit cp create import kill load login pause prune pull push rename restart rm rmi run save start
            stop tag unpause update up down
        """),
    ),
    "helm": (_words("diff env get history lint list ls search show status template verify version"), frozenset()),
    "terraform": (
        _words("graph list output plan providers show validate version"),
        _words("apply destroy import init mv push rm taint untaint"),
    ),
    "gh": (_words(f"{_LOOKS} checks diff watch"), frozenset()),
    "glab": (_words(f"{_LOOKS} diff"), frozenset()),
    "aws": (_words(f"{_LOOKS} head-object head-bucket tail wait lookup-events"), _words("cp mv rm mb rb sync")),
    "gcloud": (_words(f"{_LOOKS} read"), _words("ssh scp")),
    "az": (_words("list show"), frozenset()),
    "heroku": (_words("apps logs ps releases info"), frozenset()),
    "fly": (_words("status logs list"), frozenset()),
    "vercel": (_words("list ls inspect logs whoami"), _words("--prod")),
    "redis-cli": (
        _words(
            "exists get hget hgetall hkeys info keys lrange llen mget scan smembers strlen ttl type zrange zcard dbsize"
        )
        | _words(
            "EXISTS GET HGET HGETALL HKEYS INFO KEYS LRANGE LLEN MGET SCAN SMEMBERS STRLEN TTL TYPE ZRANGE DBSIZE"
        ),
        _words("append decr del expire flushall flushdb hset incr lpush rpush set sadd zadd DEL FLUSHALL FLUSHDB SET"),
    ),
    "ip": (_words("show list"), _words("add del set flush replace")),
    "ifconfig": (_words("-a"), _words("up down")),
    "tmux": (_words("ls list-sessions list-windows capture-pane show"), _words("kill-session kill-server send-keys")),
    "mc": (_words("ls stat cat find head tree du"), _words("cp mv rm mb rb mirror")),
}
"""Programs whose next words say what they do: those that read, those that write. Any other is guessed like a tool's."""
VALUE_OPTIONS = _words("""
    -n --namespace --context --cluster --kubeconfig -f --file -H --host --profile --region --output --project -R --repo
    -a --app -h -p --subscription -g --resource-group -C --config
""")
"""Options that take the next word with them, before a command."""
