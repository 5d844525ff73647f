//! Names that tell: what stands under them is secret.

use std::sync::LazyLock;

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
    ("secretid", Says::Token),
    ("privkey", Says::Token),
    ("privatekeyhex", Says::Token),
    ("wif", Says::Key),
    ("mdp", Says::Password),
    ("clave", Says::Password),
    ("private", Says::Key),
    ("access", Says::Key),
    ("secrettoken", Says::Token),
    ("accesscode", Says::Token),
    ("passkey", Says::Token),
    ("losenord", Says::Password),
    ("salasana", Says::Password),
    ("parola", Says::Password),
    ("adgangskode", Says::Password),
    ("userpass", Says::Password),
    ("secrets", Says::Token),
    ("tokens", Says::Token),
    ("apisecret", Says::Token),
    ("apicode", Says::Token),
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

/// The longest name that is looked at, in bytes; of a longer one its end.
const LONGEST: usize = 160;

/// A name in lower case without separators.
pub(super) struct Plain {
    letters: [u8; LONGEST],
    length: usize,
}

impl std::ops::Deref for Plain {
    type Target = str;

    fn deref(&self) -> &str {
        // Only letters and digits of ASCII are there.
        self.letters.get(..self.length).and_then(|letters| std::str::from_utf8(letters).ok()).unwrap_or("")
    }
}

/// Returns a name in lower case without separators, and without digits at its end.
pub(super) fn plain(name: &str) -> Plain {
    let mut plain = Plain { letters: [0; LONGEST], length: 0 };
    let bytes = name.as_bytes();
    let end = bytes.get(bytes.len().saturating_sub(LONGEST)..).unwrap_or(bytes);
    for (place, byte) in plain.letters.iter_mut().zip(end.iter().filter(|byte| byte.is_ascii_alphanumeric())) {
        *place = byte.to_ascii_lowercase();
        plain.length += 1;
    }
    let digits = plain.as_bytes().iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    plain.length -= digits;
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

/// The same for the last three letters of longer words: `let` and `set` end like `secret`, and tell nothing.
static TRIPLES: [u32; 1024] = {
    let mut triples = [0u32; 1024];
    let mut n = 0;
    while n < ENDINGS.len() {
        triples = with_triple(triples, ENDINGS[n].0.as_bytes());
        n += 1;
    }
    n = 0;
    while n < BEHIND.len() {
        triples = with_triple(triples, BEHIND[n].as_bytes());
        n += 1;
    }
    triples
};

const fn with_triple(mut triples: [u32; 1024], word: &[u8]) -> [u32; 1024] {
    let (last, before) = (word[word.len() - 1], word[word.len() - 2]);
    let place = (last & 31) as usize * 32 + (before & 31) as usize;
    // Before an ending of two letters any other may stand.
    triples[place] |= if word.len() > 2 { 1 << (word[word.len() - 3] & 31) } else { u32::MAX };
    triples
}

/// Returns whether a word may tell something, by its last letters; `false` is certain. “By” counts, as in “identified
/// by”.
pub(super) fn may_tell(word: &str) -> bool {
    let letters = word.bytes().rev().filter(u8::is_ascii_alphanumeric);
    let mut letters = letters.skip_while(u8::is_ascii_digit);
    let (Some(last), Some(before)) = (letters.next(), letters.next()) else { return false };
    match letters.next() {
        None => PAIRS.get(usize::from(last & 31)).is_some_and(|befores| befores & 1 << (before & 31) != 0),
        Some(first) => TRIPLES.get(place_of(last, before)).is_some_and(|firsts| firsts & 1 << (first & 31) != 0),
    }
}

fn place_of(last: u8, before: u8) -> usize {
    usize::from(last & 31) * 32 + usize::from(before & 31)
}

/// Endings by their last two letters.
struct Endings<T>(Vec<Vec<(&'static str, T)>>);

impl<T: Copy> Endings<T> {
    fn new(endings: impl Iterator<Item = (&'static str, T)>) -> Endings<T> {
        let mut places: Vec<Vec<(&'static str, T)>> = (0..1024).map(|_| Vec::new()).collect();
        for (end, said) in endings {
            if let Some([before, last]) = end.as_bytes().last_chunk()
                && let Some(place) = places.get_mut(place_of(*last, *before))
            {
                place.push((end, said));
            }
        }
        // The longest that fits says the most.
        places.iter_mut().for_each(|place| place.sort_by_key(|(end, _)| std::cmp::Reverse(end.len())));
        Endings(places)
    }

    /// Returns the longest of the endings that a name has.
    fn of(&self, name: &str) -> Option<(&'static str, T)> {
        let [before, last] = name.as_bytes().last_chunk()?;
        self.0.get(place_of(*last, *before))?.iter().find(|(end, _)| name.ends_with(end)).copied()
    }
}

static TELLING: LazyLock<Endings<Says>> = LazyLock::new(|| Endings::new(ENDINGS.iter().copied()));
static OPENS: LazyLock<Endings<()>> = LazyLock::new(|| Endings::new(OPEN.iter().map(|end| (*end, ()))));
static BEHINDS: LazyLock<Endings<()>> = LazyLock::new(|| Endings::new(BEHIND.iter().map(|end| (*end, ()))));

/// Builds the tables now, so that no text pays for them.
pub(super) fn prepare() {
    LazyLock::force(&TELLING);
    LazyLock::force(&OPENS);
    LazyLock::force(&BEHINDS);
}

/// Returns what a plain name says of the values under it; `None` when it says nothing.
pub(super) fn says(name: &str) -> Option<Says> {
    if !may_tell(name) {
        return None;
    }
    ending(name).or_else(|| {
        let (behind, ()) = BEHINDS.of(name)?;
        let before = name.get(..name.len() - behind.len())?;
        ending(before.trim_end_matches(|c: char| c.is_ascii_digit()))
    })
}

fn ending(name: &str) -> Option<Says> {
    let (end, says) = TELLING.of(name)?;
    let open = || OPENS.of(name).is_some();
    let told = || ["public", "checksum", "fingerprint"].iter().any(|word| name.contains(word));
    // A name that is the ending itself says nothing else, unless that is open.
    (!open() && (end.len() == name.len() || !told())).then_some(says)
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
            ("password", Some(Says::Password)),
            ("public_password", None),
            ("passwordFingerprint", None),
            ("let", None),
            ("pw", Some(Says::Password)),
            ("mypw", Some(Says::Password)),
            ("pat", Some(Says::Key)),
            ("compat", None),
            ("token-production2", Some(Says::Token)),
        ] {
            assert_eq!(of(name), expected, "{name}");
        }
    }

    #[test]
    fn no_ending_is_lost_before_it_is_looked_up() {
        for (end, says) in ENDINGS {
            for name in [end.to_string(), format!("x{end}"), format!("X_{}7", end.to_uppercase())] {
                assert!(may_tell(&name), "{name}");
                let longest = ENDINGS.iter().filter(|(other, _)| end.ends_with(other)).max_by_key(|(end, _)| end.len());
                assert_eq!(TELLING.of(&plain(&name)), longest.copied(), "{name} {says:?}");
            }
            for behind in BEHIND.iter().filter(|behind| !behind.ends_with(|c: char| c.is_ascii_digit())) {
                assert!(may_tell(&format!("{end}_{behind}")), "{end} {behind}");
            }
        }
        assert!(may_tell("by") && !may_tell("b") && !may_tell(""));
        let long = format!("{}password", "x".repeat(1_000));
        assert_eq!(says(&plain(&long)), Some(Says::Password));
    }
}
