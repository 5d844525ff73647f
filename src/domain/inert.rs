//! Makes text of models, tools and notes inert before it enters a buffer or a plan.
//!
//! In an Org buffer such text must never be a heading, keyword, drawer, planning line, local variable,
//! block that runs, active timestamp, or link of a kind that runs: whatever could be is broken up by one
//! visible character.  Control and bidirectional characters are shown as escapes.

/// Returns text for an Org buffer: every line inert, control and bidirectional characters as escapes.
pub fn inert(text: &str) -> String {
    let mut stream = Inert::default();
    let mut out = stream.push(text);
    out.push_str(&stream.finish());
    out
}

/// Returns text for a human who must judge it exactly: control, bidirectional, invisible and look-alike
/// characters as `\u{…}` escapes, line breaks and tabs kept.
pub fn exact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in words(text) {
        let disguised = is_disguised(word);
        for c in word.chars() {
            if (c != '\n' && c != '\t' && is_hidden(c)) || is_odd_space(c) || (disguised && !c.is_ascii()) {
                escape(c, &mut out);
            } else {
                out.push(c);
            }
        }
    }
    out
}

/// Makes streamed text inert: what could still become something else is held back until it cannot.
#[derive(Default)]
pub struct Inert {
    /// The current line as it came, without what was already given out.
    line: String,
    /// How many bytes of the line's start were given out as they stand.
    given: usize,
}

/// A line of more bytes than this is broken in two, so that what is held back stays bounded.
const LONGEST: usize = 16 * 1024;

impl Inert {
    /// Takes more text and returns what is safe to show now.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for mut piece in text.split_inclusive('\n') {
            // Where a line is cut must not depend on the pieces in which it came.
            while self.line.len() + piece.trim_end_matches('\n').len() > LONGEST {
                let mut room = LONGEST.saturating_sub(self.line.len());
                while !piece.is_char_boundary(room) {
                    room -= 1;
                }
                let (head, tail) = piece.split_at(room);
                self.line.push_str(head);
                self.cut(&mut out);
                piece = tail;
            }
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                self.end_line(&mut out);
            }
        }
        self.give_plain(&mut out);
        out
    }

    /// Returns what was held back.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        out
    }

    fn end_line(&mut self, out: &mut String) {
        let safe = inert_line(self.line.trim_end_matches('\n').trim_end_matches('\r'));
        out.push_str(safe.get(self.given..).unwrap_or(""));
        if self.line.ends_with('\n') {
            out.push('\n');
        }
        self.line.clear();
        self.given = 0;
    }

    /// Breaks an overlong line behind its last blank, or where it stands if it has none.  The line break is a
    /// real one: what is judged alone must also stand alone, or two harmless halves would make a live whole.
    fn cut(&mut self, out: &mut String) {
        let at = self.line.rfind([' ', '\t']).map_or(self.line.len(), |at| at + 1);
        let rest = self.line.split_off(at);
        self.line.push('\n');
        self.end_line(out);
        self.line = rest;
    }

    /// Gives out whole words at the line's start that no rule below can touch.
    fn give_plain(&mut self, out: &mut String) {
        let plain = self.line.find(|c: char| !is_plain(c)).unwrap_or(self.line.len());
        let Some(end) = self.line.get(..plain).and_then(|s| s.rfind(' ')).map(|at| at + 1) else { return };
        let starts = self.line.get(..end).is_some_and(|s| !s.trim().is_empty());
        if starts && end > self.given {
            out.push_str(self.line.get(self.given..end).unwrap_or(""));
            self.given = end;
        }
    }
}

/// Characters that begin nothing: a prefix of them stays as it is whatever follows.
fn is_plain(c: char) -> bool {
    (c.is_alphanumeric() && !is_hidden(c)) || matches!(c, ' ' | ',' | '.' | ';' | '\'' | '"' | '!' | '?' | '(' | ')')
}

