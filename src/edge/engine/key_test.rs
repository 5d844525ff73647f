//! Tries a provider's key: one request of a fixed text that has nothing of the user's, for the shortest answer there is.
//!
//! A list of models says little of a key: some hand theirs out whatever it is, and to a key that may list and not ask. What
//! goes out is shown before with what it may cost, in the words with which it is asked for. As with a list, a human's own
//! channel may have a provider asked so that was never contacted; that confirms nothing.

use crate::domain::action::Action;
use crate::domain::gate::clearance::ask_all;
use crate::domain::gate::{Case, Opinion, Verdict};
use crate::domain::id::SessionId;
use crate::domain::inert::exact;
use crate::domain::label::{Labels, Privacy};
use crate::domain::money::prices::Price;
use crate::domain::money::{Cost, Micros};
use crate::domain::port::{
    Locality, LogLevel, Message, ModelFailure, Profile, Prompt, Provider, ProviderError, Streamed, Usage,
};
use crate::domain::signal::{Origin, Role, Sensor};
use crate::domain::tool::Toolbox;
use crate::domain::turn::CONTACT;
use crate::domain::work::Work;
use crate::edge::engine::Engine;
use crate::edge::engine::ledger::prices::price_in;
use crate::edge::engine::ledger::{Behalf, Came};
use crate::edge::engine::model::contact;
use crate::edge::engine::models::price_words;
use crate::edge::provider::cascade::{Cascade, Meter, Metered, Permit};
use crate::edge::provider::config::ProviderConfig;
use crate::edge::provider::http::Limits;
use crate::edge::provider::retry::Retries;
use crate::edge::provider::served::Served;
use crate::edge::thread::in_place;
use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// All that is sent.
const TEXT: &str = "Say OK.";
/// It takes at most so many tokens, with what providers put around it.
const INPUT: u64 = 100;
/// What OpenAI says of a model that did not come to the end of its thoughts, as an error: the key was good enough for that.
const THINKS_ON: &str = "output limit was reached";

/// What a test of a key would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// What would be sent where, and what it may cost, in one line.
    pub shown: String,
    /// Which rule stands against it, if one does.
    pub forbidden: Option<String>,
}

/// What came of a test of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyTest {
    /// Whether the provider took the key and its model answered.
    pub works: bool,
    /// What came of it, with the way out, in one sentence.
    pub text: String,
}

/// A request that is not made yet.
struct Trial {
    config: ProviderConfig,
    served: Arc<Served>,
    host: String,
    prompt: Prompt,
    shown: String,
}

/// The ledger's side of it.
struct Till<'a> {
    engine: &'a Engine,
    session: &'a SessionId,
    behalf: Arc<Behalf>,
    came: Mutex<Option<Came>>,
}

impl Engine {
    /// Returns what a test of a provider's key would send and cost. Nothing is sent.
    ///
    /// # Errors
    /// When there is no such provider to ask.
    pub async fn offer_key_test(&self, origin: &Origin, name: &str) -> Result<Offer, String> {
        let trial = self.trial(name)?;
        let forbidden = self.may_test(origin, &trial, &foreground()).await.err();
        Ok(Offer { shown: trial.shown, forbidden })
    }

