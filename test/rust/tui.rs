//! The terminal client's core and its picture: events in, effects and screens out, with no terminal and no socket.

use passepartout::domain::sexp::reader::Sexp;
use passepartout::edge::tui::aside::Brought;
use passepartout::edge::tui::kept::Kept;
use passepartout::edge::tui::parts::{Over, Said, Talk};
use passepartout::edge::tui::reader::Of;
use passepartout::edge::tui::state::{Effect, Event, Linked, State};
use passepartout::edge::tui::theme::Theme;
use passepartout::edge::tui::view::draw;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A client in a window of a size, with its connection.
struct Desk {
    state: State,
    effects: Vec<Effect>,
}

impl Desk {
    fn new(columns: u16, rows: u16) -> Desk {
        let history = vec!["older question".to_string()];
        let state = State::new((columns, rows), Theme::None, history, Some("/project".to_string()), [7; 32]);
        let mut desk = Desk { state, effects: Vec::new() };
        let (version, here) = ("0.1.0".to_string(), false);
        desk.take(Event::Linked(Linked::Up { version, here, doubt: None }));
        desk.effects.clear();
        desk
    }

    fn take(&mut self, event: Event) {
        self.effects.extend(self.state.update(event));
    }

    fn hear(&mut self, text: &str) {
        self.take(Event::Heard(Sexp::read(text).unwrap_or_else(|why| panic!("{text}: {why}"))));
    }

    /// Types keys: characters, or names in pointed brackets.
    fn keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let (name, behind) = match rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
                Some((name, behind)) => (Some(name), behind),
                None => (None, &rest[c.len_utf8()..]),
            };
            let (code, modifiers) = match name {
                None => (KeyCode::Char(c), KeyModifiers::NONE),
                Some("enter") => (KeyCode::Enter, KeyModifiers::NONE),
                Some("esc") => (KeyCode::Esc, KeyModifiers::NONE),
                Some("tab") => (KeyCode::Tab, KeyModifiers::NONE),
                Some("up") => (KeyCode::Up, KeyModifiers::NONE),
                Some("down") => (KeyCode::Down, KeyModifiers::NONE),
                Some("pgup") => (KeyCode::PageUp, KeyModifiers::NONE),
                Some(other) => {
                    let key = other.strip_prefix("c-").and_then(|key| key.chars().next()).expect("a key");
                    (KeyCode::Char(key), KeyModifiers::CONTROL)
                }
            };
            self.take(Event::Key(KeyEvent::new(code, modifiers)));
            rest = behind;
        }
    }

    /// Returns what was sent since the last look, in short: the sensor or action with its words.
    fn sent(&mut self) -> Vec<String> {
        let short = |effect: Effect| match effect {
            Effect::Send(text) => {
                let message = Sexp::read(&text).expect("what is sent can be read");
                let payload = message.get("payload").expect("a payload").clone();
                let name = payload.name_at("sensor").or(payload.name_at("action")).expect("a name").to_string();
                let words = ["text", "line", "code", "plan", "query"].iter().find_map(|key| payload.text_at(key));
                Some(words.map(|words| format!("{name} {words}")).unwrap_or(name))
            }
            Effect::Keep(_) | Effect::KeepSaid(..) | Effect::BeginAnew => None,
            other => Some(format!("{other:?}")),
        };
        std::mem::take(&mut self.effects).into_iter().filter_map(short).collect()
    }

    /// Takes nothing of what was sent since the last look; returns how much it was.
    fn refuse(&mut self) -> usize {
        let unsent: Vec<Effect> = std::mem::take(&mut self.effects);
        let unsent = unsent.iter().filter_map(|effect| match effect {
            Effect::Send(text) => Some(text),
            _ => None,
        });
        unsent.map(|text| self.state.unsent(text)).count()
    }

    /// Draws, and lets the state know that it stands there.
    fn screen(&mut self) -> String {
        let (columns, rows) = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a picture");
        terminal.draw(|frame| draw(frame, &mut self.state)).expect("it is drawn");
        let buffer = terminal.backend().buffer().clone();
        self.take(Event::Drawn);
        let mut lines = Vec::new();
        for row in 0..rows {
            let mut line = String::new();
            let mut column = 0;
            while column < columns {
                let symbol = buffer[(column, row)].symbol();
                line.push_str(symbol);
                column += u16::try_from(passepartout::edge::tui::wrap::columns(symbol).max(1)).expect("a width");
            }
            lines.push(line.trim_end().to_string());
        }
        lines.join("\n")
    }

    fn answer(&mut self, turn: &str, text: &str, rest: &str) {
        self.hear(&format!("(:type :event :payload (:action :turn-started :turn \"{turn}\"))"));
        self.hear(&format!("(:type :stream-chunk :payload (:turn \"{turn}\" :text \"{text}\"))"));
        self.hear(&format!(
            "(:type :response :payload (:action :turn-done :turn \"{turn}\" :status \"answered\" {rest}))"
        ));
    }
}

/// A plan with two pages, as the core tells it.
fn offer(desk: &mut Desk) {
    let plans = "(:id \"P1\" :title \"Run: ls\" :status \"pending\" :badge \"irreversible\")";
    desk.hear("(:type :event :payload (:action :plan-parked))");
    let mut asked = desk.effects.iter().filter_map(|effect| match effect {
        Effect::Send(text) => Sexp::read(text).ok()?.get("payload")?.int_at("request"),
        _ => None,
    });
    let number = asked.next_back().expect("the plans are asked for");
    desk.hear(&format!("(:type :response :payload (:action :plans :request {number} :plans ({plans})))"));
    desk.effects.clear();
}

/// Answers the last request for a page.
fn page(desk: &mut Desk, words: &str) {
    let last = desk.effects.iter().rev().find_map(|effect| match effect {
        Effect::Send(text) => Sexp::read(text).ok()?.get("payload")?.int_at("request"),
        _ => None,
    });
    let number = last.expect("a page was asked for");
    desk.hear(&format!("(:type :response :payload (:action :plan-page :request {number} :plan \"P1\" {words}))"));
}