/// Returns one line, without its line break, made inert.
fn inert_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    let blank = line.len() - line.trim_start_matches(|c| c == ' ' || c == '\t' || is_odd_space(c)).len();
    let (indent, text) = line.split_at(blank);
    if blank == 0 && begins_heading(text) {
        out.push(' ');
    }
    out.push_str(indent);
    if text.starts_with("#+") || text.starts_with("%%(") || is_drawer_line(text) {
        out.push(',');
    }
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let before = text.get(..text.len() - rest.len()).unwrap_or("");
        let used = break_up(rest, before, &mut out).unwrap_or_else(|| {
            if is_hidden(c) && !is_joiner(c) && c != '\t' {
                escape(c, &mut out)
            } else {
                out.push(c)
            }
            c.len_utf8()
        });
        rest = rest.get(used..).unwrap_or("");
    }
    out
}

fn begins_heading(text: &str) -> bool {
    let stars = text.len() - text.trim_start_matches('*').len();
    stars > 0 && text.get(stars..).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// A line such as `:PROPERTIES:`, `:END:` or `:ID: x`.
fn is_drawer_line(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(':') else { return false };
    let Some(end) = rest.find(':') else { return false };
    end > 0
        && !rest[..end].contains([' ', '\t'])
        && rest.get(end + 1..).is_some_and(|r| r.is_empty() || r.starts_with([' ', '\t']))
}

/// Breaks up what stands at the start of `rest`, if it could become something.
/// Returns how many bytes were taken.
fn break_up(rest: &str, before: &str, out: &mut String) -> Option<usize> {
    // Emacs sees a word begin behind `_`, and between letters of two scripts.
    let word_starts = before.chars().next_back().is_none_or(|c| !c.is_ascii_alphanumeric());
    match rest.as_bytes().first()? {
        b'[' if rest.starts_with("[[") => {
            if allowed_link(rest) {
                out.push_str("[[");
                return Some(2);
            }
            out.push_str("[ ");
            Some(1)
        }
        b'[' if rest.get(..4).is_some_and(|s| s.eq_ignore_ascii_case("[fn:")) => {
            out.push_str("[fn :");
            Some(4)
        }
        b'[' if ["[cite:", "[cite/"].iter().any(|c| rest.get(..6).is_some_and(|s| s.eq_ignore_ascii_case(c))) => {
            out.push_str("[ ");
            Some(1)
        }
        b'@' if is_snippet(rest) => {
            out.push_str("@ ");
            Some(1)
        }
        b'<' if rest.starts_with("<%%") => {
            out.push_str("<% ");
            Some(2)
        }
        b'<' if is_date(rest.get(1..).unwrap_or("")) => {
            let stamp = rest.find('>').and_then(|end| rest.get(1..end)).filter(|inner| is_stamp(inner));
            match stamp {
                Some(inner) => {
                    // Behind a bracket, the new one must not make a link of two.
                    out.push_str(if out.ends_with('[') { " [" } else { "[" });
                    out.push_str(inner);
                    out.push(']');
                    Some(inner.len() + 2)
                }
                None => {
                    out.push_str("< ");
                    Some(1)
                }
            }
        }
        b'<' if rest.starts_with("<<") && rest.chars().nth(2).is_some_and(|c| c != ' ') => {
            out.push_str("< ");
            Some(1)
        }
        b'%' if rest.starts_with("%%(") => {
            out.push_str("% ");
            Some(1)
        }
        b'{' if rest.starts_with("{{{") => {
            out.push_str("{ ");
            Some(1)
        }
        b'-' if rest.starts_with("-*-") => {
            out.push_str("-* ");
            Some(2)
        }
        b':' if closes_reserved(before, rest) => {
            out.push_str(" :");
            Some(1)
        }
        _ if word_starts => break_word(rest, out),
        _ => None,
    }
}

/// Words in front of a colon that make a planning line, clock line, local variables, or a link that runs.
fn closes_reserved(before: &str, rest: &str) -> bool {
    let start = before
        .char_indices()
        .rev()
        .take_while(|(_, c)| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '_'))
        .last()
        .map_or(before.len(), |(at, _)| at);
    let word = before.get(start..).unwrap_or("");
    let behind = rest.get(1..).unwrap_or("");
    closes_line_word(before, word, behind) || closes_link_type(before, word, behind)
}

fn closes_line_word(before: &str, word: &str, behind: &str) -> bool {
    let is = |name: &str| ends_with_word(word, name);
    if before.eq_ignore_ascii_case("clock") || ["SCHEDULED", "DEADLINE", "CLOSED"].contains(&before) {
        return true;
    }
    if is("scheduled") || is("deadline") || is("closed") || is("clock") {
        let value = behind.trim_start_matches([' ', '\t']);
        return value.is_empty()
            || value.starts_with(['<', '[', '='])
            || value.starts_with(|c: char| c.is_ascii_digit());
    }
    is("variables") && ends_with_word(before, "local variables")
}

