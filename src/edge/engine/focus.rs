//! The focus stack of the user: narrowed and widened by commands, kept in the store, and in force for every turn.

use crate::domain::focus::{FocusStack, Frame, Project, Reach};
use crate::domain::id::NodeId;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::sight::Sight;
use crate::domain::memory::store::NewRecord;
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::domain::query::source::is_called;
use crate::domain::recall::answer::Narrowed;
use crate::domain::recall::show::plain;
use crate::domain::signal::Origin;
use crate::edge::engine::record::kind;
use crate::edge::engine::{Engine, Notice};
use crate::edge::walk::canonical;
use std::path::Path;

/// There is one stack; this is its name in the store.
const KEY: &str = "stack";
/// Stands for the heading that point is in.
pub const HERE: &str = ".";
/// The setting that says how many tokens of memory a prompt may hold.
pub const BUDGET: &str = "budget";
/// How many moves of the focus are looked through for an old one.
const MOST_MOVES: usize = 1_000;
/// The least budget that is worth anything.
const LEAST_BUDGET: usize = 200;

/// What can be done to the focus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turnabout {
    /// Narrow to a heading, by its id or its title, or to a folder.
    To(String),
    /// Look at everything, at this session's changes, or at the project that was chosen last.
    Scope(String),
    /// Take the last step back.
    Back,
    /// Set something, or take it out with an empty value.
    Set(String, String),
    /// Only say where it stands.
    Show,
}

impl Turnabout {
    /// Reads a command without its slash: `focus WHAT`, `scope WORD`, `unfocus`, `set NAME VALUE`.
    pub fn parse(command: &str) -> Option<Turnabout> {
        let (word, rest) = command.trim().split_once(char::is_whitespace).unwrap_or((command.trim(), ""));
        let rest = rest.trim();
        match (word, rest) {
            ("focus" | "scope" | "set", "") => Some(Turnabout::Show),
            ("focus", what) => Some(Turnabout::To(what.to_string())),
            ("scope", what) => Some(Turnabout::Scope(what.to_string())),
            ("unfocus", _) => Some(Turnabout::Back),
            ("set", what) => {
                let (name, value) = what.split_once(char::is_whitespace).unwrap_or((what, ""));
                Some(Turnabout::Set(name.to_string(), value.trim().to_string()))
            }
            _ => None,
        }
    }
}

impl Engine {
    /// Returns the stack as it is.
    pub fn focus_stack(&self) -> FocusStack {
        self.sight.lock().clone()
    }

    /// Returns memory as the user's focus narrows it: what models are told of it, and what they find.
    pub fn view_in_sight(&self) -> View {
        let (view, moves) = {
            let memory = self.memory.lock();
            (memory.head().clone(), memory.moves())
        };
        let reach = self.sight.lock().reach().clone();
        let sight = match reach {
            Reach::Session => self.session_sight(&view, moves),
            Reach::Memex | Reach::Project(_) => Sight::of(&reach, &view, &[]),
        };
        view.narrowed(sight)
    }

    /// Names memory as it is now for who asks it something: what it holds and means, what of it is found by words yet, and
    /// what the user narrowed it to. The same bytes mean something else under other settings of Org, or setup files.
    pub(in crate::edge) fn memory_now(&self) -> String {
        let filling = self.filling().map(|filling| filling.to_string()).unwrap_or_default();
        let (moves, changed) = (self.memory.lock().moves(), self.lately.lock().changed.moves());
        format!("{moves} {filling} {changed} {:?} {:?}", self.focus_stack(), self.org_settings())
    }

    /// Returns what the user's focus narrows an answer to, for people; `None` when all of memory is looked at.
    pub fn narrowed_to(&self) -> Option<Narrowed> {
        let stack = self.sight.lock();
        let (what, source) = match stack.reach() {
            Reach::Memex => return None,
            Reach::Session => ("what was changed in this session".to_string(), None),
            Reach::Project(Project::Node { id, title }) => {
                (format!("“{}”", plain(title)), Some(NodeId::new(id.as_str())))
            }
            Reach::Project(Project::Folder { path }) => (format!("the folder {}", plain(path)), None),
        };
        let way_out = if stack.frames().len() == 1 { "/unfocus" } else { "/scope memex" };
        Some(Narrowed { words: format!("Only {what} is looked at; {way_out} in a chat looks at everything."), source })
    }

