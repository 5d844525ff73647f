//! How the hashes of private notes follow memory, and who is told which note a text quotes.
//!
//! Small changes are taken at once, with the full-text index; the rest is read by its thread. What is not read yet is
//! not found, and the doctor says how much that is.

use crate::domain::gate::facts::QuotedNote;
use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::label::Privacy;
use crate::domain::memory::card::Card;
use crate::domain::memory::document::Document;
use crate::domain::memory::quotation::{Prints, Quotations, node_with};
use crate::domain::port::{Locality, Message, Prompt, ProviderError};
use crate::edge::engine::Engine;
use crate::edge::engine::kept_back::BY_PROPERTY;
use crate::edge::provider::cascade::Reply;
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// After a start so many headings are read at once, before anything is asked.
const AT_START: usize = 2_000;

/// What is known of private notes' words, and what is to be told about it.
#[derive(Default)]
pub(in crate::edge) struct Quoting {
    known: RwLock<Quotations>,
    /// By conversation: the note that its words stand in, or what was left out, until the user is told.
    untold: Mutex<HashMap<SessionId, String>>,
}

/// How many private notes are read for quotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotationsRead {
    /// Files with something private.
    pub files: usize,
    /// Of these, the ones that are not read yet.
    pub waiting: usize,
    /// Of these, the ones that there is no room for.
    pub left_out: usize,
    /// Of these, the ones of which the notes that only warn are left out, and nothing else.
    pub left_out_warning: usize,
}

/// The most private notes whose words stand in a prompt, by where they do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quoted {
    /// In the conversation: in what was said in it, or came of it.
    pub(super) said: Option<QuotedNote>,
    /// In what is told beside it, and in which part of that. Nobody put it into the conversation, and what is told
    /// another time may be without it.
    pub(super) beside: Option<(QuotedNote, String)>,
}

impl Quoted {
    /// Returns how private the most private of them is.
    pub(super) fn privacy(&self) -> Option<Privacy> {
        let beside = self.beside.as_ref().map(|(note, _)| note);
        self.said.iter().chain(beside).map(|note| note.privacy).max()
    }

    /// Leaves those alone that are more private than this.
    pub(super) fn beyond(self, privacy: Privacy) -> Quoted {
        let said = self.said.filter(|note| note.privacy > privacy);
        Quoted { said, beside: self.beside.filter(|(note, _)| note.privacy > privacy) }
    }
}

/// Whether words of it are looked for: it may leave only if the user says so, if at all, or the user wants to be told.
fn is_private(card: &Card) -> bool {
    card.strictest() > Privacy::Open
}

impl Engine {
    /// Lets what is known follow a change of memory. The caller holds the lock of changes.
    pub(super) fn quotations_follow(&self, changed: &[Arc<Document>], gone: &[&str], at_once: bool) {
        let private = |document: &&Arc<Document>| document.privacy.iter().any(|privacy| *privacy > Privacy::Open);
        let prints: Vec<Prints> = match at_once {
            true => changed.iter().filter(private).map(|document| Prints::of(document)).collect(),
            false => Vec::new(),
        };
        let mut known = self.quoting.known.write();
        gone.iter().for_each(|file| known.forget(file));
        for document in changed.iter().filter(|document| !private(document)) {
            known.forget(&document.file);
        }
        // What a large change left of a file stays known until it has been read anew.
        prints.into_iter().for_each(|prints| known.take(prints));
    }

    /// Reads what is missing after a start: little of it at once, much in the background.
    pub(super) fn start_quotations(&self) {
        let view = self.view();
        let headings: usize = view.cards().filter(|card| is_private(card)).map(|card| card.len()).sum();
        match headings {
            0 => {}
            1..=AT_START => self.fill_quotations(),
            _ => self.fill_soon(),
        }
    }

