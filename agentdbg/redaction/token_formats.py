"""
What a secret looks like when nothing around it says so: the providers' own token formats.

Each shape starts with a literal that is rare in prose, so a text without any of the literals is settled by substring
search. Every expression is bounded or runs over one class of characters, so trying it costs no more than it consumes.
"""

from __future__ import annotations

import re

__all__ = ["SHAPES", "Shape"]


class Shape:
    """One provider's token: where to look, and what the whole of it is."""

    __slots__ = ("_expression", "_token", "before", "literal", "provider", "rough_rest")

    def __init__(self, provider: str, literal: str, expression: str, before: int, rough_rest: str) -> None:
        self.provider = provider
        self.literal = literal
        self.before = before
        """How many characters of the token stand before its literal."""
        self.rough_rest = rough_rest
        """What follows the literal wherever `token` matches: simpler, without look-around, and no more than needed."""
        self._expression = expression
        self._token: re.Pattern[str] | None = None

    @property
    def token(self) -> re.Pattern[str]:
        """The whole token; compiled when a text has its literal, because most runs need none of the hundred."""
        if self._token is None:
            self._token = re.compile(self._expression, re.ASCII)
        return self._token


def _shape(provider: str, literal: str, rest: str, before: int = 0, head: str = "", rough: str | None = None) -> Shape:
    return Shape(provider, literal, head + re.escape(literal) + rest, before, rough or _beginning(rest))


def _family(provider: str, literals: str, rest: str) -> tuple[Shape, ...]:
    return tuple(_shape(provider, literal, rest) for literal in literals.split())


def _signed(literals: str, before: int, rest: str) -> tuple[Shape, ...]:
    """Keys of Azure: each service signs its own with four letters at a fixed place, so that they can be found."""
    head = rf"[A-Za-z0-9+/_\-]{{{before}}}"
    return tuple(
        _shape("Azure", literal, rest + "(?![0-9A-Za-z+/=])", before, head, rest) for literal in literals.split()
    )


def _beginning(rest: str) -> str:
    """As much of what follows a literal as makes one suspicious: a hundred letters more take long to compile."""
    rest = rest.removesuffix(_END).removesuffix("={0,2}")
    return re.sub(r"\{(\d+),\}$", lambda count: f"{{{min(int(count[1]), _ENOUGH)}}}", rest)


_ENOUGH = 20
_WORDY = r"[A-Za-z0-9_\-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-fA-F]"
_END = "(?![0-9A-Za-z])"
_BASE58 = "[1-9A-HJ-NP-Za-km-z]{49}"
_OUTSIDE_BASE64 = "(?<![+/])"
_PLAIN_WORDS = r"[a-z]{1,19}(?:-[a-z]{1,19}){0,8}(?![A-Za-z0-9_\-])"

