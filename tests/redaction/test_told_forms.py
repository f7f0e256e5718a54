"""Secrets that sentences, protocols and scripts give away, and what is written alike and gives away nothing."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentdbg.redaction import Redactor

_FORMS = {
    "logged in": "user bob logged in using password '{}'",
    "log in with both": "Log in with username admin and password {}, then open the page",
    "quoted in Markdown": "Sign in as **bob** with password `{}`.",
    "login with a slash": "Login: admin/{}",
    "credentials with a slash": "credentials: svc-deploy/{}",
    "expect": 'expect "Password:"\nsend "{}\\r"',
    "redis protocol": "*2\r\n$4\r\nAUTH\r\n$14\r\n{}\r\n",
    "redis protocol with a user": "AUTH\r\n$3\r\nbob\r\n$14\r\n{}\r\n",
    "redis user": "ACL SETUSER app on >{} ~* +@all",
    "imap": "a1 LOGIN bob {}",
    "irc": "PRIVMSG NickServ :IDENTIFY {}",
    "snmp": "snmpwalk -v2c -c {} 10.0.0.1",
    "snmp of a switch": "snmp-server community {} RO",
    "windows remote desktop": "xfreerdp /u:bob /p:{} /v:10.0.0.2",
    "windows share": "net use Z: \\\\server\\share /user:corp\\bob {}",
    "groovy": "android {{\n  storePassword '{}'\n  keyAlias 'k'\n}}",
    "property of C#": 'public string ApiKey {{ get; set; }} = "{}";',
    "ldap bind": "connection.simple_bind_s('cn=admin,dc=example', '{}')",
    "microcontroller": 'WiFi.begin("my network", "{}");',
    "user before the password": "mycli -h db -u root -p {} shop",
    "user before the password, on Windows": "schtasks /create /tn x /ru bob /rp {}",
    "a command for passwords": "slappasswd -s '{}'",
    "another": "wpa_passphrase MyNetwork {}",
    "given to kinit": "kinit bob@EXAMPLE <<< '{}'",
    "encoded": 'echo -n "{}" | base64',
    "a line of its own": "Please use the following password to go on:\n\n{}\n",
    "end of a line": "d-i passwd/root-password password {}",
    "two columns": "Key      Value\n---      -----\npassword {}\nuser     bob",
    "filled into a page": "await page.fill('input[name=\"password\"]', '{}')",
    "typed into a field": "page.getByLabel('Password').fill('{}')",
    "sent to an element": "driver.find_element(By.ID, 'password').send_keys('{}')",
    "kept in a ring": "keyring.set_password('mail', 'bob', '{}')",
    "hashed": "bcrypt.hashpw(b'{}', salt)",
    "built": 'builder.user("bob").password("{}").build()',
    "copied": 'strcpy(password, "{}");',
    "mail": 'smtp.PlainAuth("", "bob@example.com", "{}", "mail.example.com")',
    "Basic": 'Const DB_PWD As String = "{}"',
    "Clojure": '{{:db-password "{}"}}',
    "Ruby": "request.basic_auth 'bob', '{}'",
    "debugger": "(Pdb) p password\n'{}'",
    "notebook": "In [3]: db.password\nOut[3]: '{}'",
    "cell of a page": "<tr><td>Password:</td><td>{}</td></tr>",
    "fenced": "password: ```{}```",
    "mail of Postfix": "[smtp.example.com]:587 bob:{}",
    "IPsec": 'bob : EAP "{}"',
    "first boot": "chpasswd:\n  list: |\n    root:{}\n",
    "certificate": "curl --cert client.pem:{} https://example.com",
    "frame": "  user             password\n0  bob  {:>19}\n1  eve  {:>19}\n",
    "whose it is": "Enter password for bob: {}",
    "of a plugin": "ALTER USER 'root'@'localhost' IDENTIFIED WITH caching_sha2_password BY '{}';",
    "piped into a tool": 'echo "{}" | vercel env add STRIPE_SECRET production',
    "piped into a file of secrets": "echo -n {} | gcloud secrets create db --data-file=-",
}


@pytest.mark.parametrize("name", _FORMS)
def test_the_form_gives_the_secret_away(redactor: Redactor, name: str) -> None:
    """Passwords as people make them: two words, a sign, a number."""
    chosen = random.Random(name)
    for _ in range(10):
        words = chosen.sample(["Winter", "harbour", "Mango", "tiger", "Copper", "sunset"], 2)
        secret = f"{words[0]}{chosen.choice('-_!#@')}{words[1]}{chosen.randrange(10, 9999)}"
        text = _FORMS[name].format(secret, secret)

        assert secret.encode() not in redactor.seal({"result": text}).encoded, text


@pytest.mark.parametrize(
    "text",
    [
        "sign in with username and password authentication",
        "users with password SHA256 hashing enabled",
        "connect using password Argon2id hashes, not MD5",
        "the net use of energy rose to 1200 in March",
        "Login: src/pages/Login2.tsx",
        'public string TokenType { get; set; } = "Bearer";',
        'public string AuthScheme { get; set; } = "OAuth2";',
        "a1 LOGIN failed for reason42",
        "send the email\nexpect a reply",
        "scheme: bearer\n  bearerFormat: JWT\n",
        "docker run -v /run/secrets:/run/secrets app",
        "PASSWORD_HASHERS = ['django.contrib.auth.hashers.Argon2PasswordHasher']",
        "docker run -u node -p 127.0.0.1:8080:80 -w /app node:20",
        "make -l 4 -w Build2 all && gcc -U FOO -pFile1 x.c",
        "$ cat /etc/passwd\nroot:x:0:0:root:/root:/bin/bash\n",
        "echo 'hello-World1' | tr a-z A-Z",
        "The following keys are supported:\n\nconnection_timeout2\nmax_retries\n",
        "(Pdb) p token\n'NAME'\nIn [4]: len(tokens)\nOut[4]: 1204\n",
        "   token   pos  lemma\n0   Dogs  NOUN    dog\n1   bark  VERB   bark\n",
        "model: gpt-4o, tokens: 1204/311",
        "os.environ.get('API_KEY', 'unset')",
        "(?P<token>[A-Z]{3}-[0-9]{4})",
        "| Name | Type |\n|---|---|\n| password | string |\n| secret_key2 | string |\n",
        "states = {'LIST': ('AUTH', 'SELECTED')}",
        "class Session:\n    token: Incomplete | None\n    client_secret: Incomplete\n",
        "constructor({password:e,rawPassword:t}){super({start(){this.x=e}})}",
        "fetch(url, {credentials: `same-origin`})",
        "getpass.getpass('Password for user1: ')\nlogger.info('token refreshed', extra={'user': user})",
        "usage: login [--password PASSWORD] [--api-key KEY] [--db-token DB_TOKEN]",
    ],
)
def test_what_only_speaks_of_a_secret_stays(redactor: Redactor, text: str) -> None:
    """Documentation, code and help pages are most of what an agent reads."""
    assert redactor.seal({"result": text}).value == {"result": text}


@pytest.mark.parametrize(
    "value",
    [
        {"errors": {"password": ["can't be blank", "is too short (minimum is 8 characters)"]}},
        {"password": ["This field is required."]},
        {"secret_scanning": {"status": "enabled"}, "auth_failures": 3, "cookie_samesite": "lax", "token_bucket": "a"},
        {"start_token": 5, "end_token": 9},
        {"token_index": 17, "decoder_start_token_id": 2, "truncation_token_limit": "4k"},
        {"max_cookies": 50, "auth_flow": "authorization_code", "boarding_pass": "seat 12A"},
        {"PWD": "/home/bob/project", "SSH_AUTH_SOCK": "/tmp/ssh-agent.123"},
        {"password_rules": ["8 characters", "one digit"], "api_key": "unset"},
        {"columns": ["token", "pos", "lemma"], "rows": [["Dogs", "NOUN", "dog"], ["bark", "VERB", "bark"]]},
        {"last_password_change": "2023-05-01"},
        {"api_key_id": "key_2024"},
        {"project_key": "my-org_my-project"},
        {"password_field": "user_password", "token_manager": "default"},
        {"tokenizer": "cl100k_base"},
        {"tokenizer": "meta-llama/Llama-3.1-8B-Instruct"},
    ],
)
def test_values_that_say_something_about_a_secret_stay(redactor: Redactor, value: dict[str, object]) -> None:
    """A complaint about a password says why a call failed."""
    assert redactor.seal(value).value == value


def test_a_list_of_passwords_is_no_complaint(redactor: Redactor) -> None:
    """Only sentences that say what is wrong stay."""
    for value in (["correct horse battery staple"], ["must not tell Xq9!zW"], ["hunter2"]):
        assert redactor.seal({"password": value}).value != {"password": value}
