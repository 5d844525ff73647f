//! From an Org file to a skill: front matter, prompt, mandates, rules and their examples.

use crate::domain::gate::rule::{Rule, Ruling};
use crate::domain::org::outline::{Node, Outline};
use crate::domain::skill::lisp::{GateExample, Lisp, Role, is_commented, named};
use crate::domain::skill::rule;
use crate::domain::skill::table::{Row, line_of, rows};
use crate::domain::skill::trigger::Trigger;
use crate::domain::skill::{DEFAULT_PRIORITY, Mandate, Skill, SkillProblem};
use crate::domain::tool::{Kind, Toolbox};
use crate::domain::turn::error::Resolution;
use std::collections::BTreeSet;

/// Longest prompt, in bytes.
const MAX_PROMPT: usize = 32 * 1024;
/// Longest mandates of one skill, in bytes.
const MAX_MANDATES: usize = 8 * 1024;
/// Longest text of `#+ON_ERROR: fallback`, in bytes.
const MAX_FALLBACK: usize = 2 * 1024;
/// What is answered for a skill that falls back and gives no text of its own.
const FALLBACK: &str = "I could not do this now. Ask again later; the log says what failed.";
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
    let mut skill = blank(name, outline);
    front_matter(outline, &toolbox, &mut skill)?;
    for (index, node) in outline.nodes.iter().enumerate() {
        match top_title(outline, index).as_deref() {
            Some("prompt") => skill.prompt = prompt(outline, node)?,
            Some("mandates") => mandates(outline, index, &mut skill)?,
            Some(_) | None => {}
        }
    }
    all_rules(outline, &toolbox, &mut skill, examples)?;
    skill.lisp.check()?;
    gate_examples(outline, &toolbox, &mut skill)?;
    remarks(&mut skill);
    Ok(skill)
}

/// Reads the rules of a skill that has other faults, and whether it has a gate of its own, and nothing else of it. Where
/// the rules cannot be read either, it has none.
pub fn rules_alone(name: &str, outline: &Outline, examples: Examples) -> Skill {
    let mut skill = blank(name, outline);
    match all_rules(outline, &Toolbox::builtin(), &mut skill, examples) {
        Ok(()) => skill,
        Err(_) => blank(name, outline),
    }
}

