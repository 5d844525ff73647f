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
    bashrc: String,
    memex: String,
}

/// Returns the worst that can be asked for by a request. There is none without a row.
fn worst(name: &str, targets: &Targets) -> Vec<String> {
    let Targets { plan, rule, bashrc, memex } = targets;
    let one = |text: String| vec![text];
    match name {
        // They only look.
        "hello" | "status" | "plans" | "context" | "identity" | "rules" | "models" | "costs" | "log" | "doctor"
        | "memory-log" | "memory-page" | "rescan" | "cassette-stop" => one(String::new()),
        "query" => one(":query \"diary\" :for :note :tier :open".to_string()),
        "trace" | "why" => one(format!(":plan \"{plan}\"")),
        "plan-page" | "plan-argument" => one(format!(":plan \"{plan}\" :name \"state\" :from 0")),
        "plan-token" => one(format!(":plan \"{plan}\" :shown \"{}\"", "0".repeat(64))),
        "edit-plan" => one(format!(":plan \"{plan}\" :name \"command\" :text \"rm -rf ~\"")),
        "context-pin" => one(":id \"diary\" :pin :in".to_string()),
        "inspect" => one(":text \"what does the diary say?\"".to_string()),
        "model-list" => one(":provider \"evil\"".to_string()),
        "preset" => one(":name \"wide\"".to_string()),
        "cassette-record" => vec![format!(":file \"{bashrc}\""), format!(":file \"{memex}/tape.jsonl\"")],
        "set-cascade" => one(":cascade (\"evil\") :keep t".to_string()),
        "rule-confirm" | "rule-withdraw" => one(format!(":rule \"{rule}\"")),
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
    let server = FakeServer::start([mark_done()]);
    let mut owner = Client::start(&home, Some(&server), "\"fake\"");
    let plan = parked(&mut owner).text_at("id").expect("it has a name").to_string();
    let waiting = |owner: &mut Client| -> Vec<String> {
        let rules = owner.request("rules", Plist::new());
        let waits = rules.list_at("rules").iter().filter(|rule| rule.text_at("state") == Some("waiting"));
        waits.filter_map(|rule| rule.text_at("id").map(str::to_string)).collect()
    };
    let rule = waiting(&mut owner).pop().expect("it waits for the user");
    let bashrc = home.folder.path().join("home/.bashrc").to_string_lossy().into_owned();
    let targets = Targets { plan: plan.clone(), rule: rule.clone(), bashrc, memex: home.file("") };
    let (before, asked) = (world(&home), server.requests().len());
    let store = home.store();
    let answers = meanwhile(&mut owner, || {
        let mut raw = Raw::connect(&store);
        assert!(raw.next().is_some_and(|greeting| greeting.contains(":handshake")));
        raw.say("(:type :event :payload (:action :handshake :protocol 2 :as :cli))");
        assert!(raw.next().is_some_and(|welcome| welcome.contains("the command of process")));
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
    });
    assert!(answers.len() > request_names().count());
    let refused =
        |name: &str| answers.iter().filter(|(known, _)| *known == name).all(|(_, a)| a.text_at("error").is_some());
    for name in [
        "rule-confirm",
        "rule-withdraw",
        "plan-token",
        "edit-plan",
        "memory-do",
        "cassette-record",
        "define-tool",
        "undefine-tool",
    ] {
        assert!(refused(name), "{name}: {answers:?}");
    }
    assert_eq!(world(&home), before);
    assert_eq!(waiting(&mut owner), [rule], "nobody confirmed it");
    assert_eq!(server.requests().len(), asked, "no model was asked");
    owner.status("the plan still to wait", |status| status.int_at("pending") == Some(1));
    let tools = owner.request("doctor", Plist::new());
    assert!(!tools.to_string().contains("evil"), "{tools}");
}
