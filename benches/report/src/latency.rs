//! Waits, one line a case: quantities side by side.
use crate::compare::Comparison;

/// One case of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// As in `all regions, slow path`.
    pub case: String,
    /// One for each of the experiment's quantities.
    pub values: Vec<Option<f64>>,
    /// What gives this line again.
    pub command: String,
}

/// Cases with the same quantities.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The operation, such as `geo::paths`.
    pub operation: String,
    /// Each with its unit.
    pub quantities: Vec<(String, String)>,
    /// In the order in which they came.
    pub lines: Vec<Line>,
}

/// All experiments, in the order in which they came.
#[must_use]
pub fn experiments(comparisons: &[&Comparison]) -> Vec<Experiment> {
    let mut found: Vec<Experiment> = Vec::new();
    for comparison in comparisons {
        let of = &comparison.of;
        let place = found.iter().position(|one| one.operation == of.operation);
        let place = place.unwrap_or_else(|| {
            let operation = of.operation.clone();
            found.push(Experiment { operation, quantities: Vec::new(), lines: Vec::new() });
            found.len() - 1
        });
        if let (Some(experiment), Some(ours)) = (found.get_mut(place), comparison.ours()) {
            experiment.enter(comparison, ours.value);
        }
    }
    for experiment in &mut found {
        let columns = experiment.quantities.len();
        experiment.lines.iter_mut().for_each(|line| line.values.resize(columns, None));
    }
    found
}

impl Experiment {
    fn enter(&mut self, comparison: &Comparison, value: f64) {
        let of = &comparison.of;
        let quantity = (of.quantity.clone(), comparison.unit.clone());
        let column = self.quantities.iter().position(|one| *one == quantity).unwrap_or_else(|| {
            self.quantities.push(quantity);
            self.quantities.len() - 1
        });
        let line = self.lines.iter().position(|one| one.case == of.case).unwrap_or_else(|| {
            let (case, command) = (of.case.clone(), of.command.clone());
            self.lines.push(Line { case, values: Vec::new(), command });
            self.lines.len() - 1
        });
        if let Some(line) = self.lines.get_mut(line) {
            line.values.resize(line.values.len().max(column + 1), None);
            if let Some(cell) = line.values.get_mut(column) {
                *cell = Some(value);
            }
        }
    }

    /// Case and value of one quantity.
    pub fn column<'a>(&'a self, quantity: &str) -> impl Iterator<Item = (&'a str, f64)> {
        let column = self.quantities.iter().position(|(name, _)| name == quantity);
        let value = move |line: &'a Line| Some((line.case.as_str(), (*line.values.get(column?)?)?));
        self.lines.iter().filter_map(value)
    }
}
