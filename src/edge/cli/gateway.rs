//! `passepartout gateway`: the messengers are listed, linked and unlinked. Who may write is decided in Emacs.

use crate::domain::gateway::Platform;
use crate::domain::inert::exact;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, Failure, USAGE};
use crate::edge::cli::session::{block_on, origin, owner, readable, say, with_engine};
use crate::edge::cli::terminal;
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::gateways::TOKEN;
use crate::edge::env_file::{LONGEST_KEY, key_in};
use crate::edge::peers::lineage::not_started_by_us;
use crate::edge::runtime::gateways;
use crate::edge::secret::Secret;
use clap::Subcommand;
use serde_json::json;
use std::io::{IsTerminal, Read, Write};

/// What to do with messengers.
#[derive(Subcommand, Debug)]
pub enum Gateways {
    /// List them: how each stands, who may write, and who wrote and may not.
    List {
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Take messages by one, at a terminal. Telegram's token is asked for where there is none, or read from a pipe.
    Link {
        /// Which: telegram or signal.
        platform: String,
        /// Ask for a token although there is one.
        #[arg(long)]
        new_token: bool,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Take messages by one no more; nobody is answered there.
    Unlink {
        /// Which: telegram or signal.
        platform: String,
        /// Where things are.
        #[command(flatten)]
        place: Place,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
}

/// Carries it out, by the process that owns the store where there is one.
///
/// # Errors
/// In words for the user.
pub(super) fn run_gateway(command: Gateways, out: &mut dyn Write) -> Result<u8, Failure> {
    match command {
        Gateways::List { place, json } => {
            let asked = block_on(async {
                let Some(mut owner) = owner(&place).await? else { return Ok(None) };
                owner.request("gateways", Plist::new()).await.map(Some)
            })?;
            match asked {
                Some(answer) => print(answer.list_at("gateways"), json, out),
                None => with_engine(&place, Keep::ToRead, async |engine| {
                    let listed = gateways::list(engine).await?.build();
                    print(listed.list_at("gateways"), json, out)
                }),
            }
        }
        Gateways::Link { platform, new_token, place, json } => {
            let platform = named(&platform)?;
            let takes_pipe = platform == Platform::Telegram;
            if !(std::io::stdout().is_terminal() && (takes_pipe || std::io::stdin().is_terminal())) {
                return Err("a messenger is linked in Emacs or at a terminal; this is neither".into());
            }
            not_started_by_us(std::process::id()).map_err(|why| format!("a messenger is linked by a human: {why}"))?;
            let token = token(&place, platform, new_token)?;
            rule(&place, platform, "link", token.as_ref(), json, out)
        }
        Gateways::Unlink { platform, place, json } => rule(&place, named(&platform)?, "unlink", None, json, out),
    }
}

/// Gets the token that is missing, or is to be another: typed unseen, or from a pipe; never as an argument.
fn token(place: &Place, platform: Platform, new: bool) -> Result<Option<Secret>, Failure> {
    if platform != Platform::Telegram {
        return if new { Err(format!("{} has no token", platform.name()).into()) } else { Ok(None) };
    }
    let piped = !std::io::stdin().is_terminal();
    if !(piped || new) && is_configured(place, platform)? {
        return Ok(None);
    }
    if std::env::var_os(TOKEN).is_some_and(|token| !token.is_empty()) {
        return Err(
            "TELEGRAM_BOT_TOKEN of the environment counts before a token that is stored; change it there".into()
        );
    }
    if !piped {
        let question = "Token of the bot, as BotFather tells it (it is not shown): ";
        let typed = terminal::unseen(&mut std::io::stderr(), question)?;
        return typed.map(Some).ok_or_else(|| "no token was typed; nothing was done".into());
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(LONGEST_KEY as u64).read_to_string(&mut text);
    read.map_err(|why| format!("the token cannot be read: {why}"))?;
    let key = key_in(&text).ok_or("there is no token in the first line of what was piped here")?;
    Ok(Some(Secret::new(key.to_string())))
}

/// Returns whether nothing is missing to link a messenger.
fn is_configured(place: &Place, platform: Platform) -> Result<bool, Failure> {
    let asked = block_on(async {
        let Some(mut owner) = owner(place).await? else { return Ok(None) };
        owner.request("gateways", Plist::new()).await.map(Some)
    })?;
    let is_it = |gateway: &Sexp| gateway.text_at("platform") == Some(platform.name()) && gateway.flag_at("configured");
    match asked {
        Some(answer) => Ok(answer.list_at("gateways").iter().any(is_it)),
        None => with_engine(place, Keep::ToRead, async |engine| {
            Ok(gateways::list(engine).await?.build().list_at("gateways").iter().any(is_it))
        }),
    }
}

fn named(platform: &str) -> Result<Platform, Failure> {
    Platform::parse(platform).ok_or_else(|| {
        let known = Platform::ALL.map(Platform::name).join(", ");
        Failure { text: format!("there is no messenger “{}”; there is {known}", exact(platform)), status: USAGE }
    })
}

fn rule(
    place: &Place,
    platform: Platform,
    what: &str,
    token: Option<&Secret>,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let asked = block_on(async {
        let Some(mut owner) = owner(place).await? else { return Ok(None) };
        let payload = Plist::new().text("platform", platform.name()).keyword("do", what);
        let payload = payload.maybe("token", token.map(Secret::expose));
        owner.request("gateway", payload).await.map(Some)
    })?;
    if let Some(answer) = asked {
        return say(answer.text_at("text").unwrap_or_default(), json, out);
    }
    let text = with_engine(place, Keep::OnDiskOnly, async |engine: &std::sync::Arc<Engine>| {
        if let Some(token) = token {
            engine.take_gateway_token(&origin(true), platform, token.expose()).await?;
        }
        let done = match what {
            // It was looked above who is at the terminal.
            "link" => engine.link_gateway(&origin(true), platform).await,
            _ => engine.unlink_gateway(&origin(false), platform).await,
        };
        let text = done?;
        engine.flush().await?;
        Ok(text)
    })?;
    let served = "it is served by an Emacs or a daemon that owns the store, and none runs now";
    say(&if what == "link" { format!("{text}; {served}") } else { text }, json, out)
}

fn print(gateways: &[Sexp], as_json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let people = |gateway: &Sexp, key: &str| gateway.list_at(key).to_vec();
    if as_json {
        let one = |gateway: &Sexp| {
            let who = |key: &str| -> Vec<_> {
                let one = |person: &Sexp| {
                    json!({"sender": person.text_at("sender"), "name": person.text_at("name"),
                           "paired": person.flag_at("paired"), "decides": person.flag_at("decides")})
                };
                people(gateway, key).iter().map(one).collect()
            };
            json!({
                "platform": gateway.text_at("platform"), "configured": gateway.flag_at("configured"),
                "linked": gateway.flag_at("linked"), "named": gateway.text_at("named"),
                "state": gateway.text_at("state"), "allowed": who("allowed"), "strangers": who("strangers"),
            })
        };
        writeln!(out, "{}", json!({ "gateways": gateways.iter().map(one).collect::<Vec<_>>() }))?;
        return Ok(DONE);
    }
    for gateway in gateways {
        let text = |key: &str| readable(gateway.text_at(key).unwrap_or_default());
        let linked = gateway.text_at("named").map(|name| format!(" as {}", readable(name))).unwrap_or_default();
        writeln!(out, "{:<11}  {}{linked}", text("platform"), text("state"))?;
        for (key, what) in [("allowed", "may write"), ("strangers", "wrote, and gets no answer")] {
            for person in people(gateway, key) {
                let text = |key: &str| readable(person.text_at(key).unwrap_or_default());
                let paired = if person.flag_at("paired") { ", and sent the code: let them in in Emacs" } else { "" };
                let decides = if person.flag_at("decides") { ", and decide about plans" } else { "" };
                writeln!(out, "             {} ({}) {what}{decides}{paired}", text("sender"), text("name"))?;
            }
        }
    }
    Ok(DONE)
}