    /// Reads the private notes that are not known as memory has them, and forgets what is none any more.
    pub(super) fn fill_quotations(&self) {
        let view = self.view();
        let missing: Vec<Arc<str>> = {
            let known = self.quoting.known.read();
            view.cards().filter(|card| is_private(card) && !known.knows(card)).map(|card| card.file.clone()).collect()
        };
        for file in missing {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let Some(document) = view.document(&file) else { continue };
            let prints = Prints::of(&document);
            let _order = self.changing.lock();
            // What changed meanwhile was taken by whoever changed it, or is read the next time.
            if self.view().card(&file).is_some_and(|card| prints.are_of(card)) {
                self.quoting.known.write().take(prints);
            }
        }
        let _order = self.changing.lock();
        let view = self.view();
        let mut known = self.quoting.known.write();
        let stale = |file: &&Arc<str>| !view.card(file).is_some_and(|card| is_private(card));
        let gone: Vec<Arc<str>> = known.files().filter(stale).cloned().collect();
        gone.iter().for_each(|file| known.forget(file));
    }

    /// Returns how many private notes are read for quotations.
    pub fn quotations_read(&self) -> QuotationsRead {
        let view = self.view();
        let known = self.quoting.known.read();
        let private: Vec<&Arc<Card>> = view.cards().filter(|card| is_private(card)).collect();
        let waiting = private.iter().filter(|card| !known.knows(card)).count();
        let (left_out, left_out_warning) = (known.left_out(), known.left_out_warning());
        QuotationsRead { files: private.len(), waiting, left_out, left_out_warning }
    }

    /// Returns whether the private notes have been read by whose words quotations are known, and there was room for all.
    pub(super) fn knows_every_quotation(&self) -> bool {
        let read = self.quotations_read();
        read.waiting == 0 && read.left_out == 0
    }

    /// Returns whether the words of any private note are known.
    pub(super) fn knows_quotations(&self) -> bool {
        !self.quoting.known.read().is_empty()
    }

    /// Returns the most private note whose words stand in a text. Its title is for the user, never for a model.
    pub(super) fn quotation(&self, text: &str) -> Option<QuotedNote> {
        let (row, privacy, files) = {
            let known = self.quoting.known.read();
            let (row, privacy) = known.quoted(text)?;
            (row, privacy, known.files_with(row, privacy).into_iter().cloned().collect::<Vec<_>>())
        };
        let view = self.view();
        let found = files.iter().find_map(|file| {
            let document = view.document(file)?;
            let index = node_with(&document, row, privacy)?;
            Some(QuotedNote { title: title(&document, index)?, tag: self.tag_of(document.card(), index), privacy })
        });
        // It was known a moment ago, so it is private, whatever it was called.
        let nameless = || QuotedNote { title: "without a title".to_string(), tag: BY_PROPERTY.to_string(), privacy };
        Some(found.unwrap_or_else(nameless))
    }

    /// Returns whether words stand in a text of a note that is more private than this.
    pub(super) fn quotes_beyond(&self, text: &str, may_see: Privacy) -> bool {
        self.quoting.known.read().quoted(text).is_some_and(|(_, privacy)| privacy > may_see)
    }

    /// Returns the most private notes whose words stand anywhere in a prompt: in what is told beside the conversation, of
    /// memory too, in the conversation, or in what is said of tools. What is sent and what is proven of it both rest on this.
    pub(super) fn quoted_in(&self, prompt: &Prompt) -> Quoted {
        if !self.knows_quotations() {
            return Quoted::default();
        }
        let (mut said, mut beside): (Option<QuotedNote>, Option<(QuotedNote, String)>) = (None, None);
        for tool in &prompt.tools {
            let found = [self.quotation(&tool.summary), self.quotation_in(&tool.schema)];
            let found = found.into_iter().flatten().map(|note| (note, format!("the tool {}", tool.name)));
            beside = beside.into_iter().chain(found).max_by_key(|(note, _)| note.privacy);
        }
        let told = self.quotation(&prompt.system).map(|note| {
            let part = self.quoting_part(prompt, note.privacy);
            (note, format!("what models are told ({part})"))
        });
        beside = beside.into_iter().chain(told).max_by_key(|(note, _)| note.privacy);
        for message in &prompt.messages {
            let mut found: Vec<QuotedNote> = said.into_iter().collect();
            match message {
                Message::Text { text, .. } | Message::Result { text, .. } => found.extend(self.quotation(text)),
                Message::Calls { text, calls, thinking } => {
                    found.extend(self.quotation(text));
                    found.extend(self.quotation(&thinking.text()));
                    let args = calls.iter().flat_map(|call| call.args.values());
                    found.extend(args.filter_map(|value| self.quotation_in(value)));
                }
                // What stands in a picture is not read here.
                Message::Picture(_) => {}
            }
            said = found.into_iter().max_by_key(|note| note.privacy);
            if said.as_ref().is_some_and(|note| note.privacy == Privacy::Private) {
                break;
            }
        }
        Quoted { said, beside }
    }

