//! What the engine knows, as messages of the protocol. Text that a client shows in Org is inert here.

use crate::domain::context::Rendered;
use crate::domain::count::counted;
use crate::domain::gate::live::{self, Change, Kind};
use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::gate::{Trace, page};
use crate::domain::id::TurnId;
use crate::domain::inert::{exact, inert};
use crate::domain::label::Privacy;
use crate::domain::markdown::org;
use crate::domain::memory::view::View;
use crate::domain::money::totals::{Share, Shares, Sum};
use crate::domain::port::{Ended, Locality};
use crate::domain::query::run::Hit;
use crate::domain::query::show::Row;
use crate::domain::recall::show::link;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::turn::consensus::{Other, Round};
use crate::domain::turn::error::Fault;
use crate::domain::turn::{Act, Deed, Ending, Refused, Taken, TurnReport};
use crate::edge::doctor::Check;
use crate::edge::engine::Engine;
use crate::edge::engine::cascade::Stand;
use crate::edge::engine::explain::{Considered, Explained};
use crate::edge::engine::pictures::Seen;
use crate::edge::engine::query::Answer;
use crate::edge::engine::record::Finished;
use crate::edge::log::Line;
use crate::edge::runtime::clients::program_of;
use crate::edge::runtime::lanes::Markup;
use crate::edge::wire::slices;
use serde_json::Value;
use std::borrow::Cow;

/// How many decided plans a client is sent.
const DECIDED: usize = 50;

/// Returns a picture as it may go along: what it is, and how private.
pub fn picture(seen: &Seen) -> Plist {
    let Seen { picture, privacy, why } = seen;
    let (width, height) = picture.pixels();
    let told = Plist::new()
        .text("name", exact(picture.name()))
        .text("kind", picture.kind().word())
        .int("bytes", picture.bytes().len() as i64)
        .int("width", i64::from(width))
        .int("height", i64::from(height))
        .int("tokens", picture.tokens() as i64)
        .maybe("why", Some(exact(why)).filter(|why| !why.is_empty()));
    match privacy {
        Privacy::Open => told,
        Privacy::Private => told.flag("private", true),
        Privacy::Warn | Privacy::Ask => told.text("private", privacy.word()),
    }
}

/// Returns the plans that wait or are being carried out, with the newest of the others; the order, oldest first, stays.
pub fn newest(plans: Vec<FlightPlan>) -> Vec<FlightPlan> {
    let open = |plan: &FlightPlan| matches!(plan.status, PlanStatus::Pending | PlanStatus::Approved);
    let mut surplus = plans.iter().filter(|plan| !open(plan)).count().saturating_sub(DECIDED);
    plans
        .into_iter()
        .filter(|plan| {
            let left_out = !open(plan) && surplus > 0;
            surplus -= usize::from(left_out);
            !left_out
        })
        .collect()
}

/// Of a line of a summary at most so many characters are sent.
const LINE: usize = 300;
/// Of the gates that ask at most so many are named in a summary.
const GATES: usize = 8;

/// Returns what clients list of a plan: bounded, however long the plan is. Its text goes in pages.
pub fn plan(plan: &FlightPlan) -> Plist {
    let result = match &plan.status {
        PlanStatus::Pending | PlanStatus::Approved | PlanStatus::Expired => None,
        PlanStatus::Denied(words) | PlanStatus::Done(words) | PlanStatus::Failed(words) | PlanStatus::Stale(words) => {
            Some(exact(&clip(words)))
        }
        PlanStatus::Replaced(by) => Some(format!("replaced by {by}")),
    };
    let replaced_by = match &plan.status {
        PlanStatus::Replaced(by) => Some(by.0.as_str()),
        _ => None,
    };
    let asked = plan
        .asks()
        .into_iter()
        .take(GATES)
        .map(|(gate, reason)| Sexp::list([Sexp::text(exact(&clip(&gate))), Sexp::text(exact(&clip(&reason)))]));
    let args = plan.action.args().iter().map(|(name, value)| {
        let (kind, text) = argument(value);
        Plist::new().text("name", name.as_str()).text("kind", kind).int("size", text.len() as i64).build()
    });
    Plist::new()
        .text("id", plan.id.0.as_str())
        .text("status", plan.status.name())
        .text("shown", plan.shown())
        .text("session", plan.session.0.as_str())
        .text("turn", plan.turn.0.as_str())
        .text("tool", plan.action.tool())
        .text("title", plan.title.as_str())
        .list("asked-by", asked)
        .text("badge", plan.about.badge.name())
        .int("step", i64::from(plan.about.step))
        .int("size", page::size(plan) as i64)
        .list("args", args)
        .text("created", plan.created.to_string())
        .text("expires", plan.expires.to_string())
        .maybe("result", result)
        .maybe("differs", Some(&plan.about.differs).filter(|text| !text.is_empty()).map(|text| exact(&head(text))))
        .maybe("replaced-by", replaced_by)
        .maybe("proposer", program_of(&plan.session.0))
}

