//! A call as the store keeps it, under the name of its conversation.

use crate::domain::memory::store::{NewRecord, Record};
use crate::domain::money::{Call, Cost, Micros};
use crate::domain::port::Usage;
use crate::domain::work::Work;
use crate::edge::engine::record::{kind, lean};
use serde_json::{Value, json};

/// Returns what is stored of a call; by its name it is known when it was noted beside the store as well.
pub(super) fn kept(call: &Call, name: &str) -> NewRecord {
    let cost = match call.cost {
        Cost::Known(amount) => json!({ "known": amount.0 }),
        Cost::Guessed(amount) => json!({ "guessed": amount.0 }),
        Cost::Unknown => Value::Null,
    };
    let usage = call.usage.map(|usage| json!([usage.input, usage.output, usage.cached, usage.thinking]));
    let body = json!({
        "provider": call.provider, "model": call.model, "work": call.work.name(), "skill": call.skill,
        "heading": call.heading, "usage": usage, "status": call.status, "http": call.http,
        "attempts": call.attempts, "cost": cost, "name": Some(name).filter(|name| !name.is_empty()),
    });
    NewRecord { at: call.at, kind: kind::CALL.to_string(), key: call.session.clone(), body: lean(body) }
}

/// Reads a call; `None` when it is not whole.
pub(super) fn read(record: &Record) -> Option<Call> {
    let body = &record.body;
    let text = |name: &str| body[name].as_str().map(str::to_string);
    let usage = match &body["usage"] {
        Value::Null => None,
        told => {
            let at = |place: usize| told.get(place)?.as_u64();
            Some(Usage { input: at(0)?, output: at(1)?, cached: at(2)?, thinking: at(3)? })
        }
    };
    let cost = match &body["cost"] {
        Value::Null => Cost::Unknown,
        cost => match (cost["known"].as_u64(), cost["guessed"].as_u64()) {
            (Some(amount), None) => Cost::Known(Micros(amount)),
            (None, Some(amount)) => Cost::Guessed(Micros(amount)),
            (Some(_), Some(_)) | (None, None) => return None,
        },
    };
    Some(Call {
        at: record.at,
        session: record.key.clone(),
        provider: text("provider")?,
        model: text("model")?,
        work: Work::parse(body["work"].as_str()?)?,
        skill: text("skill"),
        heading: text("heading"),
        usage,
        status: text("status")?,
        http: body["http"].as_u64().and_then(|status| u16::try_from(status).ok()),
        attempts: body["attempts"].as_u64().and_then(|attempts| u32::try_from(attempts).ok())?,
        cost,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_as_it_was_kept_and_half_of_one_is_none() {
        let usage = Usage { input: 10, output: 4, cached: 3, thinking: 1 };
        for (cost, usage, http) in [
            (Cost::Known(Micros(u64::MAX)), Some(usage), None),
            (Cost::Guessed(Micros(0)), None, Some(529)),
            (Cost::Unknown, Some(usage), None),
        ] {
            let call = Call {
                at: jiff::Timestamp::UNIX_EPOCH,
                session: "chat".to_string(),
                provider: "one".to_string(),
                model: "big".to_string(),
                work: Work::Background,
                skill: Some("weekly".to_string()),
                heading: None,
                usage,
                status: "answered".to_string(),
                http,
                attempts: 2,
                cost,
            };
            let NewRecord { at, kind, key, body } = kept(&call, "abc");
            let record = Record { seq: 1, at, kind, key, body };
            assert_eq!(read(&record).as_ref(), Some(&call));
            for name in ["provider", "model", "work", "status", "attempts"] {
                let mut torn = record.clone();
                torn.body[name] = Value::Null;
                assert_eq!(read(&torn), None, "{name}");
            }
            let mut both = record.clone();
            both.body["cost"] = json!({});
            assert_eq!(read(&both), None);
        }
    }
}
