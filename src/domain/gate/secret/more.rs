//! The second half of the table of tokens by shape: services whose tokens are met less often.
//!
//! Shapes are facts that the services publish, gathered from their pages and from the rules of public scanners
//! (Kingfisher, Titus, Nosey Parker, TruffleHog, Gitleaks, Betterleaks, CredSweeper, Secretlint, OSV-SCALIBR, ripsecrets,
//! Trivy and Microsoft's Security Utilities).

use super::table::{Format, Letters, all_kinds, any, bounded, checked, drawn, has_digits, parts, uuid, varied};

fn two(body: &str, lengths: [usize; 2]) -> bool {
    parts(body, '.', &lengths) && varied(body)
}

fn stateless(body: &str) -> bool {
    body.contains("eyJ") && body.split('.').count() >= 3
}

fn authress(body: &str) -> bool {
    body.split('.').count() >= 4 && body.contains(".acc") && drawn(body)
}

fn unmixed(body: &str) -> bool {
    !body.contains('_') && drawn(body)
}

fn sealed_part(body: &str) -> bool {
    body.split_once('_').is_some_and(|(head, tail)| head.len() == 22 && tail.len() == 40) && varied(body)
}

fn swarm(body: &str) -> bool {
    body.split_once('-').is_some_and(|(head, tail)| head.len() >= 48 && tail.len() >= 24) && drawn(body)
}

fn nightly(body: &str) -> bool {
    body.split_once('-').is_some_and(|(head, tail)| head.len() == 26 && tail.len() == 52) && varied(body)
}

/// A UUID with letters beyond hexadecimal ones, as some services draw them.
fn five(body: &str) -> bool {
    parts(body, '-', &[8, 4, 4, 4, 12]) && drawn(body)
}

fn messages(body: &str) -> bool {
    body.split_once(':').is_some_and(|(head, tail)| head.len() == 7 && tail.len() >= 130)
}

/// `name.v1.body.checksum`
fn versioned(body: &str) -> bool {
    parts(body, '.', &[24, 64]) && drawn(body)
}

const fn hex(kind: &'static str, prefix: &'static str, n: usize) -> Format {
    bounded(kind, prefix, Letters::Hex, n, n, varied)
}

const fn alnum(kind: &'static str, prefix: &'static str, least: usize, most: usize) -> Format {
    bounded(kind, prefix, Letters::Alnum, least, most, varied)
}

const fn url(kind: &'static str, prefix: &'static str, least: usize, most: usize) -> Format {
    bounded(kind, prefix, Letters::Url, least, most, varied)
}

