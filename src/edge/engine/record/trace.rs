//! How the store keeps what the gates said of an action: every turn and every plan has it, so it is short.

use crate::domain::gate::{Opinion, Reason, Trace, Verdict};
use crate::domain::id::ActionHash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An opinion as the first versions kept it.
#[derive(Deserialize)]
struct OpinionRecord {
    gate: String,
    priority: u16,
    verdict: String,
    reason: Option<String>,
    instead: Option<String>,
    /// Absent unless the reason has words of our own tables alone.
    #[serde(default)]
    ours: bool,
}

impl OpinionRecord {
    /// Returns what is kept of an opinion: gate and priority, and behind them verdict, reason, what to do instead and
    /// whether the words are ours, as far as there are such. Most gates of a turn pass without a word.
    fn of(opinion: &Opinion) -> Value {
        let mut row = vec![Value::from(opinion.gate.as_str()), Value::from(opinion.priority)];
        let reason = opinion.verdict.reason();
        if opinion.verdict.severity() > 0 || reason.is_some() {
            row.push(Value::from(opinion.verdict.name()));
        }
        if let Some(Reason { text, instead, ours }) = reason {
            row.push(Value::from(text.as_str()));
            if instead.is_some() || *ours {
                row.push(Value::from(instead.clone()));
            }
            if *ours {
                row.push(Value::Bool(true));
            }
        }
        Value::Array(row)
    }

    /// Reads an opinion; `None` when it is not whole.
    fn read(value: Value) -> Option<Opinion> {
        let OpinionRecord { gate, priority, verdict, reason, instead, ours } = match value {
            Value::Array(row) => OpinionRecord::of_row(&row)?,
            other => serde_json::from_value(other).ok()?,
        };
        let reason = reason.map(|text| Reason { text, instead, ours });
        let verdict = match (verdict.as_str(), reason) {
            ("pass", reason) => Verdict::Pass(reason),
            ("ask", Some(reason)) => Verdict::Ask(reason),
            (_, reason) => Verdict::Deny(reason.unwrap_or_else(|| Reason::new("unreadable in the store"))),
        };
        Some(Opinion { gate, priority, verdict })
    }

    fn of_row(row: &[Value]) -> Option<OpinionRecord> {
        let text = |at: usize| match row.get(at) {
            None | Some(Value::Null) => Some(None),
            Some(value) => value.as_str().map(|text| Some(text.to_string())),
        };
        let priority = row.get(1)?.as_u64().and_then(|number| u16::try_from(number).ok())?;
        let verdict = match row.get(2) {
            None => "pass".to_string(),
            Some(word) => word.as_str()?.to_string(),
        };
        let ours = row.get(5).is_some_and(|ours| *ours == Value::Bool(true));
        Some(OpinionRecord { gate: text(0)??, priority, verdict, reason: text(3)?, instead: text(4)?, ours })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct TraceRecord {
    action: String,
    opinions: Vec<Value>,
}

impl TraceRecord {
    pub(super) fn of(trace: &Trace) -> TraceRecord {
        TraceRecord { action: trace.action.to_hex(), opinions: trace.opinions.iter().map(OpinionRecord::of).collect() }
    }

    pub(super) fn read(self) -> Option<Trace> {
        let opinions = self.opinions.into_iter().map(OpinionRecord::read).collect::<Option<Vec<Opinion>>>()?;
        Some(Trace { action: ActionHash::from_hex(&self.action)?, opinions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn trace(verdicts: Vec<Verdict>) -> Trace {
        let opinion = |(n, verdict): (u16, Verdict)| Opinion { gate: format!("gate {n}"), priority: 600 - n, verdict };
        let opinions = (0u16..).zip(verdicts).map(opinion).collect();
        Trace { action: ActionHash::new([7; 32]), opinions }
    }

    fn read(value: Value) -> Option<Trace> {
        serde_json::from_value::<TraceRecord>(value).ok()?.read()
    }

    #[test]
    fn what_gates_said_is_read_as_it_was_kept_and_what_passes_takes_little() {
        let reason = |instead: Option<&str>, ours| Reason {
            text: "It is so.".to_string(),
            instead: instead.map(str::to_string),
            ours,
        };
        let of_each = |verdict: fn(Reason) -> Verdict| {
            [(None, false), (Some("Do that."), false), (None, true), (Some("Do that."), true)]
                .map(|(instead, ours)| verdict(reason(instead, ours)))
        };
        let said = [of_each(|reason| Verdict::Pass(Some(reason))), of_each(Verdict::Ask), of_each(Verdict::Deny)];
        let all = trace([Verdict::Pass(None)].into_iter().chain(said.into_iter().flatten()).collect());
        let kept = serde_json::to_value(TraceRecord::of(&all)).expect("it is JSON");
        assert_eq!(kept["opinions"][0], json!(["gate 0", 600]));
        assert_eq!(kept["opinions"][1], json!(["gate 1", 599, "pass", "It is so."]));
        assert_eq!(read(kept), Some(all));
    }

    #[test]
    fn what_the_first_versions_kept_is_read_and_what_is_not_whole_is_none() {
        let action = ActionHash::new([7; 32]).to_hex();
        let of = |opinion: Value| read(json!({ "action": action, "opinions": [opinion] }));
        let denied = || Verdict::Deny(Reason::new("unreadable in the store"));
        let asked = Reason { text: "Why?".to_string(), instead: Some("Wait.".to_string()), ours: true };
        for (kept, verdict) in [
            (json!({"gate": "gate 0", "priority": 600, "verdict": "pass"}), Verdict::Pass(None)),
            (
                json!({"gate": "gate 0", "priority": 600, "verdict": "ask", "reason": "Why?", "instead": "Wait.", "ours": true}),
                Verdict::Ask(asked),
            ),
            (json!({"gate": "gate 0", "priority": 600, "verdict": "ask"}), denied()),
            (json!(["gate 0", 600, "ask"]), denied()),
            (json!(["gate 0", 600, "allow"]), denied()),
        ] {
            assert_eq!(of(kept.clone()), Some(trace(vec![verdict])), "{kept}");
        }
        for torn in [
            json!([]),
            json!(["gate 0"]),
            json!([600, "gate 0"]),
            json!(["gate 0", 70000]),
            json!(["gate 0", 600, null]),
            json!(["gate 0", 600, "ask", 1]),
            json!({"gate": "gate 0", "verdict": "pass"}),
            json!("pass"),
        ] {
            assert_eq!(of(torn.clone()), None, "{torn}");
        }
    }
}
