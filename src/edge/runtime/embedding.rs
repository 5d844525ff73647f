//! When vectors are made: a moment after memory came to rest, and every ten minutes whatever happens.

use crate::edge::engine::Engine;
use crate::edge::engine::embedding::Drained;
use std::sync::Weak;
use std::time::Duration;

/// Whatever happens, it is looked after so long whether something waits: also what failed is tried again then.
const JOB: Duration = Duration::from_secs(600);
/// Memory is at rest when nothing came in for so long.
const REST: Duration = Duration::from_secs(2);

/// Embeds what waits, as long as the engine lives.
pub(super) async fn follow(engine: Weak<Engine>) {
    loop {
        let Some(here) = engine.upgrade() else { return };
        let wake = here.embedding_wake();
        let drained = here.embed_what_waits().await;
        drop(here);
        let pause = async {
            match drained {
                // What is under way ends soon.
                Drained::Interrupted => tokio::time::sleep(REST).await,
                Drained::Nothing | Drained::Done | Drained::Unconfirmed | Drained::Resting | Drained::Full => {
                    tokio::time::sleep(JOB).await;
                }
            }
        };
        tokio::select! {
            () = pause => {}
            () = wake.notified() => {
                let rest = async { while tokio::time::timeout(REST, wake.notified()).await.is_ok() {} };
                // Something may come in all the time.
                let _ = tokio::time::timeout(JOB, rest).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::embed::{Batch, Vector};
    use crate::domain::port::{EmbedError, Embedder, Locality};
    use crate::edge::engine::fresh::tests::Place;
    use async_trait::async_trait;
    use std::sync::Arc;
    use tokio::sync::mpsc;
    use tokio::time::Instant;

    /// Tells what it was sent.
    struct Telling(mpsc::UnboundedSender<Vec<String>>);

    #[async_trait]
    impl Embedder for Telling {
        fn name(&self) -> &str {
            "telling m"
        }

        fn locality(&self) -> Locality {
            Locality::Local
        }

        fn url(&self) -> String {
            String::new()
        }

        fn dimension(&self) -> Option<usize> {
            Some(1)
        }

        async fn embed(&self, batch: &Batch) -> Result<Vec<Vector>, EmbedError> {
            let _ = self.0.send(batch.texts().to_vec());
            Ok(batch.texts().iter().filter_map(|_| Vector::new(vec![1.0]).ok()).collect())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_in_is_embedded_at_rest_and_the_rest_every_ten_minutes() {
        let place = Place::new("* One\nThe first note.\n").await;
        let (told, mut telling) = mpsc::unbounded_channel();
        // What was read wakes it once; after that nobody does.
        let following = tokio::spawn(follow(Arc::downgrade(&place.engine)));
        tokio::time::sleep(REST * 2).await;
        let begun = Instant::now();
        place.engine.embed_with(Arc::new(Telling(told)));
        assert_eq!(telling.recv().await, Some(vec!["One\nThe first note.".to_string()]));
        assert!(begun.elapsed() > REST * 2 && begun.elapsed() <= JOB, "the job finds it: {:?}", begun.elapsed());
        let begun = Instant::now();
        let text = "* One\nThe first note.\n* Two\nThe second note.\n";
        place.engine.take_text(&place.file, text.into(), "a test").expect("it can be read");
        assert_eq!(telling.recv().await, Some(vec!["Two\nThe second note.".to_string()]));
        assert!(begun.elapsed() >= REST && begun.elapsed() < REST * 3, "at rest: {:?}", begun.elapsed());
        drop(place);
        following.abort();
    }
}
