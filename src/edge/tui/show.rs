//! Answers of the core in words for a terminal.

use crate::domain::sexp::reader::Sexp;

/// So many rows of a list are shown.
const ROWS: usize = 500;

/// Returns what the gates said of each action of a turn.
pub fn trace(turn: &Sexp) -> String {
    let mut out = Vec::new();
    for deed in turn.list_at("trace") {
        let text = |key: &str| deed.text_at(key).unwrap_or_default();
        out.push(format!("{} {}: {}", sign(text("verdict")), text("tool"), text("summary")));
        for opinion in deed.list_at("opinions") {
            let text = |key: &str| opinion.text_at(key).unwrap_or_default();
            let reason = opinion.text_at("reason").map(|reason| format!(": {reason}")).unwrap_or_default();
            let priority = opinion.int_at("priority").unwrap_or(0);
            out.push(format!("  {priority:>4} {} {}{reason}", text("gate"), text("verdict")));
        }
        let outcome = text("outcome");
        if !outcome.is_empty() {
            out.push(format!("  came to: {outcome}"));
        }
    }
    out.join("\n")
}

/// Returns the sign of a verdict.
pub fn sign(verdict: &str) -> &'static str {
    match verdict {
        "pass" => "✓",
        "ask" => "?",
        _ => "✗",
    }
}

/// Returns what stands below an answer: who gave it, what it cost, and what it rests on.
pub fn foot(turn: &Sexp) -> String {
    let mut parts = Vec::new();
    parts.extend(turn.text_at("model").or(turn.text_at("provider")).map(str::to_string));
    let (came, went) = (turn.count_at("tokens-in"), turn.count_at("tokens-out"));
    if came.unwrap_or(0) + went.unwrap_or(0) > 0 {
        parts.push(format!("{} tokens in, {} out", came.unwrap_or(0), went.unwrap_or(0)));
    }
    parts.extend(turn.text_at("cost").map(str::to_string));
    parts.extend(turn.flag_at("private").then(|| "private".to_string()));
    if let Some(tasks) = turn.count_at("tasks").filter(|tasks| *tasks > 0) {
        parts.push(format!("{tasks} handed over, to be told of"));
    }
    let mut out = parts.join(" · ");
    let titles: Vec<&str> = turn.list_at("sources").iter().filter_map(|source| source.text_at("title")).collect();
    if !titles.is_empty() {
        let line = format!("from: {}", titles.join("; "));
        out = if out.is_empty() { line } else { format!("{out}\n{line}") };
    }
    let changed: Vec<&str> = turn.list_at("changed").iter().filter_map(Sexp::as_text).collect();
    if !changed.is_empty() {
        out = format!("{out}\nchanged: {}", changed.join(", "));
    }
    out.trim_start().to_string()
}

/// Returns an answer that is shown under a title, in words.
pub fn answer(title: &str, payload: &Sexp) -> String {
    let rows = |key: &str, row: &dyn Fn(&Sexp) -> String| {
        let lines: Vec<String> = payload.list_at(key).iter().take(ROWS).map(row).collect();
        lines.join("\n")
    };
    let text = match title {
        "Costs" => costs(payload),
        "Health" => format!(
            "{}\n\n{}",
            payload.text_at("verdict").unwrap_or_default(),
            rows("checks", &|check| {
                let text = |key: &str| check.text_at(key).unwrap_or_default();
                let repair = Some(text("repair")).filter(|repair| !repair.is_empty());
                // The core knows no commands of this client.
                let asks = text("name") == "memex" && text("repair").contains("MEMEX_DIR");
                let here = if asks { " Here /setup asks for the folder." } else { "" };
                let repair = repair.map(|repair| format!("\n  {repair}{here}")).unwrap_or_default();
                format!("{}: {}: {}{repair}", text("word"), text("title"), text("detail"))
            })
        ),
        "Log" => rows("lines", &|line| {
            let text = |key: &str| line.text_at(key).unwrap_or_default();
            format!("{} {}: {}", text("at"), text("level"), text("text"))
        }),
        "Memory" => rows("entries", &|entry| {
            let text = |key: &str| entry.text_at(key).unwrap_or_default();
            let number = entry.int_at("operation").unwrap_or(0);
            format!("{number:>5}  {}  {}: {}", text("at"), text("by"), text("what"))
        }),
        "Models" => rows("providers", &|provider| {
            let text = |key: &str| provider.text_at(key).unwrap_or_default();
            let why = Some(text("why")).filter(|why| !why.is_empty()).map(|why| format!(" ({why})"));
            format!(
                "{}: {}, {}{}  {}  {}",
                text("name"),
                name(provider, "state"),
                name(provider, "place"),
                why.unwrap_or_default(),
                text("model"),
                text("price")
            )
        }),
        "Context" if payload.get("lines").is_some() => {
            payload.list_at("lines").iter().filter_map(Sexp::as_text).collect::<Vec<_>>().join("\n")
        }
        "Context" => context(payload),
        "Identity" => format!(
            "{}\n\n{}",
            payload.text_at("file").unwrap_or_default(),
            payload.text_at("text").unwrap_or("The file is there and says it.")
        ),
        _ => payload.text_at("text").unwrap_or_default().to_string(),
    };
    if text.trim().is_empty() { "There is nothing.".to_string() } else { text }
}

