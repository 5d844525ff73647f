//! Numbers on messages, by which a connection that broke is taken up again without a message lost or said twice.
//!
//! Pure: what was sent is kept as text, so far as it may be asked for again.

use std::collections::VecDeque;

/// Of what was sent at most so many bytes are kept: more than what usually lies between two ends in the system's buffers,
/// which is lost with a connection. Linux has long let 6 MiB lie at the other end; what lies at this one is bounded where
/// it is listened.
const KEPT: usize = 8 << 20;
/// What a message takes beside its text, here and in those buffers.
pub const EACH: usize = 64;
/// A number makes a message at most so many bytes longer.
pub const LONGER: usize = 64;

/// What was sent, the oldest first.
#[derive(Default)]
pub struct Sent {
    /// The number of the message that was sent last; the first has 1.
    last: u64,
    kept: VecDeque<String>,
    bytes: usize,
}

impl Sent {
    /// Gives a message the next number, and keeps it. Returns it as it is to be sent.
    pub fn number(&mut self, text: &str) -> String {
        self.last += 1;
        let text = with_number(text, self.last);
        self.bytes += text.len() + EACH;
        self.kept.push_back(text.clone());
        // The newest is kept however long it is: it may be all that was not seen.
        while self.kept.len() > 1 && self.bytes > KEPT && self.forget() {}
        text
    }

    /// The other end has seen messages up to this number: they are kept no longer. A number that was never sent is none.
    pub fn seen(&mut self, number: u64) {
        while self.oldest() <= number.min(self.last) && self.forget() {}
    }

    /// Keeps the older half no longer, and nothing at all where one message is more than half.
    pub fn forget_half(&mut self) {
        let half = self.bytes / 2;
        while self.bytes > half && self.forget() {}
    }

    /// Keeps nothing any longer.
    pub fn forget_all(&mut self) {
        (self.kept, self.bytes) = (VecDeque::new(), 0);
    }

    /// Returns how much is kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of the message that was sent last; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Keeps the oldest message no longer; returns whether there was one.
    fn forget(&mut self) -> bool {
        let Some(oldest) = self.kept.pop_front() else { return false };
        self.bytes = self.bytes.saturating_sub(oldest.len() + EACH);
        true
    }

    /// Returns whether all is kept that was sent behind a number; not when the number was never sent.
    pub fn keeps_behind(&self, number: u64) -> bool {
        number <= self.last && self.oldest() <= number + 1
    }

    /// Returns what was sent behind a number, the oldest first: about `bytes` of it, at least one message if there is any.
    /// `None` when not all of it is kept, or the number was never sent.
    pub fn behind(&self, number: u64, bytes: usize) -> Option<Vec<String>> {
        if !self.keeps_behind(number) {
            return None;
        }
        let skipped = usize::try_from(number + 1 - self.oldest()).ok()?;
        let mut size = 0;
        let fits = |text: &&String| {
            let fits = size < bytes.max(1);
            size += text.len();
            fits
        };
        Some(self.kept.iter().skip(skipped).take_while(fits).cloned().collect())
    }

    /// The number of the oldest message that is kept; one more than the last where none is.
    fn oldest(&self) -> u64 {
        self.last + 1 - self.kept.len() as u64
    }
}

