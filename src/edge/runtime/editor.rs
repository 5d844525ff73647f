//! Asks Emacs, over the protocol, for the text of a buffer or an edit of it.

use crate::domain::action::texts;
use crate::domain::editor::{self, Row};
use crate::domain::id::SessionId;
use crate::domain::setting::{Change, Saved, SettingFact, Told};
use crate::domain::sexp::plist::Plist;
use crate::domain::sexp::reader::Sexp;
use crate::edge::editor::{
    Buffer, Call, Candidate, Offer, Selection, Splice, Unanswered as CallUnanswered, Unchanged, Wanted,
};
use crate::edge::runtime::outbox::Outbox;
use crate::edge::runtime::show::place;
use crate::edge::wire::slices::{Joining, Slice};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// How long Emacs may take to answer; it may be in a minibuffer or in a long command.
const PATIENCE: Duration = Duration::from_secs(10);
/// A text of a buffer is no longer than this, in bytes: as long as an Org file that is read.
const TEXT: usize = crate::edge::runtime::mirror::MOST;
/// How many texts of buffers are kept, so that one that has not changed does not travel again.
const KEPT: usize = 4;

/// How many bytes of text a tool of the user's own is called with at most: Emacs reads them at one go.
const CALLED_WITH: usize = 256 * 1024;

/// So many names count of those that the user's own function chose.
const CHOSEN: usize = 64;
/// So many bytes it may say of why it failed.
const ANSWERED: usize = 4 * 1024;

/// So many settings are told of at once.
const SETTINGS: usize = 100;
/// What is said when Emacs says nothing.
const SILENT: &str = "Emacs did not answer within 10 seconds; try again when it is idle";

/// How many questions this process has asked, over all connections.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// The place of the process in the number of a question; with it, such a number is a small integer of Emacs.
const PROCESS_BITS: u32 = 36;

/// Returns the number of the next question. An Emacs that lost its owner answers whatever it was asked: an answer to a
/// process that has ended, or over a connection that has, must not be taken for one to another question.
fn next_number() -> u64 {
    let asked = ASKED.fetch_add(1, Ordering::Relaxed) & ((1 << PROCESS_BITS) - 1);
    (u64::from(std::process::id()) << PROCESS_BITS) | asked
}

struct Waiting {
    text: Joining,
    answer: oneshot::Sender<Answer>,
}

/// The last of an answer with all of its text, which is `None` when there is more than may be; or why a slice of it does
/// not fit.
type Answer = Result<(Sexp, Option<String>), String>;

/// Emacs, at the other end of an outbox.
pub struct EmacsEditor {
    outbox: Arc<Outbox>,
    waiting: Mutex<HashMap<u64, Waiting>>,
    /// The newest last.
    kept: Mutex<VecDeque<Kept>>,
}

/// The text of a buffer, and Emacs's name for the state in which it had that text.
struct Kept {
    file: String,
    state: String,
    text: Arc<str>,
}

impl EmacsEditor {
    /// Makes an editor that asks through an outbox.
    pub fn new(outbox: Arc<Outbox>) -> Arc<EmacsEditor> {
        Arc::new(EmacsEditor { outbox, waiting: Mutex::default(), kept: Mutex::default() })
    }

    /// Takes an `editor-reply`; the last of several wakes who waits.
    ///
    /// # Errors
    /// When it is a slice that does not fit to those before it: then nothing of the text counts, and no further slice.
    pub fn reply(&self, payload: &Sexp) -> Result<(), String> {
        let Some(number) = payload.int_at("request").and_then(|n| u64::try_from(n).ok()) else { return Ok(()) };
        let mut waiting = self.waiting.lock();
        let slice = Slice::read(payload, "text");
        // Who no longer waits does not need the answer.
        let Some(taken) = waiting.get_mut(&number).map(|entry| entry.text.take(slice)) else { return Ok(()) };
        if taken.is_ok() && slice.more {
            return Ok(());
        }
        let taken = taken.map_err(|wrong| wrong.to_string());
        if let Some(Waiting { text, answer }) = waiting.remove(&number) {
            let told = taken.clone().map(|()| (payload.clone(), text.text()));
            let _ = answer.send(told);
        }
        taken
    }

