//! How a run ends that cannot go on.

use std::ops::ControlFlow;
use std::time::Duration;

use ::prefinal_beacon::Bls;
use ::prefinal_jolteon::Jolteon;
use prefinal_lab::Failure;
use prefinal_validator::setup::{Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};
use tokio::time::timeout;

use super::soak;

#[tokio::test]
async fn a_run_whose_beacons_are_refused_ends_with_the_reason() {
    let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let shape = prefinal_fixture::of_no_stakes(&plan.shape);
    let plan = plan.with_shape(shape);
    let run = soak::run::<Bls, Jolteon>(&plan, |_| ControlFlow::Continue(()));
    let ended = timeout(Duration::from_secs(60), run).await.expect("in time");
    let Err(Failure::BadInput(why)) = ended else { panic!("{ended:?}") };
    assert!(why.contains("stops: the beacon refuses its configuration"), "{why}");
}
