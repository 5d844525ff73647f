//! Carries out what was cleared, once. Each act is surveyed again first: what changed since is stale, not done.

mod census;
mod code;
mod commit;
mod edit;
mod editor;
mod garden;
mod git;
mod kept;
mod layer;
mod lisp;
mod look;
mod memory;
mod near;
mod outline;
mod own;
pub mod put;
pub mod read;
pub(super) mod rehearse;
mod remove;
mod render;
mod restore;
mod served;
mod setting;
pub mod shell;
mod skill;
pub mod write;

use crate::domain::action::{Action, Observation, Outcome};
use crate::domain::gate::clearance::{Cleared, Rehearsal};
use crate::domain::gate::plan::Tried;
use crate::domain::gate::reach::wanted;
use crate::domain::gate::show::shown;
use crate::domain::id::{NodeId, TurnId};
use crate::domain::label::{Labels, Privacy, Provenance, Trust};
use crate::domain::memory::view::NodeRef;
use crate::domain::outside::Piece;
use crate::domain::port::{Actuator, Content, LogLevel};
use crate::domain::tool::{
    CONFIRM, Class, Effect, RESTORE, SET_CASCADE, SETTING_EXPLAIN, SKILL_READ, Stands, is_user, writes_skills,
};
use crate::edge::engine::Engine;
use crate::edge::engine::cascade::Choice;
use crate::edge::engine::changes::Act;
use crate::edge::engine::delegation::Lent;
use crate::edge::thread::LOOKS;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How much of a file or subtree is read at once, in bytes.
const READ_LIMIT: usize = 64 * 1024;

/// The actuators of one engine.
pub struct Actuators {
    engine: Arc<Engine>,
    kept: kept::Kept,
    lent: Option<Lent>,
}

/// What an act came to, before it is an observation.
struct Done {
    outcome: Outcome,
    labels: Labels,
    /// What of it came from outside.
    outside: Vec<Piece>,
    /// Headings that stand in what it says.
    nodes: Vec<NodeId>,
    changed: Vec<String>,
}

impl Done {
    fn said(text: String, labels: Labels) -> Done {
        let (outside, nodes, changed) = Default::default();
        Done { outcome: Outcome::Done(text), labels, outside, nodes, changed }
    }

    /// What was read, with what of it came from outside.
    fn read(text: String, labels: Labels, outside: Vec<Piece>) -> Done {
        let labels = match outside.as_slice() {
            [] => labels,
            _ => Labels { trust: Trust::Untrusted, ..labels },
        };
        Done { outside, ..Done::said(text, labels) }
    }

    /// Says which headings stand in it.
    fn of(self, nodes: &[NodeRef]) -> Done {
        Done { nodes: nodes.iter().map(|node| node.id().clone()).collect(), ..self }
    }

    fn failed(text: impl Into<String>) -> Done {
        Done { outcome: Outcome::Failed(text.into()), ..Done::said(String::new(), OWN) }
    }
}

/// Words of our own about an act.
const OWN: Labels = Labels { provenance: Provenance::User, trust: Trust::Own, privacy: Privacy::Open };

impl Actuators {
    /// Returns the actuators of an engine.
    pub fn new(engine: Arc<Engine>) -> Actuators {
        Actuators { engine, kept: kept::Kept::default(), lent: None }
    }

    /// Returns the same for a turn that may hand work over, with what it has to hand on.
    pub fn lending(self, lent: Lent) -> Actuators {
        Actuators { lent: Some(lent), ..self }
    }
}

#[async_trait]
impl Actuator for Actuators {
    async fn perform(&self, turn: &TurnId, cleared: Cleared) -> Observation {
        let action = cleared.action().hash();
        let done = self.within_limits(&(turn.clone(), action), &cleared).await;
        // Whatever an act says, it says it here: no value of the vault leaves by an arm that forgot.
        let outcome = match done.outcome {
            Outcome::Done(text) => Outcome::Done(self.masked(&text)),
            Outcome::Failed(text) => Outcome::Failed(self.masked(&text)),
            Outcome::Stale(text) => Outcome::Stale(self.masked(&text)),
            Outcome::Cancelled(text) => Outcome::Cancelled(self.masked(&text)),
        };
        let Done { labels, outside, nodes, changed, .. } = done;
        Observation { action, outcome, labels, outside, nodes, changed }
    }

