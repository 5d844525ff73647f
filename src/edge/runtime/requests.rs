//! The client's requests and their answers: each is put together beside the loop.

use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::view::View;
use crate::domain::port::LogLevel;
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Origin;
use crate::edge::config::OrgSettings;
use crate::edge::engine::Engine;
use crate::edge::engine::cascade::Choice;
use crate::edge::engine::focus::Turnabout;
use crate::edge::engine::query::{Answer, Manner};
use crate::edge::identity;
use crate::edge::peers::greeting::PROTOCOL;
use crate::edge::runtime::clients::{ClientId, OWN, program_of};
use crate::edge::runtime::hall::Host;
use crate::edge::runtime::health::Health;
use crate::edge::runtime::reading::{ANOTHER, edit_plan, no_plan, plan_page, plan_token};
use crate::edge::runtime::request::Request;
use crate::edge::runtime::{Loop, costs, gateways, granted, jobs, models, past, servers, show, skills, status, told};
use crate::edge::thread::aside;
use crate::edge::token::ASTRAY;
use crate::edge::walk::canonical_name;
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// What is said of an answer that could not be put together.
const BROKE: &str = "answering this broke; the log says where";
/// What is said of a tool that another than the owner's Emacs declares.
const ELSEWHERE: &str = "tools of your own are those of the Emacs that owns the store, so those of this one are not used; \
                         they are when it owns the store";
/// How many plans can be asked for by name at once.
const NAMED: usize = 200;

/// A request of a client.
pub(super) struct Asked {
    pub(super) client: ClientId,
    pub(super) origin: Origin,
    pub(super) payload: Sexp,
    pub(super) seat: Option<OwnedSemaphorePermit>,
}

impl Loop {
    /// Takes a request. One about a place in a file waits until memory has the file's newest text.
    pub(super) fn asked(&mut self, asked: Asked) {
        if self.refuses(&asked) {
            return;
        }
        let place = match Request::read(&asked.payload) {
            Some(Request::Focus) => {
                self.look_where_it_is(asked.client);
                let point = self.clients.get(&asked.client).and_then(|client| client.point.as_ref());
                point.map(|(file, _)| file.clone())
            }
            Some(Request::Blame | Request::Endorse) => asked.payload.text_at("file").map(canonical_name),
            _ => None,
        };
        match place.filter(|file| self.scans.pending(file)) {
            Some(file) => self.held.push((file, asked)),
            None => self.request(asked),
        }
    }

    /// Takes what waited for a file whose newest text memory has now.
    pub(super) fn release(&mut self, file: &str) {
        let held = std::mem::take(&mut self.held);
        let (ready, held): (Vec<_>, Vec<_>) = held.into_iter().partition(|(of, _)| of == file);
        self.held = held;
        for (_, asked) in ready {
            self.request(asked);
        }
        self.rest();
    }

