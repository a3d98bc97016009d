//! What is shown of an execution.
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::time::Duration;

use prefinal_beacon::Path;
use prefinal_lab::faults::{Chance, Fault, Loss, Seat, Vice, Window};
use prefinal_lab::observe::{CostModel, Event, Order, observe};
use prefinal_lab::weighing::Weighing;
use prefinal_protocol::Instant;
use prefinal_registry::{engine, scheme};
use prefinal_validator::setup::Algorithm;
use prefinal_weighted_rounding::{Ratio, Stake};

fn events(order: &Order) -> Vec<Event> {
    let mut all = Vec::new();
    observe(order, &mut |events, _| {
        all.extend(events);
        ControlFlow::Continue(())
    })
    .expect("good order");
    all
}

fn order(algorithm: Algorithm) -> Order {
    Order {
        stakes: [4, 3, 2, 2, 1].map(Stake::new).to_vec(),
        regions: vec!["all".to_owned()],
        scheme: scheme::Name::Bls,
        engine: engine::Name::Jolteon,
        weighing: Weighing::default(),
        round_trips: None,
        faults: Vec::new(),
        algorithm,
        fast: Ratio::FIVE_SIXTHS,
        slots: 3,
        seed: 7,
        jitter: 5,
        interface: None,
        connection: None,
        cores: NonZeroU32::MIN,
        charge: CostModel::Nothing,
        messages: true,
    }
}

#[test]
fn a_seed_gives_the_same_events_in_their_order() {
    let fast = events(&order(Algorithm::Fast));
    assert_eq!(fast, events(&order(Algorithm::Fast)));
    assert!(fast.is_sorted_by_key(|event| event.at));
    let count = |kind| fast.iter().filter(|event| event.kind == kind).count();
    assert!(count("revealed") >= 15 && count("finalized") >= 15 && count("partial") > 0);
    let other = Order { seed: 8, ..order(Algorithm::Fast) };
    assert_ne!(fast, events(&other));
    // Nobody gets a partial before it was sent.
    for partial in fast.iter().filter(|event| event.kind == "partial") {
        let sent = fast.iter().any(|event| {
            let same = (event.slot, event.path) == (partial.slot, partial.path);
            let sender = Some(event.party) == partial.from;
            event.kind == "released" && same && sender && event.at <= partial.at
        });
        assert!(sent, "{partial:?}");
    }
    let slow = events(&order(Algorithm::Slow));
    assert!(slow.iter().all(|event| event.path != Some(Path::Fast)));
}

#[test]
fn the_caller_may_end_a_run() {
    let order = Order { slots: u64::MAX, ..order(Algorithm::Fast) };
    let mut portions = 0;
    let ended = observe(&order, &mut |_, _| {
        portions += 1;
        ControlFlow::Break(())
    });
    assert!(ended.is_ok() && portions == 1);
}

#[test]
fn faults_are_played_and_honest_parties_end_with_the_slots_times() {
    // It holds shares, and a quarter of the stake.
    let liar = Seat::new(1);
    let loss = Loss { window: Window::ALWAYS, chance: Chance::percent(1) };
    let faults = vec![Fault::Loss(loss), Fault::Byzantine(liar, Vice::Wrong)];
    let order = Order { faults, ..order(Algorithm::Fast) };
    let mut accused = Vec::new();
    let times = observe(&order, &mut |events, _| {
        let of = events.into_iter().filter(|event| event.kind == "accused");
        accused.extend(of.map(|event| event.from));
        ControlFlow::Continue(())
    });
    let times = times.expect("less than a third is faulty");
    assert!(times.len() >= 3 && times.iter().all(|one| one.finalized <= one.reconstructed));
    assert!(!accused.is_empty() && accused.iter().all(|from| *from == Some(liar.get())));
    let unknown = Fault::Byzantine(Seat::new(5), Vice::Wrong);
    // It is a crash, and has a kind for itself.
    let (at, back) = (Instant::START, Duration::from_secs(1));
    let forgets = Fault::Byzantine(liar, Vice::Forget { at, back });
    for fault in [unknown, forgets] {
        let order = Order { faults: vec![fault], ..order.clone() };
        assert!(observe(&order, &mut |_, _| ControlFlow::Continue(())).is_err());
    }
}

#[test]
fn twins_sign_for_one_party_what_contradicts_itself() {
    let side = [Seat::new(1)].into();
    let faults = vec![Fault::Byzantine(Seat::new(0), Vice::Twins { side })];
    let equal = [1; 4].map(Stake::new).to_vec();
    let order = |engine| Order {
        engine,
        faults: faults.clone(),
        stakes: equal.clone(),
        slots: 6,
        ..order(Algorithm::Fast)
    };
    // On Malachite others show two votes of one party.
    let shown = events(&order(engine::Name::Malachite));
    let accused: Vec<_> = shown.iter().filter(|event| event.kind == "accused").collect();
    assert!(!accused.is_empty() && accused.iter().all(|event| event.from == Some(0)));
    let events = events(&order(engine::Name::Jolteon));
    assert!(events.iter().all(|event| event.party < 4));
    for honest in 1..4 {
        let values = events.iter().filter(|e| (e.kind, e.party) == ("revealed", honest));
        assert!(values.count() >= 6);
    }
}
