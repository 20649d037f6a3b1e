//! How effects are shown, and the colours of lines.

/// How effects are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Use ANSI colours. Default: false.
    pub color: bool,
    /// Columns of the terminal. A change that does not fit into one line takes two. Default: 100.
    pub width: usize,
    /// Show the values of Secrets. Default: false, which shows only that they are there, or that they changed.
    pub secrets: bool,
    /// The most lines for one object, at least 1. Of the rest, only the number is shown. Default: 200.
    pub lines: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self { color: false, width: 100, secrets: false, lines: 200 }
    }
}

/// What a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Added,
    Removed,
    Changed,
    Same,
    Failed,
    Unknown,
}

impl Sign {
    pub fn char(self) -> char {
        match self {
            Self::Added => '+',
            Self::Removed => '-',
            Self::Changed => '~',
            Self::Same => ' ',
            Self::Failed => '!',
            Self::Unknown => '?',
        }
    }

    fn code(self) -> Option<u8> {
        match self {
            Self::Added => Some(32),
            Self::Removed | Self::Failed => Some(31),
            Self::Changed => Some(33),
            Self::Unknown => Some(35),
            Self::Same => None,
        }
    }
}

/// The most characters of a line. Longer lines are cut.
const MAX_LINE: usize = 400;

impl Style {
    /// A line for a terminal: cut, without control characters, in its colour.
    pub(super) fn line(self, indent: usize, sign: Sign, text: &str) -> String {
        let text: String = text.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
        let cut = match text.char_indices().nth(MAX_LINE) {
            Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
            None => text,
        };
        let line = format!("{:indent$}{} {cut}", "", sign.char());
        match sign.code().filter(|_| self.color) {
            Some(code) => format!("\x1b[{code}m{}\x1b[0m", line.trim_end()),
            None => line.trim_end().to_owned(),
        }
    }
}
