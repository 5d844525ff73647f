//! The grammar of requests: a table of phrases, and properties that hold for any text.

use jiff::civil::{DateTime, date};
use passepartout::domain::recall::grammar::parse;
use passepartout::domain::recall::request::{Planning, Request, When, Window};
use proptest::prelude::*;

/// A Wednesday.
fn now() -> DateTime {
    date(2026, 11, 18).at(10, 0, 0, 0)
}

/// Writes a request on one line, as the tables below do.
fn brief(request: &Request) -> String {
    let place = |within: &Option<String>| within.as_ref().map(|w| format!(" in [{w}]")).unwrap_or_default();
    let days = |window: &Window| match (window.from, window.to) {
        (None, None) => " any".to_string(),
        (Some(from), Some(to)) if from == to => format!(" {from}"),
        (from, to) => format!(
            " {}..{}",
            from.map(|d| d.to_string()).unwrap_or_default(),
            to.map(|d| d.to_string()).unwrap_or_default()
        ),
    };
    let date = |word: &str, when: &Option<When>| when.map(|w| format!(" {word} {w}")).unwrap_or_default();
    match request {
        Request::Due { window, within } => format!("due{}{}", days(window), place(within)),
        Request::Scheduled { window, within } => format!("scheduled{}{}", days(window), place(within)),
        Request::Overdue { within } => format!("overdue{}", place(within)),
        Request::Agenda { window, within } => format!("agenda{}{}", days(window), place(within)),
        Request::Waiting { within } => format!("waiting{}", place(within)),
        Request::Projects { within } => format!("projects{}", place(within)),
        Request::StuckProjects => "stuck".to_string(),
        Request::Todos { state, within } => {
            format!("todos{}{}", state.as_ref().map(|s| format!(" {s}")).unwrap_or_default(), place(within))
        }
        Request::Tagged { tag } => format!("tagged {tag}"),
        Request::Finished { window, within } => format!("finished{}{}", days(window), place(within)),
        Request::ChangedSince { since } => format!("changed {since}"),
        Request::When { target } => format!("when [{target}]"),
        Request::Find { text } => format!("find [{text}]"),
        Request::WhoOrWhat { name } => format!("what [{name}]"),
        Request::AddTodo { title, under, scheduled, deadline } => {
            format!("add [{title}]{}{}{}", place(under), date("on", scheduled), date("by", deadline))
        }
        Request::Schedule { target, plans } => {
            let plans: Vec<String> = plans
                .iter()
                .map(|(planning, when)| {
                    let word = match planning {
                        Planning::Scheduled => "on",
                        Planning::Deadline => "by",
                    };
                    format!(" {word} {}", when.map_or("nothing".to_string(), |w| w.to_string()))
                })
                .collect();
            format!("schedule [{target}]{}", plans.concat())
        }
        Request::MarkDone { target } => format!("done [{target}]"),
        Request::SetTodo { target, state } => format!("set [{target}] {}", state.as_deref().unwrap_or("open")),
        Request::SetProperty { target, property, value } => {
            format!("property [{target}] {property}={}", value.as_deref().unwrap_or("nothing"))
        }
        Request::Move { target, to } => format!("move [{target}] to [{to}]"),
        Request::Note { text, under } => format!("note [{text}]{}", place(under)),
        Request::Both { first, second } => format!("both [{first}] [{second}]"),
        Request::ScheduleWhen { target, planning } => format!("when to {} [{target}]", planning.word()),
        Request::NoDate { words } => format!("no date [{words}]"),
        Request::NoTags => "no tags".to_string(),
        Request::NoCommand { name } => format!("no command [{name}]"),
        Request::Help => "help".to_string(),
        Request::Unknown => "unknown".to_string(),
    }
}

