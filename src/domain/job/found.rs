//! Finds the jobs and hooks of a file: headings with `:PP_RUN:` and a repeater, with a cron line, or with a hook.

use crate::domain::hash::ContentHasher;
use crate::domain::id::NodeId;
use crate::domain::job::cron::Cron;
use crate::domain::job::rhythm::Rhythm;
use crate::domain::job::watch::Watch;
use crate::domain::job::{Job, MAX_TASK, MAX_TEXT, Tier, When};
use crate::domain::memory::card::{Card, Planning};
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::money::Micros;
use crate::domain::org::logbook::{keyword, keywords, log};
use crate::domain::org::timestamp::{Timestamp, Unit, Until, timestamps};
use std::ops::Range;

/// The properties that make a heading one, each of which a `#+` line without `PP_` says as well, but for the first.
const NAMES: [&str; 3] = ["PP_RUN", "PP_CRON", "PP_HOOK"];
/// At most so many of one file are looked at.
pub const MOST: usize = 200;

/// A heading that wants work done by itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It can be understood.
    Job(Box<Job>),
    /// It cannot, so nothing is done.
    Broken {
        /// The heading.
        at: NodeId,
        /// Its file.
        file: std::sync::Arc<str>,
        /// Its title.
        title: String,
        /// Why.
        why: String,
    },
}

/// Returns whether a heading may be a job or a hook, without reading its text.
pub fn is_one(card: &Card, index: usize) -> bool {
    card.may_run(index) || NAMES.iter().any(|name| card.property(index, name).is_some())
}

/// Returns the jobs and hooks of a file, in order.
pub fn in_file(view: &View, file: &str) -> Vec<Found> {
    let Some(card) = view.card(file).filter(|card| card.is_notes()) else { return Vec::new() };
    let some = (0..card.len()).filter(|index| is_one(card, *index)).filter_map(|index| view.node(file, index));
    let all = some.enumerate().filter_map(|(at, node)| match at < MOST {
        true => read(&node),
        false => Some(broken(&node, format!("only {MOST} of one file are looked at; move it into another one"))),
    });
    all.take(2 * MOST).collect()
}

fn broken(node: &NodeRef, why: String) -> Found {
    Found::Broken { at: node.id().clone(), file: node.file().clone(), title: node.title().to_string(), why }
}

/// Returns whether nothing is to be done at a heading: it is done, a comment or archived, or stands below such.
fn is_off(node: &NodeRef) -> bool {
    let commented = node.commented() || node.ancestors().any(|above| above.commented());
    commented || node.keyword().is_some_and(|keyword| keyword.done) || node.has_tag("ARCHIVE")
}

/// Reads one heading; `None` when it is none, or nothing is to be done any more.
fn read(node: &NodeRef) -> Option<Found> {
    let own = Own::of(node);
    let lines = keywords(own.section());
    let said = Said {
        run: property(node, "PP_RUN"),
        cron: property(node, "PP_CRON").or_else(|| line(&lines, "CRON")),
        hook: property(node, "PP_HOOK").or_else(|| line(&lines, "HOOK")),
    };
    if is_off(node) || (said.run.is_none() && said.cron.is_none() && said.hook.is_none()) {
        return None;
    }
    Some(match job(node, &said, &own) {
        Ok(job) => Found::Job(Box::new(job)),
        Err(why) => broken(node, why),
    })
}

/// What a heading says of itself.
struct Said {
    run: Option<String>,
    cron: Option<String>,
    hook: Option<String>,
}

/// All that a heading says up to the next one, byte for byte, without its log.
struct Own {
    text: String,
    /// Where headline, planning line and properties end.
    head: usize,
}

impl Own {
    fn of(node: &NodeRef) -> Own {
        let (own, body) = (node.own(), node.body());
        let head = own.len().saturating_sub(body.len());
        let behind = log(body).filter(|_| node.index > 0).map_or(0, |log| log.end);
        let text = [own.get(..head), body.get(behind..)].into_iter().flatten().collect();
        Own { text, head }
    }

    /// Returns what stands below headline, planning line and properties.
    fn section(&self) -> &str {
        self.text.get(self.head..).unwrap_or_default()
    }

