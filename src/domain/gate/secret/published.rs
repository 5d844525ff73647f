//! Keys that a service has published as samples: they look like real ones, and guard nothing.

/// The beginnings of the BLAKE3 of Google's sample keys behind their `AIza`, as they stand in the tests and samples of
/// its Firebase SDK for Android (github.com/firebase/firebase-android-sdk). Digests, so that no scanner stops at this file.
const GOOGLE: [u64; 15] = [
    0x257eea75412cb3bd,
    0x15d5e55939af9959,
    0xf63da954b29c5ad4,
    0x3cc4588b72579289,
    0x0c20befc29f8ddb7,
    0x3c4bbc8beab0ef4c,
    0xd755e15e311361f2,
    0x9e1f4fc63fc9a257,
    0x2385a4fa97f8efd7,
    0x39d9521a872e0273,
    0x4007c56f00fe5b0a,
    0xdecb2bacabaca186,
    0x9282b670666c9010,
    0xae9efa84331f2ae0,
    0x15b8f2402b5a4938,
];

/// Returns whether what follows `AIza` makes a key that Google has published.
pub(super) fn by_google(body: &str) -> bool {
    let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(body.as_bytes()).as_bytes();
    GOOGLE.contains(&u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_known_and_its_neighbour_is_not() {
        assert!(by_google("Syabcdefghijklmnopqrstuvwxyz1234567"));
        assert!(!by_google("Syabcdefghijklmnopqrstuvwxyz1234568"));
        assert!(!by_google(""));
    }
}
