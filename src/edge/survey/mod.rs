//! Finds out what gates need to know.
