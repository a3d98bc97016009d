//! Every scheme of the beacon, dealt by one who is trusted.
use std::collections::BTreeMap;

use prefinal_beacon::{
    Batch, BatchCommittee, Beacon, Binding, Config, Content, ContentInput, Contents, Decryption,
    Function, MultiSig, Path, Plaintexts, Scheme, StateRoot, StateSig, StateStatement, Value,
};
use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::bls::{MinSig, min_sig};
use prefinal_crypto_core::certificate::Electorate;
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::elgamal::{DecryptionKey, Label};
use prefinal_crypto_core::wire::Object;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::challenger::{Beacons, Message, PartialOf, Sharings};
use crate::decryption::Holders;
use crate::fixture::*;

/// A scheme whose inputs need no content: threshold BLS, the weighted VUF, multi-signatures.
pub(super) struct Plain<S: Instance> {
    world: World<S>,
    binding: Binding,
    /// The same secret in the hand of one.
    whole: S::Dealt,
}

impl<S: Instance> Plain<S> {
    /// Thresholds of the slow, fast and tight paths.
    pub(super) fn new(seed: u64, weights: &[u32], thresholds: [u32; 3], binding: Binding) -> Self {
        let world = World::new(seed, weights, thresholds);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        // What `World` draws first.
        let secret = Scalar::random(&mut rng);
        let (access, all) = (Access::new(&[1]).unwrap(), Threshold::new(1, 1).unwrap());
        let whole = S::deal(&access, all, (&secret, &[secret]), &mut rng);
        Self { world, binding, whole }
    }

    /// The slow sharing serves both paths.
    pub(super) fn one_sharing(mut self, other: Self) -> Self {
        let Self { world: World { mut paths, .. }, .. } = other;
        self.world.paths.insert(Path::Fast, paths.remove(&Path::Slow).unwrap());
        self
    }
}

impl<S: Instance> Sharings for Plain<S> {
    type Scheme = S;
    const PREDICTABLE: bool = S::VALUES_ONLY;

    fn committee(&self, path: Path) -> S::Committee {
        S::committee(&self.world.paths[&path], self.binding)
    }

    fn secret(&self, path: Path, party: Party) -> Option<S::Secret> {
        let held = self.world.weights[party.index()] > 0;
        held.then(|| S::secret(&self.world.paths[&path], party, self.binding)).flatten()
    }

    fn input(&self, message: &Message) -> S::Input {
        let value = (self.binding == Binding::Value).then_some(Value::new([message.number; 32]));
        S::input(&message.context, self.binding, message.slot, value).unwrap()
    }

    fn eval(&self, message: &Message) -> S::Output {
        let committee = S::committee(&self.whole, self.binding);
        let secret = S::secret(&self.whole, A, self.binding).unwrap();
        let input = self.input(message);
        let partials = BTreeMap::from([(A, S::evaluate(&secret, &input).unwrap())]);
        S::combine(&committee, &input, &partials).unwrap().output
    }
}

/// One that runs this algorithm.
pub(super) struct Running<S: Instance>(pub(super) Plain<S>, pub(super) Profile);

impl<S: Instance> Sharings for Running<S> {
    type Scheme = S;
    const PREDICTABLE: bool = Plain::<S>::PREDICTABLE;

    fn committee(&self, path: Path) -> S::Committee {
        self.0.committee(path)
    }

    fn secret(&self, path: Path, party: Party) -> Option<S::Secret> {
        self.0.secret(path, party)
    }

    fn input(&self, message: &Message) -> S::Input {
        self.0.input(message)
    }

    fn eval(&self, message: &Message) -> S::Output {
        self.0.eval(message)
    }
}

impl<S: Instance> Beacons for Running<S> {
    fn prefinalize(&self, party: Party, message: &Message) -> Vec<(Path, PartialOf<Self>)> {
        // The slots before it are another beacon's.
        let config = self.0.world.config(party, &self.1);
        let mut beacon = Beacon::new(Config { first: message.slot, ..config }, &[]).unwrap();
        let value = Value::new([message.number; 32]);
        let outputs = step(&mut beacon, ms(0), prefinalized(message.slot.get(), 0, value));
        let partials = sent(&outputs).into_iter().filter_map(|message| match message {
            prefinal_beacon::Message::Partial { path, partial, .. } => Some((path, partial)),
            _ => None,
        });
        partials.collect()
    }
}

