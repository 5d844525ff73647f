//! The table of tokens by shape: what they begin with, which characters follow, how many, and what else must hold.
//!
//! Shapes are those that the services publish. A shape that other texts may have too counts as likely.

use super::values::{Counts, entropy, head, is_slug, is_uuid};
use super::{Certainty, published};

/// Which characters a token is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// `0-9a-zA-Z`
    Alnum,
    /// `A-Z0-9`
    Upper,
    /// `a-zA-Z`
    Alpha,
    /// `0-9a-fA-F`
    Hex,
    /// `0-9a-zA-Z_-`
    Url,
    /// `0-9a-zA-Z_-.`
    Dotted,
    /// `0-9a-zA-Z+/=_-`
    Base64,
    /// `0-9a-zA-Z/`
    Path,
    /// What a password hash is made of.
    Crypt,
    /// What the path of an address is made of.
    Address,
    /// `0-9a-zA-Z_-:`
    Colon,
    /// `0-9a-zA-Z+/=_-.`
    Base64Dots,
}

impl Letters {
    /// How many there are.
    pub(super) const KINDS: usize = 12;

    /// Returns whether a token may hold a byte.
    pub(super) fn has(self, byte: u8) -> bool {
        let url = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match self {
            Letters::Alnum => byte.is_ascii_alphanumeric(),
            Letters::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Letters::Alpha => byte.is_ascii_alphabetic(),
            Letters::Hex => byte.is_ascii_hexdigit(),
            Letters::Url => url,
            Letters::Dotted => url || byte == b'.',
            Letters::Base64 => url || matches!(byte, b'+' | b'/' | b'='),
            Letters::Path => byte.is_ascii_alphanumeric() || byte == b'/',
            Letters::Crypt => byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'$' | b'=' | b'+' | b','),
            Letters::Colon => url || byte == b':',
            Letters::Base64Dots => url || matches!(byte, b'+' | b'/' | b'=' | b'.'),
            Letters::Address => url || matches!(byte, b'/' | b'.' | b'@' | b'%' | b'~'),
        }
    }
}

/// One shape.
pub(super) struct Format {
    pub(super) kind: &'static str,
    pub(super) prefix: &'static str,
    pub(super) letters: Letters,
    pub(super) least: usize,
    pub(super) most: usize,
    /// What else must hold. It looks at a bounded part, or at what [`MEASURED`] leaves of the body.
    pub(super) check: fn(&str) -> bool,
    pub(super) certainty: Certainty,
}

impl Format {
    /// Returns the same shape as one that other texts may have too.
    pub(super) const fn likely(self) -> Format {
        Format { certainty: Certainty::Likely, ..self }
    }
}

const fn format(kind: &'static str, prefix: &'static str, letters: Letters, least: usize, most: usize) -> Format {
    bounded(kind, prefix, letters, least, most, any)
}

pub(super) const fn checked(
    kind: &'static str,
    prefix: &'static str,
    letters: Letters,
    least: usize,
    check: fn(&str) -> bool,
) -> Format {
    bounded(kind, prefix, letters, least, usize::MAX, check)
}

pub(super) const fn bounded(
    kind: &'static str,
    prefix: &'static str,
    letters: Letters,
    least: usize,
    most: usize,
    check: fn(&str) -> bool,
) -> Format {
    Format { kind, prefix, letters, least, most, check, certainty: Certainty::Certain }
}

pub(super) fn any(_: &str) -> bool {
    true
}

pub(super) fn varied(body: &str) -> bool {
    entropy(body) >= 2.9
}

/// Varied, and not one that everybody knows.
fn kept(body: &str) -> bool {
    varied(body) && !published::by_google(body)
}

/// Varied, and with digits: words of a language have none.
pub(super) fn drawn(body: &str) -> bool {
    let counts = Counts::of(body);
    counts.digits >= 2 && counts.letters() >= 2 && entropy(body) >= 3.0 && !is_slug(body)
}

/// As [`drawn`], with capitals, small letters and digits.
pub(super) fn all_kinds(body: &str) -> bool {
    let counts = Counts::of(body);
    counts.digits >= 2 && counts.small >= 2 && counts.capitals >= 2 && entropy(body) >= 3.0
}

pub(super) fn has_digits(body: &str) -> bool {
    Counts::of(body).digits >= 5
}

fn ends_in_aa(body: &str) -> bool {
    body.ends_with("AA")
}

pub(super) fn uuid(body: &str) -> bool {
    body.split_at_checked(36).is_some_and(|(head, _)| is_uuid(head))
}

/// OpenAI writes its own name, in base64, into the middle of each key.
fn names_openai(body: &str) -> bool {
    head(body).contains("T3BlbkFJ")
}

