//! `passepartout skills`: the list, one as it stands, a new one, its tests, and what is in use.

use crate::domain::inert::exact;
use crate::domain::skill::template::{Kind, template};
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{beside, configured, origin, readable, say, with_engine};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::skill_list::SkillLine;
use crate::edge::engine::skill_test::Tested;
use crate::edge::skills::own;
use clap::Subcommand;
use serde_json::json;
use std::io::Write;
use std::sync::Arc;

/// What to do with skills.
#[derive(Debug, Subcommand)]
pub enum Skills {
    /// List them: what became of each.
    List {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Print one whole, with what it asks for; one from outside is confirmed in Emacs.
    Show {
        /// Its name, or its file where several have that name.
        skill: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Begin a new one in the folder of your own skills: prompt, mandate, rules or gate.
    New {
        /// Its name: small letters, digits, and hyphens between them.
        skill: String,
        /// What it is for.
        #[arg(long, default_value = "prompt", value_parser = ["prompt", "mandate", "rules", "gate"])]
        kind: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Test one as its file stands: its examples, and its ERT tests in a confined Emacs.
    Test {
        /// Its name, or its file where several have that name.
        skill: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Take one out of use; one that tightens what may happen is taken out in Emacs.
    Disable {
        /// Its name, or its file where several have that name.
        skill: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Have the process that owns the store read all of them anew, and say what changed.
    Reload {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Bring one back that was taken out of use.
    Enable {
        /// Its name, or its file where several have that name.
        skill: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run_skills(command: Skills, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Skills::New { skill, kind, place, json } => begin((&skill, &kind), &place, json, out),
        Skills::List { ref place, json } => looked("list", None, json, place, &command, out),
        Skills::Show { ref skill, ref place, json } => looked("show", Some(skill), json, place, &command, out),
        Skills::Test { ref skill, ref place, json } => looked("test", Some(skill), json, place, &command, out),
        Skills::Disable { skill, place, json } => decide("disable", &skill, &place, json, out),
        Skills::Enable { skill, place, json } => decide("enable", &skill, &place, json, out),
        Skills::Reload { place, json } => reload(&place, json, out),
    }
}

/// Looks at skills as the process that owns the store has them: its folders are those of its Emacs, and its counts go on.
fn looked(
    word: &str,
    skill: Option<&str>,
    json: bool,
    place: &Place,
    command: &Skills,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let words = ["skills", word].into_iter().chain(json.then_some("--json")).chain(["--"]).chain(skill);
    if let Some(status) = beside(place, words.map(str::to_string).collect(), out)? {
        return Ok(status);
    }
    with_engine(place, Keep::ToRead, async |engine| {
        // Whether their Lisp works is known to nobody yet.
        engine.try_skills().await;
        let (printed, status) = look(engine, command).await?;
        out.write_all(&printed)?;
        Ok(status)
    })
}

/// Returns what is printed for who looks at skills, and the exit status; nothing here changes them.
///
/// # Errors
/// When there is no such skill, or it was another command.
pub(super) async fn look(engine: &Arc<Engine>, command: &Skills) -> Result<(Vec<u8>, u8), Failure> {
    let (mut out, mut status) = (Vec::new(), DONE);
    match command {
        Skills::List { json, .. } => print(&engine.skill_list(), *json, &mut out)?,
        Skills::Show { skill, json, .. } => {
            let shown = engine.show_skill(skill.as_str())?.text;
            match json {
                true => writeln!(out, "{}", json!({ "skill": skill, "text": shown }))?,
                false => write!(out, "{}", exact(&shown))?,
            }
        }
        Skills::Test { skill, json, .. } => {
            let tested = engine.test_skill(skill.as_str()).await?;
            print_tested(&tested, *json, &mut out)?;
            status = if tested.holds() { DONE } else { FAILED };
        }
        Skills::New { .. } | Skills::Disable { .. } | Skills::Enable { .. } | Skills::Reload { .. } => {
            return Err("this command does not look at skills".to_string().into());
        }
    }
    Ok((out, status))
}

/// Writes the file of a new skill; one that is there stays.
fn begin((skill, kind): (&str, &str), place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let usage = |text: String| Failure { text, status: USAGE };
    let kind = Kind::parse(kind).ok_or_else(|| usage(format!("there is no kind “{}”", exact(kind))))?;
    let text = template(kind, skill).map_err(usage)?;
    let folder = own(&configured(place));
    let file = folder.join(format!("{skill}.org"));
    if file.symlink_metadata().is_err() {
        with_engine(place, Keep::ToRead, async |engine| engine.is_free_for_skill(skill).map_err(Failure::from))?;
    }
    std::fs::create_dir_all(&folder).map_err(|why| format!("{} could not be made: {why}", folder.display()))?;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).open(&file);
    let named = exact(&file.display().to_string());
    made.and_then(|mut made| made.write_all(text.as_bytes())).map_err(|why| match why.kind() {
        std::io::ErrorKind::AlreadyExists => format!("{named} is there already, and was left as it is"),
        _ => format!("{named} could not be written: {why}"),
    })?;
    if as_json {
        writeln!(out, "{}", json!({ "skill": skill, "file": file, "kind": kind.summary() }))?;
        return Ok(DONE);
    }
    writeln!(out, "{named} {}. Write over it, then: passepartout skills test {skill}", kind.summary())?;
    Ok(DONE)
}

fn decide(word: &str, skill: &str, place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let words = ["skills", word].into_iter().chain(as_json.then_some("--json")).chain(["--", skill]);
    if let Some(status) = beside(place, words.map(str::to_string).collect(), out)? {
        return Ok(status);
    }
    with_engine(place, Keep::OnDiskOnly, async |engine| {
        say(&decided(engine, &origin(false), word == "enable", skill).await?, as_json, out)
    })
}

/// Has the owner of the store read its skills anew; each start reads them in any case.
fn reload(place: &Place, as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let words = ["skills", "reload"].into_iter().chain(as_json.then_some("--json"));
    match beside(place, words.map(str::to_string).collect(), out)? {
        Some(status) => Ok(status),
        None => say("Nothing runs that would have to read its skills anew; each start reads them.", as_json, out),
    }
}

/// Reads all skills anew, and returns what changed.
pub(super) async fn reloaded(engine: &Arc<Engine>) -> String {
    let changes = engine.reload_skills().await;
    engine.try_skills().await;
    if changes.is_empty() { "Nothing changed.".to_string() } else { changes.join("; ") }
}

/// Takes a skill out of use or brings it back, and returns what came of it.
///
/// # Errors
/// In words for the user; also when it is to be confirmed in Emacs.
pub(super) async fn decided(
    engine: &Arc<Engine>,
    origin: &crate::domain::signal::Origin,
    enable: bool,
    skill: &str,
) -> Result<String, String> {
    if enable {
        return engine.enable_skill(origin, skill).await;
    }
    match engine.disable_skill(origin, skill, engine.new_turn()).await? {
        Ok(said) => Ok(said),
        Err(_) => Ok("It waits as a flight plan.".to_string()),
    }
}

fn print(skills: &[SkillLine], as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if as_json {
        let each = skills.iter().map(|skill| {
            json!({
                "name": skill.name, "title": skill.title, "state": skill.state, "why": skill.why,
                "priority": skill.priority, "file": skill.file, "turns": skill.turns, "lisp": skill.lisp,
                "micros": skill.took.as_micros() as u64, "remarks": skill.remarks,
            })
        });
        writeln!(out, "{}", json!({ "skills": each.collect::<Vec<_>>() }))?;
        return Ok(());
    }
    for skill in skills {
        let priority = skill.priority.map(|priority| priority.to_string()).unwrap_or_default();
        let line = format!("{:<8} {priority:>4}  {}  {}", skill.state, skill.name, skill.title);
        writeln!(out, "{}", readable(line.trim_end()))?;
        let (told, slow) = ([&skill.turns, &skill.lisp], skill.slow());
        let more = skill.why.iter().chain(&skill.remarks).chain(told).chain(&slow).filter(|text| !text.is_empty());
        for text in more {
            writeln!(out, "               {}", readable(text))?;
        }
    }
    Ok(())
}

fn print_tested(tested: &Tested, as_json: bool, out: &mut dyn Write) -> Result<(), Failure> {
    if as_json {
        let tests = tested.tests.iter();
        let tests =
            tests.map(|test| json!({ "name": test.name, "line": test.line, "ended": test.ended, "why": test.why }));
        let (line, why) = tested.wrong.clone().unzip();
        let said = json!({
            "file": tested.file, "holds": tested.holds(), "line": line.flatten(), "wrong": why,
            "tests": tests.collect::<Vec<_>>(), "remarks": tested.remarks,
        });
        writeln!(out, "{said}")?;
        return Ok(());
    }
    let file = exact(&tested.file);
    let at = |line: Option<u32>| line.map_or_else(|| file.clone(), |line| format!("{file}:{line}"));
    writeln!(out, "{}", tested.words())?;
    if let Some((line, why)) = &tested.wrong {
        writeln!(out, "{}: {}", at(*line), readable(why))?;
    }
    for remark in &tested.remarks {
        writeln!(out, "{file}: {}", readable(remark))?;
    }
    for test in &tested.tests {
        let why = if test.why.is_empty() { String::new() } else { format!(": {}", readable(&test.why)) };
        writeln!(out, "{}: {} {}{why}", at(test.line), test.ended, readable(&test.name))?;
    }
    Ok(())
}
