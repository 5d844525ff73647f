//! Threads with every signal blocked: inside Emacs, signals are Emacs's.
#![allow(unsafe_code)] // Calls of pthread_sigmask, setrlimit and setpriority, below, and of mkfifo in a test.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// So many threads share the work of [`each`] at most.
const SHARING: usize = 4;
/// Fewer items than this are not worth a thread.
const WORTH: usize = 8;
/// The stack of a thread that shares work, in bytes.
const STACK: usize = 4 << 20;

/// Starts a named thread in which every signal is blocked, with a stack of `stack` bytes.
///
/// # Errors
/// When the system has no room for another thread.
pub fn spawn(name: &str, stack: usize, run: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_string()).stack_size(stack).spawn(move || {
        block_signals();
        run();
    })
}

/// Blocks every signal in the calling thread. A batch Emacs would be killed by a SIGPIPE that one of ours receives.
pub fn block_signals() {
    // SAFETY: `set` is initialised by sigfillset before it is read, and the mask of this thread alone is changed.
    unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut());
    }
}

/// Has a program begin with no signal blocked: it inherits what the thread that starts it blocks, and would hear neither
/// Ctrl+C nor that its window has another size.
pub fn let_signals_in(command: &mut Command) {
    // SAFETY: the set is initialised by sigemptyset before it is read; both calls may be made between fork and exec.
    let open = || unsafe {
        let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        match libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut()) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    };
    // SAFETY: what runs in the child allocates nothing and takes no lock.
    unsafe { command.pre_exec(open) };
}

/// Has a program leave no image of its memory behind when a signal ends it.
pub fn leave_no_image(command: &mut Command) {
    let limit = || {
        // Where a program takes the images, 0 does not stop it, and 1 does.
        let least = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        // It is refused where the limit is 0 already.
        // SAFETY: the structure lives on, and the call may be made between fork and exec.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const least) };
        Ok(())
    };
    // SAFETY: what runs in the child allocates nothing and takes no lock.
    unsafe { command.pre_exec(limit) };
}

/// Does the same work for each of some items, on several threads when there are many, and returns what came of each, in
/// order. What the system gives no thread for, the calling one does. Blocks until all is done.
///
/// # Panics
/// When the work does.
pub fn each<'i, T: Sync, R: Send>(items: &'i [T], work: impl Fn(&'i T) -> R + Sync) -> Vec<R> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = cores.min(SHARING).min(items.len() / WORTH);
    let next = AtomicUsize::new(0);
    let share = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let start = |number: usize| {
            let thread = std::thread::Builder::new().name(format!("passepartout-share-{number}")).stack_size(STACK);
            let run = || {
                block_signals();
                share()
            };
            thread.spawn_scoped(scope, run).ok()
        };
        let others: Vec<_> = (1..threads).filter_map(start).collect();
        let mut done = share();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, made)| made).collect()
}

/// Does what waits for a disk, or grows with memory, on a thread made for that: none that serves messages waits for it.
///
/// # Panics
/// When the work does.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(made) => made,
        Err(ended) => match ended.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and drops who waits here as well.
            Err(_) => std::future::pending().await,
        },
    }
}

/// As [`aside`], where nothing can be awaited: what else this thread serves moves to another one first. In a runtime of
/// one thread, and outside of any, it is simply done.
pub fn in_place<T>(work: impl FnOnce() -> T) -> T {
    use tokio::runtime::{Handle, RuntimeFlavor};
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        Ok(_) | Err(_) => work(),
    }
}

/// Threads for one kind of work that may never end, as what looks at a file system that does not answer.
///
/// They are its own and counted: what hangs takes no thread from anything else, and not much of its own kind either.
pub struct Apart {
    name: &'static str,
    most: usize,
    running: AtomicUsize,
}

/// What finds out what actions would touch.
pub static SURVEYS: Apart = Apart::new("passepartout-survey", 64);
/// What looks at the projects of commands, before and after they run or are tried.
pub static PROJECTS: Apart = Apart::new("passepartout-project", 64);
/// What tools read of files and folders.
pub static LOOKS: Apart = Apart::new("passepartout-look", 64);

/// The stack of a thread apart, in bytes.
const DEEP: usize = 8 << 20;

