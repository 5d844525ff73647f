//! Tokens by shape: what they begin with, which characters follow, and how many.

use super::{Certainty, Finding, entropy, is_placeholder};
use aho_corasick::{AhoCorasick, MatchKind};
use std::ops::Range;
use std::sync::OnceLock;

/// Which characters a token is made of.
#[derive(Clone, Copy)]
enum Letters {
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
}

impl Letters {
    fn has(self, byte: u8) -> bool {
        match self {
            Letters::Alnum => byte.is_ascii_alphanumeric(),
            Letters::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Letters::Alpha => byte.is_ascii_alphabetic(),
            Letters::Hex => byte.is_ascii_hexdigit(),
            Letters::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Letters::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Letters::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-'),
            Letters::Path => byte.is_ascii_alphanumeric() || byte == b'/',
        }
    }
}

struct Format {
    kind: &'static str,
    prefix: &'static str,
    letters: Letters,
    least: usize,
    most: usize,
    check: fn(&str) -> bool,
}

const fn format(kind: &'static str, prefix: &'static str, letters: Letters, least: usize, most: usize) -> Format {
    Format { kind, prefix, letters, least, most, check: any }
}

const fn checked(
    kind: &'static str,
    prefix: &'static str,
    letters: Letters,
    least: usize,
    check: fn(&str) -> bool,
) -> Format {
    Format { kind, prefix, letters, least, most: usize::MAX, check }
}

fn any(_: &str) -> bool {
    true
}

fn varied(body: &str) -> bool {
    entropy(body) >= 2.9
}

fn has_digits(body: &str) -> bool {
    body.bytes().filter(u8::is_ascii_digit).count() >= 5
}

fn ends_in_aa(body: &str) -> bool {
    body.ends_with("AA")
}

/// OpenAI writes its own name, in base64, into the middle of each key.
fn names_openai(body: &str) -> bool {
    body.contains("T3BlbkFJ")
}

fn sendgrid(body: &str) -> bool {
    let parts: Vec<usize> = body.split('.').map(str::len).collect();
    parts == [22, 43]
}

fn web_token(body: &str) -> bool {
    let mut parts = body.split('.');
    let (Some(head), Some(claims)) = (parts.next(), parts.next()) else { return false };
    head.len() >= 12 && claims.len() >= 12 && claims.starts_with("ey")
}

fn cloudflare_origin(body: &str) -> bool {
    let mut parts = body.split('-');
    matches!((parts.next(), parts.next()), (Some(a), Some(b)) if a.len() == 24 && b.len() == 146)
}

fn sourcegraph(body: &str) -> bool {
    let hex = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_hexdigit());
    match body.split_once('_') {
        None => hex(body, 40),
        Some((instance, rest)) => (hex(instance, 16) || instance == "local") && hex(rest, 40),
    }
}

const MANY: usize = usize::MAX;

