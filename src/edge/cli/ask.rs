//! `passepartout ask`: a question, answered here or by the process that owns the store.

use crate::domain::id::{ActionHash, TurnId};
use crate::domain::inert::exact;
use crate::domain::port::Streamed;
use crate::domain::turn::Ending;
use crate::domain::turn::consensus::{Mode, Other};
use crate::domain::turn::error::Fault;
use crate::edge::cli::args::Place;
use crate::edge::cli::doing;
use crate::edge::cli::forward::{AGAIN, Met, NOTHING_BEGUN, TRIES, Turned, new_name};
use crate::edge::cli::handed::{ended, hearing, task, worse};
use crate::edge::cli::plans;
use crate::edge::cli::run::{DONE, FAILED, Failure, PENDING, USAGE};
use crate::edge::cli::session::{
    block_on, blocking, complaining_by, engine, met, options, origin, readable, somewhere, with_engine_that_tells,
};
use crate::edge::engine::Engine;
use crate::edge::engine::boot::Keep;
use crate::edge::engine::delegation::Reported;
use crate::edge::engine::once::Once;
use crate::edge::engine::record::Finished;
use crate::edge::engine::turns::{Ask, Decided, PictureSource};
use crate::edge::plan_text;
use crate::edge::stderr::complain;
use crate::edge::store::owner_of;
use parking_lot::Mutex;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Longer questions are refused, as they are in a chat.
const LONGEST_QUESTION: u64 = 1 << 20;

/// Returns what is asked: the words, or what is piped in when there are none or only “-”.
pub(super) fn question(command: &str, words: &[String]) -> Result<String, Failure> {
    use std::io::{IsTerminal, Read};
    let usage = |text: &str| Failure {
        text: format!("{text}\nUsage: passepartout {command} TEXT, or pipe the question in"),
        status: USAGE,
    };
    let piped = match words {
        [] => !std::io::stdin().is_terminal(),
        [only] => only == "-",
        _ => false,
    };
    let mut text = words.join(" ");
    if piped {
        text.clear();
        let mut input = std::io::stdin().lock().take(LONGEST_QUESTION + 1);
        input.read_to_string(&mut text).map_err(|error| usage(&format!("the question cannot be read: {error}")))?;
        if text.len() as u64 > LONGEST_QUESTION {
            return Err(usage("the question is longer than 1 MB; put it into a file and name the file"));
        }
    }
    if text.trim().is_empty() { Err(usage("there is no question")) } else { Ok(text) }
}

/// Returns a question as it is typed to ask several models at once.
pub(super) fn of_several(text: String, several: Option<(Mode, u8)>) -> String {
    several.map(|(mode, count)| format!("/{} {count} {text}", mode.name())).unwrap_or(text)
}

/// How long an owner that is about to end is waited for, again and again: it lets what others asked for come to an end.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);

/// How something is asked.
#[derive(Clone, Debug, Default)]
pub(super) struct Manner {
    /// The answer is printed as one JSON object.
    pub json: bool,
    /// The preset of the conversation.
    pub preset: Option<String>,
    /// Only the answer is printed; what else is to be said goes to standard error.
    pub bare: bool,
    /// The files of pictures that go along, by their whole names.
    pub pictures: Vec<String>,
}

/// Returns files by their whole names: who owns the store may stand in another folder.
pub(super) fn whole(files: Vec<PathBuf>) -> Vec<String> {
    let whole = |file: PathBuf| std::path::absolute(&file).unwrap_or(file).to_string_lossy().into_owned();
    files.into_iter().map(whole).collect()
}

