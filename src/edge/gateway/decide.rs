//! Decisions about plans in a chat: a sender whom the user lets decide is sent a plan whole, with a token of its own; who
//! types that token there decides about that plan, once.
//!
//! What cannot be sent whole, exactly and openly is not sent at all: it waits in Emacs.

use crate::domain::gate::plan::{FlightPlan, PlanStatus};
use crate::domain::gate::secret::HIDDEN;
use crate::domain::gateway::Platform;
use crate::domain::gateway::split::{Limit, split};
use crate::domain::id::PlanId;
use crate::domain::inert::{exact, is_drawn_in_order};
use crate::domain::label::Privacy;
use crate::domain::port::LogLevel;
use crate::domain::signal::{Origin, Rights, Source};
use crate::domain::tool::approved_in_emacs_alone;
use crate::edge::engine::Engine;
use crate::edge::engine::gateways::session_of;
use crate::edge::engine::turns::Decided;
use crate::edge::gateway::serve::{self, History, told};
use crate::edge::plan_text::{folded_at, unfolded};
use crate::edge::token::{ASTRAY, OVER, Tokens, Typed};
use parking_lot::Mutex;
use std::sync::Arc;

/// What a sender may do whom the user lets decide: that, and nothing else that a human may.
const RIGHTS: Rights = Rights { approve: true, ..serve::RIGHTS };
/// How wide a line of a plan may become before it is broken by us, in columns. A telephone would break it anywhere, and the
/// rest of it could pass for a line of ours.
const NARROW: usize = 32;
/// No messenger takes a message of so many bytes: a longer plan is not even put together.
const LONGEST: usize = 64 << 10;
/// What stands for a token before there is one.
const NO_TOKEN: &str = "00000000000000000000000000000000";

/// What is said to who begins and may decide.
const HELP: &str = "Write, and you get an answer. What needs a yes is sent to you whole, with the words that decide about it, \
                    or waits in Emacs; /plans shows what waits. Other commands are typed in Emacs.";
/// What is said of a decision without a token.
const NAMELESS: &str = "Decide by the line that stands below a plan: /approve TOKEN, or /deny TOKEN and why. /plans shows what \
                        waits, with new tokens. Nothing was done.";
/// What is said of a token that nobody knows.
const UNKNOWN: &str = "This token was not shown here, was used already, or Passepartout was started anew since. Nothing was \
                       decided; /plans shows what waits, with new ones.";
/// What is said of a token to who may not decide.
const NOT_HERE: &str =
    "Plans are not decided about here; they wait in Emacs. Nothing was decided, and that token counts no more.";
/// Why a plan has no token; the system's own words stay here.
const NO_RANDOM: &str = "the system gives no random bytes for a token";
/// Where another token is had from.
const AGAIN: &str = "/plans shows what waits, with new ones";

/// Why a plan is not sent.
mod not_sent {
    pub(super) const EMACS_ALONE: &str = "it would let more happen without asking you";
    pub(super) const PRIVATE: &str = "it has to do with private notes";
    pub(super) const SECRET: &str = "a secret in it would be hidden, so it would not be shown whole";
    pub(super) const UNLIKE: &str = "it holds characters that a messenger may show otherwise";
    pub(super) const LONG: &str = "it is too long for one message";
}

/// What is said of plans that wait.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// In words, behind an answer.
    pub(super) said: Vec<String>,
    /// One of them whole, with its token: a message of its own.
    pub(super) plan: Option<String>,
}

/// What a chat was shown of plans.
pub(super) struct Desk {
    platform: Platform,
    chat: String,
    tokens: Arc<Mutex<Tokens>>,
    /// The number of the grant under which they were shown.
    grant: Option<u64>,
}

impl Desk {
    pub(super) fn new(engine: &Engine, platform: Platform, chat: &str) -> Desk {
        let grant = engine.gateway_decides(platform, chat);
        Desk { platform, chat: chat.to_string(), tokens: engine.shown_tokens.open(), grant }
    }

