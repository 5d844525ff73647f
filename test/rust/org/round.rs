//! Round trips: an edit in any file, of any encoding and line ends, leaves every byte that it does not name.

use jiff::civil::date;
use passepartout::domain::org::decode::decode;
use passepartout::domain::org::edit::{Edit, EditOptions, NewHeading, Planning, Subtree, apply, extract, splices};
use passepartout::domain::org::scan::{ScanOptions, scan};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The fixtures as bytes.
static FILES: LazyLock<Vec<(PathBuf, Vec<u8>)>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("test/fixtures/org");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
});

/// Something to insert, with a heading below it.
static SUBTREE: LazyLock<Subtree> = LazyLock::new(|| {
    let outline = scan("* Put in :new:\nText of it.\n** TODO Below\n".into(), &ScanOptions::default()).unwrap();
    extract(&outline, 1).unwrap()
});

/// How many edits there are.
const EDITS: usize = 16;

fn edits(node: usize, other: usize) -> [Edit; EDITS] {
    [
        Edit::Insert { parent: (node > 0).then_some(node), subtree: SUBTREE.clone() },
        Edit::AddHeading(NewHeading {
            parent: (node > 0).then_some(node),
            title: "New".into(),
            ..NewHeading::default()
        }),
        Edit::Remove { node },
        Edit::Move { node, parent: (other > 0).then_some(other) },
        Edit::SetTodo { node, state: Some("DONE".into()) },
        Edit::SetTodo { node, state: None },
        Edit::SetPriority { node, priority: Some('B') },
        Edit::SetPriority { node, priority: None },
        Edit::SetTags { node, tags: vec!["new".into(), "tags".into()] },
        Edit::SetTags { node, tags: Vec::new() },
        Edit::SetTitle { node, title: "Another title".into() },
        Edit::SetProperty { node, key: "NEW".into(), value: Some("value".into()) },
        Edit::SetProperty { node, key: "ID".into(), value: None },
        Edit::SetPlanning { node, kind: Planning::Deadline, stamp: Some("<2026-05-06 Wed>".into()) },
        Edit::SetPlanning { node, kind: Planning::Scheduled, stamp: None },
        Edit::SetBody { node, body: "A new body.\nOf two lines.\n".into() },
    ]
}

/// Makes an edit in bytes, and looks at what came of it.
fn edit(name: &str, bytes: &[u8], edit: &Edit) -> bool {
    let decoded = decode(bytes).unwrap();
    let outline = scan(decoded.text.clone(), &ScanOptions::default()).unwrap();
    let Ok(made) = splices(&outline, edit, &EditOptions::at(date(2026, 3, 14).at(9, 26, 0, 0))) else { return false };
    let after = apply(&decoded.text, &made);
    // What stands between the splices is the same text.
    let (mut old, mut new) = (0, 0);
    for splice in &made {
        let kept = &decoded.text[old..splice.range.start];
        assert_eq!(&after[new..new + kept.len()], kept, "{name}: {edit:?}");
        new += kept.len() + splice.text.len();
        old = splice.range.end;
    }
    assert_eq!(&after[new..], &decoded.text[old..], "{name}: {edit:?}");
    // The bytes of what was not touched are the same, and are read the same.
    let Ok(written) = decoded.encode(&after) else { return false };
    let again = decode(&written).unwrap();
    assert_eq!(&*again.text, after, "{name}: {edit:?}");
    if let (Some(first), Some(last)) = (made.first(), made.last()) {
        // As bytes: half a file that names its encoding may not be written alone.
        if let Ok(head) = decoded.encode(&decoded.text[..first.range.start]) {
            assert!(written.starts_with(&head), "{name}: {edit:?}");
        }
        if let (Ok(tail), Ok(mark)) = (decoded.encode(&decoded.text[last.range.end..]), decoded.encode("")) {
            assert!(written.ends_with(&tail[mark.len()..]), "{name}: {edit:?}");
        }
    } else {
        assert_eq!(written, bytes, "{name}: {edit:?}");
    }
    true
}

