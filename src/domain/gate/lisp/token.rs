//! Where the tokens of Lisp end, letter for letter as Emacs's own reader has it.

use std::borrow::Cow;

/// Returns whether a character ends the name of a symbol.
pub(in crate::domain) fn ends_symbol(c: char) -> bool {
    c <= ' ' || matches!(c, '"' | '\'' | ';' | '(' | ')' | '[' | ']' | '#' | '`' | ',')
}

/// Returns whether a dot before this is a dot of its own, and not the first letter of a number or a symbol.
pub(super) fn follows_dot(c: char) -> bool {
    ends_symbol(c) || c == '?'
}

/// Returns whether a character looks like a blank and is none for Emacs, or only for some of its parts.
pub(super) fn is_odd_blank(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii() || c < ' ' && !c.is_ascii_whitespace()
}

fn first(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// The name of a symbol or a number.
pub(in crate::domain) struct Name<'a> {
    /// What it is called, without the backslashes.
    pub name: Cow<'a, str>,
    /// Whether a backslash makes it a symbol even where it looks like a number.
    pub escaped: bool,
    /// Where it ends.
    pub end: usize,
}

/// Reads a name; nothing where it holds what no two readers take alike.
pub(in crate::domain) fn name(text: &str, from: usize) -> Option<Name<'_>> {
    let bytes = text.as_bytes();
    let (mut end, mut unescaped) = (from, None::<String>);
    loop {
        // Most characters are plain, and need not be taken out of the text one by one.
        let plain = |b: &&u8| b.is_ascii_graphic() && **b != b'\\' && !ends_symbol(char::from(**b));
        let run = bytes.get(end..).unwrap_or(&[]).iter().take_while(plain).count();
        if let Some(name) = &mut unescaped {
            name.push_str(text.get(end..end + run)?);
        }
        end += run;
        let Some(mut c) = first(text, end) else { break };
        if c == '\\' {
            unescaped.get_or_insert_with(|| text.get(from..end).unwrap_or("").to_string());
            end += 1;
            c = first(text, end).filter(|c| *c >= ' ')?;
        } else if ends_symbol(c) {
            break;
        }
        if is_odd_blank(c) {
            return None;
        }
        if let Some(name) = &mut unescaped {
            name.push(c);
        }
        end += c.len_utf8();
    }
    // The next sign ends the name in some versions of Emacs and is part of it in others.
    if first(text, end) == Some('#') {
        return None;
    }
    let escaped = unescaped.is_some();
    Some(Name { name: unescaped.map_or_else(|| text.get(from..end).unwrap_or("").into(), Cow::Owned), escaped, end })
}

/// Returns whether a name is a number; nothing where that is not certain.
pub(super) fn is_number(name: &str) -> Option<bool> {
    let unsigned = name.strip_prefix(['-', '+']).unwrap_or(name);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    let lead = rest.len() < unsigned.len();
    let (dot, rest) = match rest.strip_prefix('.') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let exponent = rest.trim_start_matches(|c: char| dot && c.is_ascii_digit());
    let trail = exponent.len() < rest.len();
    if exponent.is_empty() {
        return Some(lead || trail);
    }
    if !is_exponent(exponent) {
        return Some(false);
    }
    // `1.e5`
    if dot && lead && !trail {
        return None;
    }
    Some(lead || trail)
}

fn is_exponent(text: &str) -> bool {
    let Some(power) = text.strip_prefix(['e', 'E']) else { return false };
    let digits = power.strip_prefix(['-', '+']).unwrap_or(power);
    matches!(power, "+INF" | "+NaN") || !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Returns where the text ends whose quote stands before `from`.
pub(in crate::domain) fn text_end(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at = escape_end(text, at + 1, true)?,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// Returns where the character ends whose question mark stands before `from`.
pub(in crate::domain) fn character_end(text: &str, from: usize) -> Option<usize> {
    let end = match first(text, from)? {
        ' ' | '\t' => return Some(from + 1),
        '\\' => escape_end(text, from + 1, false)?,
        c if c < ' ' || is_odd_blank(c) => return None,
        c => from + c.len_utf8(),
    };
    first(text, end).is_none_or(|next| follows_dot(next) || next == '.').then_some(end)
}

/// Returns where the escape ends whose backslash stands before `at`; nothing where it is none.
fn escape_end(text: &str, mut at: usize, in_text: bool) -> Option<usize> {
    loop {
        let letter = first(text, at)?;
        at += letter.len_utf8();
        let rest = text.get(at..)?;
        let digits = |radix| rest.chars().take_while(|c: &char| c.is_digit(radix)).count();
        match letter {
            '^' => {}
            's' if in_text || !rest.starts_with('-') => return Some(at),
            'C' | 'M' | 'S' | 'H' | 'A' | 's' => at = rest.starts_with('-').then_some(at + 1)?,
            'x' => return (1..=5).contains(&digits(16)).then(|| at + digits(16)),
            'u' => return (digits(16) >= 4).then_some(at + 4),
            'U' => return (digits(16) >= 8).then_some(at + 8),
            'N' => {
                let name = rest.strip_prefix('{')?.split_once('}')?.0;
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '+');
                return name.chars().all(plain).then_some(at + name.len() + 2);
            }
            '0'..='7' => return Some(at + digits(8).min(2)),
            c if c < ' ' && !in_text || is_odd_blank(c) => return None,
            _ => return Some(at),
        }
        // What a modifier stands before is one character, and that may be an escape again.
        let changed = first(text, at).filter(|c| *c >= ' ' && !is_odd_blank(*c))?;
        at += changed.len_utf8();
        if in_text {
            // Bytes hold no more than these.
            let fits = match letter {
                'M' => changed.is_ascii_graphic() && changed != '\\',
                '^' | 'C' => changed.is_ascii_alphabetic() || matches!(changed, '@' | '_' | '?'),
                _ => false,
            };
            return fits.then_some(at);
        }
        if changed != '\\' {
            return Some(at);
        }
    }
}
