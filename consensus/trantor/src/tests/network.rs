//! Committees of engines on links that take ten milliseconds, and what one faulty party can cost them.

use std::collections::BTreeMap;

use ::prefinal_engine::Pace;
use prefinal_crypto_core::access::Party;
use prefinal_protocol::{Instant, Machine, Recipient};

use super::bench::{FOUR, config, ms};
use crate::config::{Config, Epochs, OwnBatches};
use crate::engine::{Effect, Input, Output, Trantor};
use crate::message::Message;

/// Whether a message is lost.
type Loss = fn(from: u32, to: u32, message: &Message) -> bool;

struct Network {
    engines: Vec<Trantor>,
    now: Instant,
    links: BTreeMap<(Instant, u64), (Party, Party, Message)>,
    sent: u64,
    loses: Loss,
}

impl Network {
    fn new(stakes: &[u128], loses: Loss) -> Self {
        let engine = |me| {
            let pace = Pace { pause: ms(1), ..Pace::NONE };
            let (epochs, own_batches) = (Epochs::Overlapping, OwnBatches::AtOnce);
            let config = Config { pace, epochs, own_batches, ..config(stakes, me) };
            Trantor::new(config, super::secret(me), Vec::new()).unwrap()
        };
        let engines: Vec<_> = (0..u32::try_from(stakes.len()).unwrap()).map(engine).collect();
        let (now, links) = (Instant::START, BTreeMap::new());
        let mut network = Self { engines, now, links, sent: 0, loses };
        (0..stakes.len()).for_each(|party| network.input(party, Input::Start));
        network
    }

    fn input(&mut self, party: usize, input: Input) {
        self.engines[party].handle(self.now, input);
        while let Some(output) = self.engines[party].poll() {
            match output {
                Output::Do(Effect::Check(job)) => {
                    self.engines[party].handle(self.now, Input::Checked(job.run()));
                }
                Output::Do(Effect::Send { to, message }) => self.send(party, to, &message),
                Output::Do(Effect::Accuse { party: accused, fault }) => {
                    panic!("{party} accuses {accused}: {fault}")
                }
                _ => {}
            }
        }
    }

    fn send(&mut self, from: usize, to: Recipient<Party>, message: &Message) {
        let me = Party::new(u32::try_from(from).unwrap());
        for peer in (0..u32::try_from(self.engines.len()).unwrap()).map(Party::new) {
            let meant = match to {
                Recipient::All => peer != me,
                Recipient::One(one) => peer == one,
            };
            if meant && !(self.loses)(me.get(), peer.get(), message) {
                self.sent += 1;
                let place = (self.now + ms(10), self.sent);
                self.links.insert(place, (me, peer, message.clone()));
            }
        }
    }

    /// Lets the next message arrive, or the next time run out.
    fn step(&mut self) {
        let arrival = self.links.keys().next().map(|(at, _)| *at);
        let wakes = self.engines.iter().enumerate();
        let wake = wakes.filter_map(|(party, engine)| Some((engine.wake_at()?, party))).min();
        match wake.filter(|(at, _)| arrival.is_none_or(|arrival| *at < arrival)) {
            Some((at, party)) => {
                self.now = self.now.max(at);
                self.input(party, Input::Tick);
            }
            None => {
                let ((at, _), (from, to, message)) = self.links.pop_first().unwrap();
                self.now = self.now.max(at);
                self.input(to.index(), Input::Received { from, message });
            }
        }
    }

    /// Runs until these parties are in this epoch.
    fn run_until(&mut self, epoch: u64, parties: std::ops::Range<usize>) {
        while self.engines[parties.clone()].iter().any(|it| it.schedule().epoch() < epoch) {
            self.step();
        }
    }

    fn leaders(&self, party: usize) -> Vec<u32> {
        self.engines[party].schedule().leaders().iter().map(|it| it.get()).collect()
    }
}

/// Party 1 hides the heights that it leads from party 2. What the first epoch has cost party 2 shows in the
/// leaders of the third, for those of the second are known before.
#[test]
fn a_leader_that_hides_its_heights_from_another_does_not_get_it_left_out() {
    let hides = |from, to, message: &Message| {
        let slot = match message {
            Message::Proposal(proposal) => proposal.slot,
            Message::Prepare(vote) => vote.view.slot,
            Message::Commit(commit) => commit.vote.view.slot,
            _ => return false,
        };
        (from, to) == (1, 2) && slot.get() % 4 == 2
    };
    let mut network = Network::new(&FOUR, hides);
    network.run_until(2, 0..4);
    for party in 0..4 {
        assert!(network.leaders(party).contains(&2), "{:?}", network.leaders(party));
    }
}

#[test]
fn committees_of_all_sizes_go_on_without_a_silent_party_of_little_stake() {
    let committees: [(&[u128], usize); 8] = [
        (&[1], 1),
        (&[1; 2], 2),
        (&[1; 4], 4),
        (&[1; 4], 3),
        (&[1; 7], 5),
        (&[100, 1, 1, 1, 1, 1, 1], 1),
        (&[3, 3, 3, 1, 0, 1], 3),
        (&[1, 3, 3, 3], 3),
    ];
    for (stakes, awake) in committees {
        let mut network = Network::new(stakes, |_, _, _| false);
        // They have started, and say and hear nothing from now on.
        let silent = u32::try_from(stakes.len() - awake).unwrap();
        network.loses = match silent {
            0 => |_, _, _| false,
            1 => |from, to, _| from == 3 || to == 3,
            2 => |from, to, _| from >= 5 || to >= 5,
            3 => |from, to, _| from >= 3 || to >= 3,
            _ => |from, to, _| from >= 1 || to >= 1,
        };
        network.run_until(3, 0..awake);
        for party in 0..awake {
            let engine = &network.engines[party];
            if engine.schedule().epoch() == network.engines[0].schedule().epoch() {
                assert_eq!(engine.schedule(), network.engines[0].schedule(), "{stakes:?}");
            }
        }
    }
}