    /// Looks at what was typed before anything else does. Returns what is answered where it decides, is about plans, or holds
    /// a token that decides nothing; then it goes no further.
    pub(super) async fn heard(
        &mut self,
        engine: &Arc<Engine>,
        text: &str,
        history: &mut History,
    ) -> Option<Vec<String>> {
        if engine.gateway_decides(self.platform, &self.chat) != self.grant || self.grant.is_none() {
            // What was shown under a grant that is over goes no further either.
            let astray = engine.shown_tokens.forget_typed(text);
            self.follow_grant(engine);
            if astray {
                return Some(vec![self.grant.map_or_else(|| NOT_HERE.to_string(), |_| astray_here())]);
            }
            self.grant?;
        }
        let typed = self.tokens.lock().take(text, engine.clock.now());
        let said = match typed {
            Typed::Named { line, plan, shown } => {
                return Some(self.decide(engine, (&line, &plan, shown), history).await);
            }
            Typed::Late(plan) => {
                format!("The token of plan {plan} is older than a quarter of an hour. Nothing was decided; {AGAIN}.")
            }
            Typed::Over => {
                let (who, by) = (&self.chat, self.platform.name());
                let text =
                    format!("five wrong tokens were typed by {by} (sender {who}); none that was shown there counts");
                engine.say(LogLevel::Warning, &text);
                format!("{}; {AGAIN}.", sentence(OVER))
            }
            Typed::Unknown => {
                // It may be one that another channel was shown.
                engine.shown_tokens.forget_typed(text);
                UNKNOWN.to_string()
            }
            Typed::Plain if engine.shown_tokens.forget_typed(text) => astray_here(),
            Typed::Plain => match text.split_whitespace().next() {
                Some("/plans") => return Some(self.plans(engine).await),
                Some("/approve" | "/deny" | "/stop") => NAMELESS.to_string(),
                Some("/start" | "/help") => HELP.to_string(),
                Some(_) | None => return None,
            },
        };
        Some(vec![said])
    }

    /// Returns the number of the grant under which plans are shown here.
    pub(super) fn grant(&self) -> Option<u64> {
        self.grant
    }

    /// Forgets what was shown under another grant than the one that counts now.
    fn follow_grant(&mut self, engine: &Engine) {
        let now = engine.gateway_decides(self.platform, &self.chat);
        if now != self.grant {
            self.tokens.lock().forget();
            self.grant = now;
        }
    }

    /// Decides about a plan as a line with its name says.
    async fn decide(
        &mut self,
        engine: &Arc<Engine>,
        (line, id, shown): (&str, &PlanId, String),
        history: &mut History,
    ) -> Vec<String> {
        // What comes behind goes on to a model, and may hold what another channel was shown.
        let line = engine.shown_tokens.blotted(line);
        let decided = match engine.typed_decision(&line) {
            Some((_, Decided::Approve { .. })) => {
                if let Some(why) = self.not_any_more(engine, id).await {
                    return vec![format!("Nothing was decided. Plan {id} waits for your yes in Emacs now: {why}.")];
                }
                Decided::Approve { shown }
            }
            Some((_, no)) => no,
            None => return vec![NAMELESS.to_string()],
        };
        let session = session_of(self.platform, &self.chat);
        // It is under the grant that the plan was shown under; another one that was given meanwhile is not this one.
        let origin = Origin { source: Source::Gateway, session, rights: Rights { grant: self.grant, ..RIGHTS } };
        let finished = match engine.decide(&origin, &id.0, decided, engine.new_turn(), &mut |_| {}).await {
            Ok(finished) => finished,
            Err(why) => return vec![self.undecided(engine, id, &why)],
        };
        let became = engine.with_plan(&id.0, |plan| format!("Plan {id} is {}.", plan.status.name()));
        let offer = self.offer(engine, &finished.report.plans).await;
        serve::note(history, None, &finished.report);
        let said = became.into_iter().chain(told(engine, &finished.report)).chain(offer.said);
        let said = said.collect::<Vec<_>>().join("\n\n");
        std::iter::once(said).chain(offer.plan).collect()
    }

    /// Says that a decision did not count, and what to do next. Why is told in Emacs alone: it may name what is on this machine.
    fn undecided(&self, engine: &Engine, id: &PlanId, why: &str) -> String {
        let (who, by) = (&self.chat, self.platform.name());
        let text = format!("a decision about plan {id} by {by} (sender {who}) did not count: {why}");
        engine.say_of(LogLevel::Warning, Privacy::Private, &text);
        match engine.with_plan(&id.0, |plan| (plan.status == PlanStatus::Pending, plan.status.name())) {
            Some((true, _)) => format!(
                "Nothing was decided: plan {id} waits still. Emacs shows why in its log; /plans shows the plan as it is now, \
                 with a new token."
            ),
            Some((false, status)) => format!("Nothing was decided: plan {id} is {status}; {AGAIN}."),
            None => format!("Nothing was decided: plan {id} is gone; {AGAIN}."),
        }
    }

    /// Returns until when the token counts that stands in a text; `None` when none of ours does.
    pub(super) fn until(&self, text: &str) -> Option<jiff::Timestamp> {
        self.tokens.lock().until(text)
    }

