//! Names that tell: what stands under them is secret.

/// What a name says of the values under it. The order is by how much it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// Keys of many kinds, some of them open: only a long and varied value counts.
    Key,
    /// A token, a key to an interface or the like.
    Token,
    /// A password: shorter values count.
    Password,
    /// A user and a password with a colon between.
    Pair,
}

/// Endings of names whose values are secret, in lower case without separators.
const ENDINGS: &[(&str, Says)] = &[
    ("apikey", Says::Token),
    ("apitoken", Says::Token),
    ("token", Says::Token),
    ("secret", Says::Token),
    ("password", Says::Password),
    ("passwd", Says::Password),
    ("passwort", Says::Password),
    ("kennwort", Says::Password),
    ("motdepasse", Says::Password),
    ("wachtwoord", Says::Password),
    ("contrasena", Says::Password),
    ("senha", Says::Password),
    ("haslo", Says::Password),
    ("passcode", Says::Password),
    ("pwd", Says::Password),
    ("passphrase", Says::Password),
    ("psk", Says::Password),
    ("apikeys", Says::Token),
    ("apitokens", Says::Token),
    ("passwords", Says::Password),
    ("pw", Says::Password),
    ("pass", Says::Password),
    ("credential", Says::Token),
    ("credentials", Says::Token),
    ("creds", Says::Token),
    ("accesskey", Says::Token),
    ("secretkey", Says::Token),
    ("secretkeybase", Says::Token),
    ("authkey", Says::Token),
    ("privatekey", Says::Token),
    ("clientsecret", Says::Token),
    ("licensekey", Says::Token),
    ("encryptionkey", Says::Token),
    ("signingkey", Says::Token),
    ("masterkey", Says::Token),
    ("accesskeyid", Says::Token),
    ("accessid", Says::Token),
    ("authtoken", Says::Token),
    ("userauth", Says::Token),
    ("sessionid", Says::Key),
    ("clientkeydata", Says::Token),
    ("xamzsignature", Says::Key),
    ("artapi", Says::Token),
    ("bearer", Says::Token),
    ("secretvalue", Says::Token),
    ("jwt", Says::Token),
    ("pat", Says::Key),
    ("key", Says::Key),
    ("auth", Says::Key),
    ("srt", Says::Key),
    ("login", Says::Key),
    ("contribsyscom", Says::Pair),
];

/// Endings that look like the above and are not secret.
const OPEN: &[&str] = &[
    "publickey",
    "pubkey",
    "publictoken",
    "csrftoken",
    "xsrftoken",
    "primarykey",
    "foreignkey",
    "sortkey",
    "cachekey",
    "partitionkey",
    "hotkey",
    "monkey",
    "turkey",
    "keyboardkey",
    "bypass",
    "compass",
    "indexkey",
    "eventkey",
    "rowkey",
    "mapkey",
    "objectkey",
    "groupkey",
    "routingkey",
    "requestkey",
    "correlationkey",
    "idempotencykey",
    "nexttoken",
    "pagetoken",
    "continuationtoken",
    "idxkey",
    "surpass",
    "trespass",
    "passthrough",
    "hashkey",
    "keykey",
    "sequencekey",
    "lookupkey",
    "kmskey",
    "hostkey",
    "sitekey",
    "stringkey",
    "entrykey",
    "translationkey",
    "i18nkey",
    "dedupkey",
    "dedupekey",
    "tokenizer",
    "compat",
    "pushtoken",
    "cursortoken",
    "synctoken",
    "s3key",
    "bucketkey",
    "filekey",
    "messagekey",
    "threadkey",
    "uniquekey",
    "dictkey",
    "jsonkey",
    "widgetkey",
    "nonsecret",
    "buypass",
    "onepass",
    "allowcredentials",
    "pkey",
    "propkey",
    "notasecret",
    "distinguishingkey",
    "publishablekey",
    "anonkey",
    "spat",
    "tpat",
    "sshkey",
    "gpgkey",
    "expat",
    "repeat",
    "heartbeat",
    "format",
    "encompass",
    "deduplicationkey",
    "releasekey",
    "issuekey",
    "projectkey",
    "jirakey",
    "featurekey",
    "flagkey",
    "metrickey",
    "labelkey",
    "configkey",
    "settingkey",
    "registrykey",
];

