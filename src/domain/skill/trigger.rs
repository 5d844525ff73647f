//! When a skill is triggered: conditions on sensor, words, and the heading in focus. No code.

use crate::domain::signal::Sensor;

/// The sensors that set off a turn in which something is reasoned about, or that a skill answers itself, and that a trigger
/// may name therefore.
/// Whoever lets another one set off turns adds it here.
pub const SENSORS: &[Sensor] =
    &[Sensor::UserInput, Sensor::Schedule, Sensor::Hook, Sensor::ChatMessage, Sensor::UserCommand];

/// Conditions that must all hold. An empty list of one kind does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trigger {
    /// The signal's sensor is one of these; without any it is whatever a model may be asked by. A command of the user is only
    /// for who names it.
    pub sensors: Vec<String>,
    /// The signal's text holds one of these words or phrases, whole, without regard to case.
    pub words: Vec<String>,
    /// The heading in focus has one of these tags, own or inherited, without regard to case.
    pub tags: Vec<String>,
    /// Its keyword is one of these.
    pub todo: Vec<String>,
    /// The path of its file ends in one of these.
    pub files: Vec<String>,
}

/// What a trigger is matched against.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignalFacts<'a> {
    /// The sensor's name.
    pub sensor: &'a str,
    /// The signal's text, or nothing.
    pub text: &'a str,
    /// Tags of the heading in focus, own and inherited.
    pub tags: &'a [String],
    /// Its keyword.
    pub todo: Option<&'a str>,
    /// Its file.
    pub file: Option<&'a str>,
}

impl Trigger {
    /// Reads `sensor:user-input words:"weekly review, review my week" tag:project todo:NEXT file:work.org`.
    ///
    /// # Errors
    ///
    /// Words that say what is wrong, and what would be right.
    pub fn parse(text: &str) -> Result<Trigger, String> {
        let mut trigger = Trigger::default();
        for (key, value) in conditions(text)? {
            let values: Vec<String> =
                value.split(',').map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect();
            if values.is_empty() {
                return Err(format!("“{key}:” has no value"));
            }
            match key.as_str() {
                "sensor" => {
                    values.iter().try_for_each(|value| known(value))?;
                    trigger.sensors.extend(values);
                }
                "words" => {
                    trigger.words.extend(values.iter().map(|value| normal(value)).filter(|value| !value.is_empty()))
                }
                "tag" => trigger.tags.extend(values),
                "todo" => trigger.todo.extend(values),
                "file" => trigger.files.extend(values),
                _ => return Err(format!("“{key}:” is no condition; there are sensor:, words:, tag:, todo: and file:")),
            }
        }
        if trigger == Trigger::default() {
            return Err("a trigger needs a condition, such as sensor:user-input words:\"weekly review\"".to_string());
        }
        Ok(trigger)
    }

    /// Returns whether all conditions hold.
    pub fn matches(&self, facts: &SignalFacts<'_>) -> bool {
        let text = if self.words.is_empty() { String::new() } else { format!(" {} ", normal(&own_words(facts.text))) };
        let any = |list: &[String], holds: &dyn Fn(&String) -> bool| list.is_empty() || list.iter().any(holds);
        let named = self.sensors.iter().any(|sensor| sensor == facts.sensor);
        let unnamed = self.sensors.is_empty() && facts.sensor != Sensor::UserCommand.name();
        (named || unnamed)
            && any(&self.words, &|words| text.contains(&format!(" {words} ")))
            && any(&self.tags, &|tag| facts.tags.iter().any(|own| own.eq_ignore_ascii_case(tag)))
            && any(&self.todo, &|todo| facts.todo.is_some_and(|own| own == todo))
            && any(&self.files, &|file| facts.file.is_some_and(|own| own == file || own.ends_with(&format!("/{file}"))))
    }
}

impl std::fmt::Display for Trigger {
    /// Writes it as its line is written.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            ("sensor", &self.sensors),
            ("words", &self.words),
            ("tag", &self.tags),
            ("todo", &self.todo),
            ("file", &self.files),
        ];
        let mut between = "";
        for (key, values) in parts.into_iter().filter(|(_, values)| !values.is_empty()) {
            write!(f, "{between}{key}:\"{}\"", values.join(", "))?;
            between = " ";
        }
        Ok(())
    }
}

fn known(sensor: &str) -> Result<(), String> {
    let names = SENSORS.iter().map(|sensor| sensor.name()).collect::<Vec<_>>().join(", ");
    match Sensor::parse(sensor) {
        Some(sensor) if SENSORS.contains(&sensor) => Ok(()),
        Some(_) => {
            Err(format!("no skill is for the sensor “{sensor}”, so this would never hold; a trigger can name {names}"))
        }
        None => Err(format!("there is no sensor “{sensor}”; a trigger can name {names}")),
    }
}

/// Splits into keys and values; a value with spaces stands in quotation marks.
fn conditions(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, behind) = rest.split_once(':').ok_or_else(|| format!("“{rest}” is no condition; write key:value"))?;
        let key = key.trim().to_lowercase();
        if key.contains(char::is_whitespace) {
            return Err(format!(
                "“{key}” is no condition; write key:value, with quotation marks around a value with spaces"
            ));
        }
        let (value, after) = match behind.strip_prefix('"') {
            Some(quoted) => {
                quoted.split_once('"').ok_or_else(|| format!("the value of “{key}:” has no closing quotation mark"))?
            }
            None => behind.split_at(behind.find(char::is_whitespace).unwrap_or(behind.len())),
        };
        found.push((key, value.to_string()));
        rest = after.trim_start();
    }
    Ok(found)
}

/// Returns a question without what it quotes: lines that begin with `>`, and blocks. A mail that is pasted asks for nothing.
fn own_words(text: &str) -> String {
    let (mut kept, mut fence): (Vec<&str>, Option<&str>) = (Vec::new(), None);
    for line in text.lines() {
        let begin = line.trim_start();
        let starts = |what: &str| begin.get(..what.len()).is_some_and(|start| start.eq_ignore_ascii_case(what));
        match fence {
            Some(end) if starts(end) => fence = None,
            Some(_) => {}
            None if starts("#+begin_") => fence = Some("#+end_"),
            None if starts("```") => fence = Some("```"),
            None if starts(">") => {}
            None => kept.push(line),
        }
    }
    kept.join("\n")
}

/// Returns lower-case words with single spaces.
fn normal(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    let words = lower.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '-')).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}