/// Returns a message of ours with its number in its `:meta`, which stands between its type and its payload.
fn with_number(text: &str, number: u64) -> String {
    const TYPE: &str = "(:type :";
    const META: &str = " :meta (";
    let end_of_type = text.get(TYPE.len()..).and_then(|rest| rest.find(' ')).map(|at| at + TYPE.len());
    let Some((head, rest)) = end_of_type.and_then(|at| text.split_at_checked(at)) else { return text.to_string() };
    match rest.strip_prefix(META) {
        Some(meta) => format!("{head}{META}:number {number} {meta}"),
        None => format!("{head}{META}:number {number}){rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sexp::plist::{Plist, message};
    use crate::domain::sexp::reader::Sexp;
    use proptest::prelude::*;

    fn number_of(text: &str) -> Option<i64> {
        Sexp::read(text).expect("it is one").get("meta").and_then(|meta| meta.int_at("number"))
    }

    #[test]
    fn a_number_stands_in_the_meta_whatever_else_a_message_holds() {
        let tricky = Plist::new().text("text", " :meta (:number 9)").build().to_string();
        for text in [
            "(:type :event :payload (:action :alive))".to_string(),
            "(:type :event :meta (:session-id \"c\") :payload (:a 1))".to_string(),
            format!("(:type :log :payload {tricky})"),
        ] {
            let numbered = with_number(&text, 7);
            assert_eq!(number_of(&numbered), Some(7), "{numbered}");
            let payload = |text: &str| Sexp::read(text).expect("it is one").get("payload").cloned();
            assert_eq!(payload(&numbered), payload(&text), "{numbered}");
            let session = |text: &str| {
                let read = Sexp::read(text).expect("it is one");
                read.get("meta").and_then(|meta| meta.text_at("session-id")).map(str::to_string)
            };
            assert_eq!(session(&numbered), session(&text), "{numbered}");
        }
        assert_eq!(with_number("", 1), "");
    }

    #[test]
    fn a_number_takes_no_more_room_than_is_left_for_it() {
        for text in ["(:type :event :payload (:a 1))", "(:type :event :meta (:session-id \"c\") :payload (:a 1))"] {
            for number in [1, u64::MAX] {
                let longer = with_number(text, number).len() - text.len();
                assert!((1..=LONGER).contains(&longer), "{text} with {number}: {longer} bytes");
            }
        }
    }

    proptest! {
        /// Whatever was seen: what is sent again is exactly what lies behind it, or nothing of it is claimed.
        #[test]
        fn what_is_sent_again_is_what_was_not_seen(count in 0_u64..200, seen in 0_u64..220, told in 0_u64..220) {
            let mut sent = Sent::default();
            let all: Vec<String> = (0..count)
                .map(|n| sent.number(&message("log", Plist::new().int("n", n)).build().to_string()))
                .collect();
            sent.seen(told);
            prop_assert_eq!(sent.keeps_behind(seen), sent.behind(seen, 1).is_some());
            match sent.behind(seen, usize::MAX) {
                Some(again) => prop_assert_eq!(again.as_slice(), all.get(seen as usize..).unwrap_or(&[])),
                None => prop_assert!(seen > count || seen < told.min(count)),
            }
        }
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut sent = Sent::default();
        let text = message("log", Plist::new().text("text", "x".repeat(100_000))).build().to_string();
        for _ in 0..1_000 {
            sent.number(&text);
        }
        assert!(
            sent.bytes <= KEPT
                && sent.behind(0, 1).is_none()
                && sent.behind(999, usize::MAX).is_some_and(|again| again.len() == 1)
        );
        for _ in 0..200_000 {
            sent.number("(:type :log)");
        }
        assert!(sent.kept.len() * EACH <= KEPT);
        sent.seen(sent.last);
        assert_eq!((sent.kept.len(), sent.bytes), (0, 0));
    }

    #[test]
    fn of_what_is_kept_the_older_half_is_let_go_and_the_rest_comes_in_pieces() {
        let text = |size: usize| format!("(:type :log {})", "x".repeat(size));
        for (sizes, left) in [
            (vec![], 0),
            (vec![10], 0),
            (vec![100, 100, 100, 100], 2),
            (vec![100, 100, 100], 1),
            // The newest alone is more than half.
            (vec![10, 10, 1_000], 0),
            (vec![1_000, 10, 10], 2),
        ] {
            let mut sent = Sent::default();
            let said: Vec<String> = sizes.iter().map(|size| sent.number(&text(*size))).collect();
            sent.forget_half();
            let told = sizes.len() - left;
            assert_eq!(sent.behind(told as u64, usize::MAX).as_deref(), said.get(told..), "{sizes:?}");
            assert!(told == 0 || !sent.keeps_behind(told as u64 - 1), "{sizes:?}");
            let mut again = Vec::new();
            while let Some(piece) = sent.behind((told + again.len()) as u64, 1).filter(|piece| !piece.is_empty()) {
                assert_eq!(piece.len(), 1, "{sizes:?}");
                again.extend(piece);
            }
            assert_eq!(said.get(told..), Some(again.as_slice()), "{sizes:?}");
        }
    }
}
