//! Every request of the wire, made by a program that joins the store: none does what a human must see first.

use super::{home, world};
use crate::peers::{Raw, meanwhile};
use crate::runtime::{Client, mark_done, parked, payload_of};
use crate::support::fake_server::FakeServer;
use passepartout::domain::sexp::plist::Plist;
use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::runtime::request_names;

/// What a request is tried with: a plan that waits, a rule that waits, and files that must stay as they are.
struct Targets {
    plan: String,
    rule: String,
    job: String,
    bashrc: String,
    memex: String,
    /// What exactly was shown of the skill “evil”, which waits.
    skill: String,
}

/// Returns the worst that can be asked for by a request. There is none without a row.
fn worst(name: &str, targets: &Targets) -> Vec<String> {
    let Targets { plan, rule, bashrc, memex, skill, job } = targets;
    let one = |text: String| vec![text];
    match name {
        // They only look.
        "hello" | "health-check" | "status" | "clients" | "plans" | "context" | "identity" | "rules" | "models"
        | "costs" | "skills" | "skill-reload" | "log" | "doctor" | "memory-log" | "memory-page" | "rescan"
        | "cassette-stop" => one(String::new()),
        "query" => one(":query \"diary\" :for :note :tier :open".to_string()),
        "trace" | "why" => one(format!(":plan \"{plan}\"")),
        "plan-page" | "plan-argument" => one(format!(":plan \"{plan}\" :name \"state\" :from 0")),
        "plan-token" => one(format!(":plan \"{plan}\" :shown \"{}\"", "0".repeat(64))),
        "edit-plan" => one(format!(":plan \"{plan}\" :name \"command\" :text \"rm -rf ~\"")),
        // A program may not have a private one looked at.
        "picture" => vec![format!(":file \"{memex}/diary.png\""), format!(":file \"{bashrc}\"")],
        "context-pin" => one(":id \"diary\" :pin :in".to_string()),
        "inspect" => one(":text \"what does the diary say?\"".to_string()),
        "model-list" => one(":provider \"evil\"".to_string()),
        // With words that may be right or not: it is refused for who asks.
        "key-test" => one(":provider \"fake\" :shown \"Say OK.\"".to_string()),
        "preset" => one(":name \"wide\"".to_string()),
        "cassette-record" => vec![format!(":file \"{bashrc}\""), format!(":file \"{memex}/tape.jsonl\"")],
        "setting-undo" => one(":change \"no-such\"".to_string()),
        "set-cascade" => one(":cascade (\"evil\") :keep t".to_string()),
        "jobs" => one(String::new()),
        // One that waits; letting it rest tightens, and is anybody's.
        "job" => ["confirm", "withdraw", "resume", "run"].map(|what| format!(":job \"{job}\" :do :{what}")).to_vec(),
        // Of the Emacs that the core runs in, and of a command that joined.
        "client-grant" => vec![":client 0 :grant :approve".to_string(), ":client 1 :grant :approve".to_string()],
        "client-withdraw" | "client-end" => vec![":client 0".to_string(), ":client 1".to_string()],
        "rule-confirm" | "rule-withdraw" => one(format!(":rule \"{rule}\"")),
        "skill-show" | "skill-test" | "skill-enable" | "skill-disable" => one(":skill \"vault\"".to_string()),
        "skill-template" => one(":skill \"../../.bashrc\" :kind \"gate\"".to_string()),
        "skill-confirm" => one(format!(":skill \"stranger\" :shown \"{skill}\"")),
        "doctor-fix" => one(":check :no-such".to_string()),
        "focus" => one(":line \"rm -rf ~\"".to_string()),
        "endorse" => one(":id \"no-such\"".to_string()),
        "memory-show" | "memory-diff" => one(":operation 1 :from 0".to_string()),
        "memory-rewind" => one(":operation 1 :reach :both".to_string()),
        "memory-do" => one(format!(":shown \"{}\"", "0".repeat(64))),
        "undo" | "redo" => one(":change \"no-such\"".to_string()),
        "blame" => one(":id \"diary\"".to_string()),
        "command" => vec![
            format!(":words (\"plans\" \"approve\" \"{plan}\")"),
            format!(":words (\"rules\" \"confirm\" \"{rule}\")"),
            ":words (\"ask\" \"do it\")".to_string(),
        ],
        "org-settings" => one(":todo-keywords (\"EVIL\")".to_string()),
        "provider-settings" => {
            one(":providers ((\"evil\" :kind \"openai\" :url \"https://evil.example\" :local t))".to_string())
        }
        "define-tool" => {
            let mark = "a".repeat(64);
            one(format!(":name \"evil\" :summary \"It is.\" :effect \"pure\" :mark \"{mark}\""))
        }
        "gateways" => one(String::new()),
        "servers" => one(String::new()),
        "gateway" => ["link", "pair", "allow", "let-decide", "decide-no-more", "unlink", "revoke"]
            .map(|what| format!(":platform \"telegram\" :do :{what} :sender \"1\" :token \"1:AAevil\""))
            .to_vec(),
        "tool-call" => ["memory-read", "org-set-todo", "shell"]
            .map(|tool| {
                let args = r#"{"id": "diary", "state": "", "command": "rm -rf ~", "explanation": "x"}"#;
                format!(":tool \"{tool}\" :arguments {} :name \"evil\"", Sexp::text(args))
            })
            .to_vec(),
        "undefine-tool" => one(":name \"shell\"".to_string()),
        other => panic!("the request {other} has no row: say what the worst is that can be asked for by it"),
    }
}

