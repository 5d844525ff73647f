//! The outline that stands before everything that changes: active projects, files, and what stands directly below them.
//!
//! It depends on memory and its reader alone, neither on the time, nor on the question, nor on where point is, and is
//! written in the order of files: as long as no title changes, no byte of it does, unless there are more files than fit;
//! those are in it that were changed last.

use crate::domain::context::desk::{Desk, OUTLINE_SHARE};
use crate::domain::context::lexical::Index;
use crate::domain::context::{Context, Request};
use crate::domain::memory::view::View;
use crate::domain::port::CountTokens;

/// Writes the outline. It takes at most what [`super::assemble`] would spend on it, and never more than `max_tokens`.
pub fn outline(view: &View, index: &Index, request: &Request<'_>, counter: &dyn CountTokens) -> Context {
    let mut desk = Desk::new(view, index, request, counter);
    desk.projects();
    desk.outline(OUTLINE_SHARE);
    desk.finish(counter)
}
