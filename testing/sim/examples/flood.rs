//! How fast the simulator is: 129 seats around the world broadcast in rounds, 128 deliveries each.
//!
//! `cargo run --release -p prefinal-sim --example flood [seats] [rounds] [seed]`

use std::error::Error;
use std::time::Duration;

use prefinal_protocol::{Instant, Machine, Output, Recipient};
use prefinal_sim::{
    GLOBAL, Geography, Host, Jitter, Network, Placement, Seat, Setup, Simulation, Step,
};

/// Broadcasts its round; on hearing two thirds of the others in it, the next.
struct Pulse {
    quorum: u32,
    round: u32,
    last: u32,
    heard: Vec<u32>,
    due: bool,
}

impl Machine for Pulse {
    type Input = u32;
    type Record = ();
    type Effect = u32;

    fn handle(&mut self, _: Instant, round: u32) {
        if round == 0 {
            self.due = true;
        } else if let Some(heard) =
            usize::try_from(round).ok().and_then(|at| self.heard.get_mut(at))
        {
            *heard += 1;
            if *heard == self.quorum && round == self.round && round < self.last {
                self.due = true;
            }
        }
    }

    fn poll(&mut self) -> Option<Output<(), u32>> {
        std::mem::take(&mut self.due).then(|| {
            self.round += 1;
            Output::Do(self.round)
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        None
    }
}

struct Flood {
    seats: u32,
    rounds: u32,
}

impl Host for Flood {
    type Machine = Pulse;
    type Message = u32;
    type Job = ();
    type Verdict = ();
    type Event = u32;

    fn boot(&mut self, _: Seat, _: &[()]) -> Pulse {
        let heard = (0..=self.rounds).map(|_| 0).collect();
        Pulse { quorum: self.seats * 2 / 3, round: 0, last: self.rounds, heard, due: false }
    }

    fn first_input(&mut self, _: Seat) -> Option<u32> {
        Some(0)
    }

    fn received(&mut self, _: Seat, _: Seat, round: &u32) -> u32 {
        *round
    }

    fn checked(&mut self, _: Seat, (): ()) -> u32 {
        0
    }

    fn tick(&mut self, _: Seat) -> u32 {
        0
    }

    fn carry_out(&mut self, round: u32, step: &mut Step<'_, Self>) {
        step.note(round);
        step.send(Recipient::All, round);
    }

    fn run(&mut self, _: Seat, (): ()) -> ((), Duration) {
        ((), Duration::ZERO)
    }
}

#[expect(clippy::disallowed_types, reason = "a speed in real time needs the real clock")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u32| arguments.next().map_or(Ok(default), |text| text.parse());
    let (seats, rounds, seed) = (number(129)?, number(500)?, u64::from(number(1)?));

    let placement = Placement::dealt(&Geography::aws()?, seats, &GLOBAL, seed)?;
    let trips = placement.round_trips();
    let [p10, p50, p90] = [10, 50, 90].map(|percent| trips.percentile(percent).as_millis());
    println!("seed {seed}: {seats} seats, round trips p10 {p10} ms, p50 {p50} ms, p90 {p90} ms");

    let network = Network::placed(placement, Jitter::default());
    let mut simulation =
        Simulation::new(Flood { seats, rounds }, Setup::new(seats, seed, network))?;
    let clock = std::time::Instant::now();
    let stop = simulation.run(Instant::at(Duration::MAX));
    let micros = clock.elapsed().as_micros().max(1);

    let delivered = simulation.counters().delivered;
    println!(
        "{stop:?} at {:.1?} of virtual time, fingerprint {:016x}",
        simulation.now().since_start(),
        simulation.fingerprint()
    );
    println!(
        "{delivered} deliveries in {} ms: {} per second",
        micros / 1000,
        u128::from(delivered) * 1_000_000 / micros
    );
    Ok(())
}
