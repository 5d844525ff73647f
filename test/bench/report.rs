//! Rows of what is promised and measured. Where `BENCH_ROWS` names a file they go there, too, so that `make bench` can
//! print all of them as one table, whichever program measured them.

use std::io::Write;

/// Prints a row.
pub fn row(name: &str, promised: &str, measured: &str) {
    rated(name, promised, measured, None);
}

/// Prints a row about reading at a rate in MB/s, which is compared with the yardsticks of the same run.
pub fn rated(name: &str, promised: &str, measured: &str, rate: Option<f64>) {
    println!("{name:<58} {measured:>34}  {promised}");
    let Some(path) = std::env::var_os("BENCH_ROWS").filter(|path| !path.is_empty()) else { return };
    let line = format!("{name}\t{promised}\t{measured}\t{}\n", rate.map_or(String::new(), |rate| format!("{rate:.2}")));
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.unwrap().write_all(line.as_bytes()).unwrap();
}

/// Returns whether all rows are collected for a table.
#[allow(dead_code)] // One of the two benches asks.
pub fn collected() -> bool {
    std::env::var_os("BENCH_ROWS").is_some_and(|path| !path.is_empty())
}

/// Returns the processor time of the whole process in seconds: what else the machine does is not counted.
#[allow(unsafe_code)] // One call of clock_gettime.
#[allow(dead_code)] // One of the two benches asks.
pub fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time`, which lives as long as it runs, and to nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
