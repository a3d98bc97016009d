//! The three kinds of keys with a small committee each. Five parties deal, one of them without shares;
//! two of them, or the largest, hold less than a third of stake.

use std::marker::PhantomData;
use std::sync::{Arc, LazyLock};

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, min_sig};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_crypto_core::curve::G2Affine;
use prefinal_crypto_core::curve::hazmat::check_pairing_product;
use prefinal_crypto_core::generators::{g_hat, h};
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::Purpose;
use prefinal_weighted_rounding::{Ratio, Stake};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use super::chain::{Insider, World};
use crate::aggregate::Shares;
use crate::config::{Config, Dealer, Member, Session};
use crate::deal::{Author, Openings};
use crate::dealing::Dealing;
use crate::dkg::Dkg;
use crate::field::deal::{Witness, publish};
use crate::field::layout::Layout;
use crate::field::{self, Handover};
use crate::fixture::shape;
use crate::key::DecryptionKey;
use crate::protocol::{Collect, EpochKey, Place, Role};
use crate::shape::SharePath;
use crate::{OtherPurpose, PurposeError};

pub(super) type GroupKind = Dkg<Dealing>;
pub(super) type FieldKind = Dkg<field::Dealing>;
pub(super) type HandoverKind = Handover;

/// Says which kind a test is for.
pub(super) struct Kind<C>(PhantomData<C>);

pub(super) const GROUP: Kind<GroupKind> = Kind(PhantomData);
pub(super) const FIELD: Kind<FieldKind> = Kind(PhantomData);
pub(super) const HANDOVER: Kind<HandoverKind> = Kind(PhantomData);

/// The largest dealer, and two small ones.
pub(super) const LARGE: u32 = 2;
pub(super) const SMALL: [u32; 2] = [1, 4];

/// The epoch of the key that is handed over in the next one.
const FIRST: u64 = 3;
const STAKES: [u128; 5] = [25, 10, 30, 15, 20];
const WEIGHTS: [u32; 5] = [2, 0, 3, 1, 2];
const NEXT_WEIGHTS: [u32; 4] = [1, 3, 0, 2];

/// What tests need to know of a kind.
pub(super) trait Case: Collect + 'static {
    fn world(seed: u64) -> World<Self>;
    /// A dealing that its dealer has signed and that fails an equation.
    fn false_dealing(&self, place: Place, insider: &Insider<Self>) -> Vec<u8>;
    /// The collector of the next attempt with the same committee.
    fn next_attempt(&self) -> Self;
    /// The collector that differs in what the key is for and in nothing else.
    fn other_purpose(&self) -> Self;
    fn check_shares(key: &EpochKey<Self::Element>, shares: &Self::Shares, party: Party);
    /// What must hold of the key itself.
    fn check_key(&self, key: &EpochKey<Self::Element>);
}

pub(super) fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

struct Person {
    signer: min_sig::SecretKey,
    decryption: DecryptionKey,
}

/// The same people in every epoch, each time with fresh decryption keys.
fn people(count: usize, epoch: u64) -> Vec<Person> {
    let (mut signers, mut keys) = (rng(0), rng(1000 + epoch));
    let mut person = || {
        let signer = min_sig::SecretKey::random(&mut signers);
        Person { signer, decryption: DecryptionKey::random(&mut keys) }
    };
    (0..count).map(|_| person()).collect()
}

fn member(person: &Person, stake: u128) -> Member {
    let public = person.signer.public_key();
    let registration = person.decryption.register(&person.signer, &mut rng(1));
    Member {
        stake: Stake::new(stake),
        encryption: registration.verify(&public).unwrap(),
        signer: public.verify_possession(&person.signer.prove_possession()).unwrap(),
    }
}

fn session(epoch: u64, attempt: u32) -> Session {
    let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(epoch) };
    Session { context, attempt, purpose: crate::Purpose::Randomness }
}

/// Of the same epoch and attempt.
fn for_decryption(session: Session) -> Session {
    Session { purpose: crate::Purpose::Decryption, ..session }
}

fn config(attempt: u32) -> Config {
    config_of(session(FIRST, attempt))
}

fn config_of(session: Session) -> Config {
    let people = people(5, FIRST);
    let members = people.iter().zip(STAKES).map(|(person, stake)| member(person, stake));
    let more_than = Config::more_than(Ratio::ONE_THIRD, STAKES.map(Stake::new)).unwrap();
    assert_eq!(more_than, Stake::new(33));
    Config::new(session, shape(&WEIGHTS, 4, Some(6)), members.collect(), more_than).unwrap()
}