/// Returns whether a text that is no readable skill may hold rules: a heading that names them, a table of verdicts, or a
/// block that is named as a gate.
pub fn may_hold_rules(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start().to_lowercase();
        named(&line).and_then(Role::parse) == Some(Role::Gate)
            || (line.starts_with('*') && line.contains("rule"))
            || (line.starts_with('|') && line.contains("verdict"))
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

fn all_rules(outline: &Outline, toolbox: &Toolbox, skill: &mut Skill, run: Examples) -> Result<(), SkillProblem> {
    let (mut lines, mut read) = (Vec::new(), Vec::new());
    for (index, node) in outline.nodes.iter().enumerate() {
        if top_title(outline, index).as_deref() == Some("rules") {
            rules_of(outline, node, toolbox, skill, &mut lines)?;
            read.extend(tables(outline.slice(&node.body), node.body.start).first().map(|(at, _)| *at));
        }
    }
    let commented = |at: u32| {
        let index = outline.nodes.partition_point(|node| node.begin <= at).saturating_sub(1);
        is_commented(outline, index)
    };
    // A rule that nobody reads protects nothing.
    let is_rules = |head: &str| ["pattern", "verdict"].iter().all(|column| head.to_lowercase().contains(column));
    let stray = tables(&outline.text, 0).into_iter().find(|(at, head)| {
        let at = *at;
        is_rules(head) && !read.contains(&at) && !commented(at)
    });
    if let Some((at, _)) = stray {
        let text = "this table of rules is not read; rules stand in the first table below a heading “Rules” of the \
                    first level: put it there, into a block, or below a COMMENT heading";
        return Err(SkillProblem::Section { line: line_of(outline, at), text: text.to_string() });
    }
    match run {
        Examples::Run => examples(outline, toolbox, skill, &lines),
        Examples::Left => Ok(()),
    }
}

/// Returns the first row of each table outside blocks, with its byte in the file; the text begins at a byte.
fn tables(text: &str, begin: u32) -> Vec<(u32, &str)> {
    let (mut found, mut at, mut block, mut inside) = (Vec::new(), begin, false, false);
    for line in text.split_inclusive('\n') {
        let start = line.trim_start().get(..8).unwrap_or("").to_lowercase();
        block = (block || start == "#+begin_") && !start.starts_with("#+end_");
        let row = !block && line.trim_start().starts_with('|');
        if row && !inside {
            found.push((at, line));
        }
        inside = row;
        at = at.saturating_add(u32::try_from(line.len()).unwrap_or(u32::MAX));
    }
    found
}

fn front_matter(outline: &Outline, toolbox: &Toolbox, skill: &mut Skill) -> Result<(), SkillProblem> {
    let Some(file) = outline.nodes.first() else { return Ok(()) };
    let first = line_of(outline, file.section.start);
    for (offset, line) in outline.slice(&file.section).lines().enumerate() {
        let Some((key, value)) = line.trim_start().strip_prefix("#+").and_then(|rest| rest.split_once(':')) else {
            continue;
        };
        let (key, value) = (key.trim().to_uppercase(), value.trim());
        let line = first.saturating_add(u32::try_from(offset).unwrap_or(u32::MAX));
        let wrong = |text: String| SkillProblem::FrontMatter { line, key: key.clone(), text };
        match key.as_str() {
            "PRIORITY" => {
                let number = value.parse::<u16>().ok().filter(|number| *number <= 1000);
                skill.priority = number.ok_or_else(|| wrong(format!("“{value}” is no number from 0 to 1000")))?;
            }
            "DEPENDS_ON" => skill.depends_on.extend(words(value).map(|word| bare_link(&word).to_string())),
            "TRIGGER" => skill.triggers.push(Trigger::parse(value).map_err(wrong)?),
            "ON_ERROR" if skill.on_error.is_some() => {
                return Err(wrong("it stands there twice; one line says what ends a fault".to_string()));
            }
            "ON_ERROR" => skill.on_error = Some(on_error(value).map_err(wrong)?),
            "TOOLS" => {
                let tools = skill.tools.get_or_insert_with(BTreeSet::new);
                for tool in words(value).filter(|word| word != "none") {
                    if toolbox.get(&tool).is_none() {
                        return Err(wrong(format!(
                            "there is no tool “{tool}”; the tools are {}",
                            toolbox.names().join(", ")
                        )));
                    }
                    tools.insert(tool);
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads what ends a fault: `skip`, `abort`, or `fallback` with the text that is answered.
fn on_error(value: &str) -> Result<Resolution, String> {
    let (word, text) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    match (word.to_lowercase().as_str(), text.trim()) {
        ("fallback", long) if long.len() > MAX_FALLBACK => {
            Err(format!("the text of fallback has at most {MAX_FALLBACK} bytes, not {}", long.len()))
        }
        ("fallback", "") => Ok(Resolution::Fallback(FALLBACK.to_string())),
        ("fallback", text) => Ok(Resolution::Fallback(text.to_string())),
        ("skip", "") => Ok(Resolution::Skip),
        ("abort", "") => Ok(Resolution::Abort),
        (word @ ("skip" | "abort"), text) => {
            Err(format!("{word} stands alone, without “{text}”; only fallback is followed by a text"))
        }
        ("", _) => Err("what ends a fault is missing; there are skip, fallback and abort".to_string()),
        (word, _) => Err(format!("“{word}” does not end a fault; there are skip, fallback and abort")),
    }
}

fn words(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).map(str::to_string)
}

/// Returns `id:X` of `[[id:X][name]]`, and other words as they stand.
fn bare_link(word: &str) -> &str {
    let word = word.trim_start_matches('[');
    word.split(']').next().unwrap_or(word)
}

/// Returns all text below a heading, comments left out.
fn text_below(outline: &Outline, node: &Node) -> String {
    let text = outline.slice(&(node.body.start..node.end));
    let kept = text.lines().filter(|line| !line.trim_start().starts_with("# ") && line.trim() != "#");
    kept.collect::<Vec<_>>().join("\n").trim().to_string()
}

fn prompt(outline: &Outline, node: &Node) -> Result<Option<String>, SkillProblem> {
    let text = text_below(outline, node);
    if text.len() > MAX_PROMPT {
        return Err(SkillProblem::TooLarge { what: "prompt", limit: "32 kB" });
    }
    if text.is_empty() {
        return Err(SkillProblem::Section {
            line: node.line,
            text: "the prompt is empty; write it, or take the heading away".into(),
        });
    }
    Ok(Some(text))
}

/// Reads the text of the heading, and each heading below it with its `:WHEN:`.
fn mandates(outline: &Outline, index: usize, skill: &mut Skill) -> Result<(), SkillProblem> {
    let node = outline.nodes.get(index).into_iter();
    for node in node.chain(outline.children(index).filter_map(|child| outline.nodes.get(child))) {
        let own = outline.slice(&node.body);
        let text = own.lines().filter(|line| !line.trim_start().starts_with("# ")).collect::<Vec<_>>().join("\n");
        let when = match outline.property(node, "WHEN") {
            None => None,
            Some(words) => Some(
                Trigger::parse(words)
                    .map_err(|why| SkillProblem::Section { line: node.line, text: format!("WHEN: {why}") })?,
            ),
        };
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
    outline: &Outline,
    node: &Node,
    toolbox: &Toolbox,
    skill: &mut Skill,
    lines: &mut Vec<u32>,
) -> Result<(), SkillProblem> {
    let wrong = |line: u32, text: String| SkillProblem::Section { line, text };
    let table = rows(outline, &node.body).ok_or_else(|| {
        wrong(node.line, "“Rules” needs a table with the columns tool, pattern, verdict, reason".into())
    })?;
    if let Some(row) = table.first() {
        columns(row, &["tool", "pattern", "verdict", "reason"])?;
    }
    for row in &table {
        let cell = |name| row.cell(name);
        let rule = rule::read(toolbox, cell("tool"), cell("pattern"), cell("verdict"), cell("reason"));
        skill.rules.push(rule.map_err(|text| wrong(row.line, text))?);
        lines.push(row.line);
    }
    if skill.rules.len() > MAX_RULES {
        return Err(SkillProblem::TooLarge { what: "table of rules", limit: "500 rows" });
    }
    Ok(())
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
fn examples(outline: &Outline, toolbox: &Toolbox, skill: &mut Skill, lines: &[u32]) -> Result<(), SkillProblem> {
    let patterns: usize = skill.rules.iter().map(rule::length).sum();
    let mut work = 0_usize;
    for node in outline.nodes.iter().skip(1).filter(|node| !node.commented) {
        if !outline.slice(&node.title).trim().eq_ignore_ascii_case("examples") {
            continue;
        }
        let table = rows(outline, &node.body).unwrap_or_default();
        if let Some(row) = table.first() {
            columns(row, &["tool", "example", "match"])?;
        }
        for row in &table {
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
fn gate_examples(outline: &Outline, toolbox: &Toolbox, skill: &mut Skill) -> Result<(), SkillProblem> {
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
        let table = rows(outline, &node.body).ok_or_else(missing)?;
        if let Some(row) = table.first() {
            columns(row, &["tool", "example", "match"])?;
        }
        for row in &table {
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
