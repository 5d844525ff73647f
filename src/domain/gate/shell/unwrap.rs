//! Programs that start other programs: what they would start, taken out of their arguments.

use super::base_name;
use super::options::{Options, split};
use crate::domain::gate::facts::Word;

/// What a program would start.
#[derive(Debug)]
pub enum Inner<'a> {
    /// Another program, with its arguments.
    Argv {
        /// The program and its arguments.
        words: &'a [Word],
        /// Whether arguments that are not known are added.
        appended: bool,
        /// The text in whose place they are put, wherever it stands; `None` when they are put behind all others.
        slot: Option<&'a str>,
    },
    /// Shell text.
    Script(String),
    /// Something that is known only at run time.
    Dynamic,
}

/// What a program that starts others was found to be.
#[derive(Debug)]
pub struct Unwrapped<'a> {
    /// What it would start.
    pub inner: Vec<Inner<'a>>,
    /// What speaks against the program itself; `None` when it adds nothing of its own.
    pub why: Option<String>,
}

struct Wrapper {
    name: &'static str,
    options: Options,
    /// How many arguments stand before the program.
    skip: usize,
}

const NONE: Options = Options { short: "", valued: "", long: &[], long_valued: &[] };

/// Programs that start another one and add nothing of their own, with their options.
const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "timeout",
        options: Options {
            short: "v",
            valued: "ks",
            long: &["preserve-status", "foreground", "verbose"],
            long_valued: &["kill-after", "signal"],
        },
        skip: 1,
    },
    Wrapper {
        name: "nice",
        options: Options { short: "0123456789", valued: "n", long: &[], long_valued: &["adjustment"] },
        skip: 0,
    },
    Wrapper {
        name: "ionice",
        options: Options { short: "t", valued: "cn", long: &["ignore"], long_valued: &["class", "classdata"] },
        skip: 0,
    },
    Wrapper {
        name: "stdbuf",
        options: Options { short: "", valued: "ioe", long: &[], long_valued: &["input", "output", "error"] },
        skip: 0,
    },
    Wrapper {
        name: "time",
        options: Options { short: "pv", valued: "f", long: &["portability", "verbose"], long_valued: &["format"] },
        skip: 0,
    },
    Wrapper { name: "command", options: Options { short: "p", valued: "", long: &[], long_valued: &[] }, skip: 0 },
    Wrapper { name: "builtin", options: NONE, skip: 0 },
    Wrapper { name: "busybox", options: NONE, skip: 0 },
    Wrapper { name: "toybox", options: NONE, skip: 0 },
];

const XARGS: Options = Options {
    short: "0rtx",
    valued: "dEILnPs",
    // The last three take a value behind `=` alone: the next word is the program.
    long: &["null", "no-run-if-empty", "verbose", "exit", "show-limits", "max-lines", "replace", "eof"],
    long_valued: &["delimiter", "max-args", "max-procs", "max-chars"],
};

const ENV: Options = Options {
    short: "i0v",
    valued: "u",
    long: &["ignore-environment", "null", "debug", "list-signal-handling"],
    long_valued: &["unset"],
};

/// Returns what a program would start; `None` when it is not known to start any.
pub fn unwrap(words: &[Word]) -> Option<Unwrapped<'_>> {
    let name = base_name(words.first()?.value.as_deref()?);
    let system = super::system_name(words.first()?.value.as_deref()?).is_some();
    let args = words.get(1..).unwrap_or(&[]);
    let found = match name {
        "xargs" => xargs(args),
        "env" => return env(args),
        "find" => return find(args),
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash" | "mksh" => return shell(args),
        "eval" => eval(args),
        _ => {
            let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
            return plain(wrapper, args, system);
        }
    };
    Some(found)
}

/// Returns whether a program starts what it is given.
pub fn starts_others(name: &str) -> bool {
    WRAPPERS.iter().any(|wrapper| wrapper.name == name) || matches!(name, "env" | "xargs" | "find")
}

fn plain<'a>(wrapper: &Wrapper, args: &'a [Word], system: bool) -> Option<Unwrapped<'a>> {
    let first = args.first().and_then(|word| word.value.as_deref());
    if wrapper.name == "command" && matches!(first, Some("-v" | "-V")) {
        return None;
    }
    let why = (!system).then(|| format!("“{}” is a program of its own making, not the system's.", wrapper.name));
    let Some(rest) = split(&wrapper.options, args).map(|split| split.rest) else {
        return Some(odd(wrapper.name));
    };
    // `timeout 5 …`: the arguments before the program must be known.
    let (before, inner) = rest.split_at(rest.len().min(wrapper.skip));
    if before.iter().any(|word| word.value.is_none()) {
        return Some(odd(wrapper.name));
    }
    if inner.is_empty() {
        return None;
    }
    Some(Unwrapped { inner: vec![Inner::Argv { words: inner, appended: false, slot: None }], why })
}

fn odd(name: &str) -> Unwrapped<'static> {
    Unwrapped {
        inner: Vec::new(),
        why: Some(format!("“{name}” is used with options that are not known to be harmless.")),
    }
}

