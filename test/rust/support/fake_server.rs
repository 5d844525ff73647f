//! A scripted model server on loopback: it speaks every protocol, misbehaves on demand, and records what it was sent.
//!
//! It runs on a thread of its own, so tests with any runtime, or none, can use it.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The protocols that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

pub const DIALECTS: [Dialect; 4] = [Dialect::OpenAi, Dialect::Anthropic, Dialect::Gemini, Dialect::Ollama];

/// One call of a tool in an answer: id, tool, arguments as JSON.
pub type FakeCall<'a> = (&'a str, &'a str, Value);

/// One request as it came in.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Recorded {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// As HTTP has it.
    Clean,
    /// The connection is closed in the middle.
    Cut,
    /// Nothing more comes, and the connection stays open until the client goes.
    Silence,
}

/// Makes an answer of a request.
type Computed = Arc<dyn Fn(&Recorded) -> Value + Send + Sync>;

/// What the server answers to one request.
#[derive(Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Bytes in one write; all at once without.
    piece: Option<usize>,
    /// Between two writes.
    pause: Duration,
    ending: Ending,
    /// Not even a status line.
    mute: bool,
    /// The connection stays for the next request.
    stays: bool,
    /// What the body is, by the request.
    computed: Option<Computed>,
    /// What happens after the request came and before it is answered.
    meanwhile: Option<Arc<dyn Fn() + Send + Sync>>,
    /// What happens between the beginning of the answer, of so many bytes, and its rest.
    within: Option<(usize, Arc<dyn Fn() + Send + Sync>)>,
    /// How many tokens it says that the request had.
    counts: Option<fn(&Recorded) -> u64>,
}

impl Reply {
    /// An answer with any body.
    pub fn raw(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Reply {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            body: body.into(),
            piece: None,
            pause: Duration::ZERO,
            ending: Ending::Clean,
            mute: false,
            stays: false,
            computed: None,
            meanwhile: None,
            within: None,
            counts: None,
        }
    }

    /// Lets something happen after the request came, and before it is answered.
    #[allow(dead_code, reason = "for tests in which the world changes while a model thinks")]
    pub fn meanwhile(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.meanwhile = Some(Arc::new(act));
        self
    }

    /// An answer that is one JSON document.
    pub fn json(status: u16, body: &Value) -> Self {
        Reply::raw(status, "application/json", body.to_string())
    }

    /// An answer that is one JSON document, made of the request.
    #[allow(dead_code, reason = "for tests that do not know what will be asked")]
    pub fn computed(answer: impl Fn(&Recorded) -> Value + Send + Sync + 'static) -> Self {
        Reply { computed: Some(Arc::new(answer)), ..Reply::json(200, &Value::Null) }
    }