    /// Loads the stack that the store kept.
    pub(super) async fn load_focus(&self) {
        match self.archive.latest(kind::FOCUS, KEY.to_string()).await {
            Ok(Some(record)) => match serde_json::from_value(record.body) {
                Ok(stack) => *self.sight.lock() = stack,
                Err(why) => self.say(LogLevel::Warning, &format!("the kept focus cannot be read ({why}); it is empty")),
            },
            Ok(None) => {}
            Err(why) => self.say(LogLevel::Warning, &format!("the focus cannot be read: {why}")),
        }
    }

    /// Lets the stack follow files that came to other names, and keeps it.
    pub(super) fn refocus(&self, moved: &[(String, String)]) {
        let follow = |project: &Project| match project {
            Project::Node { id, .. } => moved.iter().find_map(|(from, to)| renamed_id(id, from, to)),
            Project::Folder { path } if std::path::Path::new(path).exists() => None,
            Project::Folder { path } => moved.iter().find_map(|(from, to)| {
                // The folder was renamed when what lies below it lies below another one just so.
                let below = from.strip_prefix(path.as_str()).filter(|below| below.starts_with('/'))?;
                to.strip_suffix(below).filter(|folder| !folder.is_empty()).map(str::to_string)
            }),
        };
        let stack = {
            let mut sight = self.sight.lock();
            if !sight.follow(follow) {
                return;
            }
            sight.clone()
        };
        if let Ok(body) = serde_json::to_value(&stack) {
            let (kind, key) = (kind::FOCUS.to_string(), KEY.to_string());
            self.archive.queue(vec![NewRecord { at: self.clock.now(), kind, key, body }]);
        }
    }

    /// Moves the focus for whoever asks. It goes into every prompt and may be where commands run, so only a human's own
    /// channel moves it, and every Emacs is told.
    ///
    /// # Errors
    /// In words; the focus is as it was.
    pub async fn move_focus(&self, origin: &Origin, to: Turnabout) -> Result<String, String> {
        let moves = to != Turnabout::Show;
        if moves && !origin.rights.may_steer() {
            return Err("the focus is moved in Emacs, not by a command or a program".to_string());
        }
        if !moves && !origin.rights.see_private {
            return Ok(format!("The agent looks at {}.", exact(&self.loggable_reach())));
        }
        let said = self.turn_focus(to).await?;
        if moves {
            let (session, looked_at) = (exact(&origin.session.0), exact(&self.loggable_reach()));
            let text = format!("the focus was moved in {session}: The agent looks at {looked_at}.");
            self.say_of(LogLevel::Info, Privacy::Open, &text);
        }
        Ok(said)
    }

    /// Says what is looked at in words for the log, which names a heading only while it is open.
    fn loggable_reach(&self) -> String {
        let (stack, view) = (self.focus_stack(), self.view());
        match stack.reach() {
            reach @ (Reach::Memex | Reach::Session) => reach.to_string(),
            Reach::Project(Project::Folder { .. }) => "a folder".to_string(),
            Reach::Project(Project::Node { id, .. }) => {
                let open = view.get(&NodeId::new(id.as_str())).filter(|node| node.privacy() == Privacy::Open);
                open.map_or("a heading".to_string(), |node| format!("the project “{}”", node.title()))
            }
        }
    }

    /// Moves the focus and keeps it; returns where it stands, in words.
    ///
    /// # Errors
    /// In words; the focus is as it was.
    pub async fn turn_focus(&self, to: Turnabout) -> Result<String, String> {
        let _alone = self.turning.lock().await;
        let mut stack = self.focus_stack();
        match to {
            Turnabout::Show => return Ok(words(&stack)),
            Turnabout::To(what) => stack.push(Reach::Project(self.project_named(&what)?)),
            Turnabout::Scope(word) => {
                let reach = match word.as_str() {
                    "memex" => Reach::Memex,
                    "session" => Reach::Session,
                    "project" => {
                        let project = |frame: &&Frame| matches!(frame.reach, Reach::Project(_));
                        let last = stack.frames().iter().rev().find(project).map(|frame| frame.reach.clone());
                        last.ok_or("no project was chosen yet; /focus HEADING or /focus FOLDER chooses one")?
                    }
                    other => return Err(format!("there is no scope “{}”: memex, session or project", exact(other))),
                };
                stack.push(reach)
            }
            Turnabout::Back => stack.pop().map(drop),
            Turnabout::Set(name, value) => {
                check_setting(&name, &value)?;
                stack.set(&name, &value)
            }
        }
        .map_err(|why| why.to_string())?;
        let body = serde_json::to_value(&stack).map_err(|why| why.to_string())?;
        self.append(kind::FOCUS, KEY, body).await?;
        *self.sight.lock() = stack.clone();
        (self.notify)(Notice::Status);
        Ok(words(&stack))
    }

