//! Addresses of the web: which host one names, whether the user allowed it, and which numbers lead inside.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns the host that an address of the web names, in lower case, with its port where it names one.
///
/// Only spellings that every reader reads alike are taken: no user, no backslash, no other alphabet, no number in
/// another form than four decimal ones.
///
/// # Errors
/// In words, when it is no such address.
pub fn host_of(address: &str) -> Result<String, String> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    if address.chars().any(odd) {
        return Err("blanks, control characters and backslashes stand in no address".to_string());
    }
    let lower = address.get(..8.min(address.len())).unwrap_or("").to_ascii_lowercase();
    let rest = match (lower.strip_prefix("https://"), lower.starts_with("http://")) {
        (Some(_), _) => address.get(8..),
        (None, true) => address.get(7..),
        (None, false) => return Err("it does not begin with https:// or http://".to_string()),
    };
    let rest = rest.unwrap_or("");
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    if authority.contains('@') {
        return Err("it names a user before the host".to_string());
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (number, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
            let number: Ipv6Addr = number.parse().map_err(|_| "the number in brackets is no address".to_string())?;
            (format!("[{number}]"), after.strip_prefix(':').or(after.is_empty().then_some("")))
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
            (plain_host(host)?, Some(port))
        }
    };
    match port.ok_or("what follows the bracket is no port")? {
        "" => Ok(host),
        port => match port.parse::<u16>() {
            Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(format!("{host}:{number}"))
            }
            Ok(_) | Err(_) => Err("its port is no number from 1 to 65535".to_string()),
        },
    }
}

/// Returns a host that is written plainly, in lower case and without the dot at its end.
fn plain_host(host: &str) -> Result<String, String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if !host.is_ascii() {
        return Err("its host is written in another alphabet; write it as it is looked up, with xn--".to_string());
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    if host.is_empty() || host.len() > 253 || !host.split('.').all(label) {
        return Err("it names no host".to_string());
    }
    let last = host.rsplit('.').next().unwrap_or("");
    let numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    // 127.1, 0x7f.1 and 2130706433 are numbers to some readers and names to others.
    if numeric && host.parse::<Ipv4Addr>().is_err() {
        return Err("its host is a number in an unusual form; write four decimal numbers".to_string());
    }
    Ok(host)
}

/// Returns whether a rule of the user names a host: `example.org` that host alone, `.example.org` all below it.
/// A port belongs to the host: a rule without one means the usual ones.
pub fn is_allowed(host: &str, rules: &[String]) -> bool {
    rules.iter().any(|rule| {
        let rule = rule.trim().to_ascii_lowercase();
        match rule.strip_prefix('.') {
            Some(below) => !below.is_empty() && host.strip_suffix(&rule).is_some_and(|name| !name.is_empty()),
            None => !rule.is_empty() && host == rule,
        }
    })
}

/// Returns whether a text can be a rule for [`is_allowed`]: a host or a dot and a domain, in full.
pub fn is_rule(rule: &str) -> bool {
    let name = rule.trim().to_ascii_lowercase();
    let host = name.strip_prefix('.').unwrap_or(&name);
    // A bare top level, such as `.org`, would be everybody's.
    let dotted = host.contains('.') || host.parse::<IpAddr>().is_ok();
    dotted && host_of(&format!("https://{host}/")).is_ok_and(|read| read == host)
}

/// Returns why a number is not one of the public network; `None` when it is.
pub fn inside(number: IpAddr) -> Option<&'static str> {
    match number {
        IpAddr::V4(number) => inside_v4(number),
        IpAddr::V6(number) => match mapped(number) {
            Some(v4) => inside_v4(v4),
            None => inside_v6(number),
        },
    }
}

/// Returns the number of the older kind that one of the newer kind stands for: mapped, compatible, 6to4 and NAT64.
fn mapped(number: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = number.segments();
    let pair = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0xffff) => Some(pair(g, h)),
        (0, 0, 0, 0, 0, 0) if (g, h) != (0, 0) && (g, h) != (0, 1) => Some(pair(g, h)),
        (0x64, 0xff9b, ..) => Some(pair(g, h)),
        (0x2002, high, low, ..) => Some(pair(high, low)),
        _ => None,
    }
}