/// One of the threads that there may be; it is free again when this goes.
struct Seat(&'static AtomicUsize);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Apart {
    /// Makes room for so many threads of a name.
    pub const fn new(name: &'static str, most: usize) -> Apart {
        Apart { name, most, running: AtomicUsize::new(0) }
    }

    /// Begins work on a thread of its own, in the runtime of the caller, and returns what waits for it. When nobody waits
    /// any more the work still goes on to its end.
    ///
    /// The answer is an error, in words, when too many have not ended, or the system has no thread, or the work breaks.
    pub fn run<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, String>> + Send + 'static {
        let (answer, answered) = tokio::sync::oneshot::channel();
        let begun = self.seat().and_then(|seat| {
            let runtime = tokio::runtime::Handle::try_current().ok();
            let run = move || {
                let _entered = runtime.as_ref().map(tokio::runtime::Handle::enter);
                let made = work();
                // Whoever learns of the end may begin the next one.
                drop(seat);
                // Nobody may be waiting any more.
                let _ = answer.send(made);
            };
            spawn(self.name, DEEP, run).map_err(|error| format!("the system has no thread for it ({error})"))
        });
        async move {
            begun?;
            answered.await.map_err(|_| "it broke".to_string())
        }
    }

    fn seat(&'static self) -> Result<Seat, String> {
        let before = self.running.fetch_add(1, Ordering::AcqRel);
        let seat = Seat(&self.running);
        if before < self.most { Ok(seat) } else { Err(format!("{before} others have not ended")) }
    }
}

/// How much less urgent than Emacs's own thread ours are, as a nice value.
#[cfg(target_os = "linux")]
const STEP: libc::c_int = 5;

/// Makes the calling thread, and those that it starts, less urgent than Emacs's own: when cores are few, Emacs goes first.
pub fn step_back() {
    // Only Linux has a nice value for each thread; elsewhere it would be Emacs's own.
    #[cfg(target_os = "linux")]
    // SAFETY: both calls take and return integers and touch no memory of ours. That it is refused does no harm.
    unsafe {
        let now = libc::getpriority(libc::PRIO_PROCESS, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, now + STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_shared_and_stays_in_order() {
        for count in [0, 1, WORTH, 10 * WORTH, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(each(&items, |n| n * 3), items.iter().map(|n| n * 3).collect::<Vec<_>>());
        }
    }

    /// Opens a pipe to read it, which waits until somebody opens it to write.
    fn hang(pipe: &std::path::Path) -> bool {
        std::fs::File::open(pipe).is_ok()
    }

    #[test]
    fn what_hangs_takes_a_thread_of_its_own_kind_and_no_other() {
        static TWO: Apart = Apart::new("passepartout-two", 2);
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let name = std::ffi::CString::new(pipe.to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: the name ends with NUL and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).max_blocking_threads(1).build();
        let runtime = runtime.expect("a runtime");
        runtime.block_on(async {
            let (first, second) = (pipe.clone(), pipe.clone());
            let hung = (TWO.run(move || hang(&first)), TWO.run(move || hang(&second)));
            let refused = TWO.run(|| ()).await.expect_err("both places are taken");
            assert_eq!(refused, "2 others have not ended");
            assert_eq!(aside(|| 7).await, 7, "what others share is free");
            // Both are let go by whoever writes.
            let writer = std::fs::OpenOptions::new().write(true).open(&pipe);
            assert!(hung.0.await.expect("it ended") && hung.1.await.expect("it ended") && writer.is_ok());
        });
    }

    #[test]
    fn work_apart_is_in_the_runtime_of_its_caller_and_may_break() {
        static ONE: Apart = Apart::new("passepartout-one", 1);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let inside = || tokio::runtime::Handle::try_current().is_ok();
        assert_eq!(runtime.block_on(async { ONE.run(inside).await }), Ok(true));
        let broken = runtime.block_on(async { ONE.run(|| panic!("as meant")).await });
        assert_eq!(broken, Err::<(), _>("it broke".to_string()));
    }

    #[test]
    fn a_panic_in_a_share_is_one_of_the_caller() {
        let items: Vec<usize> = (0..100).collect();
        let asked = std::panic::AssertUnwindSafe(|| each(&items, |n| assert!(*n < 50, "no more")));
        assert!(std::panic::catch_unwind(asked).is_err());
    }
}
