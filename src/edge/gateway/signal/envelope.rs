//! What signal-cli brings: which of it is a message of a person to us alone. Whatever is not known to be one is none.

use crate::domain::gateway::{Arrived, Mark, Message};
use serde_json::Value;

/// Text that is too long for a message comes beside it, as this; signal-cli puts the whole of it into the message.
const LONG_TEXT: &str = "text/x-signal-plain";
/// So many bytes of a long text stand in the message when the rest of it was not fetched.
const BODY: usize = 2_000;
/// A longer text than this is not looked at: Signal's own apps write none, and anybody may send it.
const LONGEST: usize = 64 << 10;
/// So many characters of what a person is called, or its number, are kept.
const NAME: usize = 60;
/// What a message is counted as, beside its words.
const OVERHEAD: usize = 1 << 10;
/// What stands around a message of a person; what stands there beside it makes it something else.
const AROUND: [&str; 9] = [
    "source",
    "sourceNumber",
    "sourceUuid",
    "sourceName",
    "sourceDevice",
    "timestamp",
    "serverReceivedTimestamp",
    "serverDeliveredTimestamp",
    "dataMessage",
];
/// What may go with a text and changes nothing about it. A timer does not run in the store.
const WITH_TEXT: [&str; 7] =
    ["timestamp", "message", "expiresInSeconds", "quote", "previews", "mentions", "textStyles"];
/// What, beside a text or in its place, asks us to look at something.
const TO_LOOK_AT: [&str; 4] = ["attachments", "viewOnce", "sticker", "contacts"];

/// A message of a person alone, and to which account of signal-cli it came.
#[derive(Debug)]
pub(super) struct Brought {
    account: Option<String>,
    /// The number of who sent it.
    number: Option<String>,
    message: Message,
    name: String,
}

impl Brought {
    /// Returns it as what came to an account, as far as the account is known. What an account sends itself is nothing.
    pub(super) fn to(self, account: Option<&str>) -> Option<Arrived> {
        let ours = account
            .is_none_or(|account| self.account.as_deref() == Some(account) && self.number.as_deref() != Some(account));
        let mark = Mark::Name { sender: self.message.sender.clone(), name: self.name };
        ours.then_some(Arrived { mark, message: Some(self.message) })
    }

    /// Returns who sent it.
    pub(super) fn sender(&self) -> &str {
        &self.message.sender
    }

    /// Returns how many bytes it is counted as.
    pub(super) fn size(&self) -> usize {
        OVERHEAD + self.message.text.as_ref().map_or(0, String::len)
    }
}

/// Reads a notification; `None` when it is no message of a person alone. Only what is known counts: whatever else stands in
/// one makes it nothing.
pub(super) fn brought(params: &Value) -> Option<Brought> {
    // What was subscribed to is wrapped, what comes by itself is not.
    let brought = if params["result"].is_object() { &params["result"] } else { params };
    let (envelope, data) = (&brought["envelope"], &brought["envelope"]["dataMessage"]);
    let known = [WITH_TEXT.as_slice(), TO_LOOK_AT.as_slice()].concat();
    if !brought["exception"].is_null() || !holds_only(envelope, &AROUND) || !holds_only(data, &known) {
        return None;
    }
    let sender = uuid(envelope["sourceUuid"].as_str()?)?;
    let stamp = data["timestamp"].as_i64().filter(|stamp| *stamp > 0)?;
    let text = match (to_look_at(data), data["message"].as_str()) {
        (true, _) => None,
        (false, Some(text)) if text.len() > LONGEST => None,
        (false, Some(text)) if !text.trim().is_empty() => Some(text.to_string()),
        // A timer that was set, a key that was renewed: there is nothing to answer.
        (false, _) => return None,
    };
    let short = |text: &Value| text.as_str().map(|text| text.chars().take(NAME).collect::<String>());
    Some(Brought {
        account: short(&brought["account"]),
        number: short(&envelope["sourceNumber"]),
        message: Message { name: name(envelope), sender, text },
        name: stamp.to_string(),
    })
}

