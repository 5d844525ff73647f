//! Messengers beside the loop: each is served as long as it is linked; and what clients ask about them.

use crate::domain::gateway::Platform;
use crate::domain::inert::exact;
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::engine::Engine;
use crate::edge::engine::gateways::ListedGateway;
use crate::edge::gateway::serve::Service;
use futures_util::future::{join_all, select_all};
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long after the store could not be read, or a messenger broke in our own code, that is tried again.
const PAUSE: Duration = Duration::from_secs(30);

/// Serves the messengers that are linked, as long as the engine lives.
pub async fn follow(engine: Weak<Engine>) {
    if load(&engine).await {
        let one = |platform| {
            let (serves, tells) = (engine.clone(), engine.clone());
            let broke = move || {
                let Some(here) = tells.upgrade() else { return };
                let again = format!("it broke inside, and is begun again in {} s", PAUSE.as_secs());
                here.note_gateway(platform, None, &again);
                here.say(LogLevel::Error, &format!("the gateway {}: {again}; please report that", platform.name()));
            };
            guarded(move || follow_one(serves.clone(), platform), PAUSE, broke)
        };
        join_all(Platform::ALL.map(one)).await;
    }
}

/// Does something as a task of its own, and begins it again behind a pause when it panics: what else there is goes on.
async fn guarded<F>(begin: impl Fn() -> F, pause: Duration, broke: impl Fn())
where
    F: Future<Output = ()> + Send + 'static,
{
    loop {
        // It ends with us.
        let mut task = JoinSet::new();
        task.spawn(begin());
        match task.join_next().await {
            Some(Err(error)) if error.is_panic() => broke(),
            Some(_) | None => return,
        }
        tokio::time::sleep(pause).await;
    }
}

/// Waits until the store was read; returns whether it was.
async fn load(engine: &Weak<Engine>) -> bool {
    let mut said = String::new();
    loop {
        let Some(here) = engine.upgrade() else { return false };
        let Err(why) = here.load_gateways().await else { return true };
        if why != said {
            here.say(LogLevel::Error, &format!("no messenger is served until the store can be read: {why}"));
            said = why;
        }
        let wakes = Platform::ALL.map(|platform| here.gateway_wake(platform));
        drop(here);
        let woken = select_all(wakes.iter().map(|wake| Box::pin(wake.notified())));
        tokio::select! { () = tokio::time::sleep(PAUSE) => {}, _ = woken => {} }
    }
}

/// Serves one messenger whenever it is linked. What becomes of another one interrupts nothing here.
async fn follow_one(engine: Weak<Engine>, platform: Platform) {
    let Some(wake) = engine.upgrade().map(|here| here.gateway_wake(platform)) else { return };
    let mut service: Option<Service> = None;
    loop {
        let Some(here) = engine.upgrade() else { return };
        let messenger = match here.gateway_is_linked(platform) {
            false => None,
            true => match here.messenger(platform) {
                Ok(messenger) => Some(messenger),
                Err(why) => {
                    here.say(LogLevel::Warning, &format!("the gateway {} is not served: {why}", platform.name()));
                    None
                }
            },
        };
        drop(here);
        service = match (service, messenger) {
            (Some(mut service), Some(messenger)) => {
                service.link(messenger);
                Some(service)
            }
            (None, Some(messenger)) => Some(Service::new(engine.clone(), messenger)),
            (_, None) => None,
        };
        let changed = match &mut service {
            Some(service) => service.run(&wake).await,
            None => false,
        };
        // Whatever ended it, only the user changes that.
        if !changed {
            wake.notified().await;
        }
    }
}

/// Returns all messengers, for a client.
///
/// # Errors
/// When the store cannot be read.
pub(in crate::edge) async fn list(engine: &Engine) -> Result<Plist, String> {
    engine.load_gateways().await?;
    Ok(Plist::new().list("gateways", engine.gateways().iter().map(gateway)))
}

fn gateway(gateway: &ListedGateway) -> Sexp {
    let sender = |sender: &str, name: &str| Plist::new().text("sender", exact(sender)).text("name", exact(name));
    let decides = |who: &String| gateway.deciders.contains(who);
    let allowed = gateway.allowed.iter().map(|(who, name)| sender(who, name).flag("decides", decides(who)).build());
    let strangers =
        gateway.strangers.iter().map(|(who, name, paired)| sender(who, name).flag("paired", *paired).build());
    Plist::new()
        .text("platform", gateway.platform.name())
        .flag("configured", gateway.configured)
        .flag("linked", gateway.linked)
        .maybe("named", gateway.named.as_deref().map(exact))
        .text("state", exact(&gateway.state))
        .list("allowed", allowed)
        .list("strangers", strangers)
        .build()
}

/// Does what the user wants done about a messenger.
pub(super) async fn rule(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let name = payload.text_at("platform").unwrap_or("");
    let platform = Platform::parse(name).ok_or_else(|| format!("there is no messenger “{}” here", exact(name)))?;
    let sender = payload.text_at("sender").unwrap_or("");
    let said = match payload.name_at("do") {
        Some("link") => {
            if let Some(token) = payload.text_at("token") {
                engine.take_gateway_token(origin, platform, token).await?;
            }
            engine.link_gateway(origin, platform).await?
        }
        Some("unlink") => engine.unlink_gateway(origin, platform).await?,
        Some("allow") => engine.allow_sender(origin, platform, sender).await?,
        Some("revoke") => engine.revoke_sender(origin, platform, sender).await?,
        Some("let-decide") => engine.let_decide(origin, platform, sender).await?,
        Some("decide-no-more") => engine.decide_no_more(origin, platform, sender).await?,
        Some("pair") => {
            let code = engine.pair_gateway(origin, platform).await?;
            return Ok(Plist::new().text("code", code));
        }
        Some(_) | None => {
            return Err(
                "a messenger is linked or unlinked, a sender paired, allowed or revoked, and may decide or not"
                    .to_string(),
            );
        }
    };
    Ok(Plist::new().text("text", exact(&said)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn what_panics_is_begun_again_and_holds_up_no_other() {
        let (begun, broke) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
        let (tell, told) = tokio::sync::oneshot::channel::<()>();
        let (tell, counted) = (parking_lot::Mutex::new(Some(tell)), begun.clone());
        let tell = Arc::new(tell);
        let panics = guarded(
            move || {
                let (count, tell) = (counted.fetch_add(1, Ordering::Relaxed), tell.clone());
                async move {
                    assert!(count >= 2, "a panic of the test, which is caught");
                    assert!(tell.lock().take().is_some_and(|tell| tell.send(()).is_ok()), "it is told once");
                }
            },
            Duration::ZERO,
            || {
                broke.fetch_add(1, Ordering::Relaxed);
            },
        );
        // The other one waits for the third time of the first, so it was there all along.
        let told = parking_lot::Mutex::new(Some(told));
        let other = guarded(
            || {
                let told = told.lock().take();
                async move { told.expect("it is begun once").await.expect("it is told") }
            },
            Duration::ZERO,
            || {},
        );
        futures_util::future::join(panics, other).await;
        assert_eq!((begun.load(Ordering::Relaxed), broke.load(Ordering::Relaxed)), (3, 2));
    }
}
