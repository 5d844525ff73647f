//! `passepartout backup` and `passepartout restore`: what cannot be made again, in one file, and back.

use crate::domain::inert::exact;
use crate::edge::backup::{Manifest, Restored, Sources, Targets, Unrestorable, Written, restore, verify, write};
use crate::edge::cli::args::Place;
use crate::edge::cli::run::{DONE, FAILED, Failure, UNFIT};
use crate::edge::cli::session::settled;
use crate::edge::clock::{Clock, SystemClock};
use crate::edge::peers::lineage::not_started_by_us;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a backup.
///
/// # Errors
/// When a file cannot be read or written.
pub(super) fn run_backup(
    (file, store): (&Path, Option<PathBuf>),
    (memex, keys): (bool, bool),
    as_json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let config = settled(&Place { store, ..Place::default() });
    let memex = if memex { config.directories.iter().map(|path| absolute(path)).collect() } else { Vec::new() };
    let sources = Sources { store: config.store, settings: config.settings, memex, keys };
    let file = absolute(file);
    let Written { manifest, bytes } = write(&sources, &file, SystemClock.now())?;
    if as_json {
        let all = json!({
            "file": file, "bytes": bytes, "files": manifest.files.len(), "keys": manifest.keys,
            "memex": manifest.memex, "left_out": manifest.left_out,
        });
        writeln!(out, "{all}")?;
        return Ok(DONE);
    }
    for line in &manifest.left_out {
        // Who has closed standard error reads nothing.
        let _ = writeln!(std::io::stderr(), "left out: {}", exact(line));
    }
    let named = exact(&file.display().to_string());
    writeln!(out, "{named}: {} files, {bytes} bytes.", manifest.files.len())?;
    if !keys {
        writeln!(out, "Keys are not in it; --with-keys takes them along.")?;
    }
    if manifest.memex.is_empty() {
        writeln!(out, "Your notes are not in it; --memex takes them along.")?;
    }
    Ok(DONE)
}

/// Puts a backup back, once all of it was found to be right.
///
/// # Errors
/// When it is damaged, when something is in use or in the way, and what the system says.
pub(super) fn run_restore(
    (file, store): (&Path, Option<PathBuf>),
    (memex, force, check): (bool, bool, bool),
    as_json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    not_started_by_us(std::process::id()).map_err(|why| format!("a backup is put back by a human: {why}"))?;
    let config = super::session::configured(&Place { store, ..Place::default() });
    let failure = |why: Unrestorable| {
        let status = if matches!(why, Unrestorable::InTheWay(_)) { UNFIT } else { FAILED };
        Failure { text: exact(why.words()), status }
    };
    let manifest = verify(file).map_err(failure)?;
    if !as_json {
        tell_what_is_in_it(&manifest, memex, out)?;
    }
    if check {
        return told(file, &manifest, None, as_json, out);
    }
    let targets = Targets { store: config.store, settings: config.settings, home: config.home, memex, force };
    let at = SystemClock.wall().strftime("%Y%m%d-%H%M%S").to_string();
    let restored = restore(file, &manifest, &targets, &at).map_err(failure)?;
    told(file, &manifest, Some(&restored), as_json, out)
}

/// Says when it was made, and where its notes go, before anything is put back.
fn tell_what_is_in_it(manifest: &Manifest, memex: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let (made, version) = (exact(&manifest.made), exact(&manifest.version));
    let files = manifest.files.len();
    writeln!(out, "Made {made} by version {version}; all of its {files} files are as they were written.")?;
    for place in &manifest.memex {
        let place = exact(&place.display().to_string());
        match memex {
            true => writeln!(out, "Its notes of {place} go back there.")?,
            false => writeln!(out, "It has notes of {place}; --memex puts them back there.")?,
        }
    }
    Ok(())
}

fn told(
    file: &Path,
    manifest: &Manifest,
    restored: Option<&Restored>,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    if as_json {
        let aside = restored.map(|done| done.aside.iter().map(|(was, is)| json!({ "was": was, "is": is })));
        let all = json!({
            "file": file, "made": manifest.made, "version": manifest.version, "files": manifest.files.len(),
            "memex": manifest.memex, "whole": true, "restored": restored.map(|done| done.files), "same": restored.map(|done| done.same),
            "aside": aside.map(|aside| aside.collect::<Vec<_>>()), "left": restored.map(|done| &done.left),
        });
        writeln!(out, "{all}")?;
        return Ok(DONE);
    }
    let Some(done) = restored else { return Ok(DONE) };
    for (was, is) in &done.aside {
        let (was, is) = (exact(&was.display().to_string()), exact(&is.display().to_string()));
        writeln!(out, "{was} was in the way; it lies in {is} now.")?;
    }
    done.left.iter().try_for_each(|line| writeln!(out, "{}", exact(line)))?;
    let same = if done.same > 0 { format!("; {} were there just so", done.same) } else { String::new() };
    writeln!(out, "{} files were put back{same}.", done.files)?;
    writeln!(out, "Look at it: passepartout memory verify")?;
    Ok(DONE)
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
