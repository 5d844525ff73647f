//! The Emacs Lisp of a skill: blocks whose names say what they are for.
//!
//! Nothing here is run. A block without such a name is for people, as an example in the prose is.

use crate::domain::hash::ContentHasher;
use crate::domain::lisp::Place;
use crate::domain::lisp::check::unbalanced;
use crate::domain::lisp::scan::scan;
use crate::domain::org::outline::Outline;
use crate::domain::skill::SkillProblem;
use crate::domain::skill::slip;
use crate::domain::skill::table::line_of;
use std::collections::BTreeSet;

/// Most Lisp of one skill, in bytes.
pub const MAX_LISP: usize = 64 * 1024;

/// What a block is for, by its `#+NAME:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Functions and variables that the other blocks share; there may be several.
    Definitions,
    /// Says of a signal that the declarative trigger let through whether the skill is for it.
    Trigger,
    /// Says what the model is told when the skill is triggered.
    Prompt,
    /// May rewrite a proposal of a turn of the skill before it is judged.
    Refine,
    /// The skill's own gate: a function of a case.
    Gate,
    /// May answer a signal itself, before any model is asked.
    Handler,
    /// Says what ends a fault of a turn of the skill.
    OnError,
    /// What the skill does when it is due, without a model.
    Job,
    /// ERT tests of the others, which are run when the skill is tested; there may be several.
    Tests,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 9] = [
        Role::Definitions,
        Role::Trigger,
        Role::Prompt,
        Role::Refine,
        Role::Gate,
        Role::Handler,
        Role::OnError,
        Role::Job,
        Role::Tests,
    ];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Role::Definitions => "definitions",
            Role::Trigger => "trigger",
            Role::Prompt => "prompt",
            Role::Refine => "refine",
            Role::Gate => "gate",
            Role::Handler => "handler",
            Role::OnError => "on-error",
            Role::Job => "job",
            Role::Tests => "tests",
        }
    }

    /// Returns whether its block comes to a function, of which a skill has one.
    pub fn is_function(self) -> bool {
        !matches!(self, Role::Definitions | Role::Tests)
    }

    /// Reads a name, in whatever case it is written.
    pub fn parse(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(name))
    }
}

/// One block of Lisp that is for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What for.
    pub role: Role,
    /// The line on which its code begins, one-based.
    pub line: u32,
    /// The code, as Org would tangle it.
    pub code: String,
}

impl Block {
    /// Returns the first bracket or string of it that does not fit, with where it stands in the file; `None` when all do.
    pub fn unbalanced(&self) -> Option<SkillProblem> {
        // So that every line that is told is one of the file.
        let before = usize::try_from(self.line).ok()?.saturating_sub(1);
        let text = "\n".repeat(before) + &self.code;
        let found = scan(&text).ok()?;
        let fault = unbalanced(&found).into_iter().next()?;
        let line = u32::try_from(Place::of(&text, fault.at).line).unwrap_or(self.line);
        let words = fault.words(&text);
        let words = words.strip_prefix(&format!("line {line}, ")).unwrap_or(&words);
        Some(SkillProblem::Section { line, text: format!("{words}, in the block “{}”", self.role.name()) })
    }
}

/// What a gate in Lisp should say of one call of a tool; no facts are found out for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateExample {
    /// The line of its row, one-based.
    pub line: u32,
    /// The tool.
    pub tool: String,
    /// The argument that is given, and its value.
    pub argument: (String, String),
    /// `pass`, `ask` or `deny`.
    pub expected: &'static str,
}

/// All Lisp of a skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lisp {
    /// The blocks that are for something, in their order.
    pub blocks: Vec<Block>,
    /// How many blocks are for nothing, as their names say nothing.
    pub others: usize,
    /// What its gate should say.
    pub examples: Vec<GateExample>,
    /// The first block whose name says what it is for and which is no Emacs Lisp: what for, and on which line.
    pub foreign: Option<(Role, u32)>,
    /// The blocks whose names are nearly those that say what for: the line, the name, and what is probably meant.
    pub slips: Vec<(u32, String, Role)>,
    /// The lines on which blocks begin that are for something and have no end.
    pub unended: Vec<u32>,
}