/// Of what differs at most so many lines, and so many characters of each, go with a summary.
const DIFFERING: usize = 40;

/// Returns the first lines of a difference; the command line shows all of it.
fn head(text: &str) -> String {
    let mut lines = text.lines();
    let mut head: Vec<String> = lines.by_ref().take(DIFFERING).map(clip).collect();
    match lines.count() {
        0 => {}
        more => head.push(format!("… and {}: passepartout plans show", counted(more, "more line"))),
    }
    head.join("\n")
}

/// Returns one page of a plan's text, as `from` was named by the page before it, and where the next begins.
///
/// # Errors
/// When no page begins there.
pub fn plan_page(plan: &FlightPlan, from: usize) -> Result<(Plist, Option<usize>), String> {
    let page = page::page(plan, from).ok_or_else(|| format!("no page of plan {} begins at {from}", plan.id))?;
    let payload = Plist::new().text("plan", plan.id.0.as_str()).int("from", from as i64);
    let payload = payload.keyword("part", page.part.name()).text("text", page.text);
    let payload = match page.next {
        Some(next) => payload.int("next", next as i64),
        None => payload.text("shown", plan.shown()),
    };
    Ok((payload, page.next))
}

/// Returns the text of an argument of a plan, as it is, for editing.
///
/// # Errors
/// When there is no such argument.
pub fn plan_argument(plan: &FlightPlan, name: &str) -> Result<String, String> {
    let value = plan.action.args().get(name);
    let (_, text) = argument(value.ok_or_else(|| format!("plan {} has no argument {}", plan.id, exact(name)))?);
    Ok(text.into_owned())
}

/// Returns the slice of an argument's text that begins there.
///
/// # Errors
/// When none does.
pub fn argument_slice(text: &str, name: &str, from: usize) -> Result<Plist, String> {
    let mut begin = 0;
    for (number, slice) in (1_u64..).zip(slices::cut(text, SLICE)) {
        let end = begin + slice.len();
        if begin == from {
            let payload = Plist::new().int("slice", number).text("text", slice);
            return Ok(match end < text.len() {
                true => payload.int("next", end as i64),
                false => payload.text("hash", slices::chain(text, SLICE).hash()),
            });
        }
        begin = end;
    }
    Err(format!("no slice of {} begins at {from}", exact(name)))
}

/// An argument goes in slices of at most so many bytes.
const SLICE: usize = 64 * 1024;

