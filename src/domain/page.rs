//! A page of HTML as plain text, read in one pass: what is left when nobody can say which part of it is the article.

/// How deep elements may stand in each other before a page counts as constructed.
const MOST_DEPTH: usize = 400;
/// How many tags a page may have.
const MOST_TAGS: usize = 60_000;

/// Returns whether a page is of a size and depth that a reader of its structure may be given.
pub fn is_tame(html: &str) -> bool {
    let (mut depth, mut deepest, mut tags) = (0_usize, 0, 0);
    for piece in html.split('<').skip(1) {
        tags += 1;
        match piece.as_bytes().first() {
            Some(b'/') => depth = depth.saturating_sub(1),
            Some(letter) if letter.is_ascii_alphabetic() && !is_empty_element(piece) => depth += 1,
            Some(_) | None => {}
        }
        deepest = deepest.max(depth);
    }
    // Paragraphs and items of lists need no end, so that a long plain page seems deep.
    tags <= MOST_TAGS && deepest <= MOST_DEPTH
}

fn name_of(piece: &str) -> String {
    piece.chars().take_while(|c| c.is_ascii_alphanumeric()).take(12).collect::<String>().to_ascii_lowercase()
}

fn is_empty_element(piece: &str) -> bool {
    const EMPTY: [&str; 16] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "p",
        "li", "option",
    ];
    EMPTY.contains(&name_of(piece).as_str()) || piece.split('>').next().is_some_and(|tag| tag.ends_with('/'))
}

/// Returns the words of a page, a line for each block, without scripts, styles and comments.
pub fn plain(html: &str) -> String {
    let mut out = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        push_words(&mut out, rest.get(..at).unwrap_or(""));
        rest = rest.get(at + 1..).unwrap_or("");
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let closing = rest.starts_with('/');
        let name = name_of(rest.strip_prefix('/').unwrap_or(rest));
        let Some((_, after)) = rest.split_once('>') else { break };
        rest = after;
        match name.as_str() {
            "script" | "style" | "noscript" | "template" | "svg" | "head" if !closing => {
                rest = behind(rest, &name);
            }
            "p" | "div" | "br" | "li" | "ul" | "ol" | "tr" | "table" | "section" | "article" | "header" | "footer"
            | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "blockquote" | "pre" | "hr" | "dt" | "dd" | "title" => {
                out.truncate(out.trim_end_matches(' ').len());
                if !out.is_empty() && !out.ends_with('\n') {
                    out.push('\n');
                }
            }
            "td" | "th" if !out.is_empty() && !out.ends_with([' ', '\n']) => out.push(' '),
            _ => {}
        }
    }
    push_words(&mut out, rest);
    out.trim().to_string()
}

/// Returns what stands behind the end of an element; nothing when it does not end.
fn behind<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = rest.get(at + 2..).unwrap_or("");
        if name_of(rest) == name {
            return rest.split_once('>').map_or("", |(_, after)| after);
        }
    }
    ""
}

fn push_words(out: &mut String, text: &str) {
    let text = unescaped(text);
    let begins = text.starts_with(char::is_whitespace);
    for (n, word) in text.split_whitespace().enumerate() {
        if (n > 0 || begins) && !out.is_empty() && !out.ends_with([' ', '\n']) {
            out.push(' ');
        }
        out.push_str(word);
    }
    if text.ends_with(char::is_whitespace) && !out.is_empty() && !out.ends_with([' ', '\n']) {
        out.push(' ');
    }
}

/// Returns a text with its character references read.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(rest.get(..at).unwrap_or(""));
        rest = rest.get(at + 1..).unwrap_or("");
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        let read = end.and_then(|end| Some((reference(rest.get(..end)?)?, end)));
        match read {
            Some((c, end)) => {
                out.push(c);
                rest = rest.get(end + 1..).unwrap_or("");
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    out
}

fn reference(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(number).filter(|c| !c.is_control() || c.is_whitespace());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "copy" => '©',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_words_of_a_page_are_left() {
        let html = "<head><title>T</title></head><body><h1>Tiles &amp; grout</h1><script>steal()</script>\
                    <p>White <b>tiles</b>,&nbsp;not <!-- <p>hidden --> grey.<p>Second &#8211; line<br>third &bogus; \
                    <table><tr><td>a</td><td>b</td></tr></table>";
        assert_eq!(plain(html), "Tiles & grout\nWhite tiles, not grey.\nSecond – line\nthird &bogus;\na b");
        assert_eq!(plain("<script>never ends"), "");
        assert_eq!(plain("a < b"), "a b", "what is no tag is left out, and its words stay");
    }

    #[test]
    fn constructed_pages_are_told() {
        assert!(is_tame(&"<p>a<br/><img src=x>".repeat(5_000)));
        assert!(!is_tame(&"<div>".repeat(401)));
        assert!(!is_tame(&"<b></b>".repeat(60_000)));
    }

    proptest! {
        #[test]
        fn no_page_breaks_it(html in "[<>/!&;#a-z\" é-]{0,60}") {
            let text = plain(&html);
            prop_assert!(text.len() <= html.len() * 4);
            is_tame(&html);
        }
    }
}