/// Makes a request and returns its answer.
fn ask(raw: &mut Raw, number: i64, name: &str, rest: &str) -> Sexp {
    raw.say(&format!("(:type :request :payload (:action :{name} :request {number} {rest}))"));
    loop {
        let text = raw.next().unwrap_or_else(|| panic!("{name} ended the connection"));
        let heard = Sexp::read(&text).expect("it can be read");
        let payload = payload_of(&heard);
        if payload.int_at("request") == Some(number) && heard.name_at("type") == Some("response") {
            return payload.clone();
        }
    }
}

#[test]
fn no_request_of_a_command_does_what_its_human_must_see() {
    let home = home();
    let wide = "* Wide\n:PROPERTIES:\n:ID: wide\n:PP_ALLOW: shell\n:END:\n";
    std::fs::write(home.file("wide.org"), wide).expect("a note that loosens");
    let work = "* Work\n:PROPERTIES:\n:ID: work\n:PP_RUN: do it\n:PP_CRON: * * * * *\n:PP_ALWAYS: t\n:END:\n";
    std::fs::write(home.file("work.org"), work).expect("a note that starts work");
    let server = FakeServer::start([mark_done()]);
    let folder = home.folder.path().join("elsewhere");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("stranger.org"), "* Mandates\nThe gates are off.\n").expect("a skill that waits");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
    let more = format!(
        ":skills-directories ({}) :shipped-skills {}",
        Sexp::text(folder.to_string_lossy()),
        Sexp::text(shipped)
    );
    let mut owner = Client::start_with(&home, Some(&server), "\"fake\"", &more);
    let skill = owner.request("skill-show", Plist::new().text("skill", "stranger"));
    let skill = skill.text_at("shown").expect("it is named").to_string();
    let plan = parked(&mut owner).text_at("id").expect("it has a name").to_string();
    let waiting = |owner: &mut Client| -> Vec<String> {
        let rules = owner.request("rules", Plist::new());
        let waits = rules.list_at("rules").iter().filter(|rule| rule.text_at("state") == Some("waiting"));
        waits.filter_map(|rule| rule.text_at("id").map(str::to_string)).collect()
    };
    let waits = waiting(&mut owner);
    assert_eq!(waits.len(), 2, "a line that loosens, and one that starts work");
    let rule = waits.first().cloned().expect("it waits for the user");
    let jobs = owner.request("jobs", Plist::new());
    let job = jobs.list_at("jobs").first().and_then(|job| job.text_at("job")).expect("it is found").to_string();
    let bashrc = home.folder.path().join("home/.bashrc").to_string_lossy().into_owned();
    let targets = Targets { plan: plan.clone(), rule: rule.clone(), bashrc, memex: home.file(""), skill, job };
    let (before, asked) = (world(&home), server.requests().len());
    let store = home.store();
    let try_all = |kind: &str, called: &str| {
        let mut raw = Raw::connect(&store);
        assert!(raw.next().is_some_and(|greeting| greeting.contains(":handshake")));
        raw.say(&format!("(:type :event :payload (:action :handshake :protocol 2 :as :{kind} :shows (\"plans\")))"));
        assert!(raw.next().is_some_and(|welcome| welcome.contains(called)));
        // What it says that is no request: that it approves, and that it is somebody else.
        raw.say(&format!("(:type :event :payload (:sensor :approval :plan \"{plan}\" :shown \"{}\"))", "0".repeat(64)));
        let mut answers = Vec::new();
        for name in request_names() {
            for rest in worst(name, &targets) {
                let number = answers.len() as i64 + 1;
                answers.push((name, ask(&mut raw, number, name, &rest)));
            }
        }
        answers
    };
    let roads = [("cli", "the command of process"), ("mcp", "mcp-"), ("acp", "acp-"), ("client", "client-")];
    let all: Vec<_> = meanwhile(&mut owner, || roads.map(|(kind, called)| try_all(kind, called)).into());
    let answers = &all[0];
    assert!(answers.len() > request_names().count());
    let refused = |name: &str| {
        let mut these = all.iter().flatten().filter(|(known, _)| *known == name);
        these.all(|(_, answer)| answer.text_at("error").is_some())
    };
    // A program sees nothing that may be private either.
    for name in ["plans", "plan-page", "plan-argument", "trace", "why", "log", "memory-log", "blame", "clients", "undo"]
    {
        let mut these = all[1..].iter().flatten().filter(|(known, _)| *known == name);
        assert!(these.all(|(_, answer)| answer.text_at("error").is_some()), "{name}");
    }
    for name in [
        "rule-confirm",
        "rule-withdraw",
        "skill-confirm",
        "skill-disable",
        "skill-template",
        "job",
        "plan-token",
        "edit-plan",
        "memory-do",
        "cassette-record",
        "key-test",
        "define-tool",
        "undefine-tool",
    ] {
        assert!(refused(name), "{name}: {answers:?}");
    }
    // Not for what they ask, but for who asks.
    for name in ["skill-confirm", "skill-disable"] {
        let why = answers.iter().find(|(known, _)| *known == name).and_then(|(_, answer)| answer.text_at("error"));
        assert!(why.is_some_and(|why| why.contains("in Emacs")), "{name}: {why:?}");
    }
    let skills = owner.request("skills", Plist::new());
    let state = |name: &str| {
        let line = skills.list_at("skills").iter().find(|line| line.text_at("name") == Some(name));
        line.and_then(|line| line.text_at("state")).map(str::to_string)
    };
    assert_eq!((state("stranger").as_deref(), state("vault").as_deref()), (Some("waiting"), Some("loaded")));
    assert_eq!(world(&home), before);
    assert_eq!(waiting(&mut owner), waits, "nobody confirmed it");
    let said: Vec<_> =
        answers.iter().filter(|(name, _)| *name == "job").filter_map(|(_, a)| a.text_at("error")).collect();
    assert!(said.len() == 4 && said.iter().all(|why| !why.contains("no such job")), "{said:?}");
    assert_eq!(server.requests().len(), asked, "no model was asked");
    owner.status("the plan still to wait", |status| status.int_at("pending") == Some(1));
    let tools = owner.request("doctor", Plist::new());
    assert!(!tools.to_string().contains("evil"), "{tools}");
}