    async fn ask(&self, payload: Plist) -> Result<(Sexp, String), Unanswered> {
        let (answer, text) = self.ask_within(payload, PATIENCE, TEXT).await?;
        let too_long = || Unanswered::Unfit(format!("it is longer than {} MB", TEXT >> 20));
        Ok((answer, text.ok_or_else(too_long)?))
    }

    /// Asks, and takes a text of at most so many bytes; there is none when more came.
    async fn ask_within(
        &self,
        payload: Plist,
        patience: Duration,
        most: usize,
    ) -> Result<(Sexp, Option<String>), Unanswered> {
        let number = next_number();
        let (answer, mut coming) = oneshot::channel();
        self.waiting.lock().insert(number, Waiting { text: Joining::new(most), answer });
        // A turn may be stopped while it waits here: then nothing is left behind.
        let _question = Question { editor: self, number };
        if !self.outbox.ask(number, payload.int("request", number as i64)) {
            return Err(Unanswered::TooLong);
        }
        if let Ok(Ok(answer)) = tokio::time::timeout(patience, &mut coming).await {
            return answer.map_err(Unanswered::Unfit);
        }
        let unanswered = if self.give_up(number) { Unanswered::Withdrawn } else { Unanswered::Taken };
        // It may have come at the last moment.
        coming.try_recv().map_err(|_| unanswered)?.map_err(Unanswered::Unfit)
    }

    /// Asks for the state of a buffer; with `known`, its text comes only when it is in another state.
    async fn state(&self, file: &str, known: Plist) -> Result<(Sexp, String), String> {
        let question = known.keyword("action", "buffer-state").text("file", file);
        let answer = self.ask(question).await;
        answer.map_err(|unanswered| unanswered.words(SILENT, SILENT))
    }

    fn known(&self, file: &str) -> Option<(String, Arc<str>)> {
        let kept = self.kept.lock();
        kept.iter().find(|kept| kept.file == file).map(|kept| (kept.state.clone(), kept.text.clone()))
    }

    fn keep(&self, file: &str, state: Option<&str>, text: &Arc<str>) {
        let mut kept = self.kept.lock();
        kept.retain(|kept| kept.file != file);
        if let Some(state) = state {
            kept.push_back(Kept { file: file.to_string(), state: state.to_string(), text: text.clone() });
        }
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }

    /// Stops waiting for an answer; returns whether Emacs will never see the question.
    fn give_up(&self, number: u64) -> bool {
        let waited = self.waiting.lock().remove(&number).is_some();
        waited && self.outbox.withdraw(number)
    }
}

/// Returns a change of a setting as Emacs is asked for it.
fn changed(action: &str, change: &Change) -> Plist {
    let payload = Plist::new()
        .keyword("action", action)
        .text("option", change.option.as_str())
        .value("value", change.value.clone());
    match &change.saved {
        Saved::Stays => payload.text("save", "stays"),
        Saved::As(value) => payload.text("save", "as").value("saved", value.clone()),
        Saved::Nothing => payload.text("save", "nothing"),
    }
}

/// What is said of what is too long to be asked.
const TOO_LONG: &str = "this is too much to be sent to Emacs at one go, so nothing was done; do it in parts";

/// Why there is no answer within the time.
enum Unanswered {
    /// It is longer than a message may be, so Emacs was not asked.
    TooLong,
    /// Emacs did not take the question, and will not: it was withdrawn.
    Withdrawn,
    /// Emacs took it; what it did is not known.
    Taken,
    /// It answered in slices of which one does not fit: why.
    Unfit(String),
}

impl Unanswered {
    /// Returns it in words, of which these are two.
    fn words(self, withdrawn: &str, taken: &str) -> String {
        match self {
            Unanswered::TooLong => TOO_LONG.to_string(),
            Unanswered::Withdrawn => withdrawn.to_string(),
            Unanswered::Taken => taken.to_string(),
            Unanswered::Unfit(why) => format!("what Emacs answered cannot be taken: {why}"),
        }
    }
}

