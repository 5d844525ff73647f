//! One run of words of Markdown as Org, by the parser of Markdown.
//!
//! What Org would not show as marked where it stands keeps the marks of Markdown.  A link that may not stand in a buffer
//! is its words and its address.

use super::scan::{Scan, is_before, is_behind};
use super::words::Dialect;
use crate::domain::inert::is_link;
use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};
use std::ops::Range;

/// Stands for what is kept while the rest is parsed.
const KEPT: char = '\u{FFFC}';
/// Stands before a run, so that nothing at its beginning is the beginning of a block.
const LEAD: &str = "x ";

/// Where words stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Text { indent: usize },
    Heading,
    Field,
}

/// Returns a run as Org. `before` is what stands right before it.
pub(super) fn rendered(run: &str, scan: &Scan, before: Option<char>, place: Place, dialect: &mut Dialect) -> String {
    if scan.is_org {
        dialect.see(Dialect::Org);
    }
    if place != Place::Heading && !run.contains(['*', '_', '`', '[', '<', '&', '\\', '~', '\n', KEPT]) {
        return run.to_string();
    }
    let kept: &[(usize, usize)] = if run.contains(KEPT) { &[] } else { &scan.kept };
    let text = without(run, kept);
    let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    let events: Vec<(Event<'_>, Range<usize>)> = Parser::new_ext(&text, options).into_offset_iter().collect();
    if events.iter().any(|(event, range)| is_markdown(event, text.get(range.clone()).unwrap_or(""))) {
        dialect.see(Dialect::Markdown);
    }
    let mut build = Build { text: &text, layers: vec![Layer::default()], before, place, dialect: *dialect };
    let built = events.into_iter().try_for_each(|(event, range)| build.take(event, &range)).and_then(|()| build.end());
    match built.and_then(|org| restored(&org, run, kept)) {
        Some(org) => org,
        // The parser sees a block where words stand: they stay as they are.
        None => run.to_string(),
    }
}

/// Returns a run with one character in the place of each part that is kept.
fn without(run: &str, kept: &[(usize, usize)]) -> String {
    let (mut text, mut at) = (LEAD.to_string(), 0);
    for (from, end) in kept {
        text.push_str(run.get(at..*from).unwrap_or(""));
        text.push(KEPT);
        at = *end;
    }
    text.push_str(run.get(at..).unwrap_or(""));
    text
}

/// Puts back what was kept; nothing when some of it has no place any more.
fn restored(org: &str, run: &str, kept: &[(usize, usize)]) -> Option<String> {
    if kept.is_empty() {
        return Some(org.to_string());
    }
    let mut parts = org.split(KEPT);
    let mut out = parts.next().unwrap_or("").to_string();
    let mut left = kept.iter();
    for part in parts {
        let (from, end) = left.next()?;
        out.push_str(run.get(*from..*end)?);
        out.push_str(part);
    }
    left.next().is_none().then_some(out)
}

/// Whether only Markdown writes this so.
fn is_markdown(event: &Event<'_>, source: &str) -> bool {
    match event {
        Event::Code(_) | Event::Start(Tag::Strong) => true,
        Event::Start(Tag::Strikethrough) => source.starts_with("~~"),
        Event::Start(Tag::Link { link_type, .. } | Tag::Image { link_type, .. }) => *link_type == LinkType::Inline,
        _ => false,
    }
}

/// What marks a part of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Code,
    /// What marks it in Org, and what marked it as it came.
    Pair(&'static str, &'static str),
}

impl Mark {
    /// Whether another mark around this one says the same.
    fn is_also(self, other: Mark) -> bool {
        matches!((self, other), (Mark::Pair(one, _), Mark::Pair(two, _)) if one == two)
    }
}

/// Text as it is built, with where its marks belong.
#[derive(Default)]
struct Layer {
    text: String,
    open: Vec<(usize, Mark)>,
    spans: Vec<(Range<usize>, Mark)>,
    /// Where the link leads that this is the text of.
    link: Option<(String, LinkType)>,
}

