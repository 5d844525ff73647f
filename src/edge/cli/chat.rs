//! `passepartout chat`: a conversation line by line, at a terminal or in a pipe: one line in, one answer out.

use crate::domain::label::Privacy;
use crate::domain::port::Streamed;
use crate::domain::signal::{Role, Said};
use crate::edge::cli::args::Place;
use crate::edge::cli::ask::{Manner, Way, asked_before, elsewhere, not_beside, print_turn, print_turned, told_later};
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

/// One conversation.
struct Talk {
    manner: Manner,
    at_terminal: bool,
    said: VecDeque<Said>,
    status: u8,
    /// A line of which it is not known what became of it, with its name; so often it was asked.
    lost: Option<(String, String, usize)>,
}

impl Talk {
    fn new(manner: &Manner) -> Talk {
        Talk {
            manner: manner.clone(),
            at_terminal: std::io::stdin().is_terminal(),
            said: VecDeque::new(),
            status: DONE,
            lost: None,
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

    /// Returns the next line with a name for it and how often it is asked by then: one of which it is not known what
    /// became of it comes first. `None` at the end.
    fn line(&mut self, out: &mut dyn Write) -> Result<Option<(String, Option<String>, usize)>, Failure> {
        match self.lost.take() {
            Some((line, once, tries)) => Ok(Some((line, Some(once), tries + 1))),
            None => Ok(self.next(out)?.map(|line| (line, new_name(), 1))),
        }
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
        owner.choose_preset(name).await?;
    }
    while let Some((line, once, tries)) = in_place(|| talk.line(out))? {
        if line.starts_with('/') {
            let reader = engine(place, Keep::ToRead).await?;
            let decision = reader.typed_decision(&line).map(|(id, decided)| elsewhere(id, &decided));
            reader.close().await;
            if let Some(failure) = decision {
                talk.refuse(&failure);
                continue;
            }
        }
        let turned = match owner.go_on((&line, once.as_deref()), project.as_deref(), talk.said.iter()).await {
            Err(why) if owner.is_gone() => match once.filter(|_| tries < TRIES) {
                Some(once) => {
                    complain(AGAIN);
                    talk.lost = Some((line, once, tries));
                    return Ok(None);
                }
                None => return Err(why),
            },
            turned => turned?,
        };
        if turned.before {
            talk.refuse(&Failure::from(turned.notice.unwrap_or(turned.text)));
            continue;
        }
        if turned.again {
            // Whoever owns the store next knows nothing of this conversation.
            return Err(turned.notice.unwrap_or(turned.text).into());
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
        talk.note(line, &answer, privacy, status);
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
        while let Some((line, once, tries)) = in_place(|| talk.line(out))? {
            if let Some((id, decided)) = engine.typed_decision(&line) {
                let failure = elsewhere(id, &decided);
                talk.refuse(&failure);
                continue;
            }
            let (folder, history) = (std::env::current_dir().ok(), talk.said.iter().cloned().collect());
            let ask = Ask {
                origin: origin(false),
                text: line.clone(),
                history,
                older: Default::default(),
                folder,
                attached: Vec::new(),
                wishes: Default::default(),
            };
            let (turn, mut answer) = (engine.new_turn(), String::new());
            // Only one that another process was asked before needs its name here.
            if let Some(before) = asked_before(engine, once.as_deref().filter(|_| tries > 1), &turn).await? {
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
            talk.note(line, &answer, privacy, status);
            talk.end(out)?;
        }
        Ok(talk.status)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_a_long_conversation_is_left_out_first() {
        let (manner, said) = (Manner::default(), VecDeque::new());
        let mut talk = Talk { manner, at_terminal: false, said, status: DONE, lost: None };
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
