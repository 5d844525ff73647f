//! Buffers of several clients: which one of those that visit a file counts.
//!
//! What is typed and not saved counts more than the file; of two such texts the one that was typed last.

use crate::domain::sexp::reader::Sexp;
use crate::edge::runtime::clients::ClientId;
use crate::edge::runtime::mirror::{Job, Mirrors, Outcome, Update};
use std::collections::HashMap;

/// The mirrors of all clients.
#[derive(Default)]
pub(super) struct Opened {
    mirrors: HashMap<ClientId, Mirrors>,
    /// Who has a file open; who spoke of it last comes last.
    open: HashMap<String, Vec<ClientId>>,
    /// Who spoke of a file last, also to close it.
    last: HashMap<String, ClientId>,
}

impl Opened {
    /// Takes one `buffer-update` of a client about a file.
    pub(super) fn take(&mut self, client: ClientId, file: &str, payload: &Sexp) -> Update {
        let who = self.open.entry(file.to_string()).or_default();
        who.retain(|other| *other != client);
        if payload.name_at("part") == Some("closed") {
            if who.is_empty() {
                self.open.remove(file);
            }
        } else {
            who.push(client);
        }
        self.last.insert(file.to_string(), client);
        self.mirrors.entry(client).or_insert_with(|| Mirrors::of(client)).take(file, payload)
    }

    /// Returns whether a client has a file open.
    pub(super) fn is_open(&self, file: &str) -> bool {
        self.open.contains_key(file)
    }

    /// Returns whether a buffer is known to hold what its file does not.
    pub(super) fn ahead(&self, file: &str) -> bool {
        self.open.get(file).is_some_and(|who| who.iter().any(|client| self.is_ahead(*client, file)))
    }

    fn is_ahead(&self, client: ClientId, file: &str) -> bool {
        self.mirrors.get(&client).is_some_and(|mirrors| mirrors.ahead(file))
    }

    /// Returns what is to be done to get the text of a file that counts now.
    pub(super) fn job(&self, file: &str) -> Job {
        let who = self.open.get(file).map_or(&[][..], Vec::as_slice);
        let ahead = who.iter().rev().find(|client| self.is_ahead(**client, file));
        // A buffer that equals its file says nothing when another one of it was saved or closed since.
        let latest = || who.last().filter(|client| self.last.get(file) == Some(client));
        let mirrors = ahead.or_else(latest).and_then(|client| self.mirrors.get(client));
        mirrors.map_or_else(Job::of_disk, |mirrors| mirrors.job(file))
    }

    /// Takes note of what became of a job; returns the buffer that must be sent whole: whose it is, and its file's name.
    pub(super) fn settle(&mut self, file: &str, outcome: Outcome) -> Option<(ClientId, String)> {
        let client = outcome.client()?;
        let typed = self.mirrors.get_mut(&client)?.settle(file, outcome)?;
        Some((client, typed))
    }

    /// Forgets a client; returns the files that it had open.
    pub(super) fn leave(&mut self, client: ClientId) -> Vec<String> {
        self.mirrors.remove(&client);
        let theirs: Vec<String> =
            self.open.iter().filter(|(_, who)| who.contains(&client)).map(|(file, _)| file.clone()).collect();
        for file in &theirs {
            self.last.insert(file.clone(), client);
            if let Some(who) = self.open.get_mut(file) {
                who.retain(|other| *other != client);
                if who.is_empty() {
                    self.open.remove(file);
                }
            }
        }
        theirs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::runtime::mirror::OnDisk;

    const FILE: &str = "/f.org";

    fn tell(opened: &mut Opened, client: ClientId, part: &str) {
        let payload = Sexp::read(&format!("(:file \"/f.org\" :part {part})")).expect("a test's own message");
        opened.take(client, FILE, &payload);
    }

    fn read(opened: &mut Opened) -> String {
        let (text, outcome) = opened.job(FILE).text(|| Ok(Some(OnDisk { text: "disk".into(), modified: Some(1) })));
        assert_eq!(opened.settle(FILE, outcome), None);
        text.expect("it is read").expect("there is one").to_string()
    }

    #[test]
    fn what_is_not_saved_counts_whoever_has_it() {
        let mut opened = Opened::default();
        tell(&mut opened, 0, ":saved :modified 1");
        tell(&mut opened, 1, ":saved :modified 1");
        assert_eq!((read(&mut opened).as_str(), opened.ahead(FILE)), ("disk", false));
        tell(&mut opened, 0, ":change :beg 0 :end 1 :text \"D\" :size 4");
        assert_eq!((read(&mut opened).as_str(), opened.ahead(FILE)), ("Disk", true));
        tell(&mut opened, 1, ":saved :modified 1");
        assert_eq!(read(&mut opened), "Disk", "that the other one has the file again takes nothing away");
        tell(&mut opened, 1, ":change :beg 4 :end 4 :text \"!\" :size 5");
        assert_eq!(read(&mut opened), "disk!", "of two the one that was typed last");
        tell(&mut opened, 1, ":closed");
        assert_eq!(read(&mut opened), "Disk");
        tell(&mut opened, 0, ":closed");
        assert_eq!((read(&mut opened).as_str(), opened.ahead(FILE), opened.is_open(FILE)), ("disk", false, false));
    }

    #[test]
    fn a_clean_buffer_of_an_older_file_does_not_count_when_another_was_saved_or_has_gone() {
        for end in [":closed", ""] {
            let mut opened = Opened::default();
            tell(&mut opened, 1, ":saved :modified 1");
            assert_eq!(read(&mut opened), "disk");
            tell(&mut opened, 0, ":saved :modified 1");
            tell(&mut opened, 0, ":change :beg 0 :end 1 :text \"D\" :size 4");
            assert_eq!(read(&mut opened), "Disk");
            if end.is_empty() {
                assert_eq!(opened.leave(0), [FILE]);
            } else {
                tell(&mut opened, 0, end);
            }
            let (text, _) = opened.job(FILE).text(|| Ok(Some(OnDisk { text: "newer".into(), modified: Some(2) })));
            assert_eq!(text.expect("it is read").as_deref(), Some("newer"));
            assert!(opened.is_open(FILE), "the other one has it still");
        }
    }
}
