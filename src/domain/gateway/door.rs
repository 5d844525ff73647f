//! Who is let in: senders that the user allowed, which of them may decide about plans, and the code by which a new one shows
//! who it is.
//!
//! A code lets nobody in. It tells the user, in Emacs, which of the senders is the one that the code was given to.

use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// How long a code counts.
const COUNTS: SignedDuration = SignedDuration::from_mins(10);
/// So many wrong codes end a pairing.
const TRIES: u8 = 5;
/// So many strangers are listed; the one that was seen first is forgotten first.
const STRANGERS: usize = 50;
/// So many of the characters of a name are kept.
const NAME: usize = 60;
/// The letters of a code: none that looks like another.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// How long a code is: 40 bits.
pub const CODE: usize = 8;

/// Somebody who wrote and was not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    /// Who.
    pub sender: String,
    /// What it calls itself.
    pub name: String,
    /// When it wrote last.
    pub at: Timestamp,
    /// Whether it sent the code that the user was shown.
    pub paired: bool,
}

struct Pairing {
    hash: blake3::Hash,
    until: Timestamp,
    tries: u8,
}

/// Who may come in, and who knocked.
#[derive(Default)]
pub struct Door {
    allowed: BTreeMap<String, String>,
    /// Who of them may decide about plans, each with the number of that grant.
    deciders: BTreeMap<String, u64>,
    /// How many grants there were.
    grants: u64,
    strangers: VecDeque<Stranger>,
    pairing: Option<Pairing>,
}

/// Makes a code of random bytes.
pub fn code(random: [u8; CODE]) -> String {
    random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

/// Returns the hash of what may be a code, as a person types it; `None` when it is none.
fn typed(text: &str) -> Option<blake3::Hash> {
    let code: String = text.trim().chars().filter(|c| !matches!(c, ' ' | '-')).take(CODE + 1).collect();
    let code = code.to_ascii_uppercase();
    (code.len() == CODE && code.bytes().all(|byte| LETTERS.contains(&byte))).then(|| blake3::hash(code.as_bytes()))
}

impl Door {
    /// Returns a door for these senders, each with its name.
    pub fn of(allowed: BTreeMap<String, String>) -> Door {
        Door { allowed, ..Door::default() }
    }

    /// Returns who is let in, each with its name.
    pub fn allowed(&self) -> &BTreeMap<String, String> {
        &self.allowed
    }

    /// Returns who knocked and is not let in.
    pub fn strangers(&self) -> impl Iterator<Item = &Stranger> {
        self.strangers.iter()
    }

    /// Begins a pairing with a code; another one that goes on ends.
    pub fn pair(&mut self, code: &str, now: Timestamp) {
        let until = now.saturating_add(COUNTS).unwrap_or(now);
        self.pairing = Some(Pairing { hash: blake3::hash(code.as_bytes()), until, tries: 0 });
    }

    /// Takes note of a message, and returns whether its sender is let in. Who is not gets no word.
    pub fn lets_in(&mut self, sender: &str, name: &str, text: &str, now: Timestamp) -> bool {
        if self.allowed.contains_key(sender) {
            return true;
        }
        let before = self.strangers.iter().position(|known| known.sender == sender);
        let before = before.and_then(|at| self.strangers.remove(at));
        let paired = before.is_some_and(|known| known.paired) | self.is_code(text, now);
        if self.strangers.len() >= STRANGERS {
            // Who showed the code stays: a flood of others must not push it out.
            let first = self.strangers.iter().position(|known| !known.paired).unwrap_or(0);
            self.strangers.remove(first);
        }
        let name = name.chars().take(NAME).collect();
        self.strangers.push_back(Stranger { sender: sender.to_string(), name, at: now, paired });
        false
    }

    /// Returns whether a text is the code that the user was shown. It counts once; after a few wrong ones none does.
    fn is_code(&mut self, text: &str, now: Timestamp) -> bool {
        let Some(hash) = typed(text) else { return false };
        let Some(pairing) = self.pairing.as_mut() else { return false };
        pairing.tries = pairing.tries.saturating_add(1);
        // Compared in constant time.
        let right = now < pairing.until && pairing.hash == hash;
        if right || now >= pairing.until || pairing.tries >= TRIES {
            self.pairing = None;
        }
        right
    }

    /// Returns the name of who sent the code, if it did.
    pub fn paired(&self, sender: &str) -> Option<&str> {
        self.strangers.iter().find(|known| known.sender == sender && known.paired).map(|known| known.name.as_str())
    }

    /// Lets a sender in.
    pub fn allow(&mut self, sender: &str, name: &str) {
        self.strangers.retain(|known| known.sender != sender);
        self.allowed.insert(sender.to_string(), name.to_string());
    }

    /// Lets a sender in no more; returns whether it was.
    pub fn revoke(&mut self, sender: &str) -> bool {
        self.deciders.remove(sender);
        self.allowed.remove(sender).is_some()
    }

    /// Lets a sender who is let in decide about plans; returns whether it is.
    pub fn let_decide(&mut self, sender: &str) -> bool {
        let known = self.allowed.contains_key(sender);
        if known {
            self.grants += 1;
            self.deciders.insert(sender.to_string(), self.grants);
        }
        known
    }

    /// Lets a sender decide about plans no more; returns whether it did.
    pub fn decide_no_more(&mut self, sender: &str) -> bool {
        self.deciders.remove(sender).is_some()
    }

    /// Returns the number of the grant by which a sender may decide about plans: what was begun under another one is over.
    pub fn decides(&self, sender: &str) -> Option<u64> {
        self.deciders.get(sender).copied()
    }
}