    /// Finds the first timestamp that repeats: of the planning line, the title, the text.
    fn repeater(&self, node: &NodeRef) -> Option<(Range<usize>, Timestamp, Rhythm)> {
        let from = |begin: usize, end: usize| {
            let stamps = timestamps(self.text.get(begin..end).unwrap_or_default()).into_iter();
            stamps.map(move |(range, stamp)| (begin + range.start..begin + range.end, stamp))
        };
        let repeating =
            |(range, stamp): (Range<usize>, Timestamp)| Rhythm::of(&stamp).map(|rhythm| (range, stamp, rhythm));
        let title = self.text.find('\n').map_or(self.text.len(), |end| end + 1).min(self.head);
        // The line behind the headline, where Org reads these; what it reads there decides.
        let planned = [Planning::Scheduled, Planning::Deadline].into_iter().filter_map(|kind| node.planning(kind));
        let planned = planned.filter_map(|raw| {
            let at = title + self.text.get(title..self.head)?.find(raw)?;
            Timestamp::parse(raw).map(|stamp| (at..at + raw.len(), stamp))
        });
        planned.into_iter().find_map(repeating).or_else(|| {
            let dated = node.may_be_dated().then(|| from(0, title).chain(from(self.head, self.text.len())));
            dated.into_iter().flatten().find_map(repeating)
        })
    }

    /// Returns what is confirmed: every byte, but that of the one timestamp that Org moves its date is left out, and the
    /// note that it did so.
    fn confirmed(&self, moved: Option<&(Range<usize>, Timestamp, Rhythm)>) -> String {
        let Some((range, stamp, rhythm)) = moved else { return self.text.clone() };
        let raw = self.text.get(range.clone()).unwrap_or_default();
        let undated = undated(raw, stamp, rhythm).unwrap_or_else(|| raw.to_string());
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for line in self.text.split_inclusive('\n') {
            let (begin, end) = (at, at + line.len());
            at = end;
            if begin > 0 && end <= self.head && is_last_repeat(line) {
                continue;
            }
            match (begin..end).contains(&range.start) {
                true => {
                    text.push_str(self.text.get(begin..range.start).unwrap_or_default());
                    text.push_str(&undated);
                    text.push_str(self.text.get(range.end..end).unwrap_or_default());
                }
                false => text.push_str(line),
            }
        }
        text
    }
}

/// Returns a timestamp without what Org moves of it: the day, and with hours the time. `None` where more stands in it than
/// a date that repeats, perhaps with a delay.
fn undated(raw: &str, stamp: &Timestamp, rhythm: &Rhythm) -> Option<String> {
    if stamp.until != Until::Open || !stamp.other.is_empty() {
        return None;
    }
    let hours = stamp.repeater.is_some_and(|repeater| repeater.unit == Unit::Hour);
    let inner = raw.strip_prefix('<')?.strip_suffix('>')?;
    let kept = inner.split_ascii_whitespace().skip(1).enumerate().filter(|(at, word)| {
        let weekday = *at == 0 && word.chars().next().is_some_and(char::is_alphabetic);
        !(weekday || hours && word.contains(':'))
    });
    let kept: Vec<&str> = kept.map(|(_, word)| word).collect();
    Some(format!("<… {}> ({})", kept.join(" "), rhythm.words()))
}

/// Returns whether a line of the properties is the note that Org leaves when it moves a date.
fn is_last_repeat(line: &str) -> bool {
    let value = line.trim().strip_prefix(":LAST_REPEAT:").and_then(|value| Timestamp::parse(value.trim()));
    value.is_some_and(|stamp| {
        let plain = stamp.repeater.is_none() && stamp.delay.is_none() && stamp.other.is_empty();
        plain && !stamp.active && stamp.until == Until::Open
    })
}

