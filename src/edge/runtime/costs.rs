//! Answers about what calls of models cost.

use crate::domain::money::totals::Grouping;
use crate::domain::port::Usage;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::costs::{Overview, Row, since};

/// Returns the ledger by a grouping, with how much of each cap is used.
pub(super) async fn costs(engine: &Engine, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let word = payload.name_at("by").unwrap_or("day");
    let by = Grouping::parse(word).ok_or("costs are put together by day, heading, skill, provider or background")?;
    let since = payload.text_at("since").map(since).transpose()?;
    let session = payload.flag_at("here").then_some(origin.session.0.as_str());
    let Overview { by, since, rows, more, all, caps, notes } =
        engine.overview(by, since, session, origin.rights.see_private).await?;
    Ok(sums(Plist::new(), &Row { heading: None, label: "in all".to_string(), sum: all })
        .text("by", by.name())
        .maybe("since", since.map(|day| day.to_string()))
        .list("rows", rows.iter().map(|row| sums(Plist::new(), row).build()))
        .int("more", more as i64)
        .texts("caps", caps)
        .texts("notes", notes))
}

fn sums(plist: Plist, Row { heading, label, sum }: &Row) -> Plist {
    let Usage { input, output, cached, thinking: _ } = sum.usage;
    plist
        .maybe("id", heading.clone())
        .text("label", label.as_str())
        .int("calls", sum.calls as i64)
        .int("failed", sum.failed as i64)
        .int("tokens-in", input as i64)
        .int("tokens-cached", cached as i64)
        .int("tokens-out", output as i64)
        .text("cost", sum.words())
}
