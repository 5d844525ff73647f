//! Mirrors of open buffers: what changed is noted in the loop, and the whole text is put together beside it.
//!
//! A mirror has a base, which is a text or the file on disk, and the changes since. Nothing that the loop does here
//! grows with the size of a buffer.

use crate::domain::sexp::reader::Sexp;
use crate::edge::runtime::clients::ClientId;
use crate::edge::wire::slices::{Joining, Slice};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A buffer larger than this is not mirrored, in bytes; an Org file of that size is not read either.
pub(super) const MOST: usize = 500 * 1024 * 1024;
/// As many changes may wait to be applied; with more the buffer is sent whole.
const MOST_CHANGES: usize = 4096;
/// As many bytes may wait in changes.
const MOST_CHANGED: usize = 16 << 20;

/// So many texts of one client may come at the same time, and of so many it is remembered that they came damaged.
const COMING: usize = 64;
/// A text that came damaged is asked for again so many times.
const AGAIN: u32 = 3;

/// The mirrors of open buffers, by file.
#[derive(Default)]
pub(super) struct Mirrors {
    mirrors: HashMap<String, Mirror>,
    /// How often the buffer of a file had to be asked for as a whole, since it was whole.
    lost: HashMap<String, u32>,
    /// Those of them whose whole is on its way: what changes in it until then is no further reason to ask.
    asked: HashSet<String>,
    /// The texts that come in slices; `None` of one that was given up or not taken, whose other slices say nothing.
    coming: HashMap<String, Option<Joining>>,
    bases: u64,
    client: ClientId,
}

/// What a `buffer-update` came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Update {
    /// The buffer's text may differ from before.
    Changed,
    /// More is to come.
    Waiting,
    /// It does not fit: the buffer must be sent whole.
    Lost,
    /// It is not taken, and not asked for again: why.
    Refused(&'static str),
}

/// What is said of one text too many.
const TOO_MANY: &str = "too many texts of buffers come at once, and not one of them to its end; the file as it is on disk \
                        counts until the buffer is saved or sent again";
/// What is said of a text that is damaged each time.
const DAMAGED: &str = "the text of a buffer came damaged again and again; the file as it is on disk counts until the \
                       buffer is saved or sent again";

/// Tells a base of a mirror from those before it, and from those of other clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Base(ClientId, u64);

struct Mirror {
    base: Base,
    source: Source,
    changes: Vec<Change>,
    /// The bytes of the changes.
    bytes: usize,
    /// The buffer holds what its file does not.
    ahead: bool,
    /// The file's name as the client has it.
    typed: String,
}

#[derive(Clone)]
enum Source {
    /// The file on disk, when it was last changed at this time: in nanoseconds since 1970.
    Disk(Option<i64>),
    /// A text as it was sent.
    Sent(Arc<String>),
    /// A text that memory knows.
    Known(Arc<str>),
}

#[derive(Clone)]
struct Change {
    begin: usize,
    end: usize,
    text: Arc<str>,
    /// The size of the whole after it.
    size: usize,
}

impl Mirrors {
    /// The mirrors of one client.
    pub(super) fn of(client: ClientId) -> Mirrors {
        Mirrors { client, ..Mirrors::default() }
    }

    /// Takes one `buffer-update` about a file.
    pub(super) fn take(&mut self, file: &str, payload: &Sexp) -> Update {
        let update = self.fit(file, payload);
        let is_change = payload.name_at("part") == Some("change");
        match update {
            Update::Changed if !is_change => {
                self.lost.remove(file);
                self.asked.remove(file);
            }
            Update::Lost if is_change && self.asked.contains(file) => return Update::Waiting,
            Update::Lost => return self.ask_again(file),
            Update::Refused(_) => {
                self.mirrors.remove(file);
            }
            Update::Changed | Update::Waiting => {}
        }
        update
    }