struct Build<'a> {
    text: &'a str,
    /// The text, and the words of the links that are open in it.
    layers: Vec<Layer>,
    before: Option<char>,
    place: Place,
    dialect: Dialect,
}

impl Build<'_> {
    /// Takes an event; nothing when it belongs to no words.
    fn take(&mut self, event: Event<'_>, range: &Range<usize>) -> Option<()> {
        match event {
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph | TagEnd::HtmlBlock) => {}
            Event::Start(Tag::HtmlBlock) => self.say(&format!("\n{}", self.indent()))?,
            Event::Start(Tag::Emphasis) => self.open(match (self.begins(range, "*"), self.dialect) {
                (true, Dialect::Unknown | Dialect::Org) => Mark::Pair("*", "*"),
                (true, Dialect::Markdown) => Mark::Pair("/", "*"),
                (false, Dialect::Org) => Mark::Pair("_", "_"),
                (false, Dialect::Unknown | Dialect::Markdown) => Mark::Pair("/", "_"),
            })?,
            Event::Start(Tag::Strong) => {
                self.open(Mark::Pair("*", if self.begins(range, "*") { "**" } else { "__" }))?;
            }
            // One wave on either side is a number that is about right, or code of Org.
            Event::Start(Tag::Strikethrough) => {
                self.open(if self.begins(range, "~~") { Mark::Pair("+", "~~") } else { Mark::Pair("~", "~") })?;
            }
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => {
                let layer = self.layers.last_mut()?;
                let (from, mark) = layer.open.pop()?;
                layer.spans.push((from..layer.text.len(), mark));
            }
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                let link = Some((dest_url.into_string(), link_type));
                self.layers.push(Layer { link, ..Layer::default() });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => self.end_link()?,
            Event::Code(code) => {
                let layer = self.layers.last_mut()?;
                let from = layer.text.len();
                layer.text.push_str(&code);
                layer.spans.push((from..layer.text.len(), Mark::Code));
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.say(&text)?,
            Event::InlineMath(text) => self.say(&format!("${text}$"))?,
            Event::DisplayMath(text) => self.say(&format!("$${text}$$"))?,
            Event::FootnoteReference(name) => self.say(&format!("[^{name}]"))?,
            Event::SoftBreak => self.say(&format!("\n{}", self.indent()))?,
            Event::HardBreak => self.say(&format!(" \\\\\n{}", self.indent()))?,
            Event::Start(_) | Event::End(_) | Event::Rule | Event::TaskListMarker(_) => return None,
        }
        Some(())
    }

    fn indent(&self) -> String {
        match self.place {
            Place::Text { indent } => " ".repeat(indent),
            Place::Heading | Place::Field => String::new(),
        }
    }

    fn say(&mut self, text: &str) -> Option<()> {
        self.layers.last_mut()?.text.push_str(text);
        Some(())
    }

    fn begins(&self, range: &Range<usize>, with: &str) -> bool {
        self.text.get(range.start..).is_some_and(|text| text.starts_with(with))
    }

    fn open(&mut self, mark: Mark) -> Option<()> {
        let layer = self.layers.last_mut()?;
        layer.open.push((layer.text.len(), mark));
        Some(())
    }

    fn end_link(&mut self) -> Option<()> {
        let layer = self.layers.pop()?;
        let (address, kind) = layer.link.clone()?;
        let words = layer.marked(None, self.place);
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let link = match kind {
            LinkType::Autolink | LinkType::Email => format!("<{words}>"),
            _ => link(&address, &words),
        };
        self.say(&link)
    }

    /// Returns the text with its marks.
    fn end(self) -> Option<String> {
        let place = self.place;
        let before = self.before;
        let [mut layer] = <[Layer; 1]>::try_from(self.layers).ok()?;
        layer.text.starts_with(LEAD).then_some(())?;
        layer.text.drain(..LEAD.len());
        for (range, _) in &mut layer.spans {
            *range = range.start.checked_sub(LEAD.len())?..range.end.checked_sub(LEAD.len())?;
        }
        if place == Place::Heading {
            layer.spans.push((0..layer.text.len(), Mark::Pair("*", "")));
        }
        Some(layer.marked(before, place))
    }
}

