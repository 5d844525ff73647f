//! Secrets by where they stand: assignments to telling names, passwords in addresses, headers and options.

use super::names::{Says, may_tell, plain, says};
use super::seed::Seeds;
use super::values::{
    Counts, entropy, is_drawn, is_file, is_identifier, is_jumbled, is_kept_elsewhere, is_numbered_slug, is_placeholder,
    is_random, is_slug, is_uuid, one_letter, unspoken,
};
use super::{Certainty, Finding, near};

/// How far back the beginning of a heading's line is looked for, in bytes.
const HEADING: usize = 1_024;
/// The most bytes that are looked at before a sign.
const BEFORE: usize = 256;
/// The longest value that is measured, in bytes.
const VALUE: usize = 2_048;
/// How often a run of characters without a break is judged: a text that is one long run costs no more.
const JUDGED: usize = 8;

/// Returns the secrets of a text that are told by what stands before them.
pub(super) fn scan(text: &str) -> Vec<Finding> {
    search(text).found
}

/// Returns how many checksums of seed phrases were worked out.
pub(super) fn effort(text: &str) -> usize {
    search(text).seeds.sums
}

fn search(text: &str) -> Scan<'_> {
    let mut scan = Scan { text, run: 0, judged: 0, cookies: 0, seeds: Seeds::default(), found: Vec::new() };
    let bytes = text.as_bytes();
    let mut run = 0;
    for (at, byte) in bytes.iter().enumerate() {
        // Most bytes are letters, and no letter is a sign.
        if byte.is_ascii_alphanumeric() || *byte == b'_' {
            continue;
        }
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        if *byte != b'-' {
            if at - run >= near::LEAST {
                scan.found.extend(near::token(text, run, at));
            }
            run = at + 1;
        }
        if next.is_ascii_alphabetic() {
            scan.found.extend(scan.seeds.word(text, at + 1));
        }
        match byte {
            b'=' | b':' => scan.assigned(at),
            b'@' => scan.address(at),
            b',' => scan.pair(at),
            b'>' => scan.element(at),
            b'(' if matches!(next, b'"' | b'\'') => scan.called(at),
            b'-' if !next.is_ascii_whitespace() => scan.option(at),
            b' ' | b'\t' if next.is_ascii_alphanumeric() || matches!(next, b'"' | b'\'') => scan.behind_word(at),
            _ => {}
        }
    }
    if text.len() - run >= near::LEAST {
        scan.found.extend(near::token(text, run, text.len()));
    }
    scan
}

struct Scan<'a> {
    text: &'a str,
    /// Where the last unquoted value ends, and how often values that end there were judged.
    run: usize,
    judged: usize,
    /// How far cookies were looked at.
    cookies: usize,
    seeds: Seeds,
    found: Vec<Finding>,
}

/// A value, where it starts, and whether it was quoted.
#[derive(Clone, Copy)]
struct Value<'a> {
    start: usize,
    text: &'a str,
    quoted: bool,
}

impl<'a> Scan<'a> {
    fn likely(&mut self, kind: &'static str, start: usize, value: &str) {
        let range = start..start + value.len();
        self.found.push(Finding { kind, range, certainty: Certainty::Likely });
    }

