//! The provider: what it reads of a prompt, what it streams, and what it says after an act.

use super::memex::{memex, now, search};
use passepartout::domain::id::NodeId;
use passepartout::domain::label::Privacy;
use passepartout::domain::memory::view::View;
use passepartout::domain::port::{Call, Completion, Locality, Message, Profile, Prompt, Provider, Thinking};
use passepartout::domain::signal::Role;
use passepartout::edge::provider::recall::{RecallProvider, Source};
use std::sync::Arc;

struct Fixed(View);

impl Source for Fixed {
    fn view(&self) -> View {
        self.0.clone()
    }

    fn search(&self, query: &str, limit: usize) -> Vec<(NodeId, f32)> {
        search(&self.0, query, limit)
    }

    fn focus(&self) -> Option<NodeId> {
        Some(NodeId::new("tiles"))
    }

    fn narrowed(&self) -> Option<passepartout::domain::recall::answer::Narrowed> {
        None
    }
}

fn prompt(typed: &str, messages: Vec<Message>) -> Prompt {
    Prompt {
        system: "mark order tiles done".to_string(),
        stable: 0,
        parts: Vec::new(),
        messages,
        tools: Vec::new(),
        privacy: Privacy::Private,
        outside: Default::default(),
        nodes: Default::default(),
        marked: Vec::new(),
        typed: typed.to_string(),
        may_see: Privacy::Private,
        now: now(),
        asking: 0,
        room: 0,
        at_point: None,
    }
}

async fn complete(prompt: &Prompt) -> (Completion, Vec<String>) {
    let provider = RecallProvider::new(Arc::new(Fixed(memex())));
    let mut pieces = Vec::new();
    let done = provider.complete(prompt, &mut |piece| pieces.push(piece.text().to_string())).await.unwrap();
    (done, pieces)
}

#[tokio::test]
async fn it_reads_only_what_was_typed() {
    let said = |role, text: &str| Message::Text { role, text: text.to_string() };
    let history =
        vec![said(Role::User, "mark order tiles done"), said(Role::Assistant, "schedule order tiles for Friday")];
    let (done, pieces) = complete(&prompt("what is overdue?", history)).await;
    assert!(done.calls.is_empty());
    assert!(done.text.starts_with("Overdue (2):"), "{}", done.text);
    assert_eq!(pieces.concat(), done.text);
    assert_eq!(done.sources.iter().map(NodeId::as_str).collect::<Vec<_>>(), ["/m/home.org::*Family/Call mum", "tiles"]);
    assert_eq!(done.provider, "recall");
}

#[tokio::test]
async fn this_is_the_heading_at_point() {
    let (done, _) = complete(&prompt("mark this done", Vec::new())).await;
    assert!(done.text.starts_with("“This” is [[id:tiles][Order tiles]], the heading at point"), "{}", done.text);
    let [call] = done.calls.as_slice() else { panic!("{:?}", done.calls) };
    assert_eq!(call.args["id"], "tiles");
    assert_eq!(
        call.args["explanation"],
        "You asked to set “Order tiles” to DONE. “This” was the heading at point, “Order tiles”."
    );
}

#[tokio::test]
async fn it_is_built_in() {
    let provider = RecallProvider::new(Arc::new(Fixed(View::default())));
    assert_eq!(
        (provider.name(), provider.locality(), provider.url().as_str()),
        ("recall", Locality::Builtin, "built in")
    );
    let done = provider.complete(&prompt("what is due?", Vec::new()), &mut |_| {}).await.unwrap();
    assert!(done.text.starts_with("Nothing is due."), "{}", done.text);
}

#[tokio::test]
async fn after_an_act_it_says_what_came_of_it_and_proposes_nothing() {
    for (result, expected) in [
        ("“Order tiles” is DONE now.", "org-set-todo: “Order tiles” is DONE now."),
        ("failed: the file is read-only", "I could not change the keyword: the file is read-only"),
        (
            "denied: the user said no: not yet. Nothing was done.",
            "You denied it, so nothing was changed. Your reason: not yet.",
        ),
        ("denied: the user said no: no. Nothing was done.", "You denied it, so nothing was changed."),
        ("denied: the user said no. Nothing was done.", "You denied it, so nothing was changed."),
        ("stale: home.org has changed", "Nothing was done: home.org has changed"),
        ("cancelled: by the user", "It was stopped: by the user"),
        ("", "org-set-todo was carried out."),
    ] {
        let call = Call { id: "recall-1".to_string(), tool: "org-set-todo".to_string(), args: serde_json::Map::new() };
        let messages = vec![
            Message::Text { role: Role::User, text: "mark order tiles done".to_string() },
            Message::Calls { text: String::new(), calls: vec![call], thinking: Thinking::default() },
            Message::Result {
                call: "recall-1".to_string(),
                tool: "org-set-todo".to_string(),
                text: result.to_string(),
            },
        ];
        let (done, pieces) = complete(&prompt("mark order tiles done", messages)).await;
        assert!(done.calls.is_empty(), "{result}");
        assert_eq!(done.text, expected);
        assert_eq!(pieces.concat(), done.text);
    }
}
