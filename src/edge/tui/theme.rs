//! How things look: four themes, of which one has no colours at all.

use ratatui::style::{Color, Modifier, Style};

/// A theme by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Light letters on a dark ground.
    Dark,
    /// Dark letters on a light ground.
    Light,
    /// Few colours, all of them strong.
    Contrast,
    /// No colours: weight, slant and underline alone.
    None,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// Words as such.
    Plain,
    /// What the user said.
    User,
    /// A heading.
    Heading,
    /// Strong words.
    Strong,
    /// Stressed words.
    Emphasis,
    /// Code, as it stands.
    Code,
    /// Where a link leads.
    Link,
    /// What is struck out.
    Struck,
    /// What stands back.
    Dim,
    /// What the model thinks.
    Thought,
    /// What went well.
    Good,
    /// What wants a look.
    Warning,
    /// What went wrong.
    Bad,
    /// A border, and what names a part of the screen.
    Frame,
    /// What is chosen.
    Chosen,
    /// What was searched for.
    Match,
    /// The line at the foot.
    Status,
}

impl Theme {
    /// All of them.
    pub const ALL: [Theme; 4] = [Theme::Dark, Theme::Light, Theme::Contrast, Theme::None];

    /// Returns its name.
    pub const fn name(self) -> &'static str {
        match self {
            Theme::Dark => "dark",
            Theme::Light => "light",
            Theme::Contrast => "contrast",
            Theme::None => "none",
        }
    }

    /// Finds a theme by its name.
    pub fn named(name: &str) -> Option<Theme> {
        Theme::ALL.into_iter().find(|theme| theme.name() == name)
    }

    /// Returns the next one.
    pub fn next(self) -> Theme {
        match self {
            Theme::Dark => Theme::Light,
            Theme::Light => Theme::Contrast,
            Theme::Contrast => Theme::None,
            Theme::None => Theme::Dark,
        }
    }

    /// Returns how a part looks.
    pub fn style(self, part: Part) -> Style {
        let weight = match part {
            Part::User | Part::Heading | Part::Strong => Modifier::BOLD,
            Part::Emphasis | Part::Thought => Modifier::ITALIC,
            Part::Link => Modifier::UNDERLINED,
            Part::Struck => Modifier::CROSSED_OUT,
            Part::Chosen | Part::Match => Modifier::REVERSED,
            Part::Bad => Modifier::BOLD,
            Part::Plain | Part::Code | Part::Dim | Part::Good | Part::Warning | Part::Frame | Part::Status => {
                Modifier::empty()
            }
        };
        let style = Style::new().add_modifier(weight);
        let indexed = |colour: u8| style.fg(Color::Indexed(colour));
        match (self, part) {
            (Theme::None, Part::Dim | Part::Frame) => style.add_modifier(Modifier::DIM),
            (Theme::None, Part::Status) => style.add_modifier(Modifier::REVERSED),
            (Theme::None, _) | (_, Part::Plain | Part::Strong | Part::Emphasis | Part::Chosen) => style,
            (Theme::Dark, Part::User) => indexed(117),
            (Theme::Dark, Part::Heading) => indexed(222),
            (Theme::Dark, Part::Code) => indexed(150),
            (Theme::Dark, Part::Link) => indexed(110),
            (Theme::Dark, Part::Dim | Part::Struck) => indexed(245),
            (Theme::Dark, Part::Thought) => indexed(246),
            (Theme::Dark, Part::Good) => indexed(114),
            (Theme::Dark, Part::Warning) => indexed(221),
            (Theme::Dark, Part::Bad) => indexed(210),
            (Theme::Dark, Part::Frame) => indexed(240),
            (Theme::Dark, Part::Status) => style.fg(Color::Indexed(252)).bg(Color::Indexed(236)),
            (Theme::Light, Part::User) => indexed(24),
            (Theme::Light, Part::Heading) => indexed(94),
            (Theme::Light, Part::Code) => indexed(22),
            (Theme::Light, Part::Link) => indexed(25),
            (Theme::Light, Part::Dim | Part::Thought | Part::Struck) => indexed(241),
            (Theme::Light, Part::Good) => indexed(28),
            (Theme::Light, Part::Warning) => indexed(130),
            (Theme::Light, Part::Bad) => indexed(124),
            (Theme::Light, Part::Frame) => indexed(249),
            (Theme::Light, Part::Status) => style.fg(Color::Indexed(235)).bg(Color::Indexed(253)),
            (Theme::Contrast, Part::User | Part::Link) => style.fg(Color::LightCyan),
            (Theme::Contrast, Part::Heading | Part::Warning) => style.fg(Color::LightYellow),
            (Theme::Contrast, Part::Code | Part::Good) => style.fg(Color::LightGreen),
            (Theme::Contrast, Part::Bad) => style.fg(Color::LightRed),
            (Theme::Contrast, Part::Dim | Part::Thought | Part::Struck | Part::Frame) => style.fg(Color::White),
            (Theme::Contrast, Part::Status) => style.fg(Color::Black).bg(Color::White),
            (Theme::Dark | Theme::Light | Theme::Contrast, Part::Match) => {
                Style::new().fg(Color::Black).bg(Color::LightYellow)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_is_found_by_its_name_and_one_has_no_colours() {
        for theme in Theme::ALL {
            assert_eq!(Theme::named(theme.name()), Some(theme));
        }
        assert_eq!(Theme::named("solarized"), None);
        for part in [Part::User, Part::Status, Part::Match, Part::Bad, Part::Frame, Part::Code, Part::Link] {
            let style = Theme::None.style(part);
            assert_eq!((style.fg, style.bg), (None, None), "{part:?}");
        }
        let round: Vec<Theme> = std::iter::successors(Some(Theme::Dark), |theme| Some(theme.next())).take(5).collect();
        assert_eq!(round, [Theme::Dark, Theme::Light, Theme::Contrast, Theme::None, Theme::Dark]);
    }
}
