//! Which preset a conversation has: chosen by its human, kept by its name in the store, read anew with each turn.
//!
//! A preset without a model only takes away, so every channel that may ask for something may choose the first one of a
//! conversation; to change it or to take it back would give something again, and is a human's own, as is whom one asks.
//! One that was chosen and cannot be had any more closes its conversation, until it is mended or taken back.

use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::job::preset_of_session;
use crate::domain::port::{LogLevel, ProviderError, ProviderErrorKind};
use crate::domain::preset::{NONE, Preset, Presets, Said};
use crate::domain::signal::{Origin, Rights};
use crate::edge::engine::delegation::shown_in;
use crate::edge::engine::record::kind;
use crate::edge::engine::turns::KNOWN_SESSIONS;
use crate::edge::engine::{Engine, Notice};
use crate::edge::provider::cascade::Cascade;
use crate::edge::rules_file::text;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a question says of itself, in the words of its chat's properties: it holds for it and for what goes on from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wishes {
    /// A preset, in place of that of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Who is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The only tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<String>,
    /// The most tokens of a prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<String>,
    /// The most that the conversation may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<String>,
}

impl Wishes {
    /// What a preset of them alone is called, where people read it.
    const NAME: &str = "PP_TOOLS";

    /// Returns whether nothing is wished.
    pub fn is_empty(&self) -> bool {
        *self == Wishes::default()
    }

    /// Returns them as a preset, or nothing where they say no more than one's name.
    ///
    /// # Errors
    /// What is wrong, by the name of the property that says it.
    fn read(&self) -> Result<Option<Preset>, String> {
        let said = Said {
            model: self.model.as_deref(),
            tools: self.tools.as_deref(),
            tokens: self.tokens.as_deref(),
            dollars: self.dollars.as_deref(),
            prompt: None,
        };
        if (Wishes { preset: None, ..self.clone() }).is_empty() {
            return Ok(None);
        }
        let in_a_chat = |why: String| {
            let names = [("MODEL", "PP_MODEL"), ("TOOLS", "PP_TOOLS"), ("TOKENS", "PP_BUDGET"), ("USD", "PP_USD")];
            let named = names.iter().find_map(|(word, name)| Some(format!("{name}{}", why.strip_prefix(word)?)));
            named.unwrap_or(why)
        };
        Preset::read(Self::NAME, &said).map(Some).map_err(in_a_chat)
    }
}

/// The file of the user's settings that has presets.
pub const NAME: &str = "presets.org";

impl Engine {
    /// Returns the presets that are defined now, in the settings folder and in Emacs. A small file, read anew each time.
    pub fn presets(&self) -> Presets {
        let path = self.config.settings.join(NAME);
        let mut presets = match text(&path) {
            Ok(None) => Presets::default(),
            Ok(Some(text)) => Presets::read(&text),
            Err(why) => Presets::broken(format!("{}: {why}", path.display())),
        };
        for (name, read) in &self.providers.read().presets {
            presets.add(name, read.clone());
        }
        presets
    }

    /// Returns the name of a conversation's preset, as far as it was looked up.
    pub fn preset_name(&self, session: &SessionId) -> Option<String> {
        self.chosen_presets.lock().get(session).cloned().flatten()
    }

    /// Returns a conversation's preset.
    ///
    /// # Errors
    /// When one was chosen that cannot be had, or nobody knows whether one was.
    pub(super) async fn preset_of(&self, session: &SessionId) -> Result<Option<Preset>, String> {
        // What was handed over has the preset of the conversation that it came from.
        let session = &shown_in(session);
        if let Some(preset) = preset_of_session(&session.0) {
            return Ok(Some(preset));
        }
        let Some(name) = self.preset_now(session).await? else { return Ok(None) };
        let found = self.presets().get(&name).cloned();
        let way_out = format!("mend it in {NAME}, or take it back with /preset {NONE}");
        found.map(Some).map_err(|why| format!("{why}. This conversation has that preset; {way_out}"))
    }

    /// Does the same; where it cannot be had, the conversation has one that leaves nothing.
    pub(super) async fn preset_or_shut(&self, session: &SessionId) -> Option<Preset> {
        match self.preset_of(session).await {
            Ok(preset) => preset,
            Err(why) => {
                self.say(LogLevel::Warning, &why);
                Some(Preset::shut(&self.preset_name(session).unwrap_or_default()))
            }
        }
    }

    /// Returns the preset of a question: what it wishes, over that of its conversation, of which it takes away alone. Whom
    /// it names, and how, counts in the place of those of the conversation.
    ///
    /// # Errors
    /// When a wish cannot be read, or the preset that it names cannot be had.
    pub(super) fn wished(&self, wishes: &Wishes, preset: Option<Preset>) -> Result<Option<Preset>, String> {
        let preset = match &wishes.preset {
            Some(name) => {
                let named = self.presets().get(name).cloned().map_err(|why| format!("PP_PRESET: {why}"))?;
                Some(match preset {
                    Some(own) => named.over(own),
                    None => named,
                })
            }
            None => preset,
        };
        Ok(match (preset, wishes.read()?) {
            (Some(preset), Some(own)) => Some(preset.with(own)),
            (preset, own) => preset.or(own),
        })
    }

