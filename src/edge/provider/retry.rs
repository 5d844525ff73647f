//! When a failed request is made again, and after how long.

use futures_util::future::BoxFuture;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::Duration;

/// The first wait when a server names none; the next is twice as long.
const FIRST: Duration = Duration::from_millis(500);

/// Waits for so long.
type Pause = Arc<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync>;

/// How often a provider is asked for one answer, and how long one may wait in between.
#[derive(Clone)]
pub struct Retries {
    /// The most requests for one answer, the first included.
    pub tries: u32,
    /// The longest wait; who wants a longer one is not asked again.
    pub longest: Duration,
    pause: Pause,
}

impl Retries {
    /// Makes as many tries, with waits of at most so long.
    pub fn new(tries: u32, longest: Duration) -> Retries {
        Retries { tries, longest, pause: Arc::new(|wait| Box::pin(tokio::time::sleep(wait))) }
    }

    /// Waits by other means.
    pub fn pausing(self, pause: impl Fn(Duration) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Retries {
        Retries { pause: Arc::new(pause), ..self }
    }

    /// Returns how long is waited behind an attempt that failed and may be made again; `None` when that was the last one.
    /// What a server named is never cut short; what is added spreads those who wait for the same.
    pub(super) fn wait(&self, again: &Again, attempt: u32) -> Option<Duration> {
        let wait = match again.after {
            Some(after) => after + (after / 10).min(Duration::from_secs(1)).mul_f64(chance()),
            None => {
                let whole = FIRST.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
                whole.min(self.longest).mul_f64(0.5 + chance() / 2.0)
            }
        };
        let named = again.after.unwrap_or_default();
        (attempt < self.tries && named <= self.longest).then_some(wait)
    }

    pub(super) async fn pause(&self, wait: Duration) {
        (self.pause)(wait).await;
    }
}

impl Default for Retries {
    fn default() -> Self {
        Retries::new(3, Duration::from_secs(20))
    }
}

impl fmt::Debug for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retries").field("tries", &self.tries).field("longest", &self.longest).finish()
    }
}

/// A request may be made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Again {
    /// After how long, as the server said.
    pub(super) after: Option<Duration>,
}

/// Returns a number from 0 to 1, another one each time. It needs no better source: it only spreads requests.
fn chance() -> f64 {
    let random = std::hash::RandomState::new().hash_one(0_u8);
    f64::from((random >> 32) as u32) / f64::from(u32::MAX)
}

/// Reads from the headers of an answer after how long to ask again: milliseconds, seconds, or a date.
/// A date counts from that of the answer, or else from now: clocks differ.
pub(super) fn retry_after<'a>(header: impl Fn(&str) -> Option<&'a str>, now: jiff::Timestamp) -> Option<Duration> {
    let number = |name: &str| header(name).and_then(|text| text.trim().parse::<f64>().ok());
    let length = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0)).ok();
    if let Some(milliseconds) = number("retry-after-ms") {
        return length(milliseconds / 1000.0);
    }
    if let Some(seconds) = number("retry-after") {
        return length(seconds);
    }
    let date = |name: &str| {
        let text = header(name)?;
        jiff::fmt::rfc2822::parse(text.trim()).ok().map(|date| date.timestamp())
    };
    let wait = date("retry-after")?.duration_since(date("date").unwrap_or(now));
    Some(wait.try_into().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_about_waiting_is_read() {
        let now: jiff::Timestamp = "2026-03-02T09:00:00Z".parse().expect("a time");
        let ms = |n| Some(Duration::from_millis(n));
        for (headers, expected) in [
            (&[("retry-after", "7")][..], ms(7_000)),
            (&[("retry-after", " 1.5 ")], ms(1_500)),
            (&[("retry-after", "-3")], ms(0)),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], ms(250)),
            (&[("retry-after", "Mon, 02 Mar 2026 09:00:30 GMT")], ms(30_000)),
            (
                &[("retry-after", "Mon, 02 Mar 2026 10:00:30 GMT"), ("date", "Mon, 02 Mar 2026 10:00:00 GMT")],
                ms(30_000),
            ),
            (&[("retry-after", "Mon, 02 Mar 2026 08:00:00 GMT")], ms(0)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "NaN")], ms(0)),
            (&[("retry-after", "1e300")], None),
            (&[], None),
        ] {
            let header = |name: &str| headers.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
            assert_eq!(retry_after(header, now), expected, "{headers:?}");
        }
    }

    #[test]
    fn waits_grow_are_spread_and_end() {
        let retries = Retries::new(4, Duration::from_secs(3));
        let named = |seconds| Again { after: Some(Duration::from_secs(seconds)) };
        for _ in 0..50 {
            for (attempt, least, most) in [(1, 250, 500), (2, 500, 1000), (3, 1000, 2000)] {
                let wait = retries.wait(&Again::default(), attempt).expect("again").as_millis();
                assert!((least..=most).contains(&wait), "{attempt}: {wait}");
            }
            let wait = retries.wait(&named(3), 1).expect("again").as_millis();
            assert!((3000..=3300).contains(&wait), "{wait}");
        }
        assert_eq!(retries.wait(&Again::default(), 4), None, "that was the last one");
        assert_eq!(retries.wait(&named(4), 1), None, "nobody waits so long");
        let long = Retries::new(u32::MAX, Duration::from_secs(3)).wait(&Again::default(), 40).expect("again");
        assert!(long <= Duration::from_secs(3));
    }
}
