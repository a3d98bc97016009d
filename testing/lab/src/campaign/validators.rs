//! Whole validators on Jolteon or Trantor, with real keys. Key generation ran before, and an execution
//! continues from its disks.

use crate::local::Imperfections;
use crate::priced::Priced;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_engine::Engine;
use prefinal_sim::Seat;

use super::board::Board;
use super::corrupt::{Committees, Conspiracy, Corruptible};
use super::draw::Draw;
use super::execution::{
    Bounds, ExecutionReport, Finding, MemoryUse, Place, Playable, ROUND, Stage, WORK,
};
use super::forge::Forge;
use super::vice::Junk;
use crate::check::Trial;
use crate::committee::{Knowledge, Observation, Prices, Subject, ValidatorHost};
use crate::failure::Failure;
use crate::legible::Act;
use crate::seating::Seating;
use prefinal_validator::setup::{Algorithm, FIRST, Setup};
use prefinal_validator::{Input, Message, Record, Validator};

/// Rounds double their time while they fail, so that a party may be far behind.
const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(300), events: 2_000_000 };

impl<S: Forge + Priced, E: Corruptible + Subject> Playable for ValidatorHost<S, E>
where
    <E as Engine>::Message: Junk,
{
    type Scheme = S;

    fn seating(&self) -> &Seating {
        self.seating()
    }

    fn kept(machine: &Validator<S, E>) -> Option<MemoryUse> {
        machine.beacon().map(MemoryUse::by)
    }

    fn place(event: &Observation<S>) -> Option<Place> {
        Some(match event {
            Observation::Ready { epoch: FIRST, first, .. } => Place::Ready(*first),
            Observation::Finalized(slot, block) => Place::Finalized(*slot, *block),
            Observation::Revealed(reveal) => Place::Revealed(reveal.slot),
            _ => return None,
        })
    }

    fn finding(event: &Observation<S>) -> Option<Finding<'_>> {
        match event {
            Observation::Accused(party, fault) => Some(Finding::Accused(*party, fault)),
            Observation::Act(_, Act::GaveUp(_)) => Some(Finding::GaveUp),
            Observation::Ready { epoch, .. } if *epoch > FIRST => Some(Finding::Handover),
            _ => None,
        }
    }

    fn whisper(from: Party, bytes: Vec<u8>) -> Input<S, E> {
        match E::passed_on(bytes.clone()) {
            Some(message) => Input::Received { from, message: Message::Engine(FIRST, message) },
            None => Input::Submit(bytes),
        }
    }

    fn broken(&self) -> Option<String> {
        self.check_halted().err().map(|failure| failure.to_string())
    }
}

/// Plays one execution. What is known of the board's values goes in and comes out.
pub(super) fn play<S: Forge + Priced, E: Corruptible + Subject>(
    seed: u64,
    draw: &Draw,
    board: &Board<S, E>,
    knowledge: Knowledge<S, E>,
) -> Result<(ExecutionReport, Knowledge<S, E>), Failure>
where
    <E as Engine>::Message: Junk,
{
    play_as(seed, draw, board, (board.ground.setup().clone(), knowledge))
}

fn play_as<S: Forge + Priced, E: Corruptible + Subject>(
    seed: u64,
    draw: &Draw,
    board: &Board<S, E>,
    (mut setup, knowledge): (Setup, Knowledge<S, E>),
) -> Result<(ExecutionReport, Knowledge<S, E>), Failure>
where
    <E as Engine>::Message: Junk,
{
    setup.fast_after = if board.algorithm == Algorithm::Slow { u64::MAX } else { 0 };
    setup.timeout = ROUND;
    let mut host = ValidatorHost::<S, E>::new(Arc::clone(&board.ground), setup, Prices::Flat(WORK))
        .map_err(Failure::bad_input)?
        .knowing(Some(knowledge))
        .with_twins(draw.twins());
    for (number, disk) in (0..).zip(&board.disks) {
        // Slots of a fast engine may be final before the last party has its keys.
        if disk.iter().any(is_of_beacon) {
            for seat in host.seating().clone().seats_of(Party::new(number)) {
                host.has_lived(seat);
            }
        }
    }
    let seating = host.seating().clone();
    let conspiracy = Conspiracy::<E>::new(
        (seed, draw),
        board.ground.identities(),
        seating.clone(),
        Committees::of(board.committees.clone()),
        None,
    );
    let told = Rc::clone(&conspiracy);
    host.watch = Some(Box::new(move |_, at, from, message| {
        if let Message::Engine(epoch, message) = message {
            told.hear(seating.party(at), seating.party(from), (*epoch, message));
        }
    }));
    let mut stage = Stage::new(seed, draw, host, BOUNDS)?;
    stage.corrupt_engines(|party, tally| E::rules(&conspiracy, party, tally))?;
    if E::LOADED {
        stage.load().map_err(Failure::bad_input)?;
    }
    for seat in (0..stage.simulation.host().seats()).map(Seat::new) {
        let disk = board.disks.get(stage.simulation.host().party(seat).index());
        let disk = disk.into_iter().flatten().cloned();
        stage.simulation.load(seat, disk).map_err(Failure::bad_input)?;
    }
    let outcome = stage.run().and_then(|()| {
        let host = stage.simulation.host();
        let crashed = stage.simulation.crashed().map(|seat| host.party(seat)).collect();
        let trial = Trial {
            ground: &board.ground,
            setups: &host.setups(),
            parties: &|seat| host.party(seat),
            faulty: stage.faulty(),
            crashed: &crashed,
            imperfections: Imperfections::new(host.prices(), stage.simulation.network()),
            before: &board.before,
            notes: stage.simulation.notes(),
        };
        trial.check()
    });
    let played = stage.played(outcome);
    let knowledge = stage.simulation.into_host().into_knowledge().unwrap_or_default();
    Ok((played, knowledge.for_next_run()))
}

