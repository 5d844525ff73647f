//! Keeps the Lisp workers: one confined Emacs for each owner, spoken to in lines, started anew whenever one breaks.

mod base64;

use crate::domain::id::SessionId;
use crate::domain::label::{Privacy, Trust};
use crate::domain::sexp::reader::Sexp;
use crate::edge::sandbox::{Alive, Launcher, Said, SandboxError, Walls, keep};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What every worker runs. It is the same each time, and nothing of it comes from a model.
const LOOP: &str = include_str!("worker/loop.el");
/// Folders of the system that the launcher shows; an Emacs elsewhere is not started.
const SYSTEM: &[&str] = &["/usr", "/bin", "/nix/store", "/gnu/store"];
/// Where the system's Emacs is looked for.
const PLACES: &[&str] = &[
    "/usr/bin/emacs",
    "/usr/local/bin/emacs",
    "/bin/emacs",
    "/usr/bin/emacs-nox",
    "/run/current-system/sw/bin/emacs",
    "/run/current-system/profile/bin/emacs",
];
/// What a worker is asked after each call, and what one answers that is still whole.
const PROOF: (&str, &str) = ("(+ 40 2)", "42");
/// How long one may take to start that a program asks.
const BOOT: Duration = Duration::from_secs(5);
/// How long it may take over that. It takes less than a millisecond.
const PROVING: Duration = Duration::from_secs(2);
/// Most bytes that one worker may say in answer to one call.
const MOST_SAID: usize = 4 << 20;

/// Whom a worker belongs to. What one keeps in its worker, no other sees.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A conversation.
    Session(SessionId),
    /// A skill, by its name.
    Skill(String),
    /// Whoever tries the Lisp of skills out before it counts; one after the other.
    Spare,
    /// The doctor, who looks whether there can be one.
    Probe,
}

/// How much workers may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLimits {
    /// How long one call may take.
    pub call: Duration,
    /// How long a worker that nobody calls stays.
    pub idle: Duration,
    /// Most workers that are alive at once, of skills and of all others; the one that was called longest ago ends for
    /// another of its kind.
    pub alive: usize,
    /// Bytes of memory of one worker.
    pub memory: u64,
    /// Most characters of each text that is given back.
    pub characters: usize,
}

impl WorkerLimits {
    /// 30 seconds a call, five minutes idle, four alive, 512 MiB each, 100,000 characters.
    pub const USUAL: WorkerLimits = WorkerLimits {
        call: Duration::from_secs(30),
        idle: Duration::from_secs(300),
        alive: 4,
        memory: 512 << 20,
        characters: 100_000,
    };
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluated {
    /// With this value, printed.
    Value(String),
    /// With this error, in Emacs's words.
    Error(String),
    /// It took too long; the worker was ended, and with it what it kept.
    TimedOut,
    /// The worker ended by itself, or grew beyond its limits; with it went what it kept.
    Gone,
    /// The worker answered what no worker answers and was ended, and with it what it kept.
    Broken,
}

/// What is known of what a worker was told: of one call, or of all since it started. What it keeps may be made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// How private the strictest of it is.
    pub privacy: Privacy,
    /// How far the least of it is trusted.
    pub trust: Trust,
    /// Where text from outside came from that led to it, in the user's words; of very many not all are named.
    pub sources: BTreeSet<String>,
}

/// How many sources are named.
const SOURCES: usize = 32;

impl Told {
    /// Returns what is known of code of the user's own, which nothing from outside led to.
    pub fn own(privacy: Privacy) -> Told {
        Told { privacy, trust: Trust::Own, sources: BTreeSet::new() }
    }

    /// Returns whether who was told this may answer for who is told that: nothing more private and nothing less trusted is
    /// among what it may remember.
    fn suits(&self, next: &Told) -> bool {
        self.privacy <= next.privacy && self.trust >= next.trust
    }

