//! From an Org file to a skill: front matter, prompt, mandates, rules and their examples.

use crate::domain::gate::rule::{Rule, Ruling};
use crate::domain::org::outline::{Node, Outline};
use crate::domain::skill::front::{self, front_matter};
use crate::domain::skill::lisp::{GateExample, Lisp, Role, is_commented, may_be_gate, named};
use crate::domain::skill::page::Page;
use crate::domain::skill::rule;
use crate::domain::skill::slip;
use crate::domain::skill::table::{Row, Table};
use crate::domain::skill::trigger::Trigger;
use crate::domain::skill::{DEFAULT_PRIORITY, Mandate, Skill, SkillProblem};
use crate::domain::tool::{Kind, Toolbox};

/// Longest prompt, in bytes.
const MAX_PROMPT: usize = 32 * 1024;
/// Longest mandates of one skill, in bytes.
const MAX_MANDATES: usize = 8 * 1024;
/// How many rules a skill has at most.
const MAX_RULES: usize = 500;

/// Longest example, in bytes.
const MAX_EXAMPLE: usize = 1024;
/// Most work of all examples of a skill: their bytes times those of all patterns.
const MAX_WORK: usize = 256 << 20;

/// What is done with the examples of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examples {
    /// They are run.
    Run,
    /// They are left alone: nobody confirmed whose they are.
    Left,
}

/// Reads a skill and runs its examples; a failing one is a problem that names it.
///
/// # Errors
///
/// The first thing that is wrong, with its line and the way out. Nothing is guessed: a rule or trigger that
/// cannot be read keeps the whole skill out.
pub fn parse(name: &str, outline: &Outline) -> Result<Skill, SkillProblem> {
    read(name, outline, Examples::Run)
}

/// As [`parse`], with a choice about the examples of its rules.
///
/// # Errors
///
/// As there.
pub fn read(name: &str, outline: &Outline, examples: Examples) -> Result<Skill, SkillProblem> {
    let toolbox = Toolbox::builtin();
    let (mut skill, page) = (blank(name, outline), Page::new(outline));
    front_matter(outline, &page, &toolbox, &mut skill)?;
    slip::keys(outline, &page, &mut skill)?;
    for (index, node) in outline.nodes.iter().enumerate() {
        match top_title(outline, index).as_deref() {
            Some("prompt") if skill.prompt.is_some() => {
                let text = "this is a second heading “Prompt”; a skill has one, so make one of both".to_string();
                return Err(SkillProblem::Section { line: node.line, text });
            }
            Some("prompt") => skill.prompt = Some(prompt(outline, &page, index)?),
            Some("mandates") => mandates(outline, &page, index, &mut skill)?,
            Some(_) | None => {}
        }
    }
    all_rules(outline, &page, &toolbox, &mut skill, examples)?;
    skill.lisp.check()?;
    gate_examples(outline, &page, &toolbox, &mut skill)?;
    slip::headings(outline, &mut skill);
    remarks(&mut skill);
    Ok(skill)
}

/// Reads each rule that can be read of a skill that has faults, and whether it has a gate of its own, and nothing else of
/// it. Their examples are left alone: what forbids too much is mended by its author, what forbids nothing by nobody.
pub fn rules_alone(name: &str, outline: &Outline) -> Skill {
    let (mut skill, toolbox, page) = (blank(name, outline), Toolbox::builtin(), Page::new(outline));
    for (index, node) in outline.nodes.iter().enumerate() {
        if top_title(outline, index).as_deref() == Some("rules") {
            let table = page.tables(&node.section).into_iter().next();
            let rows = table.map(|table| table.rows).unwrap_or_default();
            skill.rules.extend(rows.iter().filter_map(|row| rule_of(row, &toolbox).ok()));
        }
    }
    skill.rules.truncate(MAX_RULES);
    skill
}

/// Returns whether a text that is no readable skill may hold rules: a heading that names them, a table of verdicts, or a
/// block that is named as a gate.
pub fn may_hold_rules(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start().to_lowercase();
        named(&line).is_some_and(may_be_gate)
            || (line.starts_with('*') && line.contains("rule"))
            || (line.starts_with('|') && line.contains("verdict"))
    })
}

/// Returns whether a text that is no readable skill may leave its turns fewer tools, or rewrite what they propose: by a line
/// that is, or nearly is, `#+TOOLS`, or a block that is named so.
pub fn may_narrow(text: &str) -> bool {
    text.lines().any(|line| {
        let tools = |(key, _)| slip::key(key) == Some("TOOLS");
        front::key(line).is_some_and(tools)
            || named(&line.trim_start().to_lowercase())
                .is_some_and(|name| may_be_gate(name) || Role::parse(name) == Some(Role::Refine))
    })
}

