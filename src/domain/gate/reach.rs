//! Which hosts a command would reach: read from its arguments, each named exactly, or not at all.

use crate::domain::web;
use core::net::{IpAddr, Ipv6Addr};
use serde_json::{Map, Value};
use std::fmt;

/// The argument in which a command names hosts.
pub const ARGUMENT: &str = "hosts";
/// The most hosts of one command.
pub const MOST: usize = 16;
/// The ports that are meant when a host is named without one: those of https and http.
const USUAL_PORTS: [u16; 2] = [443, 80];

/// One host that may be reached, by the name that was shown and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// Reads `example.org`, `example.org:8443`, or a number of the public network.
    ///
    /// # Errors
    /// In words: patterns, addresses with a path, names of this machine, and numbers that lead inside.
    pub fn parse(text: &str) -> Result<Host, String> {
        let wrong = |why: &str| Err(format!("“{}” is no host: {why}", crate::domain::action::clip(text)));
        if text.contains('*') || text.starts_with('.') {
            return wrong("a pattern names no host; name each one");
        }
        if text.contains(['/', '?', '#', '@', '%']) {
            return wrong("only a name is wanted, perhaps with a port, and no address");
        }
        let found = match web::host_of(&format!("https://{text}")) {
            Ok(found) => found,
            Err(why) => return wrong(&why),
        };
        let after_bracket = found.rfind(']').map_or(0, |at| at + 1);
        let (name, port) = match found.get(after_bracket..).and_then(|rest| rest.rsplit_once(':')) {
            Some((_, port)) => (found.strip_suffix(&format!(":{port}")).unwrap_or(&found), port.parse().ok()),
            None => (found.as_str(), None),
        };
        let host = Host { name: name.trim_start_matches('[').trim_end_matches(']').to_string(), port };
        match host.number() {
            Some(number) => match leads_inside(number) {
                Some(why) => wrong(why),
                None => Ok(host),
            },
            None if !host.name.contains('.') => wrong("it is a name of this machine or its network"),
            None => Ok(host),
        }
    }

    /// Returns its name, in lower case.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number that stands in the place of a name.
    pub fn number(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    /// Returns whether it is this one that is asked for, at a port that was meant.
    pub fn is(&self, name: &str, port: u16) -> bool {
        self.name == name && self.port.map_or_else(|| USUAL_PORTS.contains(&port), |own| own == port)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name.contains(':'), self.port) {
            (false, None) => f.write_str(&self.name),
            (true, None) => write!(f, "[{}]", self.name),
            (false, Some(port)) => write!(f, "{}:{port}", self.name),
            (true, Some(port)) => write!(f, "[{}]:{port}", self.name),
        }
    }
}

/// Returns the hosts that an action names.
///
/// # Errors
/// In words, when one of them is none.
pub fn wanted(args: &Map<String, Value>) -> Result<Vec<Host>, String> {
    let items = match args.get(ARGUMENT) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(_) => return Err("the hosts are no list".to_string()),
    };
    if items.len() > MOST {
        return Err(format!("more than {MOST} hosts are named"));
    }
    items.iter().map(|item| Host::parse(item.as_str().unwrap_or_default())).collect()
}

/// Returns why a number may not be reached on behalf of a command; `None` when it is one of the public network.
///
/// Numbers that stand for others (mapped, 6to4, NAT64) are refused whatever they stand for.
pub fn leads_inside(number: IpAddr) -> Option<&'static str> {
    let native = |number: Ipv6Addr| matches!(number.segments(), [0x2000..=0x2001 | 0x2003..=0x3fff, ..]);
    match number {
        IpAddr::V6(v6) if !native(v6) => Some(web::inside(number).unwrap_or("it stands for another address")),
        IpAddr::V4(_) | IpAddr::V6(_) => web::inside(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_exactly_or_not_at_all() {
        let cases = [
            ("example.org", Ok("example.org")),
            ("Example.ORG.", Ok("example.org")),
            ("example.org:8443", Ok("example.org:8443")),
            ("1.1.1.1", Ok("1.1.1.1")),
            ("[2606:4700::1111]", Ok("[2606:4700::1111]")),
            ("[2606:4700::1111]:8443", Ok("[2606:4700::1111]:8443")),
            ("*.example.org", Err("pattern")),
            (".example.org", Err("pattern")),
            ("https://example.org", Err("no address")),
            ("example.org/path", Err("no address")),
            ("me@example.org", Err("no address")),
            ("localhost", Err("this machine")),
            ("intranet", Err("this machine")),
            ("127.0.0.1", Err("this machine")),
            ("10.0.0.1:80", Err("private")),
            ("169.254.169.254", Err("link-local")),
            ("[::1]", Err("this machine")),
            ("[::ffff:1.1.1.1]", Err("stands for another")),
            ("[64:ff9b::101:101]", Err("stands for another")),
            ("[2002:101:101::]", Err("stands for another")),
            ("[fd00::1]", Err("private")),
            ("0x7f.1", Err("unusual form")),
            ("2130706433", Err("unusual form")),
            ("exämple.org", Err("another alphabet")),
            ("", Err("names no host")),
            ("a b.org", Err("blanks")),
        ];
        for (text, expected) in cases {
            match (Host::parse(text), expected) {
                (Ok(host), Ok(name)) => assert_eq!(host.to_string(), name, "{text}"),
                (Err(why), Err(words)) => assert!(why.contains(words), "{text}: {why}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_host_without_a_port_means_the_usual_ones() {
        let host = |text: &str| Host::parse(text).expect("it is one");
        assert!(host("a.org").is("a.org", 443) && host("a.org").is("a.org", 80));
        assert!(!host("a.org").is("a.org", 22) && !host("a.org").is("b.org", 443));
        assert!(host("a.org:22").is("a.org", 22) && !host("a.org:22").is("a.org", 443));
        assert!(!host("a.org").is("www.a.org", 443) && !host("a.org").is("a.org.evil.example", 443));
    }
}