/// More shapes. Order does not matter.
pub(super) const MORE: &[Format] = &[
    // Clouds and hosts.
    url("Akamai secret", "akab-", 33, 33),
    alnum("Alchemy key", "alcht_", 30, 30),
    bounded("Alibaba token", "CAIS", Letters::Base64, 100, 1_200, all_kinds),
    bounded("Alibaba key", "STS.", Letters::Alnum, 16, 64, drawn),
    bounded("AWS AppSync key", "da2-", Letters::Alnum, 26, 26, drawn),
    checked("AWS marketplace token", "amzn.mws.", Letters::Url, 36, uuid),
    bounded("Cloudflare key", "cfk_", Letters::Alnum, 40, 56, drawn),
    bounded("CockroachDB key", "CCDB1_", Letters::Url, 63, 63, sealed_part),
    bounded("Confluent key", "cflt", Letters::Base64, 60, 60, all_kinds),
    bounded("DataStax token", "AstraCS:", Letters::Base64, 20, 200, varied),
    bounded("Datadog token", "pub", Letters::Hex, 32, 32, drawn),
    bounded("Elastic key", "essu_", Letters::Base64, 80, 120, varied),
    alnum("Exoscale key", "EXO", 24, 30),
    bounded("Google key", "AQ.Ab8R", Letters::Url, 40, 60, varied),
    bounded("Google storage key", "GOOG1E", Letters::Upper, 55, 58, drawn),
    bounded("Google storage key", "GOOG", Letters::Upper, 20, 20, drawn),
    checked("Heroku key", "HRKU-", Letters::Url, 36, uuid),
    url("Heroku key", "HRKU-", 60, 60),
    checked("Fly.io token", "FlyV1 ", Letters::Base64, 80, varied),
    alnum("UpCloud token", "ucat_", 24, 32),
    bounded("Upstash token", "upstash_", Letters::Url, 30, 80, drawn),
    url("Vercel token", "vca_", 50, 64),
    url("Vercel token", "vci_", 50, 64),
    url("Vercel token", "vcr_", 50, 64),
    url("Vercel token", "vcp_", 50, 64),
    bounded("Supabase key", "sbp_v0_", Letters::Hex, 40, 40, varied),
    url("Supabase key", "sb_secret_", 28, 48),
    url("Yandex key", "YC", 38, 38),
    url("Yandex token", "t1.", 100, 400),
    bounded("Portainer token", "ptr_", Letters::Base64, 40, 60, drawn),
    alnum("Netlify token", "nfc_", 36, 40),
    alnum("Netlify token", "nfo_", 36, 40),
    alnum("Netlify token", "nfu_", 36, 40),
    alnum("Netlify token", "nfb_", 36, 40),
    bounded("Docker Swarm token", "SWMTKN-1-", Letters::Url, 74, 92, swarm),
    bounded("Docker Swarm key", "SWMKEY-1-", Letters::Base64, 40, 50, varied),
    bounded("Defined Networking key", "dnkey-", Letters::Url, 79, 79, nightly),
    bounded("Tailscale key", "tskey-api-", Letters::Url, 16, 60, varied),
    bounded("NATS seed", "SU", Letters::Upper, 56, 56, nkey),
    bounded("NATS seed", "SA", Letters::Upper, 56, 56, nkey),
    bounded("NATS seed", "SO", Letters::Upper, 56, 56, nkey),
    bounded("NATS seed", "SN", Letters::Upper, 56, 56, nkey),
    bounded("NATS seed", "SC", Letters::Upper, 56, 56, nkey),
    bounded("NATS seed", "SX", Letters::Upper, 56, 56, nkey),
    bounded("Pulumi token", "pul-", Letters::Alnum, 40, 40, drawn),
    // Code, packages and builds.
    checked("GitHub token", "ghs_", Letters::Dotted, 60, stateless),
    bounded("GitHub token", "ghp_", Letters::Url, 36, 255, drawn),
    bounded("GitHub token", "ghu_", Letters::Url, 36, 255, drawn),
    bounded("GitHub token", "gho_", Letters::Url, 36, 255, drawn),
    url("Buildkite token", "bkaa_", 60, 90),
    url("Buildkite token", "bkar_", 60, 90),
    url("Buildkite token", "bkct_", 60, 90),
    url("Buildkite token", "bkpat_", 40, 70),
    url("Buildkite token", "bkps_", 50, 80),
    url("Buildkite token", "bkpt_", 150, 250),
    bounded("Cloudsmith key", "csa_", Letters::Alnum, 36, 36, drawn),
    bounded("CodeRabbit key", "cr-", Letters::Hex, 58, 58, varied),
    alnum("Cursor key", "crsr_", 60, 70),
    hex("Cursor key", "key_", 64),
    alnum("Deno Deploy token", "ddo_", 36, 40),
    bounded("Devin key", "apk_user_", Letters::Base64, 120, 200, varied),
    bounded("Devin key", "apk_", Letters::Base64, 80, 104, all_kinds),
    bounded("Devin key", "cog_", Letters::Alnum, 52, 52, varied),
    bounded("Harness token", "sat.", Letters::Dotted, 68, 68, |body| parts(body, '.', &[22, 24, 20])),
    bounded("JFrog token", "cmVmdGtu", Letters::Url, 54, 60, varied),
    url("Mergify key", "mergify_application_key_", 40, 200),
    url("Mergify key", "mka_", 40, 80),
    bounded("Octopus key", "API-", Letters::Upper, 24, 40, has_digits),
    hex("Packagist token", "packagist_ack_", 32),
    bounded("Packagist token", "packagist_acs_", Letters::Hex, 60, 100, varied),
    bounded("Packagist token", "packagist_cut_", Letters::Hex, 60, 100, varied),
    bounded("Packagist token", "packagist_ort_", Letters::Hex, 60, 100, varied),
    bounded("Packagist token", "packagist_out_", Letters::Hex, 60, 100, varied),
    bounded("Packagist token", "packagist_uot_", Letters::Hex, 60, 100, varied),
    bounded("Packagist token", "packagist_urt_", Letters::Hex, 60, 100, varied),
    bounded("Packagist token", "packagist_uut_", Letters::Hex, 60, 100, varied),
    url("PyPI token", "pypi-", 85, 1_000),
    bounded("RubyGems key", "rubygems_", Letters::Alnum, 42, 52, drawn),
    bounded("Clojars token", "CLOJARS_", Letters::Alnum, 60, 60, drawn),
    bounded("Sonar token", "sqco_", Letters::Alnum, 50, 64, varied),
    alnum("SpectralOps token", "spu-", 32, 32),
    bounded("StackHawk key", "hawk.", Letters::Dotted, 41, 41, |body| two(body, [20, 20])),
    url("Thunderstore token", "tss_", 20, 80),
    hex("TruffleHog key", "thog-secret-", 32),
    url("Val Town token", "vtwn_", 20, 80),
    url("Workato token", "wrka-eyJ", 60, 900),
    bounded("Scrapfly key", "scp-test-", Letters::Alnum, 32, 32, drawn),
    url("ConfigCat key", "configcat-sdk-1/", 20, 60),
    bounded("WakaTime key", "waka_", Letters::Url, 36, 64, varied),
    bounded("Rootly key", "rootly_", Letters::Hex, 64, 64, varied),
    bounded("Coze token", "pat_", Letters::Alnum, 64, 64, drawn),
    url("Endor Labs key", "endr+", 16, 16),
    alnum("Aikido key", "AIK_CI_", 20, 64),
    alnum("Aikido secret", "AIK_SECRET_", 60, 70),
    bounded("HashiCorp token", "hvb.", Letters::Url, 24, MANY, all_kinds),
    bounded("HashiCorp token", "hvr.", Letters::Url, 24, MANY, all_kinds),
    bounded("Vault token", "s.", Letters::Alnum, 24, 24, all_kinds),
    // Models.
    bounded("OpenAI key", "sk-proj-", Letters::Url, 60, MANY, all_kinds),
    bounded("OpenAI key", "sk-svcacct-", Letters::Url, 60, MANY, all_kinds),
    bounded("OpenAI key", "sk-admin-", Letters::Url, 60, MANY, all_kinds),
    bounded("MiniMax key", "sk-api-", Letters::Url, 100, 140, all_kinds),
    bounded("Pyx key", "sk-pyx-", Letters::Alnum, 44, 70, varied),
    bounded("Groq key", "gsk_", Letters::Url, 48, 60, varied),
    bounded("Friendli token", "flp_", Letters::Alnum, 46, 46, drawn),
    bounded("Retell key", "key_", Letters::Hex, 28, 28, drawn),
    bounded("Replicate token", "r8_", Letters::Url, 37, 37, drawn),
    bounded("xAI key", "xai-token-", Letters::Alnum, 70, 90, varied),
    bounded("Together key", "tgp_v1_", Letters::Url, 36, 60, varied),
    bounded("LlamaCloud key", "llx-", Letters::Url, 40, 60, varied),
    bounded("Hugging Face token", "hf_", Letters::Url, 34, 40, all_kinds),
    bounded("Langfuse key", "pk-lf-", Letters::Url, 36, 36, uuid),
    bounded("Brave key", "BSA", Letters::Url, 24, 40, all_kinds),
    bounded("Databento key", "db-", Letters::Alnum, 29, 29, all_kinds),
    bounded("WunderGraph key", "cosmo_", Letters::Hex, 32, 32, varied),
    bounded("Temporal key", "temporal_", Letters::Url, 40, 200, drawn),
    // Payment and trade.
    url("Asaas key", "$aact_prod_", 20, 200),
    url("Asaas key", "$aact_hmlg_", 20, 200),
    bounded("Branch key", "key_live_", Letters::Alnum, 16, 40, drawn),
    bounded("Branch key", "key_test_", Letters::Alnum, 16, 40, drawn),
    bounded("Coinbase key", "organizations/", Letters::Address, 80, 120, |body| body.contains("/apiKeys/")),
    bounded("eBay key", "PRD-", Letters::Url, 36, 50, drawn),
    bounded("eBay key", "SBX-", Letters::Url, 36, 50, drawn),
    bounded("Highnote key", "sk_live_", Letters::Base64, 70, 110, all_kinds),
    url("Lichess token", "lip_", 18, 60),
    bounded("Paystack key", "sk_", Letters::Url, 45, 60, |body| {
        body.split_once('_')
            .is_some_and(|(name, key)| name.bytes().all(|b| b.is_ascii_lowercase()) && key.len() == 40 && drawn(key))
    }),
    url("Persona key", "persona_production_", 20, 80),
    url("Persona key", "persona_sandbox_", 20, 80),
    url("Proof key", "prf_cli_", 20, 80),
    bounded("Polar token", "polar_pat_", Letters::Url, 20, 100, varied),
    bounded("Polar token", "polar_at_", Letters::Url, 20, 100, varied),
    alnum("Ramp secret", "ramp_sec_", 40, 60),
    alnum("Razorpay key", "rzp_live_", 14, 14),
    alnum("Razorpay key", "rzp_test_", 14, 14),
    bounded("Recharge key", "sk_test_", Letters::Url, 60, 90, drawn),
    bounded("Recharge key", "sk_", Letters::Url, 68, 72, |body| {
        body.split_once('_').is_some_and(|(level, key)| level.contains('x') && key.len() == 64 && drawn(key))
    }),
    checked("Robinhood key", "rh-api-", Letters::Url, 36, uuid),
    url("SettleMint token", "sm_pat_", 16, 16),
    url("SettleMint token", "sm_aat_", 16, 16),
    url("SettleMint token", "sm_sat_", 16, 16),
    bounded("Shopify token", "shpat_", Letters::Alnum, 32, 32, drawn),
    bounded("Shopify token", "shpca_", Letters::Alnum, 32, 32, drawn),
    bounded("Shopify token", "shppa_", Letters::Alnum, 32, 32, drawn),
    bounded("Shopify token", "shpss_", Letters::Alnum, 32, 32, drawn),
    bounded("Shopify token", "shprt_", Letters::Alnum, 32, 32, drawn),
    bounded("Shopify token", "shpua_", Letters::Alnum, 32, 32, drawn),
    bounded("Shopify token", "shptka_", Letters::Alnum, 32, 32, drawn),
    bounded("Stripe payment secret", "pi_", Letters::Url, 50, 64, |body| body.contains("_secret_")),
    bounded("Rainforest key", "apikey_", Letters::Hex, 64, 64, varied),
    bounded("Duffel token", "duffel_live_", Letters::Base64, 43, 43, varied),
    bounded("Duffel token", "duffel_test_", Letters::Base64, 43, 43, varied),
    bounded("GoCardless token", "live_", Letters::Base64, 40, 42, all_kinds).likely(),
    bounded("Fleetbase key", "flb_live_", Letters::Alnum, 20, 64, varied),
    bounded("Fleetbase key", "flb_test_", Letters::Alnum, 20, 64, varied),
    bounded("Lob key", "live_auth_", Letters::Hex, 32, 32, drawn),
    // Mail, chat and media.
    bounded("Adobe secret", "p8e-", Letters::Url, 32, 32, varied),
    bounded("BannerBear key", "bb_ma_", Letters::Hex, 30, 30, varied),
    bounded("BannerBear key", "bb_pr_", Letters::Hex, 30, 30, varied),
    bounded("Beamer token", "b_", Letters::Base64, 44, 44, all_kinds),
    url("Canva secret", "cnvca", 51, 51),
    bounded("Discord token", "mfa.", Letters::Url, 60, 100, varied),
    bounded("Frame.io token", "fio-u-", Letters::Base64, 64, 64, varied),
    bounded("Figma token", "figd_", Letters::Url, 36, 60, all_kinds),
    bounded("Figma token", "figp_", Letters::Base64, 40, 54, drawn),
    bounded("Figma token", "figor_", Letters::Url, 36, 60, drawn),
    bounded("FullStory key", "na1.", Letters::Base64, 40, 140, all_kinds),
    bounded("FullStory key", "eu1.", Letters::Base64, 40, 140, all_kinds),
    bounded("Firebase key", "AAAA", Letters::Colon, 148, 160, messages),
    bounded("Instagram token", "IGQVJ", Letters::Base64, 50, MANY, drawn),
    bounded("Instagram token", "IGQ", Letters::Url, 100, MANY, all_kinds),
    bounded("LinkedIn token", "AQ", Letters::Url, 200, 1_000, all_kinds),
    bounded("LinkedIn secret", "WPL_AP1.", Letters::Base64, 16, 60, varied),
    bounded("Mailgun key", "key-", Letters::Alnum, 32, 32, drawn),
    bounded("Mapbox token", "tk.", Letters::Dotted, 60, 400, all_kinds),
    bounded("OneSignal key", "os_v2_app_", Letters::Alnum, 90, 110, varied),
    bounded("OneSignal key", "os_v2_org_", Letters::Alnum, 90, 110, varied),
    bounded("Onfido token", "api_live.", Letters::Dotted, 20, 80, varied),
    bounded("Onfido token", "api_live_us.", Letters::Dotted, 20, 80, varied),
    bounded("Onfido token", "api_live_ca.", Letters::Dotted, 20, 80, varied),
    bounded("Onfido token", "api_sandbox.", Letters::Dotted, 20, 80, varied),
    bounded("Pinterest token", "pina_", Letters::Url, 20, 200, varied),
    bounded("Riot key", "RGAPI-", Letters::Url, 36, 36, varied),
    bounded("Samsara token", "samsara_api_", Letters::Alnum, 26, 40, varied),
    bounded("Salesforce key", "3MVG9", Letters::Base64Dots, 75, 260, all_kinds),
    bounded("Salesforce token", "5AEP861", Letters::Base64Dots, 76, 260, all_kinds),
    bounded("Shutterstock token", "v2/", Letters::Alnum, 300, 500, all_kinds),
    bounded("SendGrid key", "SG.", Letters::Dotted, 56, 76, |body| {
        body.split_once('.').is_some_and(|(id, key)| {
            (16..=32).contains(&id.len()) && (32..=64).contains(&key.len()) && !key.contains('.')
        }) && all_kinds(body)
    }),
    bounded("Storyblok token", "tt-", Letters::Url, 27, 40, drawn),
    // Work.
    bounded("1Password token", "ops_eyJ", Letters::Base64, 80, MANY, all_kinds),
    bounded("1Password token", "ops_eyj", Letters::Base64, 80, MANY, all_kinds),
    bounded("Atlassian token", "ATATT3", Letters::Base64, 30, MANY, all_kinds),
    bounded("Atlassian token", "ATSTT3", Letters::Base64, 100, MANY, all_kinds),
    bounded("Atlassian token", "BBDC-", Letters::Base64, 40, 50, all_kinds),
    bounded("Airtable token", "pat", Letters::Dotted, 77, 82, |body| {
        body.split_once('.').is_some_and(|(id, key)| id.len() == 14 && (62..=66).contains(&key.len()) && drawn(key))
    }),
    bounded("Airtable key", "oaa", Letters::Dotted, 80, 130, |body| body.contains(".v1.") && drawn(body)),
    bounded("Authress key", "authress_", Letters::Base64Dots, 50, 220, authress),
    bounded("Authress key", "scauth_", Letters::Base64Dots, 50, 220, authress),
    bounded("Authress key", "sc_", Letters::Base64Dots, 50, 220, authress),
    bounded("Authress key", "ext_", Letters::Base64Dots, 50, 220, authress),
    bounded("Dropbox token", "sl.u.", Letters::Url, 77, MANY, all_kinds),
    bounded("Dropbox token", "sl.", Letters::Url, 77, MANY, all_kinds),
    bounded("DevCycle key", "dvc_server_", Letters::Url, 8, 80, drawn),
    bounded("HubSpot token", "pat-na1-", Letters::Url, 36, 36, five),
    bounded("HubSpot token", "pat-eu1-", Letters::Url, 36, 36, five),
    bounded("Ionic token", "ion_", Letters::Alnum, 42, 42, drawn),
    bounded("Lark token", "t-g", Letters::Dotted, 30, 60, unmixed),
    bounded("Notion token", "nrt_", Letters::Url, 40, 60, drawn),
    bounded("Notion token", "ntn_", Letters::Url, 40, 255, drawn),
    bounded("Nightfall key", "NF-", Letters::Alnum, 32, 32, all_kinds),
    bounded("Postman token", "PMAT-", Letters::Upper, 26, 26, drawn),
    bounded("PubNub key", "sub-c-", Letters::Url, 36, 36, drawn),
    bounded("Voiceflow key", "VF.", Letters::Dotted, 41, 44, drawn),
    bounded("42 school secret", "s-s4t2ud-", Letters::Hex, 64, 64, varied),
    bounded("42 school secret", "s-s4t2af-", Letters::Hex, 64, 64, varied),
    // What is watched and measured.
    bounded("Dynatrace token", "dt0", Letters::Dotted, 92, 94, |body| {
        body.split_once('.').is_some_and(|(_, rest)| versioned(rest))
    }),
    bounded("Grafana key", "glc_eyJ", Letters::Base64, 40, MANY, varied),
    bounded("New Relic key", "NRIQ-", Letters::Url, 25, 40, drawn),
    bounded("New Relic key", "nrak-", Letters::Alnum, 27, 27, drawn),
    bounded("New Relic key", "nraa-", Letters::Hex, 27, 27, drawn),
    bounded("New Relic key", "nrii-", Letters::Url, 32, 32, drawn),
    bounded("New Relic key", "nriq-", Letters::Url, 25, 32, drawn),
    bounded("New Relic key", "nrra-", Letters::Hex, 42, 42, drawn),
    bounded("New Relic key", "NRBR-", Letters::Hex, 19, 20, drawn),
    bounded("New Relic key", "NRJS-", Letters::Hex, 19, 20, drawn),
    bounded("New Relic key", "NRMA-", Letters::Hex, 40, 42, drawn),
    bounded("PostHog key", "phs_", Letters::Alnum, 40, 60, drawn),
    bounded("PostHog key", "pha_", Letters::Alnum, 40, 60, drawn),
    bounded("PostHog key", "phr_", Letters::Alnum, 40, 60, drawn),
    bounded("PostHog key", "phx_", Letters::Url, 40, 60, varied),
    bounded("pganalyze key", "pgar_", Letters::Alnum, 27, 27, drawn),
    bounded("Sentry token", "sntrys_", Letters::Base64, 80, MANY, all_kinds),
    bounded("Checkout key", "sk_", Letters::Url, 36, 36, uuid),
    bounded("redirect.pizza token", "rpa_", Letters::Alnum, 32, 32, drawn),
    bounded("HubSpot token", "pat-", Letters::Url, 39, 40, |body| {
        body.split_once('-').is_some_and(|(region, rest)| region.len() <= 3 && uuid(rest))
    }),
    bounded("1Password recovery code", "1PRK-", Letters::Url, 60, 72, drawn),
    hex("Runway key", "key_", 128),
    bounded("GitHub token in base64", "Z2hwX", Letters::Base64, 45, 340, all_kinds),
    bounded("GitHub token in base64", "Z2hvX", Letters::Base64, 45, 340, all_kinds),
    bounded("GitHub token in base64", "Z2h1X", Letters::Base64, 45, 340, all_kinds),
    bounded("GitHub token in base64", "Z2hzX", Letters::Base64, 45, 340, all_kinds),
    bounded("GitHub token in base64", "Z2hyX", Letters::Base64, 45, 340, all_kinds),
    bounded("GitHub token in base64", "Z2l0aHViX3BhdF", Letters::Base64, 45, 340, all_kinds),
    bounded("GitHub token", "ghr_", Letters::Url, 36, 255, drawn),
    bounded("GitHub token", "ghs_", Letters::Url, 36, 255, drawn),
    // Sessions, tickets and hashes.
    bounded("GitLab session", "_gitlab_session=", Letters::Hex, 32, 32, varied),
    bounded("Kerberos ticket", "$krb5asrep$23$", Letters::Crypt, 64, MANY, any).likely(),
    bounded("Kerberos ticket", "$krb5tgs$23$", Letters::Crypt, 64, MANY, any).likely(),
    bounded("NTLM message", "TlRMTVNTUAABAAAA", Letters::Base64, 28, MANY, any),
    bounded("NTLM message", "TlRMTVNTUAADAAAA", Letters::Base64, 28, MANY, any),
    bounded("Google key in base64", "QUl6YVN", Letters::Base64, 45, 47, varied),
    bounded("Google account key", "ewogICJ0eXBlIjogInNlcnZpY2VfYWNjb3VudCIs", Letters::Base64, 50, MANY, any),
    // Currencies.
    bounded("extended private key", "xprv", Letters::Alnum, 107, 108, all_kinds),
    bounded("extended private key", "yprv", Letters::Alnum, 107, 108, all_kinds),
    bounded("extended private key", "zprv", Letters::Alnum, 107, 108, all_kinds),
    bounded("extended private key", "tprv", Letters::Alnum, 107, 108, all_kinds),
    bounded("Nostr private key", "nsec1", Letters::Alnum, 58, 58, drawn),
    bounded("Sui private key", "suiprivkey1", Letters::Alnum, 58, 70, drawn),
    bounded("Cardano private key", "ed25519e_sk1", Letters::Alnum, 80, 180, drawn),
];

const MANY: usize = usize::MAX;

/// Base 32 with all its letters, as a seed of NATS is written.
fn nkey(body: &str) -> bool {
    body.bytes().all(|b| b.is_ascii_uppercase() || (b'2'..=b'7').contains(&b)) && drawn(body)
}