/// Returns whether something holds nothing beside these; what is empty is not there.
fn holds_only(what: &Value, known: &[&str]) -> bool {
    what.as_object()
        .is_some_and(|what| what.iter().all(|(key, value)| !is_there(value) || known.contains(&key.as_str())))
}

fn is_there(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    }
}

/// Returns whether there is something in a message that we do not look at.
fn to_look_at(data: &Value) -> bool {
    let whole = data["message"].as_str().is_some_and(|text| text.len() > BODY);
    let rest_of_it = |attached: &Value| attached["contentType"] == LONG_TEXT && whole;
    TO_LOOK_AT.iter().any(|what| match &data[*what] {
        Value::Array(attached) if *what == "attachments" => !attached.iter().all(rest_of_it),
        other => is_there(other),
    })
}

/// Returns the account's own name of a person, in the one way of writing it; a number may come to belong to somebody else.
fn uuid(text: &str) -> Option<String> {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let hex = text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    (hex && groups == [8, 4, 4, 4, 12]).then(|| text.to_ascii_lowercase())
}

/// Returns what a person is called, and the number, to be shown.
fn name(envelope: &Value) -> String {
    let text = |key: &str| envelope[key].as_str().map(str::trim).filter(|text| !text.is_empty());
    let whole = match (text("sourceName"), text("sourceNumber")) {
        (Some(name), Some(number)) if name != number => format!("{number} {name}"),
        (name, number) => number.or(name).unwrap_or("").to_string(),
    };
    whole.chars().take(NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ANN: &str = "0123abcd-0000-4000-8000-00000000000a";
    const OURS: &str = "+15550001";

    fn brought(data: &Value) -> Value {
        json!({ "account": OURS, "envelope": {
            "source": "+15550007", "sourceNumber": "+15550007", "sourceUuid": ANN.to_uppercase(), "sourceName": "Ann",
            "sourceDevice": 1, "timestamp": 17, "dataMessage": data,
        }})
    }

    fn arrived(params: &Value, account: Option<&str>) -> Option<Arrived> {
        super::brought(params)?.to(account)
    }

    /// What a message came to: its text, `None` when it is refused politely; outermost `None` when it counts as nothing.
    fn taken(brought: &Value) -> Option<Option<String>> {
        arrived(brought, Some(OURS)).and_then(|one| one.message).map(|message| message.text)
    }

    #[test]
    fn what_each_kind_of_message_comes_to() {
        let long = "x".repeat(BODY + 1);
        let check = |more: Value, comes_to: Option<Option<&str>>| {
            let mut data = json!({ "timestamp": 17, "message": "hello", "expiresInSeconds": 0, "viewOnce": false });
            for (key, value) in more.as_object().expect("an object") {
                data[key] = value.clone();
            }
            assert_eq!(taken(&brought(&data)), comes_to.map(|text| text.map(str::to_string)), "{more}");
        };
        let (asked, refused, nothing) = (Some(Some("hello")), Some(None), None);
        check(json!({}), asked);
        // What goes with a text and changes nothing about it; a timer does not run in the store.
        check(json!({ "quote": { "id": 3, "text": "old" } }), asked);
        check(json!({ "previews": [{ "url": "https://example.org" }] }), asked);
        check(json!({ "mentions": [{ "uuid": ANN }], "textStyles": [{ "style": "BOLD" }] }), asked);
        check(json!({ "expiresInSeconds": 60, "attachments": [], "contacts": [] }), asked);
        // What is not looked at.
        check(json!({ "attachments": [{ "contentType": "image/png" }] }), refused);
        check(json!({ "attachments": [{ "contentType": "audio/aac" }], "message": null }), refused);
        check(json!({ "attachments": "odd" }), refused);
        check(json!({ "sticker": { "packId": "1", "stickerId": 2 }, "message": null }), refused);
        check(json!({ "contacts": [{ "name": "Bob" }], "message": null }), refused);
        check(json!({ "viewOnce": true, "message": null }), refused);
        // A long text comes beside its beginning; where it was not fetched, half a question is none.
        check(json!({ "attachments": [{ "contentType": LONG_TEXT }], "message": long }), Some(Some(&long)));
        check(json!({ "attachments": [{ "contentType": LONG_TEXT }] }), refused);
        check(json!({ "attachments": [{ "contentType": LONG_TEXT }, {}], "message": long }), refused);
        let (longest, beyond) = ("x".repeat(LONGEST), "x".repeat(LONGEST + 1));
        check(json!({ "message": longest }), Some(Some(&longest)));
        check(json!({ "message": beyond }), refused);
        // Whatever else there is, or will be, says nothing to us; what is empty is not there.
        for about in ["reaction", "remoteDelete", "pollVote", "payment", "storyContext", "giftBadge", "whatComesNext"] {
            for said in [json!({}), json!({ "id": 1 }), json!(true), json!(1), json!("x"), json!([1])] {
                check(json!({ about: said }), nothing);
            }
            for empty in [Value::Null, json!(false), json!([])] {
                check(json!({ about: empty }), asked);
            }
        }
        check(json!({ "isExpirationUpdate": true, "expiresInSeconds": 60, "message": null }), nothing);
        check(json!({ "message": " \n" }), nothing);
        // A group, under whatever name.
        for group in ["groupInfo", "groupV2", "groupId"] {
            check(json!({ group: { "groupId": "abc=" } }), nothing);
        }
        check(json!({ "timestamp": 0 }), nothing);
        check(json!({ "timestamp": "17" }), nothing);
    }

    #[test]
    fn what_is_no_message_to_us_counts_as_nothing() {
        let whole = brought(&json!({ "timestamp": 17, "message": "hello" }));
        let data = whole["envelope"]["dataMessage"].clone();
        assert_eq!(taken(&json!({ "subscription": 0, "result": whole })), Some(Some("hello".to_string())));
        let check = |change: &dyn Fn(&mut Value)| {
            let mut changed = whole.clone();
            change(&mut changed);
            assert_eq!(taken(&changed), None, "{changed}");
        };
        // One's own other devices, edits, stories, receipts, somebody who types, calls.
        for other in ["syncMessage", "editMessage", "storyMessage", "receiptMessage", "typingMessage", "callMessage"] {
            // Beside a text as well as in its place, as is what nobody knows yet.
            check(&|one| one["envelope"][other] = json!({ "timestamp": 17 }));
            check(&|one| one["envelope"][format!("{other}New")] = json!({}));
            check(&|one| {
                let envelope = one["envelope"].as_object_mut().expect("an object");
                envelope.remove("dataMessage");
                envelope
                    .insert(other.to_string(), json!({ "timestamp": 17, "dataMessage": data, "sentMessage": data }));
            });
        }
        check(&|one| one["exception"] = json!({ "type": "UntrustedIdentityException" }));
        check(&|one| one["account"] = json!("+15550002"));
        check(&|one| one["account"] = Value::Null);
        check(&|one| one["envelope"]["sourceNumber"] = json!(OURS));
        for source in [Value::Null, json!("+15550007"), json!("PNI:0123"), json!(7), json!(format!("{ANN}0"))] {
            check(&|one| one["envelope"]["sourceUuid"] = source.clone());
        }
        for odd in [Value::Null, json!(7), json!([]), json!({ "result": 7 }), json!({ "envelope": [] })] {
            assert_eq!(arrived(&odd, None), None, "{odd}");
        }
    }

    #[test]
    fn a_sender_is_the_account_and_the_number_is_shown() {
        let whole = brought(&json!({ "timestamp": 17, "message": "hello" }));
        let check = |number: Value, called: Value, shown: &str| {
            let mut whole = whole.clone();
            (whole["envelope"]["sourceNumber"], whole["envelope"]["sourceName"]) = (number, called);
            let one = arrived(&whole, None).expect("it is a message");
            assert_eq!(one.mark, Mark::Name { sender: ANN.to_string(), name: "17".to_string() });
            let message = one.message.expect("it is a message");
            assert_eq!((message.sender.as_str(), message.name.as_str()), (ANN, shown));
        };
        check(json!("+15550007"), json!("Ann"), "+15550007 Ann");
        check(json!("+15550007"), json!("+15550007"), "+15550007");
        check(Value::Null, json!("Ann"), "Ann");
        check(Value::Null, Value::Null, "");
    }
}
