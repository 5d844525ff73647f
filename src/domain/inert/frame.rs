//! The lines that this program writes around code and quotations of a model: all of Org that inert text has besides words.

use std::fmt;

/// A line of our own. Nothing of it is what a model wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Code in a language; Org is told never to run it.
    Source(Language),
    /// Code has ended.
    EndSource,
    /// Code in no known language.
    Example,
    /// That has ended.
    EndExample,
    /// Words of somebody else.
    Quote,
    /// They have ended.
    EndQuote,
}

impl Frame {
    /// Returns the line that ends what this one begins.
    pub fn end(self) -> Frame {
        match self {
            Frame::Source(_) | Frame::EndSource => Frame::EndSource,
            Frame::Example | Frame::EndExample => Frame::EndExample,
            Frame::Quote | Frame::EndQuote => Frame::EndQuote,
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Source(language) => write!(f, "#+begin_src {} :eval no", language.0),
            Frame::EndSource => f.write_str("#+end_src"),
            Frame::Example => f.write_str("#+begin_example"),
            Frame::EndExample => f.write_str("#+end_example"),
            Frame::Quote => f.write_str("#+begin_quote"),
            Frame::EndQuote => f.write_str("#+end_quote"),
        }
    }
}

/// A language, by the name that Org has for it.
///
/// Emacs calls a mode by the name of a language in order to colour its code, and many modes do more than that: only names
/// of languages stand here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language(&'static str);

impl Language {
    /// Returns the language that a model calls so, if it is a known one.
    pub fn called(words: &str) -> Option<Language> {
        let name = words.split(|c: char| !(c.is_ascii_alphanumeric() || "+#-_".contains(c))).find(|w| !w.is_empty())?;
        let name = name.to_ascii_lowercase();
        LANGUAGES
            .iter()
            .find(|(org, others)| *org == name || others.contains(&name.as_str()))
            .map(|(org, _)| Language(org))
    }
}

/// Languages by the names that Org has for them, in small letters, and what they are called besides.
#[rustfmt::skip]
const LANGUAGES: &[(&str, &[&str])] = &[
    ("ada", &[]), ("asm", &["assembly", "nasm"]), ("awk", &[]), ("bash", &[]), ("C", &["c", "h"]),
    ("C++", &["c++", "cpp", "cc", "cxx", "hpp"]), ("clojure", &["clj"]), ("cmake", &[]), ("conf", &["ini", "properties", "cfg"]),
    ("csharp", &["c#", "cs"]), ("css", &[]), ("D", &["d"]), ("dart", &[]), ("diff", &["patch"]), ("dockerfile", &["docker"]),
    ("elixir", &["ex", "exs"]), ("elm", &[]), ("emacs-lisp", &["elisp", "el"]), ("erlang", &["erl"]), ("fish", &[]),
    ("fortran", &["f90"]), ("go", &["golang"]), ("graphql", &[]), ("groovy", &[]), ("haskell", &["hs"]), ("html", &["htm"]),
    ("java", &[]), ("js", &["javascript", "node", "jsx", "mjs"]), ("json", &["jsonc", "json5"]), ("julia", &["jl"]),
    ("kotlin", &["kt"]), ("latex", &["tex"]), ("lisp", &["common-lisp", "cl"]), ("lua", &[]), ("makefile", &["make"]),
    ("matlab", &[]), ("nix", &[]), ("ocaml", &["ml"]), ("octave", &[]), ("pascal", &[]), ("perl", &["pl"]), ("php", &[]),
    ("powershell", &["ps1"]), ("prolog", &[]), ("protobuf", &["proto"]), ("python", &["py", "python3"]), ("R", &["r"]),
    ("racket", &[]), ("ruby", &["rb"]), ("rust", &["rs"]), ("sass", &[]), ("scala", &[]), ("scheme", &["scm"]), ("scss", &[]),
    ("sed", &[]), ("sh", &["shell", "zsh", "ksh"]), ("sql", &["sqlite", "postgresql", "mysql", "plsql"]), ("swift", &[]),
    ("tcl", &[]), ("terraform", &["hcl", "tf"]), ("toml", &[]), ("typescript", &["ts", "tsx"]), ("vhdl", &[]), ("verilog", &[]),
    ("xml", &["svg", "xsl"]), ("yaml", &["yml"]), ("zig", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_languages_are_known_by_name() {
        for (words, line) in [
            ("python", Some("python")),
            ("Python title=\"x\"", Some("python")),
            ("{.rust .numberLines}", Some("rust")),
            ("c++", Some("C++")),
            ("C", Some("C")),
            ("r", Some("R")),
            ("elisp :eval yes", Some("emacs-lisp")),
            ("server", None),
            ("org", None),
            ("text", None),
            ("", None),
            ("sh:eval", Some("sh")),
            ("emacs-lisp-byte-code", None),
        ] {
            let found = Language::called(words);
            assert_eq!(found.map(|language| language.0), line, "{words}");
            if let Some(language) = found {
                let line = Frame::Source(language).to_string();
                assert!(line.ends_with(" :eval no") && line.matches(':').count() == 1, "{line}");
            }
        }
    }
}