fn job(node: &NodeRef, said: &Said, own: &Own) -> Result<Job, String> {
    let mut moved = None;
    let when = match said {
        Said { hook: Some(_), cron: Some(_), .. } => {
            return Err("it has a hook and a cron line; a heading is set off by one of them".to_string());
        }
        Said { hook: Some(_), .. } => When::Changed,
        Said { cron: Some(line), .. } => When::Due(Rhythm::Cron(Cron::parse(line)?)),
        Said { .. } => {
            moved = own.repeater(node);
            let (.., rhythm) = moved.as_ref().ok_or(
                "PP_RUN stands at a heading without a repeater, such as SCHEDULED: <2026-11-23 Mon 08:00 +1d>, and \
                 without a line such as #+CRON: 0 8 * * *",
            )?;
            When::Due(rhythm.clone())
        }
    };
    let named = node.card().own_id(node.index);
    let twice = |id: &str| (0..node.card().len()).filter(|at| node.card().own_id(*at) == Some(id)).nth(1).is_some();
    if named.is_some_and(twice) {
        return Err("its ID stands twice in this file; give each heading one of its own".to_string());
    }
    let task = task(said, own.section())?;
    let tier = match property(node, "PP_TIER") {
        None => Tier::of_task(&task),
        Some(word) => Tier::parse(word.trim())
            .ok_or_else(|| format!("PP_TIER is reflex, cognition or reasoning, not “{}”", word.trim()))?,
    };
    let dollars = match property(node, "PP_USD") {
        None => None,
        Some(amount) => Some(
            Micros::parse(amount.trim())
                .ok_or_else(|| format!("PP_USD is an amount of dollars such as 0.05, not “{}”", amount.trim()))?,
        ),
    };
    let always = property(node, "PP_ALWAYS").is_some_and(|value| value.trim().eq_ignore_ascii_case("t"));
    if always && when == When::Changed {
        return Err("a hook runs when something changes, so PP_ALWAYS says nothing there".to_string());
    }
    let words = own.confirmed(moved.as_ref());
    if words.len() > MAX_TEXT {
        return Err(format!("its text is longer than {} kB, which nobody can look through", MAX_TEXT / 1024));
    }
    let mut job = Job {
        node: node.id().clone(),
        file: node.file().clone(),
        title: node.title().to_string(),
        when,
        task,
        tier,
        watch: property(node, "PP_WATCH").map_or(Watch::Here, |value| Watch::read(&value)),
        always,
        dollars,
        privacy: node.privacy(),
        tags: node.all_tags().into_iter().map(str::to_string).collect(),
        words,
        text: String::new(),
        lisp: None,
        handlers: Vec::new(),
    };
    job.text = text(&job);
    Ok(job)
}

/// Returns what is asked for: the value of `PP_RUN` or the hook, or else the text without its `#+` lines.
fn task(said: &Said, section: &str) -> Result<String, String> {
    let words = [&said.run, &said.hook].into_iter().flatten().map(|value| value.trim());
    let own = words.into_iter().find(|value| !value.is_empty() && !value.eq_ignore_ascii_case("t"));
    let body: String =
        section.lines().filter(|line| keyword(line.trim_start()).is_none()).map(|line| format!("{line}\n")).collect();
    let task = own.unwrap_or(body.trim()).to_string();
    match task.len() {
        0 => Err("it says nothing that is to be done: write it below the heading".to_string()),
        long if long > MAX_TASK => Err(format!("what it asks for is longer than {} kB", MAX_TASK / 1024)),
        _ => Ok(task),
    }
}

/// Returns the hash of all that is confirmed: the heading's own text, and what it has from elsewhere.
fn text(job: &Job) -> String {
    let mut hasher = ContentHasher::new("job text");
    hasher.text(&job.words).text(&job.rhythm()).text(job.tier.name()).text(&job.watch.words());
    hasher.text(job.privacy.word()).number(job.tags.len() as u64);
    for tag in &job.tags {
        hasher.text(tag);
    }
    blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string()
}

/// Returns what a property says, if it says anything.
fn property(node: &NodeRef, name: &str) -> Option<String> {
    node.property(name).filter(|value| !value.trim().eq_ignore_ascii_case("nil")).map(str::to_string)
}

fn line(lines: &[(String, &str)], key: &str) -> Option<String> {
    lines.iter().find(|(known, _)| known == key).map(|(_, value)| value.to_string())
}
