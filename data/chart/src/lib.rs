//! Pictures as SVG: lines over two axes, bars beside names. On white, so that they can be read on any page.
//!
//! A picture is text; the caller writes it to a file.
#![forbid(unsafe_code)]

use std::error::Error;
use std::ops::Range;

use plotters::chart::SeriesLabelPosition;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Of lines, in turn.
const COLOURS: [RGBColor; 9] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 69, 65),
    RGBColor(44, 140, 80),
    RGBColor(148, 103, 189),
    RGBColor(230, 140, 30),
    RGBColor(23, 160, 170),
    RGBColor(120, 90, 70),
    RGBColor(90, 90, 90),
    RGBColor(200, 170, 20),
];
const GRID: RGBColor = RGBColor(225, 225, 225);
/// Of a picture with lines.
const WIDTH: u32 = 860;
/// Of the bars, whatever is beside them.
const BARS: u32 = 420;
const MARGIN: u32 = 14;
/// Between a bar and the words beside it.
const GAP: u32 = 8;
/// From one name of a legend beside a picture to the next.
const BETWEEN: u32 = 22;
/// Of ten letters at the size of labels, nearly.
const TEN_LETTERS: u32 = 66;

/// How an axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps are equal distances.
    Linear,
    /// By powers of a number, from two.
    Powers(u8),
}

/// What one direction shows.
#[derive(Clone, Debug)]
pub struct Axis<'a> {
    /// What it shows and in which unit, written along the axis.
    pub label: &'a str,
    /// From its first to its last value.
    pub range: Range<f64>,
    /// How it is divided.
    pub scale: Scale,
}

/// Where the names of lines stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legend {
    /// Inside, above on the right: for lines that fall.
    UpperRight,
    /// Inside, below on the right: for lines that rise.
    LowerRight,
    /// Beside the picture: for lines that cross every corner.
    Beside,
}

/// A picture cannot be drawn, in the words of the library that draws.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DrawError(String);

/// A curve and what the legend calls it.
#[derive(Clone, Debug)]
pub struct Line {
    /// The name in the legend.
    pub name: String,
    /// The points of the curve, at least one.
    pub points: Vec<(f64, f64)>,
}

/// Lines over two axes.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    /// The title above the chart.
    pub title: &'a str,
    /// The axis that runs from left to right.
    pub across: Axis<'a>,
    /// The axis that runs from bottom to top.
    pub up: Axis<'a>,
    /// Where the lines are named.
    pub legend: Legend,
    /// Whether the points themselves are drawn too.
    pub dots: bool,
    /// In the legend's order.
    pub lines: Vec<Line>,
}

/// One bar of [`Bars`].
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name beside the bar.
    pub name: String,
    /// The value, which is the bar's length.
    pub value: f64,
    /// The text at the bar's end.
    pub label: String,
    /// A thin line up to here, if there is one.
    pub reach: Option<f64>,
    /// Which of the colours.
    pub colour: usize,
}

/// Bars beside names, from `from` to each value.
#[derive(Clone, Debug)]
pub struct Bars<'a> {
    /// The title above the chart.
    pub title: &'a str,
    /// Of the horizontal axis.
    pub across: &'a str,
    /// Bars over powers begin at one, linear ones at zero.
    pub scale: Scale,
    /// From above to below.
    pub bars: Vec<Bar>,
}

/// One bar of [`Stacks`].
#[derive(Clone, Debug)]
pub struct Stack {
    /// The name beside the bar.
    pub name: String,
    /// How long each part is, in the order of [`Stacks::parts`].
    pub parts: Vec<f64>,
}

/// Bars that are made of the same parts, end to end.
#[derive(Clone, Debug)]
pub struct Stacks<'a> {
    /// The title above the chart.
    pub title: &'a str,
    /// Of the horizontal axis.
    pub across: &'a str,
    /// What the parts are, from left to right.
    pub parts: &'a [&'a str],
    /// From above to below.
    pub bars: Vec<Stack>,
}

type Outcome = Result<(), Box<dyn Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What bars lie in.
type Plane<'a, X> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, RangedCoordf64>>;

/// The least and the greatest value of these lines in one direction.
#[must_use]
pub fn ends(lines: &[Line], of: fn(&(f64, f64)) -> f64) -> Range<f64> {
    extremes(lines.iter().flat_map(|line| &line.points).map(of))
}