/// Whether a text ends with a name, in any case.
fn ends_with_word(text: &str, name: &str) -> bool {
    text.len()
        .checked_sub(name.len())
        .and_then(|start| text.get(start..))
        .is_some_and(|end| end.eq_ignore_ascii_case(name))
}

/// Whether the colon behind `word` would make Org see a link of a kind that is not allowed.
fn closes_link_type(before: &str, word: &str, behind: &str) -> bool {
    let opened =
        before.len().checked_sub(word.len() + 1).and_then(|at| before.get(at..)).is_some_and(|t| t.starts_with('<'));
    // Between angle brackets a link may begin with white space, and go on in the next line.
    let blank = behind.is_empty() || behind.starts_with([' ', '\t']);
    if opened && word.len() > 1 && !behind.starts_with(':') && is_scheme(word) {
        return !["http", "https"].iter().any(|allowed| word.eq_ignore_ascii_case(allowed));
    }
    if blank && !opened {
        return false;
    }
    // A link may begin wherever a word does, so behind each sign within the run too.
    let bytes = word.as_bytes();
    let first = word.len().saturating_sub(LONGEST_TYPE);
    (first..word.len())
        .filter(|at| bytes[*at].is_ascii_alphabetic() && (*at == 0 || !bytes[*at - 1].is_ascii_alphanumeric()))
        .filter_map(|at| word.get(at..))
        .any(|name| is_refused_type(name, behind))
}

/// Whether Org or a known package gives this link type a meaning other than a page, a note, or a file;
/// every scheme in front of `//` other than the web's counts too.
fn is_refused_type(name: &str, behind: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if ["http", "https", "id", "file"].contains(&name.as_str()) {
        return false;
    }
    behind.starts_with("//") || name.starts_with("file+") || REFUSED.contains(&name.as_str())
}