/// A question that is given up when nobody waits for its answer any more.
struct Question<'a> {
    editor: &'a EmacsEditor,
    number: u64,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.editor.give_up(self.number);
    }
}

/// A buffer as an Emacs has it.
pub struct Seen {
    /// The buffer.
    pub buffer: Buffer,
    /// It holds what its file does not.
    pub modified: bool,
}

impl EmacsEditor {
    /// Returns the buffer that visits a file; `None` when none does. An error means that it could not be found out.
    pub async fn look(&self, file: &str) -> Result<Option<Seen>, String> {
        let known = self.known(file);
        let question = Plist::new().maybe("known", known.as_ref().map(|(state, _)| state.as_str()));
        let (answer, text) = self.state(file, question).await?;
        if !answer.flag_at("open") {
            self.keep(file, None, &"".into());
            return Ok(None);
        }
        let state = answer.text_at("state");
        let same = known.filter(|(known, _)| state == Some(known)).map(|(_, text)| text);
        let tick = answer.int_at("tick").ok_or_else(|| "Emacs named no state of the buffer".to_string())?;
        let text = match (answer.flag_at("same"), same) {
            (true, Some(text)) => text,
            (false, _) if answer.count_at("size").is_none_or(|size| size == text.len()) => text.into(),
            (true, None) | (false, _) => {
                self.keep(file, None, &"".into());
                return Err(format!("the buffer of {file} came in parts that do not fit; try again"));
            }
        };
        self.keep(file, state, &text);
        let buffer = Buffer { text, tick, read_only: answer.flag_at("read-only") };
        Ok(Some(Seen { buffer, modified: answer.flag_at("modified") }))
    }

    /// Returns whether a buffer visits a file. An error means that it could not be found out.
    pub async fn holds(&self, file: &str) -> Result<bool, String> {
        let (answer, _) = self.state(file, Plist::new().flag("brief", true)).await?;
        Ok(answer.flag_at("open"))
    }

    /// Asks one verb of the closed table, as [`crate::edge::editor::Editor::ask`] says.
    pub async fn verb(&self, question: &editor::Question) -> Result<Vec<Row>, String> {
        let payload = Plist::new()
            .keyword("action", "editor-verb")
            .text("verb", question.verb.name())
            .maybe("file", question.file.as_deref())
            .maybe("name", question.name.as_deref())
            .maybe("text", question.text.as_deref())
            .int("limit", question.limit as i64);
        let payload = match question.line {
            Some(line) => payload.int("line", line),
            None => payload,
        };
        let (answer, text) = self.ask(payload).await.map_err(|unanswered| {
            unanswered.words("Emacs was busy for 10 seconds, so the question was withdrawn; try again", SILENT)
        })?;
        if !answer.flag_at("ok") {
            return Err(if text.is_empty() { "Emacs refused".to_string() } else { text });
        }
        let row = |row: &Sexp| match row.items() {
            [file, line, text] => Some(Row {
                file: file.as_text()?.to_string(),
                line: line.as_int().and_then(|line| u32::try_from(line).ok()).unwrap_or(0),
                text: text.as_text()?.to_string(),
            }),
            _ => None,
        };
        Ok(answer.list_at("rows").iter().filter_map(row).take(question.limit).collect())
    }