impl Lines<'_> {
    /// Draws the lines and their axes as the text of an SVG file.
    ///
    /// # Errors
    /// What the plotting library says.
    pub fn svg(&self) -> Result<String, DrawError> {
        let (across, up) = (self.across.range.clone(), self.up.range.clone());
        let powers = |range: &Range<f64>, of: u8| range.clone().log_scale().base(of.into());
        drawn(|svg| match (self.across.scale, self.up.scale) {
            (Scale::Linear, Scale::Linear) => self.draw_over(svg, across, up),
            (Scale::Powers(of), Scale::Linear) => self.draw_over(svg, powers(&across, of), up),
            (Scale::Linear, Scale::Powers(of)) => self.draw_over(svg, across, powers(&up, of)),
            (Scale::Powers(of), Scale::Powers(other)) => {
                self.draw_over(svg, powers(&across, of), powers(&up, other))
            }
        })
    }

    fn draw_over<X, Y>(&self, svg: &mut String, across: X, up: Y) -> Outcome
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let root = SVGBackend::with_string(svg, (WIDTH, 500)).into_drawing_area();
        root.fill(&WHITE)?;
        let beside = self.legend == Legend::Beside;
        let names = self.lines.iter().map(|line| line.name.as_str());
        let legend = if beside { 38 + longest(names) } else { 0 };
        let (plot, names) = root.split_horizontally(WIDTH.saturating_sub(legend));
        let mut chart = ChartBuilder::on(&plot)
            .caption(self.title, ("sans-serif", 18))
            .margin(MARGIN)
            .x_label_area_size(44)
            .y_label_area_size(70)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .x_desc(self.across.label)
            .y_desc(self.up.label)
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .x_label_formatter(&|value| short(*value))
            .y_label_formatter(&|value| short(*value))
            .label_style(("sans-serif", 13))
            .draw()?;
        for (line, colour) in self.lines.iter().zip(COLOURS.iter().cycle()) {
            let points = || line.points.iter().copied();
            let style = colour.stroke_width(2);
            chart
                .draw_series(LineSeries::new(points(), style))?
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            let dots = points().filter(|_| self.dots);
            chart.draw_series(dots.map(|point| Circle::new(point, 3, colour.filled())))?;
        }
        if beside {
            legend_beside(&names, self.lines.iter().map(|line| line.name.as_str()))?;
        } else {
            let lower = self.legend == Legend::LowerRight;
            let corner = if lower {
                SeriesLabelPosition::LowerRight
            } else {
                SeriesLabelPosition::UpperRight
            };
            chart
                .configure_series_labels()
                .position(corner)
                .background_style(WHITE)
                .border_style(RGBColor(200, 200, 200))
                .label_font(("sans-serif", 14))
                .draw()?;
        }
        root.present()?;
        Ok(())
    }
}

