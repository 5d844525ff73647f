//! One conversation with an MCP server, in lines of JSON-RPC: one question at a time, and nothing that the server wants of us.
//!
//! Whatever breaks the order of question and answer is a fault, and whoever sees one ends the server.

use crate::domain::inert::exact;
use crate::edge::mcp::VERSIONS;
use crate::edge::sandbox::Talk;
use serde_json::{Map, Value, json};

/// A line is no longer than this, in bytes.
const LONGEST: usize = 4 << 20;
/// So many bytes, and so many lines, may be said before an answer.
const MOST: (usize, usize) = (16 << 20, 10_000);
/// So many lines that are no JSON are stepped over before an answer: some programs greet on the wrong channel.
const NOISE: usize = 100;
/// So many things may be asked of us before an answer.
const ASKED: usize = 100;
/// So many pages of a list of tools are read.
const PAGES: usize = 16;
/// The most tools of a list that are kept to be shown.
const TOOLS: usize = 1_000;
/// A line has at most so many parts.
const PARTS: usize = 200_000;
/// The name that it gives a question has at most so many bytes.
const NAME: usize = 100;
/// What is told of a fault of the server's making, in characters.
const TOLD: usize = 300;
/// What a server is told that wants something of us.
const REFUSED: &str = "nothing is done here for a server: no sampling, no elicitation, no roots";

/// What ended a conversation, in words.
pub type Fault = String;

/// A conversation that has begun.
pub struct Client {
    talk: Talk,
    /// What was said and is no whole line yet, and how much of it was searched for an end.
    said: Vec<u8>,
    searched: usize,
    last: u64,
    changed: bool,
    refused: u64,
}

/// What came before the answer to one question.
#[derive(Default)]
struct Heard {
    bytes: usize,
    lines: usize,
    noise: usize,
    asked: usize,
}

impl Client {
    /// Greets a server that was just started.
    ///
    /// # Errors
    /// When it does not answer as a server does, or speaks no version of ours.
    pub(in crate::edge) async fn greet(talk: Talk) -> Result<Client, Fault> {
        let mut client = Client { talk, said: Vec::new(), searched: 0, last: 0, changed: false, refused: 0 };
        let hello = json!({
            "protocolVersion": VERSIONS[0],
            // No roots, no sampling, no elicitation: what is not named may not be asked for.
            "capabilities": {},
            "clientInfo": {"name": "passepartout", "version": env!("CARGO_PKG_VERSION")},
        });
        match client.ask("initialize", hello).await {
            Ok(Ok(answer)) => {
                let version = answer.get("protocolVersion").and_then(Value::as_str).unwrap_or("none");
                if !VERSIONS.contains(&version) {
                    let version = told(version);
                    return Err(
                        client.with_errors(format!("it speaks the version {version} of MCP, which is none of ours"))
                    );
                }
            }
            Ok(Err(why)) => return Err(client.with_errors(format!("it refused to begin: {why}"))),
            Err(why) => return Err(client.with_errors(why)),
        }
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.send(&ready).await?;
        Ok(client)
    }

    /// Returns the tools that it lends, as it says them.
    ///
    /// # Errors
    /// When it does not answer as a server does.
    pub async fn tools(&mut self) -> Result<Vec<Value>, Fault> {
        self.changed = false;
        let (mut tools, mut cursor) = (Vec::new(), None::<String>);
        for _ in 0..PAGES {
            let params = cursor.as_ref().map_or(json!({}), |cursor| json!({"cursor": cursor}));
            let page =
                self.ask("tools/list", params).await?.map_err(|why| format!("it does not list its tools: {why}"))?;
            let more = page.get("tools").and_then(Value::as_array).ok_or("its list of tools is none")?;
            tools.extend(more.iter().cloned());
            if tools.len() > TOOLS {
                return Err(format!("it lists more than {TOOLS} tools"));
            }
            cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_string);
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(format!("its list of tools has more than {PAGES} pages"))
    }

