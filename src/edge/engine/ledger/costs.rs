//! The ledger put together for people and programs: rows by a grouping, their sum, and how much of each cap is used.

use crate::domain::id::{NodeId, SessionId};
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::money::caps::{BACKGROUND, Cap, DAY, Holding, SESSION, UNPRICED};
use crate::domain::money::totals::{Grouping, Sum};
use crate::domain::money::{Call, Micros};
use crate::domain::preset::Preset;
use crate::domain::work::Work;
use crate::edge::clock::local;
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::caps::OF_SESSION;
use crate::edge::engine::ledger::record;
use crate::edge::engine::ledger::sums::Summed;
use crate::edge::engine::record::kind;
use jiff::civil::Date;
use std::collections::BTreeMap;

/// More rows are not listed; the sum has them all.
const MOST_ROWS: usize = 500;

/// Sums of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// Each group, by its key.
    pub groups: BTreeMap<String, Sum>,
    /// All of them.
    pub all: Sum,
    /// Records that cannot be read: they are in no sum.
    pub unreadable: u64,
    today: Today,
}

/// What counts towards caps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Today {
    session: Micros,
    day: Micros,
    background: Micros,
    unpriced: u64,
}

impl Today {
    /// Returns what counts, of the sums of a day by whether somebody waited.
    fn of(by_work: &BTreeMap<String, Sum>) -> Today {
        let all = joined(by_work);
        let background = by_work.get(Work::Background.name()).copied().unwrap_or_default();
        Today { session: Micros::default(), day: all.cost, background: background.cost, unpriced: all.unknown }
    }
}

fn joined(groups: &BTreeMap<String, Sum>) -> Sum {
    groups.values().fold(Sum::default(), |mut all, sum| {
        all.join(sum);
        all
    })
}

/// One line of what people are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The id of the heading, where the row is about one that may be named.
    pub heading: Option<String>,
    /// What it is about, in words.
    pub label: String,
    /// What it comes to.
    pub sum: Sum,
}

/// What people are shown of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overview {
    /// By what it is put together.
    pub by: Grouping,
    /// Since when; `None` for everything.
    pub since: Option<Date>,
    /// The rows: days from the newest, everything else from the dearest.
    pub rows: Vec<Row>,
    /// So many more are not listed.
    pub more: usize,
    /// All of it, rows that are not listed too.
    pub all: Sum,
    /// How much of each cap is used, and how to raise it; one line each.
    pub caps: Vec<String>,
    /// What else is to be known: unknown prices, records and rows that cannot be read.
    pub notes: Vec<String>,
}

