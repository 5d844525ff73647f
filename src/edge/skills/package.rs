//! All files of one skill as they were read at one time: what a confirmation is bound to, and what is shown for it.
//!
//! No link in a folder is followed, nothing that is no regular file is opened, and everything is bounded.

use crate::domain::hash::ContentHasher;
use crate::domain::policy::loosening::{Loosening, OFF, SKILL};
use crate::domain::skill::handbook::FILE;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most files of one skill.
const MAX_FILES: usize = 500;
/// How deep its folders go.
const MAX_DEPTH: usize = 6;
/// Most bytes of all files.
const MAX_BYTES: u64 = 64 << 20;
/// Largest text that is shown, in bytes; a larger one is named, and read out to nobody.
///
/// It is what a tool may say at once, less the names of the other files.
const MAX_SHOWN: u64 = 96_000;
/// Most bytes of all texts that are shown.
const MAX_ALL_SHOWN: u64 = 1 << 20;

/// One file of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// Its path below the folder, with slashes.
    pub name: String,
    /// How long it is, in bytes.
    pub size: u64,
    /// The BLAKE3 of its bytes.
    pub hash: [u8; 32],
    /// Whether it is a text that is shown, and read out when it is asked for.
    pub readable: bool,
    /// That text; without it where only the name of the files is needed.
    pub text: Option<Arc<str>>,
}

/// All files of one skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The file or the folder, canonical.
    pub path: PathBuf,
    /// The name of the skill.
    pub skill: String,
    /// Its files, by name.
    pub files: Vec<Packed>,
}

impl Package {
    /// Makes the package of a skill that is one file, of its text.
    pub fn of_text(path: &Path, skill: &str, text: &str) -> Package {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let packed = Packed {
            name,
            size: text.len() as u64,
            hash: *blake3::hash(text.as_bytes()).as_bytes(),
            readable: true,
            text: Some(Arc::from(text)),
        };
        Package { path: canonical(path), skill: skill.to_string(), files: vec![packed] }
    }

    /// Reads all files below a folder. What git keeps for itself at its top is none of the skill.
    ///
    /// # Errors
    /// In words: what cannot be read, is a link or no regular file, has a name that cannot be shown, or is too much.
    pub fn read(folder: &Path, skill: &str) -> Result<Package, String> {
        let (mut files, mut whole, mut shown) = (Vec::new(), 0u64, 0u64);
        let mut waiting = vec![(folder.to_path_buf(), String::new(), 0usize)];
        while let Some((at, prefix, depth)) = waiting.pop() {
            for (path, name) in entries(&at)? {
                if name == ".git" && depth == 0 {
                    continue;
                }
                if name == ".git" {
                    return Err(format!("{prefix}.git is git's own, and stands below its top; take it out"));
                }
                let name = format!("{prefix}{name}");
                let about = fs::symlink_metadata(&path).map_err(|why| format!("{name} cannot be read: {why}"))?;
                if about.is_dir() {
                    if depth == MAX_DEPTH {
                        return Err(format!("its folders go deeper than {MAX_DEPTH}"));
                    }
                    waiting.push((path, format!("{name}/"), depth + 1));
                    continue;
                }
                if about.is_symlink() {
                    return Err(format!("{name} is a link; put the file itself there"));
                }
                if !about.is_file() {
                    return Err(format!("{name} is no regular file"));
                }
                if files.len() == MAX_FILES {
                    return Err(format!("it has more than {MAX_FILES} files"));
                }
                let bytes = bytes(&path, MAX_BYTES - whole).map_err(|why| format!("{name} {why}"))?;
                whole += bytes.len() as u64;
                let packed = packed(name, bytes, MAX_ALL_SHOWN - shown);
                shown += packed.text.as_ref().map_or(0, |text| text.len() as u64);
                files.push(packed);
            }
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Package { path: canonical(folder), skill: skill.to_string(), files })
    }

    /// Returns the name of exactly these files, as 64 hexadecimal digits.
    pub fn hash(&self) -> String {
        let mut hasher = ContentHasher::new("skill");
        for file in &self.files {
            hasher.text(&file.name).text(&blake3::Hash::from_bytes(file.hash).to_hex());
        }
        blake3::Hash::from_bytes(hasher.finish()).to_hex().to_string()
    }

    /// Returns it for people: in groups of four digits.
    fn spelt(&self) -> String {
        let digits: Vec<char> = self.hash().chars().collect();
        digits.chunks(4).map(|group| group.iter().collect::<String>()).collect::<Vec<_>>().join(" ")
    }

    /// Returns what the user confirms when it comes from outside: exactly these files in this place.
    pub fn loosening(&self) -> Loosening {
        self.named(self.spelt())
    }

