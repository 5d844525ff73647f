//! What the attempts aim at: written down outside, read inside.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names and values; whoever confines knows nothing of them.
#[derive(Clone, Debug, Default)]
pub struct Targets(BTreeMap<String, String>);

impl Targets {
    /// Notes a value.
    pub fn set(&mut self, name: &str, value: impl ToString) {
        self.0.insert(name.to_string(), value.to_string());
    }

    /// Writes all to a file.
    pub fn write(&self, path: &Path) {
        let lines: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect();
        std::fs::write(path, lines.concat()).unwrap();
    }

    /// Reads them back.
    pub fn read(path: &Path) -> Targets {
        let text = std::fs::read_to_string(path).unwrap();
        let pairs = text.lines().filter_map(|line| line.split_once('\t'));
        Targets(pairs.map(|(name, value)| (name.to_string(), value.to_string())).collect())
    }

    /// Returns a value that must be there.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("there is a target {name}"))
    }

    /// Returns a number.
    pub fn number(&self, name: &str) -> i64 {
        self.text(name).parse().unwrap()
    }

    /// Returns a path below the folder of the world.
    pub fn at(&self, name: &str) -> PathBuf {
        Path::new(self.text("world")).join(name)
    }

    /// Returns a path below the project.
    pub fn project(&self, name: &str) -> PathBuf {
        self.at("home/work/project").join(name)
    }

    /// Returns a process of the same user outside: each attempt that may harm one has its own.
    pub fn victim(&self, number: usize) -> i32 {
        self.number(&format!("victim{number}")) as i32
    }
}
