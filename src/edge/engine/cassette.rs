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
    match origin.rights.approve {
        true => Ok(()),
        false => {
            Err("this channel may not record; do it in Emacs, or in a terminal that the agent did not start".into())
        }
    }
}