impl Lisp {
    /// Reads the blocks of a file; those that are commented out are none.
    pub fn read(outline: &Outline) -> Lisp {
        let mut lisp = Lisp::default();
        for (index, node) in outline.nodes.iter().enumerate() {
            if !is_commented(outline, index) {
                lisp.section(outline.slice(&node.section), line_of(outline, node.section.start));
            }
        }
        lisp
    }

    /// Returns what stands for Lisp that rewrote what was proposed and is not there any more: it is nobody's code, so no
    /// skill has the same.
    pub fn of_lost_refine() -> Lisp {
        let code = ";; What rewrote here when this was begun is not what it was.".to_string();
        Lisp { blocks: vec![Block { role: Role::Refine, line: 0, code }], ..Lisp::default() }
    }

    /// Names the code that is run: what one code answered holds for no other.
    pub fn digest(&self) -> String {
        let mut hasher = ContentHasher::new("skill-lisp");
        for block in self.blocks.iter().filter(|block| block.role != Role::Tests) {
            hasher.text(block.role.name()).text(&block.code);
        }
        hasher.finish().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns all code that is run, each block below its name, as somebody is shown it.
    pub fn shown(&self) -> String {
        let run = self.blocks.iter().filter(|block| block.role != Role::Tests);
        run.map(|block| format!(";; {}\n{}\n", block.role.name(), block.code.trim_end())).collect()
    }

    /// Returns whether a block is run.
    pub fn is_run(&self) -> bool {
        Role::ALL.into_iter().any(|role| role.is_function() && self.has(role))
    }

    /// Returns whether a block has a role, whatever its code.
    pub fn has(&self, role: Role) -> bool {
        let foreign = self.foreign.is_some_and(|(found, _)| found == role);
        foreign || self.blocks.iter().any(|block| block.role == role)
    }

    /// Returns the code of the one block with a role; `None` when there is none, or more than one.
    pub fn code(&self, role: Role) -> Option<&str> {
        let mut found = self.blocks.iter().filter(|block| block.role == role);
        let code = found.next().map(|block| block.code.as_str());
        if found.next().is_some() || self.foreign.is_some() { None } else { code }
    }

    /// Returns the code of every block with a role, in their order.
    pub fn all(&self, role: Role) -> impl Iterator<Item = &str> {
        self.blocks.iter().filter(move |block| block.role == role).map(|block| block.code.as_str())
    }

    /// Looks whether it can be run as it is meant.
    ///
    /// # Errors
    /// When there is more of it than may be, a role that one block has is taken twice, or brackets do not fit together in a
    /// block that is run.
    pub fn check(&self) -> Result<(), SkillProblem> {
        if self.blocks.iter().map(|block| block.code.len()).sum::<usize>() > MAX_LISP {
            return Err(SkillProblem::TooLarge { what: "Lisp", limit: "64 kB" });
        }
        if let Some((role, line)) = self.foreign {
            let text = format!(
                "the block “{}” is no Emacs Lisp; write emacs-lisp behind #+begin_src, or give it another name",
                role.name()
            );
            return Err(SkillProblem::Section { line, text });
        }
        if let Some((line, name, role)) = self.slips.iter().find(|(_, name, role)| is_nearly_gate(name, *role)) {
            let role = role.name();
            let text =
                format!("the block “{name}” is not run; if “{role}” is meant, write that, else call it otherwise");
            return Err(SkillProblem::Section { line: *line, text });
        }
        let mut seen = BTreeSet::new();
        let mut functions = self.blocks.iter().filter(|block| block.role.is_function());
        if let Some(Block { role, line, .. }) = functions.find(|block| !seen.insert(block.role)) {
            let text = format!("this is a second block named “{}”; a skill has one, so make one of both", role.name());
            return Err(SkillProblem::Section { line: *line, text });
        }
        // What is wrong in tests keeps nothing out.
        let run = self.blocks.iter().filter(|block| block.role != Role::Tests);
        run.filter_map(Block::unbalanced).next().map_or(Ok(()), Err)
    }

    fn section(&mut self, text: &str, first: u32) {
        let mut name: Option<&str> = None;
        let mut open: Option<Open> = None;
        for (offset, line) in text.lines().enumerate() {
            let low = line.trim_start().to_lowercase();
            // Org writes a comma before such a line inside a block: the block before it lost its end, and what begins
            // here may not be lost in it.
            if low.starts_with("#+begin_src") || named(&low).is_some() {
                self.lost_its_end(open.take());
            }
            if let Some(block) = &mut open {
                if low.starts_with("#+end_src") {
                    self.close(open.take());
                } else {
                    block.lines.push(unescaped(line));
                }
            } else if let Some(found) = named(&low) {
                // With its case, for people.
                name = line.trim().get(line.trim().len().saturating_sub(found.len())..);
            } else if let Some(rest) = low.strip_prefix("#+begin_src") {
                let language = rest.split_whitespace().next().unwrap_or_default();
                let lisp = matches!(language, "emacs-lisp" | "elisp" | "lisp");
                let line = first.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX)).saturating_add(1);
                let name = name.take();
                let role = name.and_then(Role::parse);
                if let Some((name, near)) = name.filter(|_| lisp).and_then(|name| Some((name, nearly(name)?))) {
                    self.slips.push((line, name.to_string(), near));
                }
                open = Some(Open { lisp, role, line, lines: Vec::new() });
            } else if !low.is_empty() && !low.starts_with('#') {
                name = None;
            }
        }
        self.lost_its_end(open);
    }

    /// Closes a block without an end: it is none to Org, and a gate that lost its end must not be lost with it.
    fn lost_its_end(&mut self, open: Option<Open<'_>>) {
        let line = open.as_ref().filter(|open| open.lisp && open.role.is_some()).map(|open| open.line);
        self.unended.extend(line.map(|line| line.saturating_sub(1)));
        self.close(open);
    }

    fn close(&mut self, open: Option<Open<'_>>) {
        match open {
            Some(Open { lisp: true, role: Some(role), line, lines }) => {
                self.blocks.push(Block { role, line, code: lines.join("\n") });
            }
            Some(Open { lisp: true, role: None, .. }) => self.others += 1,
            Some(Open { lisp: false, role: Some(role), line, .. }) => {
                self.foreign = self.foreign.or(Some((role, line)));
            }
            Some(Open { lisp: false, role: None, .. }) | None => {}
        }
    }
}