    /// Has the user's own function choose, as [`crate::edge::editor::Editor::select`] says. Whoever asks has less patience
    /// than this.
    pub async fn select(&self, offer: &Offer) -> Result<Selection, String> {
        let candidate = |one: &Candidate| {
            Plist::new()
                .text("name", one.name.as_str())
                .maybe("model", Some(one.model.as_str()).filter(|model| !model.is_empty()))
                .text("place", place(one.locality))
                .flag("demoted", one.demoted)
                .build()
        };
        let payload = Plist::new()
            .keyword("action", "select-model")
            .text("slot", offer.slot)
            .text("text", offer.text.as_str())
            .flag("private", offer.private)
            .list("providers", offer.candidates.iter().map(candidate));
        let answered = self.ask_within(payload, PATIENCE, ANSWERED).await;
        let none = "Emacs did not answer";
        let (answer, text) = answered.map_err(|unanswered| unanswered.words(none, none))?;
        if !answer.flag_at("ok") {
            return Err(text.filter(|text| !text.is_empty()).unwrap_or_else(|| "it failed".to_string()));
        }
        if answer.flag_at("skip") {
            return Ok(Selection::Skip);
        }
        let names = answer.list_at("names").iter().filter_map(Sexp::as_text).take(CHOSEN);
        Ok(Selection::These(names.map(str::to_string).collect()))
    }

    /// Asks what is told of settings, as [`crate::edge::editor::Editor::settings`] says.
    pub async fn settings(&self, wanted: &Wanted) -> Result<Vec<Told>, String> {
        let payload = Plist::new().keyword("action", "settings");
        let payload = match wanted {
            Wanted::One(option) => payload.text("option", option.as_str()),
            Wanted::Fitting(words) => payload.text("words", words.as_str()),
        };
        let (answer, text) = self.ask(payload).await.map_err(|unanswered| unanswered.words(SILENT, SILENT))?;
        if !answer.flag_at("ok") {
            return Err(if text.is_empty() { "Emacs refused".to_string() } else { text });
        }
        let told = |row: &Sexp| {
            let text = |key: &str| row.text_at(key).unwrap_or_default().to_string();
            Some(Told {
                option: row.text_at("option")?.to_string(),
                summary: text("summary"),
                documentation: text("documentation"),
                kind: text("kind"),
                value: row.text_at("value").map(str::to_string),
                standard: row.text_at("standard").map(str::to_string),
                state: text("state"),
            })
        };
        Ok(answer.list_at("rows").iter().filter_map(told).take(SETTINGS).collect())
    }

    /// Finds out what a change of a setting would do, as [`crate::edge::editor::Editor::weigh`] says.
    pub async fn weigh(&self, change: &Change) -> Result<SettingFact, Unchanged> {
        let asked = self.ask(changed("setting-weigh", change)).await;
        let (answer, text) = asked.map_err(|unanswered| Unchanged::Unknown(unanswered.words(SILENT, SILENT)))?;
        if !answer.flag_at("ok") {
            return Err(Unchanged::Refused(if text.is_empty() { "Emacs refuses it".to_string() } else { text }));
        }
        let said = |key: &str| answer.text_at(key).map(str::to_string);
        match (said("summary"), said("now"), said("to")) {
            (Some(summary), Some(now), Some(to)) => Ok(SettingFact {
                option: change.option.clone(),
                summary,
                now,
                to,
                saved: said("saved"),
                saved_then: said("saved-then"),
                undoes: None,
            }),
            _ => Err(Unchanged::Unknown("what Emacs answered is not complete".to_string())),
        }
    }

    /// Changes a setting, as [`crate::edge::editor::Editor::set`] says.
    pub async fn set(&self, change: &Change, found: &SettingFact) -> Result<(), Unchanged> {
        let payload =
            changed("setting-set", change).text("now", found.now.as_str()).maybe("was-saved", found.saved.as_deref());
        let (answer, text) = self.ask(payload).await.map_err(|unanswered| match unanswered {
            Unanswered::TooLong => Unchanged::Refused(TOO_LONG.to_string()),
            Unanswered::Withdrawn => Unchanged::Refused(
                "Emacs was busy for 10 seconds, so nothing was changed; try again when it is idle".to_string(),
            ),
            Unanswered::Taken => Unchanged::Unknown(
                "Emacs did not answer within 10 seconds after it took the change: it may have been done".to_string(),
            ),
            unfit @ Unanswered::Unfit(_) => Unchanged::Unknown(unfit.words("", "")),
        })?;
        match answer.flag_at("ok") {
            true => Ok(()),
            false => Err(Unchanged::Refused(if text.is_empty() { "Emacs refused it".to_string() } else { text })),
        }
    }

