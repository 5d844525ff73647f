//! Answers what is asked about skills: the list, one as it stands, and what the user decides about one.

use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::domain::skill::template::{Kind, template};
use crate::edge::engine::Engine;
use crate::edge::engine::authority::SkillAt;
use crate::edge::engine::record::Finished;
use crate::edge::engine::skill_list::SkillLine;
use crate::edge::engine::skill_test::Tested;
use crate::edge::runtime::request::Request;
use crate::edge::skills;
use crate::edge::thread::aside;
use std::path::PathBuf;
use std::sync::Arc;

/// A skill is shown in slices of at most so many bytes.
const SLICE: usize = 60 * 1024;
/// At most so many skills are listed.
const LISTED: usize = 1_000;

/// Answers a request about skills.
///
/// # Errors
/// In words for the user.
pub(super) async fn answer(
    engine: &Arc<Engine>,
    origin: &Origin,
    request: Request,
    payload: &Sexp,
) -> Result<Plist, String> {
    let name = payload.text_at("skill").unwrap_or("").to_string();
    let at = SkillAt { name: name.clone(), file: payload.text_at("file").map(PathBuf::from) };
    match request {
        Request::Skills => {
            let reader = engine.clone();
            let mut lines = aside(move || reader.skill_list()).await;
            let more = lines.len().saturating_sub(LISTED);
            if more > 0 {
                // The user's own are never those that are left out.
                lines.sort_by_key(|line| !line.own);
                lines.truncate(LISTED);
            }
            let own = skills::own(&engine.config).display().to_string();
            Ok(Plist::new().text("folder", own).list("skills", lines.iter().map(line)).int("more", more as i64))
        }
        Request::SkillShow => show(engine, at, payload).await,
        Request::SkillConfirm => {
            let shown = payload.text_at("shown").unwrap_or("");
            Ok(parked(engine.propose_skill(origin, at, shown, engine.new_turn()).await?))
        }
        Request::SkillDisable => match engine.disable_skill(origin, at, engine.new_turn()).await? {
            Ok(said) => Ok(Plist::new().text("text", exact(&said))),
            Err(finished) => Ok(parked(*finished)),
        },
        Request::SkillTemplate => {
            let kind = payload.text_at("kind").unwrap_or("");
            let kind = Kind::parse(kind).ok_or_else(|| {
                let names: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
                format!("“{}” is no kind of skill; there are {}", exact(kind), names.join(", "))
            })?;
            let text = template(kind, &name)?;
            engine.is_free_for_skill(&name)?;
            let file = skills::own(&engine.config).join(format!("{name}.org"));
            Ok(Plist::new().text("file", file.display().to_string()).text("text", text))
        }
        Request::SkillReload => {
            let changes = engine.reload_skills_for(origin).await;
            engine.try_skills().await;
            let mut text = if changes.is_empty() { "Nothing changed.".to_string() } else { changes.join("; ") };
            // The folders are those that the core began with.
            let known = |folder: &&str| engine.config.skill_directories.contains(&engine.config.expand(folder));
            let mut named = payload.list_at("folders").iter().filter_map(Sexp::as_text);
            if let Some(folder) = named.find(|folder| !known(folder)) {
                text.push_str(&format!(" {folder} is read from the next start on: M-x passepartout-restart"));
            }
            Ok(Plist::new().text("text", exact(&text)))
        }
        Request::SkillTest => Ok(tested(&engine.test_skill(at).await?)),
        _ => Ok(Plist::new().text("text", exact(&engine.enable_skill(origin, at).await?))),
    }
}

fn line(skill: &SkillLine) -> Sexp {
    Plist::new()
        .text("name", exact(&skill.name))
        .text("title", exact(&skill.title))
        .text("state", skill.state)
        .maybe("why", skill.why.as_deref().map(exact))
        .maybe_int("priority", skill.priority.map(i64::from))
        .maybe("file", skill.file.clone())
        .flag("own", skill.own)
        .text("turns", skill.turns.as_str())
        .text("lisp", exact(&skill.lisp))
        .int("micros", i64::try_from(skill.took.as_micros()).unwrap_or(i64::MAX))
        .texts("remarks", skill.remarks.iter().map(|remark| exact(remark)))
        .build()
}

/// Returns a slice of a skill as it stands now, with the name of exactly that; nothing of it when another was begun.
async fn show(engine: &Arc<Engine>, at: SkillAt, payload: &Sexp) -> Result<Plist, String> {
    let (engine, from) = (engine.clone(), payload.count_at("from").unwrap_or(0));
    let shown = aside(move || engine.show_skill(at)).await?;
    let named = shown.using.hash();
    // The files are read anew for each slice: one of other files is no part of what was begun.
    if payload.text_at("shown").is_some_and(|begun| begun != named) {
        return Ok(Plist::new().flag("changed", true).text("shown", named));
    }
    let text = exact(&shown.text);
    let rest = text.get(from..).ok_or_else(|| format!("no slice of it begins at {from}"))?;
    let end = (0..=rest.len().min(SLICE)).rev().find(|&end| rest.is_char_boundary(end)).unwrap_or(0);
    let payload = Plist::new().text("shown", named).text("text", rest.get(..end).unwrap_or(""));
    Ok(if end < rest.len() { payload.int("next", (from + end) as i64) } else { payload })
}

fn tested(tested: &Tested) -> Plist {
    let tests = tested.tests.iter().map(|test| {
        Plist::new()
            .text("name", test.name.as_str())
            .maybe_int("line", test.line)
            .text("ended", test.ended.as_str())
            .text("why", test.why.as_str())
            .build()
    });
    let wrong = tested.wrong.as_ref();
    Plist::new()
        .text("file", tested.file.as_str())
        .flag("holds", tested.holds())
        .text("text", exact(&tested.words()))
        .maybe("wrong", wrong.map(|(_, why)| exact(why)))
        .maybe_int("line", wrong.and_then(|(line, _)| *line))
        .list("tests", tests)
        .texts("remarks", tested.remarks.iter().map(|remark| exact(remark)))
}

fn parked(finished: Finished) -> Plist {
    let text = finished.report.notice.unwrap_or_else(|| "It waits as a flight plan.".to_string());
    Plist::new().text("text", exact(&text)).texts("plans", finished.report.plans.iter().map(|id| id.0.clone()))
}
