//! The plist codec and frames.
