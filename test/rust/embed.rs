//! Vectors of meaning: what embedding servers are sent and answer, how vectors are kept, and how they follow memory.

mod follow;
mod kept;
mod served;
