"""Provider keys are found wherever they stand; the fakes are built up here, so that no scanner takes them for real."""

from __future__ import annotations

import random
import string

import pytest

from agentdbg.redaction import RedactionRules, Redactor, named_forms, token_scan
from agentdbg.redaction.suspicion import ORDINARY
from agentdbg.redaction.token_scan import shaped_secrets

pytestmark = pytest.mark.slow

MIXED = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA2bC4dE6fG8hJ0kL3mN6pQ9rS2tU5vW8xY1zB4cD7eF0gH3"
HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
UPPER = "A2B3C4D5E6F7G2H3J4K5L6M7N2P3Q4R5S6T7U2V3W4X5Y6Z7A2B3C4D5E6"

TOKENS = {
    "openai": "sk" + "-" + MIXED[:48],
    "openai project": "sk" + "-proj-" + MIXED[:60] + "_" + MIXED[:20],
    "openai service account": "sk" + "-svcacct-" + MIXED[:50],
    "anthropic": "sk" + "-ant-api03-" + MIXED[:70] + "-AA",
    "openrouter": "sk" + "-or-v1-" + HEX,
    "google": "AI" + "za" + MIXED[:35],
    "google oauth secret": "GOC" + "SPX-" + MIXED[:28],
    "google access": "ya" + "29." + MIXED[:60],
    "aws id": "AK" + "IA" + UPPER[:16],
    "aws temporary id": "AS" + "IA" + UPPER[:16],
    "aws secret": "wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCYzEXAMPLEKe",
    "azure storage": "Account" + "Key=" + MIXED[:60] + MIXED[:26] + "==",
    "signed S3 address": "X-Amz-" + "Signature=" + MIXED[:60],
    "signed CloudFront address": "Sig" + "nature=" + MIXED[:30] + "~" + MIXED[:26],
    "azure client secret": "abc8" + "Q~" + MIXED[:34],
    "azure service key": MIXED[:52] + "JQQ" + "J99" + MIXED[:26],
    "github classic": "gh" + "p_" + MIXED[:36],
    "github oauth": "gh" + "o_" + MIXED[:36],
    "github app": "gh" + "s_" + MIXED[:36],
    "github fine-grained": "github" + "_pat_" + MIXED[:22] + "_" + MIXED[:59],
    "gitlab": "gl" + "pat-" + MIXED[:20],
    "slack bot": "xo" + "xb-123456789012-1234567890123-" + MIXED[:24],
    "slack user": "xo" + "xp-1234567890-1234567890-" + HEX[:32],
    "slack webhook": "https://hooks.slack" + ".com/services/T00000000/B00000000/" + MIXED[:24],
    "discord webhook": "https://discord" + ".com/api/webhooks/123456789/" + MIXED[:60],
    "telegram": "123456789" + ":AA" + MIXED[:33],
    "stripe live": "sk" + "_live_" + MIXED[:24],
    "stripe restricted": "rk" + "_live_" + MIXED[:24],
    "stripe webhook": "wh" + "sec_" + MIXED[:32],
    "hugging face": "hf" + "_" + MIXED[:34],
    "npm": "npm" + "_" + MIXED[:36],
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + MIXED[:60],
    "sendgrid": "SG" + "." + MIXED[:22] + "." + MIXED[:43],
    "twilio": "SK" + HEX[:32],
    "mailgun": "key" + "-" + HEX[:32],
    "mailchimp": HEX[:32] + "-us" + "12",
    "square": "sq0" + "atp-" + MIXED[:22],
    "shopify": "shp" + "at_" + HEX[:32],
    "digitalocean": "dop" + "_v1_" + HEX,
    "databricks": "dap" + "i" + HEX[:32],
    "doppler": "dp" + ".pt." + MIXED[:43],
    "linear": "lin" + "_api_" + MIXED[:40],
    "notion": "ntn" + "_" + MIXED[:46],
    "airtable": "pat" + MIXED[:14] + "." + HEX,
    "new relic": "NR" + "AK-" + UPPER[:27],
    "grafana": "gl" + "sa_" + MIXED[:32] + "_" + HEX[:8],
    "groq": "gs" + "k_" + MIXED[:52],
    "xai": "xa" + "i-" + MIXED[:80],
    "perplexity": "pp" + "lx-" + MIXED[:48],
    "replicate": "r8" + "_" + MIXED[:37],
    "langsmith": "ls" + "v2_pt_" + HEX[:32] + "_" + HEX[:10],
    "pinecone": "pc" + "sk_" + MIXED[:60],
    "tavily": "tv" + "ly-" + MIXED[:32],
    "vault": "hv" + "s." + MIXED[:60],
    "docker": "dckr" + "_pat_" + MIXED[:27],
    "atlassian": "ATA" + "TT3xFfGF0" + MIXED[:60],
    "supabase": "sb" + "p_" + HEX[:40],
    "nvidia": "nv" + "api-" + MIXED[:64],
    "age": "AGE-SECRET" + "-KEY-1" + UPPER[:58],
    "facebook": "EA" + "AJ" + (MIXED + MIXED)[:120],
    "easypost": "EZ" + "AK" + MIXED[:54],
    "adafruit": "ai" + "o_" + MIXED[:28],
    "clickup": "pk" + "_12345678_" + UPPER[:32],
    "contentful": "CF" + "PAT-" + MIXED[:43],
    "pulumi": "pu" + "l-" + HEX[:40],
    "tailscale": "ts" + "key-auth-" + MIXED[:30],
    "razorpay": "rz" + "p_live_" + MIXED[:14],
    "sonarqube": "sq" + "p_" + HEX[:40],
    "salesforce": "00" + "D5g0000012345!" + MIXED[:70],
    "cloudflare origin": "v1" + ".0-" + HEX[:24] + "-" + HEX + HEX,
    "google ai studio": "AQ" + ".Ab8RN6" + MIXED[:44],
    "aws session": "IQoJb3J" + "pZ2luX2VjE" + MIXED,
    "docker organisation": "dckr" + "_oat_" + MIXED[:32],
    "crates.io": "ci" + "o" + MIXED[:32],
    "nuget": "oy" + "2" + MIXED[:43].lower(),
    "clojars": "CLO" + "JARS_" + MIXED[:60].lower(),
    "jfrog reference": "cmVm" + "dGtu" + MIXED[:56],
    "1password": "op" + "s_eyJ" + MIXED + "+/" + MIXED,
    "vercel": "vc" + "p_" + MIXED[:56],
    "snyk": "snyk" + "_uat." + HEX[:8] + "." + MIXED[:60],
    "modal": "ak" + "-" + MIXED[:22],
    "voyage": "pa" + "-" + MIXED[:43],
    "browserbase": "bb" + "_live_" + MIXED[:27],
    "brave": "BS" + "A" + MIXED[:28],
    "cursor": "ke" + "y_" + HEX,
    "astra": "Astra" + "CS:" + "aBcDeFgHiJkLmNoPqRsTuVwX" + ":" + HEX,
    "infisical": "st" + "." + HEX[:24] + "." + HEX[:32] + "." + HEX[:32],
    "readme": "rd" + "me_" + MIXED[:70].lower(),
    "deno": "dd" + "p_" + MIXED[:36],
    "yandex": "AQ" + "VN" + MIXED[:38],
    "intercom": "dG9" + "rO" + MIXED[:54] + "=",
    "paypal": "access" + "_token$production$" + MIXED[:16].lower() + "$" + HEX[:32],
    "twitch": "oau" + "th:" + MIXED[:30].lower(),
    "lark webhook": "https://open.feishu" + ".cn/open-apis/bot/v2/hook/" + HEX[:36],
    "wecom webhook": "https://qyapi.weixin" + ".qq.com/cgi-bin/webhook/send?key=" + HEX[:36],
    "discord bot": "MT" + MIXED[:22] + "." + MIXED[:6] + "." + MIXED[:38],
    "azure storage, by itself": MIXED[:76] + "+A" + "St" + MIXED[:6] + "==",
    "azure functions": MIXED[:44] + "Az" + "Fu" + MIXED[:6] + "==",
    "azure devops": MIXED[:76] + "AZ" + "DO" + MIXED[:4],
    "azure search": MIXED[:42] + "Az" + "Se" + MIXED[:6],
    "azure service bus": MIXED[:33] + "+A" + "Sb" + MIXED[:6] + "=",
    "rapidapi": MIXED[:10] + "ms" + "h" + MIXED[:15] + "p1" + MIXED[:6] + "js" + "n" + MIXED[:12],
    "telnyx": "KE" + "Y" + HEX[:32].upper() + "_" + MIXED[:22],
    "stackhawk": "haw" + "k." + MIXED[:20] + "." + MIXED[10:30],
    "mailgun, newer": HEX[:32] + "-" + HEX[:8] + "-" + HEX[8:16],
    "bitwarden": "0." + "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0." + MIXED[:30] + ":" + MIXED[:22] + "==",
    "ably": MIXED[:6] + "." + MIXED[6:12] + ":" + MIXED[:43],
    "dropbox, short-lived": "s" + "l.u." + MIXED[:75] + "-" + MIXED[:50],
    "vk": "vk" + "1.a." + MIXED + MIXED,
    "ory": "ory" + "_at_" + MIXED[:43] + "." + MIXED[5:48],
    "new relic licence": HEX[:36] + "NR" + "AL",
    "truffle hog": "thog" + "-agent-" + HEX[:32],
    "quicknode": "Q" + "N_" + HEX[:32],
    "appwrite": "stan" + "dard_" + HEX * 4,
    "voiceflow": "V" + "F.DM." + HEX[:24] + "." + MIXED[:16],
    "sanity": "s" + "k" + MIXED + MIXED,
    "bitcoin wallet": "5" + "J" + MIXED.translate(str.maketrans("0OIl", "9PJm"))[:49],
    "okta": "0" + "0" + MIXED[:20] + "-_" + MIXED[20:38],
    "pagerduty": "u" + "+" + MIXED[:18],
    "ollama": HEX[:32] + "." + MIXED[:24],
    "line": MIXED + MIXED + "x" + "/1O/" + "w1cDnyilFU=",
    "facebook app": "1234567890" + "12345|" + MIXED[:27],
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0." + MIXED[:43],
}