/// Other services took over the beginning, with letters and digits drawn by lot.
fn plain_sk(body: &str) -> bool {
    matches!(body.len(), 32 | 48 | 50 | 64) && drawn(body)
}

pub(super) fn parts(body: &str, sign: char, lengths: &[usize]) -> bool {
    body.split(sign).map(str::len).eq(lengths.iter().copied())
}

fn sendgrid(body: &str) -> bool {
    parts(body, '.', &[22, 43])
}

fn airtable(body: &str) -> bool {
    parts(body, '.', &[14, 64])
}

fn harness(body: &str) -> bool {
    parts(body, '.', &[22, 24, 20])
}

fn resend(body: &str) -> bool {
    parts(body, '_', &[8, 24])
}

fn matrix(body: &str) -> bool {
    let mut parts = body.rsplit('_');
    matches!((parts.next(), parts.next(), parts.next()), (Some(sum), Some(drawn), Some(_)) if sum.len() == 6 && drawn.len() == 20)
}

fn web_token(body: &str) -> bool {
    let mut parts = body.split('.');
    let (Some(head), Some(claims)) = (parts.next(), parts.next()) else { return false };
    head.len() >= 12 && claims.len() >= 12 && claims.starts_with("ey")
}

/// The five parts of an encrypted web token; the second is empty where the key is shared.
fn sealed_token(body: &str) -> bool {
    body.split('.').take(6).count() == 5 && body.rsplit('.').next().is_some_and(|tag| tag.len() >= 16)
}

fn dotted_pair(body: &str) -> bool {
    let mut parts = body.split('.');
    matches!((parts.next(), parts.next()), (Some(a), Some(b)) if a.len() >= 16 && b.len() >= 16)
}

fn cloudflare_origin(body: &str) -> bool {
    let mut parts = body.split('-');
    matches!((parts.next(), parts.next()), (Some(a), Some(b)) if a.len() == 24 && b.len() == 146)
}