fn blank(name: &str, outline: &Outline) -> Skill {
    let file = outline.nodes.first();
    Skill {
        name: name.to_string(),
        id: file.and_then(|node| outline.property(node, "ID")).map(str::to_string),
        title: outline.title.as_deref().unwrap_or(name).to_string(),
        priority: DEFAULT_PRIORITY,
        depends_on: Vec::new(),
        triggers: Vec::new(),
        tools: None,
        on_error: None,
        prompt: None,
        mandates: Vec::new(),
        rules: Vec::new(),
        lisp: Lisp::read(outline),
        remarks: Vec::new(),
        unconfirmed: false,
    }
}

/// Returns the title of a heading of the first level in lower case, unless it is commented out.
fn top_title(outline: &Outline, index: usize) -> Option<String> {
    let node = outline.nodes.get(index).filter(|node| index > 0 && node.parent == 0 && !node.commented)?;
    Some(outline.slice(&node.title).trim().to_lowercase())
}

fn all_rules(
    outline: &Outline,
    page: &Page<'_>,
    toolbox: &Toolbox,
    skill: &mut Skill,
    run: Examples,
) -> Result<(), SkillProblem> {
    let (mut lines, mut stray) = (Vec::new(), None);
    for (index, node) in outline.nodes.iter().enumerate() {
        if is_commented(outline, index) {
            continue;
        }
        let mut tables = page.tables(&node.section).into_iter();
        if top_title(outline, index).as_deref() == Some("rules") {
            rules_of(node, tables.next(), toolbox, skill, &mut lines)?;
        }
        // A rule that nobody reads protects nothing.
        stray = stray.or_else(|| tables.find(|table| table.is_of_rules).map(|table| table.line));
    }
    if let Some(line) = stray {
        let text = "this table of rules is not read; rules stand in the first table below a heading “Rules” of the \
                    first level: put it there, into a block, or below a COMMENT heading";
        return Err(SkillProblem::Section { line, text: text.to_string() });
    }
    match run {
        Examples::Run => examples(outline, page, toolbox, skill, &lines),
        Examples::Left => Ok(()),
    }
}

/// Reads all text below a heading; what is commented out is for people.
fn prompt(outline: &Outline, page: &Page<'_>, index: usize) -> Result<String, SkillProblem> {
    let wrong = |line: u32, text: &str| SkillProblem::Section { line, text: text.to_string() };
    let (mut text, mut at) = (String::new(), index);
    while let Some(node) = outline.nodes.get(at).filter(|_| at < outline.after(index)) {
        if node.commented {
            at = outline.after(at);
            continue;
        }
        let begin = if at == index { node.body.start } else { node.begin };
        text.push_str(&page.told(&(begin..node.section.end)));
        at += 1;
    }
    let text = text.trim();
    if text.len() > MAX_PROMPT {
        return Err(SkillProblem::TooLarge { what: "prompt", limit: "32 kB" });
    }
    if text.is_empty() {
        let line = outline.nodes.get(index).map_or(1, |node| node.line);
        return Err(wrong(line, "the prompt is empty; write it, or take the heading away"));
    }
    Ok(text.to_string())
}

/// Reads the text of the heading, and each heading below it with its `:WHEN:`; what is commented out is for people.
fn mandates(outline: &Outline, page: &Page<'_>, index: usize, skill: &mut Skill) -> Result<(), SkillProblem> {
    let node = outline.nodes.get(index).into_iter();
    let below = outline.children(index).filter_map(|child| outline.nodes.get(child)).filter(|node| !node.commented);
    for node in node.chain(below) {
        let when = match outline.property(node, "WHEN") {
            None => None,
            Some(words) => Some(
                Trigger::parse(words)
                    .map_err(|why| SkillProblem::Section { line: node.line, text: format!("WHEN: {why}") })?,
            ),
        };
        let text = page.told(&node.body);
        if !text.trim().is_empty() {
            skill.mandates.push(Mandate { when, text: text.trim().to_string() });
        }
    }
    let size: usize = skill.mandates.iter().map(|mandate| mandate.text.len()).sum();
    if size > MAX_MANDATES {
        return Err(SkillProblem::TooLarge { what: "text of the mandates", limit: "8 kB" });
    }
    Ok(())
}