fn check(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .filter_map(|(phrase, expected)| {
            let found = brief(&parse(phrase, now()));
            (found != *expected).then(|| format!("{phrase}\n    expected {expected}\n    found    {found}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} phrases are misread:\n{}", wrong.len(), table.len(), wrong.join("\n"));
}

#[test]
fn due() {
    check(&[
        ("What is due?", "due any"),
        ("what's due today", "due 2026-11-18"),
        ("what is due tomorrow?", "due 2026-11-19"),
        ("Which tasks are due this week?", "due 2026-11-16..2026-11-22"),
        ("what do I have due next week", "due 2026-11-23..2026-11-29"),
        ("show me everything due this month", "due 2026-11-01..2026-11-30"),
        ("list all deadlines", "due any"),
        ("deadlines next month", "due 2026-12-01..2026-12-31"),
        ("what are my deadlines for this week?", "due 2026-11-16..2026-11-22"),
        ("anything due by Friday?", "due ..2026-11-20"),
        ("what is due before Friday", "due ..2026-11-19"),
        ("what is due in the next 3 days?", "due 2026-11-18..2026-11-21"),
        ("What's due within two weeks?", "due 2026-11-18..2026-12-02"),
        ("due today", "due 2026-11-18"),
        ("please show me what is due on 25 Nov", "due 2026-11-25"),
        ("what was due yesterday", "due 2026-11-17"),
        ("what's due on Friday in Kitchen?", "due 2026-11-20 in [Kitchen]"),
        ("what is due for the Kitchen project this week", "due 2026-11-16..2026-11-22 in [Kitchen project]"),
        ("my upcoming deadlines", "due 2026-11-18.."),
        ("is anything due between Monday and Friday?", "due 2026-11-23..2026-11-27"),
        ("what is due between 1 Dec and 10 Dec", "due 2026-12-01..2026-12-10"),
        ("deadlines from 2026-11-20 to 2026-11-25", "due 2026-11-20..2026-11-25"),
        ("which deadlines do I have until the end of the month?", "due ..2026-11-30"),
        ("hey, could you tell me what's due tomorrow please?", "due 2026-11-19"),
        ("what's overdue?", "overdue"),
        ("show overdue tasks", "overdue"),
        ("am I behind on anything?", "overdue"),
        ("which tasks are late", "overdue"),
        ("what is past due in Finances", "overdue in [Finances]"),
    ]);
}

#[test]
fn scheduled_and_agenda() {
    check(&[
        ("what is scheduled for tomorrow?", "scheduled 2026-11-19"),
        ("what's scheduled this week", "scheduled 2026-11-16..2026-11-22"),
        ("show me scheduled tasks", "scheduled any"),
        ("which tasks are scheduled for next Monday?", "scheduled 2026-11-23"),
        ("scheduled today", "scheduled 2026-11-18"),
        ("list what is scheduled on 2026-11-25", "scheduled 2026-11-25"),
        ("what have I scheduled for Friday", "scheduled 2026-11-20"),
        ("anything scheduled in Garden next month?", "scheduled 2026-12-01..2026-12-31 in [Garden]"),
        ("agenda", "agenda 2026-11-18"),
        ("today", "agenda 2026-11-18"),
        ("tomorrow?", "agenda 2026-11-19"),
        ("today's agenda", "agenda 2026-11-18"),
        ("show my agenda for tomorrow", "agenda 2026-11-19"),
        ("what do I have on Friday?", "agenda 2026-11-20"),
        ("what's on today", "agenda 2026-11-18"),
        ("what is on my calendar for Monday?", "agenda 2026-11-23"),
        ("what's my schedule for tomorrow", "agenda 2026-11-19"),
        ("what is planned for the 25th?", "agenda 2026-11-25"),
        ("plan for today", "agenda 2026-11-18"),
        ("what should I do today?", "agenda 2026-11-18"),
        ("what do I need to do tomorrow", "agenda 2026-11-19"),
        ("what's up next week", "agenda 2026-11-23..2026-11-29"),
        ("how does my Friday look?", "agenda 2026-11-20"),
        ("am I free on Thursday?", "agenda 2026-11-19"),
        ("do I have any meetings on 25.11.?", "agenda 2026-11-25"),
        ("any appointments on 11/25?", "agenda 2026-11-25"),
        ("agenda for this weekend", "agenda 2026-11-21..2026-11-22"),
        ("what's happening on November 25th", "agenda 2026-11-25"),
        ("what is coming up?", "agenda 2026-11-18..2026-11-25"),
        ("agenda of the day after tomorrow", "agenda 2026-11-20"),
        ("what did I have planned for yesterday", "agenda 2026-11-17"),
        ("agenda this week", "agenda 2026-11-16..2026-11-22"),
        ("tomorrow's schedule", "agenda 2026-11-19"),
    ]);
}

#[test]
fn lists() {
    check(&[
        ("what am I waiting for?", "waiting"),
        ("waiting", "waiting"),
        ("who am I waiting on", "waiting"),
        ("show me all waiting items", "waiting"),
        ("what is on hold?", "waiting"),
        ("what's blocked", "waiting"),
        ("list delegated tasks", "waiting"),
        ("what am I waiting for in Kitchen?", "waiting in [Kitchen]"),
        ("projects", "projects"),
        ("list my projects", "projects"),
        ("show me all active projects", "projects"),
        ("what projects do I have?", "projects"),
        ("which projects are open", "projects"),
        ("what am I working on?", "projects"),
        ("which projects are stuck?", "stuck"),
        ("stalled projects", "stuck"),
        ("todos", "todos"),
        ("show my todo list", "todos"),
        ("what are my open tasks?", "todos"),
        ("what is left to do", "todos"),
        ("what should I do next?", "todos NEXT"),
        ("list next actions", "todos NEXT"),
        ("show all SOMEDAY items", "todos SOMEDAY"),
        ("what do I need to do in Kitchen?", "todos in [Kitchen]"),
        ("open tasks under Garden", "todos in [Garden]"),
        ("tasks for the Kitchen project", "todos in [Kitchen project]"),
        ("what is tagged work", "tagged work"),
        ("show everything tagged :errand:", "tagged errand"),
        ("list headings with the tag phone", "tagged phone"),
        ("notes tagged as idea", "tagged idea"),
        ("what did I finish last week?", "finished 2026-11-09..2026-11-15"),
        ("what have I completed this month", "finished 2026-11-01..2026-11-30"),
        ("what did I get done yesterday?", "finished 2026-11-17"),
        ("show completed tasks", "finished any"),
        ("what was closed today", "finished 2026-11-18"),
        ("what did I finish on Monday", "finished 2026-11-16"),
    ]);
}

#[test]
fn changed() {
    check(&[
        ("what changed since yesterday?", "changed 2026-11-17T00:00:00"),
        ("what has changed since Monday", "changed 2026-11-16T00:00:00"),
        ("what changed today", "changed 2026-11-18T00:00:00"),
        ("what's new since last Friday?", "changed 2026-11-13T00:00:00"),
        ("what did I change this week", "changed 2026-11-16T00:00:00"),
        ("which notes changed in the last 3 days?", "changed 2026-11-15T00:00:00"),
        ("what has been modified since 2026-11-01", "changed 2026-11-01T00:00:00"),
        ("changes since 1 November", "changed 2026-11-01T00:00:00"),
        ("what did I write yesterday?", "changed 2026-11-17T00:00:00"),
        ("recent changes", "changed 2026-11-11T00:00:00"),
        ("what changed recently?", "changed 2026-11-11T00:00:00"),
        ("what changed in the last hour", "changed 2026-11-18T09:00:00"),
        ("what changed in the past 30 minutes?", "changed 2026-11-18T09:30:00"),
        ("what changed since 8:30", "changed 2026-11-18T08:30:00"),
        ("show me what I edited since last week", "changed 2026-11-09T00:00:00"),
        ("anything new since 2 hours ago", "changed 2026-11-18T08:00:00"),
        ("what happened since the 10th", "changed 2026-11-10T00:00:00"),
        ("what did I work on last week", "changed 2026-11-09T00:00:00"),
        ("which files were updated since a week ago", "changed 2026-11-11T00:00:00"),
    ]);
}

#[test]
fn searches() {
    check(&[
        ("find boiler code", "find [boiler code]"),
        ("search for tax return", "find [tax return]"),
        ("look up the wifi password", "find [the wifi password]"),
        ("search my notes for tomato sauce", "find [tomato sauce]"),
        ("show me notes about Lisbon", "find [Lisbon]"),
        ("notes on beekeeping", "find [beekeeping]"),
        ("grep invoice 4711", "find [invoice 4711]"),
        ("please find \"Merkle tree\"", "find [Merkle tree]"),
        ("what do I know about espresso?", "find [espresso]"),
        ("where did I write about the leak", "find [the leak]"),
        ("do I have anything on insurance?", "find [insurance]"),
        ("which notes mention Ada Lovelace?", "find [Ada Lovelace]"),
        ("is there a note about the bike lock", "find [the bike lock]"),
        ("where is the spare key?", "find [the spare key]"),
        ("when did I last water the plants?", "find [when did I last water the plants]"),
        ("how do I descale the machine", "find [how do I descale the machine]"),
        ("why did we choose SQLite?", "find [why did we choose SQLite]"),
        ("whom did Ada meet in London?", "find [whom did Ada meet in London]"),
        ("boiler pressure?", "find [boiler pressure]"),
        ("what do my notes say about rhubarb", "find [rhubarb]"),
        ("who fixed the roof last year?", "find [who fixed the roof last year]"),
        ("what is due to the bank", "what [due to the bank]"),
        ("who is Ada Lovelace?", "what [Ada Lovelace]"),
        ("who's Bob", "what [Bob]"),
        ("what is a Merkle tree?", "what [Merkle tree]"),
        ("what's the boiler code", "what [boiler code]"),
        ("tell me about Lisbon", "what [Lisbon]"),
        ("define idempotent", "what [idempotent]"),
        ("what does GTD stand for?", "what [GTD]"),
        ("what does idempotent mean", "what [idempotent]"),
        ("who are the Millers?", "what [Millers]"),
        ("who was \"Grace Hopper\"", "what [Grace Hopper]"),
        ("when is the tax return due?", "when [tax return]"),
        ("when is the dentist appointment", "when [dentist appointment]"),
        ("what is the deadline of the grant proposal?", "when [grant proposal]"),
        ("when is paint the walls scheduled?", "when [paint the walls]"),
    ]);
}

#[test]
fn adding() {
    check(&[
        ("add a todo buy milk", "add [buy milk]"),
        ("Add a todo to call mum under Family", "add [call mum] in [Family]"),
        ("add todo: paint the walls under Kitchen by Friday", "add [paint the walls] in [Kitchen] by 2026-11-20"),
        ("add a task 'order tiles' under Kitchen for tomorrow", "add [order tiles] in [Kitchen] on 2026-11-19"),
        ("create a task called water the plants tomorrow at 8am", "add [water the plants] on 2026-11-19 08:00"),
        ("new todo: renew passport, due 1 March 2027", "add [renew passport] by 2027-03-01"),
        ("todo: call the plumber", "add [call the plumber]"),
        ("TODO write the report by 25 Nov", "add [write the report] by 2026-11-25"),
        ("task: sweep the yard on Saturday", "add [sweep the yard] on 2026-11-21"),
        ("remind me to call Bob on Friday at 3pm", "add [call Bob] on 2026-11-20 15:00"),
        ("remind me tomorrow to water the plants", "add [water the plants] on 2026-11-19"),
        ("remind me about the dentist next Tuesday", "add [the dentist] on 2026-11-24"),
        ("remind me in two weeks to check the filter", "add [check the filter] on 2026-12-02"),
        ("I need to buy stamps before Monday", "add [buy stamps] by 2026-11-22"),
        ("I have to file taxes by 2026-12-31", "add [file taxes] by 2026-12-31"),
        ("don't forget to lock the shed tonight", "add [lock the shed] on 2026-11-18 20:00"),
        ("add milk to the shopping list", "add [milk] in [shopping list]"),
        ("add buy stamps to Errands", "add [buy stamps] in [Errands]"),
        ("put eggs on my shopping list", "add [eggs] in [shopping list]"),
        ("add \"go to the bank\" to Errands", "add [go to the bank] in [Errands]"),
        ("add a todo under Kitchen: measure the window", "add [measure the window] in [Kitchen]"),
        ("under Garden, add a todo to prune the roses", "add [prune the roses] in [Garden]"),
        ("add a todo for Friday: bring cake", "add [bring cake] on 2026-11-20"),
        ("please add a todo to go to the post office in 3 days", "add [go to the post office] on 2026-11-21"),
        ("add todo pay rent by the end of the month under Finances", "add [pay rent] in [Finances] by 2026-11-30"),
        (
            "add a todo read chapter 3 scheduled for Monday with a deadline on Friday 27 Nov",
            "add [read chapter 3] on 2026-11-23 by 2026-11-27",
        ),
        ("could you add a reminder to stretch at 16:30", "add [stretch] on 2026-11-18 16:30"),
        ("create a todo item titled Review PR 12 in the Work project", "add [Review PR 12] in [Work project]"),
        ("add task sow tomatoes in March", "add [sow tomatoes] on 2027-03-01"),
        ("schedule a call with Bob on Friday at 3pm", "add [call with Bob] on 2026-11-20 15:00"),
        ("add a todo “Buy milk” below Shopping, deadline 11/25", "add [Buy milk] in [Shopping] by 2026-11-25"),
        ("i should visit Ada next weekend", "add [visit Ada] on 2026-11-28"),
        ("add an action item send the invoice no later than 30.11.", "add [send the invoice] by 2026-11-30"),
    ]);
}

#[test]
fn what_a_heading_has_is_no_new_heading() {
    check(&[
        ("Add tag urgent to Order kitchen tiles", "no tags"),
        ("add the tags urgent and home to Order tiles", "no tags"),
        ("tag Order tiles with urgent", "no tags"),
        ("tag Order tiles as urgent", "no tags"),
        ("remove the tag urgent from Order tiles", "no tags"),
        ("Add property EFFORT 2:00 to Order kitchen tiles", "property [Order kitchen tiles] EFFORT=2:00"),
        ("add the property LOCATION Corran mill to Order tiles", "property [Order tiles] LOCATION=Corran mill"),
        ("add property EFFORT=2:00 to Order tiles", "property [Order tiles] EFFORT=2:00"),
        ("add property EFFORT with value 2:00 to Go to town", "property [Go to town] EFFORT=2:00"),
        ("add an effort of 2:00 to Order tiles", "property [Order tiles] EFFORT=2:00"),
        ("set the property EFFORT of Order tiles to 1:00", "property [Order tiles] EFFORT=1:00"),
        ("add priority A to Order tiles", "unknown"),
        ("add property tax to Errands", "unknown"),
        ("add \"property tax\" to Errands", "add [property tax] in [Errands]"),
        ("add a todo: tag the boxes", "add [tag the boxes]"),
        ("add a todo tag the boxes under Garden", "add [tag the boxes] in [Garden]"),
        ("add effort estimates to the shopping list", "unknown"),
    ]);
}

#[test]
fn scheduling() {
    check(&[
        ("schedule paint the walls for Friday", "schedule [paint the walls] on 2026-11-20"),
        ("schedule \"call mum\" tomorrow at 15:00", "schedule [call mum] on 2026-11-19 15:00"),
        ("reschedule dentist to next Tuesday", "schedule [dentist] on 2026-11-24"),
        ("postpone the tax return until Monday", "schedule [tax return] on 2026-11-23"),
        ("move paint the walls to next Friday", "schedule [paint the walls] on 2026-11-27"),
        ("put order tiles on Monday morning", "schedule [order tiles] on 2026-11-23 09:00"),
        ("plan water the plants for this Friday", "schedule [water the plants] on 2026-11-20"),
        ("push the report to 25.11.2026", "schedule [report] on 2026-11-25"),
        ("defer call Bob by a week", "unknown"),
        ("schedule call Bob in 3 days", "schedule [call Bob] on 2026-11-21"),
        ("schedule call Bob in two weeks at 3pm", "schedule [call Bob] on 2026-12-02 15:00"),
        ("schedule sowing for the end of the month", "schedule [sowing] on 2026-11-30"),
        ("schedule report on 2026-11-25", "schedule [report] on 2026-11-25"),
        ("schedule report on Nov 25th at noon", "schedule [report] on 2026-11-25 12:00"),
        ("schedule report for <2026-11-25 Wed 15:00>", "schedule [report] on 2026-11-25 15:00"),
        ("schedule report on the 25th of November", "schedule [report] on 2026-11-25"),
        ("schedule report for next week", "schedule [report] on 2026-11-23"),
        ("schedule report for Fri 27 Nov", "schedule [report] on 2026-11-27"),
        ("schedule report at 3pm tomorrow", "schedule [report] on 2026-11-19 15:00"),
        ("schedule report for Monday by Friday 27 Nov", "schedule [report] on 2026-11-23 by 2026-11-27"),
        ("set the deadline of the tax return to 30 Nov", "schedule [tax return] by 2026-11-30"),
        ("set a deadline for order tiles on Friday", "schedule [order tiles] by 2026-11-20"),
        ("deadline for report: 2026-12-01", "schedule [report] by 2026-12-01"),
        ("change the deadline of report to next Friday", "schedule [report] by 2026-11-27"),
        ("set report due on Friday", "schedule [report] by 2026-11-20"),
        ("unschedule paint the walls", "schedule [paint the walls] on nothing"),
        ("remove the deadline of the report", "schedule [report] by nothing"),
        ("clear the schedule of order tiles", "schedule [order tiles] on nothing"),
        ("bring forward the review to tomorrow", "schedule [review] on 2026-11-19"),
    ]);
}

#[test]
fn states_and_moves() {
    check(&[
        ("mark call mum done", "done [call mum]"),
        ("mark \"Call mum\" as done", "done [Call mum]"),
        ("mark the report as complete", "done [report]"),
        ("I finished the report", "done [report]"),
        ("I've done order tiles", "done [order tiles]"),
        ("the report is done", "done [report]"),
        ("done with order tiles", "done [order tiles]"),
        ("tick off buy milk", "done [buy milk]"),
        ("check buy milk off", "done [buy milk]"),
        ("complete order tiles", "done [order tiles]"),
        ("close the report", "done [report]"),
        ("set order tiles to done", "done [order tiles]"),
        ("set order tiles to WAITING", "set [order tiles] WAITING"),
        ("mark order tiles as waiting", "set [order tiles] WAITING"),
        ("change the state of report to NEXT", "set [report] NEXT"),
        ("make the report a TODO", "set [report] TODO"),
        ("put the report on hold", "set [report] HOLD"),
        ("cancel the gym membership task", "set [gym membership task] CANCELLED"),
        ("cancel gym membership", "set [gym membership] CANCELLED"),
        ("reopen the report", "set [report] open"),
        ("set report to IN-REVIEW", "set [report] IN-REVIEW"),
        ("set property EFFORT of report to 1:00", "property [report] EFFORT=1:00"),
        ("set the effort of the report to 2h", "property [report] EFFORT=2h"),
        ("remove property URL from report", "property [report] URL=nothing"),
        ("move order tiles under Kitchen", "move [order tiles] to [Kitchen]"),
        ("move \"Call mum\" to Family", "move [Call mum] to [Family]"),
        ("refile the report to Work", "move [report] to [Work]"),
        ("refile buy milk under the shopping list", "move [buy milk] to [shopping list]"),
        ("file the receipt under Finances", "move [receipt] to [Finances]"),
        ("put order tiles under Kitchen", "move [order tiles] to [Kitchen]"),
        ("transfer the report into the Work project", "move [report] to [Work project]"),
    ]);
}

#[test]
fn notes_and_help() {
    check(&[
        ("note: the boiler code is 4711", "note [the boiler code is 4711]"),
        ("note that Bob prefers tea under People", "note [Bob prefers tea] in [People]"),
        ("take a note: the filter is a 20x25", "note [the filter is a 20x25]"),
        ("make a note that the shop closes at 6", "note [the shop closes at 6]"),
        ("jot down an idea for the garden party", "note [an idea for the garden party]"),
        ("remember that the key is with Ada", "note [the key is with Ada]"),
        ("write down: two litres of paint under Kitchen", "note [two litres of paint] in [Kitchen]"),
        ("add a note under House: meter reading 4711", "note [meter reading 4711] in [House]"),
        ("add a note to the journal: slept well", "note [slept well] in [journal]"),
        ("new note: call was good", "note [call was good]"),
        ("note to self: bring the charger", "note [bring the charger]"),
        ("log ran 5 km to my journal", "note [ran 5 km] in [journal]"),
        ("help", "help"),
        ("What can you do?", "help"),
        ("hello", "help"),
        ("?", "help"),
        ("", "unknown"),
        ("   ", "unknown"),
        ("purple monkey dishwasher", "unknown"),
        ("4711", "unknown"),
        ("sing a song", "unknown"),
    ]);
}

#[test]
fn the_heading_at_point() {
    check(&[
        ("mark this done", "done [this]"),
        ("mark it as done", "done [this]"),
        ("mark this task done", "done [this]"),
        ("mark the current heading done", "done [this]"),
        ("this is done", "done [this]"),
        ("it is done", "done [this]"),
        ("I finished this", "done [this]"),
        ("schedule this for Friday", "schedule [this] on 2026-11-20"),
        ("schedule that task for tomorrow at 9am", "schedule [this] on 2026-11-19 09:00"),
        ("postpone this until Monday", "schedule [this] on 2026-11-23"),
        ("set the deadline of this to 30 Nov", "schedule [this] by 2026-11-30"),
        ("unschedule this", "schedule [this] on nothing"),
        ("set this to WAITING", "set [this] WAITING"),
        ("cancel this", "set [this] CANCELLED"),
        ("move this under Kitchen", "move [this] to [Kitchen]"),
        ("move the heading at point to Garden", "move [this] to [Garden]"),
        ("set the effort of this heading to 2h", "property [this] EFFORT=2h"),
        ("add a note to this: the code is 4711", "note [the code is 4711] in [this]"),
        ("add a note to this heading saying the code is 4711", "note [the code is 4711] in [this]"),
        ("add a todo under this: measure twice", "add [measure twice] in [this]"),
        ("add a todo measure twice under this", "add [measure twice] in [this]"),
        ("what is this?", "what [this]"),
        ("when is this due?", "when [this]"),
        ("open tasks in this project", "todos in [this]"),
        ("mark \"this\" done", "done [this]"),
        ("add a note to this effect: done", "note [done] in [effect]"),
        ("what is due this week", "due 2026-11-16..2026-11-22"),
        ("is there anything urgent?", "due ..2026-11-25"),
        ("what is urgent in Kitchen", "due ..2026-11-25 in [Kitchen]"),
        ("do I have time on Tuesday?", "agenda 2026-11-24"),
        ("do order tiles on Tuesday", "schedule [order tiles] on 2026-11-24"),
        ("what did I do last week?", "finished 2026-11-09..2026-11-15"),
        ("what did we do yesterday?", "finished 2026-11-17"),
        ("plan for this week", "agenda 2026-11-16..2026-11-22"),
        ("do it tomorrow", "schedule [this] on 2026-11-19"),
    ]);
}

#[test]
fn two_requests_in_one_message() {
    check(&[
        (
            "add a todo buy paint and schedule order tiles for Friday",
            "both [add a todo buy paint] [schedule order tiles for Friday]",
        ),
        ("mark order tiles done and move the report to Work", "both [mark order tiles done] [move the report to Work]"),
        ("what is overdue and what is due today?", "both [what is overdue] [what is due today]"),
        ("What is due today? What is overdue?", "both [What is due today] [What is overdue]"),
        ("mark call mum done. Then add a todo buy cake", "both [mark call mum done] [add a todo buy cake]"),
        (
            "add a todo \"wash up and mark the cups\" and mark order tiles done",
            "both [add a todo \"wash up and mark the cups\"] [mark order tiles done]",
        ),
        ("add a todo buy milk and bread", "add [buy milk and bread]"),
        (
            "add a todo \"buy paint and schedule order tiles for Friday\"",
            "add [buy paint and schedule order tiles for Friday]",
        ),
        (
            "todo: buy paint and schedule order tiles for Friday",
            "add [buy paint and schedule order tiles] on 2026-11-20",
        ),
        ("remind me to call mum and find the keys", "add [call mum and find the keys]"),
        ("note that Ada called and mark the day", "note [Ada called and mark the day]"),
        ("note: call Bob. Add milk to the list.", "note [call Bob. Add milk to the list.]"),
        ("what is due today and tomorrow?", "due 2026-11-18..2026-11-19"),
    ]);
}

proptest! {
    #[test]
    fn any_text_has_an_answer(text in ".{0,200}") {
        parse(&text, now());
    }

    #[test]
    fn any_words_of_the_grammar_have_an_answer(words in proptest::collection::vec(word(), 0..30)) {
        parse(&words.join(" "), now());
    }

    #[test]
    fn what_a_request_quotes_was_typed(words in proptest::collection::vec(word(), 1..12)) {
        let typed = words.join(" ");
        if let Request::AddTodo { title, .. } | Request::Note { text: title, .. } = parse(&typed, now()) {
            for part in title.split_whitespace() {
                prop_assert!(typed.contains(part), "{part} was not typed in {typed}");
            }
        }
    }
}

/// Words that rules look for, and marks that upset careless ones.
fn word() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "add",
        "a",
        "todo",
        "under",
        "Kitchen",
        "by",
        "Friday",
        "next",
        "week",
        "in",
        "3",
        "days",
        "at",
        "15:00",
        "to",
        "move",
        "mark",
        "done",
        "as",
        "what",
        "is",
        "due",
        "since",
        "on",
        "25",
        "Nov",
        "the",
        "of",
        "end",
        "month",
        ":",
        "\"",
        "'",
        "“x y”",
        "<2026-11-25",
        "29.2.",
        "31/31",
        "9999",
        "note",
        "set",
        "deadline",
        "it",
        "-",
        "…",
        "ß",
        "’s",
        "what’s",
        "a:b",
        "99999999999999999999",
    ])
    .prop_map(str::to_string)
}