impl Engine {
    /// Sums the ledger up since a day.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn costs(&self, by: Grouping, since: Option<Date>) -> Result<Costs, String> {
        self.costs_of(by, since, None).await
    }

    async fn costs_of(&self, by: Grouping, since: Option<Date>, session: Option<&str>) -> Result<Costs, String> {
        let now = local(self.clock.now()).date();
        let mut costs = self
            .summed(|Summed { sums, unreadable, .. }| {
                let groups = sums.groups(by, since.unwrap_or(Date::MIN)..=Date::MAX);
                let today = Today::of(&sums.groups(Grouping::Work, now..=now));
                Costs { all: joined(&groups), groups, unreadable: *unreadable, today }
            })
            .await?;
        if let Some(session) = session {
            let records = self.archive.newest_of(kind::CALL, session.to_string(), OF_SESSION).await?;
            let amounts = records.iter().filter_map(record::read).map(|call| call.cost.counted());
            costs.today.session = amounts.fold(Micros::default(), Micros::plus);
        }
        Ok(costs)
    }

    /// Returns what people are shown of the ledger. Titles of private headings stand in it where `names_private` says so.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn overview(
        &self,
        by: Grouping,
        since: Option<Date>,
        session: Option<&str>,
        names_private: bool,
    ) -> Result<Overview, String> {
        let _ = self.write_ledger().await;
        let Costs { groups, all, unreadable, today } = self.costs_of(by, since, session).await?;
        let mut groups: Vec<(String, Sum)> = groups.into_iter().rev().collect();
        if by != Grouping::Day {
            groups.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.cost, sum.calls)));
        }
        let more = groups.len().saturating_sub(MOST_ROWS);
        let row = |(key, sum): (String, Sum)| {
            let (heading, label) = self.label(by, key, names_private);
            Row { heading, label, sum }
        };
        let rows = groups.into_iter().take(MOST_ROWS).map(row).collect();
        let preset = match session {
            Some(session) => self.preset_or_shut(&SessionId(session.to_string())).await,
            None => None,
        };
        let caps = self.cap_lines(session, today, preset.as_ref());
        Ok(Overview { by, since, rows, more, all, caps, notes: self.ledger_notes(&all, unreadable) })
    }

    fn label(&self, by: Grouping, key: String, names_private: bool) -> (Option<String>, String) {
        match (by, key.is_empty()) {
            (Grouping::Heading, true) => (None, "with no heading in focus".to_string()),
            (Grouping::Skill, true) => (None, "without a skill".to_string()),
            (Grouping::Heading, false) => match self.view().get(&NodeId::new(key.as_str())) {
                Some(node) if names_private || node.privacy() < Privacy::Private => (Some(key), exact(node.title())),
                Some(_) => (None, "a private heading".to_string()),
                None => (None, "a heading that is gone".to_string()),
            },
            (Grouping::Work, _) if key == Work::Background.name() => (None, "in the background".to_string()),
            (Grouping::Work, _) => (None, "asked for by you".to_string()),
            (Grouping::Day | Grouping::Skill | Grouping::Provider, _) => (None, exact(&key)),
        }
    }

    fn cap_lines(&self, session: Option<&str>, today: Today, preset: Option<&Preset>) -> Vec<String> {
        let (caps, day) = (&self.config.caps, local(self.clock.now()).date());
        let accounts = self.ledger.accounts.lock();
        let held = accounts.as_ref().map_or_else(|_| Holding::default(), |accounts| accounts.holding(session, day));
        let dollars = |cap: Option<Micros>, used: Micros, held: Micros, named: Cap| {
            let used = match held {
                Micros(0) => used.to_string(),
                held => format!("{used}, and {held} held for calls that run,"),
            };
            cap.map(|cap| line(&used, &cap.to_string(), named))
        };
        // Without a conversation there is nothing of it to be counted.
        let tighter = preset.and_then(|preset| Some((preset, preset.dollars?)));
        let tighter = tighter.filter(|(_, cap)| caps.session.is_none_or(|own| *cap < own));
        let of_session = match session {
            Some(_) if let Some((preset, cap)) = tighter => {
                let line = dollars(Some(cap), today.session, held.session, SESSION);
                line.map(|line| {
                    let (said, _) = line.split_once(';').unwrap_or((&line, ""));
                    format!("{said}; the preset {} says so, and its USD raises it", exact(&preset.name))
                })
            }
            Some(_) => dollars(caps.session, today.session, held.session, SESSION),
            None => caps.session.map(|cap| format!("a conversation may cost {cap}; {}", raise(SESSION))),
        };
        let unpriced = caps.unpriced.map(|most| line(&today.unpriced.to_string(), &most.to_string(), UNPRICED));
        let of_day = dollars(caps.day, today.day, held.day, DAY);
        let background = dollars(caps.background, today.background, held.background, BACKGROUND);
        let mut lines: Vec<String> = [of_session, of_day, background, unpriced].into_iter().flatten().collect();
        if let Err(why) = &*accounts
            && self.beside.is_none()
        {
            lines.push(format!("what was spent is not known, so nothing that costs is asked: {why}"));
        }
        if lines.is_empty() {
            lines.push(format!("none is set; {} and others set one", raise(DAY).replacen("raise ", "", 1)));
        }
        lines
    }

    fn ledger_notes(&self, all: &Sum, unreadable: u64) -> Vec<String> {
        let mut notes = Vec::new();
        let (file, _) = self.prices_file();
        if all.unknown > 0 {
            notes.push(format!(
                "{} of {} calls are in no sum, as their price stands in no table; add it to {}: it counts for calls \
                 from then on",
                all.unknown,
                all.calls,
                exact(&file.display().to_string())
            ));
        }
        if all.guessed > 0 {
            notes
                .push(format!("{} calls are in the sum by a guess: they were stopped, or said no tokens", all.guessed));
        }
        if unreadable > 0 {
            notes.push(format!("{unreadable} records of the ledger cannot be read, and are in no sum"));
        }
        match self.ledger.unwritten.lock().len() {
            0 => {}
            waiting => notes.push(format!("{waiting} calls could not be written down yet, and are in no sum")),
        }
        notes.extend(self.own_prices().1.iter().map(|why| exact(why)));
        notes
    }

    /// Returns the last calls, newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn calls(&self, limit: usize) -> Result<Vec<Call>, String> {
        let records = self.archive.newest(kind::CALL, limit).await?;
        Ok(records.iter().filter_map(record::read).collect())
    }
}

/// Reads the day from which calls are put together.
///
/// # Errors
/// When it is no day.
pub fn since(text: &str) -> Result<Date, String> {
    text.trim().parse().map_err(|_| format!("“{}” is no day; write one such as 2026-12-01", exact(text)))
}

fn line(used: &str, cap: &str, named: Cap) -> String {
    format!("{}: {used} of {cap} used; {}", named.what, raise(named))
}

fn raise(Cap { variable, option, .. }: Cap) -> String {
    format!("raise {option} or {variable}")
}
