//! The real beacon on the models' schedules: told the same, it releases what the model says, no more and no
//! less, with its record written before. Random walks; the engine also offers what the contract must refuse.
//! Restarts find the whole journal or the oldest copy, and no peer says where it is.
use std::collections::BTreeSet;

use prefinal_beacon::{
    Beacon, Binding, Config, Effect, Finality, Input, Life, Limits, Message, MultiSig, Output,
    Paths, Quorum, Record, Sharing, Slot, Value,
};
use prefinal_contract::Rule;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::MinSig;
use prefinal_crypto_core::bls::min_sig::SecretKey;
use prefinal_crypto_core::certificate::{Elector, Electorate};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::secret::Secret;
use prefinal_model::desk::{Call, Desk, HONEST, Journal, Terms, hash, named};
use prefinal_model::jolteon::Jolteon;
use prefinal_model::properties::Engine;
use prefinal_model::simplex::Simplex;
use prefinal_model::tendermint::Tendermint;
use prefinal_model::trantor::Trantor;
use prefinal_protocol::{Instant, Machine};
use prefinal_weighted_rounding::Stake;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

const WALKS: u64 = 200;
const STEPS: usize = 30;

/// An honest party's beacon and its disk.
struct Real<'c> {
    committee: &'c Electorate<MinSig>,
    me: u8,
    journal: Journal,
    beacon: Beacon<MultiSig>,
    log: Vec<Record>,
    out: BTreeSet<(Slot, Value)>,
    refused: usize,
}

fn key(number: u8) -> SecretKey {
    let mut bytes = [0; 32];
    bytes[31] = number + 1;
    SecretKey::from_secret_bytes(&Secret::new(bytes)).expect("a small number is a key")
}

fn committee() -> Electorate<MinSig> {
    let electors = (0..4).map(|number| {
        let key = key(number);
        let owned = key.public_key().verify_possession(&key.prove_possession());
        Elector { key: owned.expect("its owner made it"), stake: 1 }
    });
    Electorate::with_quorum(electors.collect(), 3).expect("four electors")
}

fn beacon(
    committee: &Electorate<MinSig>,
    me: u8,
    (life, log): (Life, &[Record]),
) -> Beacon<MultiSig> {
    let config = Config {
        context: Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(1) },
        me: Party::new(me.into()),
        paths: Paths::Tight(Sharing { committee: committee.clone(), secret: Some(key(me)) }),
        binding: Binding::Value,
        fast_attempt: Some(0),
        finality: Finality::exact(&[Stake::new(1); 4], Quorum::BYZANTINE).expect("four parties"),
        first: Slot::new(1),
        life,
        limits: Limits::default(),
    };
    Beacon::new(config, log).expect("the configuration is sound")
}

impl<'c> Real<'c> {
    fn new(committee: &'c Electorate<MinSig>, me: u8, journal: Journal) -> Self {
        let (log, out) = (Vec::new(), BTreeSet::new());
        let beacon = beacon(committee, me, (Life::First, &[]));
        Self { committee, me, journal, beacon, log, out, refused: 0 }
    }

    fn told(&mut self, told: Call) {
        match told {
            Call::Prefinalized { slot, view, value } => {
                let (slot, view, value) = (Slot::new(slot.into()), named(view), hash(value));
                let input = Input::Prefinalized { slot, view, value };
                self.beacon.handle(Instant::START, input);
            }
            Call::Abandoned(view) => {
                self.beacon.handle(Instant::START, Input::Abandoned { view: named(view) });
            }
            Call::Restarted => {
                if self.journal == Journal::PutBack {
                    self.log.clear();
                }
                let life = Life::later([1; 16]);
                self.beacon = beacon(self.committee, self.me, (life, &self.log));
            }
        }
        while let Some(output) = self.beacon.poll() {
            match output {
                Output::Keep(record) | Output::Note(record) => self.log.push(record),
                Output::Do(Effect::Send {
                    message: Message::Partial { slot, value, .. }, ..
                }) => {
                    let value = value.expect("outputs depend on the value");
                    let promised = self.log.contains(&Record::Released { slot, value });
                    assert!(promised, "a partial of {slot} left before its record");
                    self.out.insert((slot, value));
                }
                Output::Do(Effect::Refused(_)) => self.refused += 1,
                Output::Do(Effect::Send { message: Message::AskHead { .. }, .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Whether what left is what the model says.
    fn agrees(&self, desk: &Desk) {
        let slots = (1..6).flat_map(|slot| (0..16).map(move |value| (slot, value)));
        let out = slots.filter(|(slot, value)| desk.out(*slot) >> value & 1 == 1);
        let out = out.map(|(slot, value)| (Slot::new(slot.into()), hash(value)));
        assert_eq!(self.out, out.collect(), "party {}", self.me);
    }
}

/// `tempted` offers what a contract with a rule less would release; `whole` says what leaves.
fn walk<E: Engine>(tempted: &E, whole: &E, restart: fn(usize) -> E::Action) {
    let committee = committee();
    let (mut released, mut refused) = (0, 0);
    for seed in 0..WALKS {
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut pick = |among: usize| usize::try_from(rng.next_u32()).expect("64 bits") % among;
        let mut reals = [0, 1, 2].map(|me| Real::new(&committee, me, whole.terms().journal));
        let (mut temptation, mut state) =
            (whole.init_states().remove(0), whole.init_states().remove(0));
        for _ in 0..STEPS {
            let steps = tempted.next_steps(&temptation);
            let action = match pick(10) {
                0 => restart(pick(HONEST)),
                _ if steps.is_empty() => break,
                _ => steps[pick(steps.len())].0.clone(),
            };
            let (party, told) = whole.told(&state, &action);
            told.into_iter().for_each(|told| reals[party].told(told));
            temptation = tempted.next_state(&temptation, action.clone()).unwrap_or(temptation);
            state = whole.next_state(&state, action).unwrap_or(state);
            let desks = whole.desks(&state);
            reals.iter().zip(desks).for_each(|(real, desk)| real.agrees(desk));
        }
        released += reals.iter().map(|real| real.out.len()).sum::<usize>();
        refused += reals.iter().map(|real| real.refused).sum::<usize>();
    }
    println!("{released} released, {refused} refused");
    assert!(released > 20 && refused > 20, "{released} released, {refused} refused");
}

const JOURNALS: [Journal; 2] = [Journal::Whole, Journal::PutBack];

#[test]
fn tendermint() {
    use prefinal_model::tendermint::Action::Restart;
    for journal in JOURNALS {
        let tempted = Tendermint::new(Terms::without(Rule::OneView), 2);
        walk(&tempted, &Tendermint::new(Terms::with(journal), 2), Restart);
    }
}

#[test]
fn jolteon() {
    use prefinal_model::jolteon::Action::Restart;
    for journal in JOURNALS {
        let tempted = Jolteon::new(Terms::without(Rule::GivenUp), 3);
        walk(&tempted, &Jolteon::new(Terms::with(journal), 3), Restart);
    }
}

#[test]
fn simplex() {
    use prefinal_model::simplex::Action::Restart;
    for journal in JOURNALS {
        let tempted = Simplex::new(Terms::without(Rule::GivenUp), 3);
        walk(&tempted, &Simplex::new(Terms::with(journal), 3), Restart);
    }
}

#[test]
fn trantor() {
    use prefinal_model::trantor::Action::Restart;
    for journal in JOURNALS {
        let tempted = Trantor::new(Terms::without(Rule::GivenUp), 2, 2);
        walk(&tempted, &Trantor::new(Terms::with(journal), 2, 2), Restart);
    }
}
