//! How git is called: with nothing that a repository's own settings name switched on, and words that stay words.

/// What every call of git begins with.
pub const GIT: &str = "git --no-pager --no-optional-locks -c safe.directory='*' -c core.fsmonitor=false \
                       -c core.hooksPath=/dev/null -c core.pager=cat -c diff.external= -c log.showSignature=false \
                       -c protocol.allow=never -c core.untrackedCache=false -c submodule.recurse=false \
                       -c diff.submodule=short -c color.ui=never -c core.quotePath=false -c gc.auto=0";

/// Returns a word that the shell takes as it stands.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns name and address of the user from the text of a git configuration; of several the last counts.
pub fn author(config: &str) -> (Option<String>, Option<String>) {
    let (mut name, mut email, mut in_user) = (None, None, false);
    for line in config.lines().map(str::trim) {
        if line.starts_with('[') {
            in_user = line.to_ascii_lowercase().replace(' ', "") == "[user]";
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| in_user && !line.starts_with(['#', ';'])) else {
            continue;
        };
        let value = value.trim().trim_matches('"').to_string();
        match key.trim().to_ascii_lowercase().as_str() {
            "name" => name = Some(value),
            "email" => email = Some(value),
            _ => {}
        }
    }
    let filled = |text: Option<String>| text.filter(|text| !text.is_empty() && !text.contains(['\n', '<', '>']));
    (filled(name), filled(email))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_and_the_author_is_read() {
        assert_eq!(quoted("a'b; rm"), "'a'\\''b; rm'");
        let config = "[core]\n\tname = no\n[User]\n\tname = \"A Person\"\n\t# name = x\n\temail = a@example.org\n[user \"x\"]\n\tname = z\n";
        assert_eq!(author(config), (Some("A Person".to_string()), Some("a@example.org".to_string())));
        assert_eq!(author("[user]\nname = <>\n"), (None, None));
    }
}
