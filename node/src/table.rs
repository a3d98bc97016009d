//! Tables for the terminal, all alike: names to the left, numbers to the right, and no wider than the
//! terminal is.

use comfy_table::{CellAlignment, ContentArrangement, Row, Table, presets};

/// How wide a table is at most where nobody says how wide the terminal is.
const WIDTH: u16 = 80;

/// A table with these columns and rows.
#[must_use]
pub(crate) fn table<R: Into<Row>>(header: &[&str], rows: impl IntoIterator<Item = R>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header.to_vec()).add_rows(rows);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(WIDTH);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let header =
            ["what is counted, in words that fill a line", "reconstructs from (guaranteed)"];
        let wide = table(&[&header[..], &header, &header].concat(), [["100.00 %"; 6]]);
        assert!(wide.lines().all(|line| line.chars().count() <= usize::from(WIDTH)), "{wide}");
        assert!(
            wide.to_string().matches("100.00 %").count() == 6,
            "numbers are not broken: {wide}"
        );
    }
}