    /// Tests a provider's key, as it was shown.
    ///
    /// # Errors
    /// When a rule stands against it, or it would be another request than was shown; nothing was sent then.
    pub async fn test_key(&self, origin: &Origin, name: &str, shown: &str) -> Result<KeyTest, String> {
        let (trial, behalf) = (self.trial(name)?, foreground());
        self.may_test(origin, &trial, &behalf).await?;
        let Trial { config, served, host, prompt, .. } = &trial;
        if shown != trial.shown {
            return Err(format!("this is not what was shown, so nothing was sent; now it is: {}", trial.shown));
        }
        let till = Till { engine: self, session: &origin.session, behalf: behalf.clone(), came: Mutex::default() };
        let permits = |provider: &dyn Profile, prompt: &Prompt| match provider.locality() {
            Locality::Builtin | Locality::Local => Permit::Granted,
            Locality::Remote => match self.affords(provider, prompt, &origin.session, &behalf) {
                Ok(()) => Permit::Granted,
                Err(why) => Permit::Withheld(why),
            },
        };
        // Of no memory: who fails here is not passed over in a turn, and who answers is not put first again.
        let cascade = Cascade::new(vec![served.clone() as Arc<dyn Provider>], Vec::new());
        let mut log = |level: LogLevel, text: String| self.say(level, &text);
        let reply = cascade.complete(&|_| prompt.clone(), &mut |_: Streamed<'_>| {}, &mut log, &permits, &till).await;
        let took = config.key.as_ref().map_or_else(String::new, |_| format!("{host} took your key, and "));
        let (name, model) = (&config.name, &config.model);
        Ok(match reply {
            Ok(_) => {
                let came = till.came.lock().take();
                let paid = match came.and_then(|came| came.lock().as_ref().map(|ended| ended.cost)) {
                    Some(Cost::Known(Micros(0))) => "for nothing".to_string(),
                    Some(Cost::Unknown) | None => "at a price that is unknown".to_string(),
                    Some(cost) => format!("for {}", cost.words()),
                };
                KeyTest { works: true, text: format!("{name} works: {took}{model} answered, {paid}") }
            }
            Err(ModelFailure::Exhausted(failed)) if failed.iter().any(thinks_on) => {
                let text = format!("{name} works: {took}{model} began; it thinks longer than this test lets it");
                KeyTest { works: true, text }
            }
            Err(ModelFailure::Exhausted(failed)) => {
                let why: Vec<&str> = failed.iter().map(|error| error.text.as_str()).collect();
                KeyTest { works: false, text: format!("{name} does not work: {}", why.join("; ")) }
            }
            Err(ModelFailure::Confirm { .. }) => {
                return Err(format!("{name} was never contacted, so nothing was sent"));
            }
        })
    }

    /// Returns the request for a provider's model as it is set, with what is shown of it.
    fn trial(&self, name: &str) -> Result<Trial, String> {
        // How hard it is to think is no part of the question, and thinking takes more tokens.
        let config = ProviderConfig { effort: None, ..self.asked_place(name)? };
        let host = config.address().map_err(|why| why.to_string())?.host();
        let clients = self.clients().map_err(|error| format!("no HTTP client: {error}"))?;
        // Once: who is busy or out of money says so, and the user is here.
        let clients = clients.retrying(Retries::new(1, Duration::ZERO));
        let answer = config.kind.least_answer();
        let limits = Limits { answer: Some(answer), ..Limits::default() };
        let served =
            Served::new(config.clone(), &clients, limits, self.vault.clone()).map_err(|why| why.to_string())?;
        let shown = self.shown_before(&config, &served, &host, u64::from(answer));
        Ok(Trial { config, served: Arc::new(served), host, prompt: self.trial_prompt(), shown })
    }

    fn trial_prompt(&self) -> Prompt {
        Prompt {
            system: String::new(),
            stable: 0,
            parts: Vec::new(),
            messages: vec![Message::Text { role: Role::User, text: TEXT.to_string() }],
            tools: Vec::new(),
            privacy: Privacy::Open,
            outside: Default::default(),
            nodes: Default::default(),
            at_point: None,
            marked: Vec::new(),
            typed: TEXT.to_string(),
            may_see: Privacy::Open,
            now: self.clock.wall(),
            asking: self.next_serial().saturating_add(1),
            room: 0,
        }
    }

    /// Says in one line what is sent where, and what it may cost at most.
    fn shown_before(&self, config: &ProviderConfig, served: &Served, host: &str, output: u64) -> String {
        let (name, model, now) = (&config.name, &config.model, self.clock.now());
        // Where the line that says it cannot be read, nobody knows it; caps look at that.
        let table = price_in(&self.own_prices().0, name, served.locality(), model, now).unwrap_or_default();
        let listed = self.listed(name, now).and_then(|model| model.price);
        let words = price_words(table, listed);
        let price = match table {
            Some(price) if price != Price::NOTHING => {
                let most = price.of(&Usage { input: INPUT, output, ..Usage::default() });
                format!("price {words} for a million tokens, so {most} at most")
            }
            Some(_) | None => format!("price {words}"),
        };
        let tokens = if output == 1 { "token" } else { "tokens" };
        let line = format!(
            "“{TEXT}” and nothing else is sent to {host} ({name}, {model}) for an answer of at most {output} {tokens}; \
             {price}."
        );
        exact(&line.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Says which rule keeps the request from being made, if one does.
    async fn may_test(&self, origin: &Origin, trial: &Trial, behalf: &Behalf) -> Result<(), String> {
        if !origin.rights.may_steer() {
            let way_out = "do it in Emacs, or in a terminal that the agent did not start";
            return Err(format!("this channel may not have a key tested; {way_out}"));
        }
        let Trial { served, prompt, .. } = trial;
        match served.locality() {
            Locality::Builtin | Locality::Local => Ok(()),
            Locality::Remote => {
                self.recall_spent(&origin.session.0, behalf).await?;
                self.affords(&**served, prompt, &origin.session, behalf)?;
                match self.is_met(&contact(served.name(), &served.url())).await? {
                    true => Ok(()),
                    false => self.may_contact(origin, served).await,
                }
            }
        }
    }

    /// Says which gate denies a first contact, if one does. That it asks is answered by who has it made as it was shown.
    async fn may_contact(&self, origin: &Origin, served: &Served) -> Result<(), String> {
        let args = [("provider", served.name().to_string()), ("url", served.url()), ("sent", TEXT.to_string())];
        let args = args.into_iter().map(|(name, value)| (name.to_string(), Value::String(value))).collect();
        let why = format!("You want the key of {} tested, which may never have been sent anything.", served.name());
        let toolbox = Toolbox::builtin();
        let action = Action::new(&toolbox, CONTACT, args, Some(&why), Labels::USER).map_err(|wrong| wrong.0)?;
        let tool = toolbox.get(action.tool()).ok_or("there is no such tool")?;
        let scope = in_place(|| self.scope(&origin.session, None, false));
        let facts = self.surveyor().survey(&action, &scope).await;
        let case = Case { action: &action, tool, scope: &scope, facts: &facts, set_off: Sensor::UserInput };
        let trace = in_place(|| ask_all(&self.gates_now(None), &case));
        match trace.strictest() {
            Some(Opinion { verdict: Verdict::Pass(_) | Verdict::Ask(_), .. }) => Ok(()),
            Some(Opinion { gate, verdict: Verdict::Deny(reason), .. }) => {
                let reason = reason.text.lines().next().unwrap_or_default();
                Err(format!("the gate {gate} denies the first contact: {reason}"))
            }
            None => Err("no gate spoke".to_string()),
        }
    }
}

#[async_trait]
impl Meter for Till<'_> {
    async fn open<'a>(
        &'a self,
        provider: &'a dyn Profile,
        prompt: &'a Prompt,
    ) -> Result<Box<dyn Metered + 'a>, String> {
        let Till { engine, session, behalf, came } = self;
        let call = engine.open_call(provider, prompt, session, behalf).await?;
        *came.lock() = Some(call.came());
        Ok(Box::new(call))
    }
}

/// Returns on whose behalf it is made: the user waits for it, and no heading or skill has part in it.
fn foreground() -> Arc<Behalf> {
    Arc::new(Behalf { work: Work::Foreground, skill: None, heading: None, cap: None, spent: Mutex::default() })
}

fn thinks_on(error: &ProviderError) -> bool {
    error.status == Some(400) && error.cause.as_deref().is_some_and(|cause| cause.contains(THINKS_ON))
}