    /// Returns what stands for taking it out of use: as it is now when something of it tightens, whatever becomes of it
    /// otherwise.
    pub fn off(&self, tightens: bool) -> Loosening {
        self.named(if tightens { format!("{OFF} {}", self.spelt()) } else { OFF.to_string() })
    }

    fn named(&self, value: String) -> Loosening {
        let (file, name) = (self.path.display().to_string(), format!("{SKILL}{}", self.skill));
        Loosening { file, heading: String::new(), name, value }
    }

    /// Returns the same without the texts, as it is kept while the skill is in use.
    pub fn without_texts(mut self) -> Package {
        self.files.iter_mut().for_each(|file| file.text = None);
        self
    }

    /// Returns the file of a name.
    pub fn file(&self, name: &str) -> Option<&Packed> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Returns everything as a human is shown it: what it asks for, a list of all files, and every text.
    pub fn shown(&self, asks: &[String]) -> String {
        let mut text = format!("The skill {}, from {}\n\nWhat it asks for:\n", self.skill, self.path.display());
        asks.iter().for_each(|line| text.push_str(&format!("- {line}\n")));
        text.push_str("\nAll of its files:\n");
        for file in &self.files {
            let unseen = if !file.readable { ", not shown and read out to nobody" } else { "" };
            let noun = if file.size == 1 { "byte" } else { "bytes" };
            text.push_str(&format!("- {} ({} {noun}{unseen})\n", file.name, file.size));
        }
        for file in &self.files {
            if let Some(body) = &file.text {
                text.push_str(&format!("\n──── {} ────\n{}\n", file.name, body.trim_end()));
            }
        }
        text
    }
}

/// Reads a text of a skill again.
///
/// # Errors
/// In words for a model, none of them the skill's: when it is another than it was, or no text that was shown.
pub fn read_again(root: &Path, file: &Packed) -> Result<String, String> {
    if !file.readable {
        return Err("this file is no text, or too long; it was not shown when the skill was confirmed".to_string());
    }
    let bytes = bytes(&root.join(&file.name), MAX_SHOWN).map_err(|why| format!("this file {why}"))?;
    if *blake3::hash(&bytes).as_bytes() != file.hash {
        return Err("this file changed since the skill was loaded; the user must confirm it again".to_string());
    }
    String::from_utf8(bytes).map_err(|_| "this file is no text".to_string())
}

fn packed(name: String, bytes: Vec<u8>, room: u64) -> Packed {
    let (size, hash) = (bytes.len() as u64, *blake3::hash(&bytes).as_bytes());
    let fits = size <= MAX_SHOWN.min(room) && !bytes.contains(&0);
    let text = if fits { String::from_utf8(bytes).ok().map(Arc::from) } else { None };
    Packed { name, size, hash, readable: text.is_some(), text }
}

/// Returns the entries of a folder with their names, by name.
fn entries(folder: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let listed = fs::read_dir(folder).map_err(|why| format!("its folder cannot be read: {why}"))?;
    let mut found = Vec::new();
    for entry in listed {
        let entry = entry.map_err(|why| format!("its folder cannot be read: {why}"))?;
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.chars().any(char::is_control)) else {
            return Err(format!("the name {name:?} of a file in it cannot be shown; rename it"));
        };
        if found.len() > MAX_FILES {
            return Err(format!("it has more than {MAX_FILES} files"));
        }
        found.push((entry.path(), name.to_string()));
    }
    // What must be shown takes its room first.
    found.sort_by(|(_, a), (_, b)| (a != FILE).cmp(&(b != FILE)).then_with(|| a.cmp(b)));
    Ok(found)
}

/// Reads a regular file, which is no link.
fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let too_large = || format!("makes it too large; the files of a skill have at most {} MB", MAX_BYTES >> 20);
    limited(path, most, false)?.ok_or_else(too_large)
}

/// Reads a regular file; `None` when it has more bytes than `most`. What the system says of its length is not trusted.
pub(super) fn limited(path: &Path, most: u64, follow: bool) -> Result<Option<Vec<u8>>, String> {
    let unread = |why: std::io::Error| format!("cannot be read: {why}");
    let link = if follow { 0 } else { libc::O_NOFOLLOW };
    let flags = link | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|why| match why.raw_os_error() {
        Some(libc::ELOOP) if !follow => "is a link; put the file itself there".to_string(),
        _ => unread(why),
    })?;
    if !file.metadata().map_err(unread)?.is_file() {
        return Err("is no regular file".to_string());
    }
    let mut bytes = Vec::new();
    let size = file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(unread)?;
    Ok((size as u64 <= most).then_some(bytes))
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
