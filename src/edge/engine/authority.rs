//! What the user confirmed that loosens: lines of `rules.org`, properties of headings, rules that were learned.
//!
//! It stands in records, which nothing moves: what a file says is compared with it each time, so that a line that
//! somebody else wrote changes nothing.

mod held;
mod labels;
pub(super) mod learn;
mod lost;
mod mandates;
mod replay;
mod skills;

use crate::domain::action::Action;
use crate::domain::audit::{Decider, Decision, Ruling};
use crate::domain::gate::{Gates, archivist};
use crate::domain::id::{NodeId, TurnId};
use crate::domain::job::starts_work;
use crate::domain::label::{Labels, Privacy};
use crate::domain::policy::held::{GONE, Seen};
use crate::domain::policy::learned::Learned;
use crate::domain::policy::loosening::{Confirmed, Loosening};
use crate::domain::policy::passes::looser;
use crate::domain::policy::tools::{Table, UnreadTable, word};
use crate::domain::port::LogLevel;
use crate::domain::scope::Level;
use crate::domain::signal::{Body, Depth, Origin, Signal, Source};
use crate::domain::skill::Skill;
use crate::domain::skill::gate::ToolsGate;
use crate::domain::tool::CONFIRM;
use crate::domain::turn::{Commanded, Start};
use crate::edge::engine::archive::Archive;
use crate::edge::engine::authority::labels::Settled;
use crate::edge::engine::record::{Finished, kind};
use crate::edge::engine::servers::SERVER_CHANGED;
use crate::edge::engine::skilled::Setting;
use crate::edge::engine::turns::channel;
use crate::edge::engine::{Engine, audit};
use crate::edge::rules_file;
use crate::edge::thread::{aside, in_place};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

pub use replay::Replay;
pub(in crate::edge) use skills::read_skill;
pub use skills::{Shown, SkillAt};

/// What stands in the place of a file for a rule that was learned.
const LEARNED: &str = "(learned from your approvals)";

/// What the store knows of what loosens.
#[derive(Default)]
pub(in crate::edge) struct Authority {
    /// By hash: what was confirmed last, and whether it still is.
    confirmed: BTreeMap<String, (Loosening, bool)>,
    /// Rules that were learned, by name, with how often each was used.
    learned: BTreeMap<String, (Learned, u32)>,
    /// Lines that tighten and were seen.
    seen: Seen,
    /// What was seen that makes headings private.
    labels: Seen,
    /// The files in which something is more private than it says.
    holding: BTreeSet<Arc<str>>,
    /// Files with something private, as they were on the disk.
    settled: BTreeMap<Arc<str>, Settled>,
    /// The headings of which the user was told that.
    told: HashSet<NodeId>,
}

/// Returns everything that the user confirmed and did not take back.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn confirmed(archive: &Archive) -> Result<Confirmed, String> {
    let known = loosenings(archive).await?;
    Ok(Confirmed::of(known.values().filter(|(_, counts)| *counts).map(|(loosening, _)| loosening)))
}

/// Returns what was confirmed last of each, by hash, and whether it still is.
async fn loosenings(archive: &Archive) -> Result<BTreeMap<String, (Loosening, bool)>, String> {
    let mut known = BTreeMap::new();
    for record in archive.latest_each(kind::LOOSENING).await? {
        let text = |name: &str| record.body[name].as_str().map(str::to_string);
        let read = || Some([text("file")?, text("heading")?, text("name")?, text("value")?]);
        let Some([file, heading, name, value]) = read() else { continue };
        let loosening = Loosening { file, heading, name, value };
        // A record that names something else than its key confirms nothing.
        if loosening.hash() == record.key {
            known.insert(record.key, (loosening, record.body["state"] == "confirmed"));
        }
    }
    Ok(known)
}

/// One line of the list of rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruled {
    /// Its name.
    pub id: String,
    /// `waiting`, `confirmed`, `withdrawn`, `offered`, `over`, or `set` for what the settings let pass.
    pub state: &'static str,
    /// What it says.
    pub text: String,
    /// How often it was used, of a rule that was learned.
    pub used: Option<u32>,
}

/// What a human ordered that no model takes part in.
pub(super) struct Order {
    /// What raised it.
    pub(super) body: Body,
    /// What was typed, in short.
    pub(super) asked: String,
    /// Where it was typed: the project is worked out from it.
    pub(super) folder: Option<PathBuf>,
}