    /// Does the same for a channel; who may not choose what is asked wishes for less alone. Whom it names can be asked.
    ///
    /// # Errors
    /// As above, and when the channel may not wish it or nobody can be asked.
    pub(super) fn wished_by(
        &self,
        rights: Rights,
        wishes: &Wishes,
        preset: Option<Preset>,
    ) -> Result<Option<Preset>, String> {
        if (wishes.model.is_some() || wishes.preset.is_some()) && !rights.may_steer() {
            return Err("this channel may not choose who is asked, as PP_MODEL or PP_PRESET does".to_string());
        }
        let wished = self.wished(wishes, preset)?;
        if let Some(preset) = wished.as_ref().filter(|_| wishes.model.is_some() || wishes.preset.is_some()) {
            self.preset_cascade(preset)?;
        }
        Ok(wished)
    }

    /// Returns the name of a conversation's preset, looked up where it was not yet.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn preset_now(&self, session: &SessionId) -> Result<Option<String>, String> {
        if let Some(known) = self.chosen_presets.lock().get(session) {
            return Ok(known.clone());
        }
        let latest = self.archive.latest(kind::PRESET, session.0.clone()).await;
        let record = latest.map_err(|why| format!("the preset of this conversation cannot be read: {why}"))?;
        let name = record.and_then(|record| record.body["name"].as_str().map(str::to_string));
        let mut chosen = self.chosen_presets.lock();
        if chosen.len() >= KNOWN_SESSIONS {
            chosen.clear();
        }
        // Not over what was chosen while that was read.
        let known = chosen.entry(session.clone()).or_insert(name).clone();
        drop(chosen);
        if known.is_some() {
            (self.notify)(Notice::Status);
        }
        Ok(known)
    }

    /// Chooses a preset for a conversation, or takes it back with `none`.
    ///
    /// # Errors
    /// When there is no such preset, the channel may not decide that, or it could not be stored: then nothing changes.
    pub async fn set_preset(&self, origin: &Origin, name: &str) -> Result<String, String> {
        if !origin.rights.propose {
            return Err("this channel may not choose a preset".to_string());
        }
        let (session, now) = (&origin.session, self.preset_now(&origin.session).await?);
        let wanted = (name != NONE).then(|| name.to_string());
        let preset = match &wanted {
            Some(name) => Some(self.presets().get(name)?.clone()),
            None => None,
        };
        if now.is_some() && now != wanted && !origin.rights.may_steer() {
            let way_out = "do it in Emacs, or in a terminal that the agent did not start";
            return Err(format!("this channel may not take a preset back, as that gives something again; {way_out}"));
        }
        if preset.as_ref().is_some_and(|preset| !preset.order.is_empty()) && !origin.rights.may_steer() {
            let way_out = "do it in Emacs, or in a terminal that the agent did not start";
            return Err(format!("this channel may not choose who is asked, as that preset does; {way_out}"));
        }
        if let Some(preset) = &preset {
            // What names nobody who can be asked is said now, and not when something is asked.
            self.preset_cascade(preset)?;
        }
        let body = match &wanted {
            Some(name) => json!({ "name": name }),
            None => json!({ "withdrawn": true }),
        };
        self.append(kind::PRESET, &session.0, body).await?;
        self.chosen_presets.lock().insert(session.clone(), wanted);
        (self.notify)(Notice::Status);
        Ok(match &preset {
            Some(preset) => format!("This conversation has the preset {}: {}.", preset.name, exact(&preset.words())),
            None => "This conversation has no preset.".to_string(),
        })
    }

    /// Returns the providers that a preset names, or nothing where it leaves the usual ones.
    ///
    /// # Errors
    /// When one of them cannot be asked.
    pub(super) fn preset_cascade(&self, preset: &Preset) -> Result<Option<Cascade>, String> {
        let Some(engine) = self.me.upgrade().filter(|_| !preset.order.is_empty()) else { return Ok(None) };
        engine.cascade_of(&preset.order).map(Some)
    }

    /// Returns a cascade of nobody, for a preset whose providers cannot be asked.
    pub(super) fn nobody(&self, why: &str) -> Cascade {
        let text = format!("not asked: the preset of this conversation names who cannot be asked: {why}");
        Cascade::new(Vec::new(), vec![ProviderError::new("preset", ProviderErrorKind::Refused, text)])
    }

    /// Returns the presets in words, and which one the conversation has.
    pub(super) async fn preset_lines(&self, session: &SessionId) -> String {
        let now = match self.preset_now(session).await {
            Ok(Some(name)) => format!("This conversation has the preset {name}; /preset {NONE} takes it back.\n"),
            Ok(None) => "This conversation has no preset; /preset NAME chooses one.\n".to_string(),
            Err(why) => format!("{why}\n"),
        };
        let presets = self.presets();
        let trouble = presets.trouble().map(|why| format!("- presets cannot be read: {}\n", exact(why)));
        let line = |(name, read): (&str, Result<&Preset, &str>)| match read {
            Ok(preset) => format!("- {}: {}\n", exact(name), exact(&preset.words())),
            Err(why) => format!("- {} cannot be used: {}\n", exact(name), exact(why)),
        };
        let lines: String = presets.all().map(line).collect();
        now + &trouble.unwrap_or_default() + &lines
    }
}