    /// Returns what is known of both: the strictest and the least trusted.
    pub fn join(mut self, other: &Told) -> Told {
        let room = SOURCES.saturating_sub(self.sources.len());
        let more: Vec<String> = other.sources.difference(&self.sources).take(room).cloned().collect();
        self.sources.extend(more);
        Told { privacy: self.privacy.max(other.privacy), trust: self.trust.min(other.trust), sources: self.sources }
    }
}

/// What a call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it ended.
    pub ended: Evaluated,
    /// What it printed: by `princ` and its like, then what went past that to standard output, then messages.
    pub printed: String,
    /// Whether the worker lives on, with what the code defined and set. One whose Emacs the code has changed, or in which
    /// it left something running, is ended: it would answer the next call wrongly.
    pub kept: bool,
    /// What is known of all that this worker was told since it started.
    pub told: Told,
}

/// Returns where an Emacs is that lies in a folder of the system, or what is missing.
pub type Finder = Arc<dyn Fn() -> Result<PathBuf, String> + Send + Sync>;

/// What a worker said in answer to a call.
struct Heard {
    /// `None` when it was none, or there were too many bytes.
    reply: Option<Reply>,
    /// What stood before the reply on standard output.
    stray: Vec<u8>,
    errors: Vec<u8>,
}

impl Heard {
    /// Returns what was said beside the reply, each part on a line of its own.
    fn beside(&self) -> String {
        let texts = [&self.stray, &self.errors].map(|bytes| String::from_utf8_lossy(bytes).trim().to_string());
        texts.into_iter().filter(|text| !text.is_empty()).map(|text| format!("\n{text}")).collect()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Reply {
    ended: Evaluated,
    output: String,
    /// Whether all functions of its Emacs are the ones that they were at its start.
    whole: bool,
}

struct Live {
    alive: Alive,
    told: Told,
    /// What was evaluated first.
    setup: String,
}

/// What a worker is asked.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// What is evaluated before anything else, once. A worker that began with something else is ended for it.
    pub setup: &'a str,
    /// What is evaluated.
    pub code: &'a str,
    /// What is known of the code.
    pub told: &'a Told,
    /// Whether what the worker said is a value for a program, which looks at it itself: it is not asked then whether all
    /// functions of Emacs are what they were, and one that was told something more private or less trusted before is ended
    /// first.
    pub plain: bool,
    /// How long it may take, setup and all.
    pub patience: Duration,
}

/// The place of one owner: held while a call of that owner goes on.
#[derive(Default)]
struct Slot {
    live: tokio::sync::Mutex<Option<Live>>,
    /// Counts calls over all owners: who was called last has the largest.
    called: AtomicU64,
}

/// All workers of an engine. Dropping it ends them.
pub struct Workers {
    launcher: Launcher,
    limits: WorkerLimits,
    finder: Finder,
    slots: Mutex<BTreeMap<Owner, Arc<Slot>>>,
    calls: AtomicU64,
}

impl Workers {
    /// Makes workers; none is started before the first call.
    pub fn new(launcher: Launcher, limits: WorkerLimits) -> Workers {
        Workers::with(launcher, limits, Arc::new(system_emacs))
    }

    /// As [`Workers::new`], with another way to find Emacs.
    pub fn with(launcher: Launcher, limits: WorkerLimits, finder: Finder) -> Workers {
        Workers { launcher, limits, finder, slots: Mutex::default(), calls: AtomicU64::new(0) }
    }

    /// Evaluates Lisp in the worker of an owner, and starts that first where there is none.
    ///
    /// Dropping the future ends the worker and what it does.
    ///
    /// # Errors
    /// When nothing was evaluated: there is no Emacs, or it cannot be confined.
    pub async fn evaluate(&self, owner: &Owner, walls: Walls, code: &str, told: &Told) -> Result<Answer, SandboxError> {
        self.run(owner, walls, Task { setup: "", code, told, plain: false, patience: self.limits.call }).await
    }