    /// A streamed answer of a model: pieces of text, then calls, then what it used.
    pub fn answer(dialect: Dialect, texts: &[&str], calls: &[FakeCall<'_>]) -> Self {
        Reply::thinking(dialect, &[], texts, calls)
    }

    /// A streamed answer of a model that thinks first, in the way of its protocol; thoughts and calls are signed where
    /// the protocol has it, and so much of what it used came from a cache, or was thoughts.
    pub fn thinking(dialect: Dialect, thoughts: &[&str], texts: &[&str], calls: &[FakeCall<'_>]) -> Self {
        let (content_type, body) = match dialect {
            Dialect::OpenAi => ("text/event-stream", openai(thoughts, texts, calls)),
            Dialect::Anthropic => ("text/event-stream", anthropic(thoughts, texts, calls)),
            Dialect::Gemini => ("text/event-stream", gemini(thoughts, texts, calls)),
            Dialect::Ollama => ("application/x-ndjson", ollama(thoughts, texts, calls)),
        };
        Reply::raw(200, content_type, body)
    }

    /// Nothing at all: the request is read, and then silence.
    pub fn nothing() -> Self {
        Reply { mute: true, ending: Ending::Silence, ..Reply::raw(200, "", "") }
    }

    /// Keeps the connection for the next request.
    #[allow(dead_code, reason = "for tests that count connections")]
    pub fn staying(mut self) -> Self {
        self.stays = true;
        self
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Writes so many bytes at a time: characters and events are split anywhere.
    pub fn in_pieces(mut self, bytes: usize) -> Self {
        self.piece = Some(bytes);
        self
    }

    /// Waits between two pieces.
    pub fn dripping(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Says another reason for its end than that all was said.
    #[allow(dead_code, reason = "for tests of answers that are not whole")]
    pub fn stopped_by(mut self, reason: &str) -> Self {
        let body = String::from_utf8(self.body).expect("an answer is text");
        let told = |key: &&str| body.contains(&format!("\"{key}\":\""));
        let key = ["finish_reason", "stop_reason", "finishReason", "done_reason"].into_iter().find(told);
        let key = format!("\"{}\":\"", key.expect("it says why it ends"));
        let (before, rest) = body.split_once(&key).expect("it says why it ends");
        let (_, behind) = rest.split_once('"').expect("it is a text");
        self.body = format!("{before}{key}{reason}\"{behind}").into_bytes();
        self
    }

    /// Reports so many tokens of a request of OpenAI's protocol.
    #[allow(dead_code, reason = "for tests of providers that count in their own way")]
    pub fn counting(mut self, counts: fn(&Recorded) -> u64) -> Self {
        self.counts = Some(counts);
        self
    }

    /// Keeps only the body up to the end of the first occurrence of `mark`, then hangs up.
    pub fn cut_after(mut self, mark: &str) -> Self {
        self.keep(mark);
        self.ending = Ending::Cut;
        self
    }

    /// Keeps only the body up to the end of the first occurrence of `mark`, and ends as if that were all.
    pub fn ended_after(mut self, mark: &str) -> Self {
        self.keep(mark);
        self
    }

    /// Keeps only the body up to the end of the first occurrence of `mark`; then nothing more comes.
    pub fn silent_after(mut self, mark: &str) -> Self {
        self.keep(mark);
        self.ending = Ending::Silence;
        self
    }

    /// Says the body up to the end of the first occurrence of `mark`; the rest comes when `act` has returned.
    #[allow(dead_code, reason = "for tests in which the world changes while a model speaks")]
    pub fn halting_after(mut self, mark: &str, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.within = Some((self.end_of(mark), Arc::new(act)));
        self
    }

    fn keep(&mut self, mark: &str) {
        let end = self.end_of(mark);
        self.body.truncate(end);
    }

    /// Returns where the event ends in which `mark` stands.
    fn end_of(&self, mark: &str) -> usize {
        let at = self.body.windows(mark.len()).position(|window| window == mark.as_bytes());
        let at = at.unwrap_or_else(|| panic!("{mark:?} is not in the body"));
        let line = self.body[at..].iter().position(|b| *b == b'\n').map_or(self.body.len(), |n| at + n + 1);
        // An event ends with an empty line.
        if self.body.get(line) == Some(&b'\n') { line + 1 } else { line }
    }
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Recorded>>,
    /// Connections that the client closed before the answer was over.
    gone: Mutex<usize>,
    changed: Condvar,
    /// A request came.
    came: Condvar,
    connections: AtomicUsize,
    /// Whether requests are let go once they are answered.
    forgets: AtomicBool,
    /// Whether what is asked about one model is answered by the script as well.
    scripts_models: AtomicBool,
}

/// The running server; it ends when it is dropped.
pub struct FakeServer {
    port: u16,
    shared: Arc<Shared>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl FakeServer {
    /// Starts a server that answers each request with the next reply, and with status 500 when there is none left.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Arc::new(Shared { replies: Mutex::new(replies.into_iter().collect()), ..Shared::default() });
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of loopback is free");
        listener.set_nonblocking(true).expect("a listener can be made non-blocking");
        let port = listener.local_addr().expect("a listener has an address").port();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let served = shared.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("tokio takes the listener");
                let accept = async {
                    while let Ok((stream, _)) = listener.accept().await {
                        served.connections.fetch_add(1, Ordering::Relaxed);
                        tokio::spawn(serve(stream, served.clone()));
                    }
                };
                tokio::select! { () = accept => {}, _ = stopped => {} }
            });
        });
        FakeServer { port, shared, stop: Some(stop), thread: Some(thread) }
    }

