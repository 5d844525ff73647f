//! Passwords that people write down: “the password for the office is …”, `密码：…`, and columns of tables.

use super::odd::Odd;
use super::values::{
    Counts, is_file, is_identifier, is_jumbled, is_kept_elsewhere, is_numbered_slug, is_placeholder, is_slug,
};
use super::{Certainty, Finding};
use std::ops::Range;
use std::sync::LazyLock;

/// Where a word for a password must end, and where it must begin, so that it is that word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Border {
    /// Its script puts no spaces between words: it is found wherever it stands.
    None,
    /// Other words are made with it, or letters hang before it: `Benutzerkennwort`, `dbPassword`, `وكلمة المرور`.
    Behind,
    /// No letter stands before it or behind it.
    Both,
}

/// Words for passwords in small letters, with the forms that sentences and lists have of them.
const IN_WORDS: &[(Border, &[&str])] = &[
    (Border::None, &["密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "รหัสผ่าน"]),
    (
        Border::Behind,
        &[
            "password",
            "passwort",
            "kennwort",
            "wachtwoord",
            "lösenord",
            "lösenordet",
            "passord",
            "passordet",
            "adgangskode",
            "adgangskoden",
            "zugangscode",
            "passphrase",
            "passcode",
            "passwd",
            "암호",
            "كلمة المرور",
            "كلمة مرور",
            "كلمة السر",
            "كلمة سر",
        ],
    ),
    (
        Border::Both,
        &[
            "pw",
            "pwd",
            "mdp",
            "mot de passe",
            "mots de passe",
            "contraseña",
            "contraseñas",
            "contrasenya",
            "contrasenyes",
            "clave",
            "claves",
            "senha",
            "senhas",
            "palavra-passe",
            "palavra passe",
            "parola",
            "parolă",
            "parolei",
            "parolası",
            "parolanız",
            "şifre",
            "şifresi",
            "şifreniz",
            "sifre",
            "sifresi",
            "пароль",
            "пароля",
            "паролю",
            "паролем",
            "пароле",
            "пароли",
            "паролей",
            "парола",
            "паролата",
            "лозинка",
            "hasło",
            "hasła",
            "hasłem",
            "haslo",
            "heslo",
            "hesla",
            "heslem",
            "heslom",
            "geslo",
            "gesla",
            "salasana",
            "salasanan",
            "salasanani",
            "salasanasi",
            "salasanaksi",
            "jelszó",
            "jelszót",
            "jelszava",
            "jelszavam",
            "lozinka",
            "lozinke",
            "lozinku",
            "κωδικός",
            "κωδικό",
            "κωδικού",
            "mật khẩu",
            "kata sandi",
            "سر",
            "السر",
            "סיסמה",
            "הסיסמה",
            "סיסמת",
            "סיסמא",
            "הסיסמא",
        ],
    ),
];

/// A word for a password as the finder looks for it.
pub(super) struct Word {
    /// The word, in small letters, with a capital, or in capitals.
    pub(super) text: String,
    border: Border,
}

/// All of them in all their cases. The finder hits each.
pub(super) static WORDS: LazyLock<Vec<Word>> = LazyLock::new(|| {
    let words = IN_WORDS.iter().flat_map(|(border, words)| words.iter().map(|word| (*border, *word)));
    words.flat_map(|(border, word)| cases(word).into_iter().map(move |text| Word { text, border })).collect()
});

/// Returns a word in small letters, with a capital, and in capitals, each once.
fn cases(word: &str) -> Vec<String> {
    let mut letters = word.chars();
    let capital = letters.next().map(|first| first.to_uppercase().chain(letters).collect());
    let mut cases: Vec<String> =
        [Some(word.to_string()), capital, Some(word.to_uppercase())].into_iter().flatten().collect();
    cases.dedup();
    cases
}

/// How much of a line is read behind the word, in bytes.
const AHEAD: usize = 160;

/// How many words for passwords are judged that stand together without white space.
const CROWD: usize = 8;

/// Reads on behind words for passwords. What lies behind many of them is looked at once.
#[derive(Default)]
pub(super) struct Prose {
    odd: Odd,
    /// Where the last word for a password ends, and how many stand together up to there.
    last: usize,
    crowd: usize,
    /// How far columns were read, by the sign between them and their place.
    read: Vec<(char, usize, usize)>,
    steps: usize,
}

impl Prose {
    /// Returns whether many words for passwords stand before this one without white space between: no sentence does that,
    /// and what is one long run costs no more.
    fn crowded(&mut self, text: &str, hit: &Range<usize>) -> bool {
        let between = text.as_bytes().get(self.last..hit.start).unwrap_or(&[]);
        let parted = between.iter().any(u8::is_ascii_whitespace);
        self.crowd = if parted { 0 } else { self.crowd + 1 };
        self.last = hit.end;
        self.crowd > CROWD
    }

    /// Returns how many bytes were read.
    pub(super) fn steps(&self) -> usize {
        self.steps + self.odd.steps
    }

    /// Finds what is said to be a password behind the word of that number, see [`WORDS`].
    pub(super) fn said(&mut self, text: &str, hit: Range<usize>, word: usize, found: &mut Vec<Finding>) {
        let Some(known) = WORDS.get(word) else { return };
        if self.crowded(text, &hit) {
            return;
        }
        let Some(next) = self.odd.next(text, hit.end, '\t').filter(|next| *next <= hit.end.saturating_add(ROWS)) else {
            return;
        };
        self.steps += AHEAD;
        let rest = clip(text, hit.end, AHEAD);
        let line_start = line_start(text, hit.start);
        let head = text.get(line_start..hit.start).unwrap_or("");
        if !stands(known, head, rest) {
            return;
        }
        if heading(head, rest) {
            self.columns(text, line_start, hit.end, found);
            return;
        }
        let line = rest.split('\n').next().unwrap_or(rest);
        if next <= hit.end + line.len() {
            said(hit, line, head, found);
        }
    }
}

/// Finds what a line says behind a word for passwords.
fn said(word: Range<usize>, rest: &str, head: &str, found: &mut Vec<Finding>) {
    // What belongs to an address, to code or to the next sentence is not said of it.
    let near = rest.split(['?', '{', '}', '<', ';', '|', '&']).next().unwrap_or(rest);
    let rest = upto(rest, near.len());
    // `:dbpassword value`, `--db-password value`: an option is linked by itself.
    let stem = head.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    let mut linked = head.len() > stem.len() && stem.ends_with(':')
        || head.get(stem.len()..).is_some_and(|word| word.starts_with('-'));
    let (mut at, mut begins) = (word.end, true);
    for (n, part) in rest.split_inclusive([' ', '\t', '：', ':', '=', '→']).take(14).enumerate() {
        let start = at;
        at += part.len();
        let sign = part.ends_with([':', '：', '=', '→']);
        let bare = part.trim_end_matches([' ', '\t', ':', '：', '=', '→']);
        let joined = glued(bare);
        // A sign within a word parts nothing: `{data:…,iv:…}`.
        let whole_word = begins || n <= 1;
        begins = !part.ends_with([':', '=']);
        // `… wifi connect home password value`: right behind the word only what no word looks like.
        let next = n == 1 && !linked && signed(bare);
        if whole_word && linked || joined.is_some() || next {
            let offset = joined.map_or(0, |value| bare.len() - value.len());
            // The value ends at white space alone.
            let from = start + offset;
            let whole = rest.get(from - word.end..).unwrap_or("").split([' ', '\t']).next().unwrap_or("");
            let (skip, value) = unquoted(whole);
            if value.len() >= 6 && is_password(value) {
                found.push(password(from + skip, value));
                return;
            }
            if joined.is_some() || n > 10 {
                return;
            }
        }
        // `user: jo / pw: …` and links of words.
        linked |= sign || links(bare.trim_matches(['*', '_', '"', '\'']));
        if linked && !sign && n > 8 {
            return;
        }
    }
}

/// Returns whether a word for a password stands there, and is not a piece of another: `pwned`, `pwd/src`, `enclave`.
fn stands(word: &Word, head: &str, rest: &str) -> bool {
    let piece = word.border == Border::None;
    // `PW는Prl…`: a particle is no part of the word.
    let longer = rest.starts_with(char::is_alphabetic) && !PARTICLES.iter().any(|particle| rest.starts_with(particle));
    let named = |c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | '/' | '(' | '-');
    let behind = piece || !(longer || word.text.is_ascii() && rest.starts_with(named));
    let before = word.border != Border::Both || !head.ends_with(char::is_alphabetic);
    // An abbreviation is more easily a piece of something.
    let short = word.text.len() <= 3 && head.ends_with(|c: char| c.is_ascii_digit() || matches!(c, '_' | '/' | '-'));
    behind && before && !short
}

/// Returns a line up to the end of the word in which a place stands: signs may be part of a password.
fn upto(rest: &str, at: usize) -> &str {
    let end = rest.get(at..).and_then(|tail| tail.find([' ', '\t'])).map_or(rest.len(), |n| at + n);
    rest.get(..end).unwrap_or(rest)
}

/// Returns whether a word has letters, digits and a sign that no word of a sentence has.
fn signed(word: &str) -> bool {
    let counts = Counts::of(word);
    word.len() >= 8
        && counts.digits > 0
        && counts.letters() > 1
        && word.contains(['#', '!', '$', '%', '^', '&', '@', '*', '+'])
}

/// Words that stand between a password and what it is for.
const LINKS: &[&str] = &[
    "is", "was", "ist", "lautet", "war", "est", "es", "é", "è", "to", "auf", "är", "er", "jest", "to:", "это", "は",
    "là", "je", "on", "-", "–", "—", "->", "→", "=>", "=", ":", "is:", "ist:", "est:", "says", "now", "heißt",
    "becomes", "和", "是", "为", "為", "nu",
];

/// The longest of them in bytes.
const LONGEST_LINK: usize = 8;

/// Returns whether a word is one that links.
fn links(word: &str) -> bool {
    (1..=LONGEST_LINK).contains(&word.len()) && LINKS.contains(&word.to_lowercase().as_str())
}

/// What hangs on a word before what is said of it.
const PARTICLES: &[&str] = &["는", "은", "가", "이", "は", "是", "为", "為", "を"];

/// `PW는Prl…`, `密码是Prl…`: the value hangs on a particle.
fn glued(part: &str) -> Option<&str> {
    PARTICLES.iter().find_map(|particle| part.strip_prefix(particle)).filter(|rest| !rest.is_empty())
}

/// Takes quotes and the signs of a sentence off a value; returns how much was taken in front.
pub(super) fn unquoted(value: &str) -> (usize, &str) {
    let signs = ['"', '\'', '`', '“', '”', '„', '«', '»', '「', '」', '*', '‘', '’', '<', '('];
    let inner = value.trim_start_matches(signs);
    let skip = value.len() - inner.len();
    let ends = [',', ';', '"', '\'', '`', '“', '”', '«', '»', '」', '‘', '’', '，', '。', '、', '；'];
    let mut inner =
        inner.split(['“', '”', '«', '»', '」', '，', '。', '、', '；']).next().unwrap_or(inner).trim_end_matches(ends);
    for end in ['.', '?', ')', '>'] {
        let counter = if end == ')' { '(' } else { end };
        if inner.ends_with(end) && (counter == end || !inner.contains(counter)) {
            inner = inner.trim_end_matches(end).trim_end_matches(ends);
        }
    }
    (skip, inner)
}

/// Returns whether a word in prose can only be a password: no word of a language is made so.
pub(super) fn is_password(value: &str) -> bool {
    if !(6..=64).contains(&value.len())
        || !value.bytes().all(|b| b.is_ascii_graphic())
        || is_placeholder(value)
        || is_kept_elsewhere(value)
        || value.contains("://")
        || value.contains("${")
        || value
            .starts_with(['/', '~', '-', '[', '{', '|', '\\', '&', '<', ':', ',', ';', '=', '?', '.', ')', '$', '%'])
        || value.ends_with(['(', '{', ':', '='])
        || is_file(value)
    {
        return false;
    }
    // What calls, indexes or names a type is code.
    let called = value.find(['(', '[', '<']).is_some_and(|at| {
        at > 0
            && value
                .get(..at)
                .is_some_and(|head| head.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-')))
    }) && value.contains([')', ']', '>', '"', '<']);
    // `minlen=12`: a setting.
    let setting = value.split_once('=').is_some_and(|(name, given)| {
        name.len() >= 3
            && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
            && given.len() <= 6
            && given.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    let listed = called
        || setting
        || value.contains('"')
        || value.contains(';') && value.contains(':')
        || value.contains('{') && value.contains(':')
        || value.contains('=') && value.contains([',', '&'])
        || value.contains(':') && value.contains('/');
    let code = listed
        || value.contains("()")
        || value.contains("::")
        || value.contains("->")
        || value.contains("=>")
        || value.contains('|');
    let counts = Counts::of(value);
    let signs =
        value.bytes().filter(|b| b.is_ascii_punctuation() && !matches!(b, b'-' | b'_' | b'.' | b'/' | b',')).count();
    let address =
        value.contains('@') && value.rsplit('@').next().is_some_and(|host| host.contains('.') && is_slug(host));
    if code || address || is_slug(value) || is_numbered_slug(value) {
        return false;
    }
    let kinds = [counts.digits, counts.small, counts.capitals, signs].iter().filter(|n| **n > 0).count();
    kinds >= 3 && counts.digits + signs > 0 && !(signs == 0 && is_identifier(value))
        || kinds >= 2 && counts.digits >= 2 && counts.letters() >= 2 && value.len() >= 8 && !is_identifier(value)
        || value.len() >= 10 && is_jumbled(value)
}

fn password(start: usize, value: &str) -> Finding {
    Finding { kind: "password", range: start..start + value.len(), certainty: Certainty::Likely }
}

/// Returns where the line begins in which a place stands, as far as it is looked at.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let mut from = at.saturating_sub(AHEAD);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text.get(from..at).and_then(|head| head.rfind('\n')).map_or(from, |n| from + n + 1)
}

/// Returns so much of a text behind a place.
pub(super) fn clip(text: &str, from: usize, most: usize) -> &str {
    let mut end = text.len().min(from.saturating_add(most));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(from..end).unwrap_or("")
}

/// Returns whether a word stands in the head of a table or of a file of comma-separated values.
fn heading(head: &str, rest: &str) -> bool {
    let rest = rest.split('\n').next().unwrap_or("");
    let plain = |text: &str, sign: char| {
        text.split(sign).all(|cell| {
            cell.len() <= 32
                && cell.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b' ' | b'_' | b'-' | b'*'))
        })
    };
    let table = head.trim_start().starts_with('|') && rest.contains('|');
    let values = [',', ';', '\t'].iter().any(|sign| {
        (head.contains(*sign) || rest.contains(*sign)) && plain(head, *sign) && plain(rest.trim_end(), *sign)
    });
    table || values
}

/// The most bytes of a table that are read below a head.
const ROWS: usize = 2_048;

impl Prose {
    /// Finds the passwords of a column: the rows below the head have them at the same place.
    fn columns(&mut self, text: &str, start: usize, end: usize, found: &mut Vec<Finding>) {
        let head = text.get(start..end).unwrap_or("");
        let sign = if head.trim_start().starts_with('|') {
            '|'
        } else {
            let line = clip(text, start, 300).split('\n').next().unwrap_or("");
            [',', ';', '\t'].into_iter().find(|sign| line.contains(*sign)).unwrap_or(',')
        };
        if self.odd.next(text, end, sign).is_none_or(|next| next > start.saturating_add(ROWS)) {
            return;
        }
        let column = head.matches(sign).count();
        // A head among the rows of another one with the same columns: those rows were read.
        let known = self.read.iter().position(|(known, place, _)| (*known, *place) == (sign, column));
        let read = known.and_then(|n| self.read.get(n)).map_or(0, |read| read.2);
        let rows = clip(text, start, ROWS);
        let mut at = start;
        for (n, row) in rows.split_inclusive('\n').enumerate().take(40) {
            let from = at;
            at += row.len();
            if n == 0 || at <= read {
                continue;
            }
            if !row.contains(sign) {
                break;
            }
            self.steps += row.len();
            cell(row, from, sign, column, found);
        }
        match known.and_then(|n| self.read.get_mut(n)) {
            Some(read) => read.2 = read.2.max(at),
            None => self.read.push((sign, column, at)),
        }
    }
}

/// Finds the password in a cell of a row.
fn cell(row: &str, from: usize, sign: char, column: usize, found: &mut Vec<Finding>) {
    let before: usize = row.split(sign).take(column).map(|cell| cell.len() + sign.len_utf8()).sum();
    let Some(cell) = row.split(sign).nth(column) else { return };
    let trimmed = cell.trim().trim_matches(['"', '=', '~', '`']);
    if is_password(trimmed) {
        found.push(password(from + before + cell.find(trimmed).unwrap_or(0), trimmed));
    }
}