fn xargs(args: &[Word]) -> Unwrapped<'_> {
    match split(&XARGS, args) {
        None => odd("xargs"),
        // Two dashes announce a program, and none follows.
        Some(split) if split.rest.is_empty() && args.iter().any(|word| word.value.as_deref() == Some("--")) => {
            odd("xargs")
        }
        // Without a program it runs `echo`.
        Some(split) if split.rest.is_empty() => Unwrapped { inner: Vec::new(), why: None },
        Some(split) => {
            let slot = replaced(args.get(..args.len() - split.rest.len()).unwrap_or(&[]));
            Unwrapped { inner: vec![Inner::Argv { words: split.rest, appended: true, slot }], why: None }
        }
    }
}

/// Returns the text that `xargs` with these options replaces; the last option counts.
fn replaced(options: &[Word]) -> Option<&str> {
    let (mut slot, mut texts) = (None, options.iter().filter_map(|word| word.value.as_deref()));
    while let Some(text) = texts.next() {
        if let Some(long) = text.strip_prefix("--") {
            let (name, given) = long.split_once('=').map_or((long, None), |(name, given)| (name, Some(given)));
            match name.starts_with("rep") {
                true => slot = Some(given.unwrap_or("{}")),
                false if given.is_none() && XARGS.long_valued.contains(&name) => drop(texts.next()),
                false => {}
            }
            continue;
        }
        let letters = text.strip_prefix('-').unwrap_or("");
        let Some((at, letter)) = letters.char_indices().find(|(_, c)| *c == 'i' || XARGS.valued.contains(*c)) else {
            continue;
        };
        let rest = letters.get(at + letter.len_utf8()..).filter(|rest| !rest.is_empty());
        match letter {
            'i' => slot = Some(rest.unwrap_or("{}")),
            'I' => slot = rest.or_else(|| texts.next()),
            _ if rest.is_none() => drop(texts.next()),
            _ => {}
        }
    }
    slot
}

fn env(args: &[Word]) -> Option<Unwrapped<'_>> {
    let Some(split) = split(&ENV, args) else { return Some(odd("env")) };
    let mut rest = split.rest;
    let mut why = None;
    while let Some(word) = rest.first() {
        let Some((name, _)) = word.raw.split_once('=').filter(|(name, _)| super::tables::is_name(name)) else { break };
        let value = word.value.as_deref().and_then(|text| text.split_once('=')).map(|(_, value)| value);
        if !super::tables::harmless_variable(name, value, false) {
            why = Some(format!("Setting {name} can change what programs do."));
        }
        rest = rest.get(1..).unwrap_or(&[]);
    }
    if rest.is_empty() && why.is_none() {
        // It prints the environment, which is empty of secrets where commands run.
        return None;
    }
    let inner =
        if rest.is_empty() { Vec::new() } else { vec![Inner::Argv { words: rest, appended: false, slot: None }] };
    Some(Unwrapped { inner, why })
}

fn find(args: &[Word]) -> Option<Unwrapped<'_>> {
    let starts = |word: &Word| matches!(word.value.as_deref(), Some("-exec" | "-execdir" | "-ok" | "-okdir"));
    let mut inner = Vec::new();
    let mut at = 0;
    while let Some(word) = args.get(at) {
        if !starts(word) {
            at += 1;
            continue;
        }
        let body = args.get(at + 1..).unwrap_or(&[]);
        let end = body.iter().position(|w| matches!(w.value.as_deref(), Some(";" | "+")));
        match end {
            None => inner.push(Inner::Dynamic),
            Some(end) => {
                let words = body.get(..end).unwrap_or(&[]);
                inner.push(Inner::Argv { words, appended: true, slot: Some("{}") });
            }
        }
        at += 1 + end.map_or(body.len(), |end| end + 1);
    }
    if inner.is_empty() {
        return None;
    }
    let why = super::checks::find_without_exec(args);
    Some(Unwrapped { inner, why })
}

fn shell(args: &[Word]) -> Option<Unwrapped<'_>> {
    let first = args.first().and_then(|word| word.value.as_deref());
    let Some("-c") = first else {
        // Other options, script files and standard input: the program table knows none of them.
        return args
            .iter()
            .any(|word| {
                word.value.as_deref().is_some_and(|v| v.starts_with('-') && !v.starts_with("--") && v.contains('c'))
            })
            .then(|| {
                let text = args
                    .iter()
                    .skip_while(|w| w.value.as_deref().is_some_and(|v| v.starts_with('-')))
                    .find_map(|w| w.value.clone());
                let mut odd = odd("sh");
                odd.inner = text.map(Inner::Script).into_iter().collect();
                odd
            });
    };
    let inner = match args.get(1).map(|word| word.value.clone()) {
        Some(Some(text)) => Inner::Script(text),
        Some(None) | None => Inner::Dynamic,
    };
    // A shell inside a shell hides more than it helps; what it would run is judged as well.
    Some(Unwrapped { inner: vec![inner], why: Some("It starts a shell of its own.".to_string()) })
}

fn eval(args: &[Word]) -> Unwrapped<'_> {
    let values: Option<Vec<&str>> = args.iter().map(|word| word.value.as_deref()).collect();
    let inner = match values {
        Some(values) => Inner::Script(values.join(" ")),
        None => Inner::Dynamic,
    };
    Unwrapped { inner: vec![inner], why: Some("“eval” runs text as a command.".to_string()) }
}