/// What may stand behind the word that tells: `API_KEY_PROD`, `password1`, `token_value`.
const BEHIND: &[&str] = &[
    "production",
    "prod",
    "staging",
    "stage",
    "development",
    "dev",
    "test",
    "live",
    "primary",
    "secondary",
    "old",
    "new",
    "current",
    "value",
    "str",
    "string",
    "base64",
    "b64",
    "hex",
    "raw",
    "plain",
    "plaintext",
    "env",
];

/// Returns a name in lower case without separators.
pub(super) fn plain(name: &str) -> String {
    let mut plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    plain.truncate(plain.trim_end_matches(|c: char| c.is_ascii_digit()).len());
    plain
}

/// The last two letters of all endings that tell, one bit for each pair: most words end in none of them.
static PAIRS: [u32; 32] = {
    let mut pairs = [0u32; 32];
    let mut n = 0;
    while n < ENDINGS.len() {
        pairs = with_pair(pairs, ENDINGS[n].0.as_bytes());
        n += 1;
    }
    n = 0;
    while n < BEHIND.len() {
        pairs = with_pair(pairs, BEHIND[n].as_bytes());
        n += 1;
    }
    with_pair(pairs, b"by")
};

const fn with_pair(mut pairs: [u32; 32], word: &[u8]) -> [u32; 32] {
    let (last, before) = (word[word.len() - 1], word[word.len() - 2]);
    pairs[(last & 31) as usize] |= 1 << (before & 31);
    pairs
}

/// Returns whether a word may tell something, by its last two letters; `false` is certain. “By” counts, as in “identified
/// by”.
pub(super) fn may_tell(word: &str) -> bool {
    let letters = word.bytes().rev().filter(u8::is_ascii_alphanumeric);
    let mut letters = letters.skip_while(u8::is_ascii_digit);
    let (Some(last), Some(before)) = (letters.next(), letters.next()) else { return false };
    PAIRS.get(usize::from(last & 31)).is_some_and(|befores| befores & 1 << (before & 31) != 0)
}

/// Returns what a plain name says of the values under it; `None` when it says nothing.
pub(super) fn says(name: &str) -> Option<Says> {
    if !may_tell(name) {
        return None;
    }
    ending(name).or_else(|| {
        let behind = BEHIND.iter().find(|behind| name.ends_with(**behind))?;
        let before = name.get(..name.len() - behind.len())?;
        ending(before.trim_end_matches(|c: char| c.is_ascii_digit()))
    })
}

fn ending(name: &str) -> Option<Says> {
    // Most names end in no letter with which one that tells ends.
    if !matches!(
        name.as_bytes().last(),
        Some(b'y' | b'n' | b't' | b'd' | b'e' | b'a' | b'o' | b'w' | b's' | b'l' | b'r' | b'h' | b'm' | b'i' | b'k')
    ) {
        return None;
    }
    // The last two letters tell most apart, for less than a comparison of texts.
    let tail = name.as_bytes().last_chunk::<2>();
    let ends = |end: &&str| end.as_bytes().last_chunk() == tail && name.ends_with(*end);
    let (_, says) = ENDINGS.iter().filter(|(end, _)| ends(end)).max_by_key(|(end, _)| end.len())?;
    let open = OPEN.iter().any(ends);
    let told = open || name.contains("public") || name.contains("checksum") || name.contains("fingerprint");
    (!told).then_some(*says)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_by_their_last_words() {
        let of = |name: &str| says(&plain(name));
        for (name, expected) in [
            ("OPENAI_API_KEY", Some(Says::Token)),
            ("db.password", Some(Says::Password)),
            ("DB_PASSWORD_PROD", Some(Says::Password)),
            ("secret-key2", Some(Says::Token)),
            ("storageKey", Some(Says::Key)),
            ("cacheKey", None),
            ("public_key", None),
            ("monkey", None),
            ("author", None),
            ("checksum", None),
            ("password_hash", None),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }
}