#[test]
fn what_is_typed_is_sent_or_done_here() {
    for (keys, sent) in [
        ("what is due?<enter>", vec!["user-input what is due?"]),
        ("one\\<enter>two<enter>", vec!["user-input one\ntwo"]),
        ("<enter>  <enter>", vec![]),
        ("/undo<enter>", vec!["user-command undo"]),
        ("/help tags<enter>", vec!["user-command help tags"]),
        ("/plnas<enter>", vec![]),
        ("//plnas<enter>", vec!["user-command plnas"]),
        ("/gardening-of-mine<enter>", vec!["user-command gardening-of-mine"]),
        ("/eval (+ 1 2)<enter>", vec!["repl-eval (+ 1 2)"]),
        ("/cost<enter>", vec!["costs"]),
        ("/context dropped<enter>", vec!["context"]),
        ("/why p1<enter>", vec!["why P1"]),
        ("/rewind x<enter>", vec![]),
        ("/rewind 7<enter>", vec!["memory-rewind"]),
        ("/clear<enter>", vec!["interrupt"]),
        ("/quit<enter>", vec!["Quit"]),
        ("/reconnect<enter>", vec!["Reconnect"]),
        ("<c-d>", vec!["Quit"]),
        ("x<c-d><c-u><c-c>", vec![]),
        ("<c-z><c-l>", vec!["Suspend", "Repaint"]),
        ("ab<c-x>b<c-x>q", vec![]),
        ("/he<tab>tags<enter>", vec!["user-command help tags"]),
        ("<c-p>undo<enter>", vec!["user-command undo"]),
        ("<up><enter>", vec!["user-input older question"]),
        ("old<up>s<enter>", vec!["user-input older questions"]),
        ("/mouse<enter>", vec!["Mouse(false)"]),
        ("?<esc>/theme light<enter>", vec![]),
    ] {
        let mut desk = Desk::new(80, 24);
        desk.keys(keys);
        assert_eq!(desk.sent(), sent, "{keys}");
    }
}

#[test]
fn without_a_connection_nothing_is_sent_and_what_is_typed_stays() {
    let mut desk = Desk::new(80, 24);
    desk.keys("/undo<enter>");
    assert_eq!(desk.sent(), ["user-command undo"]);
    desk.take(Event::Linked(Linked::Down("it ended".to_string(), 2)));
    let screen = desk.screen();
    assert!(
        screen.contains("connection is lost: it ended") && screen.contains("look before you ask again"),
        "{screen}"
    );
    assert!(!screen.contains("asked again as soon as"), "{screen}");
    assert!(!desk.state.busy());
    for typed in ["another", "/undo", "/deny P1 it is wrong", "/why P1", "/eval (+ 1 2)", "/help tags", "/doctor"] {
        desk.keys(&format!("{typed}<enter>"));
        assert_eq!((desk.sent(), desk.state.input.text()), (vec![], typed));
        assert!(desk.screen().contains("what you typed stays"), "{typed}");
        desk.keys("<c-c>");
    }
    desk.keys("/status<enter>");
    assert!(desk.screen().contains("Not connected") && desk.state.input.is_empty());
    desk.keys("another<enter>");
    assert_eq!((desk.sent(), desk.state.input.text()), (vec![], "another"));
    let (version, here) = ("0.1.0".to_string(), true);
    desk.take(Event::Linked(Linked::Up { version, here, doubt: Some("no terminal".to_string()) }));
    assert_eq!(desk.sent(), ["hello", "status", "plans"]);
    desk.keys("<enter>");
    assert_eq!(desk.sent(), ["user-input another"]);
}

/// Loses the connection, and has it back.
fn lose(desk: &mut Desk) {
    desk.take(Event::Linked(Linked::Down("it ended".to_string(), 1)));
    assert!(!desk.state.busy());
    let (version, here) = ("0.1.0".to_string(), false);
    desk.take(Event::Linked(Linked::Up { version, here, doubt: None }));
}

/// Returns the questions that were sent since the last look, as they were sent.
fn questions(desk: &mut Desk) -> Vec<String> {
    let question = |effect: Effect| match effect {
        Effect::Send(text) => Some(text).filter(|text| text.contains(":user-input")),
        _ => None,
    };
    std::mem::take(&mut desk.effects).into_iter().filter_map(question).collect()
}

#[test]
fn a_question_that_was_lost_is_asked_again_by_its_name_and_no_other() {
    let mut desk = Desk::new(80, 30);
    desk.keys("first<enter>");
    let first = questions(&mut desk);
    desk.hear("(:type :event :payload (:action :turn-started :turn \"T1\"))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :text \"half of\"))");
    desk.keys("second<enter>");
    let second = questions(&mut desk);
    let once = |text: &str| {
        let message = Sexp::read(text).expect("a message");
        message.get("payload").and_then(|payload| payload.text_at("once")).expect("a name").to_string()
    };
    assert!(once(&first[0]).len() == 64 && once(&first[0]) != once(&second[0]));
    desk.keys("/undo<enter>");
    desk.effects.clear();
    lose(&mut desk);
    let screen = desk.screen();
    assert!(screen.contains("asked again as soon as") && screen.contains("look before you ask again"), "{screen}");
    assert_eq!(questions(&mut desk), [first[0].clone(), second[0].clone()], "in their order, and as they were");
    // The one was begun, and the other never came there.
    desk.hear("(:type :event :payload (:action :turn-started :turn \"T3\"))");
    let told = ":status \"failed\" :before \"T1\" :text \"This was asked before, and nobody was asked again.\"";
    desk.hear(&format!("(:type :response :payload (:action :turn-done :turn \"T3\" {told}))"));
    desk.answer("T4", "It is ten.", "");
    let screen = desk.screen();
    assert!(screen.contains("This was asked before") && screen.contains("It is ten."), "{screen}");
    assert!(screen.contains("To ask it anew, send it again"), "nobody here gave it a name: {screen}");
    assert_eq!(wanted(&mut desk), ["keep 2"], "nothing is known of what was said before");
    assert!(!desk.state.busy());
    lose(&mut desk);
    assert_eq!(questions(&mut desk), [""; 0], "what was answered is over");
}