    /// Calls a tool; the inner error is what it says when that failed.
    ///
    /// # Errors
    /// When it does not answer as a server does.
    pub async fn call(&mut self, tool: &str, arguments: Map<String, Value>) -> Result<Result<String, String>, Fault> {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await?;
        Ok(answer.and_then(|result| {
            let text = content(&result);
            if result.get("isError") == Some(&Value::Bool(true)) { Err(text) } else { Ok(text) }
        }))
    }

    /// Takes what it said unasked since the last answer, without waiting. `false` when it has ended.
    ///
    /// # Errors
    /// When that is nothing that may be said unasked.
    pub async fn settle(&mut self) -> Result<bool, Fault> {
        let mut heard = Heard::default();
        loop {
            while let Some(line) = self.line() {
                self.hear(&line, None, &mut heard).await?;
            }
            match self.talk.waiting() {
                None => return Ok(false),
                Some(bytes) if bytes.is_empty() => return Ok(true),
                Some(bytes) => self.take(bytes, &mut heard)?,
            }
        }
    }

    /// Returns whether it said that its tools have changed since they were listed.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// Returns how often it wanted something of us.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the process that launched it.
    pub fn process(&self) -> Option<u32> {
        self.talk.id()
    }

    /// Adds to a fault what the server said on standard error.
    pub fn with_errors(&self, fault: Fault) -> Fault {
        match told(self.talk.errors().trim()) {
            errors if errors.is_empty() => fault,
            errors => format!("{fault}; on standard error it said: {errors}"),
        }
    }

    /// Ends it and waits until it is gone.
    pub async fn end(self) {
        self.talk.end().await;
    }

    async fn send(&mut self, message: &Value) -> Result<(), Fault> {
        self.talk
            .say(format!("{message}\n").as_bytes())
            .await
            .map_err(|why| format!("it takes nothing any more ({why})"))
    }

    async fn ask(&mut self, method: &str, params: Value) -> Result<Result<Value, String>, Fault> {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        let mut heard = Heard::default();
        loop {
            while let Some(line) = self.line() {
                if let Some(answer) = self.hear(&line, Some(id), &mut heard).await? {
                    return Ok(answer);
                }
            }
            let Some(bytes) = self.talk.next().await else {
                self.talk.settle().await;
                return Err(format!("it ended before it answered {method}"));
            };
            self.take(bytes, &mut heard)?;
        }
    }

    fn take(&mut self, bytes: Vec<u8>, heard: &mut Heard) -> Result<(), Fault> {
        heard.bytes += bytes.len();
        if heard.bytes > MOST.0 {
            return Err(format!("it said more than {} MB and no answer", MOST.0 >> 20));
        }
        self.said.extend(bytes);
        if self.said.len() > LONGEST && memchr::memchr(b'\n', &self.said).is_none_or(|at| at > LONGEST) {
            return Err(format!("a line of it has more than {} MB", LONGEST >> 20));
        }
        Ok(())
    }

