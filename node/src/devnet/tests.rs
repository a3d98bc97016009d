//! How a run ends that cannot go on, and that it waits for memory.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use ::prefinal_beacon::Bls;
use ::prefinal_jolteon::Jolteon;
use prefinal_lab::Failure;
use prefinal_registry::Dispel;
use prefinal_validator::Event;
use prefinal_validator::setup::{self, Algorithm, Plan};
use prefinal_weighted_rounding::{Ratio, Stake};
use tokio::sync::watch;
use tokio::time::{Instant as Clock, timeout};

use super::soak;
use super::start::{Committee, Durable, start};
use crate::journal::JournalFolder;
use crate::party::Time;

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

#[tokio::test]
async fn parties_without_memory_begin_no_stage_and_go_on_when_there_is_some() {
    let plan = Plan::new(vec![Stake::new(1); 4], Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
    let (setup, identities) = setup::found(&plan, 1).unwrap();
    let shelf = JournalFolder::new(None, String::new());
    let parties: Vec<_> = identities.iter().map(|identity| identity.me).collect();
    let journals = shelf.journals(&parties).unwrap().of_parties;
    let durable = Durable { shelf, journals, used: false, archive: None, vuf: None };
    let time = Time { started: Clock::now(), before: Duration::ZERO };
    let (setup, away, (tell, memory)) = (Arc::new(setup), BTreeSet::new(), watch::channel(0));
    let committee = Committee { setup, identities, placement: None, durable, away, time };
    let mut run = start::<Bls, Dispel, ()>(committee, memory, &mut ()).await.unwrap();
    let is_final = |event: &Event<Bls>| matches!(event, Event::Finalized { .. });
    let begun = async { while !is_final(&run.noticed.recv().await.unwrap().event) {} };
    assert!(timeout(Duration::from_secs(1), begun).await.is_err(), "there is no memory");
    tell.send_replace(u64::MAX);
    let begun = async { while !is_final(&run.noticed.recv().await.unwrap().event) {} };
    timeout(Duration::from_secs(60), begun).await.expect("there is memory");
}