impl Layer {
    /// Returns the text with those of its marks that Org would show.
    fn marked(&self, before: Option<char>, place: Place) -> String {
        // What is put where: at one place ends stand before beginnings, inner ends before outer ones.
        let mut marks: Vec<(usize, bool, usize, &'static str)> = Vec::new();
        for (number, (range, mark)) in self.spans.iter().enumerate() {
            let outer = self.spans.get(number + 1..).unwrap_or_default();
            let within = |out: &Range<usize>| out.start <= range.start && range.end <= out.end;
            if outer.iter().any(|(out, other)| mark.is_also(*other) && within(out)) {
                continue;
            }
            if let Some(sign) = self.sign(range, *mark, before, place) {
                marks.push((range.start, true, self.spans.len() - number, sign));
                marks.push((range.end, false, number, sign));
            }
        }
        marks.sort_unstable();
        let (mut out, mut at) = (String::with_capacity(self.text.len() + marks.len()), 0);
        for (place, _, _, sign) in marks {
            out.push_str(self.text.get(at..place).unwrap_or(""));
            out.push_str(sign);
            at = place;
        }
        out.push_str(self.text.get(at..).unwrap_or(""));
        out
    }

    /// Returns the sign that stands on both sides of a part, if any can.
    fn sign(&self, range: &Range<usize>, mark: Mark, before: Option<char>, place: Place) -> Option<&'static str> {
        let text = self.text.get(range.clone()).filter(|text| !text.is_empty())?;
        let left = self.text.get(..range.start)?.chars().next_back().or(before);
        let right = self.text.get(range.end..)?.chars().next();
        let holds =
            |sign: &str| is_before(left) && is_behind(right) && text.trim() == text && !closes_early(text, sign);
        Some(match mark {
            Mark::Pair(sign, _) if holds(sign) => sign,
            Mark::Pair(_, sign) => sign,
            Mark::Code if place == Place::Field && text.contains('|') => "`",
            Mark::Code if holds("=") => "=",
            Mark::Code if holds("~") => "~",
            Mark::Code if text.contains('`') => "``",
            Mark::Code => "`",
        })
    }
}

/// Whether Org would see the end of a marked text within it.
fn closes_early(text: &str, mark: &str) -> bool {
    text.starts_with(mark)
        || text.ends_with(mark)
        || text.match_indices(mark).any(|(at, _)| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            let behind = text.get(at + mark.len()..).and_then(|text| text.chars().next());
            before.is_some_and(|c| !c.is_whitespace()) && is_behind(behind)
        })
}

/// Returns a link of Org, or its words and where it leads.
fn link(address: &str, words: &str) -> String {
    let plain = match words.is_empty() || words == address {
        true => address.to_string(),
        false => format!("{words} ({address})"),
    };
    let Some(target) = target(address) else { return plain };
    let link = match words.is_empty() || words == address {
        true => format!("[[{target}]]"),
        false => format!("[[{target}][{words}]]"),
    };
    if is_link(&link) { link } else { plain }
}

/// Returns where a link leads as Org writes it: to a page or a file.
fn target(address: &str) -> Option<String> {
    let lower = address.get(..8).unwrap_or(address).to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Some(address.replace('[', "%5B").replace(']', "%5D").replace(' ', "%20"));
    }
    if lower.starts_with("id:") || lower.starts_with("file:") {
        return Some(address.to_string());
    }
    (!address.is_empty() && !address.contains([':', '#']) && !address.starts_with("//"))
        .then(|| format!("file:{address}"))
}
