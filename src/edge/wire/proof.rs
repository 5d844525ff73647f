//! The proof that two ends of a connection know the same cookie, without saying it.
//!
//! Each end names 32 random bytes, and answers with HMAC-SHA256 over both, over which end it is and over the address at
//! which the one listens: so no answer can be used again, sent back, or passed on to a listener elsewhere.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a cookie, of a nonce and of a proof.
pub const BYTES: usize = 32;

/// What both ends know. It has no `Debug` and no `Display`.
#[derive(Clone)]
pub struct Cookie([u8; BYTES]);

impl Cookie {
    /// Takes random bytes for a cookie.
    pub fn of(bytes: [u8; BYTES]) -> Cookie {
        Cookie(bytes)
    }

    /// Reads 64 hexadecimal digits, as they stand in the cookie's file; white space around them does not count.
    pub fn read(text: &str) -> Option<Cookie> {
        digits(text.trim()).map(Cookie)
    }

    /// Returns the digits for the cookie's file, and for nothing else.
    pub(crate) fn expose(&self) -> String {
        crate::edge::random::hex(&self.0)
    }
}

/// Which end of a connection proves something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Who connects.
    Client,
    /// Who listens.
    Server,
}

impl End {
    const fn name(self) -> &'static str {
        match self {
            End::Client => "client",
            End::Server => "server",
        }
    }
}

/// What a proof is about: the nonces of both ends as they were said, and the address at which the server was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The server's nonce.
    pub server: String,
    /// The client's nonce.
    pub client: String,
    /// Address and port of the server's end of this connection, such as `127.0.0.1:9105` or `[::1]:9105`.
    pub peer: String,
}

impl Meeting {
    fn mac(&self, cookie: &Cookie, end: End) -> Hmac<Sha256> {
        let Meeting { server, client, peer } = self;
        // A key that is shorter than a block of SHA-256 is filled up with zeros, as RFC 2104 says.
        let mut block = [0u8; 64];
        block.iter_mut().zip(cookie.0).for_each(|(to, from)| *to = from);
        let mac = Hmac::<Sha256>::new(&block.into());
        mac.chain_update(format!("passepartout {} {server} {client} {peer}", end.name()).as_bytes())
    }

    /// Returns the proof of an end, as 64 hexadecimal digits.
    pub fn proof(&self, cookie: &Cookie, end: End) -> String {
        crate::edge::random::hex(&self.mac(cookie, end).finalize().into_bytes())
    }

    /// Returns whether a claim is the proof of an end. How long that takes tells nothing of the proof.
    pub fn holds(&self, cookie: &Cookie, end: End, claim: &str) -> bool {
        digits(claim).is_some_and(|claim| self.mac(cookie, end).verify_slice(&claim).is_ok())
    }
}

/// Returns whether a text is a nonce: 64 lower-case hexadecimal digits.
pub fn is_nonce(text: &str) -> bool {
    digits(text).is_some()
}

fn digits(text: &str) -> Option<[u8; BYTES]> {
    let lower = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if text.len() != 2 * BYTES || !text.as_bytes().iter().all(lower) {
        return None;
    }
    let mut bytes = [0u8; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meeting() -> Meeting {
        Meeting { server: "a".repeat(64), client: "b".repeat(64), peer: "127.0.0.1:9105".to_string() }
    }

    #[test]
    fn a_proof_is_the_hmac_that_the_protocol_names() {
        // As another program's HMAC-SHA256 has it for the same key and text.
        let cookie = Cookie::of([7; BYTES]);
        insta::assert_snapshot!(meeting().proof(&cookie, End::Client), @"1b8145d340bd69723f6f97f0f0daa5adb2246dac441c0b48f6cb8d4b5398020b");
    }

    #[test]
    fn a_proof_holds_for_its_end_its_nonces_its_address_and_its_cookie_alone() {
        let cookie = Cookie::of([7; BYTES]);
        let proof = meeting().proof(&cookie, End::Client);
        assert!(meeting().holds(&cookie, End::Client, &proof));
        let others = [
            Meeting { server: "c".repeat(64), ..meeting() },
            Meeting { client: "c".repeat(64), ..meeting() },
            Meeting { peer: "127.0.0.1:9106".to_string(), ..meeting() },
            Meeting { server: "b".repeat(64), client: "a".repeat(64), ..meeting() },
        ];
        assert!(others.iter().all(|other| !other.holds(&cookie, End::Client, &proof)));
        assert!(!meeting().holds(&cookie, End::Server, &proof), "what one end said is not sent back to it");
        assert!(!meeting().holds(&Cookie::of([8; BYTES]), End::Client, &proof));
        for claim in ["", "00", &proof[1..], &proof.to_uppercase(), &format!("{proof}0"), "é"] {
            assert!(!meeting().holds(&cookie, End::Client, claim), "{claim:?}");
        }
    }

    #[test]
    fn a_cookie_is_read_from_its_digits_alone() {
        let digits = Cookie::of([0xab; BYTES]).expose();
        assert_eq!(digits, "ab".repeat(32));
        assert!(Cookie::read(&format!(" {digits}\n")).is_some_and(|read| read.expose() == digits));
        for text in ["", "ab", &digits.to_uppercase(), &format!("{digits}ab"), &"+f".repeat(32)] {
            assert!(Cookie::read(text).is_none(), "{text:?}");
        }
    }
}
