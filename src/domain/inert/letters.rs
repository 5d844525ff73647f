//! Characters that hide, turn or disguise a text.

pub(super) fn escape(c: char, out: &mut String) {
    out.push_str(&format!("\\u{{{:X}}}", c as u32));
}

/// Zero-width joiners and variation selectors, which emoji and some scripts need.
pub(super) fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

/// Characters that cannot be seen, or that change how others are seen.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Spaces that look like the usual one and are not.
pub(super) fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Letters of scripts that run from the right: beside them a reader sees what is neutral in another order.
pub(super) fn is_from_right(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFF}' | '\u{10800}'..='\u{10FFF}'
        | '\u{1E800}'..='\u{1EFFF}')
}

/// Marks that are drawn over the character before them.
pub(super) fn is_drawn_over(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

/// Splits text into runs of letters and digits and what stands between. Some hidden characters count as letters; they
/// are none here, as they will be written out.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let is_inside = |c: char| c.is_alphanumeric() && !is_hidden(c);
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let inside = is_inside(first);
        let end = rest.find(|c: char| is_inside(c) != inside).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// A word that mixes ASCII letters with letters of other alphabets that resemble them, or is made of such letters alone.
pub(super) fn is_disguised(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic());
    let (mut ascii, mut alike, mut other) = (false, false, false);
    for c in letters {
        if c.is_ascii() {
            ascii = true;
        } else if is_look_alike(c) {
            alike = true;
        } else {
            other = true;
        }
    }
    alike && (ascii || !other)
}

/// Letters of other alphabets that are drawn like ASCII ones.
fn is_look_alike(c: char) -> bool {
    matches!(c, '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' | '\u{1D400}'..='\u{1D7FF}' | '\u{13A0}'..='\u{13F5}'
        | '\u{2100}'..='\u{214F}' | '\u{2160}'..='\u{217F}' | '\u{A4D0}'..='\u{A4F7}')
        || "аеорсухіјѕԁһӏԛԝѵьАВЕЗКМНОРСТУХІЈЅԌԚԜҮΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυικγτωϲϳօսոցհզքԼՍՕɑɡɩɪʀʏｏ".contains(c)
}
