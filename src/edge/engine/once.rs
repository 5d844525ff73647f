//! Questions that are asked once, whatever becomes of connections and cores: their client gives each a random name.
//!
//! That a name was used is stored before anybody is asked. The name is a capability: the store has its hash alone.

use crate::domain::id::TurnId;
use crate::edge::engine::Engine;
use crate::edge::engine::record::{self, kind};
use crate::edge::wire::proof::is_nonce;
use std::fmt;
use std::sync::Arc;

/// The name of a question, as the store knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Once(String);

impl Once {
    /// Reads a name that a client gave.
    ///
    /// # Errors
    /// In words, when it is none.
    pub fn read(name: &str) -> Result<Once, String> {
        match is_nonce(name) {
            true => Ok(Once(blake3::hash(name.as_bytes()).to_hex().to_string())),
            false => {
                Err("a question that is to be asked once (:once) is named by 64 random lower-case hexadecimal digits"
                    .to_string())
            }
        }
    }
}

/// What became of a question that was asked before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// The turn that it was.
    pub turn: TurnId,
    /// How that stands.
    pub stands: Stands,
}

/// How a turn stands that was begun before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It goes on in this core.
    GoesOn,
    /// It is over, and ended so.
    Over(&'static str),
    /// It does not go on, and nothing says how it ended.
    Unknown,
}

impl Stands {
    /// Returns the status that who asks again is told.
    pub fn status(self) -> &'static str {
        match self {
            Stands::Over(ending) => ending,
            Stands::GoesOn | Stands::Unknown => "failed",
        }
    }
}

/// A turn of a client that goes on; it is over when this is gone, and what it came to is stored by then.
pub struct Going {
    engine: Arc<Engine>,
    turn: TurnId,
}

impl Drop for Going {
    fn drop(&mut self) {
        self.engine.going.lock().remove(&self.turn);
    }
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = &self.turn;
        match self.stands {
            Stands::GoesOn => write!(
                f,
                "this was asked before, and nobody was asked again: the turn {turn} still goes on, and cannot be \
                 listened to from here. Ask again under the same name to hear whether it is over"
            ),
            Stands::Over(ending) => write!(
                f,
                "this was asked before, and nobody was asked again: the turn {turn} is over ({ending}). What it said is \
                 not kept here; its plans and changes are"
            ),
            Stands::Unknown => write!(
                f,
                "this was asked before, and nobody was asked again: the turn {turn} was begun, and the core ended before it \
                 was over. Whatever it had begun to do is in the log; ask it anew, as another question, if you still want it"
            ),
        }
    }
}

/// One looks at a time: of two that come at once with one name, the second finds the first.
static LOOKING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

impl Engine {
    /// Stores that a question is asked in a turn; returns what became of it when it was asked before.
    ///
    /// # Errors
    /// In words, when that cannot be known or stored: then nobody is to be asked.
    pub async fn ask_once(&self, once: &Once, turn: &TurnId) -> Result<Option<Before>, String> {
        let unknown =
            |why: String| format!("whether this was asked before cannot be known, so nobody was asked: {why}");
        let _looking = LOOKING.lock().await;
        let Some(asked) = self.archive.latest(kind::QUESTION, once.0.clone()).await.map_err(unknown)? else {
            let body = serde_json::json!({ "turn": turn.0.as_str() });
            self.append(kind::QUESTION, &once.0, body).await.map_err(unknown)?;
            return Ok(None);
        };
        let before = TurnId(asked.body["turn"].as_str().unwrap_or_default().to_string());
        // In this order: what a turn came to is stored before it is over.
        if self.going.lock().contains(&before) {
            return Ok(Some(Before { turn: before, stands: Stands::GoesOn }));
        }
        let ended = self.archive.latest(kind::TURN, before.0.clone()).await.map_err(unknown)?;
        let ended = ended.and_then(|turn| record::read_turn(&turn.body));
        let stands = ended.map_or(Stands::Unknown, |turn| Stands::Over(turn.report.ending.name()));
        Ok(Some(Before { turn: before, stands }))
    }

    /// Takes note that a turn of a client goes on, for as long as what this returns is there.
    pub fn goes_on(self: &Arc<Self>, turn: &TurnId) -> Going {
        self.going.lock().insert(turn.clone());
        Going { engine: self.clone(), turn: turn.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::engine::fresh::tests::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_name_counts_once_and_says_what_became_of_its_turn() {
        let place = Place::new("* One\n").await;
        let turn = |name: &str| TurnId(name.to_string());
        let [one, two] = ["a", "b"].map(|digit| Once::read(&digit.repeat(64)).expect("a name"));
        assert_eq!(place.engine.ask_once(&one, &turn("T1")).await, Ok(None));
        assert_eq!(place.engine.ask_once(&two, &turn("T2")).await, Ok(None));
        let stands = async |stands| {
            let before = place.engine.ask_once(&one, &turn("T3")).await;
            assert_eq!(before, Ok(Some(Before { turn: turn("T1"), stands })));
        };
        stands(Stands::Unknown).await;
        let going = place.engine.goes_on(&turn("T1"));
        stands(Stands::GoesOn).await;
        drop(going);
        stands(Stands::Unknown).await;
        // However many come at once, one is the first.
        let three = Once::read(&"c".repeat(64)).expect("a name");
        let all = (0..20).map(|n| {
            let (engine, three) = (place.engine.clone(), three.clone());
            tokio::spawn(async move { engine.ask_once(&three, &TurnId(format!("T{n}"))).await })
        });
        let mut first = 0;
        for asked in all.collect::<Vec<_>>() {
            first += usize::from(asked.await.expect("it ends") == Ok(None));
        }
        assert_eq!(first, 1);
    }

    #[test]
    fn a_name_is_long_random_and_not_kept() {
        for odd in ["", "1", &"A".repeat(64), &"a".repeat(63), &"a".repeat(65), &"g".repeat(64)] {
            assert!(Once::read(odd).is_err_and(|why| why.contains("64 random")), "{odd:?}");
        }
        let name = "0123456789abcdef".repeat(4);
        let once = Once::read(&name).expect("a name");
        assert!(!format!("{once:?}").contains(&name));
    }
}
