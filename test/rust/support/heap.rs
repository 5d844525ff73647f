//! How much memory this process uses, apart from what its allocator keeps for later.
#![allow(unsafe_code)] // One call of mallinfo2, which has no safe form in what we build on.

/// Returns the megabytes that are in use on the heap, whatever asked for them; `None` where the system does not tell.
///
/// Resident memory says something else: pages that many threads left with holes stay with the allocator.
pub fn used() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // Sound: it reads the allocator's own counters under its own locks.
        let info = unsafe { libc::mallinfo2() };
        Some(((info.uordblks + info.hblkhd) >> 20) as u64)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    None
}

/// Returns how many megabytes of that may be what each thread keeps of freed memory for itself; none where the
/// environment sets the allocator up, as `make soak` does to see less than that.
pub fn caches() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if std::env::var_os("GLIBC_TUNABLES").is_some() { 0 } else { threads as u64 / 4 }
}