    /// Returns the text before a place, as far as it is looked at.
    fn before(&self, at: usize, most: usize) -> &'a str {
        let mut start = at.saturating_sub(most);
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        self.text.get(start..at).unwrap_or("")
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b' ')
    }

    /// Reads a value behind a sign: quoted, or up to white space.
    fn value(&mut self, from: usize) -> Option<Value<'a>> {
        let rest = self.text.as_bytes().get(from..)?;
        let signs = |b: &&u8| matches!(**b, b' ' | b'\t' | b'=' | b':' | b'>' | b'\\' | b'?' | b'(' | b'[' | b'@');
        let skip = rest.iter().take(16).take_while(signs).count();
        // A value that begins on the next line is folded, or it is none.
        let start = from + skip;
        let first = self.byte(start);
        if matches!(first, b'"' | b'\'' | b'`') {
            let inner = self.text.get(start + 1..)?;
            let end = inner
                .bytes()
                .take(VALUE)
                .position(|b| b == first || b == b'\n' || (b == b'\\' && first == b'"'))
                .unwrap_or_else(|| floor(inner, VALUE));
            let (start, text) = (start + 1, inner.get(..end)?);
            // `"Bearer …"`: the scheme is no part of the secret.
            let scheme =
                ["Bearer ", "bearer ", "Basic ", "Token ", "token ", "ApiKey "].iter().find(|s| text.starts_with(**s));
            let skip = scheme.map_or(0, |scheme| scheme.len());
            return Some(Value { start: start + skip, text: text.get(skip..)?, quoted: true });
        }
        let end = self.run_end(start);
        Some(Value { start, text: self.text.get(start..end)?, quoted: false })
    }

    /// Returns where an unquoted value ends. Each run is measured once.
    fn run_end(&mut self, start: usize) -> usize {
        if start < self.run {
            self.judged += 1;
            return self.run;
        }
        let rest = self.text.get(start..).unwrap_or("");
        let ends = |b: u8| {
            b.is_ascii_whitespace()
                || matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'<' | b'&' | b']' | b'}' | b'|')
        };
        let length = rest.bytes().take(VALUE).position(ends).unwrap_or_else(|| floor(rest, VALUE));
        self.run = start + length;
        self.judged = 0;
        self.run
    }

    fn assigned(&mut self, at: usize) {
        if at > 0 && matches!(self.byte(at - 1), b'=' | b'!' | b'<' | b'>') && self.byte(at) == b'='
            || self.byte(at) == b':' && self.byte(at + 1) == b'/' && self.byte(at + 2) == b'/'
        {
            return;
        }
        let left = self.before(at, BEFORE);
        let Some(mut name) = name_before(left) else { return };
        if self.ends_tags(at) {
            return;
        }
        // `"Password:", …`: the sign is the end of a text.
        let closing = matches!(self.byte(at + 1), b'"' | b'\'')
            && left.len() > name.len()
            && left.as_bytes().get(left.len() - name.len() - 1) == Some(&self.byte(at + 1));
        if closing
            && (self.byte(at + 2).is_ascii_whitespace()
                || matches!(self.byte(at + 2), b',' | b';' | b')' | b']' | b'}'))
        {
            return;
        }
        // `Unseal Key 1: …`
        if name.len() == 1 && name.bytes().all(|b| b.is_ascii_digit()) {
            let head = left.trim_end().strip_suffix(name).map_or("", str::trim_end);
            name = if head.ends_with("Key") || head.ends_with("key") { last_word(head) } else { name };
        }
        match name {
            "value" | "Value" | "VALUE" | "default" | "content" => return self.named_beside(at),
            _ if name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("proxy-authorization") => {
                return self.header(at);
            }
            _ if name.eq_ignore_ascii_case("cookie") || name.eq_ignore_ascii_case("set-cookie") => {
                return self.cookies(at);
            }
            _ => {}
        }
        let name = if name == "a" && self.before(at, 16).ends_with("contraseña") { "contrasena" } else { name };
        // `_PAT` is a personal token; `format` and `compat` end like it.
        let personal = name.rsplit(['_', '-', '.']).next().is_some_and(|last| last.eq_ignore_ascii_case("pat"));
        let name = plain(name);
        let Some(says) = says(&name).or(personal.then_some(Says::Key)) else { return self.unnamed(&name, at) };
        // Badges of a repository carry a token for the picture alone.
        if &*name == "token" && self.before(at, 96).contains("badge") {
            return;
        }
        // `api_keys:` and on the next line `- value`.
        let rest = self.text.as_bytes().get(at + 1..).unwrap_or(&[]);
        let folded = rest.iter().take(64).take_while(|b| b.is_ascii_whitespace() || **b == b'-').count();
        let item = rest.first() == Some(&b'\n') && rest.get(..folded).is_some_and(|skipped| skipped.contains(&b'-'));
        // `${NAME:-value}`: what holds when nothing is set.
        let fallback = self.byte(at) == b':' && self.byte(at + 1) == b'-';
        let Some(value) = self.value(at + 1 + if item { folded } else { usize::from(fallback) }) else { return };
        if item && !is_drawn(value.text, 16) {
            return;
        }
        if self.judged < JUDGED && (in_credentials(&name, self.before(at, 64), value) || judge(&name, says, value)) {
            self.likely(kind(says), value.start, value.text);
        } else if !value.quoted && !fallback {
            self.otherwise(&name, says, value.start);
        }
    }

    /// `** Health :private: {its id}`: how we name a heading with tags; what stands behind them is no value of theirs.
    fn ends_tags(&self, at: usize) -> bool {
        let is_id = self.text.get(at..).is_some_and(|rest| rest.starts_with(": {"));
        let before = if is_id { self.before(at, HEADING) } else { "" };
        let line = before.rsplit('\n').next().unwrap_or("");
        let title = line.trim_start_matches('*');
        title.len() < line.len()
            && title.starts_with(' ')
            && line.rsplit(' ').next().is_some_and(|tags| tags.starts_with(':'))
    }

    /// `password = read() or "value"`: what holds when nothing is read.
    fn otherwise(&mut self, name: &str, says: Says, from: usize) {
        let rest = self.text.get(from..).unwrap_or("");
        let line = rest.get(..floor(rest, 120)).unwrap_or("").split('\n').next().unwrap_or("");
        for sign in [" or ", " || ", " ?? ", " ?: "] {
            let Some(place) = line.find(sign) else { continue };
            let at = from + place + sign.len();
            if let Some(value) = self.value(at).filter(|value| value.quoted && judge(name, says, *value)) {
                self.likely(kind(says), value.start, value.text);
            }
            return;
        }
    }

    /// `setApiKey("…")`, `Client("…")`: what is called tells, or it is what one signs in with.
    fn called(&mut self, at: usize) {
        let word = last_word(self.before(at, 96));
        let signs_in = ["Client", "client", "Bot", "login", "authenticate"].iter().any(|end| word.ends_with(end));
        let name = plain(word);
        let told = says(&name);
        if !signs_in && told.is_none() {
            return;
        }
        let Some(value) = self.value(at + 1).filter(|value| value.quoted) else { return };
        let drawn = signs_in && is_drawn(value.text, 24);
        if drawn || told.is_some_and(|says| judge(&name, says, value) && is_drawn(value.text, 16)) {
            self.likely(kind(told.unwrap_or(Says::Token)), value.start, value.text);
        }
    }

    /// `{"kty": "EC", "d": "…"}`: the secret half of a key in JSON (RFC 7517).
    fn web_key(&mut self, at: usize) {
        let from = at.saturating_sub(512);
        let near = self.text.as_bytes().get(from..self.text.len().min(at.saturating_add(1024))).unwrap_or(&[]);
        if memchr::memmem::find(near, b"\"kty\"").is_none() {
            return;
        }
        if let Some(value) = self.value(at + 1).filter(|value| value.quoted && is_drawn(value.text, 40)) {
            self.likely("private key", value.start, value.text);
        }
    }

    /// `sig=…` in an address, and the forms of keys that have a name of their own.
    fn unnamed(&mut self, name: &str, at: usize) {
        if name == "d" && self.byte(at) == b':' && self.judged < JUDGED {
            return self.web_key(at);
        }
        if matches!(name, "pk" | "sk" | "priv" | "prv") && self.judged < JUDGED {
            let drawn = |text: &str| {
                text.strip_prefix("0x").is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()))
            };
            if let Some(value) = self.value(at + 1).filter(|value| drawn(value.text) && entropy(value.text) > 3.0) {
                self.likely("private key", value.start, value.text);
            }
            return;
        }
        if name != "sig" || !matches!(self.before(at, 4).as_bytes().first(), Some(b'&' | b'?')) {
            return;
        }
        if let Some(value) = self.value(at + 1).filter(|value| value.text.len() >= 40 && Counts::of(value.text).mixed())
        {
            self.likely("signature of an address", value.start, value.text);
        }
    }

    /// `{"name": "DB_PASSWORD", "value": "…"}`, `<add key="ApiToken" value="…"/>`: the name stands beside.
    fn named_beside(&mut self, at: usize) {
        let left = self.before(at, 160);
        let near = ["name", "key", "Name", "Key", "variable"];
        let Some(from) = near.iter().filter_map(|word| left.rfind(word).map(|n| n + word.len())).max() else { return };
        let rest = left.get(from..).unwrap_or("").trim_start_matches(['"', '\'', ' ', ':', '=', '>']);
        let end = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')))
            .unwrap_or(rest.len());
        let name = plain(rest.get(..end).unwrap_or(""));
        let Some(says) = says(&name) else { return };
        let Some(value) = self.value(at + 1) else { return };
        if self.judged < JUDGED && judge(&name, says, value) {
            self.likely(kind(says), value.start, value.text);
        }
    }

    /// `Authorization: Bearer …`: the scheme stands before the secret.
    fn header(&mut self, at: usize) {
        let Some(Value { mut start, text: mut value, .. }) = self.value(at + 1) else { return };
        let schemes = ["basic", "bearer", "token", "apikey", "digest", "ssws", "negotiate", "aws4-hmac-sha256"];
        let mut told = schemes.iter().any(|scheme| value.eq_ignore_ascii_case(scheme));
        if told {
            let end = start + value.len();
            if self.byte(end) != b' ' || matches!(self.byte(end + 1), b'"' | b'\'' | b'`') {
                return;
            }
            let Some(next) = self.value(end) else { return };
            (start, value) = (next.start, next.text);
        } else if let Some((head, rest)) = value.split_once(' ') {
            told = true;
            (start, value) = (start + head.len() + 1, rest);
        }
        let fine = value.len() >= 8 && !is_placeholder(value) && !value.contains("..") && value.is_ascii();
        let telling = value.bytes().any(|b| b.is_ascii_digit() || b == b'=') || entropy(value) > 3.5;
        let code = value.contains(['(', ' ']) || value.contains("::");
        if fine && !code && (told && telling || is_random(value, 16)) && self.judged < JUDGED {
            self.likely("authorization header", start, value);
        }
    }

    /// `Cookie: name=…; name=…`: sessions are as good as passwords.
    fn cookies(&mut self, at: usize) {
        // A line that names cookies over and over is read once.
        if at < self.cookies {
            return;
        }
        let line = self.text.get(at + 1..).unwrap_or("");
        let line = line.get(
            ..line
                .bytes()
                .take(VALUE)
                .position(|b| matches!(b, b'\n' | b'"' | b'\''))
                .unwrap_or_else(|| floor(line, VALUE)),
        );
        let mut start = at + 1;
        for part in line.unwrap_or("").split(';').take(32) {
            if let Some((name, value)) = part.split_once('=')
                && (is_random(value, 16) || value.split(['%', '.', ':']).take(4).any(|part| is_random(part, 16)))
                && !name.contains("csrf")
            {
                self.likely("cookie", start + name.len() + 1, value);
            }
            start += part.len() + 1;
        }
        self.cookies = start;
    }

    /// `getenv("api_token", "value")`, `("user", "password")`: a telling name and a value side by side.
    fn pair(&mut self, at: usize) {
        let left = self.before(at, 96).trim_end();
        let Some(left) = left.strip_suffix(['"', '\'']) else { return self.constant(left, at) };
        let rest = self.text.get(at + 1..).unwrap_or("").trim_start();
        if !rest.starts_with(['"', '\'']) {
            return;
        }
        let name = plain(last_word(left));
        let credential = left.rfind('(').is_some_and(|open| {
            let call = left.get(..open).unwrap_or("");
            [
                "NetworkCredential",
                "Credential",
                "BasicAuth",
                "basicAuth",
                "basic_auth",
                "HTTPBasicAuth",
                "auth=",
                "auth = ",
                "login",
                "Login",
                "authenticate",
            ]
            .iter()
            .any(|end| call.ends_with(end))
        });
        // A client is made of a name and a key.
        let client = left
            .rfind('(')
            .and_then(|open| left.get(..open))
            .is_some_and(|call| ["Client", "algoliasearch", "createClient"].iter().any(|end| call.ends_with(end)));
        let says = says(&name).or(credential.then_some(Says::Password));
        let Some(value) = self.value(at + 1) else { return };
        if client && is_drawn(value.text, 24) {
            self.likely(kind(Says::Token), value.start, value.text);
        } else if let Some(says) = says.filter(|says| judge(&name, *says, value)) {
            self.likely(kind(says), value.start, value.text);
        }
    }

    /// `setopt(handle, CURLOPT_PASSWORD, "value")`: the name is a constant.
    fn constant(&mut self, left: &str, at: usize) {
        let word = last_word(left);
        if !word.contains('_') || word.bytes().any(|b| b.is_ascii_lowercase()) {
            return;
        }
        let name = plain(word);
        let Some(says) = says(&name) else { return };
        if let Some(value) = self.value(at + 1).filter(|value| value.quoted && judge(&name, says, *value)) {
            self.likely(kind(says), value.start, value.text);
        }
    }

    /// `<password>value</password>`: the name is the element's.
    fn element(&mut self, at: usize) {
        let left = self.before(at, 96);
        let Some(open) = left.rfind('<') else { return };
        let inside = left.get(open + 1..).unwrap_or("");
        // Another sign has closed the element.
        if inside.contains('>') {
            return;
        }
        let name = inside.split(|c: char| c.is_ascii_whitespace()).next().unwrap_or("");
        if name.is_empty() || name.starts_with(['/', '?', '!']) || inside.ends_with('/') || self.byte(at + 1) == b'<' {
            return;
        }
        let name = plain(name);
        let Some(says) = says(&name) else { return };
        let rest = self.text.get(at + 1..).unwrap_or("");
        let Some(end) = rest.bytes().take(VALUE).position(|b| b == b'<') else { return };
        let value = rest.get(..end).unwrap_or("");
        let start = at + 1 + value.len() - value.trim_start().len();
        let value = Value { start, text: value.trim(), quoted: true };
        if judge(&name, says, value) {
            self.likely(kind(says), value.start, value.text);
        }
    }

    /// `--api-key value`, `-Password value`, `-u name:password`
    fn option(&mut self, at: usize) {
        if at > 0 && !matches!(self.byte(at - 1), b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'`') {
            return;
        }
        let long = self.byte(at + 1) == b'-';
        let from = at + 1 + usize::from(long);
        let rest = self.text.as_bytes().get(from..).unwrap_or(&[]);
        let length = rest.iter().take(64).take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')).count();
        let name = self.text.get(from..from + length).unwrap_or("");
        if self.byte(from + length) != b' ' {
            return self.attached(from, name);
        }
        match name {
            "user" | "u" => return self.user_option(from + length),
            "p" | "a" | "w" => return self.short_option(from + length, name),
            _ if !long && name.starts_with('p') && name.len() >= 7 => self.attached(from, name),
            _ if !long && name.len() < 4 => return,
            _ => {}
        }
        let name = plain(name);
        let Some(says) = says(&name) else { return };
        let Some(value) = self.value(from + length + 1) else { return };
        if judge(&name, says, value) {
            self.likely(kind(says), value.start, value.text);
        }
    }

    /// `mysql -pSecret1`: the password hangs on the option.
    fn attached(&mut self, from: usize, name: &str) {
        if !name.starts_with('p')
            || name.len() < 7
            || !["mysql", "mariadb"].iter().any(|program| self.same_line(from).contains(program))
        {
            return;
        }
        let Some(value) = self.value(from + 1) else { return };
        if judge("password", Says::Password, value) {
            self.likely("password", value.start, value.text);
        }
    }

    /// `sshpass -p secret`, `redis-cli -a secret`, `ldapsearch -w secret`
    fn short_option(&mut self, at: usize, name: &str) {
        let programs: &[&str] = match name {
            "p" => &[
                "sshpass",
                "docker login",
                "podman login",
                "psexec",
                "PsExec",
                "PSEXEC",
                "az login",
                "oc login",
                "mongo",
            ],
            "a" => &["redis-cli"],
            _ => &["ldapsearch", "ldapmodify", "ldapadd"],
        };
        let line = self.same_line(at);
        if !programs.iter().any(|program| line.contains(program)) {
            return;
        }
        let Some(value) = self.value(at + 1) else { return };
        if value.text.len() >= 5
            && (Counts::of(value.text).digits + Counts::of(value.text).others > 0 || is_jumbled(value.text))
            && !is_placeholder(value.text)
        {
            self.likely("password", value.start, value.text);
        }
    }

    fn same_line(&self, at: usize) -> &'a str {
        self.before(at, BEFORE).rsplit('\n').next().unwrap_or("")
    }

    /// `-u name:password`, as curl takes it.
    fn user_option(&mut self, at: usize) {
        if !["curl", "http", "wget"].iter().any(|program| self.before(at, BEFORE).contains(program)) {
            return;
        }
        let Some(value) = self.value(at) else { return };
        let Some((user, password)) = value.text.split_once(':') else { return };
        let (start, password) = if password.is_empty() && !value.quoted {
            let Some(next) = self.value(value.start + user.len() + 1) else { return };
            (next.start, next.text)
        } else {
            (value.start + user.len() + 1, password)
        };
        let variable = password.starts_with(['$', '{', '<', '%', '('])
            || password.starts_with('-') && !Counts::of(password).mixed()
            || password.contains("${")
            || password.contains("$(")
            || password.contains("://");
        if password.len() >= 5 && !is_common(password) && !variable && !is_placeholder(password) {
            self.likely("password", start, password);
        }
    }

    /// `scheme://name:password@host`
    fn address(&mut self, at: usize) {
        let left = self.before(at, BEFORE);
        let Some(from) = left.rfind("://") else { return };
        let inside = left.get(from + 3..).unwrap_or("");
        if inside.contains(['/', ' ', '"', '\'', '<', '\n', '?', '#', ';', '`', '|']) {
            return;
        }
        let Some((user, password)) = inside.split_once(':') else {
            // `https://token@host`; what Sentry is sent to names a key that pages show to everybody.
            let open = self.text.get(at + 1..).is_some_and(|host| {
                host.get(..48).unwrap_or(host).split(['/', '"', '\'']).next().unwrap_or("").ends_with(".sentry.io")
            });
            if is_random(inside, 20) && !inside.contains('.') && !open {
                self.likely("token in an address", at - inside.len(), inside);
            }
            return;
        };
        let counts = Counts::of(password);
        let telling = password.len() >= 6 && counts.digits > 0
            || password.len() >= 5 && counts.digits > 0 && counts.others > 0
            || password.len() >= 8 && entropy(password) > 3.0;
        let port = password.bytes().all(|b| b.is_ascii_digit()) && password.len() <= 5;
        let held = user.contains(['{', '$', '<']) && password.contains(['{', '$', '<']);
        if !is_common(password)
            && !port
            && telling
            && !held
            && !is_placeholder(password)
            && (user.is_empty() || !is_placeholder(user))
        {
            self.likely("password in an address", at - password.len(), password);
        }
    }

    /// `api key 9f8e…`, `machine host login me password pw`: a telling word, white space, and a value.
    fn behind_word(&mut self, at: usize) {
        // The last letters of the words that tell.
        let ends = |last: u8| matches!(last | 0x20, b'y' | b'n' | b't' | b'd' | b'e' | b's' | b'x' | b'l' | b'r');
        let (last, quoted) = (self.byte(at.wrapping_sub(1)), matches!(self.byte(at + 1), b'"' | b'\''));
        let tells = ends(last) || last == b'g' && quoted;
        if !tells {
            return;
        }
        let left = self.before(at, 48);
        let word = last_word(left);
        if quoted && word.eq_ignore_ascii_case("authorization") {
            return self.header(at);
        }
        // “the password is …”: what is said of it.
        let said_of = matches!(word, "is" | "ist" | "est")
            .then(|| last_word(left.get(..left.len() - word.len()).unwrap_or("").trim_end()))
            .filter(|before| may_tell(before) && matches!(says(&plain(before)), Some(Says::Password)));
        let told = said_of.is_some() || word == "ConvertTo-SecureString";
        if !told && !may_tell(word) {
            return;
        }
        let name = plain(if told { "password" } else { word });
        let identified = &*name == "by" && left.len() >= 14 && left.to_ascii_lowercase().ends_with("identified by");
        let password = identified || matches!(&*name, "password" | "passwd");
        if !password && says(&name).is_none() {
            return;
        }
        let Some(value) = self.value(at + 1).filter(|_| self.judged < JUDGED) else { return };
        if value.quoted {
            let says = if password { Some(Says::Password) } else { says(&name) };
            if let Some(says) = says.filter(|says| judge(&name, *says, value)) {
                self.likely(kind(says), value.start, value.text);
            }
            return;
        }
        let text = value.text.trim_end_matches(['.', ':', '!', '?']);
        // A setting's name is no prose: `admin-password value`; and what is said of a password is no word.
        let compound = word.contains(['-', '_']) && matches!(says(&name), Some(Says::Password | Says::Token));
        if compound && is_drawn(text, 8) && text.len() >= 10
            || said_of.is_some() && is_drawn(text, 8) && (Counts::of(text).mixed() || is_jumbled(text))
        {
            self.likely("password", value.start, text);
            return;
        }
        if password && self.in_netrc(at) {
            if text.len() >= 4 && !is_placeholder(text) {
                self.likely("password", value.start, text);
            }
            return;
        }
        // Few words are long enough for a secret.
        if text.len() < 12 || text.contains(['(', '/', '\\', '*']) {
            return;
        }
        let said = says(&name).is_some_and(|says| says != Says::Key)
            || ["api", "secret", "access", "private", "auth"]
                .iter()
                .any(|word| left.to_ascii_lowercase().contains(word))
            || word.len() > 6;
        let least = if matches!(&*name, "secret" | "token" | "key") && said { 12 } else { 16 };
        let short = text.len() >= 16 || Counts::of(text).capitals > 0 && Counts::of(text).small > 0;
        if said && short && (is_random(text, least) || is_uuid(text) && word.contains(['_', '-'])) {
            self.likely("secret behind a telling word", value.start, text);
        }
    }

    /// `machine host login name password …`, on one line or on three.
    fn in_netrc(&self, at: usize) -> bool {
        let left = self.before(at, BEFORE);
        left.rfind("login ")
            .is_some_and(|n| left.get(..n).is_some_and(|head| head.contains("machine ") || head.contains("default")))
    }
}