pub(super) fn ask(text: String, place: &Place, manner: &Manner, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let (mut begun, once) = (Instant::now(), new_name());
    let mut lost = 0;
    loop {
        let beside = match by_owner((&text, once.as_deref()), place, manner, out)? {
            Asked::Done(status) => return Ok(status),
            Asked::Lost(_) if once.is_some() && lost + 1 < TRIES => {
                complain(AGAIN);
                (begun, lost) = (Instant::now(), lost + 1);
                continue;
            }
            Asked::Lost(why) => return Err(why),
            Asked::Again(_) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Asked::Again(why) => return Err(why.into()),
            Asked::Closed => true,
            // Another command may own the store by now: it is joined then.
            Asked::Nobody => begun.elapsed() >= PATIENCE,
        };
        let once = once.as_deref().filter(|_| lost > 0);
        if let Some(status) = here((&text, once), place, &Tape::None, beside, manner, out)? {
            return Ok(status);
        }
    }
}

/// What a question has to do with a cassette.
pub(super) enum Tape {
    /// Nothing.
    None,
    /// It is recorded in this new file.
    Record(PathBuf),
    /// It is answered from this file alone.
    Play(PathBuf),
}

/// Asks in this process, with a cassette.
///
/// # Errors
/// In words for the user.
pub(super) fn ask_taped(
    text: &str,
    place: &Place,
    tape: &Tape,
    json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    somewhere(place)?;
    here((text, None), place, tape, true, &Manner { json, ..Manner::default() }, out)
        .map(|status| status.unwrap_or(FAILED))
}

/// How long nothing is tried in between.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// What became of a question at the process that owns the store.
enum Asked {
    /// It was answered, or came to another end; with the exit status.
    Done(u8),
    /// It was not begun, and why: the owner is about to end.
    Again(String),
    /// The owner ended, and what became of it is not known.
    Lost(Failure),
    /// Who owns the store has other notes or cannot be joined.
    Closed,
    /// Nobody owns the store.
    Nobody,
}

/// Has a question answered by the process that owns the store.
fn by_owner(
    (text, once): (&str, Option<&str>),
    place: &Place,
    manner: &Manner,
    out: &mut dyn Write,
) -> Result<Asked, Failure> {
    block_on(async {
        let mut owner = match met(place).await? {
            Met::Owner(owner) => owner,
            Met::Closed => return Ok(Asked::Closed),
            Met::Nobody => return Ok(Asked::Nobody),
        };
        let project = place.project.clone().or_else(|| std::env::current_dir().ok());
        let project = project.map(|path| std::path::absolute(&path).unwrap_or(path));
        if text.trim_start().starts_with('/') {
            let engine = engine(place, Keep::ToRead).await?;
            if let Some((id, decided)) = engine.typed_decision(text) {
                return Err(elsewhere(id, &decided));
            }
            engine.close().await;
        }
        if let Some(name) = &manner.preset {
            match owner.choose_preset(name).await {
                Err(_) if owner.is_gone() => return Ok(Asked::Again(NOTHING_BEGUN.to_string())),
                chosen => chosen?,
            }
        }
        let turned = match owner.ask(text, project.as_deref(), once, &manner.pictures).await {
            Err(why) if owner.is_gone() => return Ok(Asked::Lost(why)),
            turned => turned?,
        };
        if turned.again {
            return Ok(Asked::Again(turned.notice.unwrap_or(turned.text)));
        }
        if turned.before {
            return Err(turned.notice.unwrap_or(turned.text).into());
        }
        let (mut status, mut left, mut tasks) = (DONE, turned.tasks, Vec::new());
        let mut asked = Some(turned);
        if !manner.json {
            let way = Way { bare: manner.bare, ..Way::default() };
            status = print_turned(asked.take(), place, way, out).await?;
        }
        while left > 0 {
            let report = owner.report().await?;
            left = report.tasks;
            status = worse(status, report.printed(place, manner, &mut tasks, out).await?);
        }
        if manner.json {
            let way = Way { json: true, kept: true, tasks, bare: false };
            status = worse(status, print_turned(asked, place, way, out).await?);
        }
        Ok(Asked::Done(status))
    })
}

