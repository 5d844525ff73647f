//! Names of files that a program finds and another one reads: `wc -l $(git ls-files)`, `ls | xargs cat`.
//!
//! Such names are known only at run time. They are harmless where a program that lists files made them, nothing on
//! the way could make others of them, and nothing that was looked for is secret; confinement covers secret files besides.

use super::{Look, base_name, place, programs, value};
use crate::domain::gate::facts::{CommandFact, Word};
use crate::domain::gate::place::Zone;
use std::borrow::Cow;

/// What stands for the name of a revision.
const REVISION: &str = "HEAD";

/// Programs that pass on some of the lines that they are given, unchanged.
const FILTERS: &[&str] = &["head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "tac", "shuf"];

impl Look<'_> {
    /// Returns the arguments, with a name in place of those that are found names.
    pub(super) fn with_names<'b>(&self, name: &str, words: &'b [Word], command: &CommandFact) -> Cow<'b, [Word]> {
        let args = words.get(1..).unwrap_or(&[]);
        if !args.iter().any(|word| word.value.is_none() && !word.from.is_empty()) || !programs::takes_names(name) {
            return Cow::Borrowed(args);
        }
        let pattern = programs::pattern_operand(name, words);
        let reads = programs::any_option_reads(name);
        let unknown = words.iter().skip(1).position(|word| value(Some(word)).is_none_or(|text| !text.starts_with('-')));
        let named = args.iter().enumerate().map(|(n, word)| {
            // The first operand of `sed` or `jq` is a program, and no name.
            let program = programs::is_pattern_reader(name)
                && (pattern.is_none() || pattern > unknown.map(|n| n + 1))
                && unknown == Some(n);
            match self.found_name(word, command).filter(|name| {
                // Where an option does more, a name must be none.
                let ended = || args.iter().take(n).any(|word| value(Some(word)) == Some("--"));
                let rooted = || word.from.iter().all(|pipeline| self.names_no_option(*pipeline));
                *name == REVISION || reads || ended() || rooted()
            }) {
                Some(text) if !program => Word { value: Some(text.to_string()), ..word.clone() },
                _ => word.clone(),
            }
        });
        Cow::Owned(named.collect())
    }

    /// Returns what stands for a word that holds found names; `None` for every other.
    fn found_name(&self, word: &Word, command: &CommandFact) -> Option<&'static str> {
        let bare = word.raw.trim_start_matches('"');
        let leads = bare.starts_with(['$', '`']);
        let rest = bare.rsplit([')', '`', '}']).next().unwrap_or("");
        let climbs =
            rest.contains("..") && rest.contains('/') || place::secret_name(rest.trim_end_matches('"')).is_some();
        if word.value.is_some() || word.from.is_empty() || !leads || climbs {
            return None;
        }
        if word.from.iter().all(|pipeline| self.yields_revision(*pipeline)) {
            return Some(REVISION);
        }
        // Of its own pipe, what stands before it.
        let until = |pipeline: usize| if pipeline == command.pipeline { command.stage } else { usize::MAX };
        word.from.iter().all(|pipeline| self.lists(*pipeline, until(*pipeline))).then_some("./found")
    }

    /// Whether a command lists names of files, or passes on those that it is given, and changes none.
    pub(super) fn passes_names(&self, command: &CommandFact, first: bool) -> bool {
        let open = !command.words.iter().any(|word| self.looks_secret(word));
        let name = value(command.words.first()).unwrap_or("");
        let known = command.words.iter().skip(1).all(|word| word.value.is_some());
        open && known && if first { lists_files(name, &command.words) } else { filters(name, &command.words) }
    }

    /// Whether a pipeline yields the name of a revision, as git makes and checks it.
    fn yields_revision(&self, pipeline: usize) -> bool {
        if let Some(known) = self.once.revisions.borrow().get(&pipeline) {
            return *known;
        }
        let yields = self.is_revision(pipeline);
        self.once.revisions.borrow_mut().insert(pipeline, yields);
        yields
    }

    fn is_revision(&self, pipeline: usize) -> bool {
        let mut commands = self.stages(pipeline, usize::MAX);
        let (Some(only), None) = (commands.next(), commands.next()) else { return false };
        let texts: Option<Vec<&str>> = only.words.iter().map(|word| value(Some(word))).collect();
        let plain = |rest: &[&str], options: &[&str]| {
            rest.iter().all(|text| !text.starts_with('-') || options.contains(text)) && !rest.is_empty()
        };
        match texts.as_deref() {
            Some(["git", "rev-parse", rest @ ..]) => {
                plain(rest, &["--short", "--verify", "--abbrev-ref", "-q", "--quiet", "--show-toplevel"])
            }
            Some(["git", "merge-base", rest @ ..]) => plain(rest, &["--fork-point", "--octopus"]),
            Some(["git", "describe", rest @ ..]) => rest
                .iter()
                .all(|text| matches!(*text, "--tags" | "--abbrev=0" | "--always" | "HEAD" | "HEAD^" | "HEAD~1")),
            Some(["git", "rev-list", rest @ ..]) => plain(rest, &["--max-parents=0", "-n1", "-1", "--all"]),
            Some(["git", "branch", "--show-current"]) => true,
            Some(["git", "symbolic-ref", "--short", "HEAD"]) => true,
            _ => false,
        }
    }

    fn stages(&self, pipeline: usize, until: usize) -> impl Iterator<Item = &CommandFact> {
        self.script
            .commands
            .iter()
            .filter(move |command| command.pipeline == pipeline && command.stage < until && !command.words.is_empty())
    }

    /// Whether a word of a program that finds files names secret ones, or files that are nobody's business.
    pub(super) fn looks_secret(&self, word: &Word) -> bool {
        let named = word.resolved.iter().any(|path| place::secret(path, self.scope).is_some())
            || word.whole().iter().any(|path| {
                let rooted = value(Some(word)).is_some_and(|text| text.starts_with(['/', '~', '.']));
                rooted && matches!(place::zone(path, self.scope), Zone::Home | Zone::Memex | Zone::Own)
            });
        named
            || !word.matched.is_empty()
            || value(Some(word)).is_some_and(|text| {
                text.split_whitespace().any(|part| place::secret_name(part).is_some())
                    || (text.contains(['*', '?', '[']) && place::pattern_may_be_secret(text))
            })
    }

    /// Whether a command hides names from who looks at them: decoders, text with escapes, secret patterns.
    pub(super) fn hides(&self, before: &CommandFact) -> bool {
        let name = value(before.words.first()).map(base_name).unwrap_or("?");
        let escaped = || before.words.iter().any(|word| value(Some(word)).is_some_and(|text| text.contains('\\')));
        let option =
            |letters: &[char]| {
                before.words.iter().filter_map(|word| value(Some(word))).any(|text| {
                    text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letters))
                })
            };
        super::tables::DECODERS.contains(&name)
            || before.words.iter().any(|word| self.looks_secret(word))
            || match name {
                "echo" => option(&['e']) || escaped() || before.words.iter().any(|word| word.value.is_none()),
                "printf" => {
                    before.words.get(1).is_none_or(|format| {
                        !matches!(value(Some(format)), Some("%s\\n" | "%s" | "%s " | "%s\\0" | "%s\n"))
                    }) || before
                        .words
                        .iter()
                        .skip(2)
                        .any(|word| word.value.is_none() || value(Some(word)).is_some_and(|text| text.contains('\\')))
                }
                "find" | "gfind" => before.words.iter().any(|word| matches!(value(Some(word)), Some("-printf"))),
                "ls" => option(&['a', 'A']),
                _ => false,
            }
    }
}