    /// Has a buffer asked for as a whole, but not for ever.
    fn ask_again(&mut self, file: &str) -> Update {
        if self.lost.len() >= COMING && !self.lost.contains_key(file) {
            return Update::Refused(DAMAGED);
        }
        let times = self.lost.entry(file.to_string()).or_default();
        *times = times.saturating_add(1);
        if *times <= AGAIN {
            self.asked.insert(file.to_string());
            return Update::Lost;
        }
        self.mirrors.remove(file);
        // It is said once.
        if *times > AGAIN + 1 { Update::Waiting } else { Update::Refused(DAMAGED) }
    }

    fn begin(&mut self, file: &str) -> Update {
        self.coming.remove(file);
        if self.coming.values().flatten().count() >= COMING {
            if self.coming.len() < 2 * COMING {
                self.coming.insert(file.to_string(), None);
            }
            return Update::Refused(TOO_MANY);
        }
        self.coming.insert(file.to_string(), Some(Joining::new(MOST)));
        Update::Waiting
    }

    fn fit(&mut self, file: &str, payload: &Sexp) -> Update {
        match payload.name_at("part") {
            Some("saved") => {
                self.coming.remove(file);
                self.start(file, Source::Disk(payload.int_at("modified")), false, payload);
                Update::Changed
            }
            Some("closed") => {
                self.coming.remove(file);
                self.mirrors.remove(file);
                Update::Changed
            }
            Some("begin") => self.begin(file),
            Some("slice") => self.slice(file, payload),
            Some("end") => match self.coming.remove(file) {
                None => Update::Lost,
                Some(None) => Update::Waiting,
                Some(Some(coming)) => match whole(coming, payload) {
                    Some(text) => {
                        self.start(file, Source::Sent(Arc::new(text)), true, payload);
                        Update::Changed
                    }
                    None => Update::Lost,
                },
            },
            Some("change") => self.change(file, payload).unwrap_or_else(|| {
                self.mirrors.remove(file);
                Update::Lost
            }),
            _ => Update::Lost,
        }
    }

    fn start(&mut self, file: &str, source: Source, ahead: bool, payload: &Sexp) {
        self.bases += 1;
        let typed = payload.text_at("file").unwrap_or(file).to_string();
        let mirror =
            Mirror { base: Base(self.client, self.bases), source, changes: Vec::new(), bytes: 0, ahead, typed };
        self.mirrors.insert(file.to_string(), mirror);
    }

    fn slice(&mut self, file: &str, payload: &Sexp) -> Update {
        let others = self.coming.values().flatten().map(Joining::len).sum::<usize>();
        let coming = match self.coming.get_mut(file) {
            None => return Update::Lost,
            // Once is enough to ask for all of it.
            Some(None) => return Update::Waiting,
            Some(Some(coming)) => coming,
        };
        let Slice { number, text, .. } = Slice::read(payload, "text");
        let others: usize = others.saturating_add(text.len());
        if others > MOST {
            self.coming.insert(file.to_string(), None);
            return Update::Refused(TOO_MANY);
        }
        if number.is_some_and(|number| coming.add(number, text).is_ok()) && !coming.is_over() {
            return Update::Waiting;
        }
        self.coming.insert(file.to_string(), None);
        Update::Lost
    }

    fn change(&mut self, file: &str, payload: &Sexp) -> Option<Update> {
        let (begin, end, size) = (payload.count_at("beg")?, payload.count_at("end")?, payload.count_at("size")?);
        let text: Arc<str> = payload.text_at("text").unwrap_or("").into();
        let mirror = self.mirrors.get_mut(file)?;
        mirror.bytes += text.len();
        mirror.ahead = true;
        mirror.changes.push(Change { begin, end, text, size });
        let fits = mirror.changes.len() <= MOST_CHANGES && mirror.bytes <= MOST_CHANGED;
        fits.then_some(Update::Changed)
    }

    /// Returns whether a buffer is known to hold what its file does not.
    pub(super) fn ahead(&self, file: &str) -> bool {
        self.mirrors.get(file).is_some_and(|mirror| mirror.ahead)
    }

    /// Returns what is to be done to get the text of a file as it is now.
    pub(super) fn job(&self, file: &str) -> Job {
        match self.mirrors.get(file) {
            Some(mirror) => {
                Job { base: Some(mirror.base), source: mirror.source.clone(), changes: mirror.changes.clone() }
            }
            None => Job::of_disk(),
        }
    }