const FORMATS: &[Format] = &[
    format("AWS access key", "AKIA", Letters::Upper, 16, 16),
    format("AWS access key", "ASIA", Letters::Upper, 16, 16),
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
    Format { kind: "Google API key", prefix: "AIza", letters: Letters::Url, least: 35, most: 35, check: varied },
    checked("Google token", "ya29.", Letters::Dotted, 30, varied),
    format("Google client secret", "GOCSPX-", Letters::Url, 28, 28),
    checked("OpenAI key", "sk-", Letters::Url, 40, names_openai),
    Format {
        kind: "Anthropic key",
        prefix: "sk-ant-",
        letters: Letters::Url,
        least: 90,
        most: MANY,
        check: ends_in_aa,
    },
    checked("OpenRouter key", "sk-or-v1-", Letters::Hex, 64, varied),
    checked("Groq key", "gsk_", Letters::Alnum, 48, varied),
    checked("xAI key", "xai-", Letters::Alnum, 70, varied),
    checked("Perplexity key", "pplx-", Letters::Alnum, 48, varied),
    format("Hugging Face token", "hf_", Letters::Alpha, 34, 34),
    checked("Hugging Face token", "hf_", Letters::Alnum, 34, has_digits),
    Format {
        kind: "Hugging Face token",
        prefix: "api_org_",
        letters: Letters::Alpha,
        least: 34,
        most: 34,
        check: varied,
    },
    checked("Replicate token", "r8_", Letters::Alnum, 37, varied),
    checked("Stripe key", "sk_live_", Letters::Alnum, 16, varied),
    checked("Stripe key", "sk_test_", Letters::Alnum, 16, varied),
    checked("Stripe key", "sk_prod_", Letters::Alnum, 16, varied),
    checked("Stripe key", "rk_live_", Letters::Alnum, 16, varied),
    checked("Stripe key", "rk_test_", Letters::Alnum, 16, varied),
    checked("Stripe key", "rk_prod_", Letters::Alnum, 16, varied),
    checked("Stripe webhook secret", "whsec_", Letters::Base64, 32, varied),
    Format { kind: "Twilio key", prefix: "SK", letters: Letters::Hex, least: 32, most: 32, check: varied },
    Format { kind: "SendGrid key", prefix: "SG.", letters: Letters::Dotted, least: 66, most: 66, check: sendgrid },
    Format { kind: "Mailgun key", prefix: "key-", letters: Letters::Hex, least: 32, most: 32, check: varied },
    checked("Brevo key", "xkeysib-", Letters::Url, 80, varied),
    format("npm token", "npm_", Letters::Alnum, 36, 36),
    checked("PyPI token", "pypi-AgE", Letters::Url, 50, varied),
    checked("RubyGems key", "rubygems_", Letters::Hex, 48, varied),
    Format { kind: "NuGet key", prefix: "oy2", letters: Letters::Alnum, least: 43, most: 43, check: varied },
    Format { kind: "crates.io token", prefix: "cio", letters: Letters::Alnum, least: 32, most: 32, check: varied },
    Format { kind: "Clojars token", prefix: "CLOJARS_", letters: Letters::Hex, least: 60, most: 60, check: varied },
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
    checked("Linear key", "lin_api_", Letters::Alnum, 40, varied),
    checked("Notion token", "ntn_", Letters::Alnum, 40, varied),
    checked("Figma token", "figd_", Letters::Url, 38, varied),
    checked("Postman key", "PMAK-", Letters::Url, 55, varied),
    checked("PlanetScale token", "pscale_tkn_", Letters::Dotted, 32, varied),
    checked("PlanetScale token", "pscale_pw_", Letters::Dotted, 32, varied),
    checked("PlanetScale token", "pscale_oauth_", Letters::Dotted, 32, varied),
    checked("Databricks token", "dapi", Letters::Hex, 32, varied),
    checked("Doppler token", "dp.pt.", Letters::Alnum, 40, varied),
    checked("Doppler token", "dp.st.", Letters::Dotted, 40, varied),
    checked("Fly.io token", "fo1_", Letters::Url, 40, varied),
    checked("Fly.io token", "fm1r_", Letters::Base64, 60, varied),
    checked("Fly.io token", "fm1a_", Letters::Base64, 60, varied),
    checked("Fly.io token", "fm2_", Letters::Base64, 60, varied),
    checked("Heroku key", "HRKU-AA", Letters::Url, 50, varied),
    Format { kind: "Infracost key", prefix: "ico-", letters: Letters::Alnum, least: 32, most: 32, check: varied },
    checked("Grafana token", "glc_", Letters::Base64, 32, varied),
    checked("Grafana token", "glsa_", Letters::Url, 41, varied),
    checked("Sentry token", "sntrys_eyJ", Letters::Base64, 40, varied),
    checked("Sentry token", "sntryu_", Letters::Hex, 64, varied),
    Format { kind: "Sonar token", prefix: "sqp_", letters: Letters::Alnum, least: 38, most: 40, check: varied },
    Format { kind: "Sonar token", prefix: "squ_", letters: Letters::Alnum, least: 38, most: 40, check: varied },
    Format { kind: "Sonar token", prefix: "sqa_", letters: Letters::Alnum, least: 38, most: 40, check: varied },
    checked("Sourcegraph token", "sgp_", Letters::Url, 40, sourcegraph),
    checked("New Relic key", "NRAK-", Letters::Alnum, 27, varied),
    checked("New Relic key", "NRII-", Letters::Url, 32, varied),
    checked("age key", "AGE-SECRET-KEY-1", Letters::Upper, 58, any),
    checked("1Password token", "ops_eyJ", Letters::Base64, 200, varied),
    checked("Cloudflare key", "v1.0-", Letters::Url, 170, cloudflare_origin),
    Format { kind: "ClickHouse key", prefix: "4b1d", letters: Letters::Alnum, least: 38, most: 38, check: varied },
    checked("EasyPost key", "EZAK", Letters::Alnum, 54, varied),
    checked("EasyPost key", "EZTK", Letters::Alnum, 54, varied),
    checked("Dynatrace token", "dt0c01.", Letters::Dotted, 80, varied),
    checked("Artifactory key", "AKC", Letters::Alnum, 30, has_digits),
    checked("Octopus key", "API-", Letters::Upper, 25, has_digits),
    checked("Okta-like token", "SSWS ", Letters::Url, 40, varied),
    checked("OpenShift token", "sha256~", Letters::Url, 40, varied),
    checked("Facebook token", "EAA", Letters::Alnum, 80, has_digits),
    checked("SoftLayer address", "api.softlayer.com/soap/", Letters::Dotted, 4, any),
    checked("JSON web token", "eyJ", Letters::Dotted, 30, web_token),
    checked("Airtable token", "pat", Letters::Dotted, 79, |body| body.split('.').map(str::len).eq([14, 64])),
    checked("Supabase key", "sbp_", Letters::Hex, 40, varied),
    checked("Tailscale key", "tskey-", Letters::Url, 20, has_digits),
    checked("Vercel token", "vercel_", Letters::Alnum, 24, varied),
    checked("Scalingo token", "tk-us-", Letters::Url, 48, varied),
    checked("Prefect key", "pnu_", Letters::Alnum, 36, varied),
    checked("Pulumi token", "pul-", Letters::Hex, 40, varied),
    checked("ReadMe key", "rdme_", Letters::Alnum, 70, varied),
    checked("Duffel token", "duffel_", Letters::Url, 43, varied),
    checked("Frame.io token", "fio-u-", Letters::Url, 64, varied),
    checked("Shippo token", "shippo_live_", Letters::Hex, 40, varied),
    checked("Square token", "sq0csp-", Letters::Url, 43, varied),
    checked("Square token", "EAAAE", Letters::Url, 55, varied),
    checked("Adafruit key", "aio_", Letters::Alnum, 28, varied),
    checked("Contentful token", "CFPAT-", Letters::Url, 43, varied),
    checked("Buildkite token", "bkua_", Letters::Alnum, 40, varied),
    checked("Netlify token", "nfp_", Letters::Alnum, 36, varied),
    checked("Azure storage key", "AccountKey=", Letters::Base64, 86, varied),
];

