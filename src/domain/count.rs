//! Numbers of things in sentences: “1 file”, “2 files”.

/// Returns a number with its noun, which takes an “s” unless there is exactly one.
pub fn counted(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_alone() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "file")), ["0 files", "1 file", "2 files"]);
    }
}
