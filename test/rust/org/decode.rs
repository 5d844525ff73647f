//! Bytes ↔ text, and what is refused.

use passepartout::domain::org::decode::{DecodeError, Encoding, Format, LineEnd, decode};
use proptest::prelude::*;

#[test]
fn files_are_read_as_emacs_reads_them() {
    let check = |bytes: &[u8], text: &str, encoding: Encoding, line_end: LineEnd| {
        let decoded = decode(bytes).unwrap();
        assert_eq!(&*decoded.text, text, "{bytes:?}");
        assert_eq!(decoded.format, Format { encoding, line_end }, "{bytes:?}");
        assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes, "{bytes:?}");
    };
    check(b"", "", Encoding::Utf8, LineEnd::Unix);
    check("* é\n".as_bytes(), "* é\n", Encoding::Utf8, LineEnd::Unix);
    check("\u{feff}* é\n".as_bytes(), "* é\n", Encoding::Utf8Mark, LineEnd::Unix);
    check(b"* a\r\nb\r\n", "* a\nb\n", Encoding::Utf8, LineEnd::Dos);
    check(b"a\r\r\nb\rc\r\n", "a\r\nb\rc\n", Encoding::Utf8, LineEnd::Dos);
    check(b"* a\r\nb\n", "* a\r\nb\n", Encoding::Utf8, LineEnd::Unix);
    check(b"* a\rb\r", "* a\nb\n", Encoding::Utf8, LineEnd::Mac);
    check(b"caf\xe9\n", "café\n", Encoding::Latin1, LineEnd::Unix);
    check(b"caf\xe9\r\n", "café\n", Encoding::Latin1, LineEnd::Dos);
    check(b"\xff\xfe*\0 \0\xe9\0\n\0", "* é\n", Encoding::Utf16Little, LineEnd::Unix);
    check(b"\xfe\xff\0*\0 \xd8\x3e\xdd\x80\0\r\0\n", "* 🦀\n", Encoding::Utf16Big, LineEnd::Dos);
}

#[test]
fn what_is_no_text_is_refused_by_name() {
    let refused = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    insta::assert_snapshot!(refused(b"* a\nb\0c"), @"is not text: it holds a NUL byte in line 2 (byte 5). Move it out of the folder, or rename it");
    insta::assert_snapshot!(refused(b"%PDF-1.7\n\xe2\x80\0"), @"is not text: it looks like a PDF document. Move it out of the folder, or rename it");
    insta::assert_snapshot!(refused(b"*\0 \0a\0b\0c\0"), @"looks like UTF-16 without a byte order mark. Save it as UTF-8 (in Emacs: C-x RET f utf-8)");
    insta::assert_snapshot!(refused(b"\xff\xfe*"), @"begins as UTF-16, but has an odd number of bytes. Save it as UTF-8 (in Emacs: C-x RET f utf-8)");
    insta::assert_snapshot!(refused(b"\xff\xfe\0\xd8"), @"begins as UTF-16, but holds half a character. Save it as UTF-8 (in Emacs: C-x RET f utf-8)");
    insta::assert_snapshot!(refused(b"\xff\xfe\0\0*\0\0\0"), @"is UTF-32, which is not read. Save it as UTF-8 (in Emacs: C-x RET f utf-8)");
    insta::assert_snapshot!(refused(b"* a\n\x82\xa0\n"), @"line 2: byte 0x82 is neither UTF-8 nor Latin-1. Open it in Emacs with the right encoding (C-x RET r) and save it as UTF-8 (C-x RET f utf-8)");
}

#[test]
fn latin_1_cannot_hold_every_character() {
    let decoded = decode(b"caf\xe9\n").unwrap();
    let error = decoded.encode("café\n漢\n").unwrap_err().to_string();
    insta::assert_snapshot!(error, @"line 2: '漢' cannot be written in Latin-1, the file's encoding. Save the file as UTF-8 first (in Emacs: C-x RET f utf-8)");
}

proptest! {
    #[test]
    fn bytes_come_back_or_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(decoded) = decode(&bytes) {
            prop_assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes);
        }
    }

    #[test]
    fn bytes_with_line_ends_come_back(parts in proptest::collection::vec(
        proptest::sample::select(vec![b"\r".to_vec(), b"\n".to_vec(), b"\r\n".to_vec(), b"* a".to_vec(), b"\xe9".to_vec(), "é".as_bytes().to_vec()]),
        0..20,
    )) {
        let bytes = parts.concat();
        let decoded = decode(&bytes).unwrap();
        prop_assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes);
    }

    #[test]
    fn every_text_without_nul_is_read_as_itself(text in "[^\0\r\u{feff}]{0,60}") {
        let decoded = decode(text.as_bytes());
        // A text may begin with what looks like a binary format only where it is not UTF-8.
        prop_assert_eq!(decoded.map(|decoded| decoded.text.to_string()), Ok::<_, DecodeError>(text));
    }
}
