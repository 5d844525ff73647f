//! The folder of a store's vectors, below our cache folder.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Vectors of embedders, and of stores, that were not used for so long are swept.
const ABANDONED: Duration = Duration::from_secs(60 * 24 * 3600);

/// Returns the folder of a store.
pub fn of(cache: &Path, store: &Path) -> PathBuf {
    let name = blake3::hash(store.as_os_str().as_encoded_bytes()).to_hex();
    cache.join("vectors").join(name.get(..24).unwrap_or_default())
}

/// Makes it, unless it is there.
///
/// # Errors
/// When it cannot be made.
pub fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Sweeps what nobody used for long, of this store and of all others.
pub fn sweep(all: &Path) {
    let below = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    for folder in below(all.to_path_buf()) {
        for file in below(folder.clone()) {
            let ours = file.extension().is_some_and(|end| end == "vec");
            let modified = std::fs::metadata(&file).and_then(|about| about.modified());
            let old = modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > ABANDONED));
            if ours && old {
                // A cache: what cannot be removed does no harm.
                let _ = std::fs::remove_file(&file);
            }
        }
        // Only goes when nothing is left in it, and is made again when it is wanted.
        let _ = std::fs::remove_dir(&folder);
    }
}
