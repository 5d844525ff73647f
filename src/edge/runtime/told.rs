//! Answers about what models are told: the context with its reasons, pins, and the exact request.

use crate::domain::count::counted;
use crate::domain::id::NodeId;
use crate::domain::inert::exact;
use crate::domain::port::Locality;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::explain::{About, Explained, Pin};
use crate::edge::engine::inspect::Proof;
use crate::edge::engine::time::slice;
use crate::edge::runtime::lanes::{asked, privacy_at};
use crate::edge::runtime::past::page_of;
use crate::edge::runtime::show;
use crate::edge::thread::aside;
use std::sync::Arc;

/// Has a heading in every context, or in none; for this session, or kept on it.
pub(super) async fn pin(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let id = NodeId::new(payload.text_at("id").unwrap_or(""));
    let pin = payload.name_at("pin").and_then(Pin::read).ok_or("a heading is pinned in, out or neither")?;
    engine.pin(origin, &id, pin)?;
    if !payload.flag_at("keep") {
        return Ok(Plist::new());
    }
    let finished = engine.keep_pin(origin, &id, pin, engine.new_turn()).await?;
    let text = finished.report.notice.unwrap_or_else(|| finished.report.text.clone());
    let plans = finished.report.plans.iter().map(|id| id.0.clone());
    Ok(Plist::new().text("text", exact(&text)).texts("plans", plans))
}

/// Shows the last request, with those that were sent beside it, or with words the next one; in pages: behind the first one
/// as it was shown.
pub(super) async fn inspect(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    if !origin.rights.see_private {
        return Err("this channel may not see what is sent".to_string());
    }
    let at = (payload.count_at("which").unwrap_or(0), payload.count_at("from").unwrap_or(0));
    if at == (0, 0) {
        let inspected = match payload.text_at("text") {
            Some(_) => {
                engine.mark_private(&origin.session, privacy_at(payload));
                vec![engine.inspect_next(asked(origin.clone(), payload, &str::to_string)).await?]
            }
            None => engine.inspect_last(origin).await?,
        };
        let name = engine.next_serial();
        *engine.inspected.lock() = Some((origin.session.clone(), name, inspected));
        return page_of_shown(engine, origin, Some(name), at);
    }
    let name = payload.count_at("shown").and_then(|name| u64::try_from(name).ok());
    page_of_shown(engine, origin, name, at)
}

/// Returns a page of one of the requests that were shown under this name, and of no others.
fn page_of_shown(
    engine: &Engine,
    origin: &Origin,
    name: Option<u64>,
    (which, from): (usize, usize),
) -> Result<Plist, String> {
    let shown = engine.inspected.lock();
    let (session, shown, all) = shown.as_ref().ok_or("nothing was shown yet")?;
    if *session != origin.session || name != Some(*shown) {
        return Err("something else was shown meanwhile; ask again".to_string());
    }
    let inspected =
        all.get(which).ok_or_else(|| format!("no more than {} were shown", counted(all.len(), "request")))?;
    let proof = match inspected.proof {
        Proof::Absent => "absent",
        Proof::Quoted => "quoted",
        Proof::Here => "here",
        Proof::Unknown => "unknown",
    };
    let usage = inspected.came.and_then(|came| came.usage);
    let (text, next) = slice(&inspected.text, from);
    Ok(page_of(text, next)
        .int("shown", *shown as i64)
        .int("requests", all.len() as i64)
        .text("provider", inspected.provider.as_str())
        .text("model", exact(&inspected.model))
        .text("url", inspected.url.as_str())
        .maybe("sent", inspected.sent.map(|at| at.to_string()))
        .maybe_int("tokens-in", usage.map(|usage| usage.input))
        .maybe_int("tokens-out", usage.map(|usage| usage.output))
        .maybe("cost", inspected.came.map(|came| came.cost.words()))
        .flag("unreached", inspected.came.is_some_and(|came| !came.left))
        .int("redacted", inspected.redacted as i64)
        .int("kept-out", inspected.kept_out as i64)
        .int("nodes", inspected.nodes as i64)
        .int("above", inspected.above as i64)
        .keyword("proof", proof))
}

/// How many nodes of a context are listed.
const MOST_CONSIDERED: usize = 600;

/// Notes of more tokens are explained to nobody.
const MOST_TOKENS: usize = 200_000;

/// Explains what a model would be told now; with `:lines`, why one heading is in it or is not, or all that is left out.
pub(super) async fn context(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Plist {
    let reader = match payload.name_at("for") {
        Some("elsewhere") => Some(Locality::Remote),
        Some("here") => Some(Locality::Local),
        Some(_) | None => None,
    };
    let focus = payload.text_at("focus").map(NodeId::new);
    let max_tokens = payload.count_at("tokens").map(|tokens| tokens.min(MOST_TOKENS));
    let chat = payload.get("history").map(|_| {
        engine.mark_private(&origin.session, privacy_at(payload));
        asked(origin.clone(), payload, &str::to_string)
    });
    let (query, quietly) = (payload.text_at("query"), payload.flag_at("quietly"));
    let about = About { query, chat: chat.as_ref(), focus: focus.as_ref(), max_tokens, reader, quietly };
    let explained = engine.explained_for(origin, about).await;
    let (engine, origin) = (engine.clone(), origin.clone());
    let (in_lines, id) = (payload.flag_at("lines"), payload.text_at("why").map(NodeId::new));
    aside(move || match in_lines {
        true => in_few(&engine.explained_lines(&explained, id.as_ref())),
        false => listed(&engine, &origin, &explained),
    })
    .await
}

/// Returns as many lines as are listed, and says how many more there are.
fn in_few(lines: &[String]) -> Plist {
    let left = lines.len().saturating_sub(MOST_CONSIDERED);
    let more = (left > 0).then(|| format!("{left} more are not listed"));
    Plist::new().texts("lines", lines.iter().take(MOST_CONSIDERED).cloned().chain(more))
}

fn listed(engine: &Engine, origin: &Origin, explained: &Explained) -> Plist {
    let sections =
        explained.sections.iter().map(|(name, tokens)| Sexp::list([Sexp::text(*name), Sexp::int(*tokens as i64)]));
    let left = explained.nodes.len().saturating_sub(MOST_CONSIDERED).saturating_add(explained.unnamed);
    let plist = Plist::new()
        .text("query", engine.mask(&explained.query))
        .maybe("focus", explained.focus.as_ref().filter(|_| origin.rights.see_private).map(|id| id.as_str()))
        .keyword("for", if explained.locality == Locality::Remote { "elsewhere" } else { "here" })
        .int("budget", explained.budget as i64)
        .int("share", explained.share as i64)
        .int("most", explained.most as i64);
    let plist = match &explained.asked {
        Ok(asked) => plist
            .text("provider", asked.name.as_str())
            .text("model", asked.model.as_str())
            .keyword("place", show::place(asked.locality))
            .text("factor", format!("{:.2}", asked.factor)),
        Err(why) => plist.text("why", exact(why)),
    };
    plist
        .list("sections", sections)
        .list("nodes", show::considered(explained, engine, origin.rights.see_private, MOST_CONSIDERED))
        .int("more", left as i64)
}