/// Returns the kind of an argument, and the argument as text for editing: of a list, an item is a line.
fn argument(value: &Value) -> (&'static str, Cow<'_, str>) {
    match value {
        Value::String(text) => ("text", Cow::Borrowed(text)),
        Value::Array(items) => {
            ("texts", Cow::Owned(items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")))
        }
        Value::Number(number) => ("number", Cow::Owned(number.to_string())),
        Value::Bool(flag) => ("flag", Cow::Owned(flag.to_string())),
        Value::Null | Value::Object(_) => ("text", Cow::Borrowed("")),
    }
}

/// Returns the arguments of a plan with one of them as it was edited.
///
/// # Errors
/// When the plan has no such argument.
pub fn edited(plan: &FlightPlan, name: &str, text: &str) -> Result<serde_json::Map<String, Value>, String> {
    let mut args = plan.action.args().clone();
    let value = args.get_mut(name).ok_or_else(|| format!("plan {} has no argument {}", plan.id, exact(name)))?;
    *value = match argument(value).0 {
        "number" => text.trim().parse::<i64>().map(Value::from).unwrap_or_else(|_| Value::from(text)),
        "flag" => Value::Bool(text.trim() == "true"),
        "texts" => text.lines().map(Value::from).collect(),
        _ => Value::from(text),
    };
    Ok(args)
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(LINE) {
        None => text.to_string(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("")),
    }
}

/// Returns what came of a turn, for `turn-done` and for the trace.
pub fn turn(finished: &Finished, view: &View) -> Plist {
    let report = &finished.report;
    let sources = report.sources.iter().filter_map(|id| view.get(id)).take(12).map(|node| {
        Plist::new()
            .maybe("id", node.property("ID").map(exact))
            .text("title", exact(node.title()))
            .text("file", &**node.file())
            .int("line", i64::from(node.line()))
            .build()
    });
    let (provider, model) = report.answered_by.clone().unzip();
    // Nothing is paid for what this program answers itself, and nothing is said of it.
    let cost = Some(report.spent.all()).filter(|spent| spent.calls > 0).map(|spent| spent.words());
    // Of one alone it is what the turn came to.
    let shares = report.spent.iter().filter(|_| report.spent.iter().len() > 1).map(share);
    let told = |tokens: u64| Some(tokens).filter(|tokens| *tokens > 0);
    Plist::new()
        .text("turn", finished.turn.0.as_str())
        .text("session", finished.session.0.as_str())
        .text("at", finished.at.to_string())
        .text("asked", exact(&finished.asked))
        .text("status", report.ending.name())
        .maybe("text", report.notice.as_deref().map(inert))
        .flag("out-of-steps", report.out_of_steps)
        .maybe("cut-off", report.ended.word())
        .maybe("condition", report.fault.as_ref().map(Fault::symbol))
        .maybe("skill", report.skill.as_deref().map(exact))
        .maybe("model", model.map(|m| exact(&m)))
        .maybe("provider", provider.map(|p| exact(&p)))
        .int("tokens-in", report.usage.input as i64)
        .int("tokens-out", report.usage.output as i64)
        .maybe_int("tokens-cached", told(report.usage.cached))
        .maybe_int("tokens-thinking", told(report.usage.thinking))
        .maybe("cost", cost)
        .list("shares", shares)
        .float("seconds", (finished.seconds * 1000.0).round() / 1000.0)
        .texts("routes", report.routes.iter().map(|words| exact(words)))
        .list("rounds", report.rounds.iter().map(round))
        .list("sources", sources)
        .list("trace", report.deeds.iter().map(deed))
        .texts("plans", report.plans.iter().map(|id| id.0.clone()))
        .texts("changed", report.changed.iter().cloned())
}

/// An answer that is told as it is has at most so many bytes.
const AS_IT_IS: usize = 512 << 10;

/// Adds the answer of a turn as its model wrote it, and what of it could run where it would stand, in a file of this name
/// in the place of a text. It is text from outside, and nothing in it is inert: it goes to who asked for it alone. Of an answer that is not whole,
/// or too long, there is nothing.
pub fn as_it_is(payload: Plist, report: &TurnReport, file: &str, before: &str) -> Plist {
    let ends = matches!(report.ending, Ending::Answered | Ending::Parked) && report.ended == Ended::Whole;
    if !ends || report.text.is_empty() || report.text.len() > AS_IT_IS {
        return payload;
    }
    let change = Change { file, before: Some(before), after: &report.text };
    let runs = live::fresh(&[change]).into_iter().map(|fresh| fresh.piece);
    // A file of Lisp is code, whoever wrote it.
    let runs = runs.filter(|piece| !matches!(piece.kind, Kind::Form | Kind::Dialect | Kind::Compiled));
    payload.text("exact", report.text.as_str()).texts("runs", runs.map(|piece| piece.code))
}

/// Returns how many acts a gate refused.
pub fn blocked((gate, count): (&str, usize)) -> Sexp {
    Plist::new().text("gate", exact(gate)).int("count", count as i64).build()
}

/// Returns what a prompt took of its room.
pub fn taken(taken: Taken) -> Plist {
    Plist::new().int("used", taken.used as i64).int("most", taken.most as i64)
}

/// Returns what the calls of one of several providers came to in a turn.
fn share(share: &Share) -> Sexp {
    let who = Plist::new().text("provider", exact(&share.provider)).text("model", exact(&share.model));
    came_to(who.int("calls", share.sum.calls as i64), &share.sum).build()
}

fn came_to(of: Plist, sum: &Sum) -> Plist {
    let tokens = of.int("tokens-in", sum.usage.input as i64).int("tokens-out", sum.usage.output as i64);
    tokens.text("cost", sum.words())
}

/// Returns what came of asking several models at once.
fn round(round: &Round) -> Sexp {
    let ballots = round.ballots.iter().enumerate().map(|(index, ballot)| {
        Plist::new()
            .text("provider", exact(&ballot.provider))
            .text("model", exact(&ballot.model))
            .text("vote", ballot.kind)
            .texts("lines", ballot.lines.iter().map(|line| exact(line)))
            .flag("agrees", ballot.agrees)
            .flag("followed", round.followed == Some(index))
            .build()
    });
    Plist::new().text("mode", round.mode.name()).list("ballots", ballots).build()
}

/// Of an answer beside the one that the chat goes on from at most so many bytes are sent.
const OTHER: usize = 64 * 1024;

/// Returns an answer beside the one that the chat goes on from, with what its model came to in the turn; it stands in an Org
/// buffer, and is inert.
pub(super) fn other(other: &Other, markup: Markup, spent: &Shares) -> Sexp {
    let whole = other.text.trim();
    let end = (0..=whole.len().min(OTHER)).rev().find(|&end| whole.is_char_boundary(end)).unwrap_or(0);
    let shown = whole.get(..end).unwrap_or("");
    let mut text = match markup {
        Markup::AsWritten => inert(shown),
        Markup::Org => org(shown),
    };
    if end < whole.len() {
        text.push_str(&format!("…\n\n({} more were left out.)", counted(whole.len() - end, "byte")));
    }
    let who =
        Plist::new().text("provider", exact(&other.provider)).text("model", exact(&other.model)).text("text", text);
    spent.of(&other.provider).map_or(who.clone(), |share| came_to(who, &share.sum)).build()
}

/// Returns the word for where a provider runs.
pub fn place(locality: Locality) -> &'static str {
    match locality {
        Locality::Builtin => "builtin",
        Locality::Local => "local",
        Locality::Remote => "remote",
    }
}

/// Returns how a provider stands.
pub fn stand(stand: &Stand) -> Plist {
    Plist::new()
        .text("name", exact(&stand.name))
        .text("state", stand.state)
        .maybe("place", stand.locality.map(place))
        .maybe("why", Some(exact(&stand.why)).filter(|why| !why.is_empty()))
}

/// Returns a line about something that was refused in a turn; it stands in an Org buffer, and is inert.
pub fn refused(refused: &Refused) -> Sexp {
    let hash = refused.action.map(|action| action.to_hex());
    Plist::new().text("text", inert(&refused.text)).maybe("hash", hash).build()
}

/// Returns how an act of a turn stands, for who may see what is private or may not: that is not told what it is about.
pub fn act(turn: &TurnId, act: &Act, sees_private: bool) -> Plist {
    let seen = sees_private || act.privacy == Privacy::Open;
    Plist::new()
        .keyword("action", "act")
        .text("turn", turn.0.as_str())
        .int("number", act.number as i64)
        .keyword("state", act.state.name())
        .text("tool", exact(&act.tool))
        .maybe("summary", Some(&act.summary).filter(|_| seen).map(|summary| exact(&clip(summary))))
        .maybe("plan", act.plan.as_ref().map(|id| id.0.clone()))
}

fn deed(deed: &Deed) -> Sexp {
    let verdict = deed.trace.as_ref().and_then(|trace| trace.strictest().map(|o| o.verdict.name())).unwrap_or("deny");
    Plist::new()
        .text("tool", exact(&deed.tool))
        .text("summary", exact(&deed.summary))
        .text("verdict", verdict)
        .text("outcome", exact(&first_lines(&deed.outcome)))
        .maybe("plan", deed.plan.as_ref().map(|id| id.0.clone()))
        .maybe("hash", deed.trace.as_ref().map(|trace| trace.action.to_hex()))
        .list("opinions", deed.trace.iter().flat_map(opinions))
        .build()
}

/// Returns every gate's verdict, highest priority first.
pub fn opinions(trace: &Trace) -> Vec<Sexp> {
    trace
        .opinions
        .iter()
        .map(|opinion| {
            Plist::new()
                .text("gate", opinion.gate.as_str())
                .int("priority", i64::from(opinion.priority))
                .text("verdict", opinion.verdict.name())
                .maybe("reason", opinion.verdict.reason().map(|reason| exact(&reason.text)))
                .build()
        })
        .collect()
}

/// Returns a line of the log.
pub fn line(line: &Line) -> Plist {
    Plist::new().text("level", line.level.name()).text("at", line.at.to_string()).text("text", exact(&line.text))
}

/// Returns one check of the doctor.
pub fn check(check: &Check) -> Sexp {
    Plist::new()
        .text("name", check.name)
        .text("title", check.title)
        .text("state", check.state.name())
        .text("word", check.word())
        .text("detail", exact(&check.detail))
        .maybe("repair", check.repair.as_deref().map(exact))
        .flag("fix", check.fix)
        .build()
}

fn first_lines(text: &str) -> String {
    let mut lines = text.lines();
    let shown: Vec<&str> = lines.by_ref().take(12).collect();
    let more = lines.count();
    if more > 0 { format!("{}\n… and {} more", shown.join("\n"), counted(more, "line")) } else { shown.join("\n") }
}

/// Returns what came of a query, at most so many nodes of it.
pub fn answer(answer: &Answer, engine: &Engine, most: usize) -> Plist {
    let hits = answer.found.hits.iter().take(most).map(|hit| {
        // The link alone is meant for an Org buffer: it is inert.
        row(&Row::of(hit), engine).text("link", engine.mask(&inert(&link(&hit.node)))).build()
    });
    let reading = answer.reading.map(|reading| [Sexp::int(reading.done as i64), Sexp::int(reading.total as i64)]);
    let notes = answer.found.notes.iter().cloned().chain(answer.state(engine.view().len()));
    let plist = Plist::new()
        .text("query", engine.mask(&answer.query))
        .int("total", answer.found.total.count() as i64)
        .flag("at-least", !answer.found.total.is_exact())
        .list("hits", hits)
        .texts("notes", notes.map(|note| exact(&note)));
    match reading {
        Some(reading) => plist.list("reading", reading),
        None => plist,
    }
}

/// Returns the nodes that were considered for a context, at most so many; what is private only for who may see it.
pub fn considered(explained: &Explained, engine: &Engine, sees: bool, most: usize) -> Vec<Sexp> {
    let view = engine.view();
    let one = |node: &Considered| {
        let known = view.get(&node.id).filter(|found| sees || found.privacy() == Privacy::Open);
        let rendered = match node.rendered {
            Some(Rendered::Full) => "full",
            Some(Rendered::Title) => "title",
            None => "out",
        };
        let plist = Plist::new()
            .keyword("rendered", rendered)
            .text("reason", exact(&node.reason.to_string()))
            .int("tokens", node.tokens as i64)
            .flag("outline", node.outline);
        match known {
            None => plist.flag("private", true).build(),
            Some(node) => {
                let row = Row::of(&Hit { node, score: None, snippet: None });
                plist
                    .text("id", row.id.as_str())
                    .text("file", row.file.as_str())
                    .int("line", i64::from(row.line))
                    .int("byte", i64::from(row.byte))
                    .text("title", engine.mask(&row.title))
                    .flag("private", row.private)
                    .build()
            }
        }
    };
    explained.nodes.iter().take(most).map(one).collect()
}

/// Texts come as they stand: the client shows what cannot be seen, and compares titles with a buffer's.
fn row(row: &Row, engine: &Engine) -> Plist {
    let marks = row.marks.iter().map(|mark| Sexp::list([Sexp::int(mark.start as i64), Sexp::int(mark.end as i64)]));
    Plist::new()
        .text("id", row.id.as_str())
        .text("file", row.file.as_str())
        .int("line", i64::from(row.line))
        .int("byte", i64::from(row.byte))
        .int("level", i64::from(row.level))
        .text("title", engine.mask(&row.title))
        .texts("path", row.path.iter().map(|title| engine.mask(title)))
        .maybe("keyword", row.keyword.as_deref())
        .flag("done", row.done)
        .maybe("priority", row.priority.map(String::from))
        .texts("tags", row.tags.iter().map(String::as_str))
        .maybe("scheduled", row.scheduled.as_deref())
        .maybe("deadline", row.deadline.as_deref())
        .maybe("closed", row.closed.as_deref())
        .flag("private", row.private)
        .maybe("snippet", row.snippet.as_deref().map(|snippet| engine.mask(snippet)))
        .list("marks", marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Action;
    use crate::domain::gate::Facts;
    use crate::domain::gate::plan::About;
    use crate::domain::id::{PlanId, SessionId, TurnId};
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;
    use crate::domain::turn::{ActState, Conversation};

    #[test]
    fn what_a_private_act_is_about_is_told_only_to_who_may_see_it() {
        let turn = TurnId("T1".to_string());
        for (privacy, sees, expected) in [
            (Privacy::Open, false, true),
            (Privacy::Open, true, true),
            (Privacy::Warn, false, false),
            (Privacy::Ask, false, false),
            (Privacy::Private, false, false),
            (Privacy::Private, true, true),
        ] {
            let (tool, summary) = ("memory-read".to_string(), "Read “\u{202e}x”".to_string());
            let told = Act { number: 3, tool, summary, state: ActState::Begun, plan: None, privacy };
            let told = act(&turn, &told, sees).build();
            assert_eq!((told.int_at("number"), told.name_at("state")), (Some(3), Some("begun")));
            assert_eq!((told.text_at("tool"), told.text_at("turn")), (Some("memory-read"), Some("T1")));
            assert_eq!(told.text_at("summary").is_some(), expected, "{privacy:?} {sees}");
            assert!(!told.to_string().contains('\u{202e}'), "nothing in it hides");
        }
    }

    #[test]
    fn an_answer_is_told_as_it_is_when_it_is_whole_with_what_could_run_in_it() {
        let report = |text: &str, ending, ended| {
            let mut report = TurnReport::of(Conversation::empty());
            (report.text, report.ending, report.ended) = (text.to_string(), ending, ended);
            report
        };
        let live = "* A\n#+begin_src emacs-lisp\n(f)\n#+end_src\n[[elisp:(g)]] a:b \u{200b}";
        // What stood there as words alone is new as what runs; what ran there before is not.
        let before = "(f) (g)\n[[elisp:(h)]]";
        let live = &*format!("{live}\n[[elisp:(h)]]");
        let long = &*"x".repeat(AS_IT_IS + 1);
        for (text, ending, ended, file, told, runs) in [
            (live, Ending::Answered, Ended::Whole, "a.org", true, &["(f)", "(g)"][..]),
            (live, Ending::Parked, Ended::Whole, "a.org", true, &["(f)", "(g)"][..]),
            (live, Ending::Answered, Ended::Whole, "a.py", true, &[][..]),
            ("(f)", Ending::Answered, Ended::Whole, "a.el", true, &[][..]),
            (live, Ending::Answered, Ended::Limit, "a.org", false, &[][..]),
            (live, Ending::Answered, Ended::Filtered, "a.org", false, &[][..]),
            (live, Ending::Failed, Ended::Whole, "a.org", false, &[][..]),
            (live, Ending::Interrupted, Ended::Whole, "a.org", false, &[][..]),
            ("", Ending::Answered, Ended::Whole, "a.org", false, &[][..]),
            (long, Ending::Answered, Ended::Whole, "a.org", false, &[][..]),
        ] {
            let payload = as_it_is(Plist::new(), &report(text, ending, ended), file, before).build();
            assert_eq!(payload.text_at("exact"), told.then_some(text), "{ending:?} {ended:?} {file}");
            let found: Vec<&str> = payload.list_at("runs").iter().filter_map(Sexp::as_text).map(str::trim).collect();
            assert_eq!(found.len(), runs.len(), "{found:?}");
            assert!(found.iter().zip(runs).all(|(found, run)| found.contains(run)), "{found:?}");
        }
    }

    #[test]
    fn of_decided_plans_the_newest_are_sent() {
        let args = serde_json::json!({ "command": "ls" }).as_object().cloned().expect("an object");
        let action = Action::new(&Toolbox::builtin(), "shell", args, Some("To look around."), Labels::USER);
        let action = action.expect("a test's own action is well-formed");
        let plans = (0..200u32).map(|n| FlightPlan {
            id: PlanId(n.to_string()),
            title: String::new(),
            action: action.clone(),
            facts: Facts::default().hash(),
            body: String::new(),
            diff: String::new(),
            trace: Trace { action: action.hash(), opinions: Vec::new() },
            session: SessionId("s".to_string()),
            turn: TurnId("t".to_string()),
            call: String::new(),
            created: jiff::Timestamp::UNIX_EPOCH,
            expires: jiff::Timestamp::MAX,
            status: if n % 100 == 0 { PlanStatus::Pending } else { PlanStatus::Expired },
            about: About::default(),
        });
        let sent: Vec<u32> = newest(plans.collect()).iter().filter_map(|plan| plan.id.0.parse().ok()).collect();
        assert_eq!(sent, [0, 100].into_iter().chain(150..200).collect::<Vec<_>>());
    }
}
