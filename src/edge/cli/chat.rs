//! `passepartout chat`: a conversation line by line, at a terminal or in a pipe: one line in, one answer out.

use crate::domain::label::Privacy;
use crate::domain::port::Streamed;
use crate::domain::signal::{Role, Said};
use crate::edge::cli::args::Place;
use crate::edge::cli::ask::{
    Manner, PATIENCE, PAUSE, Way, asked_before, elsewhere, not_beside, print_turn, print_turned, told_later,
};
use crate::edge::cli::doing;
use crate::edge::cli::forward::{AGAIN, Met, Owner, TRIES, new_name};
use crate::edge::cli::handed::{ended, hearing, worse};
use crate::edge::cli::run::{DONE, FAILED, Failure, USAGE};
use crate::edge::cli::session::{
    block_on, blocking, complaining, engine, met, origin, somewhere, with_engine_that_tells,
};
use crate::edge::engine::boot::Keep;
use crate::edge::engine::turns::Ask;
use crate::edge::stderr::complain;
use crate::edge::store::owner_of;
use crate::edge::thread::in_place;
use std::collections::VecDeque;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::time::Instant;
use tokio::sync::mpsc;

/// What is typed at once is no longer than this, in bytes, as in a chat.
const LONGEST: u64 = 1 << 20;
/// Of what was said before, at most so many bytes go along; the oldest is left out first.
const HISTORY: usize = 512 << 10;
/// Stands before what is typed.
const PROMPT: &str = "you> ";
/// Ends the conversation.
const QUIT: &str = "/quit";

/// Talks until the input ends.
///
/// # Errors
/// In words for the user.
pub(super) fn run_chat(place: &Place, manner: &Manner, out: &mut dyn Write) -> Result<u8, Failure> {
    somewhere(place)?;
    let mut talk = Talk::new(manner);
    let beside = block_on(async {
        // Who owns the store next is joined, too; where nobody does, this process goes on by itself.
        while let Met::Owner(owner) = met(place).await? {
            if let Some(status) = at_owner(owner, place, &mut talk, out).await? {
                return Ok(Some(status));
            }
        }
        Ok(None)
    })?;
    match beside {
        Some(status) => Ok(status),
        None => here(place, &mut talk, out),
    }
}

/// What is said of a line that was not begun, because the owner of the store is ending.
const ENDING: &str = "the process that owns the store is ending, and nothing was done yet; this is asked again when another \
                      one has the notes";

/// A line that was typed.
struct Line {
    text: String,
    /// A name for it, by which nobody is asked it twice.
    once: Option<String>,
    /// How often it was asked and its owner ended, so that it is not known what became of it.
    lost: usize,
    typed: Instant,
    /// It was said that it waits for another owner.
    waits: bool,
}

impl Line {
    fn new(text: String) -> Line {
        Line { text, once: new_name(), lost: 0, typed: Instant::now(), waits: false }
    }
}

/// One conversation.
struct Talk {
    manner: Manner,
    at_terminal: bool,
    said: VecDeque<Said>,
    status: u8,
    /// A line that is to be asked again, of whoever owns the store next.
    again: Option<Line>,
}

impl Talk {
    fn new(manner: &Manner) -> Talk {
        Talk {
            manner: manner.clone(),
            at_terminal: std::io::stdin().is_terminal(),
            said: VecDeque::new(),
            status: DONE,
            again: None,
        }
    }

    /// Returns the next line that says something; `None` at the end.
    fn next(&self, out: &mut dyn Write) -> Result<Option<String>, Failure> {
        loop {
            if self.at_terminal {
                write!(out, "{PROMPT}")?;
                out.flush()?;
            }
            let mut line = String::new();
            let length = std::io::stdin().lock().take(LONGEST + 1).read_line(&mut line);
            let length = length.map_err(|error| format!("what is typed cannot be read: {error}"))?;
            if length as u64 > LONGEST {
                let text = "a line is longer than 1 MB; put it into a file and name the file".to_string();
                return Err(Failure { text, status: USAGE });
            }
            match line.trim() {
                "" if length == 0 => {
                    if self.at_terminal {
                        writeln!(out)?;
                    }
                    return Ok(None);
                }
                "" => {}
                QUIT => return Ok(None),
                line => return Ok(Some(line.to_string())),
            }
        }
    }

    /// Returns the next line: one that is to be asked again comes first. `None` at the end.
    fn line(&mut self, out: &mut dyn Write) -> Result<Option<Line>, Failure> {
        match self.again.take() {
            Some(line) => Ok(Some(line)),
            None => Ok(self.next(out)?.map(Line::new)),
        }
    }

    /// Keeps a line of which it is not known what became of it; false when it was asked too often, or has no name.
    fn keep_lost(&mut self, line: Line) -> bool {
        // It is waited for anew from here on.
        let line = Line { lost: line.lost + 1, typed: Instant::now(), ..line };
        let keeps = line.once.is_some() && line.lost < TRIES;
        if keeps {
            complain(AGAIN);
            self.again = Some(line);
        }
        keeps
    }