    /// Asks for a turn of a chat, or for those before it, as [`crate::edge::editor::Editor::earlier_turn`] says.
    pub async fn chat_turns(&self, session: &SessionId, key: &str, name: &str) -> Result<Sexp, String> {
        let payload = Plist::new().keyword("action", "chat-turns").text("session", session.0.as_str()).text(key, name);
        let answered = self.ask_within(payload, PATIENCE, ANSWERED).await;
        let none = "Emacs did not answer within 10 seconds";
        let (answer, _) = answered.map_err(|unanswered| unanswered.words(none, none))?;
        match answer.flag_at("ok") {
            true => Ok(answer),
            false => Err("the chat has no such turn".to_string()),
        }
    }

    /// Calls a tool of the user's own, as [`crate::edge::editor::Editor::call`] says. What it answers a second time, or
    /// too late, answers nothing.
    pub async fn call(&self, call: &Call) -> Result<String, CallUnanswered> {
        let Call { tool, mark, args, directory, limits } = call;
        let size: usize = args.values().flat_map(texts).map(str::len).sum();
        if size > CALLED_WITH {
            let why =
                format!("its arguments have {size} bytes; a tool of your own is called with {CALLED_WITH} at most");
            return Err(CallUnanswered::Not(why));
        }
        let args = args.iter().map(|(name, value)| Sexp::list([Sexp::text(name.as_str()), Sexp::of_json(value)]));
        let payload = Plist::new()
            .keyword("action", "own-tool")
            .text("tool", tool.as_str())
            .text("mark", mark.as_str())
            .list("args", args)
            .text("directory", directory.as_str())
            .int("characters", limits.characters as i64);
        let seconds = limits.seconds;
        // Four bytes a character, and what it says of what it left out.
        let most = limits.characters.saturating_mul(4).saturating_add(1_000);
        let answered = self.ask_within(payload, Duration::from_secs(seconds), most).await;
        let (answer, text) = answered.map_err(|unanswered| match unanswered {
            Unanswered::TooLong => CallUnanswered::Not(TOO_LONG.to_string()),
            Unanswered::Withdrawn => CallUnanswered::Not(format!(
                "Emacs was busy for {seconds} seconds, so {tool} was not begun; try again when it is idle"
            )),
            Unanswered::Taken => CallUnanswered::Unknown(format!(
                "{tool} did not answer within {seconds} seconds; what it did until then is not known"
            )),
            unfit @ Unanswered::Unfit(_) => CallUnanswered::Unknown(format!("{tool}: {}", unfit.words("", ""))),
        })?;
        let Some(text) = text else {
            let most = limits.characters;
            return Err(CallUnanswered::Unknown(format!(
                "{tool} answered far more than its {most} characters; none of it is kept"
            )));
        };
        match (answer.flag_at("ok"), answer.flag_at("begun")) {
            (true, _) => Ok(text),
            (false, true) => Err(CallUnanswered::Failed(text)),
            (false, false) => Err(CallUnanswered::Not(text)),
        }
    }

