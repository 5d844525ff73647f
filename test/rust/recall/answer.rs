//! Answers over a small memex: what is said, what it links to, what it proposes.

use super::memex::{HOME, ask, ask_in, told, view};
use insta::assert_snapshot;
use passepartout::domain::recall::answer::CLOSING;

#[test]
fn lists_are_sorted_with_dates_and_places() {
    assert_snapshot!(told("what is due in Kitchen?"), @"
    Due in “Kitchen” (1):
    - Wed 2026-11-25 (in 7 days, deadline) TODO [[file:/m/home.org::*Paint the walls][Paint the walls]] — Kitchen, home.org
    ");
    assert_snapshot!(told("what is overdue?"), @"
    Overdue (2):
    - Mon 2026-11-02 (16 days ago, scheduled) TODO [[file:/m/home.org::23][Call mum]] — Family, home.org
    - Tue 2026-11-17 (yesterday, scheduled) NEXT [[id:tiles][Order tiles]] — Kitchen, home.org
    ");
    assert_snapshot!(told("what is due in Nowhere?"), @"I found no heading called “Nowhere”.");
    assert_snapshot!(told("what am I waiting for?"), @"
    Waiting (1):
    - WAITING [[file:/m/home.org::*Plumber calls back][Plumber calls back]] — Kitchen, home.org
    ");
    assert_snapshot!(told("what did I finish this month?"), @"
    Finished from Sun 2026-11-01 to Mon 2026-11-30 (1):
    - Tue 2026-11-10 18:00 (8 days ago, closed) DONE [[file:/m/home.org::*Measure the window][Measure the window]] — Kitchen, home.org
    ");
    assert_snapshot!(told("which projects are stuck?"), @"
    Stuck projects: nothing in them is NEXT, scheduled, or has a deadline (1):
    - [[file:/m/home.org::*Garden][Garden]]: 2 open, 0 done — home.org
      - next: TODO [[file:/m/home.org::*Prune the roses][Prune the roses]]
    ");
    assert_snapshot!(told("what changed since 1:30?"), @"
    1 file has changed since Wed 2026-11-18 01:30:
    - Wed 2026-11-18 02:00: [[file:/m/pasted.org][Pasted]]
    ");
}

#[test]
fn a_repeating_heading_counts_on_each_later_day() {
    assert_snapshot!(told("what is scheduled next week?"), @"
    Scheduled from Mon 2026-11-23 to Sun 2026-11-29 (1):
    - Mon 2026-11-23 (in 5 days, scheduled) TODO [[file:/m/home.org::23][Call mum]] — Family, home.org
    ");
    for (phrase, expected) in [
        ("agenda for 30 Nov", true),
        ("agenda for 1 Dec", false),
        ("what is scheduled on 2027-11-15", true),
        ("what is scheduled on 2026-10-26", false),
    ] {
        assert_eq!(ask(phrase).text.contains("Call mum"), expected, "{phrase}");
    }
}

#[test]
fn an_agenda_shows_appointments_and_what_is_late() {
    assert_snapshot!(told("agenda this week"), @r#"
    Agenda from Mon 2026-11-16 to Sun 2026-11-22 (6):
    Mon 2026-11-16 (2 days ago)
    - TODO [[file:/m/home.org::23][Call mum]] (scheduled) — Family, home.org
    Tue 2026-11-17 (yesterday)
    - NEXT [[id:tiles][Order tiles]] (scheduled) — Kitchen, home.org
    Wed 2026-11-18 (today)
    - NEXT [[id:tiles][Order tiles]] (scheduled earlier) — Kitchen, home.org
    - TODO [[file:/m/home.org::23][Call mum]] (scheduled earlier) — Family, home.org
    - TODO [[file:/m/pasted.org::6][))click]] (deadline) — pasted.org
    Fri 2026-11-20 (in 2 days)
    - 09:30 [[file:/m/home.org::31][Dentist (2026-11-20 Fri 09:30)]] (appointment) — Family, home.org
    "#);
}

#[test]
fn questions_are_answered_by_passages() {
    assert_snapshot!(told("who is Ada Lovelace?"), @"
    Your notes on “Ada Lovelace”:
    - [[id:ada][Ada Lovelace]] — Family, home.org
      PHONE: 555 0100
      “Sister of Bob. She likes tea. We last met on [2026-10-03 Sat] in London.”
    ");
    assert_snapshot!(told("what is the boiler code?"), @"
    No heading is called “boiler code”; these passages mention it:
    - [[id:kitchen][Kitchen]] — home.org
      “The boiler code is 4711.”
    ");
    assert_snapshot!(told("when did I last meet Ada?"), @"
    These passages fit “when did I last meet Ada” best:
    - [[id:ada][Ada Lovelace]] — Family, home.org
      “We last met on [2026-10-03 Sat] in London.”
    ");
    assert_snapshot!(told("when is paint the walls due?"), @"
    This is what is planned:
    - TODO [[file:/m/home.org::*Paint the walls][Paint the walls]]: deadline Wed 2026-11-25 (in 7 days) — Kitchen, home.org
    ");
    assert_snapshot!(told("find zebra"), @"I found nothing about “zebra”.");
}

#[test]
fn commands_become_proposals() {
    assert_snapshot!(told("add a todo buy milk"), @r#"
    I propose to add TODO “buy milk” to [[file:/m/inbox.org][Inbox]].
    => org-add-heading {"title":"buy milk","file":"/m/inbox.org","todo":"TODO"}
    "#);
    assert_snapshot!(told("add a todo buy paint under Kitchen by Friday"), @r#"
    I propose to add TODO “buy paint” (deadline 2026-11-20) to [[id:kitchen][Kitchen]].
    => org-add-heading {"title":"buy paint","parent":"kitchen","todo":"TODO","deadline":"2026-11-20"}
    "#);
    assert_snapshot!(told("note: the filter is 20x25. Buy two."), @r#"
    I propose to keep “the filter is 20x25” as a note in [[file:/m/inbox.org][Inbox]].
    => org-add-heading {"title":"the filter is 20x25","file":"/m/inbox.org","body":"the filter is 20x25. Buy two.\n\nCaptured on [2026-11-18 Wed 10:00]"}
    "#);
    assert_snapshot!(told("mark order tiles done"), @r#"
    I propose to set [[id:tiles][Order tiles]] to DONE.
    => org-set-todo {"id":"tiles","state":"DONE"}
    "#);
    assert_snapshot!(told("mark Family/Call mum done"), @r#"
    I propose to set [[file:/m/home.org::23][Call mum]] to DONE.
    => org-set-todo {"id":"/m/home.org::*Family/Call mum","state":"DONE"}
    "#);
    assert_snapshot!(told("schedule order tiles for Monday at 3pm by Friday 27 Nov"), @r#"
    For [[id:tiles][Order tiles]] I propose to schedule it for Monday 2026-11-23 15:00 and set its deadline to Friday 2026-11-27.
    => org-schedule {"id":"tiles","kind":"scheduled","when":"2026-11-23 15:00"}
    => org-schedule {"id":"tiles","kind":"deadline","when":"2026-11-27"}
    "#);
    assert_snapshot!(told("remove the deadline of paint the walls"), @r#"
    For [[file:/m/home.org::*Paint the walls][Paint the walls]] I propose to take away its deadline.
    => org-schedule {"id":"/m/home.org::*Kitchen/Paint the walls","kind":"deadline"}
    "#);
    assert_snapshot!(told("set plumber to canceled"), @r#"
    I propose to set [[file:/m/home.org::*Plumber calls back][Plumber calls back]] to CANCELLED.
    => org-set-todo {"id":"/m/home.org::*Kitchen/Plumber calls back","state":"CANCELLED"}
    "#);
    assert_snapshot!(told("set the effort of order tiles to 1:00"), @r#"
    I propose to set the property EFFORT of [[id:tiles][Order tiles]] to “1:00”.
    => org-set-property {"id":"tiles","property":"EFFORT","value":"1:00"}
    "#);
    assert_snapshot!(told("move prune the roses to Family"), @r#"
    I propose to move [[file:/m/home.org::*Prune the roses][Prune the roses]] to [[file:/m/home.org::*Family][Family]].
    => org-move {"id":"/m/home.org::*Garden/Prune the roses","parent":"/m/home.org::*Family"}
    "#);
}

#[test]
fn an_ambiguous_or_missing_target_proposes_nothing() {
    assert_snapshot!(told("mark call mum done"), @"
    “call mum” may be any of these, so I propose nothing:
    - TODO [[file:/m/home.org::*Call mum][Call mum]] — Garden, home.org
    - TODO [[file:/m/home.org::23][Call mum]] — Family, home.org
    Please say it again with more of the title, with what stands above it (“Garden/Call mum”), or with its id: link.
    ");
    assert_snapshot!(told("mark call dad done"), @"
    I found no heading called “call dad”. The nearest are:
    - WAITING [[file:/m/home.org::*Plumber calls back][Plumber calls back]] — Kitchen, home.org
    - TODO [[file:/m/home.org::*Call mum][Call mum]] — Garden, home.org
    - TODO [[file:/m/home.org::23][Call mum]] — Family, home.org
    ");
    for phrase in [
        "schedule call mum for Friday",
        "move call mum under Kitchen",
        "set call mum to WAITING",
        "set property EFFORT of call mum to 1:00",
        "mark it done",
        "move kitchen to order tiles",
        "move order tiles to Kitchen",
        "mark measure the window done",
        "remove the deadline of order tiles",
        "set order tiles to someday",
        "add a todo x under Nowhere",
        "move order tiles to Nowhere",
    ] {
        assert!(ask(phrase).calls.is_empty(), "{phrase} proposes something");
    }
}

#[test]
fn what_cannot_be_done_says_why() {
    assert_snapshot!(told("set order tiles to someday"), @"The file of [[id:tiles][Order tiles]] has no keyword for “SOMEDAY”. Its keywords are: TODO, NEXT, WAITING, DONE, CANCELLED.");
    assert_snapshot!(told("mark measure the window done"), @"[[file:/m/home.org::*Measure the window][Measure the window]] is DONE already.");
    assert_snapshot!(told("move kitchen to order tiles"), @"[[id:kitchen][Kitchen]] cannot stand below itself, so I propose nothing.");
    assert_snapshot!(told("mark it done"), @"I cannot tell what “it” is: please name the heading.");
    let without_inbox = view(&[("/m/home.org", HOME)]);
    let reply = ask_in(&without_inbox, "add a todo buy milk");
    assert!(reply.calls.is_empty() && reply.text.starts_with("Please say where it goes"), "{}", reply.text);
}

#[test]
fn every_answer_says_that_no_model_took_part() {
    for phrase in ["help", "purple monkey", "what is due?", "mark order tiles done", "find tiles", ""] {
        assert!(ask(phrase).text.ends_with(CLOSING), "{phrase}");
    }
    assert!(told("purple monkey").starts_with("I did not understand that.\nWithout a language model I can"));
}

#[test]
fn text_of_notes_is_never_a_request() {
    let (hostile, clean) =
        (super::memex::memex(), view(&[("/m/home.org", HOME), ("/m/inbox.org", super::memex::INBOX)]));
    for phrase in
        ["what is due today?", "find tiles", "find mail from a stranger", "who is stranger", "tell me about mail"]
    {
        let reply = ask_in(&hostile, phrase);
        assert!(reply.calls.is_empty(), "{phrase} proposes something");
        assert!(reply.text.lines().all(|line| !line.starts_with(['*', '#', ':', '('])), "{phrase}: {}", reply.text);
    }
    // The same words typed act on the heading that is meant, whatever notes say.
    for phrase in ["mark order tiles done", "schedule order tiles for Friday", "add a todo buy milk"] {
        assert_eq!(ask_in(&hostile, phrase).calls, ask_in(&clean, phrase).calls, "{phrase}");
    }
}

#[test]
fn a_hostile_title_stays_inside_its_link() {
    let text = told("what is due today?");
    assert!(!text.contains("[[elisp:") && !text.contains("id:bad"), "{text}");
    assert_eq!(text.matches("[[").count(), 1, "{text}");
}