fn rules_of(
    node: &Node,
    table: Option<Table>,
    toolbox: &Toolbox,
    skill: &mut Skill,
    lines: &mut Vec<u32>,
) -> Result<(), SkillProblem> {
    let text = "“Rules” needs a table with the columns tool, pattern, verdict, reason";
    let table = table.ok_or_else(|| SkillProblem::Section { line: node.line, text: text.to_string() })?;
    if let Some(row) = table.rows.first() {
        columns(row, &["tool", "pattern", "verdict", "reason"])?;
    }
    for row in &table.rows {
        let rule = rule_of(row, toolbox).map_err(|text| SkillProblem::Section { line: row.line, text })?;
        skill.rules.push(rule);
        lines.push(row.line);
    }
    if skill.rules.len() > MAX_RULES {
        return Err(SkillProblem::TooLarge { what: "table of rules", limit: "500 rows" });
    }
    Ok(())
}

fn rule_of(row: &Row, toolbox: &Toolbox) -> Result<Rule, String> {
    rule::read(toolbox, row.cell("tool"), row.cell("pattern"), row.cell("verdict"), row.cell("reason"))
}

fn columns(row: &Row, names: &[&str]) -> Result<(), SkillProblem> {
    match names.iter().find(|name| !row.has(name)) {
        None => Ok(()),
        Some(missing) => {
            let text = format!("the table needs the column “{missing}”; its columns are {}", names.join(", "));
            Err(SkillProblem::Section { line: row.line, text })
        }
    }
}

/// Runs the tables under every heading “Examples”, and gives each rule its own. A rule without one is a problem.
fn examples(
    outline: &Outline,
    page: &Page<'_>,
    toolbox: &Toolbox,
    skill: &mut Skill,
    lines: &[u32],
) -> Result<(), SkillProblem> {
    let patterns: usize = skill.rules.iter().map(rule::length).sum();
    let mut work = 0_usize;
    for (index, node) in outline.nodes.iter().enumerate().skip(1) {
        let named = outline.slice(&node.title).trim().eq_ignore_ascii_case("examples");
        if !named || is_commented(outline, index) {
            continue;
        }
        let rows = page.tables(&node.section).into_iter().next().map(|table| table.rows).unwrap_or_default();
        if let Some(row) = rows.first() {
            columns(row, &["tool", "example", "match"])?;
        }
        for row in &rows {
            work = work.saturating_add(row.cell("example").len().saturating_mul(patterns));
            if work > MAX_WORK {
                let text = "up to here the examples are too many or too long for so many rules; take some away, or part \
                            the skill in two";
                return Err(SkillProblem::Section { line: row.line, text: text.to_string() });
            }
            run(row, toolbox, &mut skill.rules)?;
        }
    }
    match skill.rules.iter().zip(lines).find(|(rule, _)| rule.matches.is_empty()) {
        None => Ok(()),
        Some((_, line)) => {
            let text = "no example matches this rule; give one in a table under “Examples”".to_string();
            Err(SkillProblem::Section { line: *line, text })
        }
    }
}

/// Reads the tables under every heading “Gate examples”: what the gate in Lisp should say. They are run where Lisp can be.
fn gate_examples(outline: &Outline, page: &Page<'_>, toolbox: &Toolbox, skill: &mut Skill) -> Result<(), SkillProblem> {
    for (index, node) in outline.nodes.iter().enumerate().skip(1) {
        let named = outline.slice(&node.title).trim().eq_ignore_ascii_case("gate examples");
        if !named || is_commented(outline, index) {
            continue;
        }
        let wrong = |line: u32, text: &str| SkillProblem::Section { line, text: text.to_string() };
        if !skill.lisp.has(Role::Gate) {
            return Err(wrong(node.line, "there are examples of a gate, and no block named “gate”"));
        }
        let missing = || wrong(node.line, "“Gate examples” needs a table with the columns tool, example, match");
        let rows = page.tables(&node.section).into_iter().next().ok_or_else(missing)?.rows;
        if let Some(row) = rows.first() {
            columns(row, &["tool", "example", "match"])?;
        }
        for row in &rows {
            let (argument, value) = given(row, toolbox)?;
            let expected = match row.cell("match").to_lowercase().as_str() {
                "no" | "pass" => "pass",
                "ask" => "ask",
                "deny" => "deny",
                _ => return Err(wrong(row.line, "a gate says no, ask or deny of its examples")),
            };
            let (tool, argument) = (row.cell("tool").to_string(), (argument.to_string(), value.to_string()));
            skill.lisp.examples.push(GateExample { line: row.line, tool, argument, expected });
        }
    }
    match skill.lisp.examples.len() {
        0..=MAX_RULES => Ok(()),
        _ => Err(SkillProblem::TooLarge { what: "table of examples", limit: "500 rows" }),
    }
}

