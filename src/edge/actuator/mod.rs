//! Carries out what was cleared.
