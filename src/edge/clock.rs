//! The clock, as a value that tests can set.

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Returns the moment.
    fn now(&self) -> jiff::Timestamp;
    /// Returns the user's wall clock.
    fn wall(&self) -> jiff::civil::DateTime;
    /// Returns the user's time zone.
    fn zone(&self) -> jiff::tz::TimeZone;
    /// Returns how long the program has run, whatever is done to the clock on the wall.
    fn steady(&self) -> std::time::Duration;
}

/// Returns a moment as the user's clock shows it; for people, never for what is stored or for programs.
pub fn local(at: jiff::Timestamp) -> jiff::civil::DateTime {
    at.to_zoned(jiff::tz::TimeZone::system()).datetime()
}

/// The machine's clock and time zone.
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    fn wall(&self) -> jiff::civil::DateTime {
        jiff::Zoned::now().datetime()
    }

    fn zone(&self) -> jiff::tz::TimeZone {
        jiff::tz::TimeZone::system()
    }

    fn steady(&self) -> std::time::Duration {
        static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
        START.elapsed()
    }
}

/// A clock that stands still where it was set.
pub struct FixedClock(pub jiff::civil::DateTime);

impl Clock for FixedClock {
    fn now(&self) -> jiff::Timestamp {
        self.0.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
    }

    fn wall(&self) -> jiff::civil::DateTime {
        self.0
    }

    fn zone(&self) -> jiff::tz::TimeZone {
        jiff::tz::TimeZone::UTC
    }

    fn steady(&self) -> std::time::Duration {
        std::time::Duration::ZERO
    }
}
