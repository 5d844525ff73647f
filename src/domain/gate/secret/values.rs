//! What a value looks like: a placeholder, a name, a digest, something encrypted, or a secret.
//!
//! All of it looks at a bounded part of the value, so that a scan stays linear.

use aho_corasick::AhoCorasick;
use std::sync::LazyLock;

/// How much of a value is looked at, in bytes.
const LOOKED_AT: usize = 512;

/// Parts of a value that are written to show where a secret goes. Without regard to case.
const PLACEHOLDERS: &[&str] = &[
    "xxxx",
    "****",
    "....",
    "####",
    "example",
    "placeholder",
    "redacted",
    "your_",
    "your-",
    "yourkey",
    "yourtoken",
    "yourapi",
    "yoursecret",
    "yourpass",
    "changeme",
    "change_me",
    "change-me",
    "insert",
    "dummy",
    "notreal",
    "not_real",
    "not-a-real",
    "notasecret",
    "todo",
    "fixme",
    "replace",
    "abcdefghijkl",
    "my-secret",
    "mysecret",
    "my_secret",
    "mypassword",
    "my-password",
    "my_password",
    "put_your",
    "token_here",
    "key_here",
    "tokenhere",
    "keyhere",
    "_here",
    "-here",
    "0000000000",
    "aaaaaaaaaa",
    "undefined",
    "process.env",
    "os.environ",
    "getenv",
    "env.",
    "system.getproperty",
    "secrets.",
    "${",
    "$(",
    "{{",
    "<%",
    "…",
];

/// How values begin that are encrypted, or that name where a secret is kept. Without regard to case.
const KEPT_ELSEWHERE: &[&str] = &[
    "enc[",
    "enc(",
    "enc:",
    "{aes}",
    "{cipher}",
    "{enc}",
    "vault:",
    "$ansible_vault",
    "!vault",
    "aqicah",
    "ageni",
    // What is made to be published: the open halves of keys to maps and shops.
    "pk.eyj",
    "pk_live_",
    "pk_test_",
    "op://",
    "arn:",
    "projects/",
    "secretref",
    "secretsmanager",
    "@microsoft.keyvault",
    "keyring:",
    "keychain:",
    "file:",
    "ssm:",
    "awssm:",
    "doppler:",
    "bao:",
    "ref+",
    "age1",
    "ssh-",
    "ecdsa-",
    "sk-ssh-",
    "sha1-",
    "sha1:",
    "sha256-",
    "sha256:",
    "sha384-",
    "sha512-",
    "sha512:",
    "md5:",
    "md5-",
    "blake",
    "data:",
    "urn:",
    "mailto:",
];

static WORDS: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(PLACEHOLDERS).ok());

/// Builds the tables now, so that no text pays for them.
pub(super) fn prepare() {
    LazyLock::force(&WORDS);
}

/// Returns the part of a value that is looked at.
pub(super) fn head(value: &str) -> &str {
    let mut end = value.len().min(LOOKED_AT);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    value.get(..end).unwrap_or("")
}

/// Returns whether a value is written to show where a secret goes: `xxxx`, `<your key>`, `$KEY`, `EXAMPLE`.
pub(super) fn is_placeholder(value: &str) -> bool {
    let value = head(value);
    let named = value.starts_with(['%', '<']) || value.ends_with('>');
    let variable = value
        .strip_prefix(['$', '{', '@'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '{' | '(' | '$')))
        // No variable has numbers all over: `$ecRet…` is a password with a sign in front.
        && !is_leet(value);
    value.is_empty()
        || named
        || variable
        || value.ends_with("...")
        // Without the table nothing is spared.
        || WORDS.as_ref().is_some_and(|words| words.is_match(value))
}

/// Returns whether a value is a sign and a word in which numbers stand between letters more than once.
fn is_leet(value: &str) -> bool {
    let inner = value.get(1..).unwrap_or("");
    let between = |three: &[u8]| matches!(three, [a, b, c] if a.is_ascii_alphabetic() && b.is_ascii_digit() && c.is_ascii_alphabetic());
    let counts = Counts::of(inner);
    value.starts_with('$')
        && counts.capitals > 0
        && counts.small > 0
        && inner.bytes().all(|b| b.is_ascii_alphanumeric())
        && inner.as_bytes().windows(3).filter(|three| between(three)).count() >= 2
}

