//! The clock, as a value that tests can set.

/// Tells the time.
pub trait Clock: Send + Sync {
    /// Returns the moment.
    fn now(&self) -> jiff::Timestamp;
    /// Returns the user's wall clock.
    fn wall(&self) -> jiff::civil::DateTime;
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
}