#[test]
fn long_input_is_read_in_bounded_time() {
    let long = "add todo under \"x by Friday “ ' in to ".repeat(2000);
    parse(&long, now());
    let words = parse(&format!("note: {}", "word ".repeat(5000)), now());
    assert!(matches!(words, Request::Note { text, .. } if text.len() > 20_000), "the end of a long note is kept");
}

#[test]
fn a_day_that_is_none_is_told() {
    check(&[
        ("schedule call mum for 31 Feb", "no date [31 Feb]"),
        ("schedule call mum for the 31st of February", "no date [31st of February]"),
        ("schedule call mum for Feb 30", "no date [Feb 30]"),
        ("schedule call mum for 29 Feb 2027", "no date [29 Feb 2027]"),
        ("schedule call mum for 29 Feb 2028", "schedule [call mum] on 2028-02-29"),
        ("set the deadline of call mum to 2026-02-30", "no date [2026-02-30]"),
        ("add a todo call mum by 31 Nov", "no date [31 Nov]"),
        ("remind me to call mum on 45 May", "no date [45 May]"),
        ("note: the invoice is due on 31 Feb", "note [the invoice is due on 31 Feb]"),
        ("add a todo read \"on 31 Feb\"", "add [read \"on 31 Feb\"]"),
        ("schedule call mum", "when to scheduled [call mum]"),
        ("schedule call mum for", "when to scheduled [call mum]"),
        ("postpone call mum", "when to scheduled [call mum]"),
        ("set the deadline of call mum", "when to deadline [call mum]"),
        ("/foo", "no command [foo]"),
        ("/foo bar", "no command [foo]"),
        ("/help", "help"),
        ("/m/home.org", "unknown"),
    ]);
}
