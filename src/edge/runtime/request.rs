//! What a client can ask for: every request with its name on the wire, the rights that it needs, and whether it only looks.

use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::Rights;

/// Nothing but to be there.
const NOTHING: Rights = Rights::NONE;
/// To look at what is open.
const READ: Rights = Rights { read: true, ..Rights::NONE };
/// To look at what may be private.
const PRIVATE: Rights = Rights { read: true, see_private: true, ..Rights::NONE };
/// To change how the core works, or to have something proposed.
const PROPOSE: Rights = Rights { read: true, propose: true, ..Rights::NONE };
/// To have something proposed and be shown what may be private.
const BOTH: Rights = Rights { propose: true, ..PRIVATE };
/// To do what a human does at the core itself, for which nothing is granted to a program.
const OWN: Rights = Rights { own: true, ..BOTH };

/// What a request does to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// It only looks, and nothing of what it finds leaves this machine.
    Looks,
    /// Of a client that is not the owner's Emacs it does not count.
    Ignored,
    /// It sends, changes, or has something judged.
    Acts,
}

/// Makes the list of requests: there is none without a name, its rights and what it does.
macro_rules! requests {
    ($($variant:ident = $name:literal, $needs:expr, $does:expr;)*) => {
        /// A request, by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Request {
            $(#[doc = $name] $variant,)*
        }

        impl Request {
            /// All of them.
            pub(super) const ALL: &[Request] = &[$(Request::$variant,)*];

            /// Returns the name on the wire.
            pub(super) fn name(self) -> &'static str {
                match self { $(Request::$variant => $name,)* }
            }

            /// Returns the rights that a channel needs to be answered.
            pub(super) fn needs(self) -> Rights {
                match self { $(Request::$variant => $needs,)* }
            }

            fn does(self) -> Does {
                match self { $(Request::$variant => $does,)* }
            }
        }
    };
}

requests! {
    Hello = "hello", NOTHING, Does::Looks;
    HealthCheck = "health-check", READ, Does::Looks;
    // Whom they are about is looked at where they are carried out: an Emacs of the user's alone.
    Clients = "clients", BOTH, Does::Looks;
    ClientGrant = "client-grant", BOTH, Does::Acts;
    ClientWithdraw = "client-withdraw", BOTH, Does::Acts;
    ClientEnd = "client-end", BOTH, Does::Acts;
    Status = "status", READ, Does::Looks;
    Plans = "plans", PRIVATE, Does::Looks;
    PlanPage = "plan-page", PRIVATE, Does::Looks;
    PlanArgument = "plan-argument", PRIVATE, Does::Looks;
    PlanToken = "plan-token", BOTH, Does::Acts;
    EditPlan = "edit-plan", BOTH, Does::Acts;
    // What may be private is left out where the channel may not see it.
    Query = "query", READ, Does::Looks;
    Context = "context", READ, Does::Acts;
    ContextPin = "context-pin", PROPOSE, Does::Acts;
    // A private one is refused where the channel may not see it.
    Picture = "picture", PRIVATE, Does::Looks;
    Inspect = "inspect", PRIVATE, Does::Acts;
    Identity = "identity", READ, Does::Acts;
    Trace = "trace", PRIVATE, Does::Looks;
    Why = "why", PRIVATE, Does::Looks;
    Rules = "rules", PRIVATE, Does::Looks;
    Jobs = "jobs", PRIVATE, Does::Looks;
    Job = "job", PROPOSE, Does::Acts;
    Gateways = "gateways", PRIVATE, Does::Looks;
    // What lets somebody in needs the user's Emacs on top.
    Gateway = "gateway", PROPOSE, Does::Acts;
    Servers = "servers", PRIVATE, Does::Looks;
    Models = "models", READ, Does::Looks;
    ModelList = "model-list", PROPOSE, Does::Acts;
    KeyTest = "key-test", OWN, Does::Acts;
    // Titles of private headings are left out where the channel may not see them.
    Costs = "costs", READ, Does::Looks;
    Preset = "preset", PROPOSE, Does::Acts;
    CassetteRecord = "cassette-record", PROPOSE, Does::Acts;
    CassetteStop = "cassette-stop", PROPOSE, Does::Acts;
    SetCascade = "set-cascade", PROPOSE, Does::Acts;
    SettingUndo = "setting-undo", PROPOSE, Does::Acts;
    RuleConfirm = "rule-confirm", PROPOSE, Does::Acts;
    RuleWithdraw = "rule-withdraw", PROPOSE, Does::Acts;
    Skills = "skills", PRIVATE, Does::Looks;
    SkillShow = "skill-show", PRIVATE, Does::Looks;
    SkillTemplate = "skill-template", PRIVATE, Does::Looks;
    SkillTest = "skill-test", PROPOSE, Does::Acts;
    SkillReload = "skill-reload", PROPOSE, Does::Acts;
    SkillConfirm = "skill-confirm", PROPOSE, Does::Acts;
    SkillDisable = "skill-disable", PROPOSE, Does::Acts;
    SkillEnable = "skill-enable", PROPOSE, Does::Acts;
    Log = "log", PRIVATE, Does::Looks;
    Doctor = "doctor", PRIVATE, Does::Looks;
    DoctorFix = "doctor-fix", OWN, Does::Acts;
    Focus = "focus", PROPOSE, Does::Acts;
    Endorse = "endorse", PROPOSE, Does::Acts;
    MemoryLog = "memory-log", PRIVATE, Does::Looks;
    MemoryShow = "memory-show", PRIVATE, Does::Looks;
    MemoryDiff = "memory-diff", PRIVATE, Does::Looks;
    MemoryPage = "memory-page", PRIVATE, Does::Looks;
    MemoryRewind = "memory-rewind", BOTH, Does::Acts;
    MemoryDo = "memory-do", BOTH, Does::Acts;
    Undo = "undo", BOTH, Does::Acts;
    Redo = "redo", BOTH, Does::Acts;
    Blame = "blame", PRIVATE, Does::Looks;
    Rescan = "rescan", PROPOSE, Does::Acts;
    // A command may print what may be private.
    Command = "command", OWN, Does::Acts;
    OrgSettings = "org-settings", PROPOSE, Does::Ignored;
    ProviderSettings = "provider-settings", PROPOSE, Does::Ignored;
    DefineTool = "define-tool", PROPOSE, Does::Acts;
    UndefineTool = "undefine-tool", PROPOSE, Does::Acts;
    // What is private is left out, whatever the channel may see.
    ToolCall = "tool-call", PROPOSE, Does::Acts;
}

