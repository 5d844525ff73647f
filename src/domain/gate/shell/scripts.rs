//! The small programs inside commands: awk and sed. What writes, runs or is not understood is refused.

use super::value;
use crate::domain::gate::facts::Word;
use crate::domain::gate::shell::options::{Options, operands};

const AWK: Options = Options {
    short: "cPSsbnO",
    valued: "Fv",
    long: &["csv", "posix", "traditional", "sandbox", "version", "help", "re-interval", "characters-as-bytes", "lint"],
    long_valued: &["field-separator", "assign"],
};

/// Returns what speaks against an awk command.
pub fn awk(args: &[Word], appended: bool) -> Option<String> {
    let odd = |why: &str| Some(format!("The awk command {why}."));
    if args.iter().any(|word| word.value.is_none()) {
        return odd("is known only at run time");
    }
    if matches!(args, [word, version] if value(Some(word)) == Some("-W") && value(Some(version)) == Some("version")) {
        return None;
    }
    if args.len() == 1 && matches!(value(args.first()), Some("-V" | "-h" | "--version" | "--help")) {
        return None;
    }
    let Some(found) = operands(&AWK, args) else { return odd("has options that are not known to read only") };
    if found.is_empty() {
        let tells = args.iter().any(|word| matches!(value(Some(word)), Some("--version" | "--help")));
        return if tells { None } else { odd("has no program") };
    }
    let program = found.first().and_then(|n| args.get(*n)).and_then(|word| value(Some(word))).unwrap_or("");
    if appended && (program.is_empty() || program.contains("{}")) {
        return odd("is known only at run time");
    }
    awk_program(program).and_then(odd)
}

/// Walks an awk program token by token.
fn awk_program(program: &str) -> Option<&'static str> {
    let chars: Vec<char> = program.chars().collect();
    if calls_out(program) {
        return Some("runs another program, or reads others");
    }
    let (mut i, mut printing) = (0usize, None::<usize>);
    // For each open bracket, whether it holds a condition, behind which a pattern may stand.
    let mut brackets: Vec<bool> = Vec::new();
    // Whether the token before is a value, after which `/` divides; whether it is a word before a condition; and whether
    // what is printed goes on in the next line.
    let (mut after_value, mut condition, mut goes_on) = (false, false, false);
    while let Some(c) = chars.get(i) {
        match c {
            '"' => {
                i = match skip_string(&chars, i) {
                    Some(end) => end,
                    None => return Some(NOT_UNDERSTOOD),
                };
                (after_value, condition, goes_on) = (true, false, false);
            }
            '/' if !after_value => {
                i = match skip_pattern(&chars, i) {
                    Some(end) => end,
                    None => return Some(NOT_UNDERSTOOD),
                };
                (after_value, condition, goes_on) = (true, false, false);
            }
            '#' => {
                while chars.get(i).is_some_and(|c| *c != '\n') {
                    i += 1;
                }
            }
            '(' => {
                brackets.push(condition);
                (after_value, condition, goes_on) = (false, false, false);
                i += 1;
            }
            ')' => {
                after_value = !brackets.pop().unwrap_or(false);
                (condition, goes_on) = (false, false);
                i += 1;
            }
            '\n' if goes_on => i += 1,
            ';' | '}' | '{' | '\n' => {
                printing = None;
                (after_value, condition, goes_on) = (false, false, false);
                i += 1;
            }
            '+' | '-' if chars.get(i + 1) == Some(c) => {
                // What is counted up or down is a value, whichever side the signs stand on.
                (after_value, condition, goes_on) = (true, false, false);
                i += 2;
            }
            // Behind the signs of a choice some go on in the next line as well.
            '&' | ',' | '?' | ':' => {
                (after_value, condition, goes_on) = (false, false, true);
                i += 1;
            }
            '|' if chars.get(i + 1) == Some(&'|') => {
                (after_value, condition, goes_on) = (false, false, true);
                i += 2;
            }
            '|' => return Some("runs another program"),
            '@' => return Some("loads or calls what is known only at run time"),
            '>' if printing == Some(brackets.len()) => return Some("writes a file"),
            c if c.is_alphanumeric() || *c == '_' || *c == '$' || *c == '.' => {
                let start = i;
                while chars.get(i).is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.')) {
                    i += 1;
                }
                let word: String = chars.get(start..i).unwrap_or(&[]).iter().collect();
                (condition, goes_on) = (matches!(word.as_str(), "if" | "while" | "for"), false);
                match word.as_str() {
                    "system" => return Some("runs another program"),
                    "getline" => return Some("reads other files or programs"),
                    "ENVIRON" | "PROCINFO" | "SYMTAB" | "ARGV" | "FUNCTAB" => return Some("reaches beyond its input"),
                    "print" | "printf" => {
                        printing = Some(brackets.len());
                        after_value = false;
                    }
                    "return" | "in" | "else" | "do" | "case" | "exit" | "delete" => after_value = false,
                    // `$/x/` is the field that a pattern's answer names.
                    _ => after_value = !word.ends_with('$'),
                }
            }
            c if c.is_whitespace() => i += 1,
            '\\' if chars.get(i + 1) == Some(&'\n') => i += 2,
            '\\' => return Some(NOT_UNDERSTOOD),
            ']' => {
                (after_value, condition, goes_on) = (true, false, false);
                i += 1;
            }
            _ => {
                (after_value, condition, goes_on) = (false, false, false);
                i += 1;
            }
        }
    }
    None
}