    /// Answers a request, beside the loop.
    fn request(&mut self, Asked { client: id, origin, payload, seat }: Asked) {
        let Some(client) = self.clients.get(&id) else { return };
        let who = client.channel.clone();
        let (engine, outbox, health) = (self.engine.clone(), client.channel.outbox.clone(), self.health.clone());
        let (session, busy) = (origin.session.0.clone(), self.lanes.busy(client.channel.id));
        let (focus, own) = (client.focus.clone(), client.channel.id == OWN);
        // What is asked for may be kept, shown to a model or printed.
        let astray = self.engine.shown_tokens.forget_typed(&payload.to_string());
        let request = Request::read(&payload);
        // It is answered at once, and its seat is taken until the memex was read.
        let seat = match request {
            Some(Request::Rescan) => {
                self.rescans.want(seat);
                None
            }
            Some(_) | None => seat,
        };
        // In the order in which the slices came, so here and not beside the loop.
        let edited = (request == Some(Request::EditPlan)).then(|| client.reading.lock().take_edit(&payload));
        // In order, too: what is asked behind a declaration already has the tool.
        let declared = matches!(request, Some(Request::DefineTool | Request::UndefineTool)).then(|| {
            let may = own && self.host == Host::Emacs;
            own_tool(&engine, may, &payload)
        });
        if let Some(request) = request {
            self.tighten(&who, request, &payload);
        }
        let (registry, found) = (self.registry.clone(), self.found(&payload));
        let Some(client) = self.clients.get(&id) else { return };
        let reading = client.reading.clone();
        let under_way = self.begin_answer();
        self.answers.spawn(async move {
            let action = payload.name_at("action").unwrap_or("").to_string();
            let answer = AssertUnwindSafe(async {
                if let Some(declared) = declared {
                    return declared;
                }
                let Some(request) = request else {
                    return Err(format!("there is no request “{}”", crate::domain::inert::exact(&action)));
                };
                match (request, edited) {
                    _ if astray => Err(format!("{ASTRAY}: {ANOTHER}")),
                    (Request::EditPlan, Some(edited)) => edit_plan(&engine, &origin, edited).await,
                    (Request::PlanPage, _) => plan_page(&engine, &reading, &payload),
                    (Request::PlanToken, _) => plan_token(&engine, &origin, &reading, &payload),
                    (Request::Clients | Request::ClientGrant | Request::ClientWithdraw | Request::ClientEnd, _) => {
                        granted::answer(&engine, &registry, &who, (request, &payload, found)).await
                    }
                    (Request::Command, _) => command(&engine, &origin, &payload).await,
                    (Request::Status, _) => {
                        let sees = origin.rights.see_private;
                        Ok(status::now(&engine, busy, health.word(), (focus.as_ref(), sees)).payload())
                    }
                    (Request::OrgSettings, _) if own => org_settings(&engine, &payload).await,
                    (Request::ProviderSettings, _) if own => {
                        // What is sent is read before the next message: the names say that it counts.
                        let names = engine.follow_providers(&payload);
                        Ok(Plist::new().texts("providers", names))
                    }
                    // Those of the owner's Emacs count: of the others' models none is asked, and memory is read by its
                    // settings, of which nothing is to be said.
                    (Request::ProviderSettings | Request::OrgSettings, _) => Ok(Plist::new()),
                    (Request::Undo | Request::Redo | Request::MemoryRewind, _) => {
                        past::preview(&engine, &reading, &origin, (request, &payload)).await
                    }
                    (Request::MemoryShow | Request::MemoryDiff | Request::Blame, _) => {
                        past::text(&engine, &reading, request, &payload).await
                    }
                    (Request::MemoryPage, _) => past::page(&engine, &reading, &payload),
                    (Request::MemoryDo, _) => past::carry_out(&engine, &reading, &origin, &payload).await,
                    _ => answer(&engine, &origin, request, &payload, &health).await,
                }
            });
            let broke = || Err(BROKE.to_string());
            let answer = answer.catch_unwind().await.unwrap_or_else(|_| broke());
            let answer = answer.unwrap_or_else(|why| Plist::new().text("error", why));
            let answer = match payload.int_at("request") {
                Some(number) => answer.int("request", number),
                None => answer,
            };
            let known = if action.is_empty() { "unknown" } else { &action };
            outbox.send("response", Some(&session), answer.keyword("action", known));
            drop((seat, under_way));
        });
    }
}

/// Declares a tool of the user's own, or takes it away. Only the Emacs that the core runs in may: what it declares is
/// called there.
fn own_tool(engine: &Engine, may: bool, payload: &Sexp) -> Result<Plist, String> {
    if !may {
        return Err(ELSEWHERE.to_string());
    }
    match Request::read(payload) {
        Some(Request::DefineTool) => engine.define_tool(payload),
        Some(_) | None => engine.undefine_tool(payload.text_at("name").unwrap_or("")),
    }
    .map(|text| Plist::new().text("text", text))
}

/// Takes Org's settings as they are now in the Emacs that the core runs in.
async fn org_settings(engine: &Arc<Engine>, payload: &Sexp) -> Result<Plist, String> {
    let (mut settings, mut notices) = (OrgSettings::default(), Vec::new());
    settings.take(payload, &mut notices);
    for notice in notices {
        engine.say(LogLevel::Warning, &notice);
    }
    let changed = engine.follow_org(settings).await?;
    Ok(Plist::new().maybe("text", changed.then_some("memory is read anew by Org's new settings")))
}

/// How many nodes one answer holds at most: a message stays small.
const MOST_HITS: usize = 1_000;