fn insiders<C: Collect<DealerInput = ()>>() -> Vec<Insider<C>> {
    let people = people(5, FIRST).into_iter().zip((0..).map(Party::new));
    let insider = |(person, party): (Person, Party)| Insider {
        role: Role { dealer: Some(party), recipient: Some(party) },
        signer: person.signer,
        decryption: person.decryption,
        held: (),
    };
    people.map(insider).collect()
}

impl Case for GroupKind {
    fn world(seed: u64) -> World<Self> {
        World::new(Self::new(Arc::new(config(0))), insiders(), seed)
    }

    fn false_dealing(&self, place: Place, insider: &Insider<Self>) -> Vec<u8> {
        let config = Collect::config(self);
        let openings = Openings::random(config, &mut rng(5));
        let mut body = openings.commit(config);
        body.slow.ciphertexts.swap(0, 1);
        let author = Author { config, party: place.dealer, signer: &insider.signer };
        author.publish(body, &openings, &mut rng(6)).to_bytes()
    }

    fn next_attempt(&self) -> Self {
        Self::new(Arc::new(self::config(1)))
    }

    fn other_purpose(&self) -> Self {
        Self::new(Arc::new(config_of(for_decryption(session(FIRST, 0)))))
    }

    fn check_shares(key: &EpochKey<Self::Element>, shares: &Shares, party: Party) {
        let range = key.shape().access().range(party);
        for (path, own) in
            [(SharePath::Slow, &shares.slow), (SharePath::Fast, shares.fast.as_ref().unwrap())]
        {
            let public = &key.public_shares(path).unwrap()[range.clone()];
            assert_eq!(own.expose().len(), public.len());
            for (share, public) in own.expose().iter().zip(public) {
                assert_eq!(check_pairing_product([(*share, g_hat()), (-h(), *public)]), Ok(()));
            }
        }
    }

    fn check_key(&self, key: &EpochKey<Self::Element>) {
        let committees = key.evaluation().unwrap();
        assert_eq!(committees.slow.threshold().t().get(), 4);
        assert_eq!(committees.fast.unwrap().threshold().t().get(), 6);
    }
}

fn check_field_shares(
    key: &EpochKey<crate::protocol::Field>,
    shares: &field::Shares,
    party: Party,
) {
    let range = key.shape().access().range(party);
    for (path, own) in
        [(SharePath::Slow, &shares.slow), (SharePath::Fast, shares.fast.as_ref().unwrap())]
    {
        let public = &key.public_shares(path).unwrap()[range.clone()];
        assert_eq!(own.expose().len(), public.len());
        for (share, public) in own.expose().iter().zip(public) {
            assert_eq!(G2Affine::from(G2Affine::generator() * share), *public);
        }
    }
    let committees = key.signing(Purpose::Rounds).unwrap();
    if !range.is_empty() {
        assert!(shares.signing(party, &committees).is_ok());
    }
    // It is one key and does one thing.
    let made = crate::Purpose::Randomness;
    let refused = |asked| PurposeError::Other(OtherPurpose { made, asked });
    assert_eq!(key.decryption().unwrap_err(), refused(crate::Purpose::Decryption));
    let messages = Purpose::Messages(Domain::new("kinds test"));
    assert_eq!(key.signing(messages).unwrap_err(), refused(crate::Purpose::Certificates));
}

impl Case for FieldKind {
    fn world(seed: u64) -> World<Self> {
        World::new(Self::new(Arc::new(config(0))), insiders(), seed)
    }

    fn false_dealing(&self, place: Place, insider: &Insider<Self>) -> Vec<u8> {
        let config = Collect::config(self);
        let layout = Layout::new(config);
        let witness = Witness::random(config, &layout, &mut rng(5));
        let mut body = witness.encrypt(&layout);
        body.ciphertexts.swap(0, 1);
        let author = Author { config, party: place.dealer, signer: &insider.signer };
        witness.publish(&author, body, None, &mut rng(6)).unwrap().to_bytes()
    }

    fn next_attempt(&self) -> Self {
        Self::new(Arc::new(self::config(1)))
    }

    fn other_purpose(&self) -> Self {
        Self::new(Arc::new(config_of(for_decryption(session(FIRST, 0)))))
    }

    fn check_shares(key: &EpochKey<Self::Element>, shares: &field::Shares, party: Party) {
        check_field_shares(key, shares, party);
    }