impl Engine {
    /// Reads what the store knows of what loosens.
    ///
    /// # Errors
    /// When the store cannot be read; then nothing of it counts.
    pub(super) async fn load_authority(&self) -> Result<(), String> {
        let (seen, labels) = self.load_seen().await?;
        let mut known = Authority { seen, labels, ..Authority::default() };
        known.confirmed = loosenings(&self.archive).await?;
        for record in self.archive.latest_each(kind::RULE).await? {
            if let Some(rule) = learn::read(&record.body).filter(|rule| rule.id() == record.key) {
                known.learned.insert(record.key, (rule, 0));
            }
        }
        for record in self.archive.latest_each(kind::USED).await? {
            if let Some((_, used)) = known.learned.get_mut(&record.key) {
                *used = record.body["used"].as_u64().and_then(|used| u32::try_from(used).ok()).unwrap_or(u32::MAX);
            }
        }
        *self.authority.lock() = known;
        in_place(|| self.hold_found());
        for gap in self.rule_gaps() {
            self.say(LogLevel::Error, &gap);
        }
        for waiting in self.levels().1 {
            let text = format!(
                "{} loosens, and does not count before you confirm it: M-x passepartout-rules",
                self.loggable(&waiting)
            );
            self.say(LogLevel::Warning, &text);
        }
        Ok(())
    }

    /// Returns whether the user confirmed exactly this, and did not take it back.
    pub(super) fn is_confirmed(&self, loosening: &Loosening) -> bool {
        self.authority.lock().confirmed.get(&loosening.hash()).is_some_and(|(_, counts)| *counts)
    }

    /// Returns everything that the user confirmed and did not take back.
    pub(super) fn confirmed_now(&self) -> Confirmed {
        let authority = self.authority.lock();
        Confirmed::of(authority.confirmed.values().filter(|(_, counts)| *counts).map(|(loosening, _)| loosening))
    }

    /// Returns the table of levels as it stands on the disk now.
    pub(super) fn rules_table(&self) -> Table {
        in_place(|| rules_file::read(&self.config.settings))
    }

    /// Returns the levels that count now, and what of the table waits for the user: lines that loosen, and what was taken
    /// away that tightened.
    pub fn levels(&self) -> (BTreeMap<String, Level>, Vec<Loosening>) {
        let (levels, mut waiting, lost) = self.levels_and_lost();
        waiting.extend(lost.map(|lost| lost.loosening));
        (levels, waiting)
    }

    /// Returns the levels, the lines of the table that wait, and apart from them what was taken away.
    fn levels_and_lost(&self) -> (BTreeMap<String, Level>, Vec<Loosening>, Option<lost::Lost>) {
        let table = self.rules_table();
        let confirmed = |loosening: &Loosening| self.is_confirmed(loosening);
        let (levels, mut waiting) = table.over(&self.config.permissions, &self.toolbox(), &confirmed);
        let (levels, mut lost) = self.held_levels(&table, levels);
        if let Some(lost) = &mut lost {
            // Who lets the old line go has been shown the new one.
            let shown: Vec<Loosening> = waiting.extract_if(.., |line| lost.is_of(&line.name)).collect();
            lost.confirms = shown;
        }
        (levels, waiting, lost)
    }

    /// Returns everything that waits for the user, but for rules that were learned.
    fn waiting(&self) -> Vec<Loosening> {
        let lost = self.lost_by_files().into_iter().map(|lost| lost.loosening);
        let waiting = self.levels().1.into_iter().chain(self.waiting_mandates()).chain(lost);
        waiting.chain(self.waiting_jobs()).chain(self.waiting_servers()).collect()
    }

    /// Returns which of the user's rules cannot be read, with what follows from it and the way out.
    pub fn rule_gaps(&self) -> Vec<String> {
        self.rules_table().gap().into_iter().collect()
    }