impl Turned {
    /// Prints what came of a task that was handed over, or takes note of it for the JSON object; returns the exit status
    /// that goes with it.
    ///
    /// # Errors
    /// When it cannot be read or printed.
    pub(super) async fn printed(
        self,
        place: &Place,
        manner: &Manner,
        tasks: &mut Vec<serde_json::Value>,
        out: &mut dyn Write,
    ) -> Result<u8, Failure> {
        // What waits is told as an answer, and goes on with the conversation of the task.
        let ending = if self.plans.is_empty() { self.status.as_str() } else { Ending::Parked.name() };
        let status = ended(ending);
        if manner.json {
            tasks.push(task(ending, &self.text, &self.plans));
            return Ok(status);
        }
        writeln!(out)?;
        let way = Way { bare: manner.bare, ..Way::default() };
        Ok(worse(status, print_turned(Some(self), place, way, out).await?))
    }
}

/// How a turn is printed.
#[derive(Default)]
pub(super) struct Way {
    /// As one JSON object.
    pub json: bool,
    /// Only the answer; what else is to be said goes to standard error.
    pub bare: bool,
    /// Records of it are kept: what was refused in it can be asked about.
    pub kept: bool,
    /// What came of tasks that it handed over, for the JSON object.
    pub tasks: Vec<serde_json::Value>,
}

/// Lines that wait until it is known whether they are worth printing.
#[derive(Clone, Default)]
struct Held(Arc<Mutex<Option<Vec<String>>>>);

impl Held {
    fn hold(&self) {
        *self.0.lock() = Some(Vec::new());
    }

    fn tell(&self, line: String) {
        match self.0.lock().as_mut() {
            Some(lines) => lines.push(line),
            None => complain(&line),
        }
    }

    fn release(&self) {
        self.0.lock().take().into_iter().flatten().for_each(|line| complain(&line));
    }
}

/// Answers a question in this process; nothing when another one owns the store by now and `beside` is not set. One with
/// a name was asked of another process before, which ended.
fn here(
    (text, once): (&str, Option<&str>),
    place: &Place,
    tape: &Tape,
    beside: bool,
    manner: &Manner,
    out: &mut dyn Write,
) -> Result<Option<u8>, Failure> {
    let held = Held::default();
    let (told, (tell, mut reports)) = (held.clone(), mpsc::unbounded_channel());
    let notify = hearing(complaining_by(move |line| told.tell(line)), tell);
    with_engine_that_tells(place, Keep::Along, notify, async |engine| {
        if let Some(why) = engine.beside() {
            if !beside {
                return Ok(None);
            }
            complain(&format!("warning: {}", exact(why)));
            held.hold();
        }
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        if let Some((id, decided)) = engine.typed_decision(text) {
            return Err(elsewhere(id, &decided));
        }
        match tape {
            Tape::None => {}
            Tape::Record(path) => complain(&readable(&engine.record_cassette(&origin(true), path)?)),
            Tape::Play(path) => engine.play_cassette(path)?,
        }
        if let Some(name) = &manner.preset {
            engine.set_preset(&origin(false), name).await?;
        }
        let folder = std::env::current_dir().ok();
        let ask = Ask {
            origin: origin(false),
            text: text.to_string(),
            history: Vec::new(),
            older: Default::default(),
            folder,
            attached: Vec::new(),
            pictures: manner.pictures.iter().cloned().map(PictureSource::File).collect(),
            wishes: Default::default(),
        };
        let own = ask.origin.session.clone();
        if matches!(tape, Tape::None) && engine.beside().is_none() {
            engine.stay_for(&own);
        }
        let turn = engine.new_turn();
        if let Some(before) = asked_before(engine, once, &turn).await? {
            return Err(before);
        }
        let mut answer = String::new();
        let mut hear = |piece: Streamed<'_>| {
            doing::heard(piece);
            answer.push_str(piece.text());
        };
        let finished = engine.ask(ask, turn, &mut hear).await;
        doing::over();
        engine.flush().await?;
        if let Tape::Record(_) = tape {
            complain(&readable(&engine.stop_cassette(&origin(true))?));
        }
        // The store named its owner, as it does to whoever wants something kept beside it.
        let refused = |fault: &Fault| matches!(fault, Fault::Pipeline(why) if why.contains(" is in use by "));
        if engine.beside().is_some() && finished.report.fault.as_ref().is_some_and(refused) {
            return Err(not_beside(owner_of(&engine.config.store)));
        }
        held.release();
        let kept = engine.beside().is_none();
        let mut status = DONE;
        if !manner.json {
            let way = Way { kept, bare: manner.bare, ..Way::default() };
            status = print_turn(engine, &finished, &answer, place, way, out)?;
            out.flush()?;
        }
        let (later, tasks) = told_later(engine, &mut reports, (place, manner, kept), out).await?;
        status = worse(status, later);
        if manner.json {
            let way = Way { json: true, kept, tasks, bare: false };
            status = worse(status, print_turn(engine, &finished, &answer, place, way, out)?);
        }
        // An answer from nothing is no answer.
        Ok(Some(if engine.view().is_empty() { FAILED } else { status }))
    })
}