#[test]
fn of_several_that_are_asked_again_the_one_that_is_not_taken_is_taken_back() {
    let mut desk = Desk::new(80, 30);
    desk.keys("first<enter>second<enter>");
    desk.effects.clear();
    lose(&mut desk);
    let sent = questions(&mut desk);
    desk.keys("draft");
    desk.state.unsent(&sent[0]);
    let screen = desk.screen();
    assert!(screen.contains("“first” was not sent") && desk.state.input.text() == "draft", "{screen}");
    desk.answer("T2", "It is ten.", "");
    let kept = desk.effects.iter().find_map(|effect| match effect {
        Effect::KeepSaid(_, said) => Some(said.iter().map(|said| said.text.as_str()).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(kept, Some(vec!["second", "It is ten."]));
    assert!(!desk.state.busy());
}

#[test]
fn what_is_let_be_is_not_asked_again() {
    for (keys, says) in [("<c-c>", "not asked again"), ("/clear<enter>", ""), ("", "")] {
        let mut desk = Desk::new(80, 30);
        desk.keys("first<enter>");
        let first = questions(&mut desk);
        desk.take(Event::Linked(Linked::Down("it ended".to_string(), 1)));
        desk.keys(keys);
        assert!(desk.screen().contains(says), "{keys}");
        let (version, here) = ("0.1.0".to_string(), false);
        desk.take(Event::Linked(Linked::Up { version, here, doubt: None }));
        let expected = if keys.is_empty() { first } else { Vec::new() };
        assert_eq!(questions(&mut desk), expected, "{keys}");
    }
    // An owner that is ending begins nothing: the next one is asked.
    let mut desk = Desk::new(80, 30);
    desk.keys("first<enter>");
    let first = questions(&mut desk);
    desk.hear("(:type :event :payload (:action :turn-started :turn \"T1\"))");
    desk.hear("(:type :response :payload (:action :turn-done :turn \"T1\" :status \"failed\" :again t))");
    assert!(desk.screen().contains("this is asked again when another one has the notes"));
    assert_eq!(wanted(&mut desk), [""; 0]);
    lose(&mut desk);
    assert_eq!(questions(&mut desk), first);
}

#[test]
fn what_is_being_done_stands_in_the_panel_and_at_the_foot_until_it_is_over() {
    let mut desk = Desk::new(140, 30);
    desk.keys("first<enter>");
    desk.hear("(:type :event :payload (:action :turn-started :turn \"T1\"))");
    let act = |turn: &str, state: &str, more: &str| {
        format!(
            "(:type :event :payload (:action :act :turn \"{turn}\" :number 0 :state :{state} :tool \"shell\" {more}))"
        )
    };
    desk.hear(&act("T9", "begun", ":summary \"Run: of another\""));
    assert!(!desk.screen().contains("Being done"));
    desk.hear(&act("T1", "begun", ":summary \"Run: make\tall\""));
    let screen = desk.screen();
    assert!(screen.contains("Being done") && screen.matches("Run: make all").count() == 2, "{screen}");
    assert!(screen.contains("Run: make all, Esc stops"), "{screen}");
    desk.hear(&act("T1", "done", ":summary \"Run: make all\""));
    assert!(!desk.screen().contains("make all"));
    desk.hear(&act("T1", "begun", ""));
    assert!(desk.screen().contains("shell, Esc stops"), "of what is not shown there is the tool");
    desk.hear("(:type :response :payload (:action :turn-done :turn \"T1\" :status \"interrupted\"))");
    assert!(!desk.screen().contains("Being done"), "it ends with its turn");
}

#[test]
fn an_answer_comes_in_pieces_and_what_was_said_goes_along_with_the_next_question() {
    let mut desk = Desk::new(60, 12);
    desk.keys("first<enter>");
    desk.sent();
    desk.hear("(:type :event :payload (:action :turn-started :turn \"T1\"))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :thought \"Let me see.\"))");
    assert!(desk.screen().contains("┊ Let me see."));
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :thought \"\" :tokens 3))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :text \"It is\"))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :text \" ten.\"))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :text \"\"))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T9\" :text \"of another\"))");
    let done =
        ":action :turn-done :turn \"T1\" :status \"answered\" :private \"ask\" :model \"m\" :tokens-in 9 :tokens-out 2";
    desk.hear(&format!("(:type :response :payload ({done}))"));
    let screen = desk.screen();
    assert!(screen.contains("It is ten.") && screen.contains("┊ thought, 3 words"), "{screen}");
    assert!(!screen.contains("of another") && !desk.state.busy());
    desk.sent();
    desk.keys("second<enter>");
    let Some(Effect::Send(text)) = desk.effects.iter().find(|effect| matches!(effect, Effect::Send(_))) else {
        panic!("it is sent")
    };
    let message = Sexp::read(text).expect("a message");
    let history = message.get("payload").expect("a payload").list_at("history").to_vec();
    let said: Vec<_> = history.iter().map(|said| (said.name_at("role"), said.text_at("text"))).collect();
    assert_eq!(said, [(Some("user"), Some("first")), (Some("assistant"), Some("It is ten."))]);
    assert!(history.iter().all(|said| said.text_at("private") == Some("ask")), "{text}");
}

#[test]
fn escape_stops_an_answer_and_marks_it() {
    let mut desk = Desk::new(60, 12);
    desk.keys("first<enter>");
    desk.hear("(:type :event :payload (:action :turn-started :turn \"T1\"))");
    desk.hear("(:type :stream-chunk :payload (:turn \"T1\" :text \"It is\"))");
    desk.sent();
    desk.keys("<esc>");
    assert_eq!(desk.sent(), ["interrupt"]);
    assert!(desk.screen().contains("stopping"));
    desk.hear("(:type :response :payload (:action :turn-done :turn \"T1\" :status \"interrupted\"))");
    let screen = desk.screen();
    assert!(screen.contains("It is\n[interrupted]") && !screen.contains("stopping"), "{screen}");
}

#[test]
fn a_plan_is_approved_only_after_all_of_it_stood_on_the_screen() {
    let mut desk = Desk::new(60, 12);
    offer(&mut desk);
    desk.keys("/approve<enter>");
    assert_eq!(desk.effects.len(), 2, "a page, and what was typed is kept: {:?}", desk.effects);
    page(&mut desk, ":part :body :text \"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n\" :next 27");
    desk.sent();
    let screen = desk.screen();
    assert!(screen.contains("Plan P1: Run: ls") && screen.contains("read all to approve"), "{screen}");
    desk.keys("ay");
    assert_eq!(desk.sent(), ["plan-page P1"], "the next page is asked for, and nothing is approved");
    desk.keys("  ");
    desk.screen();
    assert_eq!(desk.sent(), Vec::<String>::new(), "the next page is still awaited");
    desk.keys("<esc>/approve P1<enter>");
    page(&mut desk, ":part :body :text \"1\n2\n\" :next 27");
    desk.screen();
    page(&mut desk, ":part :diff :text \"+3\n\" :shown \"HASH\"");
    desk.sent();
    desk.keys("a");
    assert_eq!(desk.sent(), Vec::<String>::new(), "it has come and was not displayed yet");
    desk.screen();
    assert_eq!(desk.sent(), ["plan-displayed P1"]);
    desk.keys("an");
    assert_eq!(desk.sent(), Vec::<String>::new(), "any other key says no");
    desk.keys("a");
    assert!(desk.screen().contains("Carry out exactly this (P1), once?"));
    desk.keys("y");
    assert_eq!(desk.sent(), ["approval P1"]);
    assert!(desk.state.over.is_none());
}

#[test]
fn a_plan_is_denied_with_a_reason_and_one_that_does_not_wait_is_not_decided_about() {
    let mut desk = Desk::new(60, 12);
    offer(&mut desk);
    for (keys, sent) in [("dno need<enter>", ":reason \"no need\""), ("s<enter>", ":stop t"), ("dx<esc><esc>", "")] {
        desk.keys("/deny<enter>");
        page(&mut desk, ":part :body :text \"1\n\" :shown \"HASH\"");
        desk.effects.clear();
        desk.keys(keys);
        let found = desk.effects.iter().any(|effect| matches!(effect, Effect::Send(text) if text.contains(":denial")));
        assert_eq!(found, !sent.is_empty(), "{keys}");
        assert!(format!("{:?}", desk.effects).replace("\\\"", "\"").contains(sent), "{:?}", desk.effects);
    }
    desk.state.plans[0].status = "done".to_string();
    desk.keys("/approve P1<enter>");
    page(&mut desk, ":part :body :text \"1\n\" :shown \"HASH\"");
    assert!(desk.screen().contains("does not wait any more"));
    desk.effects.clear();
    desk.keys("ayd<enter>");
    assert_eq!(desk.sent(), Vec::<String>::new());
}

#[test]
fn what_would_be_taken_back_is_done_after_it_was_read() {
    let mut desk = Desk::new(60, 12);
    desk.keys("/rewind 7<enter>");
    page(&mut desk, ":title \"Go back to 7\" :preview \"V1\" :text \"one file\n\" :shown \"HASH\"");
    assert!(matches!(&desk.state.over, Some(Over::Reader(reader)) if matches!(reader.of, Of::Preview { .. })));
    desk.sent();
    desk.keys("yy");
    assert_eq!(desk.sent(), Vec::<String>::new());
    desk.screen();
    desk.keys("yy");
    assert_eq!(desk.sent(), ["memory-do"]);
}

/// Returns the number of the request that was sent last, of those with these words in it.
fn asked(desk: &Desk, words: &str) -> i64 {
    let number = desk.effects.iter().rev().find_map(|effect| match effect {
        Effect::Send(text) if text.contains(words) => Sexp::read(text).ok()?.get("payload")?.int_at("request"),
        _ => None,
    });
    number.unwrap_or_else(|| panic!("{words}: {:?}", desk.effects))
}

fn reply(desk: &mut Desk, number: i64, words: &str) {
    desk.hear(&format!("(:type :response :payload (:request {number} {words}))"));
}

/// Opens the preview of an operation, whose last page is asked for; returns the number of that request.
fn preview(desk: &mut Desk, operation: i64) -> i64 {
    desk.keys(&format!("/rewind {operation}<enter>"));
    let number = asked(desk, ":memory-rewind");
    let words = format!(":title \"Back\" :preview \"V{operation}\" :text \"first of {operation}\n\" :next 11");
    reply(desk, number, &words);
    desk.screen();
    asked(desk, &format!("\"V{operation}\""))
}

fn read(desk: &Desk) -> Option<(String, bool)> {
    match &desk.state.over {
        Some(Over::Reader(reader)) => Some((reader.text().to_string(), reader.awaited)),
        _ => None,
    }
}

#[test]
fn a_late_page_lands_in_no_other_reader() {
    let late = ":text \"tail of 5\n\" :shown \"HASH5\"";
    let mut desk = Desk::new(60, 12);
    let five = preview(&mut desk, 5);
    desk.keys("<esc>");
    let nine = preview(&mut desk, 9);
    reply(&mut desk, five, late);
    assert_eq!(read(&desk), Some(("first of 9\n".to_string(), true)));
    desk.screen();
    desk.effects.clear();
    desk.keys("yy");
    assert_eq!(desk.sent(), Vec::<String>::new(), "5 was not shown whole");
    reply(&mut desk, nine, ":text \"tail of 9\n\" :shown \"HASH9\"");
    desk.screen();
    desk.keys("yy");
    assert!(desk.effects.iter().any(|effect| matches!(effect, Effect::Send(text) if text.contains("HASH9"))));

    // The same preview anew, whose pages come twice: each counts once.
    let mut desk = Desk::new(60, 12);
    let first = preview(&mut desk, 5);
    desk.keys("<esc>");
    let again = preview(&mut desk, 5);
    reply(&mut desk, first, late);
    reply(&mut desk, again, late);
    assert_eq!(read(&desk), Some(("first of 5\ntail of 5\n".to_string(), false)));

    // A plan that is read still waits for its own page.
    let mut desk = Desk::new(60, 12);
    offer(&mut desk);
    let five = preview(&mut desk, 5);
    desk.keys("<esc>/approve<enter>");
    reply(&mut desk, five, late);
    assert_eq!(read(&desk), Some((String::new(), true)));
}

#[test]
fn a_page_that_does_not_come_closes_its_own_reader_only() {
    let error = ":error \"shown too long ago\"";
    for (keys, open) in [("", false), ("<esc>?", true), ("<esc>/plans<enter>", true), ("<esc>/approve<enter>", true)] {
        let mut desk = Desk::new(60, 12);
        offer(&mut desk);
        let five = preview(&mut desk, 5);
        desk.keys(keys);
        reply(&mut desk, five, error);
        assert_eq!(desk.state.over.is_some(), open, "{keys}");
        desk.state.over = None;
        assert!(desk.screen().contains("shown too long ago"), "{keys}");
    }
    let mut desk = Desk::new(60, 12);
    offer(&mut desk);
    desk.keys("/approve<enter>");
    let plan = asked(&desk, ":plan-page");
    desk.keys("<esc>?");
    reply(&mut desk, plan, error);
    assert!(desk.state.over.is_some());
    desk.keys("<esc>/approve<enter>");
    let plan = asked(&desk, ":plan-page");
    reply(&mut desk, plan, error);
    assert!(desk.state.over.is_none());
}

/// Reads the plan to its end, and decides with these keys.
fn decide(desk: &mut Desk, keys: &str) {
    desk.keys("/approve<enter>");
    page(desk, ":from 0 :part :body :text \"ls\" :shown \"HASH\"");
    desk.screen();
    desk.effects.clear();
    desk.keys(keys);
}

#[test]
fn a_plan_that_another_client_parked_is_told_of_at_once() {
    let parked = |session: &str| {
        format!(
            "(:type :event :meta (:session-id \"{session}\") :payload (:action :plan-parked \
             :plan (:id \"P7\" :status \"pending\" :title \"Edit b.org\")))"
        )
    };
    let mut desk = Desk::new(80, 20);
    desk.hear(&parked("chat-1"));
    assert_eq!(desk.sent(), ["plans"]);
    let screen = desk.screen();
    assert!(screen.contains("Waits for you of another conversation: P7, Edit b.org"), "{screen}");
    // Of what a turn here proposes its end tells.
    let name = talk(&mut desk, "first<enter>");
    let session = tui_session(&name);
    desk.hear(&format!(
        "(:type :event :meta (:session-id \"{session}\") :payload (:action :turn-started :turn \"T1\"))"
    ));
    desk.hear(&parked(&session).replace("P7", "P8"));
    assert!(!desk.screen().contains("P8"));
    desk.hear("(:type :response :payload (:action :turn-done :turn \"T1\" :status \"parked\" :plans (\"P8\")))");
    assert!(desk.screen().contains("Waits for you: P8"));
}

#[test]
fn a_plan_that_waits_is_read_as_soon_as_it_is_known() {
    let plan = "(:id \"P1\" :title \"Run: ls\" :status \"pending\" :badge \"irreversible\")";
    for (plans, over, opened) in [(plan, "", true), (plan, "?", false), ("", "", false)] {
        let mut desk = Desk::new(80, 24);
        desk.hear("(:type :status :payload (:state \"idle\" :pending 1))");
        desk.keys("/approve<enter>");
        assert!(!desk.screen().contains("no plan waits"));
        let number = asked(&desk, ":action :plans");
        desk.keys(over);
        desk.effects.clear();
        reply(&mut desk, number, &format!(":plans ({plans})"));
        assert_eq!(desk.sent().contains(&"plan-page P1".to_string()), opened, "{plans} {over}");
        assert_eq!(desk.screen().contains("no plan waits"), plans.is_empty(), "{plans} {over}");
    }
}

#[test]
fn a_decision_of_which_nothing_was_heard_is_not_shown_as_made() {
    let changed = "(:type :event :payload (:action :plan-changed :plan (:id \"P1\" :status \"approved\")))";
    let other = "(:type :event :payload (:action :plan-changed :plan (:id \"P2\" :status \"approved\")))";
    let started = "(:type :event :payload (:action :turn-started :turn \"T2\" :follows \"T1\"))";
    let refused = "(:type :response :payload (:action :turn-done :turn \"T2\" :status \"failed\" :text \"no\"))";
    for (keys, heard, sent, doubtful) in [
        ("ay", "", "approval P1", true),
        ("dno<enter>", "", "denial P1", true),
        ("sno<enter>", other, "denial P1", true),
        ("ay", changed, "approval P1", false),
        ("ay", started, "approval P1", false),
        ("ay", refused, "approval P1", false),
    ] {
        let mut desk = Desk::new(80, 24);
        offer(&mut desk);
        decide(&mut desk, keys);
        assert_eq!(desk.sent(), [sent], "{keys}");
        if !heard.is_empty() {
            desk.hear(heard);
        }
        desk.take(Event::Linked(Linked::Down("it ended".to_string(), 2)));
        let screen = desk.screen();
        assert_eq!(screen.contains("What you decided about P1 may have come there or not"), doubtful, "{screen}");
    }
}

#[test]
fn what_the_connection_does_not_take_is_not_shown_as_sent() {
    for (keys, typed, says) in [
        ("a question<enter>", "a question", "That was not sent"),
        ("/undo<enter>", "/undo", "That was not sent"),
        ("/eval (+ 1 2)<enter>", "/eval (+ 1 2)", "That was not sent"),
        ("/cost<enter>", "", "what you asked for was not sent"),
    ] {
        let mut desk = Desk::new(80, 24);
        desk.keys(keys);
        desk.refuse();
        assert_eq!((desk.state.input.text(), desk.state.busy()), (typed, false), "{keys}");
        assert!(desk.screen().contains(says), "{keys}");
    }
    for keys in ["ay", "dno<enter>", "sno<enter>"] {
        let mut desk = Desk::new(80, 24);
        offer(&mut desk);
        decide(&mut desk, keys);
        desk.refuse();
        assert!(desk.screen().contains("What you decided about P1 was not sent: decide again."), "{keys}");
        desk.take(Event::Linked(Linked::Down("it ended".to_string(), 2)));
        assert!(!desk.screen().contains("may have come there"), "{keys}: it is known that it did not");
    }
    // Neither a page that was not asked for nor a reading that nobody heard of leaves a reader that waits for ever.
    let mut desk = Desk::new(80, 24);
    offer(&mut desk);
    desk.keys("/approve<enter>");
    desk.refuse();
    assert!(desk.state.over.is_none());
    desk.keys("/approve<enter>");
    page(&mut desk, ":from 0 :part :body :text \"ls\" :shown \"HASH\"");
    desk.effects.clear();
    desk.screen();
    assert_eq!(desk.refuse(), 1);
    assert!(desk.state.over.is_none(), "it is read again before it is decided about");
}

#[test]
fn words_are_searched_for_in_what_was_said() {
    let mut desk = Desk::new(60, 8);
    for number in 0..20 {
        desk.keys("q<enter>");
        desk.answer(&format!("T{number}"), &format!("Answer number {number}."), "");
    }
    desk.keys("/search NUMBER 3<enter>");
    assert!(desk.screen().lines().next().is_some_and(|line| line == "Answer number 3."), "{}", desk.screen());
    desk.keys("<up>");
    assert!(desk.screen().contains("nothing more is found"));
    desk.keys("<esc><esc>");
    assert!(desk.state.search.is_none() && desk.state.transcript.at_end());
}

#[test]
fn what_is_on_the_screen_is_found_and_what_is_not_is_said_not_to_be() {
    let mut desk = Desk::new(90, 20);
    desk.keys("q<enter>");
    desk.answer("T1", "Some **bold** text and `code`.", "");
    assert!(desk.screen().contains("Some bold text and code."));
    for (keys, said) in [
        ("<c-f>Some bold", "Enter or Up looks above"),
        ("<enter>", ""),
        ("<up>", "nothing more is found"),
        ("<c-u>and code", "Enter or Up looks above"),
        ("<up>", ""),
        ("<c-u>**bold**<enter>", "nothing is found here and above"),
        ("<down>", "nothing is found here and below"),
        ("<c-u>q<down>", ""),
        ("<c-u>", ""),
    ] {
        desk.keys(keys);
        let screen = desk.screen();
        let foot = screen.lines().last().unwrap_or_default();
        assert!(foot.contains(said), "{keys}: {screen}");
        assert_eq!(foot.contains("found") || foot.contains("looks"), !said.is_empty(), "{keys}: {screen}");
    }
}

#[test]
fn the_picture_in_a_usual_window() {
    let mut desk = Desk::new(64, 16);
    desk.hear("(:type :status :payload (:state \"idle\" :pending 0 :focus-title \"Kitchen\" :health \"healthy\"))");
    desk.keys("What is due in 漢字?<enter>");
    desk.answer(
        "T1",
        "- *Order tiles* by Sunday\n- =measure= the wall",
        ":model \"m\" :tokens-in 12 :tokens-out 3 :cost \"$0.01\"",
    );
    insta::assert_snapshot!(desk.screen(), @r"


    · Connected with the Passepartout that has the notes open. Type
      a question and press Enter; ? on an empty line shows keys and
      commands.

    › What is due in 漢字?

    - Order tiles by Sunday
    - measure the wall

      m · 12 tokens in, 3 out · $0.01

    ────────────────────────────────────────────────────────────────
    › ask something, or / for a command
     ● 0.1.0 · idle · 15 tokens · $0.01 · at Kitchen
    ");
}

#[test]
fn the_side_panel_in_a_wide_window() {
    let mut desk = Desk::new(130, 14);
    desk.keys("Do it<enter>");
    let opinion = "(:gate \"permissions\" :priority 600 :verdict \"ask\" :reason \"by default\")";
    let deed = format!("(:tool \"shell\" :summary \"Run: ls\" :verdict \"ask\" :plan \"P1\" :opinions ({opinion}))");
    desk.answer("T1", "I propose it.", &format!(":trace ({deed}) :changed (\"/home/me/notes/a.org\")"));
    let screen = desk.screen();
    let panel: Vec<String> = screen.lines().map(|line| line.chars().skip(88).collect::<String>()).collect();
    insta::assert_snapshot!(panel.join("\n"), @r"
    │ Focus
    │ 0 files, 0 headings in memory
    │
    │ Last actions
    │ ? Run: ls
    │
    │ Protection
    │ permissions: 0 denied, 1 asked
    │
    │ Files changed
    │ /home/me/notes/a.org
    │
    │
    ");
    // A plan that was decided waits no more.
    for (status, marked) in [("pending", "? Run: ls"), ("done", "✓ Run: ls"), ("denied", "✗ Run: ls")] {
        desk.effects.clear();
        desk.hear("(:type :event :payload (:action :plan-changed :plan (:id \"P1\")))");
        let asked = desk.effects.iter().find_map(|effect| match effect {
            Effect::Send(text) => Sexp::read(text).ok()?.get("payload")?.int_at("request"),
            _ => None,
        });
        let plan = format!("(:id \"P1\" :title \"Run: ls\" :status \"{status}\")");
        let number = asked.expect("it asks how they stand");
        desk.hear(&format!("(:type :response :payload (:action :plans :request {number} :plans ({plan})))"));
        assert!(desk.screen().contains(marked), "{status}: {}", desk.screen());
    }
    // It is not listed any more then; what is told of it says what became of it.
    for (status, marked) in
        [("pending", "? Run: ls"), ("denied", "✗ Run: ls"), ("done", "✓ Run: ls"), ("stale", "✗ Run")]
    {
        desk.effects.clear();
        desk.hear(&format!("(:type :event :payload (:action :plan-changed :plan (:id \"P1\" :status \"{status}\")))"));
        let number = asked(&desk, ":action :plans");
        reply(&mut desk, number, ":plans ()");
        assert!(desk.screen().contains(marked), "{status}: {}", desk.screen());
    }
    desk.keys("<c-b>");
    assert!(!desk.screen().contains("Protection"));
}

#[test]
fn any_window_any_keys_and_any_message_end_without_a_panic() {
    let strange = [
        "(:type :response)",
        "(:type :stream-chunk :payload (:turn 7))",
        "(:type :status :payload (:reading (x y)))",
        "(:type :response :payload (:action :turn-done :trace (1 2 (3)) :sources (nil) :plans (x) :others (7)))",
        "nil",
        "(:type :log :payload (:level \"error\" :text \"\u{1b}[31m\"))",
    ];
    for (columns, rows) in [(20, 5), (1, 1), (2, 3), (0, 0), (300, 4), (5, 100), (121, 7)] {
        let mut desk = Desk::new(columns, rows);
        offer(&mut desk);
        for keys in [
            "漢字e\u{301}\\<enter>x<up><down><enter>",
            "<c-p>x<up><down><esc>",
            "?<pgup> b<esc>",
            "/plans<enter><down><enter>d",
            "<esc><esc><c-b><c-g><c-t><pgup>",
            "/search x<enter><up><esc>",
            "<c-w><c-k><c-y><c-a><c-e><tab><c-x>b",
        ] {
            desk.keys(keys);
            let screen = desk.screen();
            assert!(!screen.contains('\u{1b}'), "{screen:?}");
        }
        for text in strange {
            desk.hear(text);
            desk.screen();
        }
        desk.take(Event::Paste("a\u{1b}[2J\tb\r\nc".repeat(20_000)));
        assert!(!desk.screen().contains('\u{1b}'));
        desk.take(Event::Wheel(-3));
        desk.take(Event::Resize(rows, columns));
        desk.screen();
    }
}

#[test]
fn the_manual_has_the_keys_that_the_help_has() {
    let manual = include_str!("../../docs/manual.org");
    let table = manual.split("#+NAME: tui-keys\n").nth(1).expect("the table of keys");
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let keys = passepartout::edge::tui::help::KEYS.iter();
    assert_eq!(rows, keys.map(|(key, what)| format!("| ={key}= | {what} |")).collect::<Vec<_>>());
}

#[test]
fn nothing_is_drawn_again_when_nothing_changed() {
    let mut desk = Desk::new(80, 24);
    let status = "(:type :status :payload (:state \"idle\" :pending 0))";
    desk.hear(status);
    desk.state.changed = false;
    for event in [Event::Tick, Event::Drawn, Event::Resize(80, 24)] {
        desk.take(event);
    }
    desk.hear(status);
    assert!(!desk.state.changed);
    desk.keys("x");
    assert!(desk.state.changed);
}

/// Returns the names of what is to be done, as far as they are about conversations.
fn wanted(desk: &mut Desk) -> Vec<String> {
    let about = |effect: Effect| match effect {
        Effect::KeepSaid(_, said) => Some(format!("keep {}", said.len())),
        Effect::BeginAnew => Some("anew".to_string()),
        Effect::Sessions => Some("list".to_string()),
        Effect::Resume(kept) => Some(format!("resume {}", kept.name)),
        Effect::Aside(aside) => Some(format!("{aside:?}")),
        _ => None,
    };
    std::mem::take(&mut desk.effects).into_iter().filter_map(about).collect()
}

#[test]
fn a_conversation_is_kept_listed_and_gone_on_with_as_private_as_it_was() {
    let mut desk = Desk::new(80, 20);
    desk.keys("first<enter>");
    desk.answer("T1", "It is ten.", ":private \"ask\"");
    assert_eq!(wanted(&mut desk), ["keep 2"]);
    desk.keys("/tags<enter>");
    desk.answer("T2", "- private: it stays here", "");
    assert_eq!(wanted(&mut desk), [""; 0], "what a command says is no part of it");
    desk.keys("/clear<enter>");
    assert_eq!(wanted(&mut desk), ["anew"]);
    desk.keys("/resume<enter>");
    assert_eq!(wanted(&mut desk), ["list"]);
    let kept = |name: &str, title: &str| Kept { name: name.to_string(), title: title.to_string() };
    let all = vec![kept("20261128T051500000Z-9.jsonl", "second\u{202e}"), kept("20261127T231500000Z-9.jsonl", "first")];
    desk.take(Event::Sessions(Ok(all.clone())));
    assert_eq!(wanted(&mut desk), ["resume 20261128T051500000Z-9.jsonl"], "the newest");
    desk.keys("/sessions<enter>");
    desk.take(Event::Sessions(Ok(all)));
    let screen = desk.screen();
    assert!(screen.contains("   2  2026-11-27 23:15  first") && !screen.contains('\u{202e}'), "{screen}");
    wanted(&mut desk);
    desk.keys("<esc>");
    for (words, expected) in
        [("/resume 2", "resume 20261127T231500000Z-9.jsonl"), ("/resume 3", "list"), ("/resume x", "")]
    {
        desk.keys(&format!("{words}<enter>"));
        assert_eq!(wanted(&mut desk).concat(), expected, "{words}");
    }
    let one = |role, text: &str| Said { role, text: text.to_string(), private: Some("ask".to_string()) };
    let said = vec![one("user", "first"), one("assistant", "It is ten.")];
    desk.take(Event::Resumed(Ok(Talk { name: None, said })));
    assert!(desk.screen().contains("It is ten."));
    desk.effects.clear();
    desk.keys("and now?<enter>");
    let sent = desk.effects.iter().filter_map(|effect| match effect {
        Effect::Send(text) => Some(text),
        _ => None,
    });
    let message = sent.into_iter().find(|text| text.contains("and now?")).expect("it is sent");
    assert_eq!(message.matches(":private \"ask\"").count(), 2, "{message}");
    assert!(message.contains(":resumed t"), "nobody knows what it draws on: {message}");
    desk.take(Event::Resumed(Err("no such file".to_string())));
    assert!(desk.screen().contains("no such file"));
}

#[test]
fn a_number_that_the_list_did_not_have_shows_how_they_are_numbered_now() {
    let kept = |name: &str| Kept { name: format!("{name}.jsonl"), title: name.to_string() };
    let (one, two) = (vec![kept("old")], vec![kept("new"), kept("old")]);
    // What was listed first, if it was, what is typed, what there is then, and what comes of it.
    for (listed, typed, now, effect, said) in [
        (Some(&one), "/resume 2", &two, "list", "the list that you saw had no 2"),
        (Some(&one), "/resume 3", &two, "list", "there is no conversation 3"),
        (Some(&one), "/resume 1", &two, "resume old.jsonl", ""),
        (None, "/resume 3", &two, "list", "there is no conversation 3"),
        (None, "/resume 2", &two, "listresume old.jsonl", ""),
        (None, "/resume 1", &vec![], "list", "no conversation is kept yet"),
    ] {
        let mut desk = Desk::new(80, 20);
        if let Some(listed) = listed {
            desk.keys("/sessions<enter>");
            desk.take(Event::Sessions(Ok(listed.clone())));
            desk.keys("<esc>");
            wanted(&mut desk);
        }
        desk.keys(&format!("{typed}<enter>"));
        let asked = desk.effects.contains(&Effect::Sessions);
        if asked {
            desk.take(Event::Sessions(Ok(now.clone())));
        }
        assert_eq!(wanted(&mut desk).concat(), effect, "{typed}");
        let screen = desk.screen();
        assert!(screen.contains(said), "{typed}: {screen}");
        assert_eq!(screen.contains("Conversations"), said.contains(['2', '3']), "{typed}: {screen}");
        // What is shown now has the number.
        if said.contains("no 2") {
            desk.keys("<esc>/resume 2<enter>");
            assert_eq!(wanted(&mut desk), ["resume old.jsonl"]);
        }
    }
}

/// Returns what the core calls a conversation of this name.
fn tui_session(name: &str) -> String {
    format!("tui-{}", &blake3::hash(name.as_bytes()).to_hex()[..32])
}

/// Returns the names of the conversations in which something was sent since the last look, each with what.
fn talks(desk: &mut Desk) -> Vec<(String, String)> {
    let sent = std::mem::take(&mut desk.effects).into_iter().filter_map(|effect| match effect {
        Effect::Send(text) => Some(Sexp::read(&text).expect("what is sent can be read")),
        _ => None,
    });
    let told = sent.map(|message| {
        let session = message.get("meta").and_then(|meta| meta.text_at("session-id")).expect("it names a conversation");
        let payload = message.get("payload").expect("a payload");
        let what = payload.name_at("sensor").or(payload.name_at("action")).expect("a name");
        (session.to_string(), what.to_string())
    });
    told.collect()
}

/// Types keys, and returns the one conversation in which all that was sent for it was sent.
fn talk(desk: &mut Desk, keys: &str) -> String {
    desk.effects.clear();
    desk.keys(keys);
    let mut names: Vec<String> = talks(desk).into_iter().map(|(name, _)| name).collect();
    names.dedup();
    assert_eq!(names.len(), 1, "{keys}: {names:?}");
    names.remove(0)
}

#[test]
fn each_conversation_is_a_session_of_its_own_and_keeps_it() {
    let mut desk = Desk::new(80, 20);
    let first = talk(&mut desk, "first<enter>");
    assert!(first.len() == 64 && first.bytes().all(|byte| byte.is_ascii_hexdigit()), "{first}");
    desk.answer("T1", "It is ten.", "");
    let kept = desk.effects.iter().find_map(|effect| match effect {
        Effect::KeepSaid(name, _) => Some(name.clone()),
        _ => None,
    });
    assert_eq!(kept.as_ref(), Some(&first), "it is kept by its name");
    for keys in ["/share<enter>", "/preset x<enter>", "/eval 1<enter>", "/cost<enter>", "/context<enter>"] {
        assert_eq!(talk(&mut desk, keys), first, "{keys}");
        desk.answer("T2", "Well.", "");
        desk.keys("<esc>");
    }
    // What was kept alive for it ends, and all that follows is of another.
    assert_eq!(talk(&mut desk, "/clear<enter>"), first);
    let second = talk(&mut desk, "second<enter>");
    assert_ne!(second, first);
    desk.answer("T3", "It is.", "");
    desk.take(Event::Resumed(Ok(Talk { name: Some(first.clone()), said: Vec::new() })));
    assert_eq!(talks(&mut desk).last(), Some(&(second.clone(), "interrupt".to_string())));
    desk.keys("and now?<enter>");
    let text = desk.effects.iter().find_map(|effect| match effect {
        Effect::Send(text) if text.contains("and now?") => Some(text.clone()),
        _ => None,
    });
    let text = text.expect("it is asked");
    assert!(text.contains(&first) && !text.contains(":resumed"), "the core knows what it drew on: {text}");
    desk.answer("T4", "Still ten.", "");
    // One of an earlier version has no name: it gets one, and the core does not know what it drew on.
    desk.take(Event::Resumed(Ok(Talk { name: None, said: Vec::new() })));
    desk.effects.clear();
    desk.keys("and here?<enter>");
    let text = desk.effects.iter().find_map(|effect| match effect {
        Effect::Send(text) => Some(text.clone()),
        _ => None,
    });
    assert!(text.is_some_and(|text| text.contains(":resumed t")));
    let third = talks(&mut desk).remove(0).0;
    assert!(![&first, &second].contains(&&third));
    // Another program has other names.
    let state = State::new((80, 20), Theme::None, Vec::new(), None, [8; 32]);
    let mut other = Desk { state, effects: Vec::new() };
    let (version, here) = ("0.1.0".to_string(), false);
    other.take(Event::Linked(Linked::Up { version, here, doubt: None }));
    assert!(![first, second, third].contains(&talk(&mut other, "first<enter>")));
}

#[test]
fn what_goes_on_from_a_plan_of_an_earlier_conversation_is_no_part_of_this_one_and_can_be_stopped() {
    let mut desk = Desk::new(80, 20);
    let first = talk(&mut desk, "first<enter>");
    desk.answer("T1", "I propose it.", "");
    desk.keys("/clear<enter>");
    let session = tui_session(&first);
    let goes_on = |desk: &mut Desk, turn: &str, session: &str| {
        let meta = format!(":meta (:session-id \"{session}\")");
        desk.hear(&format!("(:type :event {meta} :payload (:action :turn-started :turn \"{turn}\" :follows \"T1\"))"));
        desk.hear(&format!("(:type :stream-chunk {meta} :payload (:turn \"{turn}\" :text \"What a page said.\"))"));
    };
    for (turn, session, stopped) in [("T2", session.as_str(), Some(&first)), ("T3", "chat-1", None)] {
        goes_on(&mut desk, turn, session);
        desk.effects.clear();
        desk.keys("<esc>");
        let interrupted = talks(&mut desk);
        assert!(interrupted.iter().all(|(_, what)| what == "interrupt"), "{interrupted:?}");
        let others: Vec<&String> = interrupted.iter().skip(1).map(|(name, _)| name).collect();
        assert_eq!(others, stopped.into_iter().collect::<Vec<_>>(), "{turn}");
        desk.hear(&format!("(:type :response :payload (:action :turn-done :turn \"{turn}\" :status \"interrupted\"))"));
        assert!(wanted(&mut desk).is_empty(), "it is not kept as said here");
    }
    desk.keys("second<enter>");
    let text = desk.effects.iter().find_map(|effect| match effect {
        Effect::Send(text) => Some(text.clone()),
        _ => None,
    });
    assert!(text.is_some_and(|text| text.contains("second") && !text.contains("What a page said")));
}

#[test]
fn an_editor_changes_what_is_typed_and_nothing_is_sent() {
    let mut desk = Desk::new(60, 12);
    desk.keys("dishes<c-x>e");
    assert_eq!(wanted(&mut desk), ["Editor(\"dishes\")"]);
    desk.sent();
    desk.take(Event::Back(Ok(Brought::Text("tiles\nand plates".to_string()))));
    assert_eq!(desk.state.input.text(), "tiles\nand plates");
    desk.take(Event::Back(Err("the editor ended with 1".to_string())));
    assert!(desk.screen().contains("the editor ended with 1"));
    assert_eq!(desk.sent(), [""; 0]);
    assert_eq!(desk.state.input.text(), "tiles\nand plates");
    desk.keys("<c-x>z");
    assert_eq!(wanted(&mut desk), [""; 0]);
}

#[test]
fn what_is_said_after_the_questions_is_true() {
    for (brought, said, not) in [
        (Brought::Nothing, "Nothing was set up", "counts when the core begins anew"),
        (Brought::SetUp, "counts when the core begins anew", "Nothing was set up"),
    ] {
        let mut desk = Desk::new(90, 12);
        desk.keys("/setup<enter>");
        assert_eq!(wanted(&mut desk), ["Configure"]);
        desk.take(Event::Back(Ok(brought)));
        let screen = desk.screen();
        assert!(screen.contains(said) && !screen.contains(not), "{screen}");
    }
}

#[test]
fn the_help_is_broken_between_words_and_the_log_is_opened_at_its_newest_line() {
    let mut desk = Desk::new(60, 12);
    desk.keys("?");
    let screen = desk.screen();
    assert!(screen.contains("\\ line: what was typed before"), "{screen}");
    desk.keys("<esc>/log<enter>");
    let number = asked(&desk, ":action :log");
    let lines: String = (0..40).map(|line| format!("(:at \"9:00\" :level \"info\" :text \"line {line}.\")")).collect();
    reply(&mut desk, number, &format!(":lines ({lines})"));
    let screen = desk.screen();
    assert!(screen.contains("line 39.") && !screen.contains("line 1."), "{screen}");
}