fn is_scheme(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// The longest name of a link type that is looked for, in bytes.
const LONGEST_TYPE: usize = 40;

/// Link types of Org, of its contributed packages, and of packages that people install.
#[rustfmt::skip]
const REFUSED: &[&str] = &[
    // Org itself, and what came with it once.
    "attachment", "bbdb", "bibtex", "bookmark", "docview", "doi", "elisp", "eshell",
    "eww", "ftp", "git", "gitbare", "gnus", "help", "info", "irc", "mac-iwork", "mac-outlook", "mac-evernote", "mac-mail",
    "mailto", "mairix", "man", "message", "mew", "mhe", "news", "notmuch", "notmuch-search", "notmuch-tree", "org-protocol",
    "rmail", "shell", "tel", "vm", "vm-imap", "wl", "w3m", "woman", "x-devonthink-item", "x-together-item",
    "addressbook", "skim", "papers", "epub",
    // Citations.
    "cite", "nocite", "citet", "citep", "citealp", "citealt", "citeauthor", "citeyear", "citeyearpar", "citetitle", "citenum",
    "citedate", "citetext", "citetalias", "citepalias", "autocite", "autocites", "parencite",
    "parencites", "textcite", "textcites", "footcite", "footcites", "footcitetext", "smartcite", "supercite", "fullcite",
    "footfullcite", "notecite", "pnotecite", "fnotecite", "volcite", "pvolcite", "ftvolcite", "svolcite", "tvolcite",
    "avolcite", "cites", "citeurl", "bibentry", "bibliography", "bibliographystyle", "nobibliography", "addbibresource",
    "printbibliography", "biblio", "ref", "eqref", "pageref", "nameref", "autoref", "cref", "label", "gls", "glspl", "ac",
    "acrshort", "acrlong", "acrfull", "ebib", "zotero", "zotxt", "bibdesk", "citar", "pubmed", "pmid", "arxiv", "isbn", "orcid",
    "wos", "scopus", "google-scholar", "list-of-figures", "list-of-tables", "index", "printindex",
    // Notes and memory.
    "roam", "denote", "denote-query", "orgnv", "notes", "note", "zk", "zettel", "zetteldeft", "deft", "howm",
    "org-ql-search", "org-brain", "brain", "brain-parent", "brain-child", "brain-friend", "org-super-links", "super-link",
    "transclude", "transclusion", "anki", "org-contact", "contact", "org-contacts", "passepartout", "passepartout-plan",
    "wiki", "wikipedia", "curio", "agenda", "calfw", "diary", "swiper", "rg",
    // Mail, chat, feeds.
    "mu4e", "evernote", "gmail", "mail", "imap", "smtp", "nntp", "elfeed", "elfeed-search", "newsticker", "telega", "tg",
    "slack", "slack-archives", "matrix", "ement", "mastodon", "jabber", "xmpp", "sms", "sip", "sips", "discord", "mid", "cid",
    "wanderlust", "outlook", "rss", "twitter", "reddit", "hn", "whatsapp", "skype", "facetime", "zoommtg", "msteams",
    // Documents and media.
    "pdf", "pdfview", "pdf-tools", "noter", "org-noter", "nov", "djvu", "doc-view", "calibre", "calibredb", "mpv", "vlc", "emms",
    "video", "audio", "media", "media-note", "youtube", "yt", "ytdl", "mpd", "spotify", "music", "bongo", "image", "img",
    "download", "screenshot", "attach", "inkscape", "drawio", "krita", "xournal", "xournalpp", "excalidraw", "mindmap",
    "onenote", "obsidian", "dired", "image-dired", "pass", "password-store", "auth-source", "keepass", "geo",
    "maps", "osm", "google-maps",
    // Programs and development.
    "async-shell", "buffer", "call", "calc", "chrome", "command", "compile", "custom", "customize", "docker",
    "ediff", "emacs", "emacsclient", "eval", "exec", "execute", "face", "firefox", "forge", "function", "gemini", "github",
    "gitlab", "gopher", "grep", "helm", "helpful", "imenu", "info+", "interactive", "ipfs", "javascript",
    "jira", "kubernetes", "lsp", "lisp", "macro", "magit", "magit-status", "magit-commit", "magit-log",
    "orgit", "orgit-branch", "orgit-file", "orgit-log", "orgit-rev", "orgit-topic", "pr", "projectile", "proced",
    "run", "sftp", "scp", "smb", "ssh", "sudo", "sh", "bash",
    "stackoverflow", "su", "svn", "telnet", "tmux", "tramp", "treemacs", "variable", "vbscript",
    "view-source", "vscode", "vterm", "eat", "webdav", "x-apple", "yas", "yasnippet", "kbd", "color",
];

/// Whether `@@name:` begins a piece of text for one exporter.
fn is_snippet(rest: &str) -> bool {
    rest.strip_prefix("@@").is_some_and(|tail| {
        let name = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-').len();
        name > 0 && tail.get(name..).is_some_and(|behind| behind.starts_with(':'))
    })
}

/// `src_lang{…}`, `call_name(…)`, and files whose name makes opening them an act.
fn break_word(rest: &str, out: &mut String) -> Option<usize> {
    for (prefix, openers) in [("src_", ['{', '[']), ("call_", ['(', '['])] {
        if let Some(tail) = rest.strip_prefix(prefix) {
            let name =
                tail.len() - tail.trim_start_matches(|c: char| c != ' ' && c != '\t' && !openers.contains(&c)).len();
            if name > 0 && tail.get(name..).is_some_and(|t| t.starts_with(openers)) {
                out.push_str(prefix);
                out.push(' ');
                return Some(prefix.len());
            }
        }
    }
    if rest.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("file:"))
        && !plain_file(until_blank(rest.get(5..).unwrap_or("")))
    {
        out.push_str(rest.get(..4).unwrap_or(""));
        out.push_str(" :");
        return Some(5);
    }
    None
}

fn until_blank(text: &str) -> &str {
    text.split([' ', '\t', ']']).next().unwrap_or("")
}

/// A file name that names a file of this machine and nothing more: no remote name, no search that could be Lisp.
fn plain_file(name: &str) -> bool {
    let (path, search) = name.split_once("::").unwrap_or((name, ""));
    !path.contains(':') && !path.starts_with("//") && !path.contains('%') && !search.starts_with('(')
}