    /// Says why a plan that waits may not be decided about here any more.
    async fn not_any_more(&self, engine: &Arc<Engine>, id: &PlanId) -> Option<&'static str> {
        let plan = engine.plan(&id.0).filter(|plan| plan.status == PlanStatus::Pending)?;
        self.showable(engine, &plan).await.err()
    }

    /// Lists what waits here, with the first of it whole.
    async fn plans(&self, engine: &Arc<Engine>) -> Vec<String> {
        let own = session_of(self.platform, &self.chat);
        let (here, elsewhere): (Vec<_>, Vec<_>) = engine.plans(false).into_iter().partition(|plan| plan.session == own);
        let here: Vec<PlanId> = here.into_iter().map(|plan| plan.id).collect();
        let Offer { mut said, plan } = self.offered(engine, &here).await;
        said.extend(match elsewhere.len() {
            0 if here.is_empty() => Some("No plan waits.".to_string()),
            0 => None,
            1 => Some("A plan of another conversation waits in Emacs.".to_string()),
            count => Some(format!("{count} plans of other conversations wait in Emacs.")),
        });
        let said = (!said.is_empty()).then(|| said.join("\n\n"));
        said.into_iter().chain(plan).collect()
    }

    /// Says what is to be said of plans that a turn left waiting, and shows the first that may be shown.
    pub(super) async fn offer(&mut self, engine: &Arc<Engine>, plans: &[PlanId]) -> Offer {
        // The user may have taken it back while the turn went on.
        self.follow_grant(engine);
        match (self.grant, plans.len()) {
            (Some(_), _) => self.offered(engine, plans).await,
            (None, 0) => Offer::default(),
            (None, 1) => Offer { said: vec!["A plan waits for your yes in Emacs.".to_string()], plan: None },
            (None, count) => Offer { said: vec![format!("{count} plans wait for your yes in Emacs.")], plan: None },
        }
    }

    async fn offered(&self, engine: &Arc<Engine>, plans: &[PlanId]) -> Offer {
        let (mut said, mut whole, mut more) = (Vec::new(), None, 0_usize);
        let waits = |plan: &FlightPlan| plan.status == PlanStatus::Pending;
        for plan in plans.iter().filter_map(|id| engine.plan(&id.0)).filter(waits) {
            match self.showable(engine, &plan).await {
                Err(why) => said.push(format!("Plan {} waits for your yes in Emacs: {why}.", plan.id)),
                Ok(_) if whole.is_some() => more += 1,
                Ok(text) => match self.tokens.lock().issue(&plan.id, &plan.shown(), engine.clock.now()) {
                    Ok(token) => whole = Some(with_token(&text, &token)),
                    Err(why) => {
                        engine.say(LogLevel::Error, &why);
                        said.push(format!("Plan {} waits for your yes in Emacs: {NO_RANDOM}.", plan.id));
                    }
                },
            }
        }
        match more {
            0 => {}
            1 => said.push("One more plan follows once this one is decided about.".to_string()),
            more => said.push(format!("{more} more plans follow once this one is decided about.")),
        }
        Offer { said, plan: whole }
    }

    /// Returns a plan as it is sent.
    ///
    /// # Errors
    /// Why it is not.
    async fn showable(&self, engine: &Arc<Engine>, plan: &FlightPlan) -> Result<String, &'static str> {
        if approved_in_emacs_alone(plan.action.tool()) {
            return Err(not_sent::EMACS_ALONE);
        }
        if engine.plan_privacy(plan).await.is_kept() {
            return Err(not_sent::PRIVATE);
        }
        rendered(plan, self.platform.limit(), &|text| engine.masked(text))
    }
}

/// Returns a plan as a messenger with this limit shows it: whole, or not at all.
fn rendered(plan: &FlightPlan, limit: Limit, mask: &dyn Fn(&str) -> String) -> Result<String, &'static str> {
    if plan.body.len() + plan.diff.len() > LONGEST {
        return Err(not_sent::LONG);
    }
    // Before lines are broken: half of a secret is known by no shape, nor half of a word by its letters.
    let whole = unfolded(plan);
    if whole.contains(HIDDEN) || mask(&whole) != whole {
        return Err(not_sent::SECRET);
    }
    if exact(&whole) != whole || !is_drawn_in_order(&whole) {
        return Err(not_sent::UNLIKE);
    }
    let text = folded_at(&whole, NARROW);
    let sent = with_token(&text, NO_TOKEN);
    match split(&sent, limit) == [sent] {
        true => Ok(text),
        false => Err(not_sent::LONG),
    }
}

/// Returns a plan with the lines that decide about it.
fn with_token(text: &str, token: &str) -> String {
    format!(
        "{text}\nOne of these lines decides, within a quarter of an hour:\n/approve {token}\n/deny {token} [reason]"
    )
}

fn astray_here() -> String {
    format!("{}; {AGAIN}.", sentence(ASTRAY))
}

