//! MCP servers beside the loop: their tools are asked for at the start, and of those that broke again after a pause; and what
//! clients ask about them.

use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::engine::Engine;
use crate::edge::engine::servers::ListedServer;
use std::sync::Weak;
use std::time::Duration;

/// The least time between two looks at one that breaks.
const LEAST: Duration = Duration::from_millis(100);

/// Finds out which tools there are, until all servers said so or the engine ends.
pub(super) async fn follow(engine: Weak<Engine>) {
    loop {
        let Some(here) = engine.upgrade() else { return };
        let again = here.look_at_servers().await;
        drop(here);
        let Some(wait) = again else { return };
        tokio::time::sleep(wait.max(LEAST)).await;
    }
}

/// Returns all servers, for a client.
pub(super) fn list(engine: &Engine) -> Plist {
    Plist::new().list("servers", engine.servers().iter().map(server))
}

fn server(server: &ListedServer) -> Sexp {
    let tools =
        server.tools.iter().map(|(name, effect)| Plist::new().text("name", name).text("effect", *effect).build());
    Plist::new()
        .text("name", server.name.as_str())
        .text("place", exact(&server.place))
        .texts("command", server.command.iter().map(|word| exact(word)))
        .text("state", server.state)
        .maybe("why", server.why.as_deref().map(exact))
        .maybe("rule", server.rule.clone())
        .list("tools", tools)
        .texts("left", server.left.iter().map(|left| exact(left)))
        .int("refused", i64::try_from(server.refused).unwrap_or(i64::MAX))
        .build()
}
