//! Recording exchanges with providers on a cassette: who may begin it, where, and what is said of it.

use crate::domain::inert::exact;
use crate::domain::port::LogLevel;
use crate::domain::signal::Origin;
use crate::edge::config::ProviderSetting;
use crate::edge::engine::Engine;
use crate::edge::provider::deck::Taped;
use crate::edge::provider::known::REPLAY;
use crate::edge::provider::replay::{Playback, load};
use crate::edge::thread::in_place;
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Engine {
    /// Begins to record exchanges with providers in a new file. What may not leave this machine is not recorded.
    ///
    /// # Errors
    /// In words, when the channel may not decide that, or the file cannot be made.
    pub fn record_cassette(&self, origin: &Origin, path: &Path) -> Result<String, String> {
        allowed(origin)?;
        if !path.is_absolute() {
            return Err(format!("{} is no absolute name of a file", exact(&path.display().to_string())));
        }
        in_place(|| {
            if self.is_kept_place(path) {
                let text = "a cassette lies outside the memex, the store and the settings; name another file";
                return Err(text.to_string());
            }
            self.deck.begin(path, self.clock.now())
        })?;
        self.tell_status();
        let path = exact(&path.display().to_string());
        self.say(LogLevel::Info, &format!("exchanges with providers are recorded in {path}"));
        Ok(format!(
            "What is sent to models and what they answer is recorded in {path}, with secrets masked, until you stop it. \
             Of conversations that may not leave this machine nothing is recorded."
        ))
    }

    /// Returns whether a file lies in the memex or in a folder of this program, whatever links lead there. It asks the
    /// disk.
    fn is_kept_place(&self, path: &Path) -> bool {
        let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
        let config = &self.config;
        config.directories.iter().chain([&config.store, &config.settings]).any(|kept| {
            let real = kept.canonicalize().ok();
            path.starts_with(kept) || real.is_some_and(|real| folder.as_ref().is_some_and(|at| at.starts_with(real)))
        })
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// In words, when the channel may not decide that, or nothing is recorded.
    pub fn stop_cassette(&self, origin: &Origin) -> Result<String, String> {
        allowed(origin)?;
        let taped = in_place(|| self.deck.end()).ok_or("nothing is being recorded")?;
        self.tell_status();
        let said = format!("Recording ended: {}.", exact(&taped.to_string()));
        self.say(LogLevel::Info, &said);
        Ok(said)
    }

    /// Has everything answered from a cassette alone, until the program ends.
    ///
    /// # Errors
    /// In words, when the file is no cassette.
    pub fn play_cassette(self: &Arc<Self>, path: &Path) -> Result<(), String> {
        in_place(|| load(path))?;
        let name = REPLAY.to_string();
        let played = ProviderSetting {
            name: name.clone(),
            kind: name.clone(),
            url: path.to_str().map(str::to_string),
            model: None,
            local: true,
            effort: None,
        };
        {
            let mut providers = self.providers.write();
            providers.declared.retain(|declared| declared.name != name);
            providers.declared.push(played);
            providers.chosen = Some(vec![name]);
        }
        self.set_up_cascade();
        Ok(())
    }

    /// Returns how far a cassette was played; it is one for all who play that file.
    pub(super) fn playback(&self, path: PathBuf) -> Arc<Playback> {
        let mut all = self.playbacks.lock();
        all.entry(path.clone()).or_insert_with(|| Arc::new(Playback::new(path))).clone()
    }

    /// Returns what was recorded up to now, if something is.
    pub fn taped(&self) -> Option<Taped> {
        self.deck.recording()
    }
}

fn allowed(origin: &Origin) -> Result<(), String> {
    match origin.rights.may_steer() {
        true => Ok(()),
        false => {
            Err("this channel may not record; do it in Emacs, or in a terminal that the agent did not start".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::SessionId;
    use crate::domain::signal::{Rights, Source};
    use crate::domain::turn::Ending;
    use crate::edge::engine::fresh::tests::Place;
    use crate::edge::engine::turns::Ask;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Nobody waits longer for what must come.
    const HANGS: Duration = Duration::from_secs(60);

    /// Starts a model that answers everything with this; returns its address.
    async fn answering(text: &str) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let piece = |delta: serde_json::Value, reason: serde_json::Value| {
            let choice = serde_json::json!({"index": 0, "delta": delta, "finish_reason": reason});
            format!("data: {}\n\n", serde_json::json!({ "id": "c", "choices": [choice] }))
        };
        let said = piece(serde_json::json!({ "content": text }), serde_json::Value::Null);
        let body = said + &piece(serde_json::json!({}), serde_json::json!("stop")) + "data: [DONE]\n\n";
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut read = Vec::new();
                // A request is one JSON object, behind which nothing comes.
                while !read.ends_with(b"}") && stream.read_buf(&mut read).await.is_ok_and(|bytes| bytes > 0) {}
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        format!("http://127.0.0.1:{port}/v1/")
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_turn_and_the_end_wait_for_no_disk_of_a_cassette() {
        let place = Place::new("* One\n").await;
        let engine = &place.engine;
        // More than a pipe takes in.
        let long = "word ".repeat(20_000);
        let desk = ProviderSetting {
            name: "desk".to_string(),
            kind: "openai".to_string(),
            url: Some(answering(&long).await),
            model: Some("m".to_string()),
            local: true,
            effort: None,
        };
        {
            let mut providers = engine.providers.write();
            providers.declared.push(desk);
            providers.chosen = Some(vec!["desk".to_string()]);
        }
        engine.set_up_cascade();
        let dead = engine.deck.record_on_a_dead_disk(64 << 20, Duration::from_millis(20));
        let session = SessionId("chat".to_string());
        let origin = Origin { source: Source::Emacs, session, rights: Rights::HUMAN };
        for count in 1..=2 {
            let (origin, text) = (origin.clone(), "Say it.".to_string());
            let ask = Ask {
                origin,
                text,
                history: Vec::new(),
                older: Default::default(),
                folder: None,
                attached: Vec::new(),
                pictures: Vec::new(),
                wishes: Default::default(),
            };
            let mut sink = |_: crate::domain::port::Streamed<'_>| {};
            let turn = engine.ask(ask, engine.new_turn(), &mut sink);
            let done = tokio::time::timeout(HANGS, turn).await.expect("it ends");
            assert_eq!(
                (done.report.ending, done.report.text.len()),
                (Ending::Answered, long.len()),
                "{:?}",
                done.report.notice
            );
            assert_eq!(engine.calls(10).await.expect("the ledger").len(), count);
        }
        let said = engine.stop_cassette(&origin).expect("it ends");
        assert!(said.contains("2 wait for the disk, which does not answer"), "{said}");
        let also_dead = engine.deck.record_on_a_dead_disk(64 << 20, Duration::from_millis(20));
        tokio::time::timeout(HANGS, engine.close()).await.expect("it closes");
        drop((dead, also_dead));
    }
}
