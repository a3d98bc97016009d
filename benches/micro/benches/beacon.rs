//! One slot of a beacon among the 129 validators of a stake table, in one party's processor time.
//!
//! | row     | what happens                                                             | limit             |
//! |---------|--------------------------------------------------------------------------|-------------------|
//! | receive | a partial's bytes are decoded and taken in                               | its points decoded |
//! | output  | the last partial that is needed comes in, until the output               | `combine` alone   |
//! | slot    | own partials, those of all others, the output                            | the slow path's slot |
//!
//! The table's standard profile: 162 shares, of which 96 rebuild on the slow path and 124 on the fast
//! one. With `--features parallel` jobs use as many threads as `RAYON_NUM_THREADS` says, and times are
//! the clock's: see `bench::clock`.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a bench that cannot be set up must not give figures"
)]
use std::cell::RefCell;
use std::collections::BTreeMap;

use beacon::{
    Beacon, Binding, Bls, Config, Input, Limits, Message, Output, Path, Paths, Scheme, Sharing,
    Slot, Value, View, Wvuf,
};
use bench::fixture::{Signing, Weighted, context, qualified, weights};
use bench::limit;
use bench::suite::Suite;
use crypto_core::access::{Access, Party, Threshold};
use crypto_core::polynomial::Placement;
use machine::{Instant, Machine};

const TOTAL: u32 = 162;
const SLOW: u32 = 96;
const FAST: u32 = 124;
const ME: Party = Party::new(0);
const VALUE: Value = Value::new([7; 32]);

/// A scheme with a dealer that everybody trusts.
trait Dealt: Scheme {
    fn deal(t: u32) -> (Self::Committee, BTreeMap<Party, Self::Secret>);
    /// Decoding the points of one partial of this weight.
    fn decoding(suite: &mut Suite, weight: u32) -> (f64, String);
}

impl Dealt for Bls {
    fn deal(t: u32) -> (Self::Committee, BTreeMap<Party, Self::Secret>) {
        let kind = (Placement::RootsOfUnity, Self::purpose(Binding::Slot));
        let dealt = Signing::deal(&weights(TOTAL), t, kind);
        (dealt.committee, dealt.signers)
    }

    fn decoding(suite: &mut Suite, weight: u32) -> (f64, String) {
        (weight.into(), limit::decode_g1(suite))
    }
}

impl Dealt for Wvuf {
    fn deal(t: u32) -> (Self::Committee, BTreeMap<Party, Self::Secret>) {
        let dealt = Weighted::deal(&weights(TOTAL), t);
        (dealt.committee, dealt.keys)
    }

    fn decoding(suite: &mut Suite, _: u32) -> (f64, String) {
        (1.0, limit::decode_g2(suite))
    }
}

/// As the network delivers it.
struct Envelope {
    from: Party,
    bytes: Vec<u8>,
}

/// One path: its committee, and all secrets but this party's.
struct Side<S: Dealt> {
    path: Path,
    access: Access,
    t: u32,
    committee: S::Committee,
    others: BTreeMap<Party, S::Secret>,
}

impl<S: Dealt> Side<S> {
    fn deal(path: Path, t: u32) -> (Self, Sharing<S>) {
        let (committee, mut others) = S::deal(t);
        let secret = others.remove(&ME);
        let sharing = Sharing { committee: committee.clone(), secret };
        let access = Access::new(&weights(TOTAL)).unwrap();
        (Self { path, access, t, committee, others }, sharing)
    }

    fn partial(&self, party: Party, slot: Slot) -> S::Partial {
        let input = S::input(&context(), slot, None).unwrap();
        S::evaluate(&self.others[&party], &input).unwrap()
    }

    fn message(&self, from: Party, slot: Slot) -> Envelope {
        let partial = self.partial(from, slot);
        let message: Message<S> = Message::Partial { path: self.path, slot, value: None, partial };
        Envelope { from, bytes: borsh::to_vec(&message).unwrap() }
    }

    /// Random parties that suffice together with this one, and no fewer of them do.
    fn needed(&self) -> Vec<Party> {
        let mut weight = self.access.weight(ME);
        let threshold = Threshold::new(self.t, self.access.total()).unwrap();
        let others = qualified(&self.access, threshold);
        let mut needed: Vec<Party> = others.into_iter().filter(|party| *party != ME).collect();
        needed.retain(|party| {
            let more = weight < self.t;
            weight += self.access.weight(*party);
            more
        });
        needed
    }

    /// Partials of everybody else, those that are needed first.
    fn all(&self, slot: Slot) -> Vec<Envelope> {
        let needed = self.needed();
        let late = self.others.keys().filter(|party| !needed.contains(party));
        needed.iter().chain(late).map(|party| self.message(*party, slot)).collect()
    }
}

/// A beacon that goes from slot to slot.
struct Running<S: Dealt> {
    beacon: Beacon<S>,
    slot: Slot,
}

impl<S: Dealt> Running<S> {
    fn new(paths: Paths<S>) -> RefCell<Self> {
        let config = Config {
            context: context(),
            me: ME,
            paths,
            binding: Binding::Slot,
            fast_attempt: Some(0),
            first: Slot::new(1),
            limits: Limits::default(),
        };
        RefCell::new(Self { beacon: Beacon::new(config, &[]).unwrap(), slot: Slot::new(0) })
    }

