//! Money: what calls of models cost, in whole millionths of a dollar, and what of it is not known.

pub mod caps;
pub mod prices;
pub mod totals;

use crate::domain::port::Usage;
use crate::domain::work::Work;
use std::fmt;

/// An amount in millionths of a US dollar. It saturates: a sum is never less than its parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

/// So many are a dollar.
const DOLLAR: u64 = 1_000_000;

impl Micros {
    /// Reads an amount in dollars, such as `2`, `2.50` or `0.075`; `None` for anything else, or more digits than six.
    pub fn parse(text: &str) -> Option<Micros> {
        let text = text.trim();
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || part.len() > 6 || !digits(whole) || !digits(part) || text.ends_with('.') {
            return None;
        }
        let whole = whole.parse::<u64>().ok()?.checked_mul(DOLLAR)?;
        let part = format!("{part:0<6}").parse::<u64>().ok()?;
        whole.checked_add(part).map(Micros)
    }

    /// Returns the sum.
    pub fn plus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }

    /// Returns the difference, at least nothing.
    pub fn minus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Micros {
    /// Writes it exactly, with two digits behind the point, or as many as it takes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = format!("{:06}", self.0 % DOLLAR);
        let (cents, rest) = part.split_at(2);
        write!(f, "${}.{cents}{}", self.0 / DOLLAR, rest.trim_end_matches('0'))
    }
}

/// What a call cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cost {
    /// So much, by the tokens that the provider reported and the price of that day.
    Known(Micros),
    /// At most about so much: it was interrupted or said no tokens, and what was reserved for it counts.
    Guessed(Micros),
    /// Its price stands in no table.
    Unknown,
}

impl Cost {
    /// Says it in words.
    pub fn words(self) -> String {
        match self {
            Cost::Known(amount) => amount.to_string(),
            Cost::Guessed(amount) => format!("about {amount}"),
            Cost::Unknown => "price unknown".to_string(),
        }
    }

    /// Returns what of it counts towards a cap.
    pub fn counted(self) -> Micros {
        match self {
            Cost::Known(amount) | Cost::Guessed(amount) => amount,
            Cost::Unknown => Micros::default(),
        }
    }
}

/// One call of a provider that is not built in.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// When it was made.
    pub at: jiff::Timestamp,
    /// The conversation.
    pub session: String,
    /// The provider.
    pub provider: String,
    /// The model, as the provider named it or the settings do.
    pub model: String,
    /// On whose behalf.
    pub work: Work,
    /// The skill under which the turn ran, if one did.
    pub skill: Option<String>,
    /// The heading that was in focus, by its id. Titles are looked up when somebody asks who may see them.
    pub heading: Option<String>,
    /// What it used; `None` when the provider did not say.
    pub usage: Option<Usage>,
    /// `answered`, `stopped`, or what kind of failure.
    pub status: String,
    /// The status of HTTP of a failure.
    pub http: Option<u16>,
    /// How often it was asked for this answer; at least 1.
    pub attempts: u32,
    /// What it cost.
    pub cost: Cost,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn amounts_are_read_exactly_or_not_at_all() {
        for (text, expected) in [
            ("2", Some(2_000_000)),
            (" 2.50 ", Some(2_500_000)),
            ("0.075", Some(75_000)),
            ("0.000001", Some(1)),
            ("0", Some(0)),
            ("0.0000001", None),
            ("", None),
            (".5", None),
            ("5.", None),
            ("-1", None),
            ("+1", None),
            ("1e3", None),
            ("1,5", None),
            ("$2", None),
            ("99999999999999999999", None),
            ("18446744073709", Some(18_446_744_073_709_000_000)),
            ("18446744073710", None),
        ] {
            assert_eq!(Micros::parse(text), expected.map(Micros), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(amount in any::<u64>()) {
            let text = Micros(amount).to_string();
            prop_assert_eq!(Micros::parse(text.trim_start_matches('$')), Some(Micros(amount)));
        }

        #[test]
        fn sums_never_fall(one in any::<u64>(), other in any::<u64>()) {
            prop_assert!(Micros(one).plus(Micros(other)) >= Micros(one).max(Micros(other)));
            prop_assert!(Micros(one).minus(Micros(other)) <= Micros(one));
        }
    }
}