PLACES = ["{}", "use {} for it", "({})", '"{}"', "first line\n{}\nlast", "a\\n{}\\nb", "url?x={}&y=1", "日本 {} 語"]


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("place", PLACES)
def test_a_provider_token_never_survives_in_text(redactor: Redactor, name: str, place: str) -> None:
    """Keys end up in prompts and error messages, where nothing beside them says that they are keys."""
    token = TOKENS[name]
    sealed = redactor.seal({"prompt": place.format(token)})

    assert token.encode() not in sealed.encoded
    assert token[-12:].encode() not in sealed.encoded
    assert b"__REDACTED__" in sealed.encoded


@pytest.mark.parametrize(
    "words",
    [
        "pa-a-long-name-made-of-plain-words-and-of-nothing-else",
        "as-soon-as-possible and ak-47",
        "BSA_LONG_CONSTANT_NAME_OF_A_LIBRARY",
        "st.0f1e2d3c is the first. 0f1e2d3c",
        "key_0f1e2d3c4b5a69788796a5b4c3d2e1f0",
        "preciously decided, of this tenacious specious audacious kind",
    ],
)
def test_words_that_begin_like_a_token_are_kept(redactor: Redactor, words: str) -> None:
    """Short beginnings are everywhere; only what follows them makes a key."""
    assert redactor.seal({"text": words}).value == {"text": words}