/// Returns words with a capital letter at their beginning.
fn sentence(words: &str) -> String {
    let mut rest = words.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::action::Action;
    use crate::domain::gate::plan::About;
    use crate::domain::gate::{Facts, Opinion, Reason, Trace, Verdict, secret};
    use crate::domain::id::{SessionId, TurnId};
    use crate::domain::label::Labels;
    use crate::domain::tool::Toolbox;

    fn plan(title: &str, why: &str) -> FlightPlan {
        let args = serde_json::json!({ "command": "ls" }).as_object().cloned().expect("an object");
        let action = Action::new(&Toolbox::builtin(), "shell", args, Some(why), Labels::MODEL).expect("well-formed");
        let opinion =
            Opinion { gate: "dispatcher".to_string(), priority: 1, verdict: Verdict::Ask(Reason::new("It runs.")) };
        FlightPlan {
            id: PlanId("P1".to_string()),
            title: title.to_string(),
            facts: Facts::default().hash(),
            body: crate::domain::gate::show::body(&action, &Facts::default(), "/work/garden"),
            diff: String::new(),
            trace: Trace { action: action.hash(), opinions: vec![opinion] },
            action,
            session: SessionId("telegram-7".to_string()),
            turn: TurnId("t".to_string()),
            call: String::new(),
            created: jiff::Timestamp::UNIX_EPOCH,
            expires: jiff::Timestamp::MAX,
            status: PlanStatus::Pending,
            about: About { privacy: Privacy::Open, ..About::default() },
        }
    }

    #[test]
    fn a_plan_is_sent_whole_and_exactly_or_not_at_all() {
        let mask = |text: &str| secret::mask(&text.replace("swordfish", "[MASKED]")).0;
        let check = |title: &str, why: &str, units: usize, outcome: Result<(), &str>| {
            let sent = rendered(&plan(title, why), Limit::Utf16(units), &mask);
            assert_eq!(sent.as_ref().map(|_| ()).map_err(|why| *why), outcome, "{title:?} {why:?}: {sent:?}");
        };
        let (usual, long) = ("To look.", "word ".repeat(1_000));
        check("Run: ls", usual, 4_096, Ok(()));
        check("Run: ls", "Ищу файл, größer als nötig: 日本", 4_096, Ok(()));
        check("Run: ls", &long, 4_096, Err(not_sent::LONG));
        check("Run: ls", &long, 40_000, Ok(()));
        check("Run: ls", "The key is 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.", 4_096, Err(not_sent::SECRET));
        check("Run: ls", "The word is swordfish, as you know.", 4_096, Err(not_sent::SECRET));
        // Where our own lines would break it.
        check("Run: ls", "The word of today, and of all days: swordfish.", 4_096, Err(not_sent::SECRET));
        // A title of an older version may hold what hides; what turns or is drawn over others is shown as it is elsewhere.
        check("Run: l\u{202E}s", usual, 4_096, Err(not_sent::UNLIKE));
        check("Run: l\u{200B}s", usual, 4_096, Err(not_sent::UNLIKE));
        check("Run: ls", "To see \u{5D0}\u{5D1} /etc.", 4_096, Err(not_sent::UNLIKE));
        check("Run: ls", "To see n\u{336}o\u{336}t.", 4_096, Err(not_sent::UNLIKE));
        check("Run: ls", "To see\ta\tb.", 4_096, Err(not_sent::UNLIKE));
        // One unit of UTF-16 decides.
        let whole =
            with_token(&rendered(&plan("Run: ls", usual), Limit::Utf16(4_096), &mask).expect("it fits"), NO_TOKEN);
        let length = whole.encode_utf16().count();
        check("Run: ls", usual, length, Ok(()));
        check("Run: ls", usual, length - 1, Err(not_sent::LONG));
    }

    #[test]
    fn nothing_that_a_model_says_passes_for_a_line_of_ours_on_a_narrow_screen() {
        let words = format!("To look.{}Tool: message", " ".repeat(40));
        let sent = rendered(&plan("Run: ls", &words), Limit::Utf16(4_096), &|text| text.to_string()).expect("it fits");
        let tools: Vec<&str> = sent.lines().filter(|line| line.starts_with("Tool: ")).collect();
        assert_eq!(tools, ["Tool: shell"], "{sent}");
        assert!(sent.lines().all(|line| line.chars().count() <= NARROW), "{sent}");
        assert!(sent.contains("Asked by dispatcher: It runs.") && sent.contains("in: /work/garden"), "{sent}");
    }

    #[test]
    fn what_a_sender_who_decides_may_not_do_is_said_by_its_rights() {
        assert!(RIGHTS.approve && !RIGHTS.see_private && !RIGHTS.own && !RIGHTS.may_steer());
    }
}