    fn check_key(&self, _: &EpochKey<Self::Element>) {}
}

/// The key before, as the chain stores it, and everybody's shares of it.
struct Before {
    key: EpochKey<crate::protocol::Field>,
    shares: Vec<field::Shares>,
}

static BEFORE: LazyLock<Before> = LazyLock::new(|| {
    let config = Arc::new(config(0));
    let mut dkg = Dkg::<field::Dealing>::new(Arc::clone(&config));
    let people = people(5, FIRST);
    for dealer in [0, 3] {
        let signer = &people[usize::try_from(dealer).unwrap()].signer;
        let dealing = field::deal(&config, Party::new(dealer), signer, &mut rng(9)).unwrap();
        dkg.add(Arc::new(field::verify(&config, dealing).unwrap())).unwrap();
    }
    let key = dkg.key().unwrap();
    let parties = config.shape().access().parties().zip(&people);
    let open = |(party, person): (Party, &Person)| {
        key.decrypt(&config, party, person.decryption.copy()).unwrap().shares
    };
    Before { shares: parties.map(open).collect(), key: dkg.epoch_key(&key) }
});

impl Before {
    fn shares_of(&self, party: Party) -> field::Shares {
        let shares = &self.shares[party.index()];
        let copy = |list: &Secret<Vec<_>>| Secret::new(list.expose().clone());
        field::Shares { slow: copy(&shares.slow), fast: shares.fast.as_ref().map(copy) }
    }
}

/// Old parties 1, 2 and 3 stay and become 0, 1 and 2; number 5 is new.
fn handover(attempt: u32) -> Handover {
    // The chain keeps bytes.
    handover_of(session(FIRST + 1, attempt), &BEFORE.key.to_bytes())
}

fn handover_of(session: Session, before: &[u8]) -> Handover {
    let people = people(6, FIRST + 1);
    let dealer = |(person, stake): (&Person, u128)| {
        let Member { stake, signer, .. } = member(person, stake);
        Dealer { stake, signer }
    };
    let dealers = people.iter().zip(STAKES).map(dealer).collect();
    let members = [1, 2, 3, 5].map(|seat: usize| member(&people[seat], 10)).to_vec();
    let shape = shape(&NEXT_WEIGHTS, 3, Some(5));
    let config = Config::handover(session, shape, members, dealers, Stake::new(33));
    let before = EpochKey::from_bytes(before).unwrap();
    Handover::new(Arc::new(config.unwrap()), before.predecessor()).unwrap()
}

impl Case for HandoverKind {
    fn world(seed: u64) -> World<Self> {
        let insider = |(seat, person): (u32, Person)| {
            let dealer = (seat < 5).then_some(Party::new(seat));
            let recipient = [1, 2, 3, 5].iter().zip(0..).find(|(old, _)| **old == seat);
            let none = || Secret::new(Vec::new());
            Insider {
                role: Role { dealer, recipient: recipient.map(|(_, new)| Party::new(new)) },
                signer: person.signer,
                decryption: person.decryption,
                held: dealer.map_or_else(
                    || field::Shares { slow: none(), fast: None },
                    |dealer| BEFORE.shares_of(dealer),
                ),
            }
        };
        let seats = (0..).zip(people(6, FIRST + 1)).map(insider).collect();
        World::new(handover(0), seats, seed)
    }

    /// Another secret in the place of its share.
    fn false_dealing(&self, place: Place, insider: &Insider<Self>) -> Vec<u8> {
        let config = Collect::config(self);
        let witness = Witness::random(config, &Layout::new(config), &mut rng(5));
        let author = Author { config, party: place.dealer, signer: &insider.signer };
        let share = Some((place.share.unwrap(), &self.before().digest));
        publish(&author, &witness, share, &mut rng(6)).unwrap().to_bytes()
    }

    fn next_attempt(&self) -> Self {
        handover(1)
    }

    /// Somebody claims that the key before was for something else.
    fn other_purpose(&self) -> Self {
        let mut before = BEFORE.key.to_bytes();
        before[2] = crate::Purpose::Decryption.tag();
        handover_of(for_decryption(session(FIRST + 1, 0)), &before)
    }

    fn check_shares(key: &EpochKey<Self::Element>, shares: &field::Shares, party: Party) {
        check_field_shares(key, shares, party);
    }

    fn check_key(&self, key: &EpochKey<Self::Element>) {
        assert_eq!(key.public_key(), BEFORE.key.public_key());
        assert_ne!(key.name(), BEFORE.key.name());
    }
}