    /// As [`Workers::evaluate`], for whatever a worker may be asked.
    ///
    /// # Errors
    /// As there.
    pub async fn run(&self, owner: &Owner, walls: Walls, task: Task<'_>) -> Result<Answer, SandboxError> {
        let (slot, surplus) = self.slot(owner);
        for other in surplus {
            end(&other).await;
        }
        let mut place = slot.live.lock().await;
        // Taken out, so that a call that is cut short leaves nothing behind that would answer the next one.
        let kept = match place.take() {
            Some(live) if live.setup == task.setup && (!task.plain || live.told.suits(task.told)) => Some(live),
            Some(live) => {
                live.alive.end().await;
                None
            }
            None => None,
        };
        let fresh = kept.is_none();
        let mut live = match kept {
            Some(live) => Live { told: live.told.join(task.told), ..live },
            None => Live { alive: self.start(walls).await?, told: task.told.clone(), setup: task.setup.to_string() },
        };
        let known = live.told.clone();
        if fresh && task.plain {
            // What an Emacs takes to start is none of the code's time.
            let begun = tokio::time::timeout(BOOT, self.call(&mut live.alive, &mark()?, "t", true)).await;
            if !matches!(begun, Ok(Some(Heard { reply: Some(_), .. }))) {
                let missing = live.alive.end().await;
                let slow = || SandboxError::Silent(format!(", or took longer than {} s", BOOT.as_secs()));
                return Err(missing.map_or_else(slow, SandboxError::Unconfined));
            }
        }
        let said = tokio::time::timeout(task.patience, self.calls(&mut live.alive, fresh, task)).await;
        let (ended, printed) = match said {
            Ok(heard) => {
                let (heard, ready) = heard?;
                match heard {
                    Some(heard) => {
                        let mut beside = heard.beside();
                        let Some(Reply { ended, output, whole }) = heard.reply else {
                            live.alive.end().await;
                            return Ok(self.told(&slot, Evaluated::Broken, &beside, false, known));
                        };
                        let whole = task.plain || (whole && self.proves(&mut live.alive, &mut beside).await?);
                        if whole && ready {
                            *place = Some(live);
                        } else {
                            live.alive.end().await;
                        }
                        (ended, [output, beside].concat())
                    }
                    None => {
                        if let Some(missing) = live.alive.end().await {
                            return Err(SandboxError::Unconfined(missing));
                        }
                        (Evaluated::Gone, String::new())
                    }
                }
            }
            Err(_) => {
                live.alive.end().await;
                (Evaluated::TimedOut, String::new())
            }
        };
        let kept = place.is_some();
        drop(place);
        Ok(self.told(&slot, ended, &printed, kept, known))
    }

    /// Returns what a call came to, and sees to it that a worker that nobody calls ends.
    fn told(&self, slot: &Arc<Slot>, ended: Evaluated, printed: &str, kept: bool, told: Told) -> Answer {
        self.end_when_idle(slot);
        Answer { ended, printed: clip(printed, self.limits.characters), kept, told }
    }

    /// Asks for the setup where the worker is fresh, then for the code. Returns also whether the setup was evaluated: what
    /// broke it is the answer.
    async fn calls(
        &self,
        alive: &mut Alive,
        fresh: bool,
        task: Task<'_>,
    ) -> Result<(Option<Heard>, bool), std::io::Error> {
        if fresh && !task.setup.is_empty() {
            let heard = self.call(alive, &mark()?, task.setup, task.plain).await;
            let done = |heard: &Heard| matches!(&heard.reply, Some(Reply { ended: Evaluated::Value(_), .. }));
            if !heard.as_ref().is_some_and(done) {
                return Ok((heard, false));
            }
        }
        Ok((self.call(alive, &mark()?, task.code, task.plain).await, true))
    }

