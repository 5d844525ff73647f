//! Names that nobody can guess: of conversations, and of questions that are asked once.

/// Makes them from random bytes, without a look at the system.
#[derive(Clone)]
pub struct Names {
    seed: [u8; 32],
    made: u64,
}

impl Names {
    /// Makes names from random bytes that nobody else has.
    pub fn new(seed: [u8; 32]) -> Names {
        Names { seed, made: 0 }
    }

    /// Returns a name of 64 hexadecimal digits that was never returned before.
    pub fn make(&mut self) -> String {
        self.made += 1;
        blake3::keyed_hash(&self.seed, &self.made.to_le_bytes()).to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::wire::proof::is_nonce;

    #[test]
    fn each_name_is_another_and_follows_from_its_seed_alone() {
        let make = |seed: u8| {
            let mut names = Names::new([seed; 32]);
            [names.make(), names.make()]
        };
        let all = [make(1), make(2)].concat();
        assert!(all.iter().all(|name| is_nonce(name)));
        assert!((1..4).all(|at| !all[..at].contains(&all[at])), "{all:?}");
        assert_eq!(make(1), make(1));
    }
}