    /// Keeps a line that was not begun; false when another owner was waited for long enough.
    fn keep_waiting(&mut self, line: Line) -> bool {
        let keeps = line.typed.elapsed() < PATIENCE;
        if keeps {
            if !line.waits {
                complain(ENDING);
            }
            self.again = Some(Line { waits: true, ..line });
        }
        keeps
    }

    /// Takes note of what was said and answered, and of how it ended.
    fn note(&mut self, asked: String, answer: &str, privacy: Privacy, status: u8) {
        let said = |role, text| Said { role, text, privacy, aside: false };
        self.said.push_back(said(Role::User, asked));
        if !answer.trim().is_empty() {
            self.said.push_back(said(Role::Assistant, answer.trim().to_string()));
        }
        let mut bytes: usize = self.said.iter().map(|said| said.text.len()).sum();
        while bytes > HISTORY {
            let Some(first) = self.said.pop_front() else { break };
            bytes -= first.text.len();
        }
        // At a terminal the human has seen what went wrong.
        self.status = if self.at_terminal { DONE } else { worse(self.status, status) };
    }

    /// Ends an answer: with an empty line, or with nothing where each is one line of JSON.
    fn end(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if !self.manner.json {
            writeln!(out)?;
        }
        Ok(out.flush()?)
    }

    /// Says of one line why it was not asked, and goes on.
    fn refuse(&mut self, failure: &Failure) {
        // Who has closed standard error reads nothing.
        let _ = writeln!(std::io::stderr(), "passepartout: {}", failure.text);
        self.status = if self.at_terminal { DONE } else { worse(self.status, FAILED) };
    }
}

/// Has each line answered by the process that owns the store, to the end of the input; `None` when that process ended.
async fn at_owner(
    mut owner: Owner,
    place: &Place,
    talk: &mut Talk,
    out: &mut dyn Write,
) -> Result<Option<u8>, Failure> {
    let project = place.project.clone().or_else(|| std::env::current_dir().ok());
    let project = project.map(|path| std::path::absolute(&path).unwrap_or(path));
    if let Some(name) = &talk.manner.preset {
        match owner.choose_preset(name).await {
            Err(_) if owner.is_gone() => return Ok(None),
            chosen => chosen?,
        }
    }
    while let Some(line) = in_place(|| talk.line(out))? {
        if line.text.starts_with('/') {
            let reader = engine(place, Keep::ToRead).await?;
            let decision = reader.typed_decision(&line.text).map(|(id, decided)| elsewhere(id, &decided));
            reader.close().await;
            if let Some(failure) = decision {
                talk.refuse(&failure);
                continue;
            }
        }
        let asked = (line.text.as_str(), line.once.as_deref());
        let turned = match owner.go_on(asked, project.as_deref(), talk.said.iter()).await {
            Err(why) if owner.is_gone() => return if talk.keep_lost(line) { Ok(None) } else { Err(why) },
            turned => turned?,
        };
        if turned.before {
            talk.refuse(&Failure::from(turned.notice.unwrap_or(turned.text)));
            continue;
        }
        if turned.again {
            if !talk.keep_waiting(line) {
                return Err(turned.notice.unwrap_or(turned.text).into());
            }
            // Until it has ended it says the same.
            tokio::time::sleep(PAUSE).await;
            return Ok(None);
        }
        let (answer, privacy, mut left) = (turned.text.clone(), turned.privacy, turned.tasks);
        let (mut status, mut tasks) = (DONE, Vec::new());
        let mut asked = Some(turned);
        if !talk.manner.json {
            status = worse(status, print_turned(asked.take(), place, Way::default(), out).await?);
        }
        while left > 0 {
            let report = owner.report().await?;
            left = report.tasks;
            status = worse(status, report.printed(place, &talk.manner, &mut tasks, out).await?);
        }
        let way = Way { json: true, kept: true, tasks, ..Way::default() };
        status = worse(status, print_turned(asked, place, way, out).await?);
        talk.note(line.text, &answer, privacy, status);
        talk.end(out)?;
    }
    Ok(Some(talk.status))
}