    /// Carries everything out at once; whether the output came.
    fn tell(&mut self, input: Input<S>) -> bool {
        let mut revealed = false;
        self.beacon.handle(Instant::START, input);
        while let Some(output) = self.beacon.poll() {
            match output {
                Output::Check(job) => {
                    self.beacon.handle(Instant::START, Input::Checked(job.run()));
                }
                Output::Reveal(_) => revealed = true,
                Output::Persist(_) | Output::Send { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        revealed
    }

    fn receive(&mut self, Envelope { from, bytes }: Envelope) -> bool {
        let message = borsh::from_slice(&bytes).unwrap();
        self.tell(Input::Received { from, message })
    }

    fn take(&mut self, envelopes: Vec<Envelope>) {
        for envelope in envelopes {
            self.receive(envelope);
        }
        assert!(self.beacon.head() > self.slot);
    }

    /// The next slot, after the one before has its output.
    fn next(&mut self, side: &Side<S>) -> Slot {
        if self.beacon.head() <= self.slot && self.slot > Slot::new(0) {
            self.take(side.all(self.slot));
        }
        self.slot = self.slot.next();
        self.slot
    }

    fn finalize(&mut self) {
        self.tell(Input::Finalized { slot: self.slot, value: Some(VALUE) });
    }

    fn prefinalize(&mut self) {
        let (slot, view) = (self.slot, View::new(self.slot, 0));
        self.tell(Input::Prefinalized { slot, view, value: VALUE });
    }
}

fn main() {
    let mut suite = Suite::new("beacon");
    scheme::<Bls>(&mut suite, "bls");
    scheme::<Wvuf>(&mut suite, "wvuf");
    suite.finish();
}

fn scheme<S: Dealt>(suite: &mut Suite, name: &str) {
    let label = format!("{name} n=129 W={TOTAL}");
    let (slow, sharing) = Side::<S>::deal(Path::Slow, SLOW);
    let running = Running::new(Paths::Slow(sharing));
    receive(suite, &label, (&slow, &running));
    output(suite, &label, (&slow, &running));
    let alone = suite.measure_each(
        &format!("beacon::slot_slow/{label}"),
        || {
            let slot = running.borrow_mut().next(&slow);
            slow.all(slot)
        },
        |envelopes| {
            let mut running = running.borrow_mut();
            running.finalize();
            running.take(envelopes);
        },
    );
    suite.row(&alone, &[], None);
    let both = both_paths::<S>(suite, &label);
    suite.row(&both, &[(1.0, &alone)], None);
}

/// A slot that is final, and one partial more, not the last.
fn receive<S: Dealt>(
    suite: &mut Suite,
    label: &str,
    (side, running): (&Side<S>, &RefCell<Running<S>>),
) {
    let access = &side.access;
    let light = access.parties().find(|party| *party != ME && access.weight(*party) == 1).unwrap();
    let ours = suite.measure_each(
        &format!("beacon::receive/{label}"),
        || {
            let mut running = running.borrow_mut();
            let slot = running.next(side);
            running.finalize();
            side.message(light, slot)
        },
        |envelope| running.borrow_mut().receive(envelope),
    );
    let (count, decode) = S::decoding(suite, 1);
    suite.row(&ours, &[(count, &decode)], None);
}

/// The last partial that is needed.
fn output<S: Dealt>(
    suite: &mut Suite,
    label: &str,
    (side, running): (&Side<S>, &RefCell<Running<S>>),
) {
    let needed = side.needed();
    let (last, before) = needed.split_last().unwrap();
    let ours = suite.measure_each(
        &format!("beacon::output/{label}"),
        || {
            let mut running = running.borrow_mut();
            let slot = running.next(side);
            running.finalize();
            for party in before {
                assert!(!running.receive(side.message(*party, slot)));
            }
            side.message(*last, slot)
        },
        |last| assert!(running.borrow_mut().receive(last)),
    );
    let slot = Slot::new(1);
    let input = S::input(&context(), slot, None).unwrap();
    let mut partials: BTreeMap<Party, S::Partial> =
        needed.iter().map(|party| (*party, side.partial(*party, slot))).collect();
    let (_, secrets) = S::deal(side.t);
    partials.insert(ME, S::evaluate(&secrets[&ME], &input).unwrap());
    let alone = suite.measure(&format!("beacon::combine/{label}"), || {
        S::combine(&side.committee, &input, &partials).unwrap()
    });
    suite.row(&ours, &[(1.0, &alone)], None);
}

/// A slot of Algorithm 3: fast partials before finality, slow partials after the output.
fn both_paths<S: Dealt>(suite: &mut Suite, label: &str) -> String {
    let (slow, for_slow) = Side::<S>::deal(Path::Slow, SLOW);
    let (fast, for_fast) = Side::<S>::deal(Path::Fast, FAST);
    let paths = Paths::FastAndSlow { slow: for_slow, fast: for_fast, fast_from: Slot::new(0) };
    let running = Running::new(paths);
    suite.measure_each(
        &format!("beacon::slot_both/{label}"),
        || {
            let slot = running.borrow_mut().next(&slow);
            (fast.all(slot), slow.all(slot))
        },
        |(early, late)| {
            let mut running = running.borrow_mut();
            running.prefinalize();
            for envelope in early {
                running.receive(envelope);
            }
            running.finalize();
            running.take(late);
        },
    )
}
