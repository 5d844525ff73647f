//! A human's terminal: a long text is shown a page at a time, and what was typed ahead of a question answers none.
#![allow(unsafe_code)] // tcflush, the modes and the size of a terminal, which the standard library does not know.

use crate::edge::env_file::LONGEST_KEY;
use crate::edge::secret::Secret;
use crate::edge::signals::Held;
use std::io::{self, BufRead, Read, Write};

/// How many lines a page has where the terminal does not say how many it shows.
const ROWS: usize = 24;

/// Shows a text a page at a time; false when the human did not want to see all of it.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn page_through(text: &str, out: &mut dyn Write) -> io::Result<bool> {
    through(text, rows(), out, &mut |out| answer(out, "-- Return shows more, anything else stops: "))
}

/// Shows pages, and asks before each but the first.
fn through(
    text: &str,
    rows: usize,
    out: &mut dyn Write,
    ask: &mut dyn FnMut(&mut dyn Write) -> io::Result<Option<String>>,
) -> io::Result<bool> {
    let lines: Vec<&str> = text.lines().collect();
    // A line is left for the question.
    for (number, page) in lines.chunks(rows.max(4) - 1).enumerate() {
        if number > 0 && ask(out)?.as_deref() != Some("") {
            return Ok(false);
        }
        for line in page {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
    }
    Ok(true)
}

/// Asks, and returns the line that is typed then, without blanks around it; `None` at the end of what is typed.
///
/// # Errors
/// When the terminal cannot be read or written.
pub fn answer(out: &mut dyn Write, question: &str) -> io::Result<Option<String>> {
    // What was typed before the question stood there was meant for something else.
    // SAFETY: no memory is handed over.
    unsafe { libc::tcflush(libc::STDIN_FILENO, libc::TCIFLUSH) };
    write!(out, "{question}")?;
    out.flush()?;
    let mut line = String::new();
    let length = io::stdin().lock().read_line(&mut line)?;
    Ok((length > 0).then(|| line.trim().to_string()))
}

/// Asks for a secret, which is not shown while it is typed; `None` when the human broke off or typed nothing.
///
/// # Errors
/// When the terminal cannot be read or written, or cannot be kept from showing it.
pub fn unseen(out: &mut dyn Write, question: &str) -> io::Result<Option<Secret>> {
    let quiet = Quiet::begin()?;
    write!(out, "{question}")?;
    out.flush()?;
    let typed = typed(&mut Keys(&quiet.signals));
    drop(quiet);
    writeln!(out)?;
    Ok(typed?.map(Secret::new))
}

/// Reads keys up to Return, as a line editor does that has nothing but a way back.
#[expect(clippy::unbuffered_bytes, reason = "what is typed behind Return is for who reads next")]
fn typed(keys: &mut impl Read) -> io::Result<Option<String>> {
    const BREAK: u8 = 3;
    const END: u8 = 4;
    const KILL: u8 = 21;
    let mut line = Vec::new();
    for key in keys.bytes() {
        match key? {
            b'\r' | b'\n' => break,
            BREAK => return Ok(None),
            END if line.is_empty() => return Ok(None),
            8 | 127 => drop(line.pop()),
            KILL => line.clear(),
            byte if line.len() <= LONGEST_KEY => line.push(byte),
            _ => {}
        }
    }
    Ok(String::from_utf8(line).ok().filter(|line| !line.trim().is_empty()))
}

/// How long a signal waits until it is looked for, in milliseconds.
const LOOKS: i32 = 100;

/// The keys of the terminal, as long as no signal ends this program. None is read ahead.
struct Keys<'a>(&'a Held);

impl Read for Keys<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.0.is_over() {
                return Err(io::Error::other("ended by a signal"));
            }
            let mut keys = libc::pollfd { fd: libc::STDIN_FILENO, events: libc::POLLIN, revents: 0 };
            // SAFETY: the one structure lives on, and the kernel writes it during this call alone.
            if unsafe { libc::poll(&raw mut keys, 1, LOOKS) } != 0 {
                return Ok(rustix::io::read(io::stdin(), into)?);
            }
        }
    }
}

/// A terminal that shows nothing of what is typed, hands on each key, and makes no signals of them, until this is dropped.
/// What would end the program meanwhile from elsewhere waits for that: a shell would be left in which nothing shows.
struct Quiet {
    before: libc::termios,
    signals: Held,
}

impl Quiet {
    fn begin() -> io::Result<Quiet> {
        let signals = Held::begin()?;
        let mut modes = std::mem::MaybeUninit::<libc::termios>::uninit();
        // SAFETY: the kernel fills the structure, which lives on, and says so by 0.
        if unsafe { libc::tcgetattr(libc::STDIN_FILENO, modes.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was filled.
        let before = unsafe { modes.assume_init() };
        let mut quiet = before;
        quiet.c_lflag &= !(libc::ECHO | libc::ECHONL | libc::ICANON | libc::ISIG);
        (quiet.c_cc[libc::VMIN], quiet.c_cc[libc::VTIME]) = (1, 0);
        // What was typed before was shown, and meant for something else: it is let go of.
        // SAFETY: the structure lives on, and nothing keeps it.
        match unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSAFLUSH, &raw const quiet) } {
            0 => Ok(Quiet { before, signals }),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // SAFETY: the structure lives on, and nothing keeps it.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSAFLUSH, &raw const self.before) };
    }
}

/// Returns how many lines the terminal shows.
fn rows() -> usize {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the kernel fills the structure, which lives on, and says so by 0.
    let told = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) } == 0;
    if told && size.ws_row > 0 { usize::from(size.ws_row) } else { ROWS }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_unseen_ends_at_return_and_can_be_taken_back() {
        let check = |keys: &[u8], secret: Option<&str>| {
            assert_eq!(typed(&mut &keys[..]).expect("it can be read").as_deref(), secret, "{keys:?}");
        };
        check(b"12:AA\rmore", Some("12:AA"));
        check(b"12:AB\x7fA\n", Some("12:AA"));
        check(b"\x7fwrong\x1512:AA\r", Some("12:AA"));
        check(b"12:AA", Some("12:AA"));
        check(b"12\x03:AA\r", None);
        check(b"\x04", None);
        check(b" \r", None);
        check(b"\xff\r", None);
        assert_eq!(
            typed(&mut io::repeat(b'x').take(1 << 20)).expect("it ends").map(|key| key.len()),
            Some(LONGEST_KEY + 1)
        );
    }

    #[test]
    fn a_page_leaves_room_for_the_question_and_only_return_goes_on() {
        let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        for (answers, all, last, asked) in [
            (vec![Some(""), Some("")], true, "line 20", 2),
            (vec![Some(""), Some("P1")], false, "line 18", 2),
            (vec![None], false, "line 9", 1),
        ] {
            let (mut out, mut count, mut answers) = (Vec::new(), 0, answers.into_iter());
            let went = through(&text, 10, &mut out, &mut |_| {
                count += 1;
                Ok(answers.next().expect("no more is asked").map(str::to_string))
            });
            let shown = String::from_utf8(out).expect("text");
            assert_eq!((went.expect("it is written"), shown.lines().last(), count), (all, Some(last), asked));
        }
        let mut out = Vec::new();
        assert!(through("short", 0, &mut out, &mut |_| panic!("nothing is asked")).expect("it is written"));
        assert_eq!(out, b"short\n");
    }
}
