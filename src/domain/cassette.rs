//! A cassette: exchanges with providers as lines of JSON, to be played again without a network.
//!
//! The first line says what it is; each further line is one exchange, whole. What is read is bounded and checked, and
//! what is wrong is named with its line.

pub mod pieces;

use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// The version of the format.
pub const VERSION: u64 = 1;
/// A cassette has no more bytes.
pub const MOST_BYTES: usize = 64 << 20;
/// It has no more exchanges.
pub const MOST_EXCHANGES: usize = 10_000;
/// A request is written down with no more bytes, and so is an answer.
pub const MOST_BODY: usize = 8 << 20;
/// The word by which its first line is known.
const MARK: &str = "cassette";

/// Whose words are on a cassette.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Those of models, as they came.
    Models,
    /// Those of a script that stood in for a model.
    Script,
}

/// What a cassette says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// When it was begun.
    pub made: Timestamp,
    /// Whose words they are.
    pub by: By,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// As the server ended it.
    Whole,
    /// It broke off.
    Cut,
    /// There was none: the server was not reached, or hung up.
    Never,
}

/// One request and what came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When it was made.
    pub at: Timestamp,
    /// The provider's name.
    pub provider: String,
    /// The word for the protocol that it speaks.
    pub kind: String,
    /// The model.
    pub model: String,
    /// Where the request went.
    pub url: String,
    /// The request's body; secrets in it are masked.
    pub request: String,
    /// The status of the answer; 0 when there was none.
    pub status: u16,
    /// Those headers of the answer that are read: what it is, and when to ask again.
    pub headers: Vec<(String, String)>,
    /// The bytes of the answer, in the pieces in which they came.
    pub chunks: Vec<Vec<u8>>,
    /// How it ended.
    pub end: End,
    /// To which asking it belongs: all who were asked for one answer, one behind the other or at once, share a number. 0 is
    /// not known.
    pub asking: u64,
    /// How many secrets were masked. Where one stood in the answer, its pieces were put together for that.
    pub redacted: u64,
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cassette {
    /// What it says of itself.
    pub head: Head,
    /// The exchanges, in their order.
    pub exchanges: Vec<Exchange>,
}

/// What is wrong with a cassette.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it, and the way out.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl Head {
    /// Returns its line, with its end.
    pub fn line(&self) -> String {
        let by = match self.by {
            By::Models => "models",
            By::Script => "script",
        };
        format!("{}\n", json!({ MARK: VERSION, "made": self.made.to_string(), "by": by }))
    }
}

impl Exchange {
    /// Returns its line, with its end.
    pub fn line(&self) -> String {
        let chunk = |bytes: &Vec<u8>| match std::str::from_utf8(bytes) {
            Ok(text) => json!(text),
            Err(_) => json!({ "hex": bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() }),
        };
        let end = match self.end {
            End::Whole => "whole",
            End::Cut => "cut",
            End::Never => "never",
        };
        let mut value = json!({
            "at": self.at.to_string(), "provider": self.provider, "kind": self.kind, "model": self.model,
            "url": self.url, "request": self.request, "status": self.status, "headers": self.headers,
            "chunks": self.chunks.iter().map(chunk).collect::<Vec<_>>(), "end": end, "redacted": self.redacted,
        });
        if self.asking != 0 {
            value["asking"] = json!(self.asking);
        }
        format!("{value}\n")
    }

    /// Reads its line, with its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(line: &[u8]) -> Result<Exchange, String> {
        parsed(line, 1).map_err(|fault| fault.why).and_then(exchange)
    }

    /// Returns all bytes of the answer.
    pub fn answer(&self) -> Vec<u8> {
        self.chunks.concat()
    }
}

/// What was asked of one provider for one answer: each request, by the place of its exchange.
pub type Requests = Vec<usize>;

impl Cassette {
    /// Returns what belongs together: of each asking, in the order in which the first of them stand there, whoever was asked,
    /// one behind the other. An exchange that does not say to which asking it belongs is one of its own.
    pub fn askings(&self) -> Vec<Vec<Requests>> {
        let mut askings: Vec<Vec<Requests>> = Vec::new();
        let mut places: BTreeMap<u64, usize> = BTreeMap::new();
        for (n, exchange) in self.exchanges.iter().enumerate() {
            let known = places.get(&exchange.asking).copied().filter(|_| exchange.asking != 0);
            let Some(asking) = known.and_then(|at| askings.get_mut(at)) else {
                places.insert(exchange.asking, askings.len());
                askings.push(vec![vec![n]]);
                continue;
            };
            let whose = |at: &usize| self.exchanges.get(*at).map(|of| (&of.provider, &of.kind, &of.model));
            match asking.last_mut() {
                Some(last) if last.first().and_then(whose) == whose(&n) => last.push(n),
                Some(_) | None => asking.push(vec![n]),
            }
        }
        askings
    }