/// What a content makes the input of a message.
fn contained<S: Function>(
    committee: &S::Committee,
    message: &Message,
    content: Content<S>,
) -> ContentInput<S> {
    S::Contents::contained(committee, &message.context, content).unwrap()
}

/// Slot decryption: a message is a ciphertext, its output the plaintext.
pub(super) struct Slots {
    holders: Holders,
    whole: Holders,
    /// The plaintext of every ciphertext.
    plaintext: &'static [u8],
}

impl Slots {
    pub(super) fn new(
        seed: u64,
        weights: &[u32],
        thresholds: [u32; 3],
        plaintext: &'static [u8],
    ) -> Self {
        let holders = Holders::new(seed, weights, thresholds);
        // The first thing that `Holders` draws is the secret.
        Self { holders, whole: Holders::new(seed, &[1], [1, 1, 1]), plaintext }
    }

    /// What a message is: the same for all committees of the key.
    pub(super) fn ciphertext(&self, message: &Message) -> Vec<u8> {
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(message.number));
        let label = Label::slot(&message.context, message.slot);
        let committee = self.committee(Path::Slow);
        let key = committee.holders().key();
        key.encrypt(&label, self.plaintext, &mut rng).unwrap().to_wire()
    }

    fn of(&self, committee: &BatchCommittee, message: &Message) -> ContentInput<Decryption> {
        let ciphertext = self.ciphertext(message);
        let (context, slot, value) = (&message.context, message.slot, [message.number; 32]);
        contained(committee, message, Batch::new(committee, context, slot, value, &[ciphertext]))
    }
}

impl Sharings for Slots {
    type Scheme = Decryption;

    fn committee(&self, path: Path) -> BatchCommittee {
        self.holders.committee(path)
    }

    fn secret(&self, path: Path, party: Party) -> Option<DecryptionKey> {
        Some(self.holders.secret(path, party))
    }

    fn input(&self, message: &Message) -> <Decryption as Function>::Input {
        self.of(&self.committee(Path::Slow), message).input
    }

    fn eval(&self, message: &Message) -> Plaintexts {
        let committee = self.whole.committee(Path::Slow);
        let input = self.of(&committee, message).input;
        let partial = Decryption::evaluate(&self.whole.secret(Path::Slow, A), &input).unwrap();
        Decryption::combine(&committee, &input, &BTreeMap::from([(A, partial)])).unwrap().output
    }
}

/// Certificates of states: what is shown is a statement of the application with its signers.
pub(super) struct States(pub(super) Plain<MultiSig>);

impl Sharings for States {
    type Scheme = StateSig;
    const PREDICTABLE: bool = true;

    fn committee(&self, path: Path) -> Electorate<MinSig> {
        self.0.committee(path)
    }

    fn secret(&self, path: Path, party: Party) -> Option<min_sig::SecretKey> {
        self.0.secret(path, party)
    }

    fn input(&self, message: &Message) -> <StateSig as Function>::Input {
        let Message { context, slot, number } = *message;
        let (value, root) = (Value::new([number; 32]), [number ^ 0xff; 32]);
        let electorate = self.committee(Path::Tight);
        let statement = StateStatement { context, slot, value, root };
        let content = StateRoot::new(&electorate, statement);
        contained::<StateSig>(&electorate, message, content).input
    }

    fn eval(&self, message: &Message) -> <StateSig as Function>::Output {
        let (electorate, input) = (self.committee(Path::Tight), self.input(message));
        let parties = [A, B, C, D].map(|party| {
            let secret = self.secret(Path::Tight, party).unwrap();
            (party, StateSig::evaluate(&secret, &input).unwrap())
        });
        StateSig::combine(&electorate, &input, &BTreeMap::from(parties)).unwrap().output
    }
}

/// Every party has its shares of another path than it believes: shares that nobody has checked.
pub(super) struct Torn<D>(pub(super) D);

impl<D: Sharings> Sharings for Torn<D> {
    type Scheme = D::Scheme;
    const PREDICTABLE: bool = D::PREDICTABLE;

    fn committee(&self, path: Path) -> <D::Scheme as Function>::Committee {
        self.0.committee(path)
    }

    fn secret(&self, path: Path, party: Party) -> Option<<D::Scheme as Scheme>::Secret> {
        let other = if path == Path::Slow { Path::Fast } else { Path::Slow };
        self.0.secret(other, party)
    }

    fn input(&self, message: &Message) -> <D::Scheme as Function>::Input {
        self.0.input(message)
    }

    fn eval(&self, message: &Message) -> <D::Scheme as Function>::Output {
        self.0.eval(message)
    }
}