fn name<'a>(of: &'a Sexp, key: &str) -> &'a str {
    of.name_at(key).or(of.text_at(key)).unwrap_or_default()
}

fn costs(payload: &Sexp) -> String {
    let row = |row: &Sexp, label: &str| {
        let count = |key: &str| row.count_at(key).unwrap_or(0);
        let cost = row.text_at("cost").unwrap_or_default();
        let (calls, came, went) = (count("calls"), count("tokens-in"), count("tokens-out"));
        format!("{label}: {cost} ({calls} calls, {came} tokens in, {went} out)")
    };
    let mut out = vec![row(payload, "In all")];
    let rows = payload.list_at("rows").iter().take(ROWS);
    out.extend(rows.map(|each| row(each, each.text_at("label").unwrap_or_default())));
    for key in ["caps", "notes"] {
        let lines: Vec<&str> = payload.list_at(key).iter().filter_map(Sexp::as_text).collect();
        if !lines.is_empty() {
            out.push(String::new());
            out.extend(lines.into_iter().map(str::to_string));
        }
    }
    out.join("\n")
}

fn context(payload: &Sexp) -> String {
    let mut out = Vec::new();
    if let Some(query) = payload.text_at("query").filter(|query| !query.is_empty()) {
        out.push(format!("Of the question: {query}"));
    }
    let provider = payload.text_at("provider").map(|provider| format!("For {provider}"));
    out.extend(provider.or(payload.text_at("why").map(str::to_string)));
    out.push(String::new());
    for section in payload.list_at("sections").iter().take(ROWS) {
        let items = section.items();
        let tokens = items.get(1).and_then(Sexp::as_int).unwrap_or(0);
        out.push(format!("{tokens:>7}  {}", items.first().and_then(Sexp::as_text).unwrap_or_default()));
    }
    out.push(String::new());
    for node in payload.list_at("nodes").iter().take(ROWS) {
        let text = |key: &str| node.text_at(key).unwrap_or_default();
        let title = node.text_at("title").unwrap_or("a private heading");
        let (tokens, shown) = (node.int_at("tokens").unwrap_or(0), name(node, "rendered"));
        out.push(format!("{tokens:>7}  {shown:<5}  {title} ({})", text("reason")));
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Sexp {
        Sexp::read(text).expect("a plist")
    }

    #[test]
    fn a_turn_is_told_in_lines() {
        let turn = read(
            "(:model \"m\" :tokens-in 12 :tokens-out 3 :cost \"$0.01\" :sources ((:title \"Tiles\") (:title \"Roof\")) \
             :changed (\"/g.org\") :trace ((:tool \"shell\" :summary \"Run: ls\" :verdict \"ask\" :outcome \"parked\" \
             :opinions ((:gate \"vault\" :priority 600 :verdict \"pass\") (:gate \"dispatcher\" :priority 150 :verdict \
             \"ask\" :reason \"it runs\")))))",
        );
        insta::assert_snapshot!(foot(&turn), @r"
        m · 12 tokens in, 3 out · $0.01
        from: Tiles; Roof
        changed: /g.org
        ");
        insta::assert_snapshot!(trace(&turn), @r"
        ? shell: Run: ls
           600 vault pass
           150 dispatcher ask: it runs
          came to: parked
        ");
        assert_eq!((foot(&Sexp::Nil), trace(&Sexp::Nil)), (String::new(), String::new()));
    }

    #[test]
    fn answers_are_words_and_an_empty_one_says_so() {
        for (title, payload, expected) in [
            ("Log", "(:lines ((:at \"9:00\" :level \"info\" :text \"begun\")))", "9:00 info: begun"),
            ("Memory", "(:entries ((:operation 7 :at \"9:00\" :by \"you\" :what \"edit\")))", "    7  9:00  you: edit"),
            ("Context", "(:lines (\"It is near.\"))", "It is near."),
            ("Why", "(:text \"The vault asked.\")", "The vault asked."),
            ("Log", "nil", "There is nothing."),
            (
                "Health",
                "(:verdict \"It works in part.\" :checks ((:name \"memex\" :title \"Memex\" :word \"degraded\" :detail \
                 \"no folder is set\" :repair \"Set MEMEX_DIR.\") (:name \"git\" :title \"Git\" :word \"degraded\" :detail \
                 \"too old\" :repair \"Install it.\")))",
                "It works in part.\n\ndegraded: Memex: no folder is set\n  Set MEMEX_DIR. Here /setup asks for the folder.\n\
                 degraded: Git: too old\n  Install it.",
            ),
            ("Models", "(:providers ((:name \"recall\" :state :ready :place :builtin)))", "recall: ready, builtin    "),
        ] {
            assert_eq!(answer(title, &read(payload)), expected);
        }
        assert!(answer("Costs", &read("(:cost \"$1\" :calls 2 :caps (\"a cap\"))")).starts_with("In all: $1 (2 calls"));
    }
}