    /// Returns the gates as they are for a turn that begins now, perhaps under a skill: with a gate in place of rules
    /// that cannot be read, and beside the rules that the user confirmed.
    pub fn gates_now(&self, skill: Option<&Skill>) -> Gates {
        let mut gates = self.gates();
        if let Some(gate) = skill.and_then(ToolsGate::new) {
            gates = gates.and(Box::new(gate));
        }
        if skill.is_some_and(|skill| skill.name == archivist::SKILL) {
            gates = gates.and(Box::new(archivist::ArchivistAtWork));
        }
        if let Some(gate) = UnreadTable::of(&self.rules_table()) {
            gates = gates.and(Box::new(gate));
        }
        gates.with_rules(self.rules_in_force())
    }

    /// Returns everything that loosens or would: what waits for the user, what was confirmed, what was learned.
    pub fn rules(&self) -> Vec<Ruled> {
        let mut list = Vec::new();
        for loosening in self.waiting() {
            let (id, text) = (loosening.id(), loosening.words());
            list.push(Ruled { id, state: "waiting", text, used: None });
        }
        let (now, authority) = (self.clock.now(), self.authority.lock());
        for (loosening, counts) in authority.confirmed.values().filter(|(known, _)| known.file != LEARNED) {
            if list.iter().any(|known| known.id == loosening.id()) {
                continue;
            }
            let state = if *counts { "confirmed" } else { "withdrawn" };
            list.push(Ruled { id: loosening.id(), state, text: loosening.words(), used: None });
        }
        for (id, (rule, used)) in &authority.learned {
            let known = authority.confirmed.get(&learn::loosening(rule).hash()).map(|(_, counts)| *counts);
            let state = match known {
                _ if rule.until <= now || *used >= rule.uses => "over",
                None => "offered",
                Some(true) => "confirmed",
                Some(false) => "withdrawn",
            };
            list.push(Ruled { id: id.clone(), state, text: rule.words(), used: Some(*used) });
        }
        list.extend(self.settings_that_pass());
        list
    }

    /// Returns what the settings let pass that usually asks, each with where it is set and taken back.
    fn settings_that_pass(&self) -> impl Iterator<Item = Ruled> {
        let set = |id: String, text: String| Ruled { id, state: "set", text, used: None };
        let levels = looser(&self.config.permissions, &self.toolbox()).into_iter().map(move |looser| {
            let (level, usual) = (word(looser.level), word(looser.usual));
            let text = format!(
                "{} = {level}, not the usual {usual}; set in Emacs, and taken back there, in passepartout-permissions",
                looser.tool
            );
            set(looser.tool.to_string(), text)
        });
        let hosts = self.config.allowed_hosts.iter().map(move |host| {
            let text = format!(
                "{host} may be reached without asking; set, and taken back, in passepartout-allowed-hosts in Emacs or in \
                 ALLOWED_HOSTS of the settings"
            );
            set(host.clone(), text)
        });
        levels.chain(hosts)
    }

    /// Finds what a name of the list stands for.
    fn named(&self, id: &str) -> Result<Loosening, String> {
        let waiting = self.waiting().into_iter();
        let authority = self.authority.lock();
        let learned = authority.learned.values().map(|(rule, _)| (rule.id(), learn::loosening(rule)));
        let confirmed = authority.confirmed.values().map(|(loosening, _)| (loosening.id(), loosening.clone()));
        let mut all = waiting.map(|loosening| (loosening.id(), loosening)).chain(learned).chain(confirmed);
        let is_it = |name: &str| name.eq_ignore_ascii_case(id.trim());
        let found = all.find(|(name, _)| is_it(name)).map(|(_, loosening)| loosening);
        if let (None, Some(set)) = (&found, self.settings_that_pass().find(|rule| is_it(&rule.id))) {
            return Err(format!("this is a setting, which is changed where it is set: {}", set.text));
        }
        found.ok_or_else(|| format!("there is no rule {id}; they are listed by: passepartout rules list"))
    }