/// Returns whether `[[…` begins a link to a node, a file or a page, closed on this line.
fn allowed_link(rest: &str) -> bool {
    let Some(inner) = rest.get(2..) else { return false };
    let Some(end) = inner.find(']') else { return false };
    let target = inner.get(..end).unwrap_or("");
    let Some(tail) = inner.get(end..) else { return false };
    let closed = tail.starts_with("]]")
        || tail.strip_prefix("][").is_some_and(|d| {
            d.find("]]").is_some_and(|at| {
                d.get(..at).is_some_and(|d| {
                    !d.contains(['[', ']', '<']) && !d.contains("{{{") && !is_image(d) && !has_scheme(d)
                })
            })
        });
    if !closed
        || target.contains(['[', '<'])
        || target.contains("{{{")
        || target.chars().any(|c| is_hidden(c) || is_odd_space(c))
    {
        return false;
    }
    let lower = target.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        // A picture would be fetched in order to show it.
        return !is_image(&lower);
    }
    match lower.split_once(':') {
        Some(("id", id)) => !id.is_empty() && !id.contains("::"),
        Some(("file", name)) => plain_file(name),
        Some(_) => false,
        // A shell's test, not a link.
        None => target.starts_with(' ') && tail.starts_with("]]"),
    }
}

fn is_image(target: &str) -> bool {
    let path = target.split(['?', '#']).next().unwrap_or(target).to_ascii_lowercase();
    [".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".bmp", ".tif", ".tiff", ".xbm", ".xpm", ".pbm", ".avif"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// A description that holds a link of a kind that runs would be shown as one.
fn has_scheme(text: &str) -> bool {
    text.match_indices(':').any(|(at, _)| closes_reserved(text.get(..at).unwrap_or(""), text.get(at..).unwrap_or("")))
}

/// Whether this can stand in a timestamp: a colon only between digits, so that no link type hides in it.
fn is_stamp(inner: &str) -> bool {
    let plain = |c: char| (c.is_alphanumeric() && !is_hidden(c)) || matches!(c, ' ' | ':' | '-' | '+' | '.' | '/');
    inner.chars().all(plain)
        && inner.split(':').rev().skip(1).all(|part| {
            let word = part.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit())
        })
}

fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(i, b)| if i == 4 || i == 7 { *b == b'-' } else { b.is_ascii_digit() })
}

fn escape(c: char, out: &mut String) {
    out.push_str(&format!("\\u{{{:X}}}", c as u32));
}

/// Zero-width joiners and variation selectors, which emoji and some scripts need.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200C}' | '\u{200D}' | '\u{FE00}'..='\u{FE0F}')
}

/// Characters that cannot be seen, or that change how others are seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}'
            | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Spaces that look like the usual one and are not.
fn is_odd_space(c: char) -> bool {
    matches!(c, '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}')
}

/// Splits text into runs of letters and digits and what stands between.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let inside = first.is_alphanumeric();
        let end = rest.find(|c: char| c.is_alphanumeric() != inside).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        rest = tail;
        Some(word)
    })
}

/// A word that mixes ASCII letters with letters of other alphabets that resemble them, or is made of such letters alone.
fn is_disguised(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic());
    let (mut ascii, mut alike, mut other) = (false, false, false);
    for c in letters {
        if c.is_ascii() {
            ascii = true;
        } else if is_look_alike(c) {
            alike = true;
        } else {
            other = true;
        }
    }
    alike && (ascii || !other)
}