/// Returns the largest length of at most so many bytes at which a text may be cut.
fn floor(text: &str, most: usize) -> usize {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Returns what a finding under such a name is called.
fn kind(says: Says) -> &'static str {
    match says {
        Says::Password => "password",
        Says::Key | Says::Token | Says::Pair => "secret under a telling name",
    }
}

/// Passwords that every manual has.
fn is_common(password: &str) -> bool {
    const COMMON: &[&str] = &[
        "pass",
        "password",
        "passwd",
        "passwort",
        "secret",
        "pw",
        "mypassword",
        "x",
        "postgres",
        "root",
        "admin",
        "example",
        "changeme",
        "guest",
        "user",
        "username",
        "test",
        "token",
        "apikey",
        "api_key",
        "hunter2",
    ];
    COMMON.iter().any(|common| password.eq_ignore_ascii_case(common))
}

/// Returns the name that stands before a sign.
fn name_before(left: &str) -> Option<&str> {
    let trimmed = trim(left, |b| matches!(b, b' ' | b'\t' | b':' | b'?' | b'"' | b'\'' | b']' | b'\\' | b'='));
    let word = last_word(trimmed);
    // `var name string = …`: the type stands between.
    let word = if matches!(word, "string" | "String" | "str" | "char" | "text" | "Text") {
        let before = trimmed.strip_suffix(word)?;
        last_word(trim(before, |b| matches!(b, b' ' | b':' | b'*' | b'\t')))
    } else {
        word
    };
    (!word.is_empty()).then_some(word)
}