/// Returns the argument that an example gives to its tool, and the value.
fn given<'a>(row: &'a Row, toolbox: &Toolbox) -> Result<(&'a str, &'a str), SkillProblem> {
    let name = row.cell("tool");
    let tool = toolbox
        .get(name)
        .ok_or_else(|| SkillProblem::Section { line: row.line, text: format!("no tool is called “{name}”") })?;
    let example = row.cell("example");
    if example.len() > MAX_EXAMPLE {
        let text = format!("an example has at most {MAX_EXAMPLE} bytes, not {}", example.len());
        return Err(SkillProblem::Section { line: row.line, text });
    }
    let named = example.split_once(':').filter(|(name, _)| rule::names(tool, name));
    let first = tool.params.iter().find(|param| param.kind == Kind::Text).map_or("", |param| param.name);
    Ok(named.map_or((first, example), |(name, value)| (name.trim(), value.trim())))
}

/// Runs one example, and keeps it with the rules that it matched or that it must spare.
fn run(row: &Row, toolbox: &Toolbox, rules: &mut [Rule]) -> Result<(), SkillProblem> {
    let wrong = |text: String| SkillProblem::Section { line: row.line, text };
    let (name, example) = (row.cell("tool"), row.cell("example"));
    let (argument, value) = given(row, toolbox)?;
    let hit = |rule: &Rule| rule::fits(rule, name, argument, value);
    let hits: Vec<Ruling> = rules.iter().filter(|rule| hit(rule)).map(|rule| rule.ruling).collect();
    let found = match (hits.contains(&Ruling::Deny), hits.is_empty()) {
        (true, _) => rule::name(Ruling::Deny),
        (false, false) => rule::name(Ruling::Ask),
        (false, true) => "no",
    };
    let expected = row.cell("match").to_lowercase();
    let holds = match expected.as_str() {
        "yes" => found != "no",
        "no" | "ask" | "deny" => found == expected,
        other => return Err(wrong(format!("“{other}” is no expectation; there are yes, no, ask and deny"))),
    };
    if !holds {
        let (tool, example) = (name.to_string(), example.to_string());
        return Err(SkillProblem::Example { line: row.line, tool, example, expected, found: found.to_string() });
    }
    for rule in rules.iter_mut().filter(|rule| hit(rule)) {
        rule.matches.push(value.to_string());
    }
    Ok(())
}

fn remarks(skill: &mut Skill) {
    for (line, name, role) in &skill.lisp.slips {
        let text = format!("Line {line}: the block “{name}” is not run; if “{}” is meant, write that.", role.name());
        skill.remarks.push(text);
    }
    for line in &skill.lisp.unended {
        skill.remarks.push(format!("Line {line}: this block has no #+end_src; Org takes it for no block at all."));
    }
    if skill.lisp.others > 0 {
        let (verb, them) = if skill.lisp.others == 1 { ("block has", "it") } else { ("blocks have", "them") };
        let text = format!("{} Lisp {verb} no name that says what for, so nobody runs {them}.", skill.lisp.others);
        skill.remarks.push(text);
    }
    if skill.prompt.is_some() && skill.triggers.is_empty() {
        skill.remarks.push("It has a prompt but no #+TRIGGER, so it is never triggered.".to_string());
    }
    let tells = skill.prompt.is_some() || skill.lisp.has(Role::Prompt) || skill.lisp.has(Role::Handler);
    if skill.on_error.is_some() && (!tells || skill.triggers.is_empty()) {
        skill.remarks.push("It has #+ON_ERROR but is never triggered, so it ends no fault.".to_string());
    }
    if !skill.triggers.is_empty() && !tells {
        skill.remarks.push("It has a #+TRIGGER but no prompt, so it is never triggered.".to_string());
    }
    for role in [Role::Trigger, Role::Prompt, Role::Handler, Role::Refine, Role::OnError] {
        if skill.triggers.is_empty() && skill.lisp.has(role) {
            let text = format!("It has a block “{}” but no #+TRIGGER, so that is never run.", role.name());
            skill.remarks.push(text);
        }
    }
}