    /// Adds a reply to the script.
    #[allow(dead_code, reason = "for tests that script a server step by step")]
    pub fn push(&self, reply: Reply) {
        self.shared.replies.lock().expect("not poisoned").push_back(reply);
    }

    /// Returns its address without a path.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns all requests up to now.
    pub fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().expect("not poisoned").clone()
    }

    /// Waits until a request came whose body has these words; false when none comes.
    #[allow(dead_code, reason = "for tests in which something happens while a model is asked")]
    pub fn wait_asked(&self, words: &str) -> bool {
        let requests = self.shared.requests.lock().expect("not poisoned");
        let none = |requests: &mut Vec<Recorded>| !requests.iter().any(|request| request.body.contains(words));
        let waited = self.shared.came.wait_timeout_while(requests, Duration::from_secs(60), none);
        !waited.expect("not poisoned").1.timed_out()
    }

    /// Lets the script answer what is asked about one model (Ollama's `/api/show`), too. Without that such a question is
    /// answered as a server does that runs the model itself, and counts for nothing.
    #[allow(dead_code, reason = "for tests of lists of models")]
    pub fn script_models(self) -> Self {
        self.shared.scripts_models.store(true, Ordering::Relaxed);
        self
    }

    /// Keeps no request from now on, so that what this process needs is the client's alone.
    #[allow(dead_code, reason = "for tests that look at memory")]
    pub fn forget(&self) {
        self.shared.forgets.store(true, Ordering::Relaxed);
    }

    /// Waits until the client has closed so many connections before their answer was over.
    pub fn wait_gone(&self, count: usize) -> bool {
        let gone = self.shared.gone.lock().expect("not poisoned");
        let (gone, _) = self
            .shared
            .changed
            .wait_timeout_while(gone, Duration::from_secs(5), |gone| *gone < count)
            .expect("not poisoned");
        *gone >= count
    }

    /// Returns how many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    while serve_one(&mut stream, &shared).await {}
}

/// Answers one request; tells whether the connection stays for another one.
async fn serve_one(stream: &mut TcpStream, shared: &Shared) -> bool {
    let Some(request) = read_request(stream).await else { return false };
    if request.path == "/api/show" && !shared.scripts_models.load(Ordering::Relaxed) {
        shared.connections.fetch_sub(1, Ordering::Relaxed);
        let _ = write_reply(stream, &Reply::raw(200, "application/json", "{}")).await;
        return false;
    }
    if !shared.forgets.load(Ordering::Relaxed) {
        shared.requests.lock().expect("not poisoned").push(request.clone());
        shared.came.notify_all();
    }
    let reply = shared.replies.lock().expect("not poisoned").pop_front();
    let mut reply = reply.unwrap_or_else(|| Reply::raw(500, "text/plain", "the script is at its end"));
    if let Some(counts) = reply.counts {
        let told = format!("\"prompt_tokens\":{}", counts(&request));
        let body = String::from_utf8(reply.body).expect("an answer is text");
        reply.body = body.replace("\"prompt_tokens\":11", &told).into_bytes();
    }
    let body = reply.computed.as_ref().map(|computed| computed(&request).to_string().into_bytes());
    let reply = Reply { body: body.unwrap_or(reply.body), ..reply };
    if let Some(act) = &reply.meanwhile {
        act();
    }
    let over = write_reply(stream, &reply).await;
    let stays = reply.stays && over.is_ok() && reply.ending == Ending::Clean;
    let went = match (over, reply.ending) {
        (Err(_), _) => true,
        (Ok(()), Ending::Silence) => matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_)),
        (Ok(()), Ending::Clean | Ending::Cut) => false,
    };
    if went {
        *shared.gone.lock().expect("not poisoned") += 1;
        shared.changed.notify_all();
    }
    stays
}

