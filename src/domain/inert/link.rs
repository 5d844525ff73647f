//! Which links may stand in inert text: to a node, a file or a page, and to nothing that runs.

use super::letters::{is_hidden, is_odd_space};
use super::line::closes_reserved;

/// Whether the colon behind `word` would make Org see a link of a kind that is not allowed.
pub(super) fn closes_link_type(before: &str, word: &str, behind: &str) -> bool {
    if closes_remote_method(before, word, behind) {
        return true;
    }
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

/// Whether the colon behind `word` ends the method of a file name of another machine, as in `/method:host:`.
/// Any word can be a method: packages add their own.
fn closes_remote_method(before: &str, word: &str, behind: &str) -> bool {
    let path = before.strip_suffix(word).unwrap_or("");
    let root = path.trim_end_matches('/');
    let slashes = path.len() - root.len();
    // Behind letters it is a step on the way, and `//` behind a colon begins the host of an address.
    let begins =
        slashes > 0 && !root.ends_with(|c: char| c.is_ascii_alphanumeric()) && !(slashes == 2 && root.ends_with(':'));
    let host = behind.find([':', '/', ' ', '\t']).and_then(|at| behind.get(at..));
    begins && !word.is_empty() && host.is_some_and(|rest| rest.starts_with(':'))
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
    "passepartout-why",
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

/// A file name that names a file of this machine and nothing more: no remote name, no search that could be Lisp.
pub(super) fn plain_file(name: &str) -> bool {
    let (path, search) = name.split_once("::").unwrap_or((name, ""));
    !path.contains(':') && !path.starts_with("//") && !path.contains('%') && !search.starts_with('(')
}

/// Returns whether `[[…` begins a link to a node, a file or a page, closed on this line.
pub(super) fn allowed_link(rest: &str) -> bool {
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
