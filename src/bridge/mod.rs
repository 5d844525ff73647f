//! The only folder that knows Emacs: the module's entry, five functions, the wake pipe and the error symbols.
//!
//! A function here converts, calls and converts back; what to do is decided in `edge`.
//! No Lisp value outlives the call that it came with, and no thread but Emacs's own touches Emacs:
//! the one road from a thread to Emacs is the byte that `wake` writes.
#![allow(
    unsafe_code,
    reason = "the macros of the emacs crate expand to unsafe code, and wake.rs sets flags of a file descriptor"
)]

mod defuns;
mod error;
mod wake;

use emacs::{Env, Result};

// Emacs loads no module that does not say this.
emacs::plugin_is_GPL_compatible! {}

/// Called once, when Emacs has loaded the module: it starts nothing.
#[emacs::module(name = "passepartout-native", defun_prefix = "passepartout--mod", separator = "-", mod_in_name = false)]
fn init(_env: &Env) -> Result<()> {
    crate::edge::panics::install(crate::edge::panics::Echo::Nowhere);
    Ok(())
}
