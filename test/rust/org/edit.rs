//! Structural edits: what they write, what they leave, what they refuse.