fn hex(text: &str, n: usize) -> bool {
    text.len() == n && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn sourcegraph(body: &str) -> bool {
    match body.split_once('_') {
        None => hex(body, 40),
        Some((instance, rest)) => {
            let rest = rest.strip_prefix("local_").unwrap_or(rest);
            (hex(instance, 16) || instance == "local") && hex(rest, 40)
        }
    }
}

/// A key in base64, its first and last lines included.
fn encoded_key(body: &str) -> bool {
    // `PRIVATE KEY` at each of the three places where base64 can begin to write it.
    ["UFJJVkFURSBLRV", "BSSVZBVEUgS0VZ", "QUklWQVRFIEtFW"].iter().any(|mark| head(body).contains(mark))
}

fn webhook(body: &str) -> bool {
    body.contains("IncomingWebhook/") || body.len() >= 60
}

fn bot_path(body: &str) -> bool {
    let body = head(body);
    body.split('/').count() >= 2 && body.bytes().filter(|b| b.is_ascii_alphanumeric()).count() >= 14
}

fn crypt(body: &str) -> bool {
    body.rsplit('$').next().is_some_and(|sum| sum.len() >= 22) && Counts::of(body).letters() >= 8
}

fn bcrypt(body: &str) -> bool {
    body.split_once('$').is_some_and(|(cost, rest)| cost.len() == 2 && rest.len() == 53)
}

const MANY: usize = usize::MAX;

/// The most bytes of a body that are measured; of a longer one its beginning.
pub(super) const MEASURED: usize = 4_096;

/// Every shape. Order does not matter.
pub(super) const FORMATS: &[Format] = &[
    format("AWS access key", "AKIA", Letters::Upper, 16, 16),
    format("AWS access key", "ASIA", Letters::Upper, 16, 16),
    bounded("AWS access key", "A3T", Letters::Upper, 17, 17, drawn),
    format("AWS access key", "ABIA", Letters::Upper, 16, 16),
    format("AWS access key", "ACCA", Letters::Upper, 16, 16),
    format("AWS Bedrock key", "bedrock-api-key-", Letters::Base64, 20, MANY),
    format("AWS Bedrock key", "ABSK", Letters::Base64, 100, MANY),
    format("GitHub token", "ghp_", Letters::Alnum, 36, 255),
    format("GitHub token", "gho_", Letters::Alnum, 36, 255),
    format("GitHub token", "ghu_", Letters::Alnum, 36, 255),
    format("GitHub token", "ghs_", Letters::Alnum, 36, 255),
    format("GitHub token", "ghr_", Letters::Alnum, 36, 255),
    format("GitHub token", "github_pat_", Letters::Url, 36, 255),
    checked("GitLab token", "glpat-", Letters::Dotted, 20, varied),
    checked("GitLab token", "gldt-", Letters::Url, 20, varied),
    checked("GitLab token", "glrt-", Letters::Dotted, 20, varied),
    checked("GitLab token", "glcbt-", Letters::Url, 20, varied),
    format("GitLab token", "glptt-", Letters::Url, 40, 40),
    checked("GitLab token", "glft-", Letters::Url, 20, varied),
    checked("GitLab token", "glsoat-", Letters::Url, 20, varied),
    checked("GitLab token", "glffct-", Letters::Url, 20, varied),
    checked("GitLab token", "glimt-", Letters::Url, 25, varied),
    checked("GitLab token", "glagent-", Letters::Url, 50, varied),
    checked("GitLab token", "gloas-", Letters::Url, 64, varied),
    checked("GitLab token", "GR1348941", Letters::Url, 20, varied),
    checked("Slack token", "xoxb-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxp-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxa-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxr-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxs-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxe-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxc-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxd-", Letters::Base64, 18, has_digits),
    checked("Slack token", "xapp-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxe.xoxp-", Letters::Url, 18, has_digits),
    checked("Slack token", "xoxe.xoxb-", Letters::Url, 18, has_digits),
    checked("Slack address", "hooks.slack.com/services/", Letters::Path, 30, any),
    checked("Slack address", "hooks.slack.com/workflows/", Letters::Path, 30, any),
    checked("Slack address", "hooks.slack.com/triggers/", Letters::Path, 30, any),
    checked("Discord address", "discord.com/api/webhooks/", Letters::Base64, 60, any),
    checked("Discord address", "discordapp.com/api/webhooks/", Letters::Base64, 60, any),
    bounded("Google API key", "AIza", Letters::Url, 35, 35, kept),
    checked("Google token", "ya29.", Letters::Dotted, 30, varied),
    format("Google client secret", "GOCSPX-", Letters::Url, 28, 28),
    checked("OpenAI key", "sk-", Letters::Url, 40, names_openai),
    bounded("Anthropic key", "sk-ant-", Letters::Url, 90, MANY, ends_in_aa),
    checked("OpenRouter key", "sk-or-v1-", Letters::Hex, 64, varied),
    format("Hugging Face token", "hf_", Letters::Alpha, 34, 34),
    checked("Hugging Face token", "hf_", Letters::Alnum, 34, has_digits),
    bounded("Hugging Face token", "api_org_", Letters::Alpha, 34, 34, varied),
    checked("Replicate token", "r8_", Letters::Alnum, 37, varied),
    checked("Stripe key", "sk_live_", Letters::Alnum, 16, varied),
    checked("Stripe key", "sk_test_", Letters::Alnum, 16, varied),
    checked("Stripe key", "sk_prod_", Letters::Alnum, 16, varied),
    checked("Stripe key", "rk_live_", Letters::Alnum, 16, varied),
    checked("Stripe key", "rk_test_", Letters::Alnum, 16, varied),
    checked("Stripe key", "rk_prod_", Letters::Alnum, 16, varied),
    checked("Stripe webhook secret", "whsec_", Letters::Base64, 32, varied),
    bounded("Twilio key", "SK", Letters::Hex, 32, 32, varied),
    bounded("SendGrid key", "SG.", Letters::Dotted, 66, 66, sendgrid),
    bounded("Mailgun key", "key-", Letters::Hex, 32, 32, varied),
    checked("Brevo key", "xkeysib-", Letters::Url, 80, varied),
    format("npm token", "npm_", Letters::Alnum, 36, 36),
    checked("PyPI token", "pypi-AgE", Letters::Url, 50, varied),
    checked("RubyGems key", "rubygems_", Letters::Hex, 48, varied),
    bounded("NuGet key", "oy2", Letters::Alnum, 43, 43, varied),
    bounded("crates.io token", "cio", Letters::Alnum, 32, 32, varied),
    bounded("Clojars token", "CLOJARS_", Letters::Hex, 60, 60, varied),
    checked("Docker token", "dckr_pat_", Letters::Url, 27, varied),
    checked("Docker token", "dckr_oat_", Letters::Url, 27, varied),
    checked("DigitalOcean token", "dop_v1_", Letters::Hex, 64, varied),
    checked("DigitalOcean token", "doo_v1_", Letters::Hex, 64, varied),
    checked("DigitalOcean token", "dor_v1_", Letters::Hex, 64, varied),
    checked("Vault token", "hvs.", Letters::Url, 24, varied),
    checked("Vault token", "hvb.", Letters::Url, 50, varied),
    checked("Vault token", "hvr.", Letters::Url, 50, varied),
    checked("Atlassian token", "ATATT3", Letters::Base64, 100, varied),
    checked("Atlassian token", "ATCTT3", Letters::Base64, 100, varied),
    checked("Bitbucket password", "ATBB", Letters::Alnum, 32, varied),
    checked("Shopify token", "shpat_", Letters::Hex, 32, varied),
    checked("Shopify token", "shpca_", Letters::Hex, 32, varied),
    checked("Shopify token", "shppa_", Letters::Hex, 32, varied),
    checked("Shopify token", "shpss_", Letters::Hex, 32, varied),
    checked("Shopify token", "shpua_", Letters::Hex, 32, varied),
    checked("Shopify token", "shptka_", Letters::Hex, 32, varied),
    checked("Figma token", "figd_", Letters::Url, 38, varied),
    checked("Postman key", "PMAK-", Letters::Url, 55, varied),
    checked("PlanetScale token", "pscale_tkn_", Letters::Dotted, 32, varied),
    checked("PlanetScale token", "pscale_pw_", Letters::Dotted, 32, varied),
    checked("PlanetScale token", "pscale_oauth_", Letters::Dotted, 32, varied),
    checked("Databricks token", "dapi", Letters::Hex, 32, varied),
    checked("Fly.io token", "fo1_", Letters::Url, 40, varied),
    checked("Fly.io token", "fm1r_", Letters::Base64, 60, varied),
    checked("Fly.io token", "fm1a_", Letters::Base64, 60, varied),
    checked("Fly.io token", "fm2_", Letters::Base64, 60, varied),
    checked("Heroku key", "HRKU-AA", Letters::Url, 50, varied),
    bounded("Infracost key", "ico-", Letters::Alnum, 32, 32, varied),
    checked("Grafana token", "glc_", Letters::Base64, 32, varied),
    checked("Grafana token", "glsa_", Letters::Url, 41, varied),
    checked("Sentry token", "sntrys_eyJ", Letters::Base64, 40, varied),
    checked("Sourcegraph token", "sgp_", Letters::Url, 40, sourcegraph),
    checked("New Relic key", "NRAK-", Letters::Alnum, 27, varied),
    checked("New Relic key", "NRII-", Letters::Url, 32, varied),
    checked("age key", "AGE-SECRET-KEY-1", Letters::Upper, 58, any),
    checked("1Password token", "ops_eyJ", Letters::Base64, 200, varied),
    checked("Cloudflare key", "v1.0-", Letters::Url, 170, cloudflare_origin),
    bounded("ClickHouse key", "4b1d", Letters::Alnum, 38, 38, varied),
    checked("EasyPost key", "EZAK", Letters::Alnum, 54, varied),
    checked("EasyPost key", "EZTK", Letters::Alnum, 54, varied),
    checked("Dynatrace token", "dt0c01.", Letters::Dotted, 80, varied),
    checked("Octopus key", "API-", Letters::Upper, 25, has_digits),
    checked("Okta-like token", "SSWS ", Letters::Url, 40, varied),
    checked("OpenShift token", "sha256~", Letters::Url, 40, varied),
    checked("Facebook token", "EAA", Letters::Alnum, 80, has_digits),
    checked("SoftLayer address", "api.softlayer.com/soap/", Letters::Dotted, 4, any),
    checked("JSON web token", "eyJ", Letters::Dotted, 30, web_token),
    checked("Airtable token", "pat", Letters::Dotted, 79, airtable),
    checked("Vercel token", "vercel_", Letters::Alnum, 24, varied),
    checked("Scalingo token", "tk-us-", Letters::Url, 48, varied),
    checked("Prefect key", "pnu_", Letters::Alnum, 36, varied),
    checked("ReadMe key", "rdme_", Letters::Alnum, 70, varied),
    checked("Duffel token", "duffel_", Letters::Url, 43, varied),
    checked("Shippo token", "shippo_live_", Letters::Hex, 40, varied),
    checked("Square token", "sq0csp-", Letters::Url, 43, varied),
    checked("Square token", "EAAAE", Letters::Url, 55, varied),
    checked("Adafruit key", "aio_", Letters::Alnum, 28, varied),
    checked("Contentful token", "CFPAT-", Letters::Url, 43, varied),
    checked("Netlify token", "nfp_", Letters::Alnum, 36, varied),
    checked("Azure storage key", "AccountKey=", Letters::Base64, 80, varied),
    // Clouds and hosts.
    bounded("Alibaba Cloud key", "LTAI", Letters::Alnum, 12, 26, drawn),
    bounded("Tencent Cloud key", "AKID", Letters::Alnum, 32, 32, all_kinds),
    bounded("Yandex Cloud key", "AQVN", Letters::Url, 35, 40, drawn),
    bounded("Yandex token", "y0_", Letters::Url, 50, 80, drawn),
    checked("Azure access key", "SharedAccessKey=", Letters::Base64, 40, drawn),
    checked("Azure signature", "SharedAccessSignature=", Letters::Base64, 20, any).likely(),
    bounded("Google refresh token", "1//0", Letters::Url, 40, 110, all_kinds),
    bounded("Render key", "rnd_", Letters::Alnum, 28, 40, drawn),
    bounded("Neon key", "napi_", Letters::Alnum, 60, 70, drawn),
    bounded("Aiven token", "AVNS_", Letters::Url, 19, 24, varied),
    bounded("MongoDB service secret", "mdb_sa_sk_", Letters::Url, 38, 48, drawn),
    bounded("Supabase key", "sb_secret_", Letters::Url, 28, 48, drawn),
    bounded("Supabase key", "sbp_", Letters::Alnum, 40, 44, drawn),
    bounded("Vercel token", "vcp_", Letters::Alnum, 50, 64, drawn),
    bounded("Vercel token", "vck_", Letters::Alnum, 50, 64, drawn),
    bounded("Cloudflare token", "cfut_", Letters::Alnum, 40, 60, drawn),
    bounded("Cloudflare token", "cfat_", Letters::Alnum, 40, 60, drawn),
    bounded("Databricks token", "dose", Letters::Hex, 32, 36, drawn),
    bounded("Pulumi token", "pul-", Letters::Hex, 40, 40, varied),
    checked("Tailscale key", "tskey-", Letters::Url, 16, drawn),
    bounded("Fleetbase key", "flb_live_", Letters::Alnum, 20, 20, drawn),
    // Code, packages and builds.
    checked("GitLab token", "glrtr-", Letters::Dotted, 20, varied),
    checked("GitLab token", "glwt-", Letters::Url, 20, varied),
    bounded("JFrog key", "AKC", Letters::Alnum, 30, 90, has_digits),
    bounded("JFrog token", "cmVmd", Letters::Alnum, 59, 59, drawn),
    bounded("CircleCI token", "CCIPAT_", Letters::Url, 40, 80, drawn),
    bounded("CircleCI token", "CCIPRJ_", Letters::Url, 40, 80, drawn),
    bounded("Buildkite token", "bkua_", Letters::Alnum, 36, 44, varied),
    bounded("Buildkite token", "bkaj_", Letters::Url, 36, 64, drawn),
    bounded("Deno Deploy token", "ddp_", Letters::Alnum, 36, 40, varied),
    bounded("Deno Deploy token", "ddw_", Letters::Alnum, 36, 40, varied),
    bounded("Depot token", "depot_project_", Letters::Hex, 40, 80, drawn),
    bounded("Depot token", "depot_org_", Letters::Hex, 40, 80, drawn),
    bounded("Chromatic token", "chpt_", Letters::Alnum, 10, 40, drawn),
    bounded("dotenv vault key", "dotenv://:key_", Letters::Hex, 64, 64, varied),
    bounded("Inngest key", "signkey-prod-", Letters::Hex, 64, 64, varied),
    bounded("Trigger.dev key", "tr_prod_", Letters::Alnum, 20, 40, drawn),
    bounded("Trigger.dev key", "tr_dev_", Letters::Alnum, 20, 40, drawn),
    bounded("Unkey key", "unkey_", Letters::Alnum, 20, 40, all_kinds),
    bounded("Xata key", "xau_", Letters::Alnum, 40, 60, drawn),
    bounded("Zuplo key", "zpka_", Letters::Url, 40, 60, drawn),
    bounded("Docker Hub token", "dckr_oat_", Letters::Url, 27, 40, drawn),
    bounded("Harness token", "pat.", Letters::Dotted, 68, 68, harness),
    bounded("Sonar token", "sqp_", Letters::Alnum, 38, 40, varied),
    bounded("Sonar token", "squ_", Letters::Alnum, 38, 40, varied),
    bounded("Sonar token", "sqa_", Letters::Alnum, 38, 40, varied),
    bounded("Dependency-Track key", "odt_", Letters::Alnum, 32, 42, drawn),
    bounded("Snyk token", "snyk_uat.", Letters::Dotted, 60, 120, drawn),
    bounded("Sourcegraph token", "slk_", Letters::Hex, 64, 64, varied),
    bounded("Sourcegraph token", "sgd_", Letters::Hex, 64, 64, varied),
    bounded("dbt token", "dbtc_", Letters::Url, 30, 60, drawn),
    bounded("Prefect key", "pnb_", Letters::Alnum, 36, 36, drawn),
    checked("TeamCity token", "eyJ0eXAiOiAiVENWMiJ9.", Letters::Dotted, 60, varied),
    bounded("Ionic token", "ion_", Letters::Alnum, 42, 42, all_kinds),
    bounded("Codemagic token", "codemagic", Letters::Url, 40, 60, drawn).likely(),
    bounded("Segment token", "sgp_", Letters::Alnum, 64, 64, all_kinds),
    bounded("Doppler token", "dp.pt.", Letters::Alnum, 40, 44, varied),
    bounded("Doppler token", "dp.ct.", Letters::Alnum, 40, 44, varied),
    bounded("Doppler token", "dp.sa.", Letters::Alnum, 40, 44, varied),
    bounded("Doppler token", "dp.scim.", Letters::Alnum, 40, 44, varied),
    bounded("Doppler token", "dp.audit.", Letters::Alnum, 40, 44, varied),
    checked("Doppler token", "dp.st.", Letters::Dotted, 40, varied),
    // Models.
    checked("key of a model's service", "sk-", Letters::Alnum, 32, plain_sk),
    bounded("Groq key", "gsk_", Letters::Alnum, 48, 60, varied),
    bounded("xAI key", "xai-", Letters::Url, 70, 90, varied),
    bounded("Perplexity key", "pplx-", Letters::Alnum, 40, 60, varied),
    bounded("ElevenLabs key", "sk_", Letters::Hex, 48, 48, drawn),
    bounded("Pinecone key", "pcsk_", Letters::Url, 60, 80, drawn),
    bounded("LangSmith key", "lsv2_pt_", Letters::Url, 40, 50, drawn),
    bounded("LangSmith key", "lsv2_sk_", Letters::Url, 40, 50, drawn),
    checked("Langfuse key", "sk-lf-", Letters::Url, 36, uuid),
    bounded("Together key", "tgp_v1_", Letters::Url, 36, 60, drawn),
    bounded("Fireworks key", "fw_", Letters::Alnum, 22, 28, all_kinds),
    bounded("Voyage key", "pa-", Letters::Url, 43, 43, all_kinds),
    bounded("Jina key", "jina_", Letters::Url, 56, 64, drawn),
    bounded("Tavily key", "tvly-", Letters::Url, 32, 48, drawn),
    bounded("Firecrawl key", "fc-", Letters::Hex, 32, 32, drawn),
    bounded("Cerebras key", "csk-", Letters::Alnum, 40, 60, drawn),
    bounded("NVIDIA key", "nvapi-", Letters::Url, 60, 72, drawn),
    bounded("E2B key", "e2b_", Letters::Hex, 40, 40, drawn),
    bounded("LlamaCloud key", "llx-", Letters::Alnum, 40, 60, drawn),
    bounded("Helicone key", "sk-helicone-", Letters::Url, 28, 60, drawn),
    bounded("Anyscale key", "esecret_", Letters::Alnum, 24, 60, drawn),
    bounded("Browserbase key", "bb_live_", Letters::Url, 24, 60, drawn),
    bounded("Cartesia key", "sk_car_", Letters::Url, 20, 60, drawn),
    bounded("RunPod key", "rpa_", Letters::Alnum, 40, 50, drawn),
    bounded("Apify token", "apify_api_", Letters::Alnum, 34, 42, drawn),
    bounded("Weights and Biases key", "wandb_v1_", Letters::Url, 60, 90, drawn),
    bounded("Stability key", "key_", Letters::Hex, 64, 64, drawn),
    // Payment.
    bounded("Stripe key", "sk_org_", Letters::Alnum, 24, 120, varied),
    bounded("Square token", "sq0atp-", Letters::Url, 22, 22, drawn),
    bounded("Square token", "EAAA", Letters::Url, 60, 64, drawn),
    checked("Braintree token", "access_token$production$", Letters::Crypt, 40, drawn),
    checked("Braintree token", "access_token$sandbox$", Letters::Crypt, 40, drawn),
    checked("Plaid token", "access-production-", Letters::Url, 36, uuid),
    checked("Plaid token", "access-development-", Letters::Url, 36, uuid),
    checked("Plaid token", "access-sandbox-", Letters::Url, 36, uuid),
    bounded("Flutterwave key", "FLWSECK-", Letters::Url, 32, 40, drawn),
    bounded("Flutterwave key", "FLWSECK_TEST-", Letters::Url, 32, 40, drawn),
    bounded("Mollie key", "live_", Letters::Alnum, 30, 30, all_kinds),
    bounded("Mollie key", "test_", Letters::Alnum, 30, 30, all_kinds),
    checked("Xendit key", "xnd_production_", Letters::Alnum, 40, drawn),
    checked("Midtrans key", "Mid-server-", Letters::Url, 20, drawn),
    bounded("Paddle key", "pdl_live_apikey_", Letters::Url, 40, 70, drawn),
    bounded("Paddle key", "pdl_sdbx_apikey_", Letters::Url, 40, 70, drawn),
    bounded("Shippo token", "shippo_test_", Letters::Hex, 40, 40, varied),
    bounded("Pagar.me key", "ak_live_", Letters::Alnum, 30, 30, drawn),
    bounded("GoCardless token", "live_", Letters::Url, 40, 40, all_kinds).likely(),
    bounded("GoCardless token", "sandbox_", Letters::Url, 40, 40, all_kinds).likely(),
    bounded("Lob key", "live_", Letters::Hex, 35, 35, drawn),
    bounded("Lob key", "test_", Letters::Hex, 35, 35, drawn),
    bounded("WooCommerce key", "ck_", Letters::Hex, 40, 40, varied),
    bounded("WooCommerce key", "cs_", Letters::Hex, 40, 40, varied),
    bounded("Polar token", "polar_oat_", Letters::Alnum, 36, 64, drawn),
    bounded("Flexport token", "shltm_", Letters::Url, 40, 40, drawn),
    // Mail, chat and media.
    bounded("Brevo key", "xsmtpsib-", Letters::Url, 80, 90, varied),
    bounded("Resend key", "re_", Letters::Url, 33, 33, resend),
    bounded("MailerSend token", "mlsn.", Letters::Alnum, 64, 64, varied),
    bounded("Mandrill key", "md-", Letters::Url, 22, 22, all_kinds),
    checked("Slack token", "xoxo-", Letters::Url, 18, has_digits),
    checked("Teams address", "outlook.office.com/webhook/", Letters::Address, 60, webhook),
    checked("Teams address", "webhook.office.com/webhookb2/", Letters::Address, 60, webhook),
    checked("Zapier address", "hooks.zapier.com/hooks/catch/", Letters::Path, 10, bot_path),
    checked("Make address", ".make.com/", Letters::Alnum, 30, drawn).likely(),
    checked("Google Chat address", "chat.googleapis.com/v1/spaces/", Letters::Address, 20, any).likely(),
    bounded("Matrix token", "syt_", Letters::Base64, 30, 140, matrix),
    bounded("Twitch stream key", "live_", Letters::Url, 36, 50, |body| {
        body.split_once('_').is_some_and(|(n, key)| n.bytes().all(|b| b.is_ascii_digit()) && key.len() >= 28)
    }),
    bounded("Frame.io token", "fio-u-", Letters::Url, 64, 64, varied),
    bounded("Nylas key", "nyk_v0_", Letters::Alnum, 60, 70, drawn),
    bounded("Intercom token", "dG9rO", Letters::Base64, 50, 80, all_kinds),
    bounded("X token", "AAAAAAAAAAAAAAAAAAAAA", Letters::Address, 60, 120, all_kinds),
    checked("Lark address", "open.feishu.cn/open-apis/bot/v2/hook/", Letters::Url, 36, uuid),
    checked("Lark address", "open.larksuite.com/open-apis/bot/v2/hook/", Letters::Url, 36, uuid),
    bounded("Stytch secret", "secret-live-", Letters::Base64, 36, 60, drawn),
    bounded("Stytch secret", "secret-test-", Letters::Base64, 36, 60, drawn),
    // Work.
    bounded("Linear key", "lin_api_", Letters::Alnum, 32, 48, varied),
    bounded("Linear key", "lin_oauth_", Letters::Alnum, 60, 64, varied),
    bounded("Notion token", "ntn_", Letters::Alnum, 40, 50, varied),
    bounded("Notion token", "secret_", Letters::Alnum, 43, 43, all_kinds),
    bounded("Typeform token", "tfp_", Letters::Url, 40, 64, drawn),
    checked("HubSpot token", "pat-na1-", Letters::Url, 36, uuid),
    checked("HubSpot token", "pat-na2-", Letters::Url, 36, uuid),
    checked("HubSpot token", "pat-eu1-", Letters::Url, 36, uuid),
    bounded("ClickUp token", "pk_", Letters::Url, 36, 48, |body| {
        body.split_once('_').is_some_and(|(n, key)| n.bytes().all(|b| b.is_ascii_digit()) && key.len() >= 28)
    }),
    bounded("Trello token", "ATTA", Letters::Alnum, 60, 80, drawn),
    bounded("Dropbox token", "sl.", Letters::Dotted, 120, 2048, drawn),
    bounded("Mapbox token", "sk.eyJ", Letters::Dotted, 50, 200, drawn),
    bounded("Mapbox token", "tk.eyJ", Letters::Dotted, 50, 400, drawn),
    bounded("Teamwork token", "tkn.v1_", Letters::Base64, 60, 90, drawn),
    bounded("Voiceflow key", "VF.DM.", Letters::Dotted, 41, 41, drawn),
    bounded("Telnyx key", "KEY", Letters::Url, 52, 60, all_kinds),
    bounded("Scrapfly key", "scp-live-", Letters::Alnum, 32, 32, drawn),
    bounded("Ubidots token", "BBFF-", Letters::Alnum, 30, 32, drawn),
    bounded("Zoho token", "1000.", Letters::Dotted, 60, 70, |body| parts(body, '.', &[32, 32])),
    bounded("Bitly-like token", "R_", Letters::Hex, 32, 32, drawn).likely(),
    bounded("Infisical token", "st.", Letters::Dotted, 80, 130, drawn),
    bounded("ngrok key", "ak_", Letters::Alnum, 30, 30, all_kinds),
    checked("Tines address", ".tines.com/webhook/", Letters::Path, 60, bot_path),
    // What is watched and measured.
    bounded("New Relic key", "NRAA-", Letters::Alnum, 27, 27, varied),
    bounded("New Relic key", "NRRA-", Letters::Alnum, 42, 42, varied),
    bounded("New Relic key", "NRSP-", Letters::Url, 30, 40, drawn),
    bounded("New Relic key", "px-api-", Letters::Url, 36, 36, drawn),
    bounded("New Relic key", "px-dep-", Letters::Url, 36, 36, drawn),
    checked("Grafana key", "eyJrIjoi", Letters::Base64, 70, varied),
    bounded("Sentry token", "sntryu_", Letters::Hex, 64, 64, varied),
    checked("Honeycomb key", "hcaik_", Letters::Alnum, 58, drawn),
    checked("Honeycomb key", "hcbik_", Letters::Alnum, 58, drawn),
    checked("Honeycomb key", "hcamk_", Letters::Alnum, 58, drawn),
    checked("Axiom token", "xaat-", Letters::Url, 36, uuid),
    checked("Axiom token", "xapt-", Letters::Url, 36, uuid),
    bounded("PostHog key", "phx_", Letters::Url, 40, 56, drawn),
    checked("LaunchDarkly key", "sdk-", Letters::Url, 36, uuid),
    checked("LaunchDarkly key", "api-", Letters::Url, 36, uuid),
    checked("PubNub key", "sec-c-", Letters::Base64, 36, drawn),
    // Keys, sealed tokens and password hashes.
    checked("private key", "LS0tLS1CRUdJTi", Letters::Base64, 40, encoded_key),
    checked("PuTTY private key", "PuTTY-User-Key-File-", Letters::Alnum, 1, any),
    checked("encrypted web token", "eyJ", Letters::Dotted, 60, sealed_token),
    checked("signed token", "eyA", Letters::Dotted, 60, dotted_pair).likely(),
    bounded("1Password secret key", "A3-", Letters::Url, 31, 40, |body| {
        let own = |part: &str| part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        own(&body.replace('-', "")) && drawn(body) && body.split('-').count() >= 5
    }),
    bounded("password hash", "$1$", Letters::Crypt, 24, 40, crypt).likely(),
    bounded("password hash", "$5$", Letters::Crypt, 44, 90, crypt).likely(),
    bounded("password hash", "$6$", Letters::Crypt, 88, 130, crypt).likely(),
    bounded("password hash", "$8$", Letters::Crypt, 50, 70, crypt).likely(),
    bounded("password hash", "$9$", Letters::Crypt, 50, 70, crypt).likely(),
    bounded("password hash", "$y$", Letters::Crypt, 60, 130, crypt).likely(),
    bounded("password hash", "$apr1$", Letters::Crypt, 28, 40, crypt).likely(),
    bounded("password hash", "$argon2id$", Letters::Crypt, 50, 300, crypt).likely(),
    bounded("password hash", "$argon2i$", Letters::Crypt, 50, 300, crypt).likely(),
    bounded("password hash", "$2a$", Letters::Crypt, 56, 56, bcrypt).likely(),
    bounded("password hash", "$2b$", Letters::Crypt, 56, 56, bcrypt).likely(),
    bounded("password hash", "$2y$", Letters::Crypt, 56, 56, bcrypt).likely(),
];