    /// Takes note of what became of a job; returns the client's name of a file whose buffer must be sent whole.
    pub(super) fn settle(&mut self, file: &str, outcome: Outcome) -> Option<String> {
        let mirror = self.mirrors.get_mut(file).filter(|mirror| Some(mirror.base) == outcome.base)?;
        match outcome.end {
            End::Known { text, changes } => {
                mirror.source = Source::Known(text);
                let applied = mirror.changes.drain(..changes.min(mirror.changes.len()));
                mirror.bytes -= applied.map(|change| change.text.len()).sum::<usize>();
                None
            }
            End::Unfit => {
                let (asked, typed) = (!mirror.changes.is_empty(), mirror.typed.clone());
                self.mirrors.remove(file);
                // What is on its way already need not be asked for.
                (asked && !self.coming.contains_key(file)).then_some(typed)
            }
        }
    }
}

/// Returns a text of which all slices came; `None` when they are not those that its end names.
fn whole(coming: Joining, payload: &Sexp) -> Option<String> {
    coming.ends(payload.text_at("hash")).ok()?;
    coming.text()
}

/// A file as it is on disk.
pub(super) struct OnDisk {
    pub(super) text: Arc<str>,
    /// When it was last changed, in nanoseconds since 1970; `None` when it was being changed.
    pub(super) modified: Option<i64>,
}

/// How to get the text of a file as it was when this was asked for.
pub(super) struct Job {
    base: Option<Base>,
    source: Source,
    changes: Vec<Change>,
}

/// What became of a job.
pub(super) struct Outcome {
    base: Option<Base>,
    end: End,
    /// The disk was asked, and the file is not there.
    gone: bool,
}

enum End {
    /// This is the buffer's text, with so many changes applied.
    Known { text: Arc<str>, changes: usize },
    /// What the buffer holds is not known.
    Unfit,
}

impl Outcome {
    /// Returns whose buffer it is about.
    pub(super) fn client(&self) -> Option<ClientId> {
        self.base.map(|Base(client, _)| client)
    }

    /// Returns whether the file counts, and is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.gone
    }
}

impl Job {
    /// The file as it is on disk counts.
    pub(super) fn of_disk() -> Job {
        Job { base: None, source: Source::Disk(None), changes: Vec::new() }
    }

    /// Puts the text together: what memory should take, or why there is nothing to take, and what became of this.
    /// `disk` gives `None` for a file that is gone. It may take long.
    pub(super) fn text(
        self,
        disk: impl FnOnce() -> Result<Option<OnDisk>, String>,
    ) -> (Result<Option<Arc<str>>, String>, Outcome) {
        let Job { base, source, changes } = self;
        let unfit = |taken| (taken, Outcome { base, end: End::Unfit, gone: false });
        let start: Arc<str> = match source {
            Source::Known(text) => text,
            Source::Sent(text) => text.as_str().into(),
            Source::Disk(named) => match disk() {
                Err(why) => return unfit(Err(why)),
                Ok(None) => return (Ok(None), Outcome { base, end: End::Unfit, gone: changes.is_empty() }),
                Ok(Some(found)) if named.is_some() && found.modified == named => found.text,
                // The file counts, and nothing is known of the buffer.
                Ok(Some(found)) => return unfit(Ok(changes.is_empty().then_some(found.text))),
            },
        };
        match apply(start, &changes) {
            Some(text) => {
                let end = End::Known { text: text.clone(), changes: changes.len() };
                (Ok(Some(text)), Outcome { base, end, gone: false })
            }
            None => unfit(Ok(None)),
        }
    }
}