/// Answers each line in this process, which owns the store meanwhile.
fn here(place: &Place, talk: &mut Talk, out: &mut dyn Write) -> Result<u8, Failure> {
    let (tell, mut reports) = mpsc::unbounded_channel();
    let notify = hearing(complaining(), tell);
    with_engine_that_tells(place, Keep::Along, notify, async |engine| {
        if engine.beside().is_some() {
            return Err(not_beside(owner_of(&engine.config.store)));
        }
        blocking(engine, |engine| engine.read_memex(&mut |_| {})).await?;
        if let Some(name) = &talk.manner.preset {
            engine.set_preset(&origin(false), name).await?;
        }
        engine.stay_for(&origin(false).session);
        while let Some(line) = in_place(|| talk.line(out))? {
            if let Some((id, decided)) = engine.typed_decision(&line.text) {
                let failure = elsewhere(id, &decided);
                talk.refuse(&failure);
                continue;
            }
            let (folder, history) = (std::env::current_dir().ok(), talk.said.iter().cloned().collect());
            let ask = Ask {
                origin: origin(false),
                text: line.text.clone(),
                history,
                older: Default::default(),
                folder,
                attached: Vec::new(),
                pictures: Vec::new(),
                wishes: Default::default(),
            };
            let (turn, mut answer) = (engine.new_turn(), String::new());
            // Only one that another process was asked before needs its name here.
            if let Some(before) = asked_before(engine, line.once.as_deref().filter(|_| line.lost > 0), &turn).await? {
                talk.refuse(&before);
                continue;
            }
            let mut hear = |piece: Streamed<'_>| {
                doing::heard(piece);
                answer.push_str(piece.text());
            };
            let finished = engine.ask(ask, turn, &mut hear).await;
            doing::over();
            engine.flush().await?;
            let json = talk.manner.json;
            let mut status = match json {
                true => ended(finished.report.ending.name()),
                false => print_turn(engine, &finished, &answer, place, Way { kept: true, ..Way::default() }, out)?,
            };
            let (later, tasks) = told_later(engine, &mut reports, (place, &talk.manner, true), out).await?;
            status = worse(status, later);
            if json {
                let way = Way { json, kept: true, tasks, ..Way::default() };
                print_turn(engine, &finished, &answer, place, way, out)?;
            }
            let privacy = finished.report.conversation.labels.privacy.max(engine.known_privacy(&finished.session));
            talk.note(line.text, &answer, privacy, status);
            talk.end(out)?;
        }
        Ok(talk.status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::reader::Sexp;
    use crate::edge::cli::forward::tests::owner;
    use crate::edge::peers::pulse;
    use crate::edge::peers::stream::{Incoming, write};

    #[tokio::test(flavor = "multi_thread")]
    async fn a_line_whose_owner_ends_is_asked_of_the_next_one_whether_it_was_begun_or_not() {
        let leaving = format!("(:type :event :payload (:action {}))", Sexp::keyword(pulse::LEAVING));
        for (preset, says, lost) in [(None, Some(leaving.as_str()), 0), (None, None, 1), (Some("deep"), None, 0)] {
            let (owner, theirs) = owner();
            let (preset, says) = (preset.map(str::to_string), says.map(str::to_string));
            let case = format!("{preset:?} {says:?}");
            let mut talk = Talk::new(&Manner { preset, ..Manner::default() });
            talk.again = Some(Line::new("what is due?".to_string()));
            let name = talk.again.as_ref().and_then(|line| line.once.clone());
            let (reader, mut writer) = theirs.into_split();
            let ends = tokio::spawn(async move {
                Incoming::new(reader).next().await.expect("something is asked").expect("a message");
                if let Some(says) = says {
                    write(&mut writer, &says).await.expect("it is taken");
                }
            });
            let mut out = Vec::new();
            let ran = at_owner(owner, &Place::default(), &mut talk, &mut out).await;
            ends.await.expect("it ends");
            assert!(ran.is_ok_and(|ran| ran.is_none()), "{case}: the next one is joined");
            let line = talk.again.expect("it is asked again");
            assert_eq!((line.text.as_str(), line.once, line.lost), ("what is due?", name, lost), "{case}");
        }
        let mut talk = Talk::new(&Manner::default());
        assert!(!talk.keep_lost(Line { lost: TRIES - 1, ..Line::new("x".to_string()) }), "not for ever");
        assert!(!talk.keep_lost(Line { once: None, ..Line::new("x".to_string()) }), "it could be asked twice");
    }

    #[test]
    fn the_oldest_of_a_long_conversation_is_left_out_first() {
        let (manner, said) = (Manner::default(), VecDeque::new());
        let mut talk = Talk { manner, at_terminal: false, said, status: DONE, again: None };
        for n in 0..10 {
            talk.note(format!("question {n}"), &"a".repeat(HISTORY / 4), Privacy::Open, DONE);
        }
        let texts: Vec<&str> = talk.said.iter().map(|said| said.text.as_str()).collect();
        assert!(texts.contains(&"question 9") && !texts.contains(&"question 0"), "{}", texts.len());
        assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= HISTORY);
        talk.note("last".to_string(), " ", Privacy::Private, FAILED);
        assert_eq!((talk.status, talk.said.back().map(|said| said.privacy)), (FAILED, Some(Privacy::Private)));
        talk.note("later".to_string(), "well", Privacy::Open, DONE);
        assert_eq!(talk.status, FAILED, "a pipe hears of it");
    }
}