/// Returns whether a program says anywhere what starts programs or reads files: strings and patterns included, so that
/// nothing hides it by looking like one.
fn calls_out(program: &str) -> bool {
    let word = |name: &str| {
        program.match_indices(name).any(|(at, _)| {
            let (before, behind) = program.split_at(at);
            let behind = behind.get(name.len()..).unwrap_or("");
            let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let alone = !before.ends_with(inner) && !behind.starts_with(inner);
            alone && (name != "system" || behind.trim_start_matches([' ', '\t', '\\', '\n']).starts_with('('))
        })
    };
    word("system") || word("getline")
}

/// Returns the place behind a string; `None` when it does not end in its line.
fn skip_string(chars: &[char], start: usize) -> Option<usize> {
    let mut i = start + 1;
    while let Some(c) = chars.get(i) {
        match c {
            '\\' => i += 1,
            '"' => return Some(i + 1),
            '\n' => return None,
            _ => {}
        }
        i += 1;
    }
    None
}

/// Returns the place behind a pattern; `None` when it does not end in its line, or holds a bracket that programs read
/// differently: one that begins with `]`, or in which `]` is escaped.
fn skip_pattern(chars: &[char], start: usize) -> Option<usize> {
    let mut i = start + 1;
    let mut class = false;
    while let Some(c) = chars.get(i) {
        match c {
            '\n' => return None,
            '\\' if class && chars.get(i + 1) == Some(&']') => return None,
            '\\' => i += 1,
            '[' if class && matches!(chars.get(i + 1), Some(':')) => {
                let name = chars.iter().skip(i + 2).take_while(|c| c.is_ascii_lowercase()).count();
                i += 2 + name;
                if chars.get(i) != Some(&':') || chars.get(i + 1) != Some(&']') {
                    return None;
                }
                i += 1;
            }
            '[' if class && matches!(chars.get(i + 1), Some('.' | '=')) => return None,
            '[' if !class => {
                class = true;
                i += usize::from(chars.get(i + 1) == Some(&'^'));
                if chars.get(i + 1) == Some(&']') {
                    return None;
                }
            }
            ']' => class = false,
            '/' if !class => return Some(i + 1),
            _ => {}
        }
        i += 1;
    }
    None
}

const SED: Options = Options {
    short: "nErsuz",
    valued: "e",
    long: &[
        "quiet",
        "silent",
        "regexp-extended",
        "separate",
        "unbuffered",
        "null-data",
        "posix",
        "sandbox",
        "debug",
        "help",
        "version",
        "zero-terminated",
    ],
    long_valued: &["expression"],
};

/// Returns what speaks against a sed command.
pub fn sed(args: &[Word], _: bool) -> Option<String> {
    let odd = |why: &str| Some(format!("The sed command {why}."));
    if args.iter().any(|word| word.value.is_none()) {
        return odd("is known only at run time");
    }
    let Some(found) = operands(&SED, args) else { return odd("has options that are not known to read only") };
    let texts: Vec<&str> = args.iter().filter_map(|word| value(Some(word))).collect();
    let mut scripts: Vec<&str> = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        if let Some(inline) = text.strip_prefix("--expression=") {
            scripts.push(inline);
        } else if *text == "--expression" {
            scripts.extend(texts.get(n + 1));
        } else if let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'))
            && let Some((_, inline)) = letters.split_once('e')
        {
            if inline.is_empty() {
                scripts.extend(texts.get(n + 1));
            } else {
                scripts.push(inline);
            }
        }
    }
    if scripts.is_empty() {
        let Some(first) = found.first().and_then(|n| texts.get(*n)) else {
            return if texts.len() == 1 { None } else { odd("has no script") };
        };
        scripts.push(first);
    }
    // Several are one, each in lines of its own: what one leaves open goes on in the next.
    let all = scripts.join("\n");
    scripts.into_iter().chain([all.as_str()]).find_map(sed_script).and_then(odd)
}

