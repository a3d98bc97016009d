//! Lines over two labelled axes with a legend, as an SVG file.
//!
//! Elsewhere: what the lines mean ([`crate::waits`], [`crate::round`]).

use std::error::Error;
use std::ops::Range;

use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::failure::Failure;
use crate::output::{Sink, named};

/// Of the lines, in turn.
const COLOURS: [RGBColor; 8] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 69, 65),
    RGBColor(44, 140, 80),
    RGBColor(148, 103, 189),
    RGBColor(230, 140, 30),
    RGBColor(23, 160, 170),
    RGBColor(120, 90, 70),
    RGBColor(90, 90, 90),
];

/// How the horizontal axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly.
    Linear,
    /// Each mark is twice the one before.
    Doubling,
}

/// What one direction shows.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: &'static str,
    pub(crate) range: Range<f64>,
}

/// A curve and what the legend calls it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The picture.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) across: Axis,
    pub(crate) scale: Scale,
    pub(crate) up: Axis,
    pub(crate) legend: SeriesLabelPosition,
    pub(crate) lines: Vec<Line>,
}

impl Chart<'_> {
    /// Writes the picture to a file.
    ///
    /// # Errors
    /// What the file system or the plotting library says, with the file's name.
    pub(crate) fn draw(&self, sink: Sink) -> Result<(), Failure> {
        let across = self.across.range.clone();
        let mut svg = String::new();
        let drawn = match self.scale {
            Scale::Linear => self.draw_over(&mut svg, across),
            Scale::Doubling => self.draw_over(&mut svg, across.log_scale().base(2.0)),
        };
        drawn.map_err(|error| named(sink.path(), error))?;
        sink.write(svg.as_bytes())
    }

    fn draw_over<X>(&self, svg: &mut String, across: X) -> Result<(), Box<dyn Error + '_>>
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let root = SVGBackend::with_string(svg, (860, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(58)
            .build_cartesian_2d(across, self.up.range.clone())?;
        chart
            .configure_mesh()
            .x_desc(self.across.label)
            .y_desc(self.up.label)
            .light_line_style(WHITE)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .label_style(("sans-serif", 13))
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let style = colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), style))?
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        }
        chart
            .configure_series_labels()
            .position(self.legend.clone())
            .background_style(WHITE)
            .border_style(RGBColor(200, 200, 200))
            .label_font(("sans-serif", 14))
            .draw()?;
        root.present()?;
        Ok(())
    }
}