/// Returns whether a value is hardly more than one character: `aaaaaaaa`, `--------`.
pub(super) fn one_letter(value: &str) -> bool {
    let mut bytes = value.bytes();
    let first = bytes.next();
    value.len() >= 4 && bytes.all(|byte| Some(byte) == first)
}

/// Returns whether a value is encrypted, a digest or a public key, or says where a secret is kept.
pub(super) fn is_kept_elsewhere(value: &str) -> bool {
    KEPT_ELSEWHERE.iter().any(|start| {
        value.as_bytes().get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
    })
}

/// Returns bits of information a character, by the frequency of characters.
pub(super) fn entropy(value: &str) -> f64 {
    let value = head(value);
    let mut counts = [0u16; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count += 1;
        }
    }
    let total = value.len().max(1) as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}

/// How many digits, small letters, capitals and other characters a value has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) digits: usize,
    pub(super) small: usize,
    pub(super) capitals: usize,
    pub(super) others: usize,
}

impl Counts {
    /// Counts the part of a value that is looked at.
    pub(super) fn of(value: &str) -> Counts {
        let mut counts = Counts::default();
        for byte in head(value).bytes() {
            match byte {
                b'0'..=b'9' => counts.digits += 1,
                b'a'..=b'z' => counts.small += 1,
                b'A'..=b'Z' => counts.capitals += 1,
                _ => counts.others += 1,
            }
        }
        counts
    }

    /// Returns how many letters there are.
    pub(super) fn letters(self) -> usize {
        self.small + self.capitals
    }

    /// Returns whether letters and digits are mixed.
    pub(super) fn mixed(self) -> bool {
        self.digits > 0 && self.letters() > 0
    }
}

/// Returns whether a value looks drawn by lot, without any name that says what it is.
pub(super) fn is_random(value: &str, least: usize) -> bool {
    let counts = Counts::of(value);
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+' | b'/' | b'=' | b'.');
    value.len() >= least
        && value.bytes().take(LOOKED_AT).all(letters)
        && counts.digits >= 3
        && counts.letters() >= 3
        && entropy(value) >= 3.0
        && !is_placeholder(value)
        && !is_kept_elsewhere(value)
        && !is_slug(value)
        && !is_file(value)
        && !value.starts_with(['/', '-', '.'])
}

/// Returns whether a value looks drawn by lot where something tells of a secret: no digits are asked for.
pub(super) fn is_drawn(value: &str, least: usize) -> bool {
    let counts = Counts::of(value);
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'+' | b'/' | b'=');
    value.len() >= least
        && value.bytes().take(LOOKED_AT).all(letters)
        && !is_placeholder(value)
        && !is_slug(value)
        && !is_numbered_slug(value)
        && (is_jumbled(value) || counts.digits > 0 && entropy(value) >= 3.0 && !is_identifier(value))
}