async fn read_request(stream: &mut TcpStream) -> Option<Recorded> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_string(), first.next()?.to_string());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_string()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, n)| n.parse().unwrap_or(0));
    while bytes.len() < head + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8_lossy(&bytes[head..]).into_owned();
    Some(Recorded { method, path, headers, body })
}

async fn write_reply(stream: &mut TcpStream, reply: &Reply) -> std::io::Result<()> {
    if reply.mute {
        return Ok(());
    }
    let stays = if reply.stays { "keep-alive" } else { "close" };
    let mut head =
        format!("HTTP/1.1 {} Scripted\r\ntransfer-encoding: chunked\r\nconnection: {stays}\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).await?;
    let (first, act) = reply.within.clone().unzip();
    let (first, body) = reply.body.split_at(first.unwrap_or(0));
    if let Some(act) = act {
        stream.write_all(format!("{:x}\r\n", first.len()).as_bytes()).await?;
        stream.write_all(first).await?;
        stream.write_all(b"\r\n").await?;
        stream.flush().await?;
        tokio::task::spawn_blocking(move || act()).await.expect("it does not panic");
    }
    for piece in body.chunks(reply.piece.unwrap_or(body.len().max(1))) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
        if reply.piece.is_some() {
            stream.flush().await?;
            if !reply.pause.is_zero() {
                tokio::time::sleep(reply.pause).await;
            }
        }
    }
    match reply.ending {
        Ending::Clean => stream.write_all(b"0\r\n\r\n").await,
        Ending::Cut | Ending::Silence => stream.flush().await,
    }
}

fn events(data: impl IntoIterator<Item = Value>) -> String {
    data.into_iter().map(|value| format!("data: {value}\n\n")).collect()
}

/// Splits a text into two halves at a character.
fn halves(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let (first, second) = text.split_at(middle);
    [first, second]
}

fn openai(thoughts: &[&str], texts: &[&str], calls: &[FakeCall<'_>]) -> String {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "model": "m",
               "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
    };
    let mut data = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    data.extend(thoughts.iter().map(|text| chunk(json!({"reasoning_content": text}), Value::Null)));
    data.extend(texts.iter().map(|text| chunk(json!({"content": text}), Value::Null)));
    for (n, (id, tool, _)) in calls.iter().enumerate() {
        let function = json!({"name": tool, "arguments": ""});
        let call = json!({"index": n, "id": id, "type": "function", "function": function});
        data.push(chunk(json!({"tool_calls": [call]}), Value::Null));
    }
    // The arguments come in halves, those of several calls mixed.
    for half in 0..2 {
        for (n, (_, _, args)) in calls.iter().enumerate() {
            let args = args.to_string();
            let call = json!({"index": n, "function": {"arguments": halves(&args)[half]}});
            data.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        }
    }
    data.push(chunk(json!({}), json!(if calls.is_empty() { "stop" } else { "tool_calls" })));
    let mut usage = json!({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18});
    if !thoughts.is_empty() {
        usage["prompt_tokens_details"] = json!({"cached_tokens": 4});
        usage["completion_tokens_details"] = json!({"reasoning_tokens": 5});
    }
    data.push(json!({"id": "c", "choices": [], "usage": usage}));
    format!(": a comment\n\n{}data: [DONE]\n\n", events(data))
}