    /// Takes a whole line out of what was said.
    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = self.said.get(self.searched..).unwrap_or_default();
        let Some(at) = memchr::memchr(b'\n', rest) else {
            self.searched = self.said.len();
            return None;
        };
        let line = self.said.drain(..=self.searched + at).collect();
        self.searched = 0;
        Some(line)
    }

    /// Takes in one line. Returns the answer to the question `id`, if it is that.
    async fn hear(
        &mut self,
        line: &[u8],
        id: Option<u64>,
        heard: &mut Heard,
    ) -> Result<Option<Result<Value, String>>, Fault> {
        heard.lines += 1;
        if heard.lines > MOST.1 {
            return Err(format!("it said more than {} lines and no answer", MOST.1));
        }
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        // Each part is many times as large once it is read.
        if line.iter().filter(|byte| b",[{".contains(byte)).count() > PARTS {
            return Err(format!("a line of it has more than {PARTS} parts"));
        }
        let read = serde_json::from_slice::<Value>(line).ok();
        // Some programs log on the wrong channel, and some of them in JSON.
        let is_message = |value: &Value| ["method", "result", "error"].iter().any(|key| value.get(key).is_some());
        let Some(Value::Object(message)) = read.filter(is_message) else {
            heard.noise += 1;
            return match heard.noise > NOISE {
                true => Err(format!("it said {NOISE} lines that are no messages and no answer")),
                false => Ok(None),
            };
        };
        match (message.get("method").and_then(Value::as_str), message.get("id")) {
            (Some(method), Some(asked)) => {
                // It is said back to it.
                if !(asked.is_number() || asked.as_str().is_some_and(|name| name.len() <= NAME)) {
                    return Err("it named a question by something else than a number or a short text".to_string());
                }
                heard.asked += 1;
                if heard.asked > ASKED {
                    return Err(format!("it wanted more than {ASKED} things of us and gave no answer"));
                }
                let answer = match method {
                    "ping" => json!({"jsonrpc": "2.0", "id": asked, "result": {}}),
                    _ => {
                        self.refused += 1;
                        json!({"jsonrpc": "2.0", "id": asked, "error": {"code": -32601, "message": REFUSED}})
                    }
                };
                self.send(&answer).await?;
                Ok(None)
            }
            (Some(method), None) => {
                self.changed |= method == "notifications/tools/list_changed";
                Ok(None)
            }
            (None, Some(answered)) if id.is_some() && answered.as_u64() == id => Ok(Some(answer(&message))),
            (None, _) => Err("it answered what was not asked".to_string()),
        }
    }
}

/// Returns what an answer holds.
fn answer(message: &Map<String, Value>) -> Result<Value, String> {
    match (message.get("result"), message.get("error")) {
        (Some(result), None) => Ok(result.clone()),
        (_, Some(error)) => {
            let words = error.get("message").and_then(Value::as_str).unwrap_or("it did not say why");
            Err(told(words))
        }
        (None, None) => Err("its answer has neither a result nor an error".to_string()),
    }
}

/// Returns what a result says: its texts, and of all else what it is.
fn content(result: &Value) -> String {
    let items = result.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut texts: Vec<String> = items.iter().map(part).collect();
    if texts.is_empty()
        && let Some(data) = result.get("structuredContent")
    {
        texts.push(data.to_string());
    }
    match texts.is_empty() {
        true => "(it said nothing)".to_string(),
        false => exact(&texts.join("\n")),
    }
}

fn part(item: &Value) -> String {
    let text = |pointer: &str| item.pointer(pointer).and_then(Value::as_str);
    match (text("/type").unwrap_or(""), text("/text"), text("/resource/text")) {
        ("text", Some(said), _) => said.to_string(),
        ("resource", _, Some(said)) => said.to_string(),
        ("resource_link", ..) => format!("[a link to {}]", told(text("/uri").unwrap_or("nothing"))),
        (kind, ..) => {
            let sort = text("/mimeType").or(text("/resource/mimeType")).unwrap_or("unknown");
            format!("[{} of type {} is left out]", told(kind), told(sort))
        }
    }
}

/// Returns words of a server as a line may hold them.
fn told(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(TOLD).collect();
    let more = if cut.len() < line.len() { "…" } else { "" };
    format!("{}{more}", exact(&cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_result_the_texts_are_told_and_of_all_else_what_it_is() {
        for (result, expected) in [
            (json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), "a\nb"),
            (
                json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]}),
                "[image of type image/png is left out]",
            ),
            (json!({"content": [{"type": "resource", "resource": {"text": "c"}}]}), "c"),
            (json!({"content": [{"type": "resource_link", "uri": "file:///x"}]}), "[a link to file:///x]"),
            (json!({"structuredContent": {"a": 1}}), "{\"a\":1}"),
            (json!({"content": "text"}), "(it said nothing)"),
            (json!({"content": [3]}), "[ of type unknown is left out]"),
            (json!({"content": [{"type": "text", "text": "a\u{202e}\u{1b}[2J"}]}), "a\\u{202E}\\u{1B}[2J"),
        ] {
            assert_eq!(content(&result), expected, "{result}");
        }
    }
}
