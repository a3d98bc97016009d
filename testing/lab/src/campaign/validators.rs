//! Whole validators on Jolteon, with real keys. Key generation ran before, and an execution continues
//! from its disks.

use crate::priced::Priced;
use std::sync::Arc;
use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_jolteon::Jolteon;
use prefinal_sim::Seat;

use super::board::Board;
use super::draw::Draw;
use super::execution::{Bounds, ExecutionReport, MemoryUse, Place, Playable, ROUND, Stage, WORK};
use super::forge::Forge;
use crate::check::Trial;
use crate::committee::{Knowledge, Observation, Prices, ValidatorHost};
use crate::failure::Failure;
use crate::seating::Seating;
use prefinal_validator::setup::{Algorithm, FIRST, Setup};
use prefinal_validator::{Input, Message, Validator};

/// Rounds double their time while they fail, so that a party may be far behind.
const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(300), events: 2_000_000 };

impl<S: Forge + Priced> Playable for ValidatorHost<S> {
    type Scheme = S;

    fn seating(&self) -> &Seating {
        self.seating()
    }

    fn kept(machine: &Validator<S, Jolteon>) -> Option<MemoryUse> {
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

    fn whisper(from: Party, bytes: Vec<u8>) -> Input<S, Jolteon> {
        let transactions = vec![prefinal_jolteon::Transaction::new(bytes)];
        let message = Message::Engine(FIRST, prefinal_jolteon::Message::Transactions(transactions));
        Input::Received { from, message }
    }

    fn broken(&self) -> Option<String> {
        self.check_halted().err().map(|failure| failure.to_string())
    }
}

/// Plays one execution. What is known of the board's values goes in and comes out.
pub(super) fn play<S: Forge + Priced>(
    seed: u64,
    draw: &Draw,
    board: &Board<S>,
    knowledge: Knowledge<S>,
) -> Result<(ExecutionReport, Knowledge<S>), Failure> {
    play_as(seed, draw, board, (board.ground.setup().clone(), knowledge))
}

fn play_as<S: Forge + Priced>(
    seed: u64,
    draw: &Draw,
    board: &Board<S>,
    (mut setup, knowledge): (Setup, Knowledge<S>),
) -> Result<(ExecutionReport, Knowledge<S>), Failure> {
    setup.fast_after = if board.algorithm == Algorithm::Slow { u64::MAX } else { 0 };
    setup.timeout = ROUND;
    let host = ValidatorHost::<S>::new(Arc::clone(&board.ground), setup, Prices::Flat(WORK))
        .map_err(Failure::bad_input)?
        .knowing(Some(knowledge))
        .with_twins(draw.twins());
    let mut stage = Stage::new(seed, draw, host, BOUNDS)?;
    for seat in (0..stage.simulation.host().seats()).map(Seat::new) {
        let disk = board.disks.get(stage.simulation.host().party(seat).index());
        let disk = disk.into_iter().flatten().cloned();
        stage.simulation.load(seat, disk).map_err(Failure::bad_input)?;
    }
    let outcome = stage.run().and_then(|()| {
        let host = stage.simulation.host();
        let trial = Trial {
            ground: &board.ground,
            setups: &host.setups(),
            parties: &|seat| host.party(seat),
            faulty: stage.faulty(),
            before: &board.before,
            notes: stage.simulation.notes(),
        };
        trial.check()
    });
    let played = stage.played(outcome);
    let knowledge = stage.simulation.into_host().into_knowledge().unwrap_or_default();
    Ok((played, knowledge.for_next_run()))
}

#[cfg(test)]
mod tests {
    use ::prefinal_beacon::Bls;
    use prefinal_weighted_rounding::{Ratio, Stake};

    use super::super::board::Layout;
    use super::super::vice::Vice;
    use super::*;
    use crate::check::{Summary, Violation};
    use prefinal_protocol::Instant;

    const FOUR: [u128; 4] = [1; 4];

    fn board() -> Board<Bls> {
        board_with(false)
    }

    fn board_with(handover: bool) -> Board<Bls> {
        let stakes = FOUR.map(Stake::new).to_vec();
        let layout = Layout::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS).unwrap();
        Board::new(&layout, handover).unwrap()
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
        let board = Board::<Bls>::new(&layout, false).unwrap();
        let setup = board.ground.setup();
        let setup = setup.with_shape(prefinal_fixture::of_no_stakes(setup.keygen.shape())).unwrap();
        let shape = setup.keygen.shape().clone();
        let violation = play_as(1, &draw([]), &board, (setup, Knowledge::default()));
        let violation = violation.unwrap().0.outcome.unwrap_err();
        let Violation::Liveness(why) = violation else { unreachable!("{violation}") };
        assert!(why.contains("the beacon refuses its configuration"), "{why}");
        layout.plan.shape = shape;
        let failure = Board::<Bls>::new(&layout, false).map(drop).unwrap_err();
        assert!(matches!(failure, Failure::BadInput(_)), "{failure}");
    }

    /// How many values a long calm execution has, and the last epoch.
    #[test]
    fn a_committee_hands_over_on_the_way() {
        let board = board_with(true);
        let setup = board.ground.setup().clone();
        let host = ValidatorHost::<Bls>::new(Arc::clone(&board.ground), setup, Prices::FREE);
        let long = Draw { heals: Instant::at(Duration::from_secs(6)), ..draw([]) };
        let mut stage = Stage::new(1, &long, host.unwrap(), BOUNDS).unwrap();
        for (seat, disk) in (0..).map(Seat::new).zip(&board.disks) {
            stage.simulation.load(seat, disk.clone()).unwrap();
        }
        stage.run().unwrap();
        let epoch = |seat| stage.simulation.machine(Seat::new(seat)).map(Validator::epoch);
        assert!((0..4).all(|seat| epoch(seat) == Some(FIRST.next())), "{:?}", epoch(0));
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