/// Returns how private the headings may be that a query finds, by what its answer is for. What the user only looks at
/// may be private, and so may what goes into a private note; everything else, and what says nothing, gets none of it.
fn clearance(engine: &Engine, payload: &Sexp) -> Privacy {
    match payload.name_at("for") {
        Some("screen") => Privacy::Private,
        Some("private-note") => {
            // As private as the client says, and as memory says, where it has the file.
            let told =
                payload.name_at("tier").map_or(Privacy::Private, |tier| Privacy::tier(tier).unwrap_or(Privacy::Open));
            note_privacy(engine, payload).map_or(told, |known| known.min(told))
        }
        Some(_) | None => Privacy::Open,
    }
}

/// Returns how private the place of a note is as memory knows it; `None` when memory does not have that file.
fn note_privacy(engine: &Engine, payload: &Sexp) -> Option<Privacy> {
    let view = engine.view();
    let file = canonical_name(payload.text_at("file")?);
    let card = view.card(&file)?;
    // A place that memory does not have yet is taken for an open one.
    let node = payload.count_at("byte").and_then(|byte| view.node(&file, card.at(byte)));
    Some(node.map_or(Privacy::Open, |node| node.privacy()))
}

/// Returns whether private headings fit a query, too, which an open note does not get. Its user is told so, the note not.
fn is_held_back(engine: &Engine, view: &View, text: &str, limit: Option<usize>, open: &Answer) -> bool {
    let all = engine.query(view, text, limit, Privacy::Private, Manner::Whole);
    all.is_ok_and(|all| {
        all.found.total.count() > open.found.total.count()
            || all.found.hits.iter().any(|hit| hit.node.privacy() != Privacy::Open)
    })
}

/// Answers a query.
fn query(engine: &Engine, sees_private: bool, payload: &Sexp) -> Plist {
    let text = payload.text_at("query").unwrap_or("");
    let limit = payload.count_at("limit").map(|limit| limit.clamp(1, MOST_HITS));
    let manner = if payload.flag_at("typing") { Manner::Typing } else { Manner::Whole };
    let clearance = if sees_private { clearance(engine, payload) } else { Privacy::Open };
    let view = engine.view();
    match engine.query(&view, text, limit, clearance, manner) {
        Ok(answer) => {
            let into_a_note = payload.name_at("for").is_some_and(|what| what.ends_with("note"));
            let held = into_a_note && clearance == Privacy::Open && is_held_back(engine, &view, text, limit, &answer);
            show::answer(&answer, engine, MOST_HITS).flag("held-back", held)
        }
        Err(error) => Plist::new()
            .text("error", error.to_string())
            .int("column", error.column as i64)
            .int("width", error.width as i64),
    }
}