/// Letters of other alphabets that are drawn like ASCII ones.
fn is_look_alike(c: char) -> bool {
    matches!(c, '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}' | '\u{1D400}'..='\u{1D7FF}' | '\u{13A0}'..='\u{13F5}'
        | '\u{2100}'..='\u{214F}' | '\u{2160}'..='\u{217F}' | '\u{A4D0}'..='\u{A4F7}')
        || "аеорсухіјѕԁһӏԛԝѵьАВЕЗКМНОРСТУХІЈЅԌԚԜҮΑΒΕΖΗΙΚΜΝΟΡΤΥΧανορυικγτωϲϳօսոցհզքԼՍՕɑɡɩɪʀʏｏ".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_becomes_structure() {
        for (given, shown) in [
            ("* TODO heading", " * TODO heading"),
            ("*** x", " *** x"),
            ("*bold* text", "*bold* text"),
            ("#+SETUPFILE: /ssh:evil:/x", ",#+SETUPFILE: /ssh :evil:/x"),
            ("  #+begin_src sh :eval yes", "  ,#+begin_src sh :eval yes"),
            (":PROPERTIES:", ",:PROPERTIES:"),
            (":END:", ",:END:"),
            ("SCHEDULED: <2026-11-21 Sat>", "SCHEDULED : [2026-11-21 Sat]"),
            ("at <2026-11-21 Sat 10:00> sharp", "at [2026-11-21 Sat 10:00] sharp"),
            ("<%%(shell-command \"id\")>", "<% %(shell-command \"id\")>"),
            ("%%(kill-emacs)", ",% %(kill-emacs)"),
            ("[[elisp:(kill-emacs)][Notes]]", "[ [elisp :(kill-emacs)][Notes]]"),
            ("[[shell:rm -rf ~]]", "[ [shell :rm -rf ~]]"),
            ("see elisp:(x) and shell:ls", "see elisp :(x) and shell :ls"),
            ("see <elisp: (x)> and <shell:", "see <elisp : (x)> and <shell :"),
            ("help: x, man: y, <file:", "help: x, man: y, <file :"),
            ("[[id:abc][Abc]]", "[[id:abc][Abc]]"),
            ("[[https://example.org][site]]", "[[https://example.org][site]]"),
            ("[[https://example.org/x.png]]", "[ [https://example.org/x.png]]"),
            ("[[id:abc][https://example.org/x.png]]", "[ [id:abc][https://example.org/x.png]]"),
            ("[[file:/ssh:host:/etc/passwd]]", "[ [file :/ssh :host:/etc/passwd]]"),
            ("[[file:a.org::*Heading][h]]", "[[file:a.org::*Heading][h]]"),
            ("src_elisp{(kill-emacs)} call_f()", "src_ elisp{(kill-emacs)} call_ f()"),
            ("# Local Variables:", "# Local Variables :"),
            ("-*- mode: x -*-", "-* - mode: x -* -"),
            ("{{{macro}}}", "{ {{macro}}}"),
            ("<<target>>", "< <target>>"),
            ("[fn:1] note", "[fn :1] note"),
            ("a\u{202E}b\u{1b}[31m", "a\\u{202E}b\\u{1B}[31m"),
            ("note: this is plain: yes", "note: this is plain: yes"),
            ("CLOCK: [2026-11-21 Sat 10:00]", "CLOCK : [2026-11-21 Sat 10:00]"),
            ("x-elisp:kill-emacs", "x-elisp :kill-emacs"),
            ("<x-elisp:kill-emacs>", "<x-elisp :kill-emacs>"),
            ("see +shell:ls a_elisp:b", "see +shell :ls a_elisp :b"),
            ("[[id:a][x-elisp:kill-emacs]]", "[ [id:a][x-elisp :kill-emacs]]"),
            ("漢elisp:x 漢src_x{y}", "漢elisp :x 漢src_ x{y}"),
            ("_src_elisp{(message)}", "_src_ elisp{(message)}"),
            ("x _call_f() e", "x _call_ f() e"),
            ("_file:/ssh:evil:/x", "_file :/ssh :evil:/x"),
            ("denote:x zotero://y gemini://z", "denote :x zotero ://y gemini ://z"),
            ("<anything:x> <https://a.b> <std::vec>", "<anything :x> <https://a.b> <std::vec>"),
            ("[cite:@k] [cite/t:@k]", "[ cite :@k] [ cite/t:@k]"),
            ("@@html:<b>@@", "@ @html:<b>@@"),
            ("\u{A0}#+title: x", "\u{A0},#+title: x"),
            ("clock: soon", "clock : soon"),
            ("SCHEDULED: soon", "SCHEDULED : soon"),
            ("<<<radio>>>", "< < <radio>>>"),
            ("<2026-11-21 Sat>--<2026-11-22 Sun>", "[2026-11-21 Sat]--[2026-11-22 Sun]"),
            ("at 10:30, note:this, fs.rs:12", "at 10:30, note :this, fs.rs:12"),
        ] {
            assert_eq!(inert(given), shown, "for {given:?}");
        }
    }

    #[test]
    fn a_plan_shows_what_hides() {
        assert_eq!(exact("rm \u{202E}x\u{200B}"), "rm \\u{202E}x\\u{200B}");
        assert_eq!(exact("cаt файл"), "c\\u{430}t файл");
        assert_eq!(exact("a\u{A0}b\nc\td"), "a\\u{A0}b\nc\td");
        assert_eq!(exact("сор"), "\\u{441}\\u{43E}\\u{440}");
        assert_eq!(exact("a\u{1b}[2K"), "a\\u{1B}[2K");
    }

    fn nasty() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("* ".to_string()),
            Just("#+".to_string()),
            Just("[[".to_string()),
            Just("]]".to_string()),
            Just("][".to_string()),
            Just("elisp:".to_string()),
            Just("id:a".to_string()),
            Just("file:".to_string()),
            Just("SCHEDULED:".to_string()),
            Just("<2026-11-21".to_string()),
            Just(">".to_string()),
            Just("%%(".to_string()),
            Just("\n".to_string()),
            Just(" ".to_string()),
            Just(":END:".to_string()),
            Just("{{{".to_string()),
            Just("src_x{".to_string()),
            Just("call_f(".to_string()),
            Just("_".to_string()),
            Just("-".to_string()),
            Just("+".to_string()),
            Just("<".to_string()),
            Just("cite:@k]".to_string()),
            Just("denote:x".to_string()),
            Just("@@html:".to_string()),
            Just("CLOCK:".to_string()),
            Just("\u{A0}".to_string()),
            Just("Local Variables:".to_string()),
            Just("\u{202E}".to_string()),
            Just("-*-".to_string()),
            Just("<<".to_string()),
            "[a-z ]{0,6}",
            "\\PC{0,3}",
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn streamed_in_any_pieces_it_is_the_same(text in nasty(), cuts in prop::collection::vec(0usize..200, 0..8)) {
            let whole = inert(&text);
            let mut stream = Inert::default();
            let mut out = String::new();
            let mut at = 0;
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|c| text.is_char_boundary(*c)).collect();
            cuts.sort_unstable();
            for cut in cuts {
                if cut > at {
                    out.push_str(&stream.push(&text[at..cut]));
                    at = cut;
                }
            }
            out.push_str(&stream.push(&text[at..]));
            out.push_str(&stream.finish());
            prop_assert_eq!(out, whole);
        }

        /// Lines longer than the longest, some without a blank, with something hostile about where they are cut.
        #[test]
        fn a_long_line_streams_the_same(
            filler in prop_oneof![Just("a"), Just("ab "), Just("é"), Just("[["), Just("<")],
            short in 0usize..40,
            first in nasty(),
            then in nasty(),
            pieces in prop::collection::vec(1usize..9000, 1..8),
        ) {
            let length = LONGEST.saturating_sub(first.len() + short);
            let text = format!("{}{first}shell:ls {then}elisp:x{}", filler.repeat(length / filler.len()), "b".repeat(LONGEST));
            let whole = inert(&text);
            let (mut stream, mut out, mut rest) = (Inert::default(), String::new(), text.as_str());
            for size in pieces.iter().cycle() {
                let end = (*size.min(&rest.len())..=rest.len()).find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
                let (piece, later) = rest.split_at(end);
                out.push_str(&stream.push(piece));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            out.push_str(&stream.finish());
            prop_assert!(out == whole, "another text when it comes in pieces of {pieces:?}");
            for live in ["shell:ls", "elisp:x"] {
                for (at, _) in whole.match_indices(live) {
                    prop_assert!(whole[..at].ends_with(|c: char| c.is_ascii_alphanumeric()), "{live} is a link");
                }
            }
        }

        #[test]
        fn made_inert_twice_it_is_the_same(text in nasty()) {
            let once = inert(&text);
            prop_assert_eq!(inert(&once), once);
        }

        #[test]
        fn no_line_begins_structure(text in nasty()) {
            for line in inert(&text).lines() {
                prop_assert!(!begins_heading(line), "{line:?}");
                prop_assert!(!line.trim_start_matches([' ', '\t']).starts_with("#+"), "{line:?}");
                prop_assert!(!is_drawer_line(line.trim_start_matches([' ', '\t'])), "{line:?}");
                prop_assert!(!line.contains("[[elisp:") && !line.contains("%%("), "{line:?}");
            }
        }
    }
}