    /// Reads a cassette.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn read(bytes: &[u8]) -> Result<Cassette, Fault> {
        let fault = |line: usize, why: &str| Fault { line, why: why.to_string() };
        if bytes.len() > MOST_BYTES {
            return Err(fault(1, &format!("a cassette has at most {} MB", MOST_BYTES >> 20)));
        }
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n').enumerate();
        let (_, first) = lines.next().ok_or(fault(1, "it is empty; record it anew"))?;
        let head = head(parsed(first, 1)?).map_err(|why| Fault { line: 1, why })?;
        let mut exchanges = Vec::new();
        for (n, line) in lines {
            if exchanges.len() == MOST_EXCHANGES {
                return Err(fault(n + 1, &format!("a cassette has at most {MOST_EXCHANGES} exchanges")));
            }
            exchanges.push(exchange(parsed(line, n + 1)?).map_err(|why| Fault { line: n + 1, why })?);
        }
        Ok(Cassette { head, exchanges })
    }
}

fn parsed(line: &[u8], number: usize) -> Result<Value, Fault> {
    let fault = |why: String| Fault { line: number, why };
    let Some(line) = line.strip_suffix(b"\n") else {
        let whole = match number {
            1 => "nothing of it is whole; record it anew".to_string(),
            _ => format!("the {} lines before it are whole: take this one away", number - 1),
        };
        return Err(fault(format!("it is torn, the file ends within it; {whole}")));
    };
    serde_json::from_slice(line).map_err(|why| fault(format!("it is no JSON ({why}); mend it, or take it away")))
}

fn text(value: &Value, key: &str) -> Result<String, String> {
    value.get(key).and_then(Value::as_str).map(str::to_string).ok_or(format!("“{key}” is no text"))
}

fn moment(value: &Value, key: &str) -> Result<Timestamp, String> {
    text(value, key)?.parse().map_err(|_| format!("“{key}” is no moment"))
}

fn head(value: Value) -> Result<Head, String> {
    match value.get(MARK).and_then(Value::as_u64) {
        Some(VERSION) => {}
        Some(other) => {
            return Err(format!("it has version {other}, and this program reads {VERSION}; use a newer one"));
        }
        None => return Err(format!("it is no cassette: the first line of one begins with {{\"{MARK}\": {VERSION}")),
    }
    let by = match text(&value, "by")?.as_str() {
        "models" => By::Models,
        "script" => By::Script,
        other => return Err(format!("“by” is “{other}”, which is neither models nor script")),
    };
    Ok(Head { made: moment(&value, "made")?, by })
}

fn exchange(value: Value) -> Result<Exchange, String> {
    let number = |key: &str| value.get(key).and_then(Value::as_u64).ok_or(format!("“{key}” is no number"));
    let list = |key: &str| value.get(key).and_then(Value::as_array).ok_or(format!("“{key}” is no list"));
    let header = |pair: &Value| match pair.as_array().map(Vec::as_slice) {
        Some([Value::String(name), Value::String(said)]) if is_header(name) && is_header(said) => {
            Ok((name.clone(), said.clone()))
        }
        _ => Err("a header is no pair of plain texts".to_string()),
    };
    let end = match text(&value, "end")?.as_str() {
        "whole" => End::Whole,
        "cut" => End::Cut,
        "never" => End::Never,
        other => return Err(format!("“end” is “{other}”, which is none of whole, cut and never")),
    };
    let status = u16::try_from(number("status")?).ok().filter(|status| match end {
        End::Never => *status == 0,
        // Some servers make up their own.
        End::Whole | End::Cut => (200..=999).contains(status),
    });
    let chunks = list("chunks")?.iter().map(chunk).collect::<Result<Vec<_>, _>>()?;
    let request = text(&value, "request")?;
    if request.len() > MOST_BODY || chunks.iter().map(Vec::len).sum::<usize>() > MOST_BODY {
        return Err(format!("a request and an answer have at most {} MB each", MOST_BODY >> 20));
    }
    Ok(Exchange {
        at: moment(&value, "at")?,
        provider: text(&value, "provider")?,
        kind: text(&value, "kind")?,
        model: text(&value, "model")?,
        url: text(&value, "url")?,
        request,
        status: status.ok_or("“status” is none of an answer")?,
        headers: list("headers")?.iter().map(header).collect::<Result<_, _>>()?,
        chunks,
        end,
        asking: match value.get("asking") {
            None => 0,
            Some(_) => number("asking")?,
        },
        redacted: number("redacted")?,
    })
}