const NOT_UNDERSTOOD: &str = "is not understood";

/// Walks a sed script as it is read, and once more as some old ones do, for which a delimiter inside brackets ends the
/// pattern: what that reading finds harmful is so, and what it does not understand it refuses to run.
fn sed_script(script: &str) -> Option<&'static str> {
    let old = sed_reading(script, false).filter(|why| *why != NOT_UNDERSTOOD);
    sed_reading(script, true).or(old)
}

/// Walks a sed script command by command.
fn sed_reading(script: &str, brackets: bool) -> Option<&'static str> {
    const LOST: Option<&'static str> = Some(NOT_UNDERSTOOD);
    let chars: Vec<char> = script.chars().collect();
    let mut i = 0;
    loop {
        while chars.get(i).is_some_and(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')) {
            i += 1;
        }
        if i >= chars.len() {
            return None;
        }
        let Some(next) = sed_addresses(&chars, i, brackets) else { return LOST };
        i = next;
        while chars.get(i).is_some_and(|c| c.is_whitespace() || *c == '!') {
            i += 1;
        }
        let Some(command) = chars.get(i) else { return LOST };
        i += 1;
        match command {
            '{' | '}' => {}
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' | 'l' | 'q' | 'Q'
            | 'L' => {
                while chars.get(i).is_some_and(|c| c.is_ascii_digit() || *c == ' ') {
                    i += 1;
                }
                if chars.get(i).is_some_and(|c| !matches!(c, ';' | '}' | '\n' | '#')) {
                    return LOST;
                }
            }
            '#' => i = line_end(&chars, i),
            'a' | 'i' | 'c' => {
                // A backslash takes the next sign with it: a line's end, or another backslash.
                while chars.get(i).is_some_and(|c| *c != '\n') {
                    i += if chars.get(i) == Some(&'\\') { 2 } else { 1 };
                }
            }
            ':' | 'b' | 't' | 'T' => {
                // A label ends at a blank, and what stands behind that is the next command.
                while chars.get(i).is_some_and(|c| *c == ' ') {
                    i += 1;
                }
                while chars.get(i).is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')) {
                    i += 1;
                }
                while chars.get(i).is_some_and(|c| matches!(c, ' ' | '\t')) {
                    i += 1;
                }
                if chars.get(i).is_some_and(|c| !matches!(c, ';' | '\n' | '}' | '#')) {
                    return LOST;
                }
            }
            's' | 'y' => {
                let Some(delimiter) = chars.get(i).copied() else { return LOST };
                let Some(middle) = sed_part(&chars, i + 1, delimiter, brackets && *command == 's') else { return LOST };
                let Some(end) = sed_part(&chars, middle, delimiter, false) else { return LOST };
                i = end;
                while let Some(flag) = chars.get(i) {
                    match flag {
                        'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' if *command == 's' => i += 1,
                        'e' => return Some("runs another program"),
                        'w' => return Some("writes a file"),
                        c if c.is_whitespace() || matches!(c, ';' | '}' | '#') => break,
                        _ => return LOST,
                    }
                }
            }
            'w' | 'W' => return Some("writes a file"),
            'e' => return Some("runs another program"),
            'r' | 'R' => return Some("reads another file"),
            _ => return LOST,
        }
    }
}

fn line_end(chars: &[char], from: usize) -> usize {
    chars.iter().skip(from).position(|c| *c == '\n').map_or(chars.len(), |n| from + n)
}

/// Returns the place behind the addresses at a place; the place itself when there are none.
fn sed_addresses(chars: &[char], from: usize, brackets: bool) -> Option<usize> {
    let mut i = sed_address(chars, from, brackets)?;
    while chars.get(i) == Some(&' ') {
        i += 1;
    }
    if chars.get(i) == Some(&',') && i > from {
        i += 1;
        while matches!(chars.get(i), Some(' ' | '+' | '~')) {
            i += 1;
        }
        i = sed_address(chars, i, brackets)?;
    }
    Some(i)
}