/// Answers a request. An error is words for the user.
async fn answer(
    engine: &Arc<Engine>,
    origin: &Origin,
    request: Request,
    payload: &Sexp,
    health: &Health,
) -> Result<Plist, String> {
    let limit = payload.count_at("limit").unwrap_or(20).min(1_000);
    match request {
        Request::Hello => {
            let directories = engine.config.directories.iter().map(|path| path.to_string_lossy().into_owned());
            let hello = Plist::new().text("version", env!("CARGO_PKG_VERSION")).int("protocol", PROTOCOL);
            Ok(hello.texts("directories", directories))
        }
        Request::Plans => {
            let named: Vec<&str> = payload.list_at("ids").iter().filter_map(Sexp::as_text).take(NAMED).collect();
            let plans = match named.as_slice() {
                [] => show::newest(engine.plans(payload.flag_at("all"))),
                ids => ids.iter().filter_map(|id| engine.plan(id)).collect(),
            };
            let listed = Plist::new().list("plans", plans.iter().map(|plan| show::plan(plan).build()));
            Ok(listed.flag("decides", origin.rights.approve))
        }
        Request::PlanArgument => {
            let (id, name) = (payload.text_at("plan").unwrap_or(""), payload.text_at("name").unwrap_or(""));
            let from = payload.count_at("from").unwrap_or(0);
            // The hash of a long text is made while nobody waits for the plans.
            let text = engine.with_plan(id, |plan| show::plan_argument(plan, name)).ok_or_else(|| no_plan(id))??;
            let name = name.to_string();
            aside(move || show::argument_slice(&text, &name, from)).await
        }
        Request::Query => {
            // Reading texts may take a while, and nobody else's request waits for it.
            let (engine, payload, sees) = (engine.clone(), payload.clone(), origin.rights.see_private);
            tokio::task::spawn_blocking(move || query(&engine, sees, &payload)).await.map_err(|_| BROKE.to_string())
        }
        Request::Picture => {
            let named = payload.text_at("project").filter(|_| origin.rights.may_name_the_project());
            let (project, file) = (named, payload.text_at("file").unwrap_or(""));
            let seen = engine.picture(origin, project.map(Path::new), file).await.map_err(|why| exact(&why))?;
            Ok(show::picture(&seen))
        }
        Request::Trace => {
            let view = engine.view();
            let turns = engine.turns(limit).await?;
            Ok(Plist::new().list(
                "turns",
                turns.iter().map(|turn| show::turn(turn, &view).maybe("proposer", program_of(&turn.session.0)).build()),
            ))
        }
        Request::Why => {
            // What is named and cannot be read is never taken for nothing, which is the last decision.
            let number = payload.count_at("record").filter(|number| *number > 0).map(|number| number.to_string());
            let unread = |key: &&str| payload.flag_at(key) && payload.text_at(key).is_none();
            if payload.flag_at("record") && number.is_none() {
                return Err("a record of the audit is named by its number, from 1 on".to_string());
            }
            if let Some(key) = ["plan", "hash"].into_iter().find(unread) {
                return Err(format!("the {key} of a decision is a text"));
            }
            let named = payload.text_at("plan").or(payload.text_at("hash")).or(number.as_deref());
            Ok(Plist::new().text("text", crate::domain::inert::exact(&engine.why(named).await?)))
        }
        Request::Rules => {
            let reader = engine.clone();
            let (rules, gaps) = aside(move || (reader.rules(), reader.rule_gaps())).await;
            let rules = rules.into_iter().map(|rule| {
                Plist::new()
                    .text("id", rule.id)
                    .text("state", rule.state)
                    .text("text", crate::domain::inert::exact(&rule.text))
                    .build()
            });
            Ok(Plist::new().list("rules", rules).texts("gaps", gaps.iter().map(|gap| crate::domain::inert::exact(gap))))
        }
        Request::RuleConfirm => {
            let id = payload.text_at("rule").unwrap_or("");
            let finished = engine.propose_rule(origin, id, engine.new_turn()).await?;
            let text = finished.report.notice.unwrap_or_else(|| "It waits as a flight plan.".to_string());
            let text = crate::domain::inert::exact(&text);
            Ok(Plist::new().text("text", text).texts("plans", finished.report.plans.iter().map(|id| id.0.clone())))
        }
        Request::RuleWithdraw => {
            let said = engine.withdraw_rule(origin, payload.text_at("rule").unwrap_or("")).await?;
            Ok(Plist::new().text("text", crate::domain::inert::exact(&said)))
        }
        Request::Skills
        | Request::SkillShow
        | Request::SkillConfirm
        | Request::SkillTemplate
        | Request::SkillTest
        | Request::SkillReload
        | Request::SkillDisable
        | Request::SkillEnable => skills::answer(engine, origin, request, payload).await,
        Request::Jobs => Ok(jobs::list(engine).await),
        Request::Job => jobs::rule(engine, origin, payload).await,
        Request::Gateways => gateways::list(engine).await,
        Request::Gateway => gateways::rule(engine, origin, payload).await,
        Request::Servers => Ok(servers::list(engine)),
        Request::Log => {
            Ok(Plist::new().list("lines", engine.log_lines(limit).iter().map(|line| show::line(line).build())))
        }
        Request::Doctor | Request::DoctorFix => {
            if request == Request::DoctorFix {
                let (mender, check) = (engine.clone(), payload.name_at("check").unwrap_or("").to_string());
                for line in aside(move || crate::edge::doctor::fix(&mender, &check)).await {
                    engine.say(LogLevel::Info, &line);
                }
            }
            let asks = payload.flag_at("providers").then_some(origin);
            let mut checks = crate::edge::doctor::examine(engine, asks).await;
            if payload.flag_at("gates") {
                checks.extend(crate::edge::canaries::try_all(engine).await);
            }
            let verdict = crate::edge::doctor::verdict(&checks).name();
            let answer = Plist::new().list("checks", checks.iter().map(show::check)).text("verdict", verdict);
            health.take(checks);
            engine.tell_status();
            Ok(answer)
        }
        Request::Focus => {
            let to = Turnabout::parse(payload.text_at("line").unwrap_or("focus"));
            let to = to.ok_or("a focus is moved by focus, unfocus, scope or set")?;
            Ok(Plist::new().text("text", engine.move_focus(origin, to).await?))
        }
        Request::Context => Ok(told::context(engine, origin, payload).await),
        Request::Inspect => told::inspect(engine, origin, payload).await,
        Request::ContextPin => told::pin(engine, origin, payload).await,
        Request::Models => Ok(models::standings(engine).await),
        Request::Preset => models::preset(engine, origin, payload).await,
        Request::ModelList => models::list(engine, origin, payload).await,
        Request::KeyTest => models::key_test(engine, origin, payload).await,
        Request::CassetteRecord => {
            let path = payload.text_at("file").ok_or("a cassette has a file")?;
            Ok(Plist::new().text("text", engine.record_cassette(origin, Path::new(path))?))
        }
        Request::CassetteStop => Ok(Plist::new().text("text", engine.stop_cassette(origin)?)),
        Request::Costs => costs::costs(engine, origin, payload).await,
        Request::SettingUndo => {
            let said = engine.propose_setting_undo(origin, payload.text_at("change")).await;
            Ok(Plist::new().text("text", said))
        }
        Request::SetCascade => {
            let names: Vec<String> =
                payload.list_at("cascade").iter().filter_map(Sexp::as_name).map(str::to_string).collect();
            let choice = match payload.flag_at("usual") {
                true => Choice::Usual,
                false => Choice::These { names, keep: payload.flag_at("keep") },
            };
            Ok(Plist::new().text("text", engine.set_cascade(origin, choice).await?))
        }
        Request::Identity => {
            let file = identity::path(&engine.config.settings);
            let shipped = !file.exists();
            let answer = Plist::new().text("file", file.to_string_lossy().into_owned());
            Ok(answer.maybe("text", shipped.then_some(identity::SHIPPED)))
        }
        Request::Endorse => {
            let what = match (payload.text_at("id"), payload.text_at("file"), payload.count_at("byte")) {
                (Some(id), ..) => id.to_string(),
                (None, Some(file), byte) => node_at(engine, file, byte),
                (None, None, _) => String::new(),
            };
            Ok(Plist::new().text("text", engine.endorse(origin, &what).await?))
        }
        Request::ToolCall => tool_call(engine, origin, payload).await,
        Request::MemoryLog => past::log(engine, payload.count_at("limit").unwrap_or(100).min(10_000)).await,
        Request::Rescan => Ok(Plist::new().text("text", "The memex is being read again.")),
        Request::HealthCheck => Ok(health.answer()),
        // Those are answered where they came in.
        Request::Status
        | Request::Clients
        | Request::ClientGrant
        | Request::ClientWithdraw
        | Request::ClientEnd
        | Request::MemoryShow
        | Request::MemoryDiff
        | Request::Blame
        | Request::PlanPage
        | Request::PlanToken
        | Request::EditPlan
        | Request::MemoryPage
        | Request::MemoryRewind
        | Request::MemoryDo
        | Request::Undo
        | Request::Redo
        | Request::Command
        | Request::OrgSettings
        | Request::ProviderSettings
        | Request::DefineTool
        | Request::UndefineTool => Err(BROKE.to_string()),
    }
}

