//! Aligned columns, coloured words, and text without control characters.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    #[default]
    Plain,
    /// With ANSI colours.
    Colours,
}

/// What a word means to the person who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Warning,
    Bad,
    Faint,
}

impl Style {
    /// Returns the text in the tone's colour.
    pub(super) fn paint(self, text: &str, tone: Tone) -> String {
        let code = match tone {
            _ if self == Self::Plain || text.is_empty() => return text.to_owned(),
            Tone::Plain => return text.to_owned(),
            Tone::Good => 32,
            Tone::Warning => 33,
            Tone::Bad => 31,
            Tone::Faint => 2,
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

pub(super) struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// A table whose columns are as wide as their widest cell.
pub(super) struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { rows: vec![head.into_iter().map(|title| Cell::new(title, Tone::Faint)).collect()] }
    }

    pub fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        self.rows.push(cells.into());
    }

    /// Whether the table has only its title row.
    pub fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Writes each row on a line, after the indent.
    pub fn text(&self, style: Style, indent: &str) -> String {
        let widths: Vec<usize> = self.widths();
        let mut out = String::new();
        for row in &self.rows {
            let mut line = indent.to_owned();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&style.paint(&cell.text, cell.tone));
                line.extend(std::iter::repeat_n(' ', width + 2 - cell.text.chars().count()));
            }
            out.push_str(line.trim_end());
            out.push('\n');
        }
        out
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.first().map_or(0, Vec::len);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.text.chars().count()).max().unwrap_or_default()
        };
        (0..columns).map(width).collect()
    }
}

/// Returns the text on one line, without characters that a terminal would obey.
pub fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_whitespace() || c.is_control() || is_format(c) { plain(c) } else { c }).collect()
}

fn plain(c: char) -> char {
    if c.is_whitespace() { ' ' } else { '\u{fffd}' }
}

/// Whether a character is invisible or changes the direction of the text after it.
fn is_format(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The beginning of a text, at most `most` characters of it.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_with_and_without_colours() {
        let mut table = Table::new(["A", "LONGER"]);
        table.row(["ünïcode".into(), Cell::new("ok", Tone::Good)]);
        table.row(["x".into(), "".into()]);
        assert_eq!(table.text(Style::Plain, ""), "A        LONGER\nünïcode  ok\nx\n");
        assert_eq!(
            table.text(Style::Colours, "  "),
            "  \u{1b}[2mA\u{1b}[0m        \u{1b}[2mLONGER\u{1b}[0m\n  ünïcode  \u{1b}[32mok\u{1b}[0m\n  x\n"
        );
    }

    #[test]
    fn nothing_reaches_the_terminal_that_it_would_obey() {
        assert_eq!(clean("a\u{1b}[2Jb\r\n\tc\u{202e}d\u{7}"), "a\u{fffd}[2Jb   c\u{fffd}d\u{fffd}");
        assert_eq!(clean("ünï 日本"), "ünï 日本");
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!((short("äöü", 3).as_str(), short("äöüß", 3).as_str()), ("äöü", "äöü…"));
    }
}
