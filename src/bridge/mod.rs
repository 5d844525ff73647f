//! The only folder that knows Emacs.