/// Returns the id of the heading at a byte of a file, or the file's name.
fn node_at(engine: &Engine, file: &str, byte: Option<usize>) -> String {
    let (view, file) = (engine.view(), canonical_name(file));
    let found = byte.and_then(|byte| view.node(&file, view.card(&file)?.at(byte)));
    found.map_or(file, |node| node.id().to_string())
}

/// Carries out what another agent asks for, with less rights than the channel may have.
async fn tool_call(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let text = |key: &str| payload.text_at(key).unwrap_or_default();
    let args = serde_json::from_str(text("arguments")).map_err(|_| "the arguments of a call are a JSON object")?;
    let lent = engine.lend(origin, text("name"), text("tool"), args).await;
    Ok(Plist::new().text("text", lent.text).texts("plans", lent.plans).flag("failed", lent.failed))
}

/// Carries out a command of the command line that writes, as the process that owns the store.
async fn command(engine: &Arc<Engine>, origin: &Origin, payload: &Sexp) -> Result<Plist, String> {
    let words: Vec<String> = payload.list_at("words").iter().filter_map(Sexp::as_text).map(str::to_string).collect();
    let ran = crate::edge::cli::forward::at_owner(engine, origin, words).await?;
    Ok(Plist::new().text("text", ran.text).text("errors", ran.errors).int("status", i64::from(ran.status)))
}