/// Waits for what comes of tasks that this process handed over, and prints it, or returns it for the JSON object; with
/// the exit status that goes with it.
///
/// # Errors
/// When it cannot be kept or printed.
pub(super) async fn told_later(
    engine: &Arc<Engine>,
    reports: &mut mpsc::UnboundedReceiver<Reported>,
    (place, manner, kept): (&Place, &Manner, bool),
    out: &mut dyn Write,
) -> Result<(u8, Vec<serde_json::Value>), Failure> {
    let (own, mut status, mut tasks) = (origin(false).session, DONE, Vec::new());
    while engine.untold_tasks(&own) > 0 {
        let Some(reported) = reports.recv().await else { break };
        engine.note_told(&own);
        let ending = reported.finished.report.ending.name();
        let told = engine.keep_told(reported.told(&engine.new_turn())).await;
        engine.flush().await?;
        let text = told.report.text.clone();
        status = worse(status, ended(ending));
        if manner.json {
            let plans: Vec<String> = told.report.plans.iter().map(|plan| plan.0.clone()).collect();
            tasks.push(task(ending, &text, &plans));
        } else {
            writeln!(out)?;
            let way = Way { kept, bare: manner.bare, ..Way::default() };
            status = worse(status, print_turn(engine, &told, &text, place, way, out)?);
            out.flush()?;
        }
    }
    Ok((status, tasks))
}

/// Takes note that a question with a name is asked here; says what became of it when it was asked before.
///
/// # Errors
/// When that cannot be known.
pub(super) async fn asked_before(
    engine: &Engine,
    once: Option<&str>,
    turn: &TurnId,
) -> Result<Option<Failure>, Failure> {
    let Some(once) = once.map(Once::read).transpose()? else { return Ok(None) };
    let before = engine.ask_once(&once, turn).await?;
    Ok(before.map(|before| Failure::from(format!("{before}."))))
}

/// Says that what was asked for needs the store, which another process owns.
pub(super) fn not_beside(owner: Option<String>) -> Failure {
    let owner = owner.unwrap_or_else(|| "another process".to_string());
    let text = format!(
        "nothing was done: what you asked for changes something, and that must be kept in the store, which {owner} uses just now\n\
         Ask again when that process has ended, or do this there"
    );
    Failure { text, status: FAILED }
}

/// Says where a plan is decided about that was named in a question: here it would be done without having been shown.
pub(super) fn elsewhere(id: &str, decided: &Decided) -> Failure {
    let (verb, why) = match decided {
        Decided::Approve { .. } => ("approve", "a plan is approved where it is shown"),
        Decided::Deny { .. } | Decided::Stop { .. } => ("deny", "a plan is not decided about in a question"),
    };
    let id = if id.is_empty() { "PLAN".to_string() } else { crate::domain::inert::exact(id) };
    Failure { text: format!("{why}; use: passepartout plans {verb} {id}"), status: USAGE }
}