    /// Shows what loosens as a flight plan, for the user to approve in Emacs.
    ///
    /// # Errors
    /// When there is nothing of that name, it counts already, or the channel is not the user's Emacs.
    pub async fn propose_rule(self: &Arc<Self>, origin: &Origin, id: &str, turn: TurnId) -> Result<Finished, String> {
        if !origin.rights.approve || origin.source != Source::Emacs {
            return Err("what loosens is confirmed in Emacs: M-x passepartout-rules".to_string());
        }
        let (engine, name) = (self.clone(), id.to_string());
        let (loosening, shown) = aside(move || {
            let loosening = engine.named(&name)?;
            let shown = engine.shown_whole(&loosening)?;
            Ok::<_, String>((loosening, shown))
        })
        .await?;
        let (shown, privacy) = shown.map_or((None, Privacy::Open), |(shown, privacy)| (Some(shown), privacy));
        if self.is_confirmed(&loosening) {
            return Err(format!("{id} counts already"));
        }
        let replay = self.check_rule(&loosening).await?.map(|replay| replay.text(&loosening.heading));
        let more = match (loosening.server(), &shown) {
            (Some(_), _) => "lends tools to models from now on",
            (None, Some(_)) => "starts work by itself from now on",
            (None, None) => "lets more happen without asking you",
        };
        let why = format!("You asked to confirm {}, which {more}.", loosening.id());
        let beside = [("replay", replay), ("text", shown)].into_iter();
        let beside = beside.filter_map(|(name, text)| Some((name, text?))).collect();
        self.propose_loosening(origin, &loosening, (beside, privacy), &why, turn).await
    }