const fn is_of_beacon<R>(record: &Record<R>) -> bool {
    use prefinal_validator::participant::Record::{Abandoned, Beacon};
    matches!(record, Record::Participant(Beacon(..) | Abandoned(_)))
}

#[cfg(test)]
mod tests {
    use ::prefinal_beacon::Bls;
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::super::board::Layout;
    use super::super::tally::Kind;
    use super::super::vice::Vice;
    use super::*;
    use crate::check::{Summary, Violation};
    use prefinal_jolteon::Jolteon;
    use prefinal_protocol::Instant;
    use prefinal_trantor::Trantor;

    const FOUR: [u128; 4] = [1; 4];

    fn board() -> Board<Bls> {
        let stakes = FOUR.map(Stake::new).to_vec();
        let layout = Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        Board::new(&layout).unwrap()
    }

    /// Equal links, nothing but these vices.
    fn draw(vices: impl IntoIterator<Item = (u32, Vice)>) -> Draw {
        let vices = vices.into_iter().map(|(party, vice)| (Party::new(party), vec![vice]));
        Draw {
            board: 0,
            vices: vices.collect(),
            network: prefinal_sim::Network::constant(Duration::from_millis(40)),
            lossy: false,
            partitions: 0,
            crashes: Vec::new(),
            stumbles: Vec::new(),
            leaps: Vec::new(),
            heals: Instant::at(Duration::from_secs(2)),
        }
    }

    fn outcome(draw: &Draw) -> Result<Summary, Violation> {
        play(1, draw, &board(), Knowledge::default()).unwrap().0.outcome
    }

    fn twins(side: &[u32]) -> Vice {
        Vice::Twins { side: side.iter().copied().map(Seat::new).collect() }
    }

    #[test]
    fn twins_of_a_third_change_nothing_and_twins_of_half_break_agreement() {
        assert!(outcome(&draw([(0, twins(&[1]))])).is_ok());
        // Each of the two others, with the half of both twins that talks to it, is a quorum.
        let split = draw([(0, twins(&[1, 3])), (3, twins(&[0, 1]))]);
        let violation = outcome(&split).unwrap_err();
        assert!(matches!(violation, Violation::Agreement(_)), "{violation}");
    }

    #[test]
    fn silence_of_a_third_changes_nothing_and_silence_of_half_stops_everybody() {
        let mute = |party| (party, Vice::Mute { from: Instant::START });
        assert!(outcome(&draw([mute(0)])).is_ok());
        let violation = outcome(&draw([mute(0), mute(1)])).unwrap_err();
        assert!(matches!(violation, Violation::Liveness(_)), "{violation}");
    }

    #[test]
    fn refused_beacons_are_a_violation_and_make_no_board() {
        let stakes = [40, 30, 20, 10].map(Stake::new).to_vec();
        let mut layout = Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let board = Board::<Bls>::new(&layout).unwrap();
        let setup = board.ground.setup();
        let setup = setup.with_shape(prefinal_fixture::of_no_stakes(setup.keygen.shape())).unwrap();
        let shape = setup.keygen.shape().clone();
        let violation = play_as(1, &draw([]), &board, (setup, Knowledge::default()));
        let violation = violation.unwrap().0.outcome.unwrap_err();
        let Violation::Liveness(why) = violation else { unreachable!("{violation}") };
        assert!(why.contains("the beacon refuses its configuration"), "{why}");
        layout.plan.shape = shape;
        let failure = Board::<Bls>::new(&layout).map(drop).unwrap_err();
        assert!(matches!(failure, Failure::BadInput(_)), "{failure}");
    }

    /// The last party leaves, and one that has waited joins.
    fn a_committee_hands_over_on_the_way<E: Corruptible + Subject>()
    where
        <E as Engine>::Message: Junk,
    {
        let stakes = FOUR.map(Stake::new).to_vec();
        let layout = Layout::changing(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        let board = Board::<Bls, E>::new(&layout).unwrap();
        let long = Draw { heals: Instant::at(Duration::from_secs(6)), ..draw([]) };
        let (played, _) = play(1, &long, &board, Knowledge::default()).unwrap();
        assert!(played.outcome.is_ok(), "{:?}", played.outcome);
        // Those that stay, and the one that joins.
        let through = played.tally.count(Kind::Handover).times;
        assert!(through >= 4, "{through}");
    }

    #[test]
    fn a_committee_hands_over_on_jolteon() {
        a_committee_hands_over_on_the_way::<Jolteon>();
    }

    #[test]
    fn a_committee_hands_over_on_trantor() {
        a_committee_hands_over_on_the_way::<Trantor>();
    }

    #[test]
    fn an_execution_is_the_same_again_whatever_is_known_before() {
        let board = board();
        let script = draw([(1, Vice::Wrong)]);
        let (one, knowledge) = play(7, &script, &board, Knowledge::default()).unwrap();
        let (two, _) = play(7, &script, &board, knowledge).unwrap();
        assert_eq!((one.fingerprint, &one.outcome), (two.fingerprint, &two.outcome));
        assert!(one.outcome.is_ok() && one.tally.total() > 0);
        let (other, _) = play(8, &draw([]), &board, Knowledge::default()).unwrap();
        assert_ne!(one.fingerprint, other.fingerprint);
    }
}