/// Tells whether a text can stand in a header of a cassette as it is.
pub fn is_header(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

fn chunk(value: &Value) -> Result<Vec<u8>, String> {
    let hex = match value {
        Value::String(text) => return Ok(text.clone().into_bytes()),
        other => other.get("hex").and_then(Value::as_str).ok_or("a chunk is neither text nor hex")?,
    };
    let wrong = || "a chunk in hex has pairs of digits".to_string();
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).ok_or_else(wrong);
    let pairs = hex.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Ok(digit(high)? << 4 | digit(low)?),
        _ => Err(wrong()),
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn head() -> Head {
        Head { made: Timestamp::UNIX_EPOCH, by: By::Models }
    }

    fn some(chunks: Vec<Vec<u8>>, end: End) -> Exchange {
        Exchange {
            at: Timestamp::UNIX_EPOCH,
            provider: "desk".into(),
            kind: "openai".into(),
            model: "m".into(),
            url: "http://127.0.0.1/v1/".into(),
            request: "{\"a\": \"\\u0000 “x”\"}".into(),
            status: if end == End::Never { 0 } else { 200 },
            headers: vec![("content-type".into(), "text/event-stream".into())],
            chunks,
            end,
            asking: 3,
            redacted: 1,
        }
    }

    fn written(exchanges: &[Exchange]) -> String {
        head().line() + &exchanges.iter().map(Exchange::line).collect::<String>()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again_byte_for_byte(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..6),
            end in prop_oneof![Just(End::Whole), Just(End::Cut), Just(End::Never)],
            count in 0..3_usize,
        ) {
            let exchanges = vec![some(chunks, end); count];
            let read = Cassette::read(written(&exchanges).as_bytes());
            prop_assert_eq!(read, Ok(Cassette { head: head(), exchanges }));
        }

        #[test]
        fn no_bytes_break_it_and_a_torn_one_names_its_line(cut in 1..600_usize, noise in proptest::collection::vec(any::<u8>(), 0..80)) {
            let whole = written(&[some(vec![b"a".to_vec(), vec![0xff]], End::Whole), some(vec![], End::Cut)]);
            let cut = cut.min(whole.len() - 1);
            let torn = &whole.as_bytes()[..whole.len() - cut];
            match Cassette::read(torn) {
                Ok(_) => prop_assert!(torn.ends_with(b"\n")),
                Err(fault) => {
                    let line = torn.iter().filter(|byte| **byte == b'\n').count() + 1;
                    prop_assert!(torn.is_empty() || (fault.line == line && fault.why.contains("torn")), "{}", fault);
                }
            }
            let _ = Cassette::read(&noise);
            let _ = Cassette::read(&[written(&[]).as_bytes(), &noise].concat());
        }
    }

    #[test]
    fn exchanges_of_one_asking_belong_together_by_who_was_asked() {
        let check = |exchanges: &[(u64, &str)], expected: &[&[&[usize]]]| {
            let one = |(asking, provider): &(u64, &str)| Exchange {
                asking: *asking,
                provider: provider.to_string(),
                ..some(vec![], End::Whole)
            };
            let cassette = Cassette { head: head(), exchanges: exchanges.iter().map(one).collect() };
            assert_eq!(cassette.askings(), expected, "{exchanges:?}");
            // What does not say it is read as before there was a word for it.
            let line = cassette.exchanges.iter().map(Exchange::line).collect::<String>();
            assert_eq!(line.contains("asking"), exchanges.iter().any(|(asking, _)| *asking != 0));
            assert_eq!(Cassette::read((head().line() + &line).as_bytes()), Ok(cassette));
        };
        check(&[], &[]);
        check(&[(0, "a"), (0, "a")], &[&[&[0]], &[&[1]]]);
        // Asked again, then another one; beside it another conversation.
        check(&[(5, "a"), (9, "b"), (5, "a"), (5, "b"), (9, "b")], &[&[&[0, 2], &[3]], &[&[1, 4]]]);
        check(&[(2, "a"), (2, "b"), (2, "a")], &[&[&[0], &[1], &[2]]]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let good = some(vec![], End::Whole).line();
        let check = |text: String, line: usize, words: &str| {
            let fault = Cassette::read(text.as_bytes()).expect_err(words);
            assert!(fault.line == line && fault.why.contains(words), "{fault}, not {line} {words}");
        };
        let head = head().line();
        check(String::new(), 1, "empty");
        check("{}\n".into(), 1, "no cassette");
        check("[1,\n".into(), 1, "no JSON");
        check(head.replace(":1", ":7"), 1, "version 7");
        check(head.replace("models", "ghosts"), 1, "neither models nor script");
        check(format!("{head}{good}{{}}\n"), 3, "“end” is no text");
        check(head.clone() + &good.replace("whole", "half"), 2, "none of whole, cut and never");
        check(head.clone() + &good.replace("\"asking\":3", "\"asking\":-3"), 2, "“asking”");
        check(head.clone() + &good.replace("\"status\":200", "\"status\":99"), 2, "“status”");
        check(head.clone() + &good.replace("text/event-stream", "a\\r\\nb: c"), 2, "no pair of plain texts");
        check(head.clone() + &good.replace("\"chunks\":[]", "\"chunks\":[{\"hex\":\"0g\"}]"), 2, "pairs of digits");
        check(head + &good.replace("\"chunks\":[]", "\"chunks\":[7]"), 2, "neither text nor hex");
    }
}
