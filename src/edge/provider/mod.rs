//! Model providers and their cascade.