impl Bars<'_> {
    /// Draws the bars and their names as the text of an SVG file.
    ///
    /// # Errors
    /// What the plotting library says.
    pub fn svg(&self) -> Result<String, DrawError> {
        let ends_of = |bar: &Bar| [bar.value, bar.reach.unwrap_or(bar.value)];
        let Range { start: low, end: high } = extremes(self.bars.iter().flat_map(ends_of));
        drawn(|svg| match self.scale {
            Scale::Linear => self.draw_over(svg, 0.0..high * 1.04, 0.0),
            Scale::Powers(of) => {
                let across = low.min(1.0) / 1.6..high.max(1.0) * 1.2;
                let across = across.log_scale().base(of.into());
                self.draw_over(svg, across, 1.0)
            }
        })
    }

    fn draw_over<X>(&self, svg: &mut String, across: X, from: f64) -> Outcome
    where
        X: AsRangedCoord<Value = f64>,
        X::CoordDescType: ValueFormatter<f64>,
    {
        let count = u32::try_from(self.bars.len()).unwrap_or(u32::MAX);
        // No word is cut: names end where the bars begin, and the longest bar may have the longest label.
        let names = MARGIN + longest(self.bars.iter().map(|bar| bar.name.as_str()));
        let labels = MARGIN + longest(self.bars.iter().map(|bar| bar.label.as_str()));
        let size = (names + BARS + labels, 110 + 26 * count);
        let root = SVGBackend::with_string(svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        let top = f64::from(count);
        let mut chart = ChartBuilder::on(&root)
            .caption(self.title, ("sans-serif", 18))
            .margin(MARGIN)
            .x_label_area_size(44)
            .margin_left(names)
            .margin_right(labels)
            .build_cartesian_2d(across, Range::<f64> { start: 0.0, end: top })?;
        mesh_below(&mut chart, self.across)?;
        let gap = i32::try_from(GAP)?;
        let heights = || (0..count).map(|place| top - f64::from(place) - 0.5);
        let colour = |bar: &Bar| *COLOURS.get(bar.colour % COLOURS.len()).unwrap_or(&BLACK);
        for (bar, y) in self.bars.iter().zip(heights()) {
            let corners = [(from, y - 0.32), (bar.value, y + 0.32)];
            chart.draw_series([Rectangle::new(corners, colour(bar).filled())])?;
            let end = bar.reach.unwrap_or(bar.value);
            let reach = PathElement::new([(bar.value, y), (end, y)], colour(bar).stroke_width(2));
            chart.draw_series([reach])?;
            let right = chart.backend_coord(&(end.max(from), y));
            root.draw(&Text::new(bar.label.clone(), (right.0 + gap, right.1), label(HPos::Left)))?;
            let left = chart.plotting_area().get_base_pixel();
            let beside = (left.0 - gap, right.1);
            root.draw(&Text::new(bar.name.clone(), beside, label(HPos::Right)))?;
        }
        let one = PathElement::new([(from, 0.0), (from, top)], BLACK.stroke_width(1));
        chart.draw_series([one])?;
        root.present()?;
        Ok(())
    }
}

impl Stacks<'_> {
    /// Draws the bars, their names and what their parts are as the text of an SVG file.
    ///
    /// # Errors
    /// What the plotting library says.
    pub fn svg(&self) -> Result<String, DrawError> {
        drawn(|svg| self.draw(svg))
    }

    fn draw(&self, svg: &mut String) -> Outcome {
        let count = u32::try_from(self.bars.len()).unwrap_or(u32::MAX);
        let names = MARGIN + longest(self.bars.iter().map(|bar| bar.name.as_str()));
        let legend = 38 + longest(self.parts.iter().copied());
        let high = self.bars.iter().map(|bar| bar.parts.iter().sum()).fold(0.0, f64::max);
        let height = (110 + 26 * count).max(80 + BETWEEN * u32::try_from(self.parts.len())?);
        let root = SVGBackend::with_string(svg, (names + BARS + legend, height));
        let root = root.into_drawing_area();
        root.fill(&WHITE)?;
        let (plot, beside) = root.split_horizontally(names + BARS);
        let top = f64::from(count);
        let mut chart = ChartBuilder::on(&plot)
            .caption(self.title, ("sans-serif", 18))
            .margin(MARGIN)
            .x_label_area_size(44)
            .margin_left(names)
            .build_cartesian_2d(0.0..high * 1.04, Range::<f64> { start: 0.0, end: top })?;
        mesh_below(&mut chart, self.across)?;
        let heights = (0..count).map(|place| top - f64::from(place) - 0.5);
        for (bar, y) in self.bars.iter().zip(heights) {
            let mut from = 0.0;
            for (part, colour) in bar.parts.iter().zip(COLOURS.iter().cycle()) {
                let corners = [(from, y - 0.32), (from + part, y + 0.32)];
                chart.draw_series([Rectangle::new(corners, colour.filled())])?;
                from += part;
            }
            let (left, height) = chart.backend_coord(&(0.0, y));
            let at = (left - i32::try_from(GAP)?, height);
            plot.draw(&Text::new(bar.name.clone(), at, label(HPos::Right)))?;
        }
        legend_beside(&beside, self.parts.iter().copied())?;
        root.present()?;
        Ok(())
    }
}

/// One axis, along which bars lie.
fn mesh_below<X>(chart: &mut Plane<'_, X>, across: &str) -> Outcome
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_desc(across)
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .x_label_formatter(&|value| short(*value))
        .label_style(("sans-serif", 13))
        .draw()?;
    Ok(())
}