    /// Returns the stack as it was at a moment; `None` when it was moved too often since to be found.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn focus_at_time(&self, at: jiff::Timestamp) -> Result<Option<FocusStack>, String> {
        let moves = self.archive.newest(kind::FOCUS, MOST_MOVES).await?;
        match moves.iter().find(|record| record.at <= at) {
            Some(record) => Ok(serde_json::from_value(record.body.clone()).ok()),
            None => Ok((moves.len() < MOST_MOVES).then(FocusStack::default)),
        }
    }

    /// Finds a project by what was typed: an id, a folder, or the title of one heading.
    fn project_named(&self, what: &str) -> Result<Project, String> {
        let view = self.view();
        if what == HERE {
            let node = self.focus().and_then(|id| view.get(&id)).ok_or("point is in no heading that memory has")?;
            return Ok(Project::Node { id: node.id().to_string(), title: node.title().to_string() });
        }
        if let Some(node) = view.get(&NodeId::new(what)) {
            return Ok(Project::Node { id: what.to_string(), title: node.title().to_string() });
        }
        let typed = match what.strip_prefix("~/") {
            Some(rest) => self.config.home.join(rest),
            None => Path::new(what).to_path_buf(),
        };
        if typed.is_absolute() && typed.is_dir() {
            return Ok(Project::Folder { path: canonical(&typed).display().to_string() });
        }
        let wanted = what.trim().to_lowercase();
        let mut found = view.nodes().filter(|node| is_called(node.title(), &wanted));
        match (found.next(), found.next()) {
            (Some(node), None) => Ok(Project::Node { id: node.id().to_string(), title: node.title().to_string() }),
            (Some(_), Some(_)) => Err(format!(
                "several headings are called “{}”: put point on the one that is meant and use M-x passepartout-focus, or give its id",
                exact(what)
            )),
            (None, _) => {
                Err(format!("there is no heading and no folder “{}”; give its title, its id or its path", exact(what)))
            }
        }
    }

    /// Returns what the user set for the present focus, as lines for the model.
    pub(super) fn focus_mandates(&self) -> Vec<String> {
        let stack = self.focus_stack();
        let own = |(name, _): &(&str, &str)| *name != BUDGET;
        stack.settings().into_iter().filter(own).map(|(name, value)| format!("{name}: {value}")).collect()
    }

    /// Returns the folder that the present focus is about, if it is about one.
    pub(super) fn focus_folder(&self) -> Option<std::path::PathBuf> {
        match self.sight.lock().reach() {
            Reach::Project(Project::Folder { path }) => Some(path.into()),
            Reach::Project(Project::Node { .. }) | Reach::Session | Reach::Memex => None,
        }
    }

    /// Returns the tokens of memory that the present focus allows, if it says.
    pub(super) fn focus_budget(&self) -> Option<usize> {
        self.sight.lock().setting(BUDGET).and_then(|value| value.parse().ok())
    }
}

fn check_setting(name: &str, value: &str) -> Result<(), String> {
    let budget = || value.parse::<usize>().is_ok_and(|tokens| tokens >= LEAST_BUDGET);
    if name == BUDGET && !value.is_empty() && !budget() {
        return Err(format!("the budget is a number of tokens, at least {LEAST_BUDGET}"));
    }
    Ok(())
}

/// Returns a stack as the store keeps it.
pub(super) fn focus_record(stack: &FocusStack) -> Option<(&'static str, String, serde_json::Value)> {
    Some((kind::FOCUS, KEY.to_string(), serde_json::to_value(stack).ok()?))
}

/// Says where the focus stands, the top of the stack first.
fn words(stack: &FocusStack) -> String {
    let mut text = format!("The agent looks at {}.", stack.reach());
    for (name, value) in stack.settings() {
        text.push_str(&format!("\n{name} = {value}"));
    }
    if let Some((_, below)) = stack.frames().split_last() {
        let back: Vec<String> = below.iter().rev().map(|frame| frame.reach.to_string()).collect();
        let last = if below.is_empty() { vec![Reach::Memex.to_string()] } else { back };
        text.push_str(&format!("\n/unfocus goes back to {}", last.join(", then to ")));
    }
    exact(&text)
}

/// Returns the id of a node, that is made of its file's name, after the file came to another one.
pub(super) fn renamed_id(id: &str, from: &str, to: &str) -> Option<String> {
    let rest = id.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with("::*"))?;
    Some(format!("{to}{rest}"))
}
