//! What takes more than its share: processes, memory, disk, files, time. Each never ends by itself.

use std::fs;
use std::io::Write;

/// Grows in the named way; `folder` is where files go.
pub fn run(words: &[String]) {
    let folder = words.get(1).map_or("/tmp", String::as_str);
    match words.first().map(String::as_str) {
        Some("processes") => processes(),
        Some("memory") => memory(),
        Some("files") => files(folder),
        Some("small-files") => small_files(folder),
        Some("reserve") => reserve(folder),
        Some("descriptors") => descriptors(),
        Some("time") => while std::hint::black_box(true) {},
        _ => panic!("there is no such way to grow"),
    }
}

fn processes() {
    let first = std::process::id();
    loop {
        // SAFETY: both go on here, as after any fork.
        if unsafe { libc::fork() } < 0 {
            // The kernel allows no more. The first one says so; the others wait for their end.
            if std::process::id() == first {
                std::process::exit(9);
            }
            std::thread::park();
        }
    }
}

fn memory() {
    let mut kept: Vec<Vec<u8>> = Vec::new();
    loop {
        kept.push(vec![1; 8 << 20]);
        std::hint::black_box(&kept);
    }
}

fn files(folder: &str) {
    let block = vec![7u8; 1 << 20];
    for number in 0.. {
        let mut file = fs::File::create(format!("{folder}/filler-{number}")).unwrap_or_else(|_| std::process::exit(9));
        // Below the bound of one file, so that only a bound of all ends this.
        for _ in 0..256 {
            file.write_all(&block).unwrap_or_else(|_| std::process::exit(9));
        }
    }
}

fn small_files(folder: &str) {
    for number in 0.. {
        fs::write(format!("{folder}/small-{number}"), "").unwrap_or_else(|_| std::process::exit(9));
    }
}

fn reserve(folder: &str) {
    use std::os::fd::AsRawFd;
    for number in 0.. {
        let file = fs::File::create(format!("{folder}/reserved-{number}")).unwrap_or_else(|_| std::process::exit(9));
        // SAFETY: the descriptor is open.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, 256 << 20) } != 0 {
            std::process::exit(9);
        }
    }
}

fn descriptors() {
    let mut kept = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        kept.push(file);
        assert!(kept.len() < 100_000, "nothing bounds the files that are open");
    }
    std::process::exit(9);
}