/// Returns what a name was probably meant to say that says nothing.
fn nearly(name: &str) -> Option<Role> {
    slip::meant(name, &Role::ALL.map(Role::name)).and_then(Role::parse)
}

/// Returns whether a name is nearly that of what tightens; another first letter is another word, such as date.
fn is_nearly_gate(name: &str, role: Role) -> bool {
    let first = |text: &str| text.chars().next().map(|c| c.to_ascii_lowercase());
    matches!(role, Role::Gate | Role::Refine) && first(name) == first(role.name())
}

/// Returns whether a name says, or is nearly the name that says, that a block is a gate.
pub fn may_be_gate(name: &str) -> bool {
    Role::parse(name) == Some(Role::Gate) || nearly(name).is_some_and(|role| is_nearly_gate(name, role))
}

/// A block whose end has not come yet.
struct Open<'a> {
    lisp: bool,
    role: Option<Role>,
    line: u32,
    lines: Vec<&'a str>,
}

/// Returns a line of a block without the comma by which Org keeps it from being a heading or a keyword.
fn unescaped(line: &str) -> &str {
    let bare = line.trim_start();
    let Some(rest) = bare.strip_prefix(',') else { return line };
    let escaped = rest.trim_start_matches(',');
    // Blanks before a comma have no meaning in Lisp.
    if escaped.starts_with('*') || escaped.starts_with("#+") { rest } else { line }
}

/// Returns what a line names that stands behind it; it is in lower case.
pub fn named(line: &str) -> Option<&str> {
    line.strip_prefix("#+name:").map(str::trim)
}

/// Returns whether a heading, or one above it, is commented out.
pub fn is_commented(outline: &Outline, mut index: usize) -> bool {
    loop {
        match outline.nodes.get(index) {
            Some(node) if node.commented => return true,
            Some(node) if index > 0 => index = node.parent as usize,
            Some(_) | None => return false,
        }
    }
}
