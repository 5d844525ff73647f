//! Cuts text into the runs that o200k joins bytes within, where that is simple.
//!
//! The vocabulary's pattern (OpenAI's `tiktoken`, `openai_public.py`, `o200k_base`) takes, in this order: letters with at
//! most one other sign before them and an English ending like `'s` behind them; one to three digits; signs with a space
//! before and line breaks and slashes behind them; white space. Letters are here those of common scripts; wherever
//! anything else stands, the pattern itself is asked.

/// What a character is to the pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    /// A letter of a script that knows no case.
    Caseless,
    Digit,
    Space,
    Break,
    Slash,
    Sign,
}

impl Kind {
    fn of(char: char) -> Option<Kind> {
        Some(match char {
            'a'..='z' | 'ß'..='ö' | 'ø'..='ÿ' | 'а'..='я' => Kind::Lower,
            'A'..='Z' | 'À'..='Ö' | 'Ø'..='Þ' | 'А'..='Я' => Kind::Upper,
            '0'..='9' => Kind::Digit,
            ' ' => Kind::Space,
            '\n' => Kind::Break,
            '/' => Kind::Slash,
            '!'..='~' | '–'..='—' | '‘'..='’' | '“'..='”' | '…' | '、' | '。' | '「' | '」' => {
                Kind::Sign
            }
            'ぁ'..='ゖ' | 'ァ'..='ヺ' | 'ー' | '一'..='鿋' | '가'..='힣' => Kind::Caseless,
            // Thai consonants and vowels that stand for themselves; the marks above and below are not told here.
            'ก'..='ะ' | 'า'..='ำ' | 'เ'..='ๅ' => Kind::Caseless,
            _ => return None,
        })
    }

    fn is_letter(self) -> bool {
        matches!(self, Kind::Upper | Kind::Lower | Kind::Caseless)
    }

    fn is_white(self) -> bool {
        matches!(self, Kind::Space | Kind::Break)
    }

    fn is_sign(self) -> bool {
        matches!(self, Kind::Sign | Kind::Slash)
    }
}

/// Returns how long the first run of a text is, in bytes, or `None` where that is not simple. The text is not empty.
pub fn run(text: &str) -> Option<usize> {
    let first = kind_at(text, 0)??;
    let width = text.chars().next()?.len_utf8();
    match (first, kind_at(text, width)) {
        // Whatever is not known may be a letter.
        (_, Some(None)) if !first.is_letter() => None,
        (Kind::Digit, _) => digits(text),
        (kind, _) if kind.is_letter() => letters(text, 0),
        (kind, Some(Some(next))) if kind != Kind::Break && next.is_letter() => letters(text, width),
        (kind, _) if kind.is_sign() => signs(text, 0),
        (Kind::Space, Some(Some(next))) if next.is_sign() => signs(text, width),
        _ => white(text),
    }
}

/// What stands at a place: `None` at the end, `Some(None)` where it is not known here.
fn kind_at(text: &str, at: usize) -> Option<Option<Kind>> {
    text.get(at..)?.chars().next().map(Kind::of)
}

/// Returns where characters of some kinds that begin at a place end.
fn while_of(text: &str, at: usize, of: impl Fn(Kind) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    let end = rest.char_indices().find(|(_, char)| !Kind::of(*char).is_some_and(&of));
    end.map_or(text.len(), |(end, _)| at + end)
}

fn digits(text: &str) -> Option<usize> {
    // No further than that: of a long run three are taken each time.
    let end = text.bytes().take(3).take_while(u8::is_ascii_digit).count();
    (end == 3 || kind_at(text, end) != Some(None)).then_some(end)
}

/// Capital and then small letters, or letters without a case; an English ending belongs to them.
fn letters(text: &str, at: usize) -> Option<usize> {
    let end = match kind_at(text, at)?? {
        Kind::Caseless => while_of(text, at, |kind| kind == Kind::Caseless),
        _ => while_of(text, while_of(text, at, |kind| kind == Kind::Upper), |kind| kind == Kind::Lower),
    };
    match kind_at(text, end) {
        // A run that goes on with letters of another kind is not simple, but small letters end before a capital.
        Some(None | Some(Kind::Caseless)) => None,
        Some(Some(Kind::Upper)) if kind_at(text, at)?? == Kind::Caseless => None,
        Some(Some(Kind::Lower)) => None,
        _ => Some(end + ending(text.get(end..)?)?),
    }
}

fn ending(rest: &str) -> Option<usize> {
    // Without regard to case this is an s to the pattern.
    if rest.starts_with("'ſ") {
        return None;
    }
    let mut bytes = rest.bytes().map(|byte| byte.to_ascii_lowercase());
    Some(match (bytes.next(), bytes.next(), bytes.next()) {
        (Some(b'\''), Some(b's' | b't' | b'm' | b'd'), _) => 2,
        (Some(b'\''), Some(b'r' | b'v'), Some(b'e')) | (Some(b'\''), Some(b'l'), Some(b'l')) => 3,
        _ => 0,
    })
}

fn signs(text: &str, at: usize) -> Option<usize> {
    let signs = while_of(text, at, Kind::is_sign);
    let end = while_of(text, signs, |kind| matches!(kind, Kind::Break | Kind::Slash));
    // A mark that stands on a letter is a sign to the pattern, and is not told from letters here.
    (kind_at(text, end) != Some(None)).then_some(end)
}

/// White space to its last line break; without one, all but the last, which belongs to what follows.
fn white(text: &str) -> Option<usize> {
    let end = while_of(text, 0, Kind::is_white);
    match (text.get(..end)?.rfind('\n'), kind_at(text, end)) {
        (_, Some(None)) => None,
        (Some(last), _) => Some(last + 1),
        (None, None) => Some(end),
        (None, Some(_)) => Some((end - 1).max(1)),
    }
}
