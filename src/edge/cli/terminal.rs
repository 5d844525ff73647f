//! A human's terminal: a long text is shown a page at a time, and what was typed ahead of a question answers none.
#![allow(unsafe_code)] // tcflush and the size of a terminal, which the standard library does not know.

use std::io::{self, BufRead, Write};

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
