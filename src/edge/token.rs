//! Tokens with which a plan is decided about by typing: each is shown once, to the channel that displayed the plan whole,
//! and counts once, for a while, for that channel alone.
//!
//! What is kept of a token is its hash, in memory; no record, log, trace or other client ever has it.

use crate::domain::id::PlanId;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, LazyLock, Weak};

/// Random bytes of a token: 128 bits.
const BYTES: usize = 16;
/// How many tokens of one channel are remembered; the oldest is forgotten first.
const KEPT: usize = 64;

/// How long a token counts.
const COUNTS: SignedDuration = SignedDuration::from_mins(15);
/// After so many wrong ones, one behind the other, no token of that channel counts any more.
const WRONG: u8 = 5;

/// The tokens of every channel of this process: wherever one is typed, it goes no further.
#[derive(Default)]
pub(in crate::edge) struct Channels(Mutex<Vec<Weak<Mutex<Tokens>>>>);

impl Channels {
    /// Returns the tokens of a new channel; they end with it.
    pub(in crate::edge) fn open(&self) -> Arc<Mutex<Tokens>> {
        let tokens = Arc::<Mutex<Tokens>>::default();
        let mut all = self.0.lock();
        if all.len() == all.capacity() {
            all.retain(|one| one.strong_count() > 0);
        }
        all.push(Arc::downgrade(&tokens));
        tokens
    }

    fn all(&self) -> Vec<Arc<Mutex<Tokens>>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns whether a token that any channel was shown stands in a text, in whatever form; each that does counts no more.
    pub(in crate::edge) fn forget_typed(&self, text: &str) -> bool {
        // All are looked at: the text may hold more than one.
        may_stand_in(text) && self.all().iter().fold(false, |found, one| one.lock().forget_typed(text) | found)
    }

    /// Returns a text with dots in the place of the tokens that any channel was shown.
    pub(in crate::edge) fn blotted(&self, text: &str) -> String {
        match may_stand_in(text) {
            true => self.all().iter().fold(text.to_string(), |text, one| one.lock().blotted(&text).unwrap_or(text)),
            false => text.to_string(),
        }
    }
}

/// The tokens that were shown to one channel and not used yet.
#[derive(Default)]
pub(in crate::edge) struct Tokens {
    issued: Vec<Issued>,
    /// How many wrong ones were typed since a right one.
    wrong: u8,
}

struct Issued {
    hash: blake3::Hash,
    /// What [`traces`] makes of it.
    trace: u16,
    plan: PlanId,
    shown: String,
    /// When it counts no more.
    until: Timestamp,
}

/// The words that a token may stand behind.
const WORDS: [&str; 3] = [YES, "/deny", "/stop"];
/// The one of them that approves.
const YES: &str = "/approve";

/// What was typed, as far as tokens are concerned.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::edge) enum Typed {
    /// There is no token in it.
    Plain,
    /// The line with the name of the plan in the place of its token, and the hash of what was shown with it.
    Named {
        /// What was typed, without the token.
        line: String,
        /// The plan.
        plan: PlanId,
        /// What was shown.
        shown: String,
    },
    /// There is one that was shown here too long ago.
    Late(PlanId),
    /// There is one that was not shown here, or was used already.
    Unknown,
    /// The same, once too often: no token that was shown here counts any more.
    Over,
}

/// What is said of a token that stands where it decides nothing; behind it stands where there is another.
pub(in crate::edge) const ASTRAY: &str = "there is a token of a plan in this; it decides only behind /approve, /deny or /stop, \
     at the beginning of what you type. Nothing was decided, nobody was asked, and that token counts no more";
/// What is said when no token counts any more because so many were wrong.
pub(in crate::edge) const OVER: &str =
    "that was the fifth wrong token, so no token that was shown here counts any more; nothing was decided";

/// Returns whether a token can stand in a text at all: most that is said holds fewer digits, and is looked at no further
/// for any of a thousand clients.
pub(in crate::edge) fn may_stand_in(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_hexdigit).count() >= 2 * BYTES
}