/// Returns whether a value is words and numbers with dashes between: a name, not a key.
pub(super) fn is_slug(value: &str) -> bool {
    let split = |c: char| matches!(c, '-' | '_' | '.' | ':' | '/');
    let parts = || head(value).split(split).filter(|part| !part.is_empty());
    // The parts of a UUID, and of two hexadecimal numbers, are no words.
    if parts().all(|part| part.bytes().all(|b| b.is_ascii_hexdigit())) {
        return false;
    }
    parts().nth(1).is_some()
        && parts().all(|part| {
            let word = part.bytes().all(|b| b.is_ascii_lowercase()) || part.bytes().all(|b| b.is_ascii_uppercase());
            word || part.bytes().all(|b| b.is_ascii_digit()) || part.len() <= 4
        })
        && parts().any(|part| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Returns whether a value is a name of a programming language: words whose capitals and digits follow a plan.
pub(super) fn is_identifier(value: &str) -> bool {
    let value = head(value);
    let mut last = 0u8;
    let (mut changes, mut numbers) = (0usize, 0usize);
    for byte in value.bytes() {
        let class = match byte {
            b'a'..=b'z' => 1,
            b'A'..=b'Z' => 2,
            b'0'..=b'9' => 3,
            b'_' => 4,
            _ => return false,
        };
        // A capital begins a word, so that small letters behind it are no change.
        numbers += usize::from(class == 3 && last != 3);
        changes += usize::from(last != 0 && class != last && !(last == 2 && class == 1) && class != 4 && last != 4);
        last = class;
    }
    let digits = Counts::of(value).digits;
    // Names hold one number or two; what was drawn by lot has them all over.
    !value.starts_with(|c: char| c.is_ascii_digit())
        && numbers <= 2
        && changes * 10 <= value.len() * 3
        && digits * 4 < value.len()
        && !is_jumbled(value)
        && (value.len() < 16 || !unspoken(value))
}

/// For each letter, the letters that hardly follow it in words: pairs with less than six in ten thousand of those in texts
/// and programs in English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish and Polish. The first bit is `a`.
const RARE: [u32; 26] = [
    0x081_4290, 0x3e9_b6ee, 0x1e1_b26a, 0x3e9_b6e6, 0x000_0200, 0x3e5_b6ce, 0x3e9_966e, 0x3f5_beee, 0x151_0180,
    0x3ff_ffef, 0x3f3_beee, 0x2e3_b6e2, 0x3eb_2eec, 0x2c3_9a82, 0x381_0280, 0x3e1_366e, 0x3ef_ffff, 0x0c1_02a2,
    0x0e3_226a, 0x2e1_366a, 0x3f1_46c0, 0x3ff_beee, 0x3fd_beee, 0x3f7_7fef, 0x3f3_6ffb, 0x2ff_feee,
];

/// Returns whether nobody could speak what the letters spell: too many of them follow one another as in no word.
pub(super) fn unspoken(value: &str) -> bool {
    let (mut pairs, mut rare) = (0usize, 0usize);
    let mut last = b' ';
    for byte in head(value).bytes() {
        // A capital behind a small letter begins a word.
        let begins = last.is_ascii_lowercase() && byte.is_ascii_uppercase();
        if last.is_ascii_alphabetic() && byte.is_ascii_alphabetic() && !begins {
            let followers = RARE.get(usize::from(last.to_ascii_lowercase() - b'a')).copied().unwrap_or(0);
            pairs += 1;
            rare += usize::from(followers >> (byte.to_ascii_lowercase() - b'a') & 1 == 1);
        }
        last = byte;
    }
    pairs >= 7 && rare * 100 >= pairs * 38
}

/// Returns whether letters are so mixed that no words can be meant by them: words that begin with capitals are longer
/// than what chance makes, and every third of their letters is a vowel.
pub(super) fn is_jumbled(value: &str) -> bool {
    let value = head(value);
    let counts = Counts::of(value);
    let letters = counts.letters();
    let vowels = value.bytes().filter(|b| b"aeiouyAEIOUY".contains(b)).count();
    if letters < 8 || !value.bytes().all(|b| b.is_ascii_alphanumeric()) || entropy(value) < 2.8 {
        return false;
    }
    if counts.capitals * 5 < letters || counts.small * 5 < letters {
        return value.len() >= 20 && vowels * 100 <= letters * 27 || value.len() >= 10 && unspoken(value);
    }
    // A word begins where a capital follows a small letter, or where the last of some capitals has small ones behind.
    let begins = |three: &[u8]| match three {
        [a, b, c] => b.is_ascii_uppercase() && (!a.is_ascii_uppercase() || c.is_ascii_lowercase()),
        _ => false,
    };
    let words = 1 + value.as_bytes().windows(3).filter(|three| begins(three)).count();
    let long = value.len() >= 16;
    (words * 5 >= value.len() * 2 || long && words * 3 >= value.len())
        || (words * 4 >= value.len() && vowels * 100 < letters * if long { 35 } else { 30 })
}

/// Returns whether a value is a slug in which words end in numbers: `aarch64-unknown-linux`.
pub(super) fn is_numbered_slug(value: &str) -> bool {
    let parts = || head(value).split(['-', '.', ':', '/', '_']).filter(|part| !part.is_empty());
    parts().nth(1).is_some()
        && parts().all(|part| {
            let word = part.trim_end_matches(|c: char| c.is_ascii_digit());
            let numbers = part.len() - word.len();
            let one_case = word.bytes().all(|b| b.is_ascii_lowercase()) || word.bytes().all(|b| b.is_ascii_uppercase());
            one_case && numbers <= 4 && (word.len() > numbers || word.is_empty())
        })
        && parts().any(|part| part.len() >= 3 && part.bytes().all(|b| b.is_ascii_alphabetic()))
}

/// Returns whether a value names a file or a host.
pub(super) fn is_file(value: &str) -> bool {
    let extension = value.rsplit_once('.').map(|(_, extension)| extension).unwrap_or("");
    matches!(
        extension,
        "pem"
            | "key"
            | "cer"
            | "crt"
            | "pub"
            | "json"
            | "yml"
            | "yaml"
            | "toml"
            | "txt"
            | "env"
            | "com"
            | "org"
            | "net"
            | "io"
            | "dev"
            | "py"
            | "js"
            | "ts"
            | "go"
            | "rs"
            | "rb"
            | "md"
            | "sh"
            | "html"
            | "java"
            | "php"
            | "local"
            | "internal"
    )
}

/// Returns whether a value is a UUID, whatever its case.
pub(super) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(n, b)| match n {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Returns whether the last six characters are the checksum of what stands before them, as GitHub and npm write it:
/// a CRC-32 in base 62, the most valuable digit first.
pub(super) fn ends_in_checksum(body: &str) -> bool {
    let Some((drawn, sum)) = body.len().checked_sub(6).and_then(|at| body.split_at_checked(at)) else { return false };
    let mut rest = crc32(drawn.as_bytes());
    sum.bytes().rev().all(|byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'A'..=b'Z' => byte - b'A' + 10,
            b'a'..=b'z' => byte - b'a' + 36,
            _ => return false,
        };
        let fits = rest % 62 == u32::from(digit);
        rest /= 62;
        fits
    })
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = !0u32;
    for byte in bytes.iter().take(LOOKED_AT) {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg());
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_published_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let drawn = "q7Zr2LkVw9XbT4nYc8HsJ5mPdA3fGe";
        let mut rest = crc32(drawn.as_bytes());
        let mut sum = Vec::new();
        for _ in 0..6 {
            sum.push(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[(rest % 62) as usize]);
            rest /= 62;
        }
        sum.reverse();
        let token = format!("{drawn}{}", String::from_utf8(sum).expect("ASCII"));
        assert!(ends_in_checksum(&token));
        assert!(!ends_in_checksum(&token.replacen('q', "r", 1)));
        assert!(!ends_in_checksum("abc"));
    }

    #[test]
    fn values_are_told_apart() {
        for shown in ["xxxxxxxx", "<your key>", "$KEY", "${KEY}", "{{ key }}", "AKIAEXAMPLE", "%(key)s", ""] {
            assert!(is_placeholder(shown), "{shown}");
        }
        for meant in ["Pa$$w0rd!23", "a{b}c9", "hunter2-Xq9"] {
            assert!(!is_placeholder(meant), "{meant}");
        }
        for kept in ["ENC[AES256_GCM,data:abc]", "vault:v1:abc", "op://a/b/c", "sha256-abc", "age1abc"] {
            assert!(is_kept_elsewhere(kept), "{kept}");
        }
        for drawn in ["mJbCpBoPjxd", "lKiuKpMhxqhd", "kigLRDFikdUOnsOjOwXJmBdjp9NVmtBx", "jh95pwekizqmqpqcdwhrumcwfx1e"]
        {
            assert!(is_jumbled(drawn) && !is_identifier(drawn), "{drawn}");
        }
        for meant in
            ["getUserIdByKey", "resetPasswordToken", "HTTPServerConfig", "internationalization", "sha256WithRsa"]
        {
            assert!(!is_jumbled(meant), "{meant}");
        }
        for drawn in ["fbqihqwjlkfr", "kxqzwvtjbhpd", "zgtRKWPLqxvbn"] {
            assert!(unspoken(drawn), "{drawn}");
        }
        for meant in ["internationalization", "Schluesselbund", "geheimhaltung", "contrasenya", "kubernetes", "abc"] {
            assert!(!unspoken(meant), "{meant}");
        }
        assert!(is_random("9f8e7d6c5b4a39281706f5e4d3c2b1a0", 20));
        for plain in ["release-candidate-2024-11", "src/main/java/App1.java", "v1.22.333-beta-44", "abc123"] {
            assert!(!is_random(plain, 20), "{plain}");
        }
    }
}