impl Request {
    /// Reads the name of a message; `None` when there is no such request.
    pub(super) fn read(payload: &Sexp) -> Option<Request> {
        let name = payload.name_at("action")?;
        Request::ALL.iter().copied().find(|request| request.name() == name)
    }

    /// Returns why a channel with these rights gets no answer, if it gets none. To ask the providers, or to try what the
    /// gates hold, is more than a look.
    pub(super) fn refusal(self, payload: &Sexp, rights: Rights) -> Option<&'static str> {
        let needs = self.needs();
        rights.missing(Rights { propose: needs.propose || tries(payload), ..needs })
    }

    /// Returns whether it only looks: it does not ask the providers, and what it finds goes into no note, as which notes
    /// are private there only the Emacs knows that has them.
    pub(super) fn looks(self, payload: &Sexp) -> bool {
        let into_a_note = self == Request::Query && payload.name_at("for") != Some("screen");
        matches!(self.does(), Does::Looks | Does::Ignored) && !into_a_note && !tries(payload)
    }
}

/// Returns whether the doctor is asked to try things out, too.
fn tries(payload: &Sexp) -> bool {
    ["providers", "gates"].into_iter().any(|flag| payload.flag_at(flag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(request: Request, more: &str) -> Sexp {
        Sexp::read(&format!("(:action :{} {more})", request.name())).unwrap()
    }

    #[test]
    fn nobody_without_rights_is_answered_and_nobody_without_the_right_to_see_what_is_private_is_shown_it() {
        let open = Rights { see_private: false, ..Rights::HUMAN };
        let mut shown = Vec::new();
        for request in Request::ALL {
            let plain = ask(*request, "");
            assert_eq!(Request::read(&plain), Some(*request));
            assert_eq!(request.refusal(&plain, Rights::NONE).is_none(), *request == Request::Hello, "{request:?}");
            assert_eq!(request.refusal(&plain, Rights::HUMAN), None, "{request:?}");
            shown.extend(request.refusal(&plain, open).is_none().then_some(request.name()));
            // Who may only look changes nothing and has nothing sent.
            let looker = Rights { read: true, see_private: true, ..Rights::NONE };
            let acts = request.does() == Does::Acts && request.refusal(&plain, looker).is_none();
            assert!(!acts || matches!(request, Request::Context | Request::Inspect | Request::Identity), "{request:?}");
        }
        assert_eq!(
            shown.join(" "),
            "hello health-check status query context context-pin identity job gateway models model-list costs preset cassette-record cassette-stop set-cascade setting-undo rule-confirm \
             rule-withdraw skill-test skill-reload skill-confirm skill-disable skill-enable focus endorse rescan org-settings provider-settings define-tool undefine-tool tool-call"
        );
        assert_eq!(Request::read(&Sexp::read("(:action :no-such)").unwrap()), None);
    }

    #[test]
    fn what_asks_providers_or_tries_the_gates_is_more_than_a_look() {
        let looker = Rights { read: true, see_private: true, ..Rights::NONE };
        for more in [":providers t", ":gates t"] {
            let tries = ask(Request::Doctor, more);
            assert!(!Request::Doctor.looks(&tries));
            assert!(Request::Doctor.refusal(&tries, looker).is_some());
            assert_eq!(Request::Doctor.refusal(&tries, Rights { propose: true, ..looker }), None);
        }
        assert!(Request::Doctor.looks(&ask(Request::Doctor, "")));
        assert!(Request::Query.looks(&ask(Request::Query, ":for :screen")));
        assert!(!Request::Query.looks(&ask(Request::Query, ":for :note")));
    }
}