fn inside_v4(number: Ipv4Addr) -> Option<&'static str> {
    let [a, b, c, _] = number.octets();
    match (a, b, c) {
        (127, ..) => Some("it is this machine"),
        (0, ..) => Some("it is this machine or network"),
        (10, ..) | (192, 168, _) => Some("it lies in a private network"),
        (172, 16..=31, _) => Some("it lies in a private network"),
        (169, 254, _) => Some("it is a link-local address"),
        (100, 64..=127, _) => Some("it lies in a provider's private network"),
        (192, 0, 0) | (192, 0, 2) | (198, 51, 100) | (203, 0, 113) | (198, 18..=19, _) => {
            Some("it is reserved for tests and documents")
        }
        (192, 88, 99) => Some("it is a relay"),
        (224..=255, ..) => Some("it is no single host"),
        _ => None,
    }
}

fn inside_v6(number: Ipv6Addr) -> Option<&'static str> {
    let [a, b, ..] = number.segments();
    if number.is_loopback() || number.is_unspecified() {
        return Some("it is this machine");
    }
    match (a, b) {
        (0xfc00..=0xfdff, _) => Some("it lies in a private network"),
        (0xfe80..=0xfeff, _) => Some("it is a link-local address"),
        (0xff00..=0xffff, _) => Some("it is no single host"),
        (0x2001, 0..=0x01ff | 0x0db8) => Some("it is reserved"),
        (0x2000..=0x3fff, _) => None,
        _ => Some("it is reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_in_one_way_or_not_at_all() {
        for (address, host) in [
            ("https://Example.org/a?b#c", Some("example.org")),
            ("HTTP://example.org.:8080", Some("example.org:8080")),
            ("https://192.0.2.7/", Some("192.0.2.7")),
            ("https://[2001:db8::1]:81/x", Some("[2001:db8::1]:81")),
            ("https://example.org#@evil.example", Some("example.org")),
            ("https://user@example.org/", None),
            ("https://example.org\\@evil.example/", None),
            ("https://127.1/", None),
            ("https://2130706433/", None),
            ("https://0x7f.0.0.1/", None),
            ("https://0177.0.0.1/", None),
            ("https://exämple.org/", None),
            ("ftp://example.org/", None),
            ("//example.org/", None),
            ("https:///x", None),
            ("https://a..b/", None),
            ("https://example.org:0/", None),
            ("https://example.org:+80/", None),
            ("https://[::1/", None),
            ("https://[::1]x/", None),
            ("https://exa mple.org/", None),
        ] {
            assert_eq!(host_of(address).ok().as_deref(), host, "{address}");
        }
    }

    #[test]
    fn rules_name_a_host_or_all_below_one() {
        let rules = ["example.org".to_string(), ".lab.example".to_string()];
        for (host, allowed) in [
            ("example.org", true),
            ("www.example.org", false),
            ("example.org.evil.example", false),
            ("notexample.org", false),
            ("example.org:8080", false),
            ("a.lab.example", true),
            ("a.b.lab.example", true),
            ("lab.example", false),
            ("evillab.example", false),
        ] {
            assert_eq!(is_allowed(host, &rules), allowed, "{host}");
        }
    }

    #[test]
    fn only_hosts_and_domains_are_rules() {
        for rule in ["example.org", ".lab.example", "Example.org", "example.org:8080", "192.0.2.7"] {
            assert!(is_rule(rule), "{rule}");
        }
        for rule in
            ["", ".", "*", "*.example.org", "org", ".org", "https://example.org", "example.org/a", "a b.org", ".."]
        {
            assert!(!is_rule(rule), "{rule}");
        }
    }

    #[test]
    fn numbers_that_lead_inside_are_known() {
        for number in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "::ffff:127.0.0.1",
            "::7f00:1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "64:ff9b::a00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ] {
            assert!(inside(number.parse().expect("a number")).is_some(), "{number}");
        }
        for number in ["93.184.216.34", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "2a00:1450:4001::200e"] {
            assert_eq!(inside(number.parse().expect("a number")), None, "{number}");
        }
    }
}