    /// Returns whether a worker that has just answered answers rightly once more; takes what it still said of the call.
    async fn proves(&self, alive: &mut Alive, beside: &mut String) -> Result<bool, std::io::Error> {
        let mark = mark()?;
        let Ok(Some(heard)) = tokio::time::timeout(PROVING, self.call(alive, &mark, PROOF.0, false)).await else {
            return Ok(false);
        };
        let right = Reply { ended: Evaluated::Value(PROOF.1.to_string()), output: String::new(), whole: true };
        // Nobody else may speak meanwhile; words on standard error may have been on their way.
        let holds = heard.stray.trim_ascii().is_empty() && heard.reply.as_ref() == Some(&right);
        beside.push_str(&heard.beside());
        Ok(holds)
    }

    /// Lets go of the worker of an owner, who calls it no more: the next call of that owner begins anew. Returns what
    /// waits until it is gone.
    pub fn end(&self, owner: &Owner) -> impl Future<Output = ()> + Send + 'static {
        let slot = self.slots.lock().remove(owner);
        async move {
            if let Some(slot) = slot {
                end(&slot).await;
            }
        }
    }

    /// Ends all workers and waits until they are gone.
    pub async fn end_all(&self) {
        let slots = std::mem::take(&mut *self.slots.lock());
        for slot in slots.values() {
            end(slot).await;
        }
    }

    /// Returns the processes that launched what is alive and is not called at the moment, for tests and the doctor.
    pub fn processes(&self) -> Vec<u32> {
        let slots = self.slots.lock();
        let live = slots.values().filter_map(|slot| slot.live.try_lock().ok()?.as_ref()?.alive.id());
        live.collect()
    }