/// Names of lines or parts below each other, each behind a piece of its colour.
fn legend_beside<'a>(area: &Area<'_>, names: impl Iterator<Item = &'a str>) -> Outcome {
    for ((name, colour), place) in names.zip(COLOURS.iter().cycle()).zip(0..) {
        let y = 60 + i32::try_from(BETWEEN)? * place;
        area.draw(&PathElement::new([(2, y), (22, y)], colour.stroke_width(3)))?;
        area.draw(&Text::new(name.to_owned(), (28, y), label(HPos::Left)))?;
    }
    Ok(())
}

fn label(side: HPos) -> TextStyle<'static> {
    let style = TextStyle::from(("sans-serif", 13).into_font());
    style.pos(Pos::new(side, VPos::Center))
}

fn drawn(draw: impl FnOnce(&mut String) -> Outcome) -> Result<String, DrawError> {
    let mut svg = String::new();
    match draw(&mut svg) {
        Ok(()) => Ok(svg),
        Err(error) => Err(DrawError(error.to_string())),
    }
}

fn extremes(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    low..values.fold(low, f64::max)
}

/// A mark of an axis.
fn short(value: f64) -> String {
    let text = if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.3}") };
    let trimmed =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    trimmed.to_owned()
}

/// Room for any of these words and the gap before it.
fn longest<'a>(words: impl Iterator<Item = &'a str>) -> u32 {
    let letters = words.map(|word| word.chars().count()).max().unwrap_or(0);
    let letters = u32::from(u16::try_from(letters).unwrap_or(u16::MAX));
    GAP + (letters * TEN_LETTERS).div_ceil(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of this attribute.
    fn numbers<'a>(svg: &'a str, attribute: &'a str) -> impl Iterator<Item = f64> + 'a {
        svg.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap().parse().unwrap())
    }

    #[test]
    fn no_word_beside_a_bar_is_cut() {
        let bar = |value: f64, name: &str, label: &str| Bar {
            name: name.to_owned(),
            value,
            label: label.to_owned(),
            reach: None,
            colour: 0,
        };
        let long = "another library, of which the name is long";
        for scale in [Scale::Linear, Scale::Powers(2)] {
            let bars = vec![bar(1.0, "a", "b"), bar(900.0, long, "c"), bar(1000.0, "d", long)];
            let svg = Bars { title: "bars", across: "ms", scale, bars }.svg().unwrap();
            let width = numbers(&svg, "<svg width=\"").next().unwrap();
            let font = numbers(&svg, "font-size=\"").fold(f64::INFINITY, f64::min);
            let mut seen = 0;
            for text in svg.split("<text ").skip(1).filter(|text| text.contains(long)) {
                let at = numbers(text, "x=\"").next().unwrap();
                // Letters are half as wide as high, on an average.
                let room = if text.contains("\"end\"") { at } else { width - at };
                assert!(
                    room >= font * 0.5 * f64::from(u8::try_from(long.len()).unwrap()),
                    "{text}"
                );
                seen += 1;
            }
            assert_eq!(seen, 2);
        }
    }

    #[test]
    fn parts_stand_end_to_end() {
        let stack =
            |name: &str, parts: [f64; 2]| Stack { name: name.to_owned(), parts: parts.into() };
        let bars = vec![stack("all off", [30.0, 10.0]), stack("all on", [20.0, 0.0])];
        let parts = ["order", "execute"];
        let svg = Stacks { title: "stages", across: "ms", parts: &parts, bars }.svg().unwrap();
        let places = |colour: &str| -> Vec<[f64; 2]> {
            let bars = svg.split("<rect ").skip(1).map(|rest| rest.split("/>").next().unwrap());
            let edges = |bar: &str| ["x=\"", "width=\""].map(|of| numbers(bar, of).next().unwrap());
            bars.filter(|bar| bar.contains(colour)).map(edges).collect()
        };
        let [first, second] = [&COLOURS[0], &COLOURS[1]]
            .map(|RGBColor(r, g, b)| places(&format!("#{r:02X}{g:02X}{b:02X}")));
        assert_eq!((first.len(), second.len()), (2, 2), "{svg}");
        // A pixel is what rounding may take.
        assert!((first[0][0] + first[0][1] - second[0][0]).abs() <= 1.0, "{first:?} {second:?}");
        assert!((first[0][1] - 3.0 * second[0][1]).abs() <= 3.0, "{first:?} {second:?}");
        assert!(second[1][1] <= 1.0 && parts.iter().all(|part| svg.contains(part)), "{svg}");
    }
}
