"""Secrets that a name beside them gives away, in every notation people paste into prompts and logs."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from agentdbg.redaction import Redactor

SECRET = "hunter2-Xq9"

CONTEXTS = {
    "assignment": f"password={SECRET}",
    "assignment with spaces": f"password = {SECRET}",
    "colon": f"password: {SECRET}",
    "quoted": f'password = "{SECRET}"',
    "json": json.dumps({"password": SECRET, "user": "bob"}),
    "json in json": json.dumps({"body": json.dumps({"password": SECRET})}),
    "json in json in json": json.dumps(json.dumps(json.dumps({"api_key": SECRET}))),
    "python repr": repr({"api_key": SECRET, "n": 1}),
    "repr of an object": f"Client(base_url='x', api_key='{SECRET}', retries=2)",
    "repr of an object without quotes": f"Client(api_key={SECRET})",
    "pairs": repr([("Authorization", SECRET), ("Accept", "*/*")]),
    "bytes repr": repr({b"password": SECRET.encode()}),
    "option": f"login --password {SECRET} --verbose",
    "option with equals": f"login --api-key={SECRET}",
    "environment": f"export OPENAI_API_KEY={SECRET}",
    "dotenv": f"A=1\nDB_PASSWORD={SECRET}\nB=2",
    "yaml": f"database:\n  password: {SECRET}\n  port: 5432",
    "yaml block": f"db:\n  password: |\n    first {SECRET}\n    and {SECRET}\n  port: 5432",
    "yaml folded block": f"secret: >-\n  {SECRET}",
    "yaml pairs": f"env:\n  - name: DB_PASSWORD\n    value: {SECRET}\n",
    "json pairs": json.dumps([{"name": "api_key", "value": SECRET}]),
    "json pairs turned": json.dumps([{"value": SECRET, "key": "api_key"}]),
    "toml": f'[auth]\nsecret = "{SECRET}"',
    "ini": f"[db]\npasswd={SECRET}",
    "query": f"https://example.com/x?user=1&access_token={SECRET}&page=2",
    "userinfo": f"postgres://bob:{SECRET}@db:5432/app",
    "userinfo without a name": f"redis://:{SECRET}@cache:6379/0",
    "userinfo with a slash": f"postgres://bob:{SECRET}/x@db:5432/app",
    "authorization header": f"Authorization: Bearer {SECRET}",
    "basic header": f"Authorization: Basic {SECRET}",
    "header without a scheme": f"authorization: {SECRET}",
    "curl": f"curl -H 'Authorization: Bearer {SECRET}' https://example.com",
    "curl key header": f'curl -H "X-API-Key: {SECRET}" https://example.com',
    "docker login": f"docker login -u bob -p {SECRET} registry.example",
    "curl user": f"curl -u bob:{SECRET} https://example.com",
    "cookie": f"Cookie: theme=dark; session={SECRET}",
    "set-cookie": f"Set-Cookie: sid={SECRET}; Path=/",
    "http request": f"GET / HTTP/1.1\r\nHost: x\r\nCookie: a={SECRET}\r\nAccept: */*\r\n",
    "xml": f"<config><password>{SECRET}</password></config>",
    "html escaped": f"{{&quot;password&quot;: &quot;{SECRET}&quot;}}",
    "url encoded": f"data=%7B%22password%22%3A%22{SECRET}%22%7D",
    "form": f"grant_type=password&client_secret={SECRET}&scope=x",
    "connection string": f"Server=db;Database=app;User Id=bob;Password={SECRET};Encrypt=true",
    "netrc": f"machine example.com login bob password {SECRET}",
    "javascript": f"const client = new Client({{ apiKey: '{SECRET}' }});",
    "ruby": f":password => '{SECRET}'",
    "python annotation": f'password: str = "{SECRET}"',
    "subscript": f'os.environ["API_KEY"] = "{SECRET}"',
    "told": f"my password is {SECRET}, please",
    "told after a colon": f"my password is: {SECRET}",
    "bold": f"**password**: {SECRET}",
    "bold with its colon": f"- **API key:** {SECRET}",
    "rust": f'let password: &str = "{SECRET}";',
    "posted form": f'Content-Disposition: form-data; name="password"\r\n\r\n{SECRET}\r\n--x--',
    "sql": f"CREATE USER bob IDENTIFIED BY '{SECRET}'",
    "sql role": f"ALTER ROLE bob WITH PASSWORD '{SECRET}'",
    "capitals": f"PASSWORD={SECRET}",
    "camel case": f"accessKeyId={SECRET}",
    "spelled out": f"API key: {SECRET}",
    "whole word": f"auth={SECRET}",
    "invisible character": f"pass\u200bword={SECRET}",
    "look-alike letters": f"p\u0430ssword={SECRET}",
    "full width": f"\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44={SECRET}",
    "bare bearer": f"sent Bearer {SECRET} upstream",
    "argument list": json.dumps(["cli", "--token", SECRET]),
    "exception": f"ValueError: bad credentials: {SECRET}",
    "escaped newline before": f"a\\npassword={SECRET}\\nb",
    "unclosed quote": f'{{"password": "{SECRET}',
    "comparison": f'if password == "{SECRET}":',
    "dictionary under the name": json.dumps({"credentials": {"user": "bob", "pin": SECRET}}),
    "list under the name": json.dumps({"secrets": [SECRET, "b"]}),
    "backtick": f"token: `{SECRET}`",
    "triple quotes": f'password = """{SECRET}"""',
    "escaped quote inside": json.dumps({"password": 'a"b' + SECRET}),
    "with a comma inside": f"password=a,{SECRET}",
    "python 3 f-string debug": f"api_key='{SECRET}'",
    "option with one dash": f"login -password {SECRET} -v",
    "option after a tab": json.dumps(f"login\t--token\t{SECRET}"),
    "glued login": f"curl -ubob:{SECRET} https://example.com",
    "curl cookie": f'curl -b "sid={SECRET}" https://example.com',
    "mysqldump": f"mysqldump -u root -p'{SECRET}' app",
    "mongo": f"mongosh -u root -p {SECRET} db",
    "redis": f"redis-cli -a {SECRET} ping",
    "sqlcmd": f"sqlcmd -S db -U sa -P {SECRET}",
    "ldap": f"ldapsearch -D cn=admin -w {SECRET} -b dc=x",
    "aws configure": f"aws configure set aws_secret_access_key {SECRET}",
    "git config": f"git config user.password {SECRET}",
    "npm config": f"npm config set //registry.example/:_authToken {SECRET}",
    "setx": f'setx API_KEY "{SECRET}"',
    "dockerfile": f"ENV API_KEY {SECRET}",
    "sql login": f"CREATE ROLE bob LOGIN PASSWORD '{SECRET}'",
    "table": f"| user | bob |\n| password | {SECRET} |",
    "table of code": f"| `api_key` | `{SECRET}` |",
    "arrow": f"password -> {SECRET}",
    "long arrow": f"password \u2192 {SECRET}",
    "dash": f"password - {SECRET}",
    "long dash": f"password \u2013 {SECRET}",
    "full width colon": f"password\uff1a{SECRET}",
    "full width colon in json": json.dumps(f"password\uff1a{SECRET}"),
    "italic": f"*password*: {SECRET}",
    "name of two words": f"Secret Key: {SECRET}",
    "name of three words": f"secret access key = {SECRET}",
    "yaml anchor": f"password: &main {SECRET}",
    "yaml block in json": json.dumps(f"db:\n  password: |\n    first {SECRET}\n    and {SECRET}\n  port: 5432"),
    "posted form in json": json.dumps(f'name="password"\r\n\r\n{SECRET}\r\n--x--'),
    "digest header in json": json.dumps(f'Authorization: Digest username="bob", response="{SECRET}"'),
    "form field": json.dumps({"user[password]": SECRET}),
    "pair with a longer name": json.dumps([{"name": "Stripe API Key", "value": SECRET}]),
    "escaped address": f"next=postgres%3A//bob%3A{SECRET}%40db%3A5432",
    "unclosed xml": f"<password>{SECRET}",
    "short name": f"db_pw: {SECRET}",
    "misspelt name": f"dbpasswrd: {SECRET}",
    "name in another language, as JSON writes it": json.dumps({"contrase\u00f1a": SECRET, "\u5bc6\u7801": SECRET}),
    "the same within JSON": json.dumps(json.dumps({"\u043f\u0430\u0440\u043e\u043b\u044c": SECRET})),
    "the same without its accent": f"contrasena={SECRET}",
    "aligned": f"password                     = {SECRET}",
    "yaml list of passwords": f"passwords:\n  - {SECRET}\n  - {SECRET}",
    "yaml nested": f"secrets:\n  db: k3{SECRET}vT8wLpQ\n  other: k3{SECRET}vT8wLpQ",
    "section": f'[secrets]\na = 1\nb = "k3{SECRET}vT8wLpQ"\n[other]',
    "attribute of an element": f"<apiKey value='k3{SECRET}vT8wLpQ'/>",
    "element within a named one": f'<setting name="ApiSecret"><value>{SECRET}</value></setting>',
    "setenv": f"setenv API_TOKEN {SECRET}",
    "curl with several letters": f"curl -sSu bob:{SECRET} https://example.com",
    "net user": f"net user bob {SECRET} /add",
    "net user at the end": f"C:\\>net user bob {SECRET}\nThe command completed successfully.",
    "a password that is not valid": f"Error: invalid password 'k3{SECRET}vT8wLpQ' for bob",
    "a default behind a call": f'password = os.environ.get("DB_PASSWORD") or "k3{SECRET}vT8"',
    "powershell pipe": f'("{SECRET}" | ConvertTo-SecureString -AsPlainText -Force)',
    "negotiate": f"WWW-Authenticate: Negotiate {SECRET}",
    "list of arguments": json.dumps(["mysql", f"-p{SECRET}"]),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_named_secret_never_survives_in_text(redactor: Redactor, name: str) -> None:
    """Prompts, tool results and stack traces carry whole configurations as text."""
    sealed = redactor.seal({"prompt": f"Look:\n{CONTEXTS[name]}\nThat was it."})

    assert SECRET.encode() not in sealed.encoded
    assert b"That was it." in sealed.encoded
    assert b"__REDACTED__" in sealed.encoded


@pytest.mark.parametrize("name", CONTEXTS)
def test_cleaning_twice_changes_nothing_more(redactor: Redactor, name: str) -> None:
    """What is stored is read back and recorded again, by importers and by agents that read their own traces."""
    once = redactor.seal({"prompt": CONTEXTS[name]})

    assert redactor.seal(once.value).encoded == once.encoded


DRAWN_IN = {
    "yaml list": "passwords:\n  - {}\n  - {}\nport: 1",
    "yaml list of quoted": 'tokens:\n- "{}"\n- "{}"',
    "yaml list within text in json": '{{"a": "api_keys:\\n  - {}\\n"}}',
    "yaml tag": "password: !vault {}",
    "csv": "user,password\nme,{}\nyou,{}\n",
    "csv with semicolons": "First name;email;api_key\nme;me@x.y;{}",
    "csv, first column": "token,user\n{},me",
    "tabs": "user\tpassword\nme\t{}",
    "table": "| user | password |\n|---|---|\n| me | {} |\n| you | `{}` |",
    "insert": "INSERT INTO users (name, password) VALUES ('me', '{}'), ('you', '{}');",
    "insert in capitals": "insert into t (token, a, b) values ('{}', 1, 'x')",
    "element with attributes": '<wsse:Password Type="a#Text">{}</wsse:Password>',
    "entry of properties": '<entry key="db.password">{}</entry>',
    "array": 'static const char API_KEY[] = "{}";',
    "array of a form": "password[]={}&user=me",
    "define in brackets": '#define SECRET_TOKEN ("{}")',
    "rust": 'let password = String::from("{}");',
    "builder": 'Config::new().user("me").password("{}")',
    "default of a variable": 'password: ENV.fetch("DB_PASSWORD", "{}")',
    "third argument": '[Environment]::SetEnvironmentVariable("API_TOKEN", "{}", "User")',
    "second argument": '.basic_auth("me", "{}")',
    "parameters": '{{"ParameterKey": "DbPassword", "ParameterValue": "{}"}}',
    "here-string": 'wrangler secret put X <<< "{}"',
    "tab between": "password\t{}",
    "entity": "password&#61;{}",
    "no user": "curl -u :{} https://example.com",
    "browser, selector": 'page.fill("#password", "{}")',
    "browser, selector with a name": "page.fill('input[name=\"password\"]', '{}')",
    "browser, chained": 'page.locator("#password").fill("{}")',
    "browser, keys": 'driver.find_element(By.ID, "password").send_keys("{}")',
    "browser, tool": '{{"action": "type", "selector": "input[type=password]", "text": "{}"}}',
    "list of tokens": 'access_tokens: ["{}", "{}"]',
    "arguments in tags": "<arg_key>password</arg_key>\n<arg_value>{}</arg_value>",
    "character data": "<Password><![CDATA[{}]]></Password>",
    "after or": "password: process.env.PW || '{}',",
    "default of a field": 'api_key: str = Field(default="{}")',
    "arrow": 'api_key <- "{}"',
    "typed reference": 'let api_key: &\'static str = "{}";',
    "go": 'sql.Open("mysql", "me:{}@tcp(db:3306)/x")',
    "option between": "Set-Item -Path Env:API_TOKEN -Value '{}'",
    "registry": "reg add HKCU\\X /v Password /t REG_SZ /d {} /f",
    "here-string alone": 'cryptsetup luksOpen /dev/sda1 x <<< "{}"',
    "psql": "id | login | password\n---+-------+----------\n 1 | me | {}",
    "connect": 'ssh.connect(host, 22, "me", "{}")',
    "one letter": "mosquitto_pub -h b -u me -P {} -t x",
    "sentence": "Your password is {}.",
    "words between": "password {} was rejected",
}


@pytest.mark.parametrize("form", DRAWN_IN)
def test_what_a_machine_has_drawn_goes_in_every_form(redactor: Redactor, form: str) -> None:
    """A name gives it away as the heading of a column, over a list, through a call, and a few words before it."""
    dice = random.Random(form)
    for _ in range(20):
        drawn = ["Zq7" + "".join(dice.choices(string.ascii_letters + string.digits, k=12)) for _ in range(2)]
        sealed = redactor.seal({"text": DRAWN_IN[form].format(*drawn)}).encoded.decode()

        assert [one for one in drawn if one in sealed] == [], sealed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password='it''s-9secret', b=1", "password='__REDACTED__', b=1"),
        ('password="correct{horse}battery"', 'password="__REDACTED__"'),
        ('api_key = "prod_api_key"', 'api_key = "__REDACTED__"'),
        ("seed_phrase: " + "lamp river stone " * 4, "seed_phrase: __REDACTED__ "),
    ],
)
def test_a_value_goes_to_its_end(redactor: Redactor, text: str, expected: str) -> None:
    """A quote that is written twice, a bracket and a space end no password."""
    assert redactor.clean_text(text) == expected


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_value_with_a_quote_in_it_goes_to_its_end_however_often_it_was_written_as_json(
    redactor: Redactor, times: int
) -> None:
    """Tools put a body of JSON into a line of their own, and each layer writes more backslashes before a quote."""
    text = json.dumps({"password": 'one"two"three-and-the-rest', "page": 2})
    for _ in range(times):
        text = json.dumps(text)

    cleaned = redactor.clean_text(f"sent {text}")

    assert "two" not in cleaned
    assert "rest" not in cleaned
    assert "page" in cleaned


def test_only_the_secret_part_goes(redactor: Redactor) -> None:
    """A trace is for reading: the rest of the text has to stay."""
    text = 'connect(host="db", password="pw-1 2", port=5432)  # see https://bob:pw@db/x?page=2'
    expected = 'connect(host="db", password="__REDACTED__", port=5432)  # see https://__REDACTED__@db/x?page=2'

    assert redactor.seal({"code": text}).value == {"code": expected}


HARMLESS = [
    "3f2b8c1e-9d4a-4c6b-8f0e-1a2b3c4d5e6f",
    "call_9aTz4PqLmV0bXc2RkWn7Ys1D",
    "toolu_01A09q90qw90lq917835lq9",
    "chatcmpl-9zQp7Lw2Xn4Vb8Rt6Ky1Mc3Df5Gh",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "sort_key=created_at",
    "author: Jane Doe",
    "session_id=8f14e45f",
    "max_tokens=4096",
    "token_count: 512",
    '{"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 42}',
    "the password is required",
    "the tokenizer splits words",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
    "/usr/lib/python3/dist-packages/agent/authentication/tokens/handlers.py",
    "a task-force for risk-free desk-bound-work-in-the-office",
    "3.14159265358979323846264338327950288",
    "10.0.0.1:8080 and fe80::1ff:fe23:4567:890a",
    "def get_token(self):",
    "password: str",
    "token = None",
    'api_key=os.environ["X"]',
    "api_key = os.getenv('OPENAI_API_KEY')",
    "self.token = self.tokenizer.next()",
    "primary_key=True",
    "passengers: 3, compass: north",
    "monkey=banana, keyboard: qwerty, key=value",
    "if not token:\n    raise ValueError",
    "https://example.com/path?page=2&sort=asc",
    "git@github.com:org/repo.git and ssh://git@github.com/org/repo",
    "https://localhost:8000/users/@me",
    "mail bob@example.com about it",
    "Bearer token authentication is described in RFC 6750",
    "password: Optional[str] = None",
    "for token in tokens: pass",
    "curl -H 'Authorization: Bearer $TOKEN'",
    "token: ${GITHUB_TOKEN}",
    "password=<your-password>",
    "2026-11-15T19:58:15.123Z",
    "AKIA is the prefix of an access key id",
    "msg_01XFDUDYJgAACzvnptvVoYEL",
    "thread_abc123DEF456ghi789JKL012",
    "Basic authentication, oauth applications",
    "The secret to good bread is time.",
    "Network-monitoring-service.region.internal-cluster-of-many-parts",
    "type the password 'again' to be sure",
    "--- PASS: TestLogin (0.00s)",
    "PASS: test_login, FAIL: test_logout",
    "pass: 12, fail: 3",
    "PASS src/login.test.ts, pass: tests/test_login.py::test_it",
    "agent --max-tokens 4096 --token-limit 100",
    "put <token> into the header, or <secret-hidden>\nTraceback (most recent call last):\n  <string>",
    "docker run -u 1000:1000 --user node:node image",
    "| password | required |\n|---|---|\n| token | string |",
    "the token - as said before - is short",
    "api_key -> apiKey",
    "set password policy, then config auth settings",
    "- token budget\n-password reset",
    "the secret key is practice; secret value: unknown",
    "token: 'Token'",
    "token: eof",
    "password = @password and token = :token",
    "postgresql://app:${PASSWORD}@host/db",
    "arn:aws:secretsmanager:eu-west-1:123456789012:function",
    "existingSecret: my-db\npasswordSecretRef: db-main",
    "Password: !Ref DbPassword",
    "secrets:\n  - db_password\n  - api_key",
    "password, user\nstring, text\n",
    "login | password\n------+---------\n",
    "auth=aws_auth, cookies=session_cookies",
    "WHERE api_key = $1 AND token = $2",
    "the asp.net user interface element",
    "the add_user method returns nothing, the change_password view redirects",
    "passphrase: empty for no passphrase",
    "Passphrase: required to unlock the key\nPassphrase: wrong or not given",
    "the net user growth of 2025, and net user accounts: Administrator Guest",
    "OPENAI_API_KEY=sk-...",
    'token: "${{ github.token }}"',
    'export API_KEY="$(op read op://vault/item/field)"',
    "Authorization: Bearer YOUR_TOKEN",
    "curl -u $USER:$PASS https://example.com",
    "avg_tokens_per_call: 33.3",
    "INSERT INTO users (name, password) VALUES (?, ?)",
    "src/reset_password.py:42: in test_api_key.ts:3:17 and lib/secret.go:9",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_text_is_kept(redactor: Redactor, text: str) -> None:
    """A debugger that hides ids, hashes and code hides what people came to see."""
    assert redactor.seal({"text": text, "list": [text]}).value == {"text": text, "list": [text]}


@pytest.mark.parametrize("lines", [3, 110, 190])
@pytest.mark.parametrize(
    "written",
    ['password = "{}"', "password = '{}'", 'SECRET = """\n{}\n"""', "token = '''{}'''", "password: [\n{}\n]"],
)
def test_a_value_of_many_lines_goes_to_its_end_wherever_that_is(redactor: Redactor, written: str, lines: int) -> None:
    """It may be longer than what is looked at around a name; brackets are followed for four thousand characters."""
    drawn = [f"Zq7{number:03}xWb5tR9e" for number in range(lines)]
    listed = written.startswith("password: [")
    value = ",\n".join(f'"{one}"' for one in drawn) if listed else "\n".join(drawn)
    cleaned = redactor.clean_text(f"see:\n{written.format(value)}\n" + "and then " * 900, 30_000)

    assert [one for one in drawn if one in cleaned] == []
    assert "and then" in cleaned


@pytest.mark.parametrize(
    "text",
    [
        'password = "super_{}"',
        '{{"db_password": "top_{}"}}',
        "passphrase = 'pa%ss{}'",
        "Password: {} and then log in",
    ],
)
def test_a_password_of_words_goes(redactor: Redactor, text: str) -> None:
    """People choose words, also such as programs are made of: a name, a field to be filled in, a sentence."""
    word = "Swordfish" if "Password" in text else "secret"

    assert word not in redactor.clean_text(text.format(word))


@pytest.mark.parametrize(
    "text",
    [
        'connection = mysqli_connect("localhost", "root", "Lemon-Tree9", "shop");',
        "new PDO('mysql:host=localhost;dbname=a', 'root', 'Lemon-Tree9')",
        'bcrypt.hashpw(b"LemonTree99", bcrypt.gensalt())',
        'keyStore.load(in, "Lemon-Tree9".toCharArray());',
        '.basic_auth("me", Some("Lemon-Tree9"))',
        '[request setValue:@"Lemon-Tree9" forHTTPHeaderField:@"X-Auth-Token"]',
        "cy.get('input[name=password]').type('LemonTree99')",
        'get_password = lambda: "Lemon-Tree9"',
        "skopeo copy --src-creds me:Lemon-Tree9 a b",
        "stats auth admin:Lemon-Tree9",
        "Use the following credentials: bob / Lemon-Tree9",
        "Your verification code is 482913.",
        "$ printenv DB_PASSWORD\nLemon-Tree9",
        ">>> user.password\n'Lemon-Tree9'",
        "<td>Password</td><td>Lemon-Tree9</td>",
        "<b>Password:</b> Lemon-Tree9",
        "Password (admin): Lemon-Tree9",
        "The new password for bob has been set to Lemon-Tree9.",
        '<Property Name="Password">Lemon-Tree9</Property>',
        "Le mot de passe est Lemon-Tree9",
        "\u5bc6\u7801\u662f Lemon-Tree9",
        "aws ssm put-parameter --name a --value Lemon-Tree9 --type SecureString",
        "-----BEGIN OpenVPN Static key V1-----\nLemon-Tree9\n-----END OpenVPN Static key V1-----",
    ],
)
def test_a_secret_without_a_sign_of_assignment_goes(redactor: Redactor, text: str) -> None:
    """Calls, commands and sentences give a secret away as well as an equals sign does."""
    left = json.dumps(redactor.seal({"value": text}).value)

    assert not any(secret in left for secret in ("Lemon-Tree9", "LemonTree99", "482913"))


@pytest.mark.parametrize(
    "text",
    [
        'self.button.connect("clicked", "on_click2", self)',
        'Mac.getInstance("HmacSHA256"); hmac.new(key, message, "sha256")',
        "error code is 404; access code 12",
        "login with src/main2 / src/other3",
        "echo done: 12345678",
        "cookies: flour, sugar",
        "secrets: inherit",
        "The secret was changed to file2.txt in the settings, and the token was set to expire.",
        "Password for 'https://bob@example.com':",
        "golang.org/x/crypto v0.0.0 h1:VklqNMn3ovrHsnt90PveolxSbWFaJdECFbxSq0Mqo2M=",
        "s3://bucket/key/part-00000-3f1c2b7e-9d1a-4a53.snappy.parquet",
    ],
)
def test_what_only_looks_like_such_a_form_stays(redactor: Redactor, text: str) -> None:
    """Each of these was taken for a secret by a wider rule."""
    assert redactor.seal({"value": text}).value == {"value": text}
