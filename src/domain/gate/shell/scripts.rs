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
    let (mut i, mut depth, mut printing) = (0usize, 0usize, None::<usize>);
    // Whether the token before is a value, after which `/` divides.
    let mut after_value = false;
    while let Some(c) = chars.get(i) {
        match c {
            '"' => {
                i = skip_quoted(&chars, i, '"')?;
                after_value = true;
            }
            '/' if !after_value => {
                let Some(end) = skip_quoted(&chars, i, '/') else { return Some("is not understood") };
                i = end;
                after_value = true;
            }
            '#' => {
                while chars.get(i).is_some_and(|c| *c != '\n') {
                    i += 1;
                }
            }
            '(' => {
                depth += 1;
                after_value = false;
                i += 1;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                after_value = true;
                i += 1;
            }
            ';' | '}' | '{' | '\n' => {
                printing = None;
                after_value = false;
                i += 1;
            }
            '|' if chars.get(i + 1) == Some(&'|') => {
                after_value = false;
                i += 2;
            }
            '|' => return Some("runs another program"),
            '@' => return Some("loads or calls what is known only at run time"),
            '>' if printing == Some(depth) => return Some("writes a file"),
            c if c.is_alphanumeric() || *c == '_' || *c == '$' || *c == '.' => {
                let start = i;
                while chars.get(i).is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '$' | '.')) {
                    i += 1;
                }
                let word: String = chars.get(start..i).unwrap_or(&[]).iter().collect();
                match word.as_str() {
                    "system" => return Some("runs another program"),
                    "getline" => return Some("reads other files or programs"),
                    "ENVIRON" | "PROCINFO" | "SYMTAB" | "ARGV" | "FUNCTAB" => return Some("reaches beyond its input"),
                    "print" | "printf" => {
                        printing = Some(depth);
                        after_value = false;
                    }
                    "return" | "in" | "else" | "do" | "case" => after_value = false,
                    _ => after_value = true,
                }
            }
            c if c.is_whitespace() => i += 1,
            '\\' => i += 2,
            ']' => {
                after_value = true;
                i += 1;
            }
            _ => {
                after_value = false;
                i += 1;
            }
        }
    }
    None
}

/// Returns the place behind a quoted text; `None` when it does not end.
fn skip_quoted(chars: &[char], start: usize, quote: char) -> Option<usize> {
    let mut i = start + 1;
    let mut class = false;
    while let Some(c) = chars.get(i) {
        match c {
            '\\' => i += 1,
            '[' if quote == '/' => class = true,
            ']' if quote == '/' => class = false,
            c if *c == quote && !class => return Some(i + 1),
            '\n' if quote == '/' => return None,
            _ => {}
        }
        i += 1;
    }
    // An unclosed string ends the program; awk refuses it.
    (quote == '"').then_some(chars.len())
}

const SED: Options = Options {
    short: "nErsuzl",
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
    scripts.iter().find_map(|script| sed_script(script)).and_then(odd)
}

const NOT_UNDERSTOOD: &str = "is not understood";

/// Walks a sed script in both readings of a delimiter inside brackets: some seds end the pattern
/// there. It is harmless when one reading is, and neither does anything else.
fn sed_script(script: &str) -> Option<&'static str> {
    let (aware, unaware) = (sed_reading(script, true), sed_reading(script, false));
    let harmful = [aware, unaware].into_iter().flatten().find(|why| *why != NOT_UNDERSTOOD);
    harmful.or_else(|| aware.and(unaware))
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
                i = line_end(&chars, i);
                while i > 0 && chars.get(i - 1) == Some(&'\\') && i < chars.len() {
                    i = line_end(&chars, i + 1);
                }
            }
            ':' | 'b' | 't' | 'T' => {
                while chars.get(i).is_some_and(|c| !matches!(c, ';' | '\n' | '}')) {
                    i += 1;
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
            "/system(x)/",
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
        ] {
            assert!(awk_program(bad).is_some(), "{bad}");
        }
    }
}
