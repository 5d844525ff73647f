//! Who may approve a plan, when, and how often.

use jiff::{Timestamp, ToSpan};
use passepartout::domain::action::Action;
use passepartout::domain::gate::plan::{About, Approval, FlightPlan, PlanStatus, Refused};
use passepartout::domain::gate::{Facts, Opinion, Reason, Trace, Verdict};
use passepartout::domain::id::{PlanId, SessionId, TurnId};
use passepartout::domain::label::{Labels, Privacy};
use passepartout::domain::signal::{Origin, Rights, Source};
use passepartout::domain::tool::Toolbox;

fn plan() -> FlightPlan {
    let mut args = serde_json::Map::new();
    args.insert("command".into(), "rm old.txt".into());
    let action = Action::new(&Toolbox::builtin(), "shell", args, Some("To tidy up the folder."), Labels::MODEL)
        .expect("a test's own action is well-formed");
    let opinion = Opinion { gate: "permissions".into(), priority: 600, verdict: Verdict::Ask(Reason::new("It asks.")) };
    FlightPlan {
        id: PlanId("P1".into()),
        title: "Run: rm old.txt".into(),
        trace: Trace { action: action.hash(), opinions: vec![opinion] },
        action,
        facts: Facts::default().hash(),
        body: "rm old.txt".into(),
        diff: String::new(),
        session: SessionId("s".into()),
        turn: TurnId("t".into()),
        call: "c".into(),
        created: Timestamp::UNIX_EPOCH,
        expires: Timestamp::UNIX_EPOCH + 1.hour(),
        status: PlanStatus::Pending,
        about: About { privacy: Privacy::Open, ..About::default() },
    }
}

fn from(source: Source, rights: Rights) -> Origin {
    Origin { source, session: SessionId("s".into()), rights }
}

fn try_to(plan: &FlightPlan, shown: &str, origin: &Origin, at: Timestamp) -> Result<(), Refused> {
    Approval::new(plan, shown, origin, at).map(|_| ())
}

#[test]
fn only_a_humans_channel_approves() {
    let (plan, now) = (plan(), Timestamp::UNIX_EPOCH);
    for source in [Source::Emacs, Source::Cli, Source::Client, Source::Gateway, Source::Clock, Source::System] {
        let shown = plan.shown();
        assert_eq!(try_to(&plan, &shown, &from(source, Rights::HUMAN), now), Ok(()));
        // Every other right together is not this one.
        let rights = Rights { approve: false, ..Rights::HUMAN };
        for rights in [rights, Rights::NONE] {
            assert_eq!(try_to(&plan, &shown, &from(source, rights), now), Err(Refused::NoRight), "{source:?}");
        }
    }
}

#[test]
fn a_messenger_approves_nothing_that_stays_on_this_machine() {
    let now = Timestamp::UNIX_EPOCH;
    for (privacy, counts) in
        [(Privacy::Open, true), (Privacy::Warn, true), (Privacy::Ask, false), (Privacy::Private, false)]
    {
        let plan = FlightPlan { about: About { privacy, ..About::default() }, ..plan() };
        for source in [Source::Emacs, Source::Cli, Source::Client, Source::Gateway] {
            let expected = match counts || source != Source::Gateway {
                true => Ok(()),
                false => Err(Refused::Kept(PlanId("P1".into()))),
            };
            assert_eq!(try_to(&plan, &plan.shown(), &from(source, Rights::HUMAN), now), expected, "{privacy:?}");
        }
    }
    let unknown = FlightPlan { about: About::default(), ..plan() };
    let chat = from(Source::Gateway, Rights::HUMAN);
    assert_eq!(try_to(&unknown, &unknown.shown(), &chat, now), Err(Refused::Kept(PlanId("P1".into()))));
}

#[test]
fn an_approval_is_in_time_for_what_was_shown_and_counts_once() {
    let human = from(Source::Emacs, Rights::HUMAN);
    let shown = plan().shown();
    let start = Timestamp::UNIX_EPOCH;
    assert_eq!(try_to(&plan(), &shown, &human, start + 3599.seconds()), Ok(()));
    for late in [start + 1.hour(), start + 2.hours()] {
        assert_eq!(try_to(&plan(), &shown, &human, late), Err(Refused::Expired(PlanId("P1".into()))));
    }
    let text = |status: &PlanStatus| status.name();
    for status in [
        PlanStatus::Approved,
        PlanStatus::Denied(String::new()),
        PlanStatus::Done(String::new()),
        PlanStatus::Failed(String::new()),
        PlanStatus::Stale(String::new()),
        PlanStatus::Expired,
        PlanStatus::Replaced(PlanId("P2".into())),
    ] {
        let refused = Refused::NotPending(PlanId("P1".into()), text(&status));
        assert_eq!(try_to(&FlightPlan { status, ..plan() }, &shown, &human, start), Err(refused));
    }
    let other = FlightPlan { body: "rm other.txt".into(), ..plan() };
    for (plan, shown) in [(other, shown.as_str()), (plan(), ""), (plan(), "0"), (plan(), &shown[1..])] {
        assert_eq!(try_to(&plan, shown, &human, start), Err(Refused::NotShown(PlanId("P1".into()))));
    }
}

#[test]
fn anything_else_that_is_shown_has_another_name() {
    let shown = plan().shown();
    let changed = [
        FlightPlan { id: PlanId("P2".into()), ..plan() },
        FlightPlan { body: "rm old.txt ".into(), ..plan() },
        FlightPlan { diff: "-a".into(), ..plan() },
        FlightPlan { title: "Run: ls".into(), ..plan() },
        FlightPlan { facts: Facts { unknown: vec!["x".into()], ..Facts::default() }.hash(), ..plan() },
    ];
    for other in changed {
        assert_ne!(other.shown(), shown, "{other:?}");
    }
}
