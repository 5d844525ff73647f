//! Tokens with which a plan is decided about by typing: each is shown once, to the channel that displayed the plan whole,
//! and counts once, for that channel alone.
//!
//! What is kept of a token is its hash, in memory; no record, log, trace or other client ever has it.

use crate::domain::id::PlanId;
use std::io::Read;

/// Random bytes of a token: 128 bits.
const BYTES: usize = 16;
/// How many tokens of one channel are remembered; the oldest is forgotten first.
const KEPT: usize = 64;

/// The tokens that were shown to one channel and not used yet.
#[derive(Default)]
pub(super) struct Tokens(Vec<Issued>);

struct Issued {
    hash: blake3::Hash,
    plan: PlanId,
    shown: String,
}

/// The words that a token may stand behind.
const WORDS: [&str; 3] = ["/approve", "/deny", "/stop"];

/// What was typed, as far as tokens are concerned.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
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
    /// There is one that was not shown here, or was used already.
    Unknown,
}

impl Tokens {
    /// Makes a token for a plan that this channel displayed under a hash; an older one for that plan counts no more.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub(super) fn issue(&mut self, plan: &PlanId, shown: &str) -> Result<String, String> {
        let token =
            random().map_err(|why| format!("the system gives no random bytes ({why}), so there is no token"))?;
        self.0.retain(|issued| issued.plan != *plan);
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push(Issued { hash: name(&token), plan: plan.clone(), shown: shown.to_string() });
        Ok(token)
    }

    /// Looks for a token in a typed line, takes it, and returns what the line says without it.
    pub(super) fn take(&mut self, text: &str) -> Typed {
        let Some((word, token, rest)) = parts(text) else { return Typed::Plain };
        let typed = name(&token.to_ascii_lowercase());
        // Every one is looked at, and hashes compare in constant time: how long it takes tells nothing.
        let found = self.0.iter().enumerate().fold(None, |found, (at, issued)| match issued.hash == typed {
            true => Some(at),
            false => found,
        });
        let Some(Issued { plan, shown, .. }) = found.map(|at| self.0.remove(at)) else { return Typed::Unknown };
        Typed::Named { line: format!("{word} {plan} {rest}").trim_end().to_string(), plan, shown }
    }
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
    let mut bytes = [0u8; BYTES];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str) -> PlanId {
        PlanId(name.to_string())
    }

    #[test]
    fn a_token_counts_once_here_and_for_its_plan_alone() {
        let (mut here, mut there) = (Tokens::default(), Tokens::default());
        let token = here.issue(&plan("P1"), "s1").expect("there are random bytes");
        assert_eq!(token.len(), 32, "128 bits in hexadecimal");
        let line = format!("  /deny {} not  today ", token.to_uppercase());
        assert_eq!(there.take(&line), Typed::Unknown, "another channel was not shown it");
        let named = |line: &str| Typed::Named { line: line.to_string(), plan: plan("P1"), shown: "s1".to_string() };
        assert_eq!(here.take(&line), named("/deny P1 not  today"));
        assert_eq!(here.take(&line), Typed::Unknown, "it was used");
        let first = here.issue(&plan("P1"), "s1").expect("there are random bytes");
        let second = here.issue(&plan("P1"), "s1").expect("there are random bytes");
        assert_ne!(first, second);
        assert_eq!(here.take(&format!("/approve {first}")), Typed::Unknown, "a newer one took its place");
        assert_eq!(here.take(&format!("/approve {second}")), named("/approve P1"));
    }

    #[test]
    fn what_is_kept_is_a_hash_and_the_number_of_them_is_bounded() {
        let mut tokens = Tokens::default();
        let token = tokens.issue(&plan("P0"), "s").expect("there are random bytes");
        assert!(tokens.0.iter().all(|issued| issued.hash.to_hex().as_str() != token && issued.shown == "s"));
        for number in 1..=KEPT {
            tokens.issue(&plan(&format!("P{number}")), "s").expect("there are random bytes");
        }
        assert_eq!(tokens.0.len(), KEPT);
        assert_eq!(tokens.take(&format!("/approve {token}")), Typed::Unknown, "the oldest was forgotten");
    }

    #[test]
    fn other_lines_hold_no_token() {
        let mut tokens = Tokens::default();
        let hex = "0123456789abcdef0123456789abcdef";
        for line in ["", "/approve", "/approve P1A2B3", "approve x", "/approve 0123", "/undo T1", "what is /approve?"] {
            assert_eq!(tokens.take(line), Typed::Plain, "{line}");
        }
        assert_eq!(tokens.take(&format!("say /approve {hex}")), Typed::Plain, "it is no line of its own");
        assert_eq!(tokens.take(&format!("/approve {hex}")), Typed::Unknown);
    }
}