    async fn rehearse(&self, rehearsal: Rehearsal, most: u64) -> (Tried, u64) {
        if !self.engine.config.dry_run {
            return (Tried::not("trying commands out is switched off (DRY_RUN)"), 0);
        }
        let (began, most) = (Instant::now(), Duration::from_millis(most));
        let tried = match &self.engine.shell {
            Err(why) => Tried::not(&format!("commands cannot be confined here ({why})")),
            Ok(shell) => {
                let below = rehearse::folder(&self.engine.config);
                let trial = shell.rehearse(&rehearsal, &below, most);
                let tried = rehearse::within(most, trial).await.unwrap_or_else(|why| Tried::not(&why));
                let what = if tried.ran { "was tried out, and nothing of it kept" } else { "was not tried" };
                self.engine.say(LogLevel::Info, &format!("a command that waits {what}"));
                // Masked before anything is cut or escaped.
                Tried { text: shown(&self.masked(&tried.text)), said: Tried::heard(&self.masked(&tried.said)), ..tried }
            }
        };
        (tried, u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn masked(&self, text: &str) -> String {
        crate::domain::gate::secret::mask(&self.engine.mask(text)).0
    }

    async fn contents(&self, files: &[String]) -> BTreeMap<String, Content> {
        let files = files.to_vec();
        let content = |file: String| (rehearse::content(std::path::Path::new(&file)), file);
        let look = move || files.into_iter().map(content).map(|(content, file)| (file, content)).collect();
        // Where the look itself fails, none of them was looked at.
        LOOKS.run(look).await.unwrap_or_default()
    }
}

impl Actuators {
    /// Acts within the time and the length that the tool declares.
    ///
    /// A write is never cut off in the middle, and a command is ended by its launcher, which knows what it started.
    async fn within_limits(&self, act: &Act, cleared: &Cleared) -> Done {
        let name = cleared.action().tool();
        let Some(tool) = self.engine.toolbox().get(name) else {
            return Done::failed(format!("there is no tool {name}"));
        };
        let limits = tool.limits;
        if tool.effect.changes() {
            self.kept.forget();
        }
        let question = match tool.stands {
            Stands::Never => None,
            Stands::WithMemory | Stands::WithFiles => kept::Kept::question(tool, cleared, &self.engine.memory_now()),
        };
        // It was surveyed and judged a moment ago, like any other act.
        if let Some((text, labels)) = question.and_then(|question| self.kept.get(&act.0, &question)) {
            return Done::said(text, labels);
        }
        let mut done = match tool.effect.class() {
            // Emacs is given that time, and what did not answer in it says so itself.
            _ if matches!(tool.effect, Effect::Custom(_)) => self.act(act, cleared).await,
            Class::Pure | Class::Read | Class::Network => {
                let acting = self.act(act, cleared);
                match tokio::time::timeout(Duration::from_secs(limits.seconds), acting).await {
                    Ok(done) => done,
                    Err(_) => Done::failed(format!("{name} took more than {} seconds and was stopped", limits.seconds)),
                }
            }
            Class::Write | Class::Execute => self.act(act, cleared).await,
        };
        // A command's two outputs are bounded one by one where they are read, with words around them.
        if tool.effect != Effect::Execute
            && let Outcome::Done(text) | Outcome::Failed(text) = &mut done.outcome
        {
            shorten(text, limits.characters);
        }
        if tool.effect.changes() {
            self.kept.forget();
        }
        if let Some(question) = question {
            self.kept.keep(&act.0, question, &done.outcome, done.labels);
        }
        done
    }

    async fn act(&self, act: &Act, cleared: &Cleared) -> Done {
        let action = cleared.action();
        let Some(tool) = self.engine.toolbox().get(action.tool()) else {
            return Done::failed(format!("there is no tool {}", action.tool()));
        };
        // Nobody else changes its project from here on: what is found out now holds when a command runs.
        let alone = match matches!(tool.effect, Effect::Execute | Effect::Commit) {
            true => Some(self.engine.alone_in(cleared.scope()).await),
            false => None,
        };
        let now = self.engine.surveyor.survey(action, cleared.scope()).await;
        if now.hash() != cleared.facts().hash() {
            let text = "what it is about changed after it was judged; nothing was done".to_string();
            return Done {
                outcome: Outcome::Stale(text),
                labels: OWN,
                outside: Vec::new(),
                nodes: Vec::new(),
                changed: Vec::new(),
            };
        }
        if let Err(why) = self.engine.shared_by(&act.0, cleared).await {
            return Done::failed(format!("that it may be shown could not be kept, so it is not ({why})"));
        }
        match tool.effect {
            Effect::Reply if is_user(action.text("to")) => Done::said("The user was shown it.".to_string(), OWN),
            Effect::Reply => Done::failed("in this version messages go to the user only; nothing was sent"),
            Effect::ReadMemory => memory::Asked::of(cleared).answered(self.engine.clone()).await,
            Effect::ReadFile if action.tool() == "list-files" => self.list_files(cleared).await,
            Effect::ReadFile if action.tool() == "grep" => self.grep(cleared).await,
            Effect::ReadFile if action.tool().starts_with("git-") => self.git(cleared).await,
            Effect::ReadFile if code::looks(action.tool()) => self.look_at_code(cleared).await,
            Effect::ReadFile if action.tool() == SKILL_READ => self.read_skill(cleared).await,
            Effect::ReadFile => self.read_file(cleared).await,
            Effect::WriteFile if action.tool() == RESTORE => self.restore(act, cleared).await,
            Effect::WriteFile if writes_skills(action.tool()) => self.write_skill(act, cleared).await,
            Effect::EditOrg | Effect::WriteFile => self.edit(act, cleared).await,
            Effect::Execute => match (&self.engine.shell, alone) {
                (Ok(shell), Some(alone)) => {
                    let watched = match self.engine.watch(act, cleared, alone).await {
                        Ok(watched) => watched,
                        Err(why) => return Done::failed(why),
                    };
                    let observation = shell.perform(cleared).await;
                    watched.end().await;
                    self.ran(cleared, observation).await
                }
                (Ok(_), None) => Done::failed("BUG: a command would not be alone in its project"),
                (Err(why), _) => Done::failed(format!("commands cannot be confined here, so none is run: {why}")),
            },
            Effect::Delegate => {
                let lent = self.lent.as_ref().ok_or_else(|| "no turn is there that could hand it over".to_string());
                match lent.and_then(|lent| self.engine.delegate(&act.0, lent, cleared)) {
                    Ok(said) => Done::said(said, OWN),
                    Err(why) => Done::failed(format!("{why}; it was not handed over")),
                }
            }
            Effect::Configure if action.tool() == SET_CASCADE => self.set_cascade(action).await,
            Effect::Configure => self.change_setting(act, cleared).await,
            Effect::Evaluate => self.evaluate(cleared).await,
            Effect::Send if action.tool() == CONFIRM => self.confirm_rule(action).await,
            Effect::Send => self.confirm(action).await,
            Effect::Fetch => self.fetch(action).await,
            Effect::ReadEditor if action.tool() == SETTING_EXPLAIN => self.explain_setting(action).await,
            Effect::ReadEditor | Effect::ShowInEditor => self.ask_editor(cleared).await,
            Effect::Commit => self.commit(cleared).await,
            Effect::Custom(class) => self.call_own(cleared, class).await,
        }
    }

    /// Says what a command said, and how much of that came from outside.
    async fn ran(&self, cleared: &Cleared, observation: Observation) -> Done {
        let Observation { outcome, labels, changed, .. } = observation;
        let said = match &outcome {
            Outcome::Done(text) => text.clone(),
            // It was not run, or was ended: these are our own words.
            Outcome::Failed(_) | Outcome::Stale(_) | Outcome::Cancelled(_) => String::new(),
        };
        let (engine, scope, privacy) = (self.engine.clone(), cleared.scope().clone(), labels.privacy);
        // What a host sent may stand in all that the command said and wrote, whoever's the project is.
        let hosts: Vec<String> = match wanted(cleared.action().args()) {
            Ok(hosts) => hosts.iter().map(ToString::to_string).collect(),
            Err(_) => vec!["hosts that cannot be read".to_string()],
        };
        let sent = (!hosts.is_empty())
            .then(|| Piece::new(&format!("what a command fetched from {}", hosts.join(", ")), &said, privacy));
        let found = tokio::task::spawn_blocking(move || engine.outside_of_command(&scope, &said, privacy)).await;
        match found {
            Ok(mut outside) => {
                outside.extend(sent);
                let kept = Labels { trust: Trust::Kept, ..labels };
                let labels = if outside.is_empty() { kept } else { labels };
                Done { outcome, labels, outside, nodes: Vec::new(), changed }
            }
            Err(_) => Done { outcome, labels, outside: Vec::new(), nodes: Vec::new(), changed },
        }
    }

    /// Fetches a page. What it says is a stranger's text.
    async fn fetch(&self, action: &Action) -> Done {
        match crate::edge::web::fetch(action.text("url").unwrap_or("")).await {
            Ok(page) => {
                let title = page.title.map(|title| format!("Title: {title}\n")).unwrap_or_default();
                let text = format!("From {}\n{title}\n{}", page.url, page.text);
                let from = Piece::new(&format!("the page {}", page.url), &text, Privacy::Open);
                let labels = Labels::untrusted(Provenance::Web, Privacy::Open);
                Done { outside: vec![from], ..Done::said(text, labels) }
            }
            Err(why) => {
                // It may quote what the server said.
                let from = Piece::new("a page that could not be fetched", &why, Privacy::Open);
                let labels = Labels::untrusted(Provenance::Web, Privacy::Open);
                Done { labels, outside: vec![from], ..Done::failed(why) }
            }
        }
    }

    /// Sets which providers are asked.
    async fn set_cascade(&self, action: &Action) -> Done {
        let names: Vec<String> = action.list("providers").into_iter().map(str::to_string).collect();
        let keep = action.args().get("keep").and_then(|keep| keep.as_bool()).unwrap_or(false);
        let choice = if names.is_empty() { Choice::Usual } else { Choice::These { names, keep } };
        match self.engine.order_providers(choice).await {
            Ok(said) => Done::said(said, OWN),
            Err(why) => Done::failed(why),
        }
    }

    /// Keeps that the user confirmed what loosens.
    async fn confirm_rule(&self, action: &Action) -> Done {
        match self.engine.keep_confirmed(action).await {
            Ok(said) => Done::said(said, OWN),
            Err(why) => Done::failed(why),
        }
    }

    /// Keeps that the user confirmed a provider.
    async fn confirm(&self, action: &Action) -> Done {
        let (name, url) = (action.text("provider").unwrap_or(""), action.text("url").unwrap_or(""));
        match self.engine.confirm_provider(name, url).await {
            Ok(()) => {
                self.engine.embed_soon();
                Done::said(format!("{name} may be asked from now on."), OWN)
            }
            Err(why) => Done::failed(why),
        }
    }
}

fn may_see(cleared: &Cleared) -> Privacy {
    cleared.scope().may_see
}

fn note(privacy: Privacy) -> Labels {
    Labels { provenance: Provenance::Note, trust: Trust::Kept, privacy }
}

/// Leaves the middle of a text out that has more characters than may be said.
fn shorten(text: &mut String, most: usize) {
    let count = text.chars().count();
    if count <= most {
        return;
    }
    let half = most / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(count - (most - half)).collect();
    *text = format!("{head}\n[{} characters are left out]\n{tail}", count - most);
}

fn clipped(text: &str) -> String {
    if text.len() <= READ_LIMIT {
        return text.to_string();
    }
    let mut end = READ_LIMIT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}\n[cut: {} of {} bytes are shown]", text.get(..end).unwrap_or(""), end, text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tool::Toolbox;

    #[test]
    fn every_tool_declares_bounds_that_can_be_kept() {
        for tool in Toolbox::builtin().all() {
            assert!((1..=120).contains(&tool.limits.seconds), "{}", tool.name);
            assert!((1_000..=100_000).contains(&tool.limits.characters), "{}", tool.name);
            for name in tool.paths.iter().chain(tool.hosts) {
                assert!(tool.params.iter().any(|param| param.name == *name), "{}: {name}", tool.name);
            }
        }
    }

    #[test]
    fn the_middle_of_what_is_too_long_is_left_out() {
        let mut text = "äbcdefghij".to_string();
        shorten(&mut text, 10);
        assert_eq!(text, "äbcdefghij");
        shorten(&mut text, 4);
        assert_eq!(text, "äb\n[6 characters are left out]\nij");
    }
}