    /// Returns what people call the part of the system text in which words of a note so private stand.
    fn quoting_part(&self, prompt: &Prompt, privacy: Privacy) -> &'static str {
        let mut begin = 0;
        let quotes = |(name, end): &(&'static str, usize)| {
            let text = prompt.system.get(std::mem::replace(&mut begin, *end)..*end).unwrap_or_default();
            self.quoting.known.read().quoted(text).filter(|(_, found)| *found == privacy).map(|_| *name)
        };
        // They may stand where two parts meet.
        prompt.parts.iter().find_map(quotes).unwrap_or("all of it together")
    }

    /// Looks through the texts of an argument.
    fn quotation_in(&self, value: &Value) -> Option<QuotedNote> {
        let found = crate::domain::action::texts(value).into_iter().filter_map(|text| self.quotation(text));
        found.max_by_key(|note| note.privacy)
    }

    /// Has the user told at the end of the turn which note the words of a conversation stand in, or of a part of what is
    /// told beside it. Returns whether that is new in this turn.
    pub(super) fn tell_quotation(
        &self,
        session: &SessionId,
        part: Option<&str>,
        title: Option<&str>,
        privacy: Privacy,
    ) -> bool {
        let words = part.unwrap_or("this conversation");
        if privacy == Privacy::Warn {
            let note = title.map_or("a note".to_string(), |title| format!("the note “{title}”"));
            return self.tell(
                session,
                format!("Words of {words} stand in {note}, and go to a model elsewhere: its tag warns."),
            );
        }
        let note = title.map_or("a private note".to_string(), |title| format!("the private note “{title}”"));
        let (so, change) = match part {
            None => ("so it counts as private, and only models that run here are asked", ""),
            Some(_) => ("so only models that run here are asked", "; change the one or the other to have others asked"),
        };
        let way = match privacy {
            Privacy::Ask => "; /share lets notes that you want to be asked about go elsewhere in this conversation",
            Privacy::Open | Privacy::Warn | Privacy::Private => change,
        };
        self.tell(session, format!("Words of {words} stand in {note}, {so}{way}."))
    }

    /// Has the user told something at the end of a turn of a conversation. Returns whether that is new in this turn.
    pub(super) fn tell(&self, session: &SessionId, said: String) -> bool {
        let mut untold = self.quoting.untold.lock();
        let known = untold.entry(session.clone()).or_default();
        let new = !known.contains(&said);
        if new {
            let gap = if known.is_empty() { "" } else { " " };
            known.push_str(&format!("{gap}{said}"));
        }
        new
    }

    /// Has the user told who was to answer before who did, and why they did not: where no model answered at all each time,
    /// and else once in a conversation, until it is another reason.
    pub(super) fn tell_passed(&self, session: &SessionId, reply: &Reply) {
        let mut passed = self.passed.lock();
        let known = passed.entry(session.clone()).or_default();
        known.remove(&reply.completion.provider);
        for ProviderError { provider, text, .. } in &reply.before {
            let again = known.insert(provider.clone(), text.clone()).as_ref() == Some(text);
            if !again || reply.locality == Locality::Builtin {
                let why = text.trim_end_matches(['.', '?', '!']);
                self.tell(session, exact(&format!("{provider} did not answer: {why}.")));
            }
        }
    }

    /// Returns what the user is to be told of quotations in a conversation; once.
    pub(super) fn untold_quotation(&self, session: &SessionId) -> Option<String> {
        self.quoting.untold.lock().remove(session)
    }
}

/// Returns the title of a node for a sentence; above the first heading, the file's name.
fn title(document: &Document, index: usize) -> Option<String> {
    let node = document.outline.nodes.get(index)?;
    let title = document.outline.slice(&node.title).trim();
    let title = if index == 0 || title.is_empty() { document.file.rsplit('/').next()? } else { title };
    Some(title.chars().filter(|c| !c.is_control()).take(80).collect())
}