    /// Makes a flight plan of what loosens; what comes of it is told beside it, by the names of arguments, with how private
    /// that is.
    async fn propose_loosening(
        self: &Arc<Self>,
        origin: &Origin,
        loosening: &Loosening,
        (beside, privacy): (Vec<(&'static str, String)>, Privacy),
        why: &str,
        turn: TurnId,
    ) -> Result<Finished, String> {
        let args: Map<String, Value> = [
            ("file", &loosening.file),
            ("heading", &loosening.heading),
            ("name", &loosening.name),
            ("value", &loosening.value),
        ]
        .into_iter()
        .chain(beside.iter().map(|(name, value)| (*name, value)))
        .map(|(name, value)| (name.to_string(), Value::String(value.clone())))
        .collect();
        let labels = Labels { privacy, ..Labels::USER };
        let action = Action::new(&self.toolbox(), CONFIRM, args, Some(why), labels).map_err(|wrong| wrong.0)?;
        Ok(self.commanded(origin, turn, format!("confirm {}", loosening.id()), action).await)
    }

    /// Has an action judged that a human wished by a command, in a turn of its own.
    pub(in crate::edge::engine) async fn commanded(
        self: &Arc<Self>,
        origin: &Origin,
        turn: TurnId,
        line: String,
        action: Action,
    ) -> Finished {
        let order = Order { body: Body::UserCommand { line: line.clone() }, asked: line, folder: None };
        self.ordered(origin, turn, order, action).await
    }

    /// As [`Engine::commanded`], by whatever raised it.
    pub(super) async fn ordered(
        self: &Arc<Self>,
        origin: &Origin,
        turn: TurnId,
        Order { body, asked, folder }: Order,
        action: Action,
    ) -> Finished {
        let _alone = self.alone(&origin.session).await;
        let began = self.clock.now();
        self.doings.begin(&turn, &origin.session, Vec::new());
        let (depth, labels) = (Depth::outermost(), Labels::USER);
        let signal = Signal { origin: origin.clone(), depth, turn: turn.clone(), at: began, labels, body };
        let (engine, session, sees) = (self.clone(), origin.session.clone(), origin.rights.see_private);
        let scope = aside(move || engine.scope(&session, folder.as_deref(), sees)).await;
        let start = Start::Commanded(Box::new(Commanded { signal, action, approval: None }));
        let (report, under) = self.run(start, None, None, &scope, &mut |_| {}).await;
        let setting = Setting { project: Some(scope.project), under: Some(under) };
        self.finish(turn, origin.session.clone(), began, asked, report, &setting).await
    }

    /// Keeps what a human approved as a flight plan.
    ///
    /// # Errors
    /// When a rule would open what was denied, or it could not be stored.
    pub(crate) async fn keep_confirmed(&self, action: &Action) -> Result<String, String> {
        let text = |name: &str| action.text(name).unwrap_or_default().to_string();
        let [file, heading, name, value] = ["file", "heading", "name", "value"].map(text);
        let loosening = Loosening { file, heading, name, value };
        if loosening.name == GONE {
            return self.let_go_lost(&loosening).await;
        }
        if let Some((shown, _)) = in_place(|| self.shown_whole(&loosening))?
            && action.text("text") != Some(shown.as_str())
        {
            if loosening.server().is_some() {
                return Err(SERVER_CHANGED.to_string());
            }
            return Err("its heading changed after it was shown; look at it again: M-x passepartout-jobs".to_string());
        }
        self.check_rule(&loosening).await?;
        self.still_shown(&loosening).await?;
        self.keep_loosening(&loosening, Ruling::Confirmed, "Emacs").await?;
        Ok(format!("{} counts from now on; M-x passepartout-rules lists and withdraws it.", loosening.words()))
    }

    /// Takes back what was confirmed. It tightens, so every channel of a human may do it.
    ///
    /// # Errors
    /// When nothing of that name was confirmed, or it could not be stored.
    pub async fn withdraw_rule(&self, origin: &Origin, id: &str) -> Result<String, String> {
        if !origin.rights.may_take_away() {
            return Err("this channel may not change rules".to_string());
        }
        let loosening = in_place(|| self.named(id))?;
        if !self.is_confirmed(&loosening) && loosening.file != LEARNED {
            return Err(format!("{id} does not count, so there is nothing to withdraw"));
        }
        self.keep_loosening(&loosening, Ruling::Revoked, channel(origin.source)).await?;
        Ok(format!("{} does not count any more.", loosening.words()))
    }

    /// Returns what the log and the audit may say of it: where a heading is not known to be open, its name is left out.
    fn loggable(&self, loosening: &Loosening) -> String {
        if loosening.name == GONE {
            return format!("{} ({GONE} from {})", loosening.id(), loosening.file);
        }
        let view = self.view();
        let node = view.get(&NodeId::new(loosening.heading.as_str()));
        let ours = !loosening.name.starts_with("PP_") || loosening.heading.is_empty();
        match ours || node.is_some_and(|node| !node.privacy().is_kept()) {
            true => loosening.words(),
            false => loosening.bare(),
        }
    }

    /// Returns what counts of what starts work.
    pub(super) fn confirmed_work(&self) -> Vec<Loosening> {
        let authority = self.authority.lock();
        let counts = authority.confirmed.values().filter(|(loosening, counts)| *counts && starts_work(loosening));
        counts.map(|(loosening, _)| loosening.clone()).collect()
    }

    async fn keep_loosening(&self, loosening: &Loosening, ruling: Ruling, channel: &str) -> Result<(), String> {
        self.keep_decided(loosening, ruling, Decider::Human(channel.to_string())).await
    }

    /// Keeps that what loosens counts from now on, or does not, and who decided that.
    pub(super) async fn keep_decided(
        &self,
        loosening: &Loosening,
        ruling: Ruling,
        decider: Decider,
    ) -> Result<(), String> {
        let counts = ruling == Ruling::Confirmed;
        let state = if counts { "confirmed" } else { "withdrawn" };
        let body = json!({
            "file": loosening.file, "heading": loosening.heading, "name": loosening.name, "value": loosening.value,
            "state": state,
        });
        let words = self.loggable(loosening);
        let decision = Decision { decider, ..Engine::of_human(ruling, words.clone(), "") };
        let record = (kind::LOOSENING, loosening.hash(), body);
        if !counts {
            // At once, whatever becomes of the store; who ends a run over it knows why.
            self.job_begins_anew(loosening);
            self.authority.lock().confirmed.insert(loosening.hash(), (loosening.clone(), counts));
            if let Some(server) = loosening.server() {
                self.lend_tools(server);
            }
        }
        self.append_all([record, audit::kept(&decision)].into_iter()).await?;
        self.authority.lock().confirmed.insert(loosening.hash(), (loosening.clone(), counts));
        self.job_begins_anew(loosening);
        self.say(LogLevel::Info, &format!("{words} is {state}"));
        if loosening.skill().is_some() {
            self.reload_skills().await;
        }
        self.jobs_doubt();
        if let Some(server) = loosening.server() {
            self.lend_tools(server);
        }
        Ok(())
    }

    /// Returns all that a human is shown of what loosens, where that is more than its line, and how private it is.
    ///
    /// # Errors
    /// When it is not what it was any more.
    fn shown_whole(&self, loosening: &Loosening) -> Result<Option<(String, Privacy)>, String> {
        match loosening.server() {
            Some(_) => self.shown_server(loosening).map(|text| Some((text, Privacy::Open))),
            None => self.shown_job(loosening),
        }
    }
}
