//! How nodes are shown in an answer: links, places, days, excerpts. Text of notes never leaves its line.

use crate::domain::memory::card::Keyword;
use crate::domain::memory::view::NodeRef;
pub use crate::domain::org::title::without_cookies;
use crate::domain::recall::stamp::Stamp;
use jiff::civil::Date;

/// Longest title shown, in characters.
const LONGEST_TITLE: usize = 120;

/// Returns a link to a node: by its `:ID:`, else by file and headline.
pub fn link(node: &NodeRef) -> String {
    let title = described(node.title());
    let id = node.property("ID").filter(|id| is_plain_id(id));
    match id {
        Some(id) => link_to(id, node.title()),
        None if node.index == 0 => format!("[[file:{}][{title}]]", escape(node.file())),
        None => format!("[[file:{}::{}][{title}]]", escape(node.file()), within(node)),
    }
}

/// Returns a link to a heading by its `ID`, which is of letters, digits and dashes.
pub fn link_to(id: &str, title: &str) -> String {
    format!("[[id:{id}][{}]]", described(title))
}

fn described(title: &str) -> String {
    let title = plain(title);
    if title.is_empty() { "(no title)".to_string() } else { title }
}

/// Returns what finds a heading in its file: its title, or its line where the title finds another one.
fn within(node: &NodeRef) -> String {
    let title = one_line(&without_cookies(node.title()));
    let same = |index: usize| node.card().title(index) == node.title();
    // A bracket in a link's target would end it, or make it something else.
    let odd = title.contains(['[', ']', '<', '>', '{', '}', '%']);
    if title.is_empty() || odd || (1..node.index).any(same) {
        return node.line().to_string();
    }
    format!("*{}", escape(&title))
}

/// Returns the day that a node is from, if it or what stands above it says: by property or title.
pub fn written(node: &NodeRef) -> Option<Date> {
    let mut at = Some(node.clone());
    for _ in 0..8 {
        let node = at?;
        let property = |key: &str| node.property(key).and_then(Stamp::parse);
        let titled = || node.title().split(|c: char| c.is_whitespace() || matches!(c, '[' | '<')).find_map(iso);
        if let Some(date) = property("CREATED").or_else(|| property("DATE")).map(|stamp| stamp.date).or_else(titled) {
            return Some(date);
        }
        at = node.parent();
    }
    None
}

fn iso(word: &str) -> Option<Date> {
    word.get(..10)?.parse().ok()
}

/// Returns a link with the keyword before it.
pub fn headline(node: &NodeRef) -> String {
    match keyword(node) {
        None => link(node),
        Some(keyword) => format!("{} {}", keyword.name, link(node)),
    }
}

/// Returns a node's keyword.
pub fn keyword(node: &NodeRef) -> Option<Keyword<'_>> {
    node.keyword()
}

/// Returns where a node stands: the titles above it, and the file's name.
pub fn place(node: &NodeRef) -> String {
    let file = node.file().rsplit('/').next().unwrap_or_default();
    let mut titles = Vec::new();
    let mut above = node.parent();
    while let Some(parent) = above.filter(|parent| parent.index > 0 && titles.len() < 8) {
        titles.push(clip(&plain(parent.title()), 40));
        above = parent.parent();
    }
    titles.reverse();
    let file = clip(&one_line(file), 60);
    if titles.is_empty() { file } else { format!("{}, {file}", titles.join(" › ")) }
}

/// Returns a day as `Wed 2026-11-25`.
pub fn day(date: Date) -> String {
    format!("{} {date}", date.strftime("%a"))
}

/// Returns how far a day is: “today”, “in 3 days”, “2 days ago”.
pub fn distance(today: Date, date: Date) -> String {
    let days = today.until(date).map_or(0, |span| span.get_days());
    match days {
        0 => "today".to_string(),
        1 => "tomorrow".to_string(),
        -1 => "yesterday".to_string(),
        days if days > 0 => format!("in {days} days"),
        days => format!("{} days ago", -i64::from(days)),
    }
}

/// Returns a title as words: links by their description, no brackets of any kind, one line.
pub fn plain(title: &str) -> String {
    let mut out = String::new();
    let mut rest = title;
    while let Some(begin) = rest.find("[[") {
        out.push_str(rest.get(..begin).unwrap_or(""));
        let inner = rest.get(begin + 2..).unwrap_or("");
        let Some(end) = inner.find("]]") else {
            rest = inner;
            continue;
        };
        let link = inner.get(..end).unwrap_or("");
        out.push_str(link.split_once("][").map_or(link, |(_, words)| words));
        rest = inner.get(end + 2..).unwrap_or("");
    }
    out.push_str(rest);
    let out: String = out
        .chars()
        .map(|c| {
            if matches!(c, '[' | '<') {
                '('
            } else if matches!(c, ']' | '>') {
                ')'
            } else {
                c
            }
        })
        .collect();
    clip(&one_line(&out), LONGEST_TITLE)
}

/// Returns a text on one line, control characters and runs of white space as one space.
pub fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns at most so many characters of a text, with an ellipsis where it was cut.
pub fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_string(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or("").trim_end()),
    }
}

fn is_plain_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 200 && !id.chars().any(|c| c.is_control() || matches!(c, '[' | ']' | '\\'))
}

/// Escapes brackets as Org does in the target of a link.
fn escape(target: &str) -> String {
    let mut out = String::with_capacity(target.len());
    let mut slashes = 0;
    for c in target.chars().filter(|c| !c.is_control()) {
        if matches!(c, '[' | ']') {
            // Backslashes before a bracket are doubled, then the bracket gets its own.
            out.extend(std::iter::repeat_n('\\', slashes + 1));
        }
        slashes = if c == '\\' { slashes + 1 } else { 0 };
        out.push(c);
    }
    out.extend(std::iter::repeat_n('\\', slashes));
    out
}