#[test]
fn every_edit_of_every_fixture_leaves_the_rest() {
    let (mut made, mut refused) = (0, 0);
    for (path, bytes) in FILES.iter() {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = decode(bytes).unwrap().text;
        let nodes = scan(text, &ScanOptions::default()).unwrap().nodes.len();
        for node in 0..nodes.min(12) {
            for one in edits(node, (node * 7 + 1) % nodes) {
                if edit(&name, bytes, &one) { made += 1 } else { refused += 1 }
            }
        }
    }
    println!("{made} edits made, {refused} refused");
    assert!(made > refused, "{made} made, {refused} refused");
}

/// How many ways there are to write a text.
const FORMS: usize = 6;

/// Returns a text as the bytes of a file: with other line ends, with a mark, in UTF-16, in Latin-1.
fn written(text: &str, form: usize) -> Vec<u8> {
    let wide = |text: &str, order: fn(u16) -> [u8; 2]| {
        format!("\u{feff}{text}").encode_utf16().flat_map(order).collect::<Vec<u8>>()
    };
    match form {
        0 => text.as_bytes().to_vec(),
        1 => text.replace('\n', "\r\n").into_bytes(),
        2 => format!("\u{feff}{text}").into_bytes(),
        3 => wide(text, u16::to_le_bytes),
        4 => wide(&text.replace('\n', "\r\n"), u16::to_be_bytes),
        _ => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect(),
    }
}

#[test]
fn real_files_keep_their_bytes_in_every_encoding() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/org");
    if !root.exists() {
        crate::support::skip::skipped(format_args!("{} is not there", root.display()));
        return;
    }
    let files: Vec<PathBuf> = passepartout::edge::walk::org_files(&root).into_iter().filter_map(Result::ok).collect();
    let (mut made, mut refused) = ([[0; EDITS]; FORMS], 0);
    for (index, path) in files.iter().enumerate().skip(17).step_by(40) {
        let text = passepartout::edge::org_file::read_text(path).unwrap().text;
        for (form, made) in made.iter_mut().enumerate() {
            let bytes = written(&text, form);
            // What names its encoding, or mixes line ends, may not be read in another form.
            let Ok(decoded) = decode(&bytes) else { continue };
            assert_eq!(decoded.encode(&decoded.text).unwrap(), bytes, "{}", path.display());
            let nodes = scan(decoded.text, &ScanOptions::default()).unwrap().nodes.len();
            let (node, other) = (index * 31 % nodes, index * 17 % nodes);
            for (made, one) in made.iter_mut().zip(edits(node, other)) {
                if edit(&path.to_string_lossy(), &bytes, &one) { *made += 1 } else { refused += 1 }
            }
        }
    }
    println!("{made:?} edits made, {refused} refused");
    assert!(made.iter().flatten().all(|made| *made > 5), "every edit in every form: {made:?}");
}

proptest! {
    /// Fixtures in other encodings and with other line ends, with and without a newline at the end.
    #[test]
    fn encodings_and_line_ends_are_kept(
        file in 0..1000usize, node in 0..12usize, other in 0..12usize, which in 0..EDITS,
        form in 0..FORMS, cut in any::<bool>(),
    ) {
        let (path, bytes) = &FILES[file % FILES.len()];
        let text = decode(bytes).unwrap().text;
        let text = if cut { text.trim_end_matches('\n') } else { &text };
        let changed = written(text, form);
        let Ok(decoded) = decode(&changed) else { return Ok(()) };
        prop_assert_eq!(decoded.encode(&decoded.text).unwrap(), changed.clone());
        let nodes = scan(decoded.text.clone(), &ScanOptions::default()).unwrap().nodes.len();
        let chosen = &edits(node % nodes, other % nodes)[which];
        edit(&path.to_string_lossy(), &changed, chosen);
    }
}
