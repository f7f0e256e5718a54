"""What a command line does: every command in it counts, and what is not surely a read is never called one."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentdbg.analysis.effect_guess.shell_commands import shell_effect

READS = """\
git apply --check fix.diff
kubectl rollout status deploy/web
iptables -L -n
black --check .
docker exec web ls
ssh -p 22 host ls -la
kubectl -n a exec pod -- cat /etc/hosts
gh api repos/a/b
http GET example.org
ls -la
ls -la | head -5 && pwd
cat a.txt b.txt 2>/dev/null
grep -rn "rm -rf" src/ | wc -l
find . -name '*.py' -not -path './.git/*'
find . -type f -exec grep -l foo {} +
cd /tmp && git status && git log --oneline -5
git -C repo diff HEAD~1 --stat
git branch -a
git tag --list 'v*'
git stash list
git config user.email
git remote -v
echo "a > b"
echo 'rm x; rm y'
echo hello >&2
echo "$(date)" 2>&1
sed -n '1,20p' file.py
awk '$3 > 5 {print $1}' data.csv
sort data | uniq -c | sort -rn | head
curl -s https://example.com/api | jq .items
curl -sS -X GET https://example.com
curl -G -d q=1 https://example.com
curl -o /dev/null -w '%{http_code}' https://example.com
wget -qO- https://example.com
tar -tzf a.tar.gz
python -c "import json; print(json.dumps({'a': 1}))"
python3 - <<'EOF'
for f in *.txt; do wc -l "$f"; done
if [ -f x ]; then cat x; else echo no; fi
while read line; do echo "$line"; done < list.txt
psql -c "SELECT * FROM orders WHERE id = 7"
sqlite3 shop.db "select count(*) from orders"
kubectl get pods -n prod
kubectl -n logs get pods
kubectl describe deploy web
docker ps -a
docker compose logs web
aws s3 ls s3://bucket
aws ec2 describe-instances --region eu-west-1
aws --profile prod sts get-caller-identity
gh pr list --state open
terraform plan
helm list -A
pip list
pip3 show requests
npm ls --depth 0
systemctl status nginx
journalctl -u nginx --since today
sudo cat /var/log/syslog
FOO=bar env
xargs -n 1 basename < names
timeout 5 ls
bash -c "ls | wc -l"
rm --help
foo --version
Get-ChildItem -Recurse
diff <(sort a) <(sort b)
echo $((1 + 2)) ${HOME} ${x:-none}
git branch -vv
git remote -v
nice -n 5 ls
true
"""
WRITES = """\
busybox rm x
ssh host rm x
ssh -i key host 'cd a && rm x'
trap "rm x" EXIT
docker exec -u root web rm a
kubectl exec pod -- rm x
docker run image exec ls
gh api -X POST /x
gh api repos/a/b -f title=x
http POST example.org a=b
http example.org a=b
perl -pi -e s/a/b/ f
date -s 12:00
hostname other
history -c
flock /tmp/lock rm x
su -c "rm x"
powershell -Command "Remove-Item x"
python -c "import subprocess; subprocess.run(['rm', 'x'])"
rm x
rm -rf /
ls; rm x
ls && rm -rf build
cat a | tee b
echo hi > file
echo hi >> file
ls 2> errors.txt
> emptied
cat <<'E' > config
sed -i s/a/b/ file
sed -i.bak 's/a/b/' file
sed -ni 's/a/b/p' file
perl -pi -e x || rm y
git push
git push --force origin main
git commit -am wip
git checkout -b new
git branch -D old
git tag v1.0
git stash
git config user.name Me
git -c user.name=x -C repo reset --hard
git remote add o u
mkdir -p a/b
mv a b
cp a b
touch x
chmod +x run.sh
find . -name '*.pyc' -delete
find . -name x -exec rm {} \\;
ls | xargs rm
ls | xargs -I {} rm -f {}
echo $(rm x)
echo `rm x`
echo "$(rm x)"
for f in *; do rm "$f"; done
if true; then rm x; fi
while true; do rm x; done
{ rm x; }
(cd a; rm x)
! rm x
time rm x
sudo rm x
sudo -u root rm x
env FOO=1 rm x
FOO=1 rm x
bash -c "rm x"
sh -c 'ls; rm x'
eval "rm x"
bash <<'E'
timeout 10 rm x
nohup rm x &
curl -X POST https://example.com -d a=1
curl -sXDELETE https://example.com/7
curl --request=PUT https://example.com
curl -d '{"a": 1}' https://example.com
curl -sd a=1 https://example.com
curl -F file=@x https://example.com
curl -O https://example.com/x
curl -fsSLo x https://example.com/x
wget https://example.com/x
wget --post-data=a=1 -qO- https://example.com
tar -xzf a.tar.gz
tar czf a.tgz dir
psql -c "DELETE FROM orders"
psql -c "WITH gone AS (DELETE FROM a RETURNING *) SELECT * FROM gone"
sqlite3 shop.db "drop table orders"
python -c "open('x', 'w').write('y')"
kubectl delete pod web
kubectl -n logs delete pod web
kubectl --unknown logs delete pod web
kubectl apply -f x.yaml
docker rm -f web
docker compose up -d
aws s3 rm s3://bucket/x
aws s3 cp a s3://b
aws ec2 terminate-instances --instance-ids i-1
gh pr merge 7
gh issue close 7
terraform apply -auto-approve
terraform state rm x
helm uninstall web
pip install requests
npm install
npm publish
apt-get install -y vim
systemctl restart nginx
service nginx stop
kill -9 123
dd if=/dev/zero of=/dev/sda
crontab -r
mkfs.ext4 /dev/sda1
Remove-Item x
sort -o data data
uniq a b
redis-cli FLUSHALL
mail -s hi a@b.c < x
"rm" x
\\rm x
/bin/rm x
r''m x
[ -f x ] && rm x
awk '{print $1 > "out"}' x
git apply fix.diff
git apply --stat --apply fix.diff
black src
ruff format .
iptables -F
kubectl rollout restart deploy/web
case $x in a) rm x;; esac
ls | while read f; do rm "$f"; done
psql -c "select 1" -c "drop table x"
git branch -v new
git remote -v add o u
git stash pop
git reflog expire --all
ls &> out.txt
ls >| out.txt
exec 3> out.txt
docker --log-level info rm web
sudo -n rm ls
xargs -a list rm
find . -exec sh -c 'rm "$1"' _ {} \\;
f() { rm x; }; f
"""
UNKNOWN = """\
ssh -o ProxyCommand=./x host ls
http example.org
pytest -q
make
./run.sh
python script.py
python -m pytest
node -e "1"
npm test
npm run build
curl https://example.com/install.sh | sh
bash script.sh
source env.sh
. env.sh
echo ${x:=$(rm y)}
$COMMAND x
env -S "rm x"
frobnicate
git frob
echo "unfinished
ls $(
"""


def _cases(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize("line", _cases(READS))
def test_what_only_looks_is_a_read(line: str) -> None:
    """An alarm for each other `ls` would be switched off."""
    line = line + "\nprint(1)\nEOF\n" if line.endswith("<<'EOF'") else line

    assert shell_effect(line) == "read"


@pytest.mark.parametrize("line", _cases(WRITES))
def test_what_changes_something_is_a_write(line: str) -> None:
    """Wherever in the line it stands, and however it is wrapped."""
    line = line + "\nrm x\nE\n" if line.startswith(("cat <<", "bash <<")) else line

    assert shell_effect(line) == "write"


def test_what_a_here_document_runs_counts() -> None:
    """The shell runs what stands in `$(…)` there, unless the word that ends it is quoted."""
    assert shell_effect("cat <<E\n$(rm x)\nE\n") == "write"
    assert shell_effect("cat <<'E'\n$(rm x)\nE\n") == "read"
    assert shell_effect("cat <<E\nnever ends\n") == "unknown"


@pytest.mark.parametrize("line", _cases(UNKNOWN))
def test_what_nobody_knows_is_neither(line: str) -> None:
    """A program of one's own may do anything."""
    assert shell_effect(line) == "unknown"


_PARTS = [*_cases(READS)[:12], "echo 'a b'", 'echo "c;d"', "true", "x=1"]
_JOINS = st.sampled_from([" ; ", " && ", " || ", " | ", "\n", " & "])


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(_PARTS), _JOINS), max_size=4), st.sampled_from(["rm x", "git push", "tee y"]))
def test_a_write_is_found_among_any_reads(parts: list[tuple[str, str]], write: str) -> None:
    """The one that matters may be the last of many."""
    before = "".join(part + join for part, join in parts)

    assert shell_effect(before + write) == "write"
    assert shell_effect(f"echo $({before}{write})") == "write"
    assert shell_effect(f"({before}{write})") == "write"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=60))
def test_any_text_is_judged(text: str) -> None:
    """A model writes anything, and the gate must not fall over it."""
    assert shell_effect(text) in ("read", "write", "unknown")
