//! How embedding stands, for the doctor.

use super::Engine;
use crate::domain::count::counted;
use crate::domain::port::Locality;
use std::fmt;

/// How embedding stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingStatus {
    /// Backend and model; `None` when nothing makes vectors.
    pub name: Option<String>,
    /// Where it is; empty inside this program.
    pub url: String,
    /// Where it runs.
    pub locality: Locality,
    /// How many texts have a vector.
    pub vectors: usize,
    /// How many numbers each has, once that is known.
    pub dimension: Option<usize>,
    /// How many texts wait for theirs.
    pub waiting: usize,
    /// How many stay on this machine, and have none for that.
    pub kept_back: usize,
    /// How many the server did not take, or quote what stays here.
    pub refused: usize,
    /// What is wrong with the settings, or went wrong last.
    pub trouble: Option<String>,
    /// Why no more vectors are kept; those that are there count.
    pub unkept: Option<String>,
    /// It is not local, and waits for the user to confirm it.
    pub unconfirmed: bool,
}

impl fmt::Display for EmbeddingStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(name) = &self.name else {
            return f.write_str("hashing: notes are found by their words and spelling; no vectors are made of them");
        };
        let place = match self.locality {
            Locality::Builtin => "in this program".to_string(),
            Locality::Local => format!("at {}, on this machine", self.url),
            Locality::Remote => format!("at {}, not on this machine", self.url),
        };
        write!(f, "{name} {place}; {}", counted(self.vectors, "vector"))?;
        if let Some(dimension) = self.dimension {
            write!(f, " of {dimension} numbers")?;
        }
        for (count, what) in
            [(self.waiting, "wait"), (self.kept_back, "stay on this machine"), (self.refused, "are left out")]
        {
            if count > 0 {
                write!(f, ", {} {what}", counted(count, "text"))?;
            }
        }
        Ok(())
    }
}

impl Engine {
    /// Returns how embedding stands.
    pub fn embedding_status(&self) -> EmbeddingStatus {
        let embedder = self.embedder();
        let kept = self.embedding.kept.read();
        let state = self.embedding.state.lock();
        EmbeddingStatus {
            name: embedder.as_ref().map(|embedder| embedder.name().to_string()),
            url: embedder.as_ref().map(|embedder| embedder.url()).unwrap_or_default(),
            locality: embedder.as_ref().map_or(Locality::Builtin, |embedder| embedder.locality()),
            vectors: kept.as_ref().map_or(0, |kept| kept.len()),
            dimension: kept.as_ref().and_then(|kept| kept.dimension()),
            waiting: state.waiting,
            kept_back: state.kept_back,
            refused: state.refused.len(),
            trouble: state.wrong.clone().or_else(|| state.trouble.clone()),
            unkept: state.unkept.clone(),
            unconfirmed: state.unconfirmed,
        }
    }
}
