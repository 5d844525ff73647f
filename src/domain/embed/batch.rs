//! Texts that may go to an embedder. Only [`Batch::admit`] makes them, and an embedder takes nothing else.

use crate::domain::embed::Passage;
use crate::domain::label::Privacy;
use crate::domain::port::Locality;

/// Texts that one kind of reader may have, in order. There is always at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    texts: Vec<String>,
    reader: Locality,
    strictest: Privacy,
}

/// What became of passages that were to go somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// What may go; `None` when nothing may.
    pub batch: Option<Batch>,
    /// The passages in it, in its order.
    pub sent: Vec<Passage>,
    /// What is kept back.
    pub kept: Vec<Passage>,
}

impl Batch {
    /// Lets passages go to a reader: all of them to one on this machine, and to any other only what may leave it without
    /// the user being asked. No conversation goes on here in which they could have been let go.
    pub fn admit(reader: Locality, passages: Vec<Passage>) -> Admitted {
        let most = match reader {
            Locality::Builtin | Locality::Local => Privacy::Private,
            Locality::Remote => Privacy::ELSEWHERE,
        };
        let (sent, kept): (Vec<Passage>, Vec<Passage>) =
            passages.into_iter().partition(|passage| passage.privacy() <= most);
        let batch = sent.iter().map(Passage::privacy).max().map(|strictest| {
            let texts = sent.iter().map(|passage| passage.text().to_string()).collect();
            Batch { texts, reader, strictest }
        });
        Admitted { batch, sent, kept }
    }

    /// Returns the texts.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Returns whether a reader of this locality may have it: one on this machine may have what was admitted for any
    /// other, and not the other way round.
    pub fn is_for(&self, reader: Locality) -> bool {
        match (self.reader, reader) {
            (Locality::Remote, _) | (_, Locality::Builtin | Locality::Local) => true,
            (Locality::Builtin | Locality::Local, Locality::Remote) => false,
        }
    }

    /// Returns how private the most private of it is: what is told of it depends on that.
    pub fn privacy(&self) -> Privacy {
        self.strictest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_not_leave_is_in_no_batch_for_elsewhere() {
        let tiers = [Privacy::Open, Privacy::Warn, Privacy::Ask, Privacy::Private];
        let passages: Vec<Passage> =
            tiers.iter().filter_map(|tier| Passage::new(&format!("a note that is {}", tier.word()), *tier)).collect();
        for (reader, count) in [(Locality::Builtin, 4), (Locality::Local, 4), (Locality::Remote, 2)] {
            let Admitted { batch, sent, kept } = Batch::admit(reader, passages.clone());
            let batch = batch.expect("something may go to anybody");
            assert_eq!((batch.texts().len(), sent.len(), kept.len()), (count, count, 4 - count), "{reader:?}");
            assert_eq!(sent, passages[..count], "{reader:?}");
            assert_eq!(batch.is_for(Locality::Remote), reader == Locality::Remote);
            assert!(batch.is_for(Locality::Local) && batch.is_for(Locality::Builtin));
            assert_eq!(batch.privacy(), tiers[count - 1]);
        }
        let secret = Passage::new("an entry of a diary", Privacy::Private).expect("it says something");
        assert_eq!(Batch::admit(Locality::Remote, vec![secret.clone()]).batch, None);
        assert_eq!(Batch::admit(Locality::Remote, vec![secret.clone()]).kept, [secret]);
    }

    #[test]
    fn secrets_are_masked_in_what_goes_and_not_in_the_key() {
        let token = "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";
        let passage =
            |end: &str| Passage::new(&format!("deploy with {token}{end}"), Privacy::Open).expect("it is a text");
        let Admitted { batch, .. } = Batch::admit(Locality::Local, vec![passage("")]);
        assert!(!batch.expect("it may go").texts()[0].contains(token));
        assert_ne!(passage("").key(), passage(" ").key());
        let long = format!("{} {token} and so on", "word ".repeat(405));
        let cut = Passage::new(&long, Privacy::Open).expect("it is a text");
        assert!(cut.text().len() <= 2 << 10 && !cut.text().contains("ghp_"), "no half of a secret is left");
        let masked = passage("").masked(&|text| text.replace("deploy", "…"));
        assert!(masked.text().starts_with("… with"));
        assert_eq!(masked.key(), passage("").key());
    }
}
