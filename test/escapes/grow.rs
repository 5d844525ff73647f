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
        Some("one-file") => one_file(folder),
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
        for _ in 0..16 {
            file.write_all(&block).unwrap_or_else(|_| std::process::exit(9));
        }
    }
}

fn small_files(folder: &str) {
    for number in 0.. {
        fs::write(format!("{folder}/small-{number}"), "").unwrap_or_else(|_| std::process::exit(9));
    }
}

/// Takes room without writing, in each way that there is, until none is left.
fn reserve(folder: &str) {
    use std::os::fd::AsRawFd;
    let ways = [
        0,
        libc::FALLOC_FL_KEEP_SIZE,
        libc::FALLOC_FL_ZERO_RANGE,
        libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE,
        libc::FALLOC_FL_UNSHARE_RANGE,
    ];
    // FS_IOC_RESVSP, FS_IOC_RESVSP64 and FS_IOC_ZERO_RANGE.
    let codes: [u32; 3] = [0x4030_5828, 0x4030_582a, 0x4030_5839];
    for number in 0.. {
        let file = fs::File::create(format!("{folder}/reserved-{number}")).unwrap_or_else(|_| std::process::exit(9));
        let taken = ways.iter().any(|way| {
            // SAFETY: the descriptor is open.
            unsafe { libc::fallocate(file.as_raw_fd(), *way, 0, 16 << 20) == 0 }
        });
        let older = codes.iter().any(|code| {
            // Type, whence, start, length, and what is not used, as the kernel lays them out.
            let room: [u64; 6] = [0, 0, 16 << 20, 0, 0, 0];
            // SAFETY: the descriptor is open, and the structure has the 48 bytes that the codes name.
            unsafe { libc::ioctl(file.as_raw_fd(), *code as _, room.as_ptr()) == 0 }
        });
        if !taken && !older {
            std::process::exit(9);
        }
    }
}

/// Writes one file.
fn one_file(folder: &str) {
    let block = vec![7u8; 1 << 20];
    let mut file = fs::File::create(format!("{folder}/one")).unwrap_or_else(|_| std::process::exit(9));
    loop {
        file.write_all(&block).unwrap_or_else(|_| std::process::exit(9));
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