/// Prints a turn that the owner of the store has carried out, from what it has stored.
pub(super) async fn print_turned(
    turned: Option<Turned>,
    place: &Place,
    way: Way,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let Some(turned) = turned else { return Ok(DONE) };
    let engine = engine(place, Keep::ToRead).await?;
    let finished = engine.turns(200).await?.into_iter().find(|finished| finished.turn.0 == turned.turn);
    let status = match finished {
        Some(mut finished) => {
            // Answers beside the one are in no record.
            finished.report.others = turned.others;
            print_turn(&engine, &finished, &turned.text, place, Way { kept: true, ..way }, out)
        }
        // An answer of few words that is in no trace, such as that to /plans.
        None if turned.answered => {
            let said = [turned.text.trim_end(), turned.notice.as_deref().unwrap_or_default()];
            if way.json {
                let all =
                    serde_json::json!({ "status": Ending::Answered.name(), "text": said[0], "notice": turned.notice });
                writeln!(out, "{all}")?;
            } else {
                let [answer, notice] = said;
                // Words of ours are the answer where there is no other.
                let beside = way.bare && !answer.is_empty();
                if !answer.is_empty() {
                    writeln!(out, "{}", readable(answer))?;
                }
                match (notice.is_empty(), beside) {
                    (true, _) => {}
                    (false, true) => complain(&readable(notice)),
                    (false, false) => writeln!(out, "{}", readable(notice))?,
                }
            }
            Ok(DONE)
        }
        // It did not count, and says why.
        None => Err(Failure::from(turned.notice.unwrap_or(turned.text))),
    };
    engine.close().await;
    status
}

/// Says with which command a refusal is explained.
fn why(action: ActionHash, place: &Place) -> String {
    let short: String = action.to_hex().chars().take(SHORT).collect();
    format!(" (passepartout why {short}{})", options(place))
}

/// So many digits of an action's hash name it.
const SHORT: usize = 12;

fn other(other: &Other) -> serde_json::Value {
    serde_json::json!({ "provider": other.provider, "model": other.model, "text": other.text })
}

/// Prints a turn; what was refused in it can be asked about when records of it are kept.
pub(super) fn print_turn(
    engine: &Engine,
    finished: &Finished,
    answer: &str,
    place: &Place,
    way: Way,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let report = &finished.report;
    let status = match report.ending {
        Ending::Answered => DONE,
        Ending::Parked => PENDING,
        Ending::Interrupted | Ending::Failed => FAILED,
    };
    let plans: Vec<_> = report.plans.iter().filter_map(|id| engine.plan(&id.0)).collect();
    let refused = engine.refusals(report);
    let kept = way.kept;
    if way.json {
        let refused = refused
            .iter()
            .map(|told| serde_json::json!({ "text": told.text, "action": told.action.map(|action| action.to_hex()) }));
        let all = serde_json::json!({
            "status": report.ending.name(), "text": answer, "notice": report.notice,
            "others": report.others.iter().map(other).collect::<Vec<_>>(),
            "sources": report.sources.iter().map(|id| id.as_str()).collect::<Vec<_>>(),
            "plans": plans.iter().map(plans::json).collect::<Vec<_>>(),
            "refused": refused.collect::<Vec<_>>(), "tasks": way.tasks, "turn": crate::edge::engine::record::turn(finished),
        });
        writeln!(out, "{all}")?;
        return Ok(status);
    }
    if !answer.trim().is_empty() {
        writeln!(out, "{}", readable(answer.trim_end()))?;
    }
    let mut errors = std::io::stderr();
    let out: &mut dyn Write = if way.bare { &mut errors } else { out };
    for Other { provider, model, text, .. } in &report.others {
        writeln!(
            out,
            "\nAnother answer, of {} ({}):\n{}\n",
            readable(model),
            readable(provider),
            readable(text.trim())
        )?;
    }
    if let Some(notice) = &report.notice {
        writeln!(out, "{}", readable(notice))?;
    }
    for told in &refused {
        let ask = told.action.filter(|_| kept).map(|action| why(action, place)).unwrap_or_default();
        writeln!(out, "Refused: {}{ask}", readable(&told.text))?;
    }
    for plan in &plans {
        writeln!(out, "\n{}", plan_text::whole(plan))?;
        writeln!(out, "It waits. Approve it with: passepartout plans approve {}{}", plan.id, options(place))?;
    }
    Ok(status)
}
