//! Org text ↔ outline: what Org 9.7 says, byte for byte, and what hostile text does.

mod agreement;
