//! What the user rules about clients: who is there, what is granted to one of them, and who is to go.
//!
//! Only an Emacs of the user's rules, and only about clients that a road of their own gives no rights. What is granted is
//! written down before it counts, and lasts as long as the connection; what is taken back counts at once.

use crate::domain::audit::Ruling;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::engine::Engine;
use crate::edge::runtime::Loop;
use crate::edge::runtime::clients::{Channel, ClientId, Clients, Grant, Kind};
use crate::edge::runtime::request::Request;
use std::sync::Arc;

/// A client that a request is about, and how often what was granted to it was taken back; or why there is none.
pub(super) type Found = Result<(Arc<Channel>, usize), String>;

/// Returns the client that a request is about.
fn named(registry: &Clients, payload: &Sexp) -> Result<Arc<Channel>, String> {
    let id = payload.count_at("client").and_then(|id| ClientId::try_from(id).ok());
    let gone = "there is no such client; it may have gone, so list them again";
    id.and_then(|id| registry.get(id)).ok_or_else(|| gone.to_string())
}

/// Returns whether a channel is one that rules about others.
fn rules(who: &Channel) -> Result<(), String> {
    match (who.kind, &who.doubt) {
        (Kind::Emacs, None) => Ok(()),
        (Kind::Emacs, Some(doubt)) => Err(format!(
            "clients are granted rights, and sent away, in an Emacs that is shown to be one, and this one is not: {doubt}"
        )),
        (Kind::Cli | Kind::Tui | Kind::Program(_), _) => {
            Err("clients are granted rights, and sent away, in Emacs alone: M-x passepartout-clients".to_string())
        }
    }
}

impl Loop {
    /// Returns the client of a request, and how often what was granted to it was taken back by now. It is found where the
    /// request comes in: one that is sent away may be gone before the request is answered.
    pub(super) fn found(&self, payload: &Sexp) -> Found {
        let client = named(&self.registry, payload)?;
        let withdrawn = client.withdrawn();
        Ok((client, withdrawn))
    }

    /// Does at once what takes something from a client: what it had set off is stopped.
    pub(super) fn tighten(&mut self, who: &Channel, request: Request, payload: &Sexp) {
        let tightens = matches!(request, Request::ClientWithdraw | Request::ClientEnd);
        let Some(client) = named(&self.registry, payload).ok().filter(|_| tightens && rules(who).is_ok()) else {
            return;
        };
        if client.withdraw().is_ok() {
            self.lanes.leave(client.id);
        }
        if request == Request::ClientEnd && client.kind.is_program() {
            client.dismiss();
        }
    }
}

/// Answers a request about clients.
pub(super) async fn answer(
    engine: &Engine,
    registry: &Clients,
    who: &Channel,
    (request, payload, found): (Request, &Sexp, Found),
) -> Result<Plist, String> {
    if request == Request::Clients {
        return Ok(Plist::new().list("clients", registry.all().iter().map(|client| row(client, who).build())));
    }
    rules(who)?;
    let (client, withdrawn) = found?;
    let name = &client.name;
    let said = match request {
        Request::ClientGrant => {
            let word = payload.name_at("grant").unwrap_or_default();
            let grant = Grant::parse(word).ok_or("what is granted is “private” or “approve”")?;
            client.may_be_granted(grant)?;
            let words = format!("{name} may {}", grant.words());
            engine.note_ruling(Ruling::Confirmed, &words, &who.name).await?;
            client.grant(grant, withdrawn)?;
            format!("{words}, as long as its connection lasts.")
        }
        Request::ClientEnd | Request::ClientWithdraw => {
            // It was done where the request came in.
            client.withdraw()?;
            engine.note_ruling(Ruling::Revoked, &format!("what was granted to {name}"), &who.name).await?;
            match request == Request::ClientEnd {
                true => format!("{name} was sent away."),
                false => format!("{name} only reads what is open, and proposes."),
            }
        }
        _ => return Err("there is no such request about clients".to_string()),
    };
    Ok(Plist::new().text("text", said))
}

/// Returns a client as it is told of.
fn row(client: &Channel, who: &Channel) -> Plist {
    let (about, rights) = (client.about(), client.rights());
    Plist::new()
        .int("id", client.id)
        .text("name", client.name.as_str())
        .keyword("kind", client.kind.name())
        .text("road", about.road)
        .text("since", crate::edge::clock::local(about.since).strftime("%Y-%m-%d %H:%M").to_string())
        .flag("private", rights.see_private)
        .flag("approve", rights.approve)
        .flag("shows-plans", about.shows_plans)
        .flag("ruled", client.kind.is_program())
        .flag("self", client.id == who.id)
        .maybe("doubt", client.doubt.clone())
}