fn anthropic(thoughts: &[&str], texts: &[&str], calls: &[FakeCall<'_>]) -> String {
    let (fresh, cached) = if thoughts.is_empty() { (11, 0) } else { (7, 4) };
    let usage = json!({"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": 1});
    let mut data = vec![json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "usage": usage}})];
    let mut block = 0;
    let mut add = |start: Value, deltas: Vec<Value>| {
        data.push(json!({"type": "content_block_start", "index": block, "content_block": start}));
        data.extend(
            deltas.into_iter().map(|delta| json!({"type": "content_block_delta", "index": block, "delta": delta})),
        );
        data.push(json!({"type": "content_block_stop", "index": block}));
        block += 1;
    };
    for text in thoughts {
        let [first, second] = halves(text);
        let mut deltas: Vec<Value> =
            [first, second].iter().map(|half| json!({"type": "thinking_delta", "thinking": half})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": format!("signed:{}", text.len())}));
        add(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if !thoughts.is_empty() {
        add(json!({"type": "redacted_thinking", "data": "sealed"}), Vec::new());
    }
    if !texts.is_empty() {
        let deltas = texts.iter().map(|text| json!({"type": "text_delta", "text": text})).collect();
        add(json!({"type": "text", "text": ""}), deltas);
    }
    for (id, tool, args) in calls {
        let args = args.to_string();
        let deltas =
            halves(&args).iter().map(|half| json!({"type": "input_json_delta", "partial_json": half})).collect();
        add(json!({"type": "tool_use", "id": id, "name": tool, "input": {}}), deltas);
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    data.push(json!({"type": "ping"}));
    let mut usage = json!({"output_tokens": 7});
    if !thoughts.is_empty() {
        usage["output_tokens_details"] = json!({"thinking_tokens": 5});
    }
    data.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}));
    data.push(json!({"type": "message_stop"}));
    data.into_iter()
        .map(|value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or("")))
        .collect()
}

fn gemini(thoughts: &[&str], texts: &[&str], calls: &[FakeCall<'_>]) -> String {
    let mut data: Vec<Value> = thoughts.iter().map(|text| json!({"text": text, "thought": true})).collect();
    data.extend(texts.iter().map(|text| json!({"text": text})));
    data.extend(calls.iter().enumerate().map(|(n, (_, tool, args))| {
        let mut part = json!({"functionCall": {"name": tool, "args": args}});
        if !thoughts.is_empty() {
            part["thoughtSignature"] = json!(format!("signed:{n}"));
        }
        part
    }));
    let mut usage = json!({"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18});
    if !thoughts.is_empty() {
        usage = json!({"promptTokenCount": 11, "cachedContentTokenCount": 4, "candidatesTokenCount": 2,
                       "thoughtsTokenCount": 5, "totalTokenCount": 18});
    }
    let last = data.len().saturating_sub(1);
    events(data.into_iter().enumerate().map(|(n, part)| {
        let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": [part]}});
        if n == last {
            candidate["finishReason"] = json!("STOP");
        }
        json!({"candidates": [candidate], "usageMetadata": usage})
    }))
}

fn ollama(thoughts: &[&str], texts: &[&str], calls: &[FakeCall<'_>]) -> String {
    let line = |message: Value| format!("{}\n", json!({"model": "m", "message": message, "done": false}));
    let thought = |text: &&str| line(json!({"role": "assistant", "content": "", "thinking": text}));
    let mut body: String = thoughts.iter().map(thought).collect();
    body.extend(texts.iter().map(|text| line(json!({"role": "assistant", "content": text}))));
    if !calls.is_empty() {
        let calls: Vec<Value> =
            calls.iter().map(|(_, tool, args)| json!({"function": {"name": tool, "arguments": args}})).collect();
        body.push_str(&line(json!({"role": "assistant", "content": "", "tool_calls": calls})));
    }
    let mut done = json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true,
                          "done_reason": "stop", "prompt_eval_count": 11, "eval_count": 7});
    if !thoughts.is_empty() {
        done["prompt_eval_cached_count"] = json!(4);
    }
    format!("{body}{done}\n")
}
