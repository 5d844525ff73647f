//! Where a command goes: the folders in which it, or what stands behind it, looks for names.

use super::unwrap::{Inner, unwrap};
use super::{MAX_WRAPPERS, base_name, value};
use crate::domain::gate::facts::{CommandFact, Word};

/// A change of the folder.
#[derive(Debug, PartialEq, Eq)]
pub enum Move<'a> {
    /// The shell goes there and stays; without a word it goes home.
    Shell(Option<&'a Word>),
    /// One program goes there, from each of these to the next.
    Program(Vec<&'a Word>),
}

/// Returns where a command goes, and every program that it starts in turn.
pub fn moves(command: &CommandFact) -> Vec<Move<'_>> {
    started(command).into_iter().filter_map(program).collect()
}

/// Returns the programs that a command runs in the end, behind all that start others, each with its arguments.
pub fn started(command: &CommandFact) -> Vec<&[Word]> {
    let mut found = Vec::new();
    let mut stack: Vec<(&[Word], usize)> = vec![(&command.words, 0)];
    while let Some((words, depth)) = stack.pop() {
        match unwrap(words).filter(|_| depth < MAX_WRAPPERS) {
            Some(unwrapped) => stack.extend(unwrapped.inner.into_iter().filter_map(|inner| match inner {
                Inner::Argv { words, .. } => Some((words, depth + 1)),
                Inner::Script(_) | Inner::Dynamic => None,
            })),
            None => found.push(words),
        }
    }
    found
}

fn program(words: &[Word]) -> Option<Move<'_>> {
    let (first, args) = words.split_first()?;
    let named = |word: &&Word| value(Some(*word)).is_none_or(|text| !text.starts_with('-'));
    let there = match base_name(value(Some(first))?) {
        "cd" | "chdir" | "pushd" => return Some(Move::Shell(args.iter().find(named))),
        "git" => before_the_command(args),
        "make" | "gmake" | "bmake" | "tar" | "gtar" | "bsdtar" | "ninja" => behind_the_letter(args),
        _ => return None,
    };
    (!there.is_empty()).then_some(Move::Program(there))
}

/// Of git, where `-C` says to go: it stands before the command, and others may stand beside it.
fn before_the_command(args: &[Word]) -> Vec<&Word> {
    let (mut there, mut rest) = (Vec::new(), args.iter());
    while let Some(text) = rest.next().and_then(|word| value(Some(word))).filter(|text| text.starts_with('-')) {
        match text {
            "-C" => there.extend(rest.next()),
            "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--config-env" => drop(rest.next()),
            _ => {}
        }
    }
    there
}

/// Of programs that take options anywhere, where `-C` says to go.
fn behind_the_letter(args: &[Word]) -> Vec<&Word> {
    let pairs = args.windows(2).filter_map(|pair| match pair {
        [option, there] => matches!(value(Some(option)), Some("-C" | "--directory")).then_some(there),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_folder_is_known_wherever_it_stands() {
        let word = |text: &str| Word { raw: text.into(), value: Some(text.into()), ..Word::default() };
        for (text, expected) in [
            ("ls a", ""),
            ("cd", "home"),
            ("cd a", "a"),
            ("cd -P -- a", "a"),
            ("command cd a", "a"),
            ("builtin command pushd a", "a"),
            ("git status a", ""),
            ("git -C a status", "a>"),
            ("git -C a -C b log -C c", "a>b>"),
            ("git --no-pager -c x.y=z -C a log", "a>"),
            ("timeout 5 nice git -C a log", "a>"),
            ("tar -tf x.tar -C a", "a>"),
            ("make -C a -C b", "a>b>"),
            ("find a -exec git -C b log ;", "b>"),
        ] {
            let command = CommandFact { words: text.split(' ').map(word).collect(), ..CommandFact::default() };
            let spelt: Vec<String> = moves(&command)
                .into_iter()
                .map(|found| match found {
                    Move::Shell(to) => to.map_or("home", |word| &word.raw).to_string(),
                    Move::Program(there) => there.iter().map(|word| format!("{}>", word.raw)).collect(),
                })
                .collect();
            assert_eq!(spelt.join(" "), expected, "{text}");
        }
    }
}