impl Tokens {
    /// Makes a token for a plan that this channel displayed under a hash; an older one for that plan counts no more.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(in crate::edge) fn issue(&mut self, plan: &PlanId, shown: &str, now: Timestamp) -> Result<String, String> {
        let token =
            random().map_err(|why| format!("the system gives no random bytes ({why}), so there is no token"))?;
        self.issued.retain(|issued| issued.plan != *plan);
        if self.issued.len() >= KEPT {
            self.issued.remove(0);
        }
        let trace = traces(token.as_bytes()).last().unwrap_or(0);
        let (plan, shown, until) = (plan.clone(), shown.to_string(), now.saturating_add(COUNTS).unwrap_or(now));
        self.issued.push(Issued { hash: name(&token), trace, plan, shown, until });
        Ok(token)
    }

    /// Looks for a token in a typed line, takes it, and returns what the line says without it.
    pub(in crate::edge) fn take(&mut self, text: &str, now: Timestamp) -> Typed {
        let Some((word, token, rest)) = parts(text) else { return Typed::Plain };
        // A yes is a yes alone, and a no that goes on to say something else is none.
        let says_more = match word {
            YES => !rest.is_empty(),
            _ => rest.lines().any(|line| WORDS.iter().any(|word| line.trim_start().starts_with(word))),
        };
        if says_more {
            return Typed::Plain;
        }
        let typed = name(&token.to_ascii_lowercase());
        // Every one is looked at, and hashes compare in constant time: how long it takes tells nothing.
        let found = self.issued.iter().enumerate().fold(None, |found, (at, issued)| match issued.hash == typed {
            true => Some(at),
            false => found,
        });
        // What comes behind goes on to a model: it may be there once more, or another one.
        let rest = self.blotted(rest).unwrap_or_else(|| rest.to_string());
        let Some(Issued { plan, shown, until, .. }) = found.map(|at| self.issued.remove(at)) else {
            return self.wrong();
        };
        self.wrong = 0;
        match now < until {
            true => Typed::Named { line: format!("{word} {plan} {rest}").trim_end().to_string(), plan, shown },
            false => Typed::Late(plan),
        }
    }

    /// Returns until when the first of our tokens counts that stand in a text; `None` when there is none.
    pub(in crate::edge) fn until(&self, text: &str) -> Option<Timestamp> {
        let found = self.places(text).into_iter();
        found.filter_map(|(at, _)| self.issued.get(at)).map(|issued| issued.until).min()
    }

    /// Counts a wrong one.
    fn wrong(&mut self) -> Typed {
        self.wrong += 1;
        if self.wrong < WRONG {
            return Typed::Unknown;
        }
        self.forget();
        Typed::Over
    }

    /// Forgets all of them.
    pub(in crate::edge) fn forget(&mut self) {
        (self.issued, self.wrong) = (Vec::new(), 0);
    }

    /// Returns a text with dots in the place of every token of ours in it, in whatever form; `None` when there is none.
    fn blotted(&self, text: &str) -> Option<String> {
        let found = self.places(text);
        if found.is_empty() {
            return None;
        }
        let mut bytes = text.as_bytes().to_vec();
        for at in found.iter().flat_map(|(_, places)| places) {
            // Only digits of ASCII are there, each of one byte.
            if let Some(byte) = bytes.get_mut(*at) {
                *byte = b'.';
            }
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns whether a token of ours stands in a text, in whatever form; each that does counts no more.
    fn forget_typed(&mut self, text: &str) -> bool {
        let mut found: Vec<usize> = self.places(text).into_iter().map(|(at, _)| at).collect();
        found.sort_unstable();
        found.dedup();
        for at in found.iter().rev() {
            self.issued.remove(*at);
        }
        !found.is_empty()
    }

    /// Returns which of our tokens stand in a text, and at which bytes of it their digits are.
    ///
    /// Every row of digits that is long enough is looked at from each of its digits on, whatever letters it is glued to
    /// and however it is broken. Where its trace is that of a token it is compared with every token by its hash, in
    /// constant time: a long text of digits costs a few steps for each of them, and hardly any hash.
    fn places(&self, text: &str) -> Vec<(usize, Vec<usize>)> {
        let mut found = Vec::new();
        if self.issued.is_empty() {
            return found;
        }
        let mut sought: Vec<u16> = self.issued.iter().map(|issued| issued.trace).collect();
        sought.sort_unstable();
        let mut look = |digits: &[u8], places: &[usize]| {
            let windows = digits.windows(2 * BYTES).zip(places.windows(2 * BYTES));
            let traced = windows.zip(traces(digits).skip(2 * BYTES - 1));
            for ((digits, places), _) in traced.filter(|(_, trace)| sought.binary_search(trace).is_ok()) {
                let typed = blake3::hash(digits);
                let which =
                    self.issued.iter().enumerate().fold(None, |found, (at, issued)| match issued.hash == typed {
                        true => Some(at),
                        false => found,
                    });
                found.extend(which.map(|at| (at, places.to_vec())));
            }
        };
        let (mut digits, mut places) = (Vec::new(), Vec::new());
        for (at, byte) in text.bytes().enumerate() {
            if byte.is_ascii_hexdigit() {
                digits.push(byte.to_ascii_lowercase());
                places.push(at);
            // Whatever else is no letter may stand between them, where a line was filled or the digits were grouped.
            } else if byte.is_ascii_alphanumeric() {
                look(&digits, &places);
                digits.clear();
                places.clear();
            }
        }
        look(&digits, &places);
        found
    }
}

/// What the traces of this process are made with, so that a trace tells nothing of its token.
static SALT: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one("trace") | 1);

