//! A beacon that goes from slot to slot, and everybody else's part in it.
use std::cell::RefCell;
use std::collections::BTreeMap;

use prefinal_beacon::{
    Beacon, Binding, Bls, Config, Effect, Finality, Input, Life, Limits, Message, Output, Path,
    Paths, Quorum, Scheme, Sharing, Slot, Value, View, Wvuf,
};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_protocol::{Instant, Machine};
use prefinal_weighted_rounding::Stake;

use crate::fixture::{BlsSharing, WvufSharing, context, qualified};
use crate::limit;
use crate::suite::Suite;

/// Whose processor time is measured.
pub const ME: Party = Party::new(0);
const VALUE: Value = Value::new([7; 32]);

/// A scheme with a dealer that everybody trusts.
pub trait DealtScheme: Scheme {
    /// A committee of these weights and all its secrets.
    fn deal(weights: &[u32], t: u32) -> (Self::Committee, BTreeMap<Party, Self::Secret>);
    /// Decoding the points of one partial of this weight.
    fn decoding(suite: &mut Suite, weight: u32) -> (f64, String);
    /// One's own partial of this weight.
    fn signing(suite: &mut Suite, weight: u32) -> (f64, String);
    /// The value from partials that hold this many shares each, and its check.
    fn combining(suite: &mut Suite, held: &[usize]) -> Vec<(f64, String)>;
}

impl DealtScheme for Bls {
    fn deal(weights: &[u32], t: u32) -> (Self::Committee, BTreeMap<Party, Self::Secret>) {
        let kind = (Placement::RootsOfUnity, Self::purpose(Binding::Slot));
        let dealt = BlsSharing::deal(weights, t, kind);
        (dealt.committee, dealt.signers)
    }

    fn decoding(suite: &mut Suite, weight: u32) -> (f64, String) {
        (weight.into(), limit::decode_g1(suite))
    }

    fn signing(suite: &mut Suite, weight: u32) -> (f64, String) {
        (weight.into(), limit::multiply_g1(suite))
    }

    fn combining(suite: &mut Suite, held: &[usize]) -> Vec<(f64, String)> {
        let sum = limit::msm_g1(suite, held.iter().sum(), 255);
        vec![(1.0, sum), (1.0, limit::product(suite, 2))]
    }
}

impl DealtScheme for Wvuf {
    fn deal(weights: &[u32], t: u32) -> (Self::Committee, BTreeMap<Party, Self::Secret>) {
        let dealt = WvufSharing::deal(weights, t);
        (dealt.committee, dealt.keys)
    }

    fn decoding(suite: &mut Suite, _: u32) -> (f64, String) {
        (1.0, limit::decode_g2(suite))
    }

    fn signing(suite: &mut Suite, _: u32) -> (f64, String) {
        (1.0, limit::multiply_g2(suite))
    }

    fn combining(suite: &mut Suite, held: &[usize]) -> Vec<(f64, String)> {
        let pairs = limit::product(suite, held.len());
        vec![(1.0, pairs), (1.0, limit::sums_g1(suite, held, 255))]
    }
}

/// As the network delivers it.
pub struct Envelope {
    from: Party,
    bytes: Vec<u8>,
}

/// One path: its committee, and all secrets but this party's.
pub struct PathFixture<S: DealtScheme> {
    path: Path,
    /// Which party holds which shares.
    pub access: Access,
    /// How many shares rebuild.
    pub t: u32,
    /// With all public keys.
    pub committee: S::Committee,
    /// All secrets but this party's.
    pub others: BTreeMap<Party, S::Secret>,
}

impl<S: DealtScheme> PathFixture<S> {
    /// All but this party's secret on one side, what the party has of it on the other.
    #[must_use]
    pub fn deal(path: Path, weights: &[u32], t: u32) -> (Self, Sharing<S>) {
        let (committee, mut others) = S::deal(weights, t);
        let secret = others.remove(&ME);
        let sharing = Sharing { committee: committee.clone(), secret };
        let access = Access::new(weights).unwrap();
        (Self { path, access, t, committee, others }, sharing)
    }

    /// The partial of another party for a slot.
    pub fn partial(&self, party: Party, slot: Slot) -> S::Partial {
        let input = S::input(&context(), Binding::Slot, slot, None).unwrap();
        S::evaluate(&self.others[&party], &input).unwrap()
    }

