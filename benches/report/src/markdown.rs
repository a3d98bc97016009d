//! Tables, and how figures are written.
use std::fmt::Write;

/// A table of Markdown. Cells of the columns behind the first `left` are aligned to the right.
#[must_use]
pub fn table(header: &[&str], left: usize, lines: &[Vec<String>]) -> String {
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = String>| {
        text.push('|');
        cells.for_each(|cell| text.push_str(&format!(" {cell} |")));
        text.push('\n');
    };
    line(&mut header.iter().map(|&cell| cell.to_owned()));
    line(&mut (0..header.len()).map(|at| if at < left { "---" } else { "---:" }.to_owned()));
    for cells in lines {
        line(&mut cells.iter().map(|cell| cell.replace('|', "\\|")));
    }
    text
}

/// A figure with its unit, to three digits; whole numbers of bytes and the like in full, grouped.
#[must_use]
pub fn figure(value: f64, unit: &str) -> String {
    if unit == "ms" && value > 0.0 && value < 0.1 {
        return format!("{} µs", three_digits(value * 1e3));
    }
    if unit == "ms" && value >= 10_000.0 {
        return format!("{} s", three_digits(value / 1e3));
    }
    match unit {
        "ms" | "MiB" => format!("{} {unit}", three_digits(value)),
        "%" => format!("{value:.2} %"),
        _ if value.fract() == 0.0 => format!("{} {unit}", grouped(value)),
        _ => format!("{} {unit}", three_digits(value)),
    }
}

/// A ratio to two places.
#[must_use]
pub fn ratio(value: f64) -> String {
    if value < 0.095 { format!("{value:.3}") } else { format!("{value:.2}") }
}

/// The cell of what may be missing.
#[must_use]
pub fn or_dash(cell: Option<String>) -> String {
    cell.unwrap_or_else(|| "–".to_owned())
}

fn three_digits(value: f64) -> String {
    if value >= 999.5 {
        return grouped(value.round());
    }
    let whole = if value >= 1.0 { value.log10().floor() } else { 0.0 };
    // Below one three places are kept: more is noise.
    let places = if value >= 99.95 {
        0
    } else if value >= 9.995 || whole >= 1.0 {
        1
    } else if value >= 1.0 {
        2
    } else {
        3
    };
    format!("{value:.places$}")
}

/// Thousands apart, as in `95 690`.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        let _ = write!(text, "{digit}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        let cases = [
            (0.000_48, "ms", "0.480 µs"),
            (0.0481, "ms", "48.1 µs"),
            (0.1174, "ms", "0.117 ms"),
            (1.4402, "ms", "1.44 ms"),
            (9.996, "ms", "10.0 ms"),
            (26.04, "ms", "26.0 ms"),
            (99.96, "ms", "100 ms"),
            (8110.0, "ms", "8\u{202f}110 ms"),
            (31_600.0, "ms", "31.6 s"),
            (0.0, "ms", "0.000 ms"),
            (95_690.0, "bytes", "95\u{202f}690 bytes"),
            (2.5, "MiB", "2.50 MiB"),
            (81.353, "%", "81.35 %"),
        ];
        for (value, unit, expected) in cases {
            assert_eq!(figure(value, unit), expected);
        }
        assert_eq!((ratio(1.049), ratio(0.0303)), ("1.05".to_owned(), "0.030".to_owned()));
    }

    #[test]
    fn a_bar_in_a_cell_is_no_border() {
        let text = table(&["a", "b"], 1, &[vec!["x|y".to_owned(), "1".to_owned()]]);
        assert_eq!(text, "| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n");
    }
}
