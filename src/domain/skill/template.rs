//! What a new skill begins with: a file that loads, and whose examples and tests hold, to be written over.

/// What a new skill is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Tells the model how to do something when certain words are said.
    Prompt,
    /// Tells the model something in every turn.
    Mandate,
    /// Asks about acts, or denies them, by patterns.
    Rules,
    /// Asks about acts, or denies them, by Lisp.
    Gate,
}

impl Kind {
    /// Every kind, the simplest first.
    pub const ALL: [Kind; 4] = [Kind::Prompt, Kind::Mandate, Kind::Rules, Kind::Gate];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Prompt => "prompt",
            Kind::Mandate => "mandate",
            Kind::Rules => "rules",
            Kind::Gate => "gate",
        }
    }

    /// Reads a name, exactly.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns what it is for, for people.
    pub fn summary(self) -> &'static str {
        match self {
            Kind::Prompt => "tells the model how to do something when you say certain words",
            Kind::Mandate => "tells the model something in every turn",
            Kind::Rules => "asks about acts, or denies them, by patterns",
            Kind::Gate => "asks about acts, or denies them, by a function in Lisp, with its tests",
        }
    }
}

/// Returns the text of a new skill.
///
/// # Errors
/// In words, when the name cannot be one: it is that of the file, and of what its words set off.
pub fn template(kind: Kind, name: &str) -> Result<String, String> {
    if !super::handbook::is_name(name) {
        let said = crate::domain::inert::exact(&crate::domain::action::clip(name));
        return Err(format!(
            "“{said}” is no name for a skill; take small letters and digits with single hyphens between them, such as weekly-review"
        ));
    }
    let title = title(name);
    let words = name.replace('-', " ");
    Ok(match kind {
        Kind::Prompt => PROMPT,
        Kind::Mandate => MANDATE,
        Kind::Rules => RULES,
        Kind::Gate => GATE,
    }
    .replace("{TITLE}", &title)
    .replace("{WORDS}", &words)
    .replace("{NAME}", name))
}

/// Returns a name as a title: `weekly-review` as `Weekly review`.
fn title(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut chars = words.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

const PROMPT: &str = "\
#+TITLE: {TITLE}
#+PRIORITY: 50
#+TRIGGER: sensor:user-input words:\"{WORDS}\"
#+TOOLS: memory-search memory-read

What this skill does, for people: say “{WORDS}” in the chat.

* Prompt
The user wants: {WORDS}.
Work from the notes, and from nothing else.
Say in a few lines what you found, with links to the headings; where the notes are silent, ask.
";

const MANDATE: &str = "\
#+TITLE: {TITLE}

What this skill does, for people.

* Mandates
Answer in the language in which the question was asked.
";

const RULES: &str = "\
#+TITLE: {TITLE}

What this skill does, for people.

* Rules
| tool  | pattern            | verdict | reason                    |
|-------+--------------------+---------+---------------------------|
| shell | command: git push* | ask     | A push is seen by others. |

* Examples
| tool  | example              | match |
|-------+----------------------+-------|
| shell | git push origin main | ask   |
| shell | git status           | no    |
";

const GATE: &str = "\
#+TITLE: {TITLE}

What this skill does, for people.

* Gate
It is given each act as a property list, and answers ~pass~, ~(ask \"why\")~ or ~(deny \"why\")~.

#+NAME: definitions
#+begin_src emacs-lisp
(defun {NAME}-command (case)
  \"Return the command that CASE would run, or an empty text.\"
  (or (plist-get (plist-get case :arguments) :command) \"\"))
#+end_src

#+NAME: gate
#+begin_src emacs-lisp
(lambda (case)
  (if (and (equal (plist-get case :tool) \"shell\")
           (string-match-p \"\\\\_<terraform apply\\\\_>\" ({NAME}-command case)))
      '(deny \"Infrastructure is changed by hand.\")
    'pass))
#+end_src

* Tests
A test calls the block above by the name ~passepartout-skill-gate~.

#+NAME: tests
#+begin_src emacs-lisp
(ert-deftest {NAME}-denies-an-apply ()
  (should (equal (car (passepartout-skill-gate
                       '(:tool \"shell\" :arguments (:command \"terraform apply\"))))
                 'deny)))

(ert-deftest {NAME}-leaves-a-plan-alone ()
  (should (eq (passepartout-skill-gate
               '(:tool \"shell\" :arguments (:command \"terraform plan\")))
              'pass)))
#+end_src
";
