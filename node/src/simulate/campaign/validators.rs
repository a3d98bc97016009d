//! Whole validators on Jolteon, with real keys: key generation ran before, and its disks are what an
//! execution goes on from.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crypto_core::access::Party;
use sim::{Seat, Simulation, UnknownSeat};

use super::board::Board;
use super::draw::Draw;
use super::execution::{Bounds, Kept, Place, Playable, Played, ROUND, Stage, WORK};
use super::forge::Forge;
use super::tally::Tally;
use super::vice::{Sinner, Vice};
use crate::failure::Failure;
use crate::scheme::Keyed;
use crate::setup::{Algorithm, Setup};
use crate::simulate::check::Trial;
use crate::simulate::committee::{Committee, Knowledge, Prices, Seen};
use crate::validator::{Input, Message, Validator};

/// Rounds double their time while they fail, so that a party may be far behind.
const BOUNDS: Bounds = Bounds { patience: Duration::from_secs(300), events: 2_000_000 };

impl<S: Forge + Keyed> Playable for Committee<S> {
    fn seats(&self) -> u32 {
        self.seats()
    }

    fn party(&self, seat: Seat) -> Party {
        self.party(seat)
    }

    fn kept(machine: &Validator<S>) -> Option<Kept> {
        machine.beacon().map(Kept::by)
    }

    fn place(event: &Seen<S>) -> Option<Place> {
        Some(match event {
            Seen::Ready { first, .. } => Place::Ready(*first),
            Seen::Finalized(slot, block) => Place::Finalized(*slot, *block),
            Seen::Revealed(reveal) => Place::Revealed(reveal.slot),
            _ => return None,
        })
    }

    fn whisper(from: Party, bytes: Vec<u8>) -> Input<S> {
        let transactions = vec![jolteon::Transaction::new(bytes)];
        let message = Message::Engine(jolteon::Message::Transactions(transactions));
        Input::Received { from, message }
    }

    fn corrupt(
        simulation: &mut Simulation<Self>,
        seat: Seat,
        vice: Vice,
        tally: &Rc<RefCell<Tally>>,
    ) -> Result<(), UnknownSeat> {
        simulation.rule(seat, Sinner::<S, Arc<Message<S>>>::new(vice, tally))
    }

    fn broken(&self) -> Option<String> {
        self.check_halted().err().map(|failure| failure.to_string())
    }
}

/// Plays one execution. What is known of the board's values goes in and comes out.
pub(super) fn play<S: Forge + Keyed>(
    seed: u64,
    draw: &Draw,
    board: &Board<S>,
    knowledge: Knowledge<S>,
) -> Result<(Played, Knowledge<S>), Failure> {
    play_as(seed, draw, board, (board.ground.setup().clone(), knowledge))
}

fn play_as<S: Forge + Keyed>(
    seed: u64,
    draw: &Draw,
    board: &Board<S>,
    (mut setup, knowledge): (Setup, Knowledge<S>),
) -> Result<(Played, Knowledge<S>), Failure> {
    setup.fast_after = if board.algorithm == Algorithm::Slow { u64::MAX } else { 0 };
    setup.timeout = ROUND;
    let host = Committee::new(Arc::clone(&board.ground), setup, Prices::Flat(WORK))
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
    use ::beacon::Bls;
    use weighted_rounding::{Ratio, Stake};

    use super::super::board::Layout;
    use super::*;
    use crate::simulate::check::{Summary, Violation};
    use protocol::Instant;

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
            network: sim::Network::constant(Duration::from_millis(40)),
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
        let setup = board.ground.setup().counting_one_each();
        let shape = setup.keygen.shape().clone();
        let violation = play_as(1, &draw([]), &board, (setup, Knowledge::default()));
        let violation = violation.unwrap().0.outcome.unwrap_err();
        let Violation::Liveness(why) = violation else { unreachable!("{violation}") };
        assert!(why.contains("the beacon refuses its configuration"), "{why}");
        layout.plan.shape = shape;
        let failure = Board::<Bls>::new(&layout).map(drop).unwrap_err();
        assert!(matches!(failure, Failure::BadInput(_)), "{failure}");
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
