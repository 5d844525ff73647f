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
    check(b"it\x92s caf\xe9\n", "it\u{92}s café\n", Encoding::Latin1, LineEnd::Unix);
    // With a NUL, Emacs converts nothing.
    check(b"* a\r\nb\0c\r\n", "* a\r\nb\0c\r\n", Encoding::Utf8, LineEnd::Unix);
    // Behind an escape character Emacs sees no line ends.
    check(b"a\x1b[0m\r\nb\r\n", "a\x1b[0m\r\nb\r\n", Encoding::Utf8, LineEnd::Unix);
    check(b"a\r\nb\x1b[0m\r\n", "a\nb\x1b[0m\n", Encoding::Utf8, LineEnd::Dos);
    check(b"\xff\xfe*\0 \0\xe9\0\n\0", "* é\n", Encoding::Utf16Little, LineEnd::Unix);
    check(b"\xfe\xff\0*\0 \xd8\x3e\xdd\x80\0\r\0\n", "* 🦀\n", Encoding::Utf16Big, LineEnd::Dos);
}

/// Name of the encoding, bytes, and the text that Emacs 30.1 shows.
#[test]
fn a_file_may_name_its_encoding() {
    let check = |bytes: &[u8], name: &str, line_end: LineEnd, text: &str| {
        let decoded = decode(bytes).unwrap();
        assert_eq!(&*decoded.text, text);
        assert_eq!((decoded.format.encoding.name(), decoded.format.line_end), (name, line_end), "{text}");
        assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes, "{text}");
    };
    use LineEnd::{Dos, Unix};
    check(b"# -*- coding: latin-1 -*-\n\xc3\xa9\n", "Latin-1", Unix, "# -*- coding: latin-1 -*-\nÃ©\n");
    check(b"# -*-coding:latin-1-*-\n\xc3\xa9\n", "Latin-1", Unix, "# -*-coding:latin-1-*-\nÃ©\n");
    check(
        b"# -*- mode: org; Coding: koi8-r; x: y -*-\n\xc1\n",
        "KOI8-R",
        Unix,
        "# -*- mode: org; Coding: koi8-r; x: y -*-\nа\n",
    );
    check(b"# -*- coding: cp1252 -*-\r\n\x93\r\n", "windows-1252", Dos, "# -*- coding: cp1252 -*-\n“\n");
    check(b"# -*- coding: shift_jis -*-\n\x82\xa0\n", "Shift_JIS", Unix, "# -*- coding: shift_jis -*-\nあ\n");
    check(b"# -*- coding: gb2312 -*-\n\xb0\xa1\n", "GBK", Unix, "# -*- coding: gb2312 -*-\n啊\n");
    check(b"# -*- coding: utf-8-unix -*-\r\na\r\n", "UTF-8", Unix, "# -*- coding: utf-8-unix -*-\r\na\r\n");
    check(b"# -*- coding: nonsense -*-\n\xe9\n", "Latin-1", Unix, "# -*- coding: nonsense -*-\né\n");
    check("\u{feff}# -*- coding: latin-1 -*-\né\n".as_bytes(), "UTF-8", Unix, "# -*- coding: latin-1 -*-\né\n");
    check(b"x\n# -*- coding: latin-1 -*-\n\xc3\xa9\n", "UTF-8", Unix, "x\n# -*- coding: latin-1 -*-\né\n");
    check(b"#!\n# -*- coding: latin-1 -*-\n\xc3\xa9\n", "Latin-1", Unix, "#!\n# -*- coding: latin-1 -*-\nÃ©\n");
    check(
        b"\xb1\n# Local Variables:\n# coding: latin-2\n# End:\n",
        "ISO-8859-2",
        Unix,
        "ą\n# Local Variables:\n# coding: latin-2\n# End:\n",
    );
    check(
        b"\xc3\xa9\n# Local Variables:\n# End:\n# coding: latin-2\n",
        "UTF-8",
        Unix,
        "é\n# Local Variables:\n# End:\n# coding: latin-2\n",
    );
    check(b"* \x1b$B$\"\x1b(B\n", "ISO-2022-JP", Unix, "* あ\n");
}

#[test]
fn what_is_no_text_is_refused_by_name() {
    let refused = |bytes: &[u8]| decode(bytes).unwrap_err().to_string();
    insta::assert_snapshot!(refused(b"* a\nb\0\0\0\0\0\0\0\0\0c"), @"is not text: it holds a NUL byte in line 2 (byte 5). Move it out of the folder, or rename it");
    insta::assert_snapshot!(refused(b"# -*- coding: utf-8 -*-\n* \xe9\n"), @"says that it is in UTF-8, but its bytes are not, or would not come back as they are. Open it in Emacs with the right encoding (C-x RET r) and save it as UTF-8 (C-x RET f utf-8)");
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

/// Emacs shows such a file as something else than what it holds, and only where it begins so.
#[test]
fn what_emacs_decodes_by_its_beginning_is_refused() {
    for bytes in ["Content-Type: text/enriched\nText-Width: 70\n\n* a\n", "CONTENT-TYPE:\tText/Enriched\n"] {
        assert_eq!(decode(bytes.as_bytes()), Err(DecodeError::Enriched), "{bytes}");
    }
    for bytes in [" Content-Type: text/enriched\n", "Content-Type: text/html\n* a\n", "Content-Type:"] {
        assert!(decode(bytes.as_bytes()).is_ok(), "{bytes}");
    }
}
