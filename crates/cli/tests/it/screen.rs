//! The lines that a person sees on a terminal in the end, after all cursor moves.

/// Columns of a terminal that has no size of its own.
const COLUMNS: usize = 80;

#[derive(Debug, Default)]
pub(crate) struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    pub(crate) fn of(written: &str) -> Vec<String> {
        let mut screen = Self::default();
        let mut rest = written;
        while let Some(first) = rest.chars().next() {
            let sequence = rest.strip_prefix("\u{1b}[");
            let end = sequence.and_then(|own| own.find(|c: char| c.is_ascii_alphabetic()));
            if let (Some(sequence), Some(end)) = (sequence, end) {
                screen.act(&sequence[..end], &sequence[end..=end]);
                rest = &sequence[end + 1..];
            } else {
                screen.put(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        let lines = screen.rows.into_iter();
        let lines = lines.map(|row| row.into_iter().collect::<String>());
        lines.map(|line| line.trim_end().to_owned()).collect()
    }

    fn act(&mut self, number: &str, what: &str) {
        let count = number.parse().unwrap_or(1);
        match what {
            "A" => self.row = self.row.saturating_sub(count),
            "B" => self.row += count,
            "K" if number == "2" => self.line().clear(),
            "K" => {
                let column = self.column;
                self.line().truncate(column);
            }
            "J" => {
                let row = self.row;
                self.rows.truncate(row + 1);
            }
            _ => {}
        }
    }

    fn put(&mut self, character: char) {
        match character {
            '\n' => self.row += 1,
            '\r' => self.column = 0,
            other => {
                if self.column == COLUMNS {
                    (self.row, self.column) = (self.row + 1, 0);
                }
                let column = self.column;
                let line = self.line();
                line.resize(line.len().max(column + 1), ' ');
                line[column] = other;
                self.column += 1;
            }
        }
    }

    fn line(&mut self) -> &mut Vec<char> {
        let row = self.row;
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        &mut self.rows[row]
    }
}