    /// Returns the slot of an owner, and those that must end for it.
    fn slot(&self, owner: &Owner) -> (Arc<Slot>, Vec<Arc<Slot>>) {
        let mut slots = self.slots.lock();
        let slot = slots.entry(owner.clone()).or_default().clone();
        slot.called.store(self.calls.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        let mut surplus = Vec::new();
        // None takes a place from another kind: skills none from conversations, and these none from skills.
        let alike = |other: &Owner| std::mem::discriminant(other) == std::mem::discriminant(owner);
        while slots.keys().filter(|other| alike(other)).count() > self.limits.alive.max(1) {
            let oldest = slots
                .iter()
                .filter(|(other, _)| alike(other))
                .min_by_key(|(_, slot)| slot.called.load(Ordering::Relaxed));
            let Some(oldest) = oldest.map(|(owner, _)| owner.clone()) else { break };
            surplus.extend(slots.remove(&oldest));
        }
        (slot, surplus)
    }

    async fn start(&self, walls: Walls) -> Result<Alive, SandboxError> {
        let emacs = (self.finder)().map_err(SandboxError::Policy)?;
        let arguments = ["--batch", "-Q", "--eval", LOOP.trim()];
        keep(&self.launcher, walls, self.limits.memory, &emacs, &arguments).await
    }

    /// Asks, and listens until the line that begins with the mark is whole. `None` when the worker ended.
    async fn call(&self, alive: &mut Alive, mark: &str, code: &str, plain: bool) -> Option<Heard> {
        let plain = if plain { " plain" } else { "" };
        let request = format!("{mark} {}{plain}\n", base64::encode(code.as_bytes()));
        // One that ended cannot be told; what it said last tells that it ended.
        let _ = alive.say(request.as_bytes()).await;
        let (mut output, mut errors) = (Vec::new(), Vec::new());
        let begin = format!("\n{mark} ");
        loop {
            match alive.next().await {
                Said::Errors(bytes) => errors.extend(bytes),
                Said::Output(bytes) => output.extend(bytes),
                Said::Ended => return None,
            }
            if output.len() + errors.len() > MOST_SAID {
                return Some(Heard { reply: None, stray: Vec::new(), errors });
            }
            let Some(at) = memchr::memmem::find(&output, begin.as_bytes()) else { continue };
            let rest = output.get(at + begin.len()..).unwrap_or_default();
            let Some(length) = memchr::memchr(b'\n', rest) else { continue };
            errors.extend(alive.left());
            // Nobody says anything more once it has answered: what did would answer the next call.
            let reply = if length + 1 == rest.len() { rest.get(..length).and_then(read) } else { None };
            output.truncate(at);
            return Some(Heard { reply, stray: output, errors });
        }
    }

    fn end_when_idle(&self, slot: &Arc<Slot>) {
        let (slot, idle): (Weak<Slot>, Duration) = (Arc::downgrade(slot), self.limits.idle);
        let Some(called) = slot.upgrade().map(|slot| slot.called.load(Ordering::Relaxed)) else { return };
        tokio::spawn(async move {
            tokio::time::sleep(idle).await;
            if let Some(slot) = slot.upgrade().filter(|slot| slot.called.load(Ordering::Relaxed) == called) {
                end(&slot).await;
            }
        });
    }
}

async fn end(slot: &Slot) {
    let live = slot.live.lock().await.take();
    if let Some(live) = live {
        live.alive.end().await;
    }
}

/// Reads a reply; `None` when it is none.
fn read(bytes: &[u8]) -> Option<Reply> {
    let reply = Sexp::read(std::str::from_utf8(bytes).ok()?).ok()?;
    let text = |key: &str| {
        let bytes = base64::decode(reply.text_at(key)?)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let (said, output, whole) = (text("text")?, text("output")?, reply.flag_at("whole"));
    let ended = match reply.name_at("status")? {
        "value" => Evaluated::Value(said),
        "error" => Evaluated::Error(said),
        _ => return None,
    };
    Some(Reply { ended, output, whole })
}

/// Returns a text that nobody can know who was called before.
fn mark() -> Result<String, std::io::Error> {
    Ok(crate::edge::random::hex(&crate::edge::random::bytes::<16>()?))
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some((at, _)) => format!("{}\n[the rest is left out]", text.get(..at).unwrap_or("")),
    }
}

/// Returns the Emacs that this program runs in, when it is one of the system, or else the system's.
///
/// # Errors
/// In words, when there is none.
pub fn system_emacs() -> Result<PathBuf, String> {
    let own = std::env::current_exe()
        .ok()
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("emacs")));
    let found = own.into_iter().chain(PLACES.iter().map(PathBuf::from)).find_map(|path| of_system(&path));
    found.ok_or_else(|| {
        format!(
            "there is no Emacs in a folder of the system ({}); install one with the system's package manager",
            PLACES.get(..3).unwrap_or_default().join(", ")
        )
    })
}

/// Returns where a file really is, if that is in a folder of the system.
fn of_system(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    (real.is_file() && SYSTEM.iter().any(|folder| real.starts_with(folder))).then_some(real)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_reply_is_not_taken_for_one() {
        for (whole, said) in [(true, "t"), (false, "nil")] {
            let good = format!("(:status value :whole {said} :text \"{}\" :output \"\")", base64::encode(b"3"));
            let (ended, output) = (Evaluated::Value("3".to_string()), String::new());
            assert_eq!(read(good.as_bytes()), Some(Reply { ended, output, whole }));
        }
        for bad in [
            "",
            "nil",
            "(:status value)",
            "(:status value :text 3 :output \"\")",
            "(:status other :text \"\" :output \"\")",
            "(:status value :text \"?\" :output \"\")",
            "#.(id)",
            "((((",
        ] {
            assert_eq!(read(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(read(&[0xff]), None);
    }

    #[test]
    fn only_an_emacs_of_the_system_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let mine = folder.path().join("emacs");
        std::fs::write(&mine, "").expect("a file");
        assert_eq!(of_system(&mine), None);
        assert_eq!(of_system(Path::new("/usr/bin/../..").join("etc/passwd").as_path()), None);
    }
}