    /// Edits an open buffer, as [`crate::edge::editor::Editor::edit`] says.
    pub async fn edit(&self, file: &str, tick: i64, splices: Vec<Splice>) -> Result<(), String> {
        let edits = splices
            .into_iter()
            .map(|s| Sexp::list([Sexp::int(s.begin as i64), Sexp::int(s.end as i64), Sexp::text(s.text)]));
        let payload =
            Plist::new().keyword("action", "buffer-edit").text("file", file).int("tick", tick).list("edits", edits);
        let (answer, text) = self.ask(payload).await.map_err(|unanswered| {
            unanswered.words(
                "Emacs was busy for 10 seconds, so the edit was withdrawn and nothing was changed; try again when it is idle",
                "Emacs did not answer within 10 seconds after it took the edit: it may have been done; look at the buffer",
            )
        })?;
        if answer.flag_at("ok") {
            Ok(())
        } else {
            Err(if text.is_empty() { "Emacs refused the edit".to_string() } else { text })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::reader::MAX_BYTES;
    use crate::edge::runtime::outbox::Limits;
    use serde_json::Value;

    fn editor() -> Arc<EmacsEditor> {
        EmacsEditor::new(Outbox::new(Box::new(|| {})))
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_without_an_answer_is_withdrawn_or_said_to_be_uncertain() {
        for (taken, said) in [(false, "nothing was changed"), (true, "may have been done; look at the buffer")] {
            let editor = editor();
            let other = editor.clone();
            let take = async move { if taken { other.outbox.receive(1 << 20).len() } else { 0 } };
            let (refused, count) = tokio::join!(editor.edit("/notes/home.org", 1, Vec::new()), take);
            assert_eq!(count, usize::from(taken));
            let why = refused.expect_err("nobody answered");
            assert!(why.contains(said), "{why}");
            assert!(editor.outbox.receive(1 << 20).is_empty(), "nothing is carried out later");
            assert!(editor.waiting.lock().is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_over_a_connection_that_has_ended_answers_no_other_question() {
        let (old, new) = (editor(), editor());
        let numbers = |editor: &EmacsEditor| -> Vec<i64> {
            let asked = editor.outbox.receive(1 << 20);
            let asked = asked.iter().map(|text| Sexp::read(text).expect("it can be read"));
            asked.filter_map(|asked| asked.get("payload")?.int_at("request")).collect()
        };
        let late = async {
            let (old, new) = (numbers(&old), numbers(&new));
            assert_eq!((old.len(), new.len()), (1, 1));
            old.into_iter().chain(new).collect::<Vec<_>>()
        };
        let (_, edited, late) = tokio::join!(
            old.edit("/notes/a.org", 1, Vec::new()),
            async { tokio::time::timeout(Duration::from_secs(1), new.edit("/notes/b.org", 1, Vec::new())).await },
            async {
                let numbers = late.await;
                let old = format!("(:action :editor-reply :request {} :ok t)", numbers[0]);
                assert_eq!(new.reply(&Sexp::read(&old).expect("it can be read")), Ok(()));
                numbers
            }
        );
        assert_ne!(late[0], late[1]);
        assert!(edited.is_err(), "nobody has answered it: {edited:?}");
        let fixnum = 1_i64 << 61;
        assert!(late.iter().all(|number| (0..fixnum).contains(number)), "{late:?}");
    }

    fn weather(seconds: u64) -> Call {
        let args = serde_json::json!({ "town": "Lisbon", "days": 3, "loud": true, "tags": ["a", "b"], "none": null });
        Call {
            tool: "weather".to_string(),
            mark: "a".repeat(64),
            args: args.as_object().cloned().expect("an object"),
            directory: "/project".to_string(),
            limits: crate::domain::tool::Limits { seconds, characters: 100 },
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_never_answered_ends_in_its_time_and_says_whether_it_was_begun() {
        for taken in [false, true] {
            let editor = editor();
            let other = editor.clone();
            let take = async move { if taken { other.outbox.receive(1 << 20).concat() } else { String::new() } };
            let (call, began) = (weather(7), tokio::time::Instant::now());
            let (answer, asked) = tokio::join!(editor.call(&call), take);
            assert_eq!(began.elapsed(), Duration::from_secs(7));
            match answer.expect_err("nobody answered") {
                CallUnanswered::Not(why) => assert!(!taken && why.contains("was not begun"), "{why}"),
                CallUnanswered::Unknown(why) => assert!(taken && why.contains("is not known"), "{why}"),
                CallUnanswered::Failed(why) => panic!("{why}"),
            }
            let args = "((\"town\" \"Lisbon\") (\"days\" 3) (\"loud\" t) (\"tags\" (\"a\" \"b\")) (\"none\" nil))";
            assert_eq!(asked.contains(args), taken, "{asked}");
            assert!(editor.outbox.receive(1 << 20).is_empty(), "nothing is begun later");
            assert!(editor.waiting.lock().is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn of_a_call_the_first_answer_counts_and_one_that_is_far_too_long_is_not_kept() {
        let much = |number: u64| format!(":ok t :slice {number} :text \"{}\" :more t", "x".repeat(1_000));
        let (long, rain) = ("x".repeat(1_000), "rain".to_string());
        let [one, two] = [":ok t :text \"rain\"", ":ok t :text \"sun\""];
        let chained = |texts: &[&String]| {
            let mut chain = crate::edge::wire::slices::Chain::default();
            texts.iter().for_each(|text| chain.add(text));
            format!(":ok t :slice {} :text \"rain\" :hash \"{}\"", chain.number(), chain.hash())
        };
        let (two_much, three) = (chained(&[&long, &long, &rain]), chained(&[&long, &long, &long, &rain]));
        let [first, second, third] = [much(1), much(2), much(3)];
        let [first, second, third] = [first.as_str(), second.as_str(), third.as_str()];
        for (replies, expected) in [
            (vec![one, two], Ok("rain")),
            (vec![first, second, &two_much], Err("far more than its 100 characters")),
            (vec![first, second, third, &three], Err("far more")),
            // A slice that is missing, twice, out of order, or without a number.
            (vec![first, third], Err("slice 3 of a text came where slice 2 was due")),
            (vec![first, first], Err("slice 1 of a text came where slice 2 was due")),
            (vec![second], Err("slice 2 of a text came where slice 1 was due")),
            (vec![first, two], Err("without its number")),
            (vec![first, second, &two_much.replace("rain", "sun")], Err("do not have the hash")),
            (vec![":ok nil :begun t :text \"it broke\""], Err("it broke")),
            (vec![":ok nil :text \"Emacs has no tool weather any more\""], Err("no tool weather")),
        ] {
            let editor = editor();
            let other = editor.clone();
            let answer = async {
                let asked = Sexp::read(&other.outbox.receive(1 << 20).concat()).expect("a question");
                let number = asked.get("payload").and_then(|payload| payload.int_at("request")).expect("its number");
                for rest in &replies {
                    let reply = format!("(:action :editor-reply :request {number} {rest})");
                    let told = other.reply(&Sexp::read(&reply).expect("it can be read"));
                    if let Err(why) = told {
                        assert!(expected.is_err_and(|expected| why.contains(expected)), "{why}");
                    }
                }
            };
            let call = weather(7);
            let (found, ()) = tokio::join!(editor.call(&call), answer);
            match (found, expected) {
                (Ok(text), Ok(expected)) => assert_eq!(text, expected),
                (Err(why), Err(expected)) => assert!(format!("{why:?}").contains(expected), "{why:?}"),
                (found, expected) => panic!("{found:?}, not {expected:?}"),
            }
            assert!(editor.waiting.lock().is_empty());
        }
        let editor = editor();
        let mut call = weather(7);
        call.args.insert("town".to_string(), Value::String("x".repeat(CALLED_WITH + 1)));
        let why = editor.call(&call).await.expect_err("it is too long");
        assert!(matches!(&why, CallUnanswered::Not(why) if why.contains("at most")), "{why:?}");
        assert!(editor.outbox.receive(1 << 20).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_edit_that_no_frame_holds_is_not_asked_for() {
        let outbox = Outbox::with_limits(Limits::JOINED, Box::new(|| {}));
        let editor = EmacsEditor::new(outbox);
        let splice = Splice { begin: 0, end: 0, text: "x".repeat(MAX_BYTES) };
        let why = editor.edit("/notes/home.org", 1, vec![splice]).await.expect_err("it is too long");
        assert!(why.contains("nothing was done"), "{why}");
        assert!(editor.outbox.receive(1 << 20).is_empty() && editor.waiting.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_stopped_turn_leaves_nothing_behind() {
        let editor = editor();
        let edit = editor.edit("/notes/home.org", 1, Vec::new());
        let stopped = tokio::time::timeout(Duration::from_secs(1), edit).await;
        assert!(stopped.is_err());
        assert!(editor.outbox.receive(1 << 20).is_empty());
        assert!(editor.waiting.lock().is_empty());
    }
}