/// Takes a few signs off the end.
fn trim(text: &str, is_sign: impl Fn(u8) -> bool) -> &str {
    let signs = text.bytes().rev().take(24).take_while(|b| is_sign(*b)).count();
    text.get(..text.len() - signs).unwrap_or("")
}

fn last_word(text: &str) -> &str {
    let length = text
        .bytes()
        .rev()
        .take(80)
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        .count();
    text.get(text.len() - length..).unwrap_or("")
}

/// Returns whether a line is of a file that holds credentials and nothing else, where even an odd value is one:
/// `//host/:_authToken=…`, `X-JFrog-Art-Api: AKC…`.
fn in_credentials(name: &str, left: &str, value: Value<'_>) -> bool {
    let text = value.text;
    if text.len() < 12 {
        return false;
    }
    let registry = name.ends_with("authtoken") || name.ends_with("password") && left.ends_with(":_password");
    let filled = text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'*' | b'<' | b'{' | b'$' | b'%'));
    if registry && left.contains(":_") {
        return filled;
    }
    // JFrog's beginnings are too short to be known without a name before them.
    let begins =
        text.starts_with("AKC") || text.starts_with("AP") && text.as_bytes().get(2).is_some_and(u8::is_ascii_hexdigit);
    begins && filled && ["artif", "jfrog"].iter().any(|word| left.to_ascii_lowercase().contains(word))
}

