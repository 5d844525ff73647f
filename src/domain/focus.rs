//! The focus stack: what the user narrowed the agent's sight to, one frame upon the other, each with settings.
//!
//! An empty stack is the whole memex. The top frame says what counts; a setting is looked up from the top down.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many frames there may be.
pub const DEEPEST: usize = 10;
/// How many settings a frame may have.
pub const SETTINGS: usize = 50;
/// The longest setting, in bytes of its name and its value together.
pub const LONGEST: usize = 1_000;

/// How far the agent sees. What lies outside is not deleted and not private: it is only not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "scope", rename_all = "lowercase")]
pub enum Reach {
    /// All notes.
    Memex,
    /// What was changed in this session, and what is below it.
    Session,
    /// One project.
    Project(Project),
}

/// A project: a heading with what is below it, or the notes of a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Project {
    /// A heading, or a file as a whole.
    Node {
        /// Its id, as memory names it.
        id: String,
        /// Its title when it was chosen, for people.
        title: String,
    },
    /// A folder.
    Folder {
        /// Absolute and resolved.
        path: String,
    },
}

/// One step of narrowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// How far the agent sees.
    #[serde(flatten)]
    pub reach: Reach,
    /// What the user set for as long as this frame is there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
}

/// The frames, the last one on top.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Frame>", into = "Vec<Frame>")]
pub struct FocusStack(Vec<Frame>);

/// Why the stack stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FocusError {
    /// Too many frames.
    #[error("the focus is {DEEPEST} steps deep already; /unfocus takes one back")]
    Deep,
    /// Nothing to take back, or to set something in.
    #[error("nothing is narrowed; /focus narrows to a heading or a folder")]
    Empty,
    /// Too many settings, or too long a one.
    #[error(
        "a step of the focus holds at most {SETTINGS} settings of {LONGEST} bytes; /set NAME takes one out by an empty value"
    )]
    Full,
}

impl TryFrom<Vec<Frame>> for FocusStack {
    type Error = FocusError;

    fn try_from(frames: Vec<Frame>) -> Result<FocusStack, FocusError> {
        if frames.len() > DEEPEST { Err(FocusError::Deep) } else { Ok(FocusStack(frames)) }
    }
}

impl From<FocusStack> for Vec<Frame> {
    fn from(stack: FocusStack) -> Vec<Frame> {
        stack.0
    }
}

impl FocusStack {
    /// Returns the frames, the top one last.
    pub fn frames(&self) -> &[Frame] {
        &self.0
    }

    /// Returns how far the agent sees now.
    pub fn reach(&self) -> &Reach {
        self.0.last().map_or(&Reach::Memex, |frame| &frame.reach)
    }

    /// Narrows, or widens, the sight by one more frame. The same reach twice in a row is one frame.
    ///
    /// # Errors
    /// [`FocusError::Deep`].
    pub fn push(&mut self, reach: Reach) -> Result<(), FocusError> {
        if self.0.last().is_some_and(|top| top.reach == reach) {
            return Ok(());
        }
        if self.0.len() == DEEPEST {
            return Err(FocusError::Deep);
        }
        self.0.push(Frame { reach, settings: BTreeMap::new() });
        Ok(())
    }

    /// Lets frames follow what they are narrowed to: `moved` gives the new name of an id, or of a folder.
    /// Returns whether any did.
    pub fn follow(&mut self, moved: impl Fn(&Project) -> Option<String>) -> bool {
        let mut any = false;
        for frame in &mut self.0 {
            let Reach::Project(project) = &mut frame.reach else { continue };
            let Some(now) = moved(project) else { continue };
            any = true;
            match project {
                Project::Node { id: name, .. } | Project::Folder { path: name } => *name = now,
            }
        }
        any
    }

    /// Takes the top frame back, with its settings.
    ///
    /// # Errors
    /// [`FocusError::Empty`].
    pub fn pop(&mut self) -> Result<Frame, FocusError> {
        self.0.pop().ok_or(FocusError::Empty)
    }

    /// Sets something in the top frame; an empty value takes it out.
    ///
    /// # Errors
    /// [`FocusError::Empty`] and [`FocusError::Full`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), FocusError> {
        let settings = &mut self.0.last_mut().ok_or(FocusError::Empty)?.settings;
        if value.is_empty() {
            settings.remove(name);
            return Ok(());
        }
        let full = settings.len() == SETTINGS && !settings.contains_key(name);
        if full || name.len() + value.len() > LONGEST {
            return Err(FocusError::Full);
        }
        settings.insert(name.to_string(), value.to_string());
        Ok(())
    }

    /// Returns a setting: that of the topmost frame that has it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find_map(|frame| frame.settings.get(name)).map(String::as_str)
    }

    /// Returns every setting that holds, by name.
    pub fn settings(&self) -> BTreeMap<&str, &str> {
        // Later frames overwrite earlier ones.
        self.0.iter().flat_map(|frame| &frame.settings).map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reach::Memex => f.write_str("the whole memex"),
            Reach::Session => f.write_str("what was changed in this session"),
            Reach::Project(Project::Node { title, .. }) => write!(f, "the project “{title}”"),
            Reach::Project(Project::Folder { path }) => write!(f, "the folder {path}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(path: &str) -> Reach {
        Reach::Project(Project::Folder { path: path.to_string() })
    }

    #[test]
    fn settings_are_found_from_the_top_down_and_go_with_their_frame() {
        let mut stack = FocusStack::default();
        assert_eq!(stack.set("a", "1"), Err(FocusError::Empty));
        assert_eq!(stack.pop(), Err(FocusError::Empty));
        stack.push(folder("/x")).expect("room");
        stack.set("a", "1").expect("a frame");
        stack.set("b", "2").expect("a frame");
        stack.push(Reach::Session).expect("room");
        stack.set("a", "3").expect("a frame");
        assert_eq!((stack.setting("a"), stack.setting("b"), stack.setting("c")), (Some("3"), Some("2"), None));
        assert_eq!(stack.settings(), [("a", "3"), ("b", "2")].into());
        stack.set("a", "").expect("a frame");
        assert_eq!(stack.setting("a"), Some("1"));
        stack.pop().expect("a frame");
        assert_eq!(*stack.reach(), folder("/x"));
        assert_eq!(stack.set("a", &"x".repeat(LONGEST)), Err(FocusError::Full));
    }

    #[test]
    fn ten_steps_and_no_more() {
        let mut stack = FocusStack::default();
        for n in 0..DEEPEST {
            stack.push(folder(&format!("/{n}"))).expect("room");
            stack.push(folder(&format!("/{n}"))).expect("the same again is no step");
        }
        assert_eq!(stack.push(Reach::Memex), Err(FocusError::Deep));
        assert_eq!(stack.frames().len(), DEEPEST);
    }

    #[test]
    fn what_is_kept_is_read_again_and_nonsense_is_refused() {
        let mut stack = FocusStack::default();
        stack.push(Reach::Project(Project::Node { id: "x".into(), title: "X".into() })).expect("room");
        stack.set("language", "German").expect("a frame");
        stack.push(Reach::Memex).expect("room");
        let kept = serde_json::to_value(&stack).expect("it is plain data");
        assert_eq!(serde_json::from_value::<FocusStack>(kept).expect("it can be read"), stack);
        let frame = serde_json::json!({ "scope": "memex" });
        let many: Vec<_> = std::iter::repeat_n(frame, DEEPEST + 1).collect();
        assert!(serde_json::from_value::<FocusStack>(many.into()).is_err());
    }
}
