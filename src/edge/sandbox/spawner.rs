//! The one thread that starts children. It never ends, because the kernel kills them when it does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

type Job = Box<dyn FnOnce() + Send>;

static SPAWNER: OnceLock<Option<Sender<Job>>> = OnceLock::new();

/// Runs a function on the thread that never ends, and answers what it returned.
pub async fn on_spawner<T: Send + 'static>(function: impl FnOnce() -> T + Send + 'static) -> Result<T, std::io::Error> {
    let gone = || std::io::Error::other("the thread that starts processes is not there");
    let (answer, answered) = tokio::sync::oneshot::channel();
    let job: Job = Box::new(move || {
        // Whoever asked may have gone; then a child in the answer is dropped, and so ended, at once.
        let _ = answer.send(function());
    });
    SPAWNER.get_or_init(begin).as_ref().ok_or_else(gone)?.send(job).map_err(|_| gone())?;
    answered.await.map_err(|_| gone())
}

fn begin() -> Option<Sender<Job>> {
    let (sender, jobs) = channel::<Job>();
    let thread = std::thread::Builder::new().name("passepartout-spawner".to_string());
    let started = thread.spawn(move || {
        block_signals();
        for job in jobs {
            // The thread must outlive a job that panics: what other jobs started would die with it.
            let _ = catch_unwind(AssertUnwindSafe(job));
        }
    });
    started.ok().map(|_| sender)
}

/// Leaves all signals to the host's threads; the launcher opens them again for itself.
fn block_signals() {
    // SAFETY: the set is initialised before use, and only this thread's mask changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, std::ptr::null_mut());
    }
}