fn finder() -> Option<&'static AhoCorasick> {
    static FINDER: OnceLock<Option<AhoCorasick>> = OnceLock::new();
    FINDER
        .get_or_init(|| {
            let prefixes = FORMATS.iter().map(|format| format.prefix);
            AhoCorasick::builder().match_kind(MatchKind::Standard).build(prefixes).ok()
        })
        .as_ref()
}

/// Returns the tokens of a text.
pub(super) fn scan(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let Some(finder) = finder() else {
        // Without the table nothing is known to be clean.
        return vec![Finding {
            kind: "text that could not be searched",
            range: 0..text.len(),
            certainty: Certainty::Certain,
        }];
    };
    let mut ends: Vec<usize> = vec![0; FORMATS.len()];
    for hit in finder.find_overlapping_iter(text) {
        let Some(format) = FORMATS.get(hit.pattern().as_usize()) else { continue };
        // A long run is measured once for each format, so that the whole stays linear.
        let past = ends.get(hit.pattern().as_usize()).copied().unwrap_or(0);
        if hit.start() < past || !starts_word(text, hit.start(), format.prefix) {
            continue;
        }
        let body = run(text, hit.end(), format.letters);
        if let Some(end) = ends.get_mut(hit.pattern().as_usize()) {
            *end = hit.end() + body.len();
        }
        let trimmed = body.trim_end_matches('.');
        let fits = trimmed.len() >= format.least && trimmed.len() <= format.most;
        // `xoxp-572370529330-####`: the rest is crossed out.
        let after = text.get(hit.end() + body.len()..).unwrap_or("");
        let crossed = ["##", "**", "…"].iter().any(|mark| after.starts_with(mark));
        if fits && !crossed && (format.check)(trimmed) && !is_placeholder(trimmed) {
            found.push(certain(format.kind, hit.start()..hit.end() + trimmed.len()));
        }
    }
    found.extend(private_keys(text));
    found.extend(by_mark(text));
    found
}

fn certain(kind: &'static str, range: Range<usize>) -> Finding {
    Finding { kind, range, certainty: Certainty::Certain }
}

