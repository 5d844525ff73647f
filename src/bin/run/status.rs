//! What is told to the host: one JSON line for each step, over a pipe that the command never gets, or over the socket that
//! is the command's standard error afterwards.

use crate::policy::StatusTo;
use crate::sys;
use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;

/// The way back to the host.
pub struct Status {
    pipe: Option<File>,
    told: Cell<bool>,
}

impl Status {
    /// Closes every inherited descriptor but the three standard ones, and takes the status pipe
    /// away from standard input; one at standard error is copied.
    pub fn open(to: StatusTo) -> Result<Status, String> {
        sys::close_inherited().map_err(|e| format!("inherited files could not be closed: {e}"))?;
        let pipe = match to {
            StatusTo::Nowhere => None,
            StatusTo::Stdin => Some(sys::duplicate(0).map_err(|e| format!("no status pipe at standard input: {e}"))?),
            StatusTo::Stderr => Some(sys::duplicate(2).map_err(|e| format!("no status pipe at standard error: {e}"))?),
        };
        Ok(Status { pipe, told: Cell::new(false) })
    }

    /// Hands a listener to the host. It is a Unix socket that stands at standard input then.
    pub fn listening(&self, listener: &TcpListener) -> Result<(), String> {
        let pipe = self.pipe.as_ref().ok_or("there is nobody to hand a listener to")?;
        sys::send_descriptor(pipe, b"{\"listening\":true}\n", listener)
            .map_err(|e| format!("the listener could not be handed over: {e}"))
    }

    /// Says that everything holds and the command begins.
    pub fn confined(&self, notes: &[String]) {
        let notes: Vec<String> = notes.iter().map(|note| quoted(note)).collect();
        self.line(&format!("{{\"confined\":true,\"notes\":[{}]}}", notes.join(",")));
    }

    /// Says that nothing was run, and what is missing. Counts once: the first reason is the reason.
    pub fn refused(&self, missing: &str) {
        if !self.told.replace(true) {
            self.line(&format!("{{\"confined\":false,\"missing\":{}}}", quoted(missing)));
            eprintln!("passepartout-run: not run, because it cannot be confined: {missing}");
        }
    }

    /// Says how the command ended.
    pub fn ended(&self, how: &str, number: i32) {
        self.line(&format!("{{\"{how}\":{number}}}"));
    }

    /// Says that the command was ended because it grew beyond a limit.
    pub fn beyond(&self, limit: &str) {
        self.line(&format!("{{\"beyond\":{}}}", quoted(limit)));
    }

    fn line(&self, text: &str) {
        if let Some(pipe) = &self.pipe {
            // A host that no longer listens is about to kill us; there is nobody else to tell.
            let _ = writeln!(&*pipe, "{text}");
        }
    }
}

/// Returns a JSON string.
fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            c if c.is_control() => json.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => json.push(c),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_would_break_a_line_is_escaped() {
        assert_eq!(super::quoted("a \"b\"\n\\"), r#""a \"b\"\u000a\\""#);
    }
}