SHAPES: tuple[Shape, ...] = (
    # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse …; `sk-some-hyphenated-words` is not one.
    _shape("OpenAI and others", "sk-", rf"(?!{_PLAIN_WORDS}){_WORDY}{{16,}}", rough=rf"{_WORDY}{{16}}"),
    _shape("Letta", "sk-let-", r"[A-Za-z0-9+/]{40,}={0,2}"),
    *_family("Stripe", "sk_live_ sk_test_ sk_prod_ sk_sbox_ rk_live_ rk_test_ rk_prod_ sk_org_", rf"{_ALNUM}{{16,}}"),
    _shape("Stripe webhook", "whsec_", r"[A-Za-z0-9+/=]{20,}"),
    _shape("ElevenLabs", "sk_", rf"{_HEX}{{40,}}"),
    _shape("Google API", "AIza", rf"{_WORDY}{{30,}}"),
    _shape("Google AI Studio", "AQ.Ab", rf"{_WORDY}{{30,}}"),
    _shape("Google OAuth client", "GOCSPX-", rf"{_WORDY}{{20,}}"),
    _shape("Google OAuth access", "ya29.", r"[A-Za-z0-9_.\-]{20,}"),
    _shape("Google OAuth refresh", "1//0", rf"{_WORDY}{{20,}}"),
    _shape("Google HMAC", "GOOG1", r"[A-Z0-9]{30,}"),
    _shape("Firebase", "AAAA", rf"{_WORDY}{{7}}:{_WORDY}{{80,}}"),
    *_family("AWS", "AKIA ASIA ABIA ACCA AIDA AROA ABRA ANPA A3T", r"[A-Z0-9]{16,}"),
    _shape("AWS Bedrock, short-lived", "bedrock-api-key-", r"[A-Za-z0-9+/_\-]{20,}={0,2}"),
    _shape("AWS Bedrock", "ABSK", r"[A-Za-z0-9+/]{40,}={0,2}"),
    *_family("AWS session", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"[A-Za-z0-9+/%]{40,}={0,2}"),
    *_family(
        "Azure storage and service bus",
        "AccountKey= SharedAccessKey= SharedSecretValue=",
        r"[A-Za-z0-9+/%]{16,}={0,2}",
    ),
    _shape("Azure shared access signature", "sig=", r"[A-Za-z0-9%+/_\-]{20,}={0,2}"),
    *_family("signed address", "X-Amz-Signature= X-Goog-Signature= Signature=", r"[A-Za-z0-9%+/_~\-]{20,}={0,2}"),
    _shape("Azure service key", "JQQJ9", rf"{_ALNUM}{{20,}}", 52, rf"{_ALNUM}{{52}}"),
    _shape("Azure client secret", "Q~", r"[A-Za-z0-9_~.\-]{28,}", 4, r"[A-Za-z0-9_~.]{3}[0-9]"),
    *_family("GitHub", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_ALNUM}{{20,}}"),
    _shape("GitHub fine-grained", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    *_family(
        "GitLab",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glffct- glagent- glimt- gloas- glrtr- glwt- GR1348941",
        r"[A-Za-z0-9_.\-]{16,}",
    ),
    *_family(
        "Slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp- xwfp-", r"[A-Za-z0-9\-.%]{10,}"
    ),
    _shape("Slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/_\-]{16,}"),
    *_family("Discord webhook", "discord.com/api/webhooks/ discordapp.com/api/webhooks/", rf"[0-9]+/{_WORDY}{{16,}}"),
    _shape("Telegram bot", ":AA", rf"{_WORDY}{{30,}}", 8, r"[0-9]{8}"),
    _shape("Microsoft Teams webhook", ".webhook.office.com/", r"[A-Za-z0-9@/_\-]{20,}"),
    _shape("Hugging Face", "hf_", rf"{_ALNUM}{{20,}}"),
    _shape("Hugging Face organisation", "api_org_", rf"{_ALNUM}{{20,}}"),
    _shape("npm", "npm_", rf"{_ALNUM}{{20,}}"),
    _shape("PyPI", "pypi-", rf"{_WORDY}{{32,}}"),
    _shape("RubyGems", "rubygems_", rf"{_HEX}{{20,}}"),
    *_family("Docker Hub", "dckr_pat_ dckr_oat_", rf"{_WORDY}{{16,}}"),
    _shape("crates.io", "cio", rf"{_ALNUM}{{32}}" + _END),
    _shape("NuGet", "oy2", r"[a-z0-9]{43}" + _END),
    _shape("Clojars", "CLOJARS_", r"[a-z0-9]{40,}"),
    _shape("SendGrid", "SG.", rf"{_WORDY}{{16,64}}\.{_WORDY}{{16,}}"),
    *_family("Twilio", "SK AC", r"[0-9a-f]{32}" + _END),
    _shape("Mailgun", "key-", rf"{_HEX}{{32}}" + _END),
    _shape("Mailchimp", "-us", r"[0-9]{1,2}" + _END, 32, r"[0-9a-f]{32}"),
    *_family("Brevo", "xkeysib- xsmtpsib-", rf"{_WORDY}{{32,}}"),
    _shape("Resend", "re_", r"[A-Za-z0-9]{6,12}_[A-Za-z0-9]{18,}"),
    *_family("Square", "sq0atp- sq0csp- sq0idp-", rf"{_WORDY}{{20,}}"),
    *_family("Facebook and Square", "EAAA EAAC EAAB EAAG IGQV IGAA", rf"{_WORDY}{{50,}}"),
    *_family("Shopify", "shpat_ shpca_ shppa_ shpss_ shpua_ shptka_ shpit_", rf"{_HEX}{{20,}}"),
    *_family("Plaid", "access-sandbox- access-production- access-development-", r"[0-9a-f\-]{30,}"),
    *_family("DigitalOcean", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{30,}}"),
    _shape("Heroku", "HRKU-", rf"{_WORDY}{{30,}}"),
    _shape("Databricks", "dapi", r"[0-9a-f]{32}(?:-[0-9])?" + _END),
    *_family("Doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.said. dp.scim. dp.audit.", r"[A-Za-z0-9_.\-]{20,}"),
    *_family("Linear", "lin_api_ lin_oauth_", rf"{_ALNUM}{{20,}}"),
    *_family("Notion", "secret_ ntn_", rf"{_ALNUM}{{32,}}"),
    _shape("Airtable", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{32,}"),
    _shape("HubSpot", "pat-", r"(?:na|eu|ap)[0-9]-[0-9a-f\-]{30,}"),
    _shape("Postman", "PMAK-", r"[0-9a-f]{16,}-[0-9a-f]{16,}"),
    _shape("Postman collection", "PMAT-", r"[A-Z0-9]{26}" + _END),
    *_family("New Relic", "NRAK- NRJS- NRII- NRIQ- NRAA- NRRA-", rf"{_WORDY}{{16,}}"),
    *_family("Grafana", "glsa_ glc_", r"[A-Za-z0-9_=+/]{20,}"),
    *_family("Sentry", "sntrys_ sntryu_", r"[A-Za-z0-9_=+/\-]{20,}"),
    _shape("Groq", "gsk_", rf"{_ALNUM}{{20,}}"),
    _shape("xAI", "xai-", rf"{_WORDY}{{20,}}"),
    _shape("Perplexity", "pplx-", rf"{_WORDY}{{20,}}"),
    _shape("Replicate", "r8_", rf"{_ALNUM}{{20,}}"),
    _shape("Fireworks", "fw_", rf"{_ALNUM}{{20,}}"),
    _shape("Together", "tgp_v1_", rf"{_WORDY}{{20,}}"),
    _shape("Cerebras", "csk-", rf"{_ALNUM}{{20,}}"),
    _shape("NVIDIA", "nvapi-", rf"{_WORDY}{{20,}}"),
    _shape("Pinecone", "pcsk_", rf"{_WORDY}{{20,}}"),
    *_family("LangSmith", "lsv2_ ls__", rf"{_WORDY}{{20,}}"),
    _shape("Weights & Biases", "wandb_v1_", rf"{_WORDY}{{20,}}"),
    _shape("Tavily", "tvly-", rf"{_WORDY}{{16,}}"),
    _shape("Jina", "jina_", rf"{_WORDY}{{20,}}"),
    _shape("E2B", "e2b_", rf"{_HEX}{{20,}}"),
    _shape("Firecrawl", "fc-", rf"{_HEX}{{32}}" + _END),
    _shape("Apify", "apify_api_", rf"{_ALNUM}{{20,}}"),
    *_family("HashiCorp Vault", "hvs. hvb. hvr.", rf"{_WORDY}{{20,}}"),
    _shape("Terraform Cloud", ".atlasv1.", rf"{_WORDY}{{40,}}", 14, rf"{_ALNUM}{{14}}"),
    *_family("Supabase", "sbp_ sb_secret_", rf"{_WORDY}{{20,}}"),
    *_family("PlanetScale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.\-]{20,}"),
    *_family("Atlassian", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=\-]{16,}"),
    *_family("Figma", "figd_ figu_ figo_", rf"{_WORDY}{{20,}}"),
    _shape("Dropbox", "sl.", rf"{_WORDY}{{100,}}"),
    _shape("Twitter", "AAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{30,}"),
    _shape("age", "AGE-SECRET-KEY-", r"[0-9A-Z]{20,}"),
    _shape("CircleCI", "CCIPAT_", rf"{_WORDY}{{20,}}"),
    *_family("JFrog", "AKCp cmVmdGtu", rf"{_ALNUM}{{40,}}"),
    *_family("Sourcegraph", "sgp_ sgph_ slk_", rf"{_WORDY}{{20,}}"),
    _shape("Netlify", "nfp_", rf"{_ALNUM}{{20,}}"),
    *_family("Fly.io", "fo1_ fm2_ fm1r_ fm1a_", r"[A-Za-z0-9_+/=\-]{30,}"),
    _shape("OpenShift", "sha256~", rf"{_WORDY}{{30,}}"),
    _shape("Alibaba", "LTAI", rf"{_ALNUM}{{12,}}"),
    _shape("Tencent", "AKID", rf"{_ALNUM}{{28,}}"),
    _shape("Typeform", "tfp_", r"[A-Za-z0-9_.\-]{30,}"),
    _shape("Dynatrace", "dt0", r"[a-z][0-9]{2}\.[A-Z0-9]{8,}\.[A-Z0-9]{20,}"),
    _shape("1Password", "ops_", r"[A-Za-z0-9+/_\-]{40,}={0,2}"),
    _shape("Prefect", "pnu_", rf"{_ALNUM}{{20,}}"),
    _shape("Facebook", "EAA", rf"[A-Z]{_ALNUM}{{80,}}"),
    *_family("EasyPost", "EZAK EZTK", rf"{_ALNUM}{{50,}}"),
    _shape("Adafruit", "aio_", rf"{_ALNUM}{{28}}" + _END),
    _shape("ClickUp", "pk_", r"[0-9]{6,10}_[A-Z0-9]{30,}"),
    _shape("Contentful", "CFPAT-", rf"{_WORDY}{{40,}}"),
    _shape("Pulumi", "pul-", r"[0-9a-f]{40}" + _END),
    _shape("Tailscale", "tskey-", rf"{_WORDY}{{20,}}"),
    *_family("Razorpay", "rzp_live_ rzp_test_", rf"{_ALNUM}{{14,}}"),
    _shape("Flutterwave", "FLWSECK", r"(?:_TEST)?-[0-9a-zA-Z\-]{12,}"),
    *_family("Shippo", "shippo_live_ shippo_test_", rf"{_HEX}{{30,}}"),
    *_family("SonarQube", "sqp_ squ_ sqa_", rf"{_HEX}{{40}}" + _END),
    *_family("Buildkite", "bkua_ bkpt_ bkct_ bkaj_", rf"{_HEX}{{40}}" + _END),
    _shape("Honeycomb", "hcaik_", rf"{_ALNUM}{{40,}}"),
    _shape("Logfire", "pylf_v", r"[0-9]_[A-Za-z0-9_]{30,}"),
    _shape("PostHog", "phx_", rf"{_ALNUM}{{40,}}"),
    _shape("Render", "rnd_", rf"{_ALNUM}{{28,}}"),
    _shape("Neon", "napi_", rf"{_ALNUM}{{40,}}"),
    _shape("RunPod", "rpa_", rf"{_ALNUM}{{40,}}"),
    _shape("Anyscale", "esecret_", rf"{_ALNUM}{{20,}}"),
    *_family("Vercel", "vercel_blob_rw_ vcp_ vci_ vca_ vcr_ vck_", r"[A-Za-z0-9_]{16,}"),
    *_family("Snyk", "snyk_uat. snyk_sat.", r"[A-Za-z0-9_.\-]{20,}"),
    *_family("Modal", "ak- as-", rf"{_ALNUM}{{22}}" + _END),
    _shape("Voyage", "pa-", rf"(?!{_PLAIN_WORDS}){_WORDY}{{43}}(?![A-Za-z0-9_\-])", rough=rf"{_WORDY}{{43}}"),
    _shape("Browserbase", "bb_live_", rf"{_WORDY}{{20,}}"),
    _shape("Brave Search", "BSA", rf"(?=[A-Z]*[0-9a-z]){_WORDY}{{27,28}}(?![A-Za-z0-9_\-])", rough=rf"{_WORDY}{{27}}"),
    *_family("Cursor and Runway", "key_ crsr_", r"(?:[0-9a-f]{64}){1,2}" + _END),
    _shape("DataStax Astra", "AstraCS:", r"[A-Za-z0-9]{20,}:[0-9a-f]{32,}"),
    _shape("Infisical", "st.", r"[0-9a-f]{24}\.[0-9a-f]{32}\.[0-9a-f]{32}" + _END),
    _shape("ReadMe", "rdme_", r"[a-z0-9]{60,}"),
    *_family("Deno Deploy", "ddp_ ddw_", rf"{_ALNUM}{{36}}" + _END),
    *_family("Yandex", "AQVN y0_A y1_A y2_A y3_A", rf"{_WORDY}{{35,}}"),
    *_family("Onfido", "api_live. api_sandbox. api_live_us. api_live_ca.", r"[A-Za-z0-9_.\-]{30,}"),
    _shape("Bitbucket Data Center", "BBDC-", r"[A-Za-z0-9+/=]{40,}"),
    _shape("Zoho", "1000.", r"[0-9a-f]{32}\.[0-9a-f]{32}" + _END),
    _shape(
        "HashiCorp Vault, older",
        "s.",
        rf"(?=[a-zA-Z]{{0,23}}[0-9])(?=[a-z0-9]{{0,23}}[A-Z]){_ALNUM}{{24}}" + _END,
        rough=rf"{_ALNUM}{{24}}",
    ),
    _shape("Intercom", "dG9rO", r"[A-Za-z0-9+/]{50,}={0,2}"),
    _shape("PayPal", "access_token$", r"(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    _shape("Twitch", "oauth:", r"[a-z0-9]{30}" + _END),
    *_family(
        "Lark webhook", "open.feishu.cn/open-apis/bot/ open.larksuite.com/open-apis/bot/", r"v2/hook/[0-9a-f\-]{20,}"
    ),
    _shape("WeCom webhook", "qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", r"[0-9a-f\-]{20,}"),
    _shape("Trello", "ATTA", rf"{_ALNUM}{{60,}}"),
    _shape("Salesforce", "00D", r"[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}"),
    _shape("Zapier webhook", "hooks.zapier.com/hooks/catch/", r"[0-9]+/[A-Za-z0-9]{5,}"),
    _shape("Cloudflare origin", "v1.0-", r"[0-9a-f]{20,}-[0-9a-f]{100,}"),
    *_family("Grafana, older, and a JWT encoded again", "eyJrIjoi ZXlK", r"[A-Za-z0-9+/]{60,}={0,2}"),
    *_family("Amazon login", "Atza| Atzr|", r"[A-Za-z0-9+/_\-]{40,}={0,2}"),
    *_family("Datadog", "ddapp_ ddapi_", rf"{_ALNUM}{{32,}}"),
    _shape("K3s", "K10", r"[0-9a-f]{40,}::[A-Za-z0-9:.]{16,}"),
    _shape("1Password secret key", "A3-", r"[A-Z0-9]{6}(?:-[A-Z0-9]{5,11}){4,5}", rough=r"[A-Z0-9]{6}-[A-Z0-9]{5}"),
    _shape("Yandex session", "t1.", rf"{_WORDY}{{20,}}={{0,2}}\.{_WORDY}{{60,}}", rough=rf"{_WORDY}{{20}}"),
    *_family("Yandex static", "YCA YCM YCN YCO YCP", rf"{_WORDY}{{37}}" + _END),
    *_family("Duffel", "duffel_live_ duffel_test_", rf"{_WORDY}{{40,}}"),
    _shape("Infracost", "ico-", rf"{_ALNUM}{{32}}" + _END),
    _shape("MaxMind", "_mmk", _END, 36, r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}"),
    _shape("Scalingo", "tk-us-", rf"{_WORDY}{{40,}}"),
    *_family("SettleMint", "sm_aat_ sm_pat_ sm_sat_", rf"{_ALNUM}{{16,}}"),
    *_family("Harness", "pat. sat.", r"[A-Za-z0-9_\-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    _shape("Defined Networking", "dnkey-", rf"{_WORDY}{{60,}}"),
    *_family("Mapbox", "pk. sk. tk.", r"(?:eyJ[A-Za-z0-9_\-]{20,}|[a-z0-9]{60})\.[A-Za-z0-9_\-]{20,}"),
    _shape("MailerSend", "mlsn.", rf"{_HEX}{{40,}}"),
    *_family("Amazon", "amzn.mws. amzn1.oa2-cs.v1. amzn1.application-oa2-client.", r"[0-9a-f\-]{32,}"),
    *_family("a UUID", "sdk- api- mob- ark- exa- hrku-", r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    *_family("Paddle", "pdl_live_apikey_ pdl_sdbx_apikey_", r"[a-z0-9_A-Z]{40,}"),
    *_family("Polar", "polar_oat_ polar_pat_ polar_whs_", rf"{_ALNUM}{{30,}}"),
    *_family("Bitcoin and Nostr", "xprv nsec1", rf"{_ALNUM}{{58,}}"),
    *_family("Stytch", "secret-live- secret-test-", rf"{_WORDY}{{30,}}"),
    *_family("WooCommerce", "ck_ cs_", rf"{_HEX}{{40}}" + _END),
    _shape("ClickHouse", "4b1d", rf"{_ALNUM}{{38}}" + _END),
    *_family(
        "Authress",
        "sc_ scauth_ authress_",
        r"[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_\-][a-z0-9\-]{10,32}\.[A-Za-z0-9+/_=\-]{30,}",
    ),
    _shape("Adobe", "p8e-", rf"{_ALNUM}{{32}}"),
    _shape("Frame.io", "fio-u-", rf"{_WORDY}{{50,}}"),
    *_family("42 School", "s-s4t2ud- s-s4t2af-", rf"{_HEX}{{60,}}"),
    _shape("Octopus Deploy", "API-", r"[A-Z0-9]{26}" + _END),
    _shape("WakaTime", "waka_", r"[0-9a-f]{8}-[0-9a-f\-]{20,}"),
    *_family("Axiom", "xaat- xapt-", r"[0-9a-f\-]{30,}"),
    *_family("Trigger.dev", "tr_dev_ tr_prod_ tr_pat_", rf"{_ALNUM}{{20,}}"),
    *_family("Inngest", "signkey-prod- signkey-test- signkey-branch-", rf"{_HEX}{{32,}}"),
    *_family("Cal.com", "cal_live_ cal_test_", rf"{_HEX}{{30,}}"),
    *_family("dbt", "dbtc_ dbtu_", rf"{_WORDY}{{30,}}"),
    _shape("Aiven", "AVNS_", rf"{_WORDY}{{16,}}"),
    _shape("CockroachDB", "CCDB1_", rf"{_WORDY}{{40,}}"),
    _shape("MongoDB Atlas", "mdb_sa_sk_", rf"{_WORDY}{{30,}}"),
    _shape("Elastic", "essu_", rf"{_ALNUM}{{40,}}={{0,2}}"),
    _shape("Scaleway", "SCW", r"[A-Z0-9]{17}" + _END),
    _shape("Akamai", "akab-", rf"{_WORDY}{{16}}-{_WORDY}{{16,}}"),
    *_family("Honeybadger", "hbp_", rf"{_ALNUM}{{30,}}"),
    _shape("Databricks, OAuth", "dose", r"[0-9a-f]{32}" + _END),
    *_signed("AzSe +ACR", 42, r"[A-Za-z0-9]{6}"),
    *_signed("+ASt +ABa ACDb +AMC APIM", 76, r"[A-Za-z0-9+/]{6}=="),
    *_signed("AZDO", 76, r"[A-Za-z0-9]{4}"),
    *_signed("AzFu", 44, r"[A-Za-z0-9+/_\-]{6}=="),
    *_signed("AzCa +ASb +AEh +ARm AIoT", 33, r"[A-Za-z0-9+/]{6}="),
    _shape("LlamaCloud", "llx-", rf"{_ALNUM}{{30,}}"),
    _shape("Xata", "xau_", rf"{_ALNUM}{{20,}}"),
    _shape("Alchemy", "alcht_", rf"{_ALNUM}{{24,}}"),
    *_family("Xendit", "xnd_production_ xnd_development_", rf"{_ALNUM}{{30,}}"),
    _shape("Discord user", "mfa.", rf"{_WORDY}{{60,}}"),
    _shape("Mem0", "m0-", rf"{_ALNUM}{{36,}}"),
    *_family("Unkey", "unkey_", rf"{_ALNUM}{{16,}}"),
    *_family("DevCycle", "dvc_server_ dvc_client_ dvc_mobile_", rf"{_WORDY}{{30,}}"),
    _shape("Portainer", "ptr_", r"[A-Za-z0-9+/=]{40,}"),
    _shape("Humanloop", "hl_sk_", rf"{_ALNUM}{{30,}}"),
    _shape("Klaviyo", "pk_", rf"{_HEX}{{34}}" + _END),
    *_family(
        "hashed password", "$apr1$ $1$ $5$ $6$ $7$", r"(?:rounds=[0-9]+\$)?[./A-Za-z0-9]{1,16}\$[./A-Za-z0-9]{20,}"
    ),
    *_family("hashed password", "$2a$ $2b$ $2x$ $2y$", r"[0-9]{2}\$[./A-Za-z0-9]{50,}"),
    *_family("hashed password", "$y$ $gy$", r"[./A-Za-z0-9]+\$[./A-Za-z0-9]*\$[./A-Za-z0-9]{20,}"),
    *_family("hashed password", "$argon2id$ $argon2i$ $argon2d$", r"[A-Za-z0-9$=,+/]{20,}"),
    *_family(
        "hashed password",
        "pbkdf2_sha256$ pbkdf2_sha1$ pbkdf2:sha256: scrypt:",
        r"[0-9:]+\$[^\s$\"']{1,80}\$[A-Za-z0-9+/=]{20,}",
    ),
    *_family("hashed password", "{SSHA} {SHA} {SSHA256} {SSHA512}", r"[A-Za-z0-9+/]{20,}={0,2}"),
    _shape("Baidu", "bce-v3/ALTAK-", r"[A-Za-z0-9]{10,40}/[0-9a-f]{40}" + _END),
    _shape(
        "private key in base64",
        "LS0tLS1CRUdJTi",
        r"(?!BDRVJ|BQVUJ|BUUl)[A-Za-z0-9+/]{40,}={0,2}",
        rough="[A-Za-z0-9+/]{20}",
    ),
    *_family(
        "hex after a prefix of their own",
        "dtn_ rc_ hb_ depot_org_ depot_project_ chpt_ rootly_ cu_ packagist_ort_ KGAT_ opk_ inference- NRSP-us0 "
        "hxtp_ zpka_ wk-1. thog-agent- QN_ sk1_ pk1_ env_org_ csa_ cr- pl_ lk_",
        r"[0-9a-f]{28,}" + _END,
    ),
    *_family("Volcengine and JD", "AKLT JDC_", rf"{_ALNUM}{{28,}}"),
    *_family(
        "PASETO",
        "v2.local. v3.local. v4.local. v2.public. v3.public. v4.public.",
        rf"{_WORDY}{{40,}}",
    ),
    _shape("sealed cookie", "Fe26.2*", r"[A-Za-z0-9_*\-]{60,}"),
    _shape("Exoscale", "EXO", r"[0-9a-f]{24}" + _END),
    _shape("UpCloud", "ucat_", r"[A-Z0-9]{20,}"),
    _shape("Confluent", "cflt", r"[A-Za-z0-9+/]{56,}"),
    _shape("Foursquare", "fsq3", r"[A-Za-z0-9+/]{40,}=?"),
    _shape("Backblaze", "K00", r"[0-9][A-Za-z0-9+/]{27}" + _END),
    _shape("Google OAuth code", "4/0A", rf"{_WORDY}{{40,}}"),
    *_family("Atlassian OAuth and Canva", "ATOA cnvca", rf"{_WORDY}{{40,}}"),
    *_family("Databricks, others", "dkea dsapi", r"[0-9a-f]{32}" + _END),
    _shape("Cloudflare tunnel", "eyJhIjoi", r"[A-Za-z0-9+/]{100,}={0,2}"),
    _shape("PayPal", "A21AA", rf"{_WORDY}{{60,}}"),
    _shape("Composio", "ak_", rf"(?=[A-Za-z]*[0-9]){_ALNUM}{{20,22}}" + _END, rough=rf"{_ALNUM}{{20}}"),
    _shape("Aiven, by user", "aivenv1", r"[A-Za-z0-9+/]{60,}={0,2}"),
    _shape("Zep", "z_1dWlkIjoi", r"[A-Za-z0-9_.\-]{40,}"),
    *_family("Luma and Plaid", "luma- link-production- link-sandbox-", r"[0-9a-f]{8}-[0-9a-f\-]{27,}"),
    _shape("Chutes", "cpk_", r"[0-9a-f]{32}\.[0-9a-f]{32}\.[A-Za-z0-9]{32}"),
    *_family("Unleash", ":production. :development. :default.", r"[0-9a-f]{40,}"),
    _shape("Flagsmith", "ser.", rf"{_ALNUM}{{22}}" + _END),
    *_family("Tigris and Retool", "tid_ tsec_ retool_01", rf"{_WORDY}{{22,}}"),
    *_family("Composio and Cartesia", "composio_ak_ sk_car_ xi-", rf"{_WORDY}{{20,}}"),
    _shape("RapidAPI", "msh", r"[A-Za-z0-9]{15}p1[A-Za-z0-9]{6}jsn[A-Za-z0-9]{12}" + _END, 10, rf"{_ALNUM}{{10}}"),
    *_family("Fireworks and Dub", "fw- dub_", rf"{_ALNUM}{{24}}" + _END),
    _shape("Neon password", "npg_", rf"{_ALNUM}{{12,}}"),
    _shape("Artifactory password", "AP", r"[0-9A-F][A-Za-z0-9]{68,}"),
    _shape("Adyen", "AQE", r"[A-Za-z0-9+/]{60,}={0,2}-[A-Za-z0-9+/=]{20,}-[\x21-\x7e]{8,}"),
    *_family("Weights & Biases, own server", "local-", r"[0-9a-f]{40}" + _END),
    _shape("Instagram", "IGQ", rf"[A-Z]{_WORDY}{{80,}}"),
    _shape("Retell", "key_", r"[0-9a-f]{28}" + _END),
    _shape("Telnyx", "KEY", r"[0-9A-Fa-f]{32}_[A-Za-z0-9]{22}" + _END),
    _shape("StackHawk", "hawk.", rf"{_WORDY}{{20}}\.{_WORDY}{{20}}" + _END),
    *_family("Lob", "live_ test_ live_pub_ test_pub_", r"[0-9a-f]{31,35}" + _END),
    _shape("Pangea", "pts_", r"[a-z0-9]{32}" + _END),
    _shape(
        "Predibase",
        "pb_",
        rf"(?=[A-Za-z_\-]*[0-9])(?=[a-z0-9_\-]*[A-Z]){_WORDY}{{22}}" + _END,
        rough=rf"{_WORDY}{{22}}",
    ),
    _shape("Twelve Labs", "tlk_", r"[A-Z0-9]{26,}" + _END),
    _shape("Maxim", "sk_mx_", r"[a-z0-9]{20,}" + _END),
    _shape("ImageKit", "private_", r"[A-Za-z0-9+/]{26,28}={0,2}" + _END),
    _shape("Vercel v0", "v1:", r"[A-Za-z0-9]{24}:[A-Za-z0-9]{24}" + _END),
    _shape("Zilliz", "db_", r"[0-9a-f]{12,16}:[A-Za-z0-9]{16,}" + _END),
    _shape("Descope", "P2", rf"{_ALNUM}{{25}}:K2{_ALNUM}{{40,}}"),
    _shape(
        "reCAPTCHA", "6L", rf"(?=[A-Za-z_\-]*[0-9])(?=[a-z0-9_\-]*[A-Z]){_WORDY}{{38}}" + _END, rough=rf"{_WORDY}{{38}}"
    ),
    _shape("Contentstack", "cs", r"[0-9a-f]{32}" + _END),
    *(
        _shape("a UUID", literal, r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
        for literal in ("GenieKey ", "Splunk ", "ApiKey-", "ApiKey ")
    ),
    _shape("New Relic licence", "NRAL", _END, 36, r"[0-9a-z]{6}[0-9a-f]{30}"),
    _shape("Appwrite", "standard_", r"[0-9a-f]{200,}"),
    _shape("Voiceflow", "VF.", r"[A-Z]{2,8}\.[0-9a-f]{24}\.[A-Za-z0-9]{16}" + _END),
    _shape("Sanity", "sk", rf"{_ALNUM}{{120,}}", head=_OUTSIDE_BASE64),
    *(
        _shape(
            "Bitcoin, as wallets give it", literal, _BASE58 + "(?![0-9A-Za-z+/=])", head=_OUTSIDE_BASE64, rough=_BASE58
        )
        for literal in ("5H", "5J", "5K")
    ),
    _shape(
        "PagerDuty", "u+", rf"(?=[A-Za-z_\-]*[0-9])(?=[a-z0-9_\-]*[A-Z]){_WORDY}{{18}}" + _END, rough=rf"{_WORDY}{{18}}"
    ),
    _shape("LINE", "/1O/w1cDnyilFU=", "", 157, r"[A-Za-z0-9+/]{157}"),
)