fn starts_word(text: &str, at: usize, prefix: &str) -> bool {
    let first = prefix.as_bytes().first().copied().unwrap_or(b' ');
    let before = at.checked_sub(1).and_then(|n| text.as_bytes().get(n)).copied().unwrap_or(b' ');
    // Letters after an escape such as `\n` belong to the escape.
    let escaped = at >= 2 && text.as_bytes().get(at - 2) == Some(&b'\\') && matches!(before, b'n' | b't' | b'r');
    !first.is_ascii_alphanumeric()
        || escaped
        || !(before.is_ascii_alphanumeric() || before == b'_' || before == b'+' || before == b'/' && prefix.len() < 4)
}

fn run(text: &str, from: usize, letters: Letters) -> &str {
    let rest = text.get(from..).unwrap_or("");
    let length = rest.bytes().take_while(|byte| letters.has(*byte)).count();
    rest.get(..length).unwrap_or("")
}

fn private_keys(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("-----BEGIN ") {
        let rest = text.get(at..).unwrap_or("");
        let line: String = rest.chars().take(60).take_while(|c| *c != '\n').collect();
        if !line.contains("PRIVATE KEY") {
            continue;
        }
        let end = rest.find("-----END").map_or(rest.len().min(line.len()), |end| end);
        found.push(certain("private key", at..at + end.max(line.len())));
    }
    found
}

/// Tokens that are known by a mark in their middle.
fn by_mark(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices("Q~") {
        // Azure: three characters, a digit, `Q~`, then 31 to 34 more.
        let start = at.saturating_sub(4);
        let digit = at.checked_sub(1).and_then(|n| bytes.get(n)).is_some_and(u8::is_ascii_digit);
        let body = mark_run(text, at + 2, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'~' | b'.' | b'-'));
        if digit && (31..=34).contains(&body.len()) && text.is_char_boundary(start) && !is_placeholder(body) {
            found.push(certain("Azure client secret", start..at + 2 + body.len()));
        }
    }
    for (at, _) in text.match_indices(':') {
        // Telegram: the bot's number, then 35 characters that begin with `AA`.
        let digits = bytes.get(..at).unwrap_or(&[]).iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count();
        let body = mark_run(text, at + 1, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if (8..=10).contains(&digits) && body.len() == 35 && body.starts_with("AA") {
            found.push(certain("Telegram token", at - digits..at + 1 + body.len()));
        }
    }
    for (at, _) in text.match_indices('|') {
        // Facebook: the application's number and 27 characters.
        let digits = bytes.get(..at).unwrap_or(&[]).iter().rev().take(18).take_while(|b| b.is_ascii_digit()).count();
        let body = mark_run(text, at + 1, |b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if (15..=16).contains(&digits) && (26..=28).contains(&body.len()) {
            found.push(certain("Facebook token", at - digits..at + 1 + body.len()));
        }
    }
    for (at, _) in text.match_indices("-us") {
        // Mailchimp: 32 hexadecimal digits and the data centre.
        let hex = bytes.get(..at).unwrap_or(&[]).iter().rev().take(33).take_while(|b| b.is_ascii_hexdigit()).count();
        let centre = mark_run(text, at + 3, |b| b.is_ascii_digit());
        if hex == 32 && (1..=2).contains(&centre.len()) {
            found.push(certain("Mailchimp key", at - hex..at + 3 + centre.len()));
        }
    }
    found.extend(discord(text));
    found
}

fn mark_run(text: &str, from: usize, has: fn(u8) -> bool) -> &str {
    let rest = text.get(from..).unwrap_or("");
    // No token is longer; this keeps many marks in one run from costing its square.
    let length = rest.bytes().take(256).take_while(|byte| has(*byte)).count();
    rest.get(..length).unwrap_or("")
}

/// Discord: the bot's number, a time and a signature, each in base64, with dots between.
fn discord(text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut at = 0;
    for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))) {
        let start = text.len().min(word.as_ptr() as usize - text.as_ptr() as usize).max(at);
        at = start;
        let parts: Vec<&str> = word.trim_matches('.').split('.').take(4).collect();
        if let [number, time, signature] = parts.as_slice()
            && (23..=28).contains(&number.len())
            && time.len() == 6
            && (27..=40).contains(&signature.len())
            && number.get(..3).is_some_and(|head| head.contains(['M', 'N', 'O']))
            && !number.starts_with(['P', 'Q', 'Z'])
        {
            found.push(certain("Discord token", start..start + word.len()));
        }
    }
    found
}
