//! Which files hold a name: a persistent map from ids, or from targets of links, to files in order.

use rpds::{HashTrieMapSync, RedBlackTreeSetSync};
use std::sync::Arc;

/// Files by name; the files of one name are in order, whatever came first.
#[derive(Clone, Default)]
pub struct Holders(HashTrieMapSync<Arc<str>, Files>);

/// Nearly every name stands in one file.
#[derive(Clone)]
enum Files {
    One(Arc<str>),
    Many(RedBlackTreeSetSync<Arc<str>>),
}

impl Holders {
    /// Returns the files that hold a name, in order.
    pub fn files(&self, name: &str) -> impl Iterator<Item = &Arc<str>> {
        let (one, many) = match self.0.get(name) {
            None => (None, None),
            Some(Files::One(file)) => (Some(file), None),
            Some(Files::Many(files)) => (None, Some(files.iter())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// Returns how many names there are.
    pub fn names(&self) -> usize {
        self.0.size()
    }

    /// Says that a file holds a name.
    pub fn insert(&mut self, name: &Arc<str>, file: &Arc<str>) {
        let next = match self.0.get(name) {
            None => Files::One(file.clone()),
            Some(Files::One(other)) if other == file => return,
            Some(Files::One(other)) => Files::Many([other.clone(), file.clone()].into_iter().collect()),
            Some(Files::Many(files)) => Files::Many(files.insert(file.clone())),
        };
        self.0.insert_mut(name.clone(), next);
    }

    /// Says that a file no longer holds a name.
    pub fn remove(&mut self, name: &str, file: &str) {
        let next = match self.0.get(name) {
            None => return,
            Some(Files::One(other)) if other.as_ref() != file => return,
            Some(Files::One(_)) => None,
            Some(Files::Many(files)) => {
                let files = files.remove(file);
                match (files.size(), files.first()) {
                    (1, Some(last)) => Some(Files::One(last.clone())),
                    _ => Some(Files::Many(files)),
                }
            }
        };
        match next {
            None => {
                self.0.remove_mut(name);
            }
            Some(next) => {
                if let Some(files) = self.0.get_mut(name) {
                    *files = next;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_in_order_and_come_back() {
        let mut holders = Holders::default();
        let name: Arc<str> = "x".into();
        for file in ["c", "a", "b", "a"] {
            holders.insert(&name, &file.into());
        }
        let files = |holders: &Holders| holders.files("x").map(|f| f.to_string()).collect::<Vec<_>>();
        assert_eq!(files(&holders), ["a", "b", "c"]);
        holders.remove("x", "a");
        assert_eq!(files(&holders), ["b", "c"]);
        holders.remove("x", "nowhere");
        holders.remove("x", "b");
        assert_eq!(files(&holders), ["c"]);
        holders.remove("x", "c");
        assert_eq!(holders.names(), 0);
    }
}