    /// The same as it is sent.
    pub fn message(&self, from: Party, slot: Slot) -> Envelope {
        let partial = self.partial(from, slot);
        let message: Message<S> = Message::Partial { path: self.path, slot, value: None, partial };
        Envelope { from, bytes: borsh::to_vec(&message).unwrap() }
    }

    /// Random parties that suffice together with this one, and no fewer of them do.
    pub fn needed(&self) -> Vec<Party> {
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
    pub fn all(&self, slot: Slot) -> Vec<Envelope> {
        let needed = self.needed();
        let late = self.others.keys().filter(|party| !needed.contains(party));
        needed.iter().chain(late).map(|party| self.message(*party, slot)).collect()
    }
}

/// A beacon that goes from slot to slot.
pub struct RunningBeacon<S: DealtScheme> {
    beacon: Beacon<S>,
    slot: Slot,
}

impl<S: DealtScheme> RunningBeacon<S> {
    /// Before its first slot; the engine counts weights.
    #[must_use]
    pub fn new(paths: Paths<S>, weights: &[u32]) -> RefCell<Self> {
        let stakes: Vec<Stake> =
            weights.iter().map(|weight| Stake::new((*weight).into())).collect();
        let finality = Finality::exact(&stakes, Quorum::BYZANTINE).unwrap();
        let config = Config {
            context: context(),
            me: ME,
            paths,
            binding: Binding::Slot,
            fast_attempt: Some(0),
            finality,
            first: Slot::new(1),
            life: Life::First,
            limits: Limits::default(),
        };
        RefCell::new(Self { beacon: Beacon::new(config, &[]).unwrap(), slot: Slot::new(0) })
    }

    /// Carries everything out at once; whether the output came.
    pub fn tell(&mut self, input: Input<S>) -> bool {
        let mut revealed = false;
        self.beacon.handle(Instant::START, input);
        while let Some(output) = self.beacon.poll() {
            match output {
                Output::Do(Effect::Check(job)) => {
                    self.beacon.handle(Instant::START, Input::Checked(job.run()));
                }
                Output::Do(Effect::Reveal(_)) => revealed = true,
                Output::Keep(_) | Output::Note(_) | Output::Do(Effect::Send { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        revealed
    }

    /// Decodes a message and takes it in; whether the output came.
    pub fn receive(&mut self, Envelope { from, bytes }: Envelope) -> bool {
        let message = borsh::from_slice(&bytes).unwrap();
        self.tell(Input::Received { from, message })
    }

    /// All of them, after which there is an output.
    pub fn take(&mut self, envelopes: Vec<Envelope>) {
        for envelope in envelopes {
            self.receive(envelope);
        }
        assert!(self.beacon.head() > self.slot);
    }

    /// The next slot, after the one before has its output.
    pub fn next(&mut self, side: &PathFixture<S>) -> Slot {
        if self.beacon.head() <= self.slot && self.slot > Slot::new(0) {
            self.take(side.all(self.slot));
        }
        self.slot = self.slot.next();
        self.slot
    }

    /// The engine's word that the slot is final.
    pub fn finalize(&mut self) {
        self.tell(Input::Finalized { slot: self.slot, value: Some(VALUE) });
    }

    /// The engine's vote that it soon is.
    pub fn prefinalize(&mut self) {
        let (slot, view) = (self.slot, View::new(self.slot, 0));
        self.tell(Input::Prefinalized { slot, view, value: VALUE });
    }
}

/// What a slot costs at least: one's own partial, everybody else's read, the value.
pub fn slot_limit<S: DealtScheme>(suite: &mut Suite, side: &PathFixture<S>) -> Vec<(f64, String)> {
    let mut limit = vec![S::signing(suite, side.access.weight(ME))];
    for party in side.others.keys() {
        limit.push(S::decoding(suite, side.access.weight(*party)));
    }
    limit.extend(combine_limit(suite, side));
    limit
}

/// What the value costs at least, from the partials that come first.
pub fn combine_limit<S: DealtScheme>(
    suite: &mut Suite,
    side: &PathFixture<S>,
) -> Vec<(f64, String)> {
    let mut missing = side.t;
    let parties = std::iter::once(ME).chain(side.needed());
    let held = parties.map(|party| {
        let own = side.access.weight(party).min(missing);
        missing -= own;
        usize::try_from(own).unwrap()
    });
    S::combining(suite, &held.filter(|own| *own > 0).collect::<Vec<_>>())
}