fn lists_files(name: &str, words: &[Word]) -> bool {
    let texts: Vec<&str> = words.iter().skip(1).filter_map(|word| value(Some(word))).collect();
    let without = |refused: &[&str]| {
        !texts.iter().any(|text| refused.iter().any(|option| text.split('=').next() == Some(option)))
    };
    let letters = |allowed: &str| {
        texts.iter().filter(|text| text.starts_with('-')).all(|text| {
            matches!(*text, "--" | "--color=never" | "-type") || text.chars().skip(1).all(|c| allowed.contains(c))
        })
    };
    match name {
        "ls" => letters("1trSdUcu"),
        "find" | "gfind" => without(&["-printf", "-ls", "-exec", "-execdir", "-ok", "-okdir"]),
        "fd" | "fdfind" => without(&["--format", "--list-details", "-l"]),
        "git" => {
            let names = texts.iter().any(|text| matches!(*text, "--name-only"));
            match texts.iter().find(|text| !text.starts_with('-')) {
                Some(&"ls-files") => without(&["--format", "-s", "--stage", "--debug", "-t", "-v"]),
                Some(&("diff" | "diff-tree" | "ls-tree")) => {
                    names && without(&["--format", "--pretty", "--line-prefix", "--src-prefix"])
                }
                _ => false,
            }
        }
        "grep" | "egrep" | "fgrep" => texts.iter().any(|text| {
            text.strip_prefix('-')
                .is_some_and(|rest| !rest.starts_with('-') && rest.contains(['l', 'L']) && !rest.contains('o'))
                || matches!(*text, "--files-with-matches" | "--files-without-match")
        }),
        "rg" => {
            texts.iter().any(|text| matches!(*text, "-l" | "--files" | "--files-with-matches"))
                && without(&["--path-separator", "-r", "--replace"])
        }
        "which" | "pwd" => true,
        // Numbers of containers and names of objects, as their keeper makes them.
        "docker" | "podman" => {
            texts.iter().any(|text| matches!(*text, "-q" | "-aq" | "-qa" | "--quiet"))
                && matches!(texts.first(), Some(&("ps" | "images" | "container" | "image" | "volume" | "network")))
                && without(&["--format"])
        }
        "kubectl" => {
            matches!(texts.first(), Some(&"get"))
                && (texts.iter().any(|text| matches!(*text, "-oname" | "-o=name" | "--output=name"))
                    || texts.windows(2).any(|pair| matches!(pair, ["-o" | "--output", "name"])))
        }
        "command" => texts.first() == Some(&"-v"),
        "realpath" => letters(""),
        "readlink" => letters("fen"),
        _ => false,
    }
}

fn filters(name: &str, words: &[Word]) -> bool {
    let texts = || words.iter().skip(1).filter_map(|word| value(Some(word)));
    let cuts = match name {
        "head" | "tail" => texts().any(|text| text.starts_with("-c") || text.starts_with("--bytes")),
        "grep" | "egrep" | "fgrep" => texts().any(|text| {
            text.starts_with("--") && text.starts_with("--o")
                || (text.starts_with('-') && !text.starts_with("--") && text.contains('o'))
        }),
        _ => false,
    };
    // An operand would be another source of lines.
    let operands = texts().filter(|text| !text.starts_with('-')).count();
    let allowed = usize::from(name.ends_with("grep"))
        + usize::from(texts().any(|text| text == "-n" || text == "-k" || text == "-t"));
    FILTERS.contains(&name) && !cuts && operands <= allowed
}
