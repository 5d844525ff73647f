//! How many tokens a provider counts for each of ours, learned from what it reports.
//!
//! All texts are counted by one vocabulary; what others make of them is a factor for each provider.

/// Tokens of a provider for one of ours; from [`Factor::LEAST`] to [`Factor::MOST`].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Factor(f64);

/// Reports of prompts with fewer tokens say more about what is sent beside the text than about the text.
const WORTH: usize = 200;
/// Whoever reports less than this for one of ours, and so many at least, has not read all of it.
const READ: f64 = 0.6;
/// The smallest window that a model is served with, in tokens.
const WINDOW: u64 = 1_000;
/// How much a report counts beside all before it.
const WEIGHT: f64 = 0.2;

impl Factor {
    /// What is taken of a provider that counts by our vocabulary.
    pub const OURS: Factor = Factor(1.0);
    /// What is taken of any other, until it has reported.
    pub const OTHERS: Factor = Factor(1.15);
    /// However a provider counts, no less is taken.
    pub const LEAST: f64 = 0.8;
    /// However a provider counts, no more is taken.
    pub const MOST: f64 = 2.0;

    /// Returns a factor as it was kept; what is out of its bounds or no number is none.
    pub fn kept(value: f64) -> Option<Factor> {
        (Self::LEAST..=Self::MOST).contains(&value).then_some(Factor(value))
    }

    /// Returns the number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Returns what is taken from now on, when a prompt that has `counted` tokens of ours was reported as `reported`.
    /// One report moves it by a fifth of the difference, and never out of its bounds.
    pub fn learned(self, counted: usize, reported: u64) -> Factor {
        if counted < WORTH || reported == 0 || Factor::is_short(counted, reported) {
            return self;
        }
        let seen = (reported as f64 / counted as f64).clamp(Self::LEAST, Self::MOST);
        Factor((self.0 + WEIGHT * (seen - self.0)).clamp(Self::LEAST, Self::MOST))
    }

    /// Tells whether a report says that the prompt was not read whole: a server that gives a model a smaller window than the
    /// prompt may drop what does not fit without a word, and count what is left. It teaches nothing of how it counts.
    pub fn is_short(counted: usize, reported: u64) -> bool {
        reported >= WINDOW && (reported as f64) < READ * counted as f64
    }

    /// Returns how many tokens the provider makes of so many of ours.
    pub fn theirs(self, ours: usize) -> usize {
        (ours as f64 * self.0).ceil() as usize
    }

    /// Returns how many of ours fit into so many of the provider's.
    pub fn ours(self, theirs: usize) -> usize {
        let most = (theirs as f64 / self.0).floor() as usize;
        // A quotient is rounded: what fits by it must fit when it is measured.
        if self.theirs(most) > theirs { most.saturating_sub(1) } else { most }
    }

    /// Returns the greater of two.
    pub fn max(self, other: Factor) -> Factor {
        if self.0 < other.0 { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reports_move_it_slowly_and_within_bounds() {
        for (counted, reported, expected) in [
            (1_000, 1_150, 1.15),
            (1_000, 1_000, 1.12),
            (1_000, 1_650, 1.25),
            // Small prompts, none, and nonsense.
            (199, 1_000, 1.15),
            (1_000, 0, 1.15),
            // What was not read whole says nothing of how it is counted.
            (12_000, 4_096, 1.15),
            (12_000, 7_200, 1.08),
            (1_000, u64::MAX, 1.32),
            (usize::MAX, 1, 1.08),
        ] {
            let learned = Factor::OTHERS.learned(counted, reported).value();
            assert!((learned - expected).abs() < 1e-9, "{counted} and {reported}: {learned}");
        }
        let after = (0..100).fold(Factor::OTHERS, |factor, _| factor.learned(1_000, 1_400));
        assert!((after.value() - 1.4).abs() < 1e-6, "{after:?}");
        for wrong in [f64::NAN, f64::INFINITY, 0.0, -1.0, 2.1] {
            assert_eq!(Factor::kept(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_fits_is_never_over(theirs in 0usize..1_000_000, factor in Factor::LEAST..=Factor::MOST) {
            let factor = Factor::kept(factor).expect("it is within the bounds");
            prop_assert!(factor.theirs(factor.ours(theirs)) <= theirs);
        }
    }
}
