//! Tables for the terminal, all alike: names to the left, numbers to the right.

use comfy_table::{CellAlignment, Row, Table, presets};

/// A table with these columns and rows.
#[must_use]
pub(crate) fn table<R: Into<Row>>(header: &[&str], rows: impl IntoIterator<Item = R>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY).set_header(header.to_vec()).add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