fn sed_address(chars: &[char], from: usize, brackets: bool) -> Option<usize> {
    let mut i = from;
    match chars.get(i) {
        Some('$') => Some(i + 1),
        Some(c) if c.is_ascii_digit() => {
            while chars.get(i).is_some_and(|c| c.is_ascii_digit() || *c == '~') {
                i += 1;
            }
            Some(i)
        }
        Some('/') => sed_flags(chars, sed_part(chars, i + 1, '/', brackets)?),
        Some('\\') => {
            let delimiter = *chars.get(i + 1)?;
            sed_flags(chars, sed_part(chars, i + 2, delimiter, brackets)?)
        }
        _ => Some(from),
    }
}

fn sed_flags(chars: &[char], from: usize) -> Option<usize> {
    let mut i = from;
    while matches!(chars.get(i), Some('I' | 'M')) {
        i += 1;
    }
    Some(i)
}

/// Returns the place behind the next delimiter, perhaps leaving out those inside `[…]`.
fn sed_part(chars: &[char], from: usize, delimiter: char, pattern: bool) -> Option<usize> {
    let mut i = from;
    let mut class = false;
    while let Some(c) = chars.get(i) {
        match c {
            '\\' if !class => i += 1,
            '[' if pattern && !class => {
                class = true;
                if chars.get(i + 1) == Some(&'^') {
                    i += 1;
                }
                if chars.get(i + 1) == Some(&']') {
                    i += 1;
                }
            }
            ']' if class => class = false,
            c if *c == delimiter && !class => return Some(i + 1),
            _ => {}
        }
        i += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_scripts() {
        for fine in [
            "s/a/b/g",
            "1,10p",
            "/x/,/y/d",
            "$d",
            r"s;\(a[^/]*/\);\1;p",
            ":a; s/x/y/; ta",
            "4,6d",
            "1~2p",
            "s|a|w|",
            "a hello w x",
            "a one\\\nw two",
            ":a;N;$!ba;s/\\n/ /g",
            ": top\n/x/b top",
            "s/[^]x]/b/2p;d",
            r"\#x#Id",
            "/x/!d;=",
            "y/abc/xyz/",
        ] {
            assert_eq!(sed_script(fine), None, "{fine}");
        }
        for bad in [
            "s/a/b/w out",
            "s/a/id/e",
            "w out",
            "1e id",
            "r /etc/x",
            "/x/{s/a/b/;w y\n}",
            "s/a/b",
            "k",
            "s/[/]/b/w x",
            "1!e",
            "n;e id",
            ":x w y",
            "tx w y\n:x",
            "a x\\\\\nw y",
            "i x\\\\\n1e id",
            "b;w y",
            "s/a/b/gpe",
        ] {
            assert!(sed_script(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn awk_programs() {
        for fine in [
            "{print $1}",
            "NR > 5",
            "{if ($1 > 10) print}",
            "/a|b/ {n++} END {print n/2}",
            "{print ($1 > 2)}",
            "{print \"a > b | c\"}",
            "a || b",
            "/[^/]+$/ {print $NF / 2}",
            "/^[[:space:]]*$/ {next} {print}",
            "{s += $1; n++} END {if (n > 0) print s / n}",
            "BEGIN {FS = \",\"} {print $1,\n  $2}",
        ] {
            assert_eq!(awk_program(fine), None, "{fine}");
        }
        for bad in [
            "BEGIN{system(\"id\")}",
            "{print > \"x\"}",
            "{print $1 | \"sh\"}",
            "{\"id\" | getline x}",
            "@load \"x\"",
            "{print ENVIRON[\"K\"]}",
            "{print \"a\" > \"/dev/tcp\"}",
            "{while ((getline l < f) > 0) print l}",
            "{print $1,\n $2 > \"x\"}",
            "{print $1 ||\n $2 > \"x\"}",
            "{print $1 &&\n $2 > \"x\"}",
            "/[]/\"]|a/ {print > \"x\"} /\"/",
            "/[\\]/\"]/ {print > \"x\"} /\"/",
            "{y = x++ /1; print > \"x\"; z = 2/1}",
            "{y = $/\"/; print > \"x\"; z = $/\"/}",
            "{if (x) /\"/; print > \"x\"; z = /\"/}",
            "/system(x)/",
            "{y = \"a\nb\"}",
        ] {
            assert!(awk_program(bad).is_some(), "{bad}");
        }
    }
}
