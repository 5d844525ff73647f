//! What a model is given of memory: chosen, rendered within a budget, and explained.

pub mod almanac;
pub mod lexical;
pub mod question;
pub mod rank;
pub mod segment;
pub mod words;