/// Applies changes in their order; `None` when one does not fit.
fn apply(start: Arc<str>, changes: &[Change]) -> Option<Arc<str>> {
    if changes.is_empty() {
        return Some(start);
    }
    // Room for all of them at once: a large buffer is copied twice and no more.
    let most = changes.iter().map(|change| change.text.len()).sum::<usize>();
    let mut text = String::with_capacity(start.len() + most);
    text.push_str(&start);
    for Change { begin, end, text: new, size } in changes {
        // The places are looked at first: a range that does not fit would panic.
        text.get(*begin..*end)?;
        text.replace_range(*begin..*end, new);
        if text.len() != *size || *size > MOST {
            return None;
        }
    }
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::wire::slices::chain;

    const FILE: &str = "/f.org";

    fn update(mirrors: &mut Mirrors, text: &str) -> Update {
        let payload = Sexp::read(text).expect("a test's own message");
        mirrors.take(FILE, &payload)
    }

    /// The text of the mirror, and the buffer that must be sent whole.
    fn read(mirrors: &mut Mirrors, disk: (&str, Option<i64>)) -> (Option<String>, Option<String>) {
        let on_disk = || Ok(Some(OnDisk { text: disk.0.into(), modified: disk.1 }));
        let (text, outcome) = mirrors.job(FILE).text(on_disk);
        (text.expect("the disk can be read").map(|text| text.to_string()), mirrors.settle(FILE, outcome))
    }

    fn known(text: &str) -> (Option<String>, Option<String>) {
        (Some(text.to_string()), None)
    }

    #[test]
    fn changes_are_spliced_and_what_does_not_fit_is_noticed() {
        let whole = |mirrors: &mut Mirrors| {
            assert_eq!(update(mirrors, "(:part :begin :size 5)"), Update::Waiting);
            assert_eq!(update(mirrors, "(:part :slice :slice 1 :text \"* ä\")"), Update::Waiting);
            assert_eq!(update(mirrors, "(:part :slice :slice 2 :text \"!\")"), Update::Waiting);
            let end = format!("(:part :end :tick 1 :file \"/typed.org\" :hash \"{}\")", chain("* ä!", 4).hash());
            assert_eq!(update(mirrors, &end), Update::Changed);
        };
        let mut mirrors = Mirrors::default();
        whole(&mut mirrors);
        assert_eq!(update(&mut mirrors, "(:part :change :beg 2 :end 4 :text \"bc\" :size 5)"), Update::Changed);
        assert_eq!(update(&mut mirrors, "(:part :change :beg 5 :end 5 :text \"d\" :size 6)"), Update::Changed);
        assert_eq!(read(&mut mirrors, ("", None)), known("* bc!d"));
        assert_eq!(update(&mut mirrors, "(:part :change :beg 4 :end 5 :text \"\" :size 5)"), Update::Changed);
        assert_eq!(read(&mut mirrors, ("", None)), known("* bcd"), "no change is applied twice");
        for bad in [
            "(:part :change :beg 2 :end 4 :text \"x\" :size 9)",
            "(:part :change :beg 4 :end 2 :text \"x\" :size 5)",
            "(:part :change :beg 3 :end 4 :text \"x\" :size 5)",
            "(:part :change :beg 0 :end 99 :text \"\" :size 0)",
        ] {
            let mut mirrors = Mirrors::default();
            whole(&mut mirrors);
            assert_eq!(update(&mut mirrors, bad), Update::Changed);
            assert_eq!(read(&mut mirrors, ("", None)), (None, Some("/typed.org".to_string())), "{bad}");
            assert_eq!(update(&mut mirrors, "(:part :change :beg 0 :end 0 :text \"\" :size 5)"), Update::Lost);
        }
        for bad in
            ["(:part :slice :slice 1 :text \"x\")", "(:part :end)", "(:part :change :beg 0 :end 0)", "(:part :other)"]
        {
            assert_eq!(update(&mut Mirrors::default(), bad), Update::Lost, "{bad}");
        }
    }

    #[test]
    fn a_slice_that_is_missing_twice_or_changed_is_noticed() {
        let slice = |number: u64, text: &str| format!("(:part :slice :slice {number} :text \"{text}\")");
        let end = format!("(:part :end :tick 1 :hash \"{}\")", chain("aaaabbbbcc", 4).hash());
        let nothing = format!("(:part :end :tick 1 :hash \"{}\")", chain("", 4).hash());
        let [a, b, c] = [slice(1, "aaaa"), slice(2, "bbbb"), slice(3, "cc")];
        for (came, whole) in [
            (vec![a.as_str(), &b, &c, &end], true),
            (vec![&a, &c, &end], false),
            (vec![&a, &a, &b, &c, &end], false),
            (vec![&a, &b, &end], false),
            (vec![&b, &a, &c, &end], false),
            (vec![&a, &slice(2, "bbbB"), &c, &end], false),
            (vec![&a, &b, &c, "(:part :end :tick 1)"], false),
            (vec![&end], false),
            (vec![&slice(1, ""), &nothing], true),
        ] {
            let mut mirrors = Mirrors::default();
            update(&mut mirrors, "(:part :begin :size 10)");
            let all: Vec<_> = came.iter().map(|message| update(&mut mirrors, message)).collect();
            let count = |what: Update| all.iter().filter(|update| **update == what).count();
            let wanted = if whole { (1, 0) } else { (0, 1) };
            assert_eq!((count(Update::Changed), count(Update::Lost)), wanted, "{came:?}: {all:?}");
        }
    }

    #[test]
    fn what_comes_damaged_is_not_asked_for_for_ever() {
        let mut mirrors = Mirrors::default();
        let mut send = |end: &str| {
            update(&mut mirrors, "(:part :begin :size 4)");
            update(&mut mirrors, "(:part :slice :slice 1 :text \"abcd\")");
            update(&mut mirrors, &format!("(:part :end :tick 1 :hash \"{end}\")"))
        };
        let right = chain("abcd", 4).hash().to_string();
        // Whatever came whole makes up for what did not.
        for _ in 0..2 {
            (0..AGAIN).for_each(|_| assert_eq!(send("0"), Update::Lost));
            assert_eq!(send("0"), Update::Refused(DAMAGED));
            assert_eq!(send("0"), Update::Waiting, "it is said once");
            assert_eq!(send(&right), Update::Changed);
        }
    }

    #[test]
    fn more_changes_than_may_wait_are_no_damage() {
        let mut mirrors = Mirrors::default();
        let change = "(:part :change :beg 0 :end 0 :text \"\" :size 0)";
        assert_eq!(update(&mut mirrors, "(:part :saved)"), Update::Changed);
        for _ in 0..MOST_CHANGES {
            assert_eq!(update(&mut mirrors, change), Update::Changed);
        }
        // Its whole is asked for once, and comes behind whatever else changed by then.
        assert_eq!(update(&mut mirrors, change), Update::Lost);
        for _ in 0..10 {
            assert_eq!(update(&mut mirrors, change), Update::Waiting);
        }
        update(&mut mirrors, "(:part :begin :size 0)");
        let end = format!("(:part :end :tick 1 :hash \"{}\")", chain("", 4).hash());
        update(&mut mirrors, "(:part :slice :slice 1 :text \"\")");
        assert_eq!(update(&mut mirrors, &end), Update::Changed);
        assert_eq!(update(&mut mirrors, change), Update::Changed);
    }

    #[test]
    fn texts_that_begin_and_do_not_end_are_bounded() {
        let mut mirrors = Mirrors::default();
        let begin = Sexp::read("(:part :begin :size 4)").expect("a message");
        let name = |number: usize| format!("/{number}.org");
        for number in 0..COMING {
            assert_eq!(mirrors.take(&name(number), &begin), Update::Waiting);
        }
        assert_eq!(mirrors.take(FILE, &begin), Update::Refused(TOO_MANY));
        for rest in ["(:part :slice :slice 1 :text \"a\")", "(:part :slice :slice 2 :text \"b\")", "(:part :end)"] {
            assert_eq!(update(&mut mirrors, rest), Update::Waiting, "it is not asked for again: {rest}");
        }
        assert_eq!(mirrors.take(&name(0), &begin), Update::Waiting, "one begins anew in its own place");
        assert_eq!(mirrors.take(&name(0), &Sexp::read("(:part :closed)").expect("a message")), Update::Changed);
        assert_eq!(mirrors.take(FILE, &begin), Update::Waiting);
        // Of damaged ones no more are remembered.
        let mut mirrors = Mirrors::default();
        let end = Sexp::read("(:part :end)").expect("a message");
        for number in 0..COMING {
            assert_eq!(mirrors.take(&name(number), &end), Update::Lost);
        }
        assert_eq!(mirrors.take(FILE, &end), Update::Refused(DAMAGED));
        assert_eq!(mirrors.lost.len(), COMING);
    }

    #[test]
    fn changes_of_a_saved_buffer_count_only_on_the_text_that_was_saved() {
        let change = "(:part :change :beg 3 :end 4 :text \"X\" :size 5)";
        let saved = "(:part :saved :modified 7 :file \"/typed.org\")";
        let whole = Some("/typed.org".to_string());
        for (message, modified, fits) in [
            (saved, Some(7), true),
            (saved, Some(8), false),
            (saved, None, false),
            ("(:part :saved :file \"/typed.org\")", Some(7), false),
        ] {
            let mut mirrors = Mirrors::default();
            // The change comes before the file is read.
            assert_eq!(update(&mut mirrors, message), Update::Changed);
            assert!(!mirrors.ahead(FILE));
            assert_eq!(update(&mut mirrors, change), Update::Changed);
            assert!(mirrors.ahead(FILE));
            let (text, lost) = read(&mut mirrors, ("* [ ]", modified));
            assert_eq!(text.as_deref(), fits.then_some("* [X]"), "{message} {modified:?}");
            assert_eq!(lost.is_some(), !fits);
            // It comes while the file is read, and after.
            let mut mirrors = Mirrors::default();
            assert_eq!(update(&mut mirrors, message), Update::Changed);
            let job = mirrors.job(FILE);
            assert_eq!(update(&mut mirrors, change), Update::Changed);
            let (text, outcome) = job.text(|| Ok(Some(OnDisk { text: "* [ ]".into(), modified })));
            assert_eq!(text.expect("it is read").as_deref(), Some("* [ ]"), "the file counts");
            assert_eq!(mirrors.settle(FILE, outcome), if fits { None } else { whole.clone() });
            if fits {
                assert_eq!(read(&mut mirrors, ("gone", None)), known("* [X]"));
            }
        }
    }

    #[test]
    fn what_was_read_of_an_older_base_changes_nothing() {
        let mut mirrors = Mirrors::default();
        update(&mut mirrors, "(:part :saved :modified 1)");
        let old = mirrors.job(FILE);
        update(&mut mirrors, "(:part :saved :modified 2)");
        update(&mut mirrors, "(:part :change :beg 0 :end 1 :text \"x\" :size 3)");
        let (_, outcome) = old.text(|| Ok(Some(OnDisk { text: "new".into(), modified: Some(2) })));
        assert_eq!(mirrors.settle(FILE, outcome), None);
        assert_eq!(read(&mut mirrors, ("new", Some(2))), known("xew"));
        // A buffer that was closed leaves the file.
        update(&mut mirrors, "(:part :closed)");
        assert_eq!(read(&mut mirrors, ("disk", Some(3))), known("disk"));
        assert_eq!(update(&mut mirrors, "(:part :change :beg 0 :end 1 :text \"x\" :size 3)"), Update::Lost);
    }

    #[test]
    fn the_changes_that_wait_are_bounded() {
        let mut mirrors = Mirrors::default();
        let change = "(:part :change :beg 0 :end 0 :text \"\" :size 0)";
        update(&mut mirrors, "(:part :saved :modified 1)");
        let all = (0..=MOST_CHANGES).map(|_| update(&mut mirrors, change));
        assert_eq!(all.filter(|update| *update == Update::Changed).count(), MOST_CHANGES);
        update(&mut mirrors, "(:part :saved :modified 1)");
        let long = format!("(:part :change :beg 0 :end 0 :text \"{}\" :size 0)", "x".repeat(3 << 20));
        let all: Vec<_> = (0..6).map(|_| update(&mut mirrors, &long)).collect();
        assert!(all[..5].iter().all(|update| *update == Update::Changed) && all[5] == Update::Lost, "{all:?}");
    }
}