/// Returns for each place in a row of digits a few bits of the digits that end there, as many as a token has. Each is
/// made of the one before it.
fn traces(digits: &[u8]) -> impl Iterator<Item = u16> {
    let salt = *SALT;
    let leaving = salt.wrapping_pow(2 * BYTES as u32);
    let mut sum = 0u64;
    digits.iter().enumerate().map(move |(at, digit)| {
        let left = at.checked_sub(2 * BYTES).and_then(|at| digits.get(at)).copied().unwrap_or(0);
        let (digit, left) = (u64::from(*digit), u64::from(left));
        sum = sum.wrapping_mul(salt).wrapping_add(digit).wrapping_sub(left.wrapping_mul(leaving));
        // In the upper bits nearly every digit has a part.
        (sum >> (u64::BITS - u16::BITS)) as u16
    })
}

/// Returns a typed line in parts when what stands behind its first word looks like a token.
fn parts(text: &str) -> Option<(&str, &str, &str)> {
    let (word, rest) = text.trim().split_once(char::is_whitespace)?;
    let (token, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    let like = token.len() == 2 * BYTES && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    (WORDS.contains(&word) && like).then_some((word, token, rest.trim()))
}

fn name(token: &str) -> blake3::Hash {
    blake3::hash(token.as_bytes())
}

fn random() -> std::io::Result<String> {
    Ok(crate::edge::random::hex(&crate::edge::random::bytes::<BYTES>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a time")
    }

    fn plan(name: &str) -> PlanId {
        PlanId(name.to_string())
    }

    #[test]
    fn a_token_counts_once_here_and_for_its_plan_alone() {
        let (mut here, mut there) = (Tokens::default(), Tokens::default());
        let token = here.issue(&plan("P1"), "s1", at(0)).expect("there are random bytes");
        assert_eq!(token.len(), 32, "128 bits in hexadecimal");
        let line = format!("  /deny {} not  today ", token.to_uppercase());
        assert_eq!(there.take(&line, at(0)), Typed::Unknown, "another channel was not shown it");
        let named = |line: &str| Typed::Named { line: line.to_string(), plan: plan("P1"), shown: "s1".to_string() };
        assert_eq!(here.take(&line, at(0)), named("/deny P1 not  today"));
        assert_eq!(here.take(&line, at(0)), Typed::Unknown, "it was used");
        let first = here.issue(&plan("P1"), "s1", at(0)).expect("there are random bytes");
        let second = here.issue(&plan("P1"), "s1", at(0)).expect("there are random bytes");
        assert_ne!(first, second);
        assert_eq!(here.take(&format!("/approve {first}"), at(0)), Typed::Unknown, "a newer one took its place");
        assert_eq!(here.take(&format!("/approve {second}"), at(0)), named("/approve P1"));
    }

    #[test]
    fn what_is_kept_is_a_hash_and_the_number_of_them_is_bounded() {
        let mut tokens = Tokens::default();
        let token = tokens.issue(&plan("P0"), "s", at(0)).expect("there are random bytes");
        assert!(tokens.issued.iter().all(|issued| issued.hash.to_hex().as_str() != token && issued.shown == "s"));
        for number in 1..=KEPT {
            tokens.issue(&plan(&format!("P{number}")), "s", at(0)).expect("there are random bytes");
        }
        assert_eq!(tokens.issued.len(), KEPT);
        assert_eq!(tokens.take(&format!("/approve {token}"), at(0)), Typed::Unknown, "the oldest was forgotten");
    }

    #[test]
    fn a_token_is_known_in_whatever_form_and_counts_no_more_then() {
        let grouped =
            |token: &str| token.as_bytes().chunks(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join("-");
        let forms: [fn(&str) -> String; 13] = [
            |token| token.to_string(),
            |token| format!("approve {token}"),
            |token| format!("/approve  {token}."),
            |token| format!("please\n/approve {token}\nthank you"),
            |token| format!("yes, “{}” it is", token.to_uppercase()),
            |token| format!("approve{token}face"),
            |token| format!("/approve P1 {token}"),
            |token| format!("(token={token})"),
            |token| format!("/deny P7 because of {token}"),
            |token| format!("{}\n  {}", &token[..20], &token[20..]),
            |token| format!("=={token}== äöü"),
            |token| format!("/undo {token}"),
            |token| format!("{}\u{2013}({})\u{A0};\\{}", &token[..9], &token[9..20], &token[20..]),
        ];
        for form in
            forms.iter().map(|form| form as &dyn Fn(&str) -> String).chain([&grouped as &dyn Fn(&str) -> String])
        {
            let mut tokens = Tokens::default();
            let other = tokens.issue(&plan("P0"), "s0", at(0)).expect("there are random bytes");
            let token = tokens.issue(&plan("P1"), "s1", at(0)).expect("there are random bytes");
            let line = form(&token);
            let blotted = tokens.blotted(&line).expect("it is known");
            assert_eq!(blotted.len(), line.len());
            let digits = |text: &str| text.to_ascii_lowercase().replace(|c: char| !c.is_ascii_hexdigit(), "");
            assert!(!digits(&blotted).contains(&token), "{line}: {blotted}");
            assert!(tokens.forget_typed(&line), "{line}");
            assert_eq!(tokens.take(&format!("/approve {token}"), at(0)), Typed::Unknown, "{line}");
            assert!(
                !tokens.forget_typed(&line) && tokens.blotted(&line).is_none(),
                "{line}: what counts no more is none"
            );
            assert!(
                matches!(tokens.take(&format!("/approve {other}"), at(0)), Typed::Named { .. }),
                "the other one still counts"
            );
        }
        let mut tokens = Tokens::default();
        tokens.issue(&plan("P1"), "s1", at(0)).expect("there are random bytes");
        for line in ["0123456789abcdef0123456789abcdef", "a plain question", "", &"f".repeat(500)] {
            assert!(!tokens.forget_typed(line) && tokens.blotted(line).is_none(), "{line}");
        }
        // Behind the word that it decides with, it may stand once more.
        let token = tokens.issue(&plan("P2"), "s2", at(0)).expect("there are random bytes");
        let dots = ".".repeat(32);
        let named = Typed::Named { line: format!("/deny P2 no {dots}"), plan: plan("P2"), shown: "s2".to_string() };
        assert_eq!(tokens.take(&format!("/deny {token} no {token}"), at(0)), named);
    }

    #[test]
    fn a_long_row_of_digits_costs_hardly_any_hash() {
        let mut tokens = Tokens::default();
        for number in 0..KEPT {
            tokens.issue(&plan(&format!("P{number}")), "s", at(0)).expect("there are random bytes");
        }
        // Digits without a period, which one of the tokens could happen to fit again and again.
        let mut state = 1_u64;
        let mut digit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from_digit((state >> 60) as u32, 16).expect("four bits")
        };
        let row: String = (0..200_000).map(|_| digit()).collect();
        let like =
            traces(row.as_bytes()).filter(|trace| tokens.issued.iter().any(|issued| issued.trace == *trace)).count();
        assert!(like < row.len() / 100, "{like} of {} would be hashed", row.len());
        assert!(tokens.places(&row).is_empty());
        let token = tokens.issue(&plan("P"), "s", at(0)).expect("there are random bytes");
        let (head, tail) = row.split_at(100_001);
        assert_eq!(tokens.places(&format!("{head}{token}{tail}")).len(), 1);
    }

    #[test]
    fn other_lines_hold_no_token() {
        let mut tokens = Tokens::default();
        let hex = "0123456789abcdef0123456789abcdef";
        for line in ["", "/approve", "/approve P1A2B3", "approve x", "/approve 0123", "/undo T1", "what is /approve?"] {
            assert_eq!(tokens.take(line, at(0)), Typed::Plain, "{line}");
        }
        assert_eq!(tokens.take(&format!("say /approve {hex}"), at(0)), Typed::Plain, "it is no line of its own");
        // A yes that goes on is none, nor a no behind which a yes stands, as where both lines of a plan were copied.
        for more in [
            "/approve TOKEN only if",
            "/approve TOKEN\n/deny TOKEN",
            "/approve TOKEN\nno",
            "/deny TOKEN x\n /approve TOKEN",
        ] {
            let token = tokens.issue(&plan("P1"), "s1", at(0)).expect("there are random bytes");
            let line = more.replace("TOKEN", &token);
            assert_eq!(tokens.take(&line, at(0)), Typed::Plain, "{more}");
            assert!(tokens.forget_typed(&line), "{more}");
        }
        assert_eq!(tokens.take(&format!("/approve {hex}"), at(0)), Typed::Unknown);
    }

    #[test]
    fn a_token_counts_for_a_quarter_of_an_hour() {
        for (second, counts) in [(0, true), (899, true), (900, false), (100_000, false)] {
            let mut tokens = Tokens::default();
            let token = tokens.issue(&plan("P1"), "s", at(0)).expect("there are random bytes");
            let typed = tokens.take(&format!("/approve {token}"), at(second));
            assert_eq!(matches!(typed, Typed::Named { .. }), counts, "{second}: {typed:?}");
            assert!(counts || typed == Typed::Late(plan("P1")), "{second}: {typed:?}");
            let again = tokens.take(&format!("/approve {token}"), at(0));
            assert_eq!(again, Typed::Unknown, "an old one is taken, too");
        }
    }

    #[test]
    fn after_five_wrong_ones_in_a_row_none_counts() {
        let wrong = format!("/approve {}", "0".repeat(32));
        for (before, between, counts) in [(4, false, true), (5, false, false), (4, true, true), (9, false, false)] {
            let mut tokens = Tokens::default();
            let [right, other] = ["P1", "P2"].map(|name| tokens.issue(&plan(name), "s", at(0)).expect("random bytes"));
            for number in 1..=before {
                let over = if number % 5 == 0 { Typed::Over } else { Typed::Unknown };
                assert_eq!(tokens.take(&wrong, at(0)), over, "{number}");
            }
            if between {
                // A right one says that it is the one whom they were shown.
                assert!(matches!(tokens.take(&format!("/approve {other}"), at(0)), Typed::Named { .. }));
                assert_eq!(tokens.take(&wrong, at(0)), Typed::Unknown);
            }
            let typed = tokens.take(&format!("/approve {right}"), at(0));
            assert_eq!(matches!(typed, Typed::Named { .. }), counts, "{before} {between}");
        }
    }

    #[test]
    fn a_token_of_one_channel_goes_no_further_from_any_other() {
        let channels = Channels::default();
        let (here, there) = (channels.open(), channels.open());
        let token = here.lock().issue(&plan("P1"), "s", at(0)).expect("there are random bytes");
        let second = there.lock().issue(&plan("P1"), "s", at(0)).expect("there are random bytes");
        let both = format!("is {token} the same as {second}?");
        assert_eq!(channels.blotted(&both), format!("is {0} the same as {0}?", ".".repeat(32)));
        assert!(channels.forget_typed(&both) && !channels.forget_typed(&both), "both are forgotten");
        let typed = [(&here, &token), (&there, &second)].map(|(channel, token)| {
            let line = format!("/approve {token}");
            channel.lock().take(&line, at(0))
        });
        assert_eq!(typed, [Typed::Unknown, Typed::Unknown]);
        // They end with their channel, and the list of channels does not grow with those that went.
        let gone = here.lock().issue(&plan("P2"), "s", at(0)).expect("there are random bytes");
        drop(here);
        assert!(!channels.forget_typed(&gone));
        (0..1_000).for_each(|_| drop(channels.open()));
        assert!(channels.0.lock().len() < 10);
    }

    proptest::proptest! {
        /// Whatever stands around it, and however many other tokens are shown, a token decides about its own plan alone,
        /// and never twice.
        #[test]
        fn a_token_is_good_for_one_plan(count in 1_usize..20, which in 0_usize..20, word in 0_usize..3, rest in "[ -~]{0,40}") {
            let mut tokens = Tokens::default();
            let issue = |number: usize, tokens: &mut Tokens| tokens.issue(&plan(&format!("P{number}")), "s", at(0));
            let issued: Vec<String> = (0..count).filter_map(|number| issue(number, &mut tokens).ok()).collect();
            let (which, word) = (which % count, WORDS[word]);
            // A yes is one alone.
            let rest = if word == YES { String::new() } else { rest };
            let line = format!("{word} {} {rest}", issued[which]);
            let Typed::Named { line: said, plan: of, .. } = tokens.take(&line, at(1)) else { panic!("it counts: {line}") };
            proptest::prop_assert_eq!(&of, &plan(&format!("P{which}")));
            let begins = format!("{word} {of}");
            proptest::prop_assert!(said.starts_with(&begins));
            proptest::prop_assert!(issued.iter().all(|token| !said.contains(token.as_str())));
            proptest::prop_assert_eq!(tokens.take(&line, at(1)), Typed::Unknown);
            proptest::prop_assert_eq!(tokens.issued.len(), count - 1);
        }
    }
}