def test_a_private_key_goes_whole_even_when_its_end_is_missing(redactor: Redactor) -> None:
    """A prompt that was cut off in the middle of a key still holds half a key."""
    body = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBK"] * 4)
    block = "-----BEGIN RSA PRIVATE " + "KEY-----\n" + body

    for text in (block, block + "\n-----END RSA PRIVATE " + "KEY-----\nafter", block.replace("\n", "\\n")):
        sealed = redactor.seal({"text": "before " + text})
        assert b"MIIEvQ" not in sealed.encoded
        assert b"before" in sealed.encoded


def test_rules_without_values_leave_text_alone() -> None:
    """Who switches the search inside text off wants keys judged and nothing else."""
    sealed = Redactor(RedactionRules(values=False)).seal({"prompt": TOKENS["openai"], "api_key": "x"})

    assert sealed.value == {"prompt": TOKENS["openai"], "api_key": "__REDACTED__"}


AROUND = ["", " ", "=", "\\n", "\n", "/", "_", ".", "é", '"', "base64,"]


@pytest.mark.parametrize("length", [38, 39, 40, 41, 42, 80])
def test_a_first_look_at_the_lengths_of_runs_hides_no_forty_characters(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text is split first, which is quick, and read by the expression only where a run has the right length."""
    chance = random.Random(length)
    letters = string.ascii_letters + string.digits + "/+"
    texts = [
        f"key {before}{''.join(chance.choices(letters, k=length))}{after} and words"
        for before in AROUND
        for after in AROUND
        for _ in range(20)
    ]
    looked = [list(shaped_secrets(text, {ORDINARY})) for text in texts]
    monkeypatch.setattr(token_scan, "_LENGTHS", frozenset(range(1_000)))
    assert [list(shaped_secrets(text, {ORDINARY})) for text in texts] == looked
    assert any(looked) or length != 40


def test_the_literals_asked_for_first_stand_in_all_that_an_expression_matches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The forms of commands are only tried where one of their literals stands."""
    texts = [
        "db = user:hunter2x@tcp(host)/x",
        "db = user:hunter2x@unix(/tmp/s)",
        *[
            f'{call}("bob", "hunter2x")'
            for call in (
                "login", "Login", "authenticate", "Authenticate", "BasicAuth", "HTTPDigestAuth", "Credential",
                "Credentials", "getConnection", "smtp.login",
            )
        ],
        'ConvertTo-SecureString -String "hunter2x" -AsPlainText',
        "masterauth hunter2x",
        "openssl enc -aes -k hunter2x",
        "openssl req -passout pass:hunter2x",
        "echo hunter2x | docker login --password-stdin",
        "htpasswd -bc file bob hunter2x",
        "net use z: \\\\host\\share hunter2x /user:bob",
        "smbclient //host/share -U bob%hunter2x",
        '<string name="google_maps_key">hunter2x9</string>',
        '<entry key="api_token">hunter2x9</entry>',
        *[f"host:{port}:db:bob:hunter2x" for port in ("5432", "5433", "6543", "26257", "*")],
    ]  # fmt: skip
    looked = [list(named_forms.named_forms(text)) for text in texts]
    assert all(looked)
    monkeypatch.setattr(named_forms, "_holds_any", lambda text, literals: True)
    assert [list(named_forms.named_forms(text)) for text in texts] == looked
