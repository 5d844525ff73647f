//! Scripts that put no spaces between words, and the many ways in which one character can be written.

use std::str::Chars;

/// Returns the character that begins a text as the index has it, and how many bytes were read for it:
/// full-width letters become plain ones, half-width kana full ones, and a kana or Hangul syllable that is written in
/// parts becomes one character. The text is not empty.
pub fn normal(text: &str) -> (char, usize) {
    let mut rest = text.chars();
    let Some(first) = rest.next() else { return ('\u{fffd}', 0) };
    let read = |rest: &Chars<'_>| text.len() - rest.as_str().len();
    let plain = match first {
        '\u{ff01}'..='\u{ff5e}' => shifted(first, -0xfee0),
        '\u{ff66}'..='\u{ff9d}' => half_width(first),
        '\u{0e50}'..='\u{0e59}' => digit(first, 0x0e50),
        '\u{0ed0}'..='\u{0ed9}' => digit(first, 0x0ed0),
        '\u{1100}'..='\u{1112}' => return hangul(first, rest, text.len()),
        other => other,
    };
    if matches!(plain, '\u{3040}'..='\u{30ff}') {
        let mut ahead = rest.clone();
        if let Some(voiced) = ahead.next().and_then(|mark| voiced(plain, mark)) {
            return (voiced, read(&ahead));
        }
    }
    (plain, read(&rest))
}

fn shifted(c: char, by: i32) -> char {
    (c as u32).checked_add_signed(by).and_then(char::from_u32).unwrap_or(c)
}

fn digit(c: char, zero: u32) -> char {
    (c as u32).checked_sub(zero).and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c)
}

/// U+FF66 to U+FF9D as they are written in full width.
const FULL_WIDTH: &str =
    "ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン";

fn half_width(c: char) -> char {
    let at = (c as usize).saturating_sub(0xff66);
    FULL_WIDTH.chars().nth(at).unwrap_or(c)
}

/// Returns a kana with the mark behind it, where both are one character.
fn voiced(kana: char, mark: char) -> Option<char> {
    let step = match mark {
        '\u{3099}' | '\u{309b}' | '\u{ff9e}' => 1,
        '\u{309a}' | '\u{309c}' | '\u{ff9f}' => 2,
        _ => return None,
    };
    // Katakana stand 0x60 behind hiragana.
    let katakana = ('\u{30a1}'..='\u{30fa}').contains(&kana);
    let hiragana = if katakana { shifted(kana, -0x60) } else { kana };
    let joined = match hiragana {
        'う' if step == 1 => 'ゔ',
        'か' | 'き' | 'く' | 'け' | 'こ' | 'さ' | 'し' | 'す' | 'せ' | 'そ' | 'た' | 'ち' | 'つ' | 'て' | 'と'
            if step == 1 =>
        {
            shifted(hiragana, 1)
        }
        'は' | 'ひ' | 'ふ' | 'へ' | 'ほ' => shifted(hiragana, step),
        _ => return None,
    };
    Some(if katakana { shifted(joined, 0x60) } else { joined })
}

/// Joins the parts of a syllable: an initial, a vowel, and perhaps a final.
fn hangul(initial: char, mut rest: Chars<'_>, length: usize) -> (char, usize) {
    let part = |c: Option<char>, from: u32, most: u32| {
        c.and_then(|c| (c as u32).checked_sub(from)).filter(|number| *number < most)
    };
    let alone = (initial, initial.len_utf8());
    let Some(lead) = part(Some(initial), 0x1100, 19) else { return alone };
    let Some(vowel) = part(rest.next(), 0x1161, 21) else { return alone };
    let mut ahead = rest.clone();
    // The final before the first would stand for none.
    let last = part(ahead.next(), 0x11a7, 28).filter(|last| *last > 0);
    let rest = if last.is_some() { ahead } else { rest };
    let syllable = char::from_u32(0xac00 + (lead * 21 + vowel) * 28 + last.unwrap_or(0));
    (syllable.unwrap_or(initial), length - rest.as_str().len())
}

/// Returns whether a character, in its normal form, belongs to a script that is written without spaces: Chinese,
/// Japanese, Thai, Lao, Khmer, Burmese; or to Hangul, whose endings cling to words.
pub fn is_unspaced(c: char) -> bool {
    if (c as u32) < 0x0e01 {
        return false;
    }
    matches!(c,
        '\u{4e00}'..='\u{9fff}' | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{312f}' | '\u{3131}'..='\u{318e}' | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3347f}' | '\u{1100}'..='\u{11ff}'
        | '\u{0e01}'..='\u{0e3a}' | '\u{0e40}'..='\u{0e4e}' | '\u{0e81}'..='\u{0ece}' | '\u{0edc}'..='\u{0edf}'
        | '\u{1000}'..='\u{103f}' | '\u{1050}'..='\u{109f}' | '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17d3}')
}

/// Returns whether a character is of a script without spaces that has few characters, so that many texts share pairs.
pub fn is_of_few(c: char) -> bool {
    is_unspaced(c)
        && !matches!(c, '\u{3005}'..='\u{3007}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
            | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3347f}')
}

/// Returns whether a character of such a script is a vowel or a tone that hangs on another: it is no word alone.
pub fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{0e31}' | '\u{0e33}'..='\u{0e3a}' | '\u{0e47}'..='\u{0e4e}' | '\u{0eb1}' | '\u{0eb3}'..='\u{0ebc}'
        | '\u{0ec8}'..='\u{0ece}' | '\u{102b}'..='\u{103e}' | '\u{17b6}'..='\u{17d3}')
}

/// Returns whether a character is part of the one before it, or none at all: accents, joiners, variants.
pub fn is_combining(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{00ad}' | '\u{feff}'
        | '\u{3099}' | '\u{309a}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}
