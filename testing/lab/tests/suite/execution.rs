//! What the pipeline's experiment must show, whatever the figures.
use std::time::Duration;

use prefinal_execution::Switches;
use prefinal_lab::execution::{Experiment, Prices, Readers, ValuePath, Waiting};
use prefinal_sim::{Geography, Placement, ZAPTOS};

/// A tenth of the paper's committee, in the same regions.
fn small() -> Experiment {
    let placement = Placement::dealt(&Geography::aws().unwrap(), 10, &ZAPTOS, 1).unwrap();
    let experiment = Experiment::common_case(&placement, Prices::CORES_32, 1).unwrap();
    assert_eq!((experiment.validators.get(), experiment.full_nodes.get()), (10, 3));
    Experiment { warm_up: Duration::from_secs(1), counted: Duration::from_secs(3), ..experiment }
}

#[test]
fn the_parts_add_up_to_the_mean_latency() {
    for switches in [Switches::OFF, Switches::ON] {
        let point = small().run(5_000, switches).unwrap();
        let (mean, total) = (point.waits.mean().unwrap(), point.parts.total());
        assert!(mean.abs_diff(total) < Duration::from_micros(1), "{mean:?}, {total:?}");
        assert!((4_500..=5_500).contains(&point.per_second), "{}", point.per_second);
    }
}

#[test]
fn every_switch_helps_and_all_of_them_most() {
    let experiment = small();
    let median = |switches| {
        let point = experiment.run(8_000, switches).unwrap();
        point.waits.percentile(50).unwrap()
    };
    let [off, on] = [Switches::OFF, Switches::ON].map(median);
    let alone =
        |opt_execute, opt_commit| median(Switches { opt_execute, opt_commit, piggyback: false });
    let (executes, commits) = (alone(true, false), alone(false, true));
    assert!(on < executes && executes < off && commits < off, "{off:?} {executes:?} {commits:?}");
    assert_eq!(median(Switches { piggyback: true, ..Switches::OFF }), off, "nothing to carry");
}

#[test]
fn a_load_above_the_capacity_queues() {
    let experiment = small();
    let most = experiment.prices.most(experiment.block_interval);
    let capacity = most * 1000 / 150;
    let point = experiment.run(capacity * 2, Switches::ON).unwrap();
    assert!(point.per_second <= capacity + most, "{} of {capacity}", point.per_second);
    let easy = experiment.run(capacity / 2, Switches::ON).unwrap();
    assert!(point.waits.percentile(50) > easy.waits.percentile(50));
}

/// Nine blocks in ten rounds, of which one takes the time-out and the votes to give it up.
#[test]
fn a_round_of_a_leader_that_equivocates_costs_a_time_out_and_no_more() {
    let experiment = Experiment { counted: Duration::from_secs(6), ..small() };
    let faulty = Experiment { equivocating: 1, ..experiment.clone() };
    let capacity = experiment.prices.most(experiment.block_interval) * 1000 / 150;
    let run = |experiment: &Experiment, switches| experiment.run(capacity, switches).unwrap();
    for switches in [Switches::OFF, Switches::ON] {
        let (calm, slowed) = (run(&experiment, switches), run(&faulty, switches));
        let part = slowed.per_second * 100 / calm.per_second;
        assert!((45..=65).contains(&part), "{slowed:?} of {calm:?}");
    }
    let load = |switches| faulty.run(2_000, switches).unwrap().waits.percentile(50).unwrap();
    assert!(load(Switches::ON) < load(Switches::OFF));
    let third = Experiment { equivocating: 4, ..experiment };
    assert!(third.run(1000, Switches::ON).is_err());
}

#[test]
fn a_block_waits_for_the_value_as_far_as_it_is_read() {
    let experiment = small();
    let run = |percent, path, waiting| {
        let readers = Readers { percent, path, waiting };
        let point = Experiment { readers, ..experiment.clone() }.run(5_000, Switches::ON).unwrap();
        (point.parts.behind_order(), point.value)
    };
    let (none, value) = run(0, ValuePath::Fast, Waiting::Readers);
    assert_eq!(run(0, ValuePath::Slow, Waiting::Block).0, none, "nothing is read");
    let (few, _) = run(1, ValuePath::Fast, Waiting::Readers);
    let (many, _) = run(100, ValuePath::Fast, Waiting::Readers);
    let (block, _) = run(1, ValuePath::Fast, Waiting::Block);
    assert!(
        none + value < few && few < many && many == block,
        "{none:?} {few:?} {many:?} {block:?}"
    );
    let (late, slow) = run(1, ValuePath::Slow, Waiting::Readers);
    assert!(value < slow && few < late, "{value:?} {slow:?} {few:?} {late:?}");
}