/// Returns whether a value under a telling name looks like a secret.
fn judge(name: &str, says: Says, value: Value<'_>) -> bool {
    let Value { text, quoted, .. } = value;
    let text = text.trim_end_matches('.').trim_matches(['"', '\'']);
    let text = text.strip_prefix("base64:").unwrap_or(text);
    if text.len() < 8
        || !text.is_ascii()
        || is_placeholder(text)
        || is_kept_elsewhere(text)
        || is_common(text)
        || one_letter(text)
    {
        return false;
    }
    // A password may begin with any sign; a tag of YAML and an anchor are words.
    let signed = says == Says::Password
        && text.starts_with(['!', '@', '#', '*', '&', '.'])
        && Counts::of(text).mixed()
        && Counts::of(text).others >= 1
        && !text.contains(['(', '{', '/', '.', ':']);
    if text.contains("://")
        || text.starts_with(['/', '.', '~', '!', '(', '[', '&', '*', '@', '#', ',']) && !signed
        || text.contains(|c: char| c.is_ascii_whitespace())
    {
        return false;
    }
    let counts = Counts::of(text);
    // A short number in capitals names a key of PGP.
    let named_by = name.ends_with("signingkey")
        && matches!(text.len(), 16 | 40)
        && text.bytes().all(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(&b));
    if named_by {
        return false;
    }
    // Under a weak name only a long and varied value counts.
    let least = match says {
        Says::Key if name.ends_with("login") || name.ends_with("pat") => 32,
        Says::Key => 16,
        Says::Password | Says::Pair => 8,
        Says::Token => 10,
    };
    // What calls, indexes or reads a field is code, unless it is far too varied for that.
    let sums = text.contains(['+', '/', '=']);
    // `focus{color:…`: a rule of a style sheet.
    let plain = |text: &str| text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    let rule = !quoted
        && text
            .split_once('{')
            .is_some_and(|(head, tail)| plain(head) && tail.split_once(':').is_some_and(|(name, _)| plain(name)));
    let code = rule
        || !quoted
            && !sums
            && (text.contains("::") || text.contains(['(', ')', '[']) || text.contains('.') && !dotted_secret(text));
    if text.len() < least || code || says != Says::Pair && is_slug(text) || is_file(text) {
        return false;
    }
    let signs = text.bytes().any(|b| b.is_ascii_punctuation() && !matches!(b, b'-' | b'_' | b'.' | b'(' | b')'));
    let named = says != Says::Password && (is_numbered_slug(text) || !quoted && is_identifier(text));
    match says {
        Says::Pair => text.contains(':'),
        _ if named => false,
        // What is longer than any password is a certificate or something sealed.
        Says::Password => {
            let bare = text.trim_end_matches(|c: char| c.is_ascii_punctuation());
            text.len() <= 256
                && !is_common(bare)
                && (counts.mixed()
                    || signs && text.len() - bare.len() > 1
                    || signs && bare.contains(|c: char| c.is_ascii_punctuation())
                    || signs && counts.capitals > 0 && counts.small > 0
                    || signs && is_jumbled(bare)
                    || is_jumbled(text)
                    || unspoken(text))
        }
        Says::Key | Says::Token => {
            counts.mixed() && entropy(text) >= 2.4
                || text.len() >= 16 && unspoken(text)
                || text.len() >= 20
                    && entropy(text) >= 4.0
                    && (counts.digits + counts.others > 0 || entropy(text) >= 4.3)
        }
    }
}

/// Returns whether a value with dots in it has a part that was drawn by lot.
fn dotted_secret(text: &str) -> bool {
    text.split('.').take(8).any(|part| is_random(part, 16))
}
