//! Evidence against the innocent, and the bytes of strangers.

use std::sync::Arc;

use ::prefinal_protocol::{Instant, Machine};
use prefinal_crypto_core::access::Party;

use super::faults::{bad_envelopes, envelopes};
use super::kinds::{Case, Kind, LARGE, rng};
use super::network;
use super::{one_key, simulate};
use crate::dkg::Dkg;
use crate::field::attacks::large::{CHUNK, SLOW_DEALER, Slow, VICTIM};
use crate::field::{self, LargeChunkError, TooLarge};
use crate::fixture;
use crate::protocol::envelope::{seal, split};
use crate::protocol::{
    Collect, Effect, EpochKey, Evidence, EvidenceError, Fault, Input, Keygen, Keys, Misdeed,
    Output, Position, Role,
};
use crate::shape::SharePath;

/// For each check of [`Evidence::verify`] what would pass without it.
pub(super) fn tampered<C: Case>(_: Kind<C>) {
    let world = C::world(1);
    let (blank, seats) = (&world.blank, &world.seats);
    let party = Party::new(LARGE);
    let large = &seats[2];
    let place = blank.owed(party)[0];
    let honest = envelopes(blank, LARGE, large, 1);
    let (said, dealing) = split(&honest[0]).unwrap();
    let fails = |evidence: Evidence| evidence.verify(blank).unwrap_err();
    // An honest dealing, an honest statement, an honest statement twice.
    let shown = Evidence::payload(said.clone(), dealing.to_vec());
    assert_eq!(fails(shown), EvidenceError::NoFault(party));
    assert_eq!(fails(Evidence::statement(said.clone())), EvidenceError::NoFault(party));
    let twice = Evidence::contradiction(said.clone(), said.clone());
    assert_eq!(fails(twice), EvidenceError::Consistent(party));
    // An honest statement with another payload than it is about.
    let shown = Evidence::payload(said.clone(), vec![0xff; dealing.len()]);
    assert_eq!(fails(shown), EvidenceError::Payload(party));
    // Statements that somebody else made up: alone, first and second of two.
    let eve = &seats[0].signer;
    let forged = seal(blank.session(), place, b"forged", eve);
    let forged = split(&forged).unwrap().0;
    let signature = EvidenceError::Signature(party);
    assert_eq!(fails(Evidence::statement(forged.clone())), signature);
    assert_eq!(fails(Evidence::contradiction(said.clone(), forged.clone())), signature);
    assert_eq!(fails(Evidence::contradiction(forged, said.clone())), signature);
    // What the party honestly said in another attempt, and about another party's place.
    let next = blank.next_attempt();
    let other = envelopes(&next, LARGE, large, 2);
    let other = split(&other[0]).unwrap().0;
    assert_eq!(fails(Evidence::contradiction(said.clone(), other)), EvidenceError::Session);
    let neighbour = envelopes(blank, 0, &seats[0], 3);
    let neighbour = split(&neighbour[0]).unwrap().0;
    let consistent = EvidenceError::Consistent(party);
    assert_eq!(fails(Evidence::contradiction(said.clone(), neighbour)), consistent);
    // Real evidence shows nothing in another session.
    for (name, bad) in bad_envelopes(&world) {
        let (statement, payload) = split(&bad).unwrap();
        let evidence = if ["Length", "Place"].contains(&name) {
            Evidence::statement(statement)
        } else {
            Evidence::payload(statement, payload.to_vec())
        };
        assert!(evidence.verify(blank).is_ok(), "{name}");
        assert_eq!(evidence.verify(&next), Err(EvidenceError::Session), "{name}");
    }
}

/// What the victim's machine says when a slow dealing makes its key: whom it accuses, and how many shares
/// it has.
fn opened_by_the_victim(slow: &Slow, blank: &Dkg<field::Dealing>) -> (Fault, Arc<Evidence>, usize) {
    let dealings = [(3, &slow.honest), (SLOW_DEALER, &slow.slow)];
    let envelopes = dealings.map(|(dealer, dealing)| {
        let place = blank.owed(Party::new(dealer))[0];
        seal(blank.session(), place, &dealing.to_bytes(), slow.committee.signer(dealer))
    });
    let victim = Party::new(VICTIM);
    let role = Role { dealer: None, recipient: Some(victim) };
    let mut keygen = Keygen::new(blank.clone(), role, Vec::new()).unwrap();
    for (position, envelope) in (0..).map(Position::new).zip(envelopes) {
        let message = Arc::from(envelope);
        keygen.handle(Instant::START, Input::Ordered { position, message });
    }
    let decryption = &mut Some(slow.committee.keys[victim.index()].copy());
    let signer = slow.committee.signer(VICTIM);
    let (mut accused, mut shares) = (Vec::new(), None);
    while let Some(output) = keygen.poll() {
        match output {
            Output::Do(Effect::Run(job)) => {
                let keys = &mut Keys { signer, decryption: &mut *decryption, held: &() };
                keygen.handle(Instant::START, Input::Checked(job.run(keys, &mut rng(1))));
            }
            Output::Do(Effect::Accuse { fault, evidence }) => accused.push((fault, evidence)),
            Output::Do(Effect::Ready(ready)) => shares = ready.shares,
            _ => {}
        }
    }
    assert!(decryption.is_none(), "used up");
    let [(fault, evidence)] = accused.try_into().unwrap();
    (fault, evidence, shares.unwrap().unwrap().slow.expose().len())
}

/// The victim accuses and has its shares; the evidence convinces others and is bound to dealing and
/// session.
#[test]
fn a_slow_dealer_is_accused_when_its_victim_opens() {
    let slow = Slow::new();
    let blank = Dkg::<field::Dealing>::new(Arc::clone(&slow.committee.config));
    let (fault, evidence, shares) = opened_by_the_victim(&slow, &blank);
    let (recipient, path) = (Party::new(VICTIM), SharePath::Slow);
    let misdeed = TooLarge { recipient, path, share: 0, chunk: CHUNK }.into();
    assert_eq!((&fault, shares), (&Fault { party: Party::new(SLOW_DEALER), misdeed }, 3));

    let bytes = evidence.to_bytes();
    let read = Evidence::from_bytes(blank.dealing_bytes(), &bytes).unwrap();
    assert_eq!((read.to_bytes(), read.verify(&blank)), (bytes.clone(), Ok(fault)));
    // Of the honest dealing, with a byte of the dealing or the mask changed, in another session.
    let read = |bytes: &[u8]| Evidence::from_bytes(blank.dealing_bytes(), bytes);
    let (head, mask) = (2 + 8, 4 + 4 + 48);
    let mut other = bytes[..head + mask].to_vec();
    other[2..head].copy_from_slice(&[0, 0, 0, 3, 0, 0, 0, 0]);
    other.extend_from_slice(&slow.honest.to_bytes());
    let shown = read(&other).unwrap().verify(&blank);
    assert_eq!(shown, Err(EvidenceError::Chunk(LargeChunkError::Mask)));
    let mut place = bytes.clone();
    place[5] = 3;
    let shown = read(&place).unwrap().verify(&blank);
    assert_eq!(shown, Err(EvidenceError::Payload(Party::new(3))));
    for at in [head, head + 7, head + mask + 150] {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        assert!(read(&changed).map_or(true, |one| one.verify(&blank).is_err()), "byte {at}");
    }
    let mut session = fixture::session();
    session.attempt = 1;
    let shape = fixture::shape(&fixture::WEIGHTS, fixture::SLOW, Some(fixture::FAST));
    let next = Dkg::<field::Dealing>::new(fixture::Committee::with(session, shape, 1).config);
    let foreign = EvidenceError::Signature(Party::new(SLOW_DEALER));
    assert_eq!(read(&bytes).unwrap().verify(&next), Err(foreign));
    for short in [0, 1, 2, head, head + mask, bytes.len() - 1] {
        assert!(read(&bytes[..short]).is_err());
    }
    assert!(read(&[&bytes[..], &[0]].concat()).is_err());
}

pub(super) fn encodings<C: Case>(_: Kind<C>) {
    let world = C::world(1);
    let dealing_bytes = world.blank.dealing_bytes();
    let [one, two] = [1, 2].map(|seed| envelopes(&world.blank, LARGE, &world.seats[2], seed));
    let (one, payload) = split(&one[0]).unwrap();
    let two = split(&two[0]).unwrap().0;
    let all = [
        Evidence::statement(one.clone()),
        Evidence::contradiction(one.clone(), two),
        Evidence::payload(one, payload.to_vec()),
    ];
    assert_eq!(all[1].verify(&world.blank).unwrap().misdeed, Misdeed::Contradiction);
    for evidence in all {
        let bytes = evidence.to_bytes();
        assert_eq!(Evidence::from_bytes(dealing_bytes, &bytes), Ok(evidence));
        for short in 0..bytes.len().min(300) {
            assert!(Evidence::from_bytes(dealing_bytes, &bytes[..short]).is_err());
        }
        let long = [bytes.as_slice(), &[0]].concat();
        assert!(Evidence::from_bytes(dealing_bytes, &long).is_err());
        for place in [0, 1] {
            let mut other = bytes.clone();
            other[place] = 9;
            assert!(Evidence::from_bytes(dealing_bytes, &other).is_err());
        }
    }
    epoch_key::<C>();
}

fn epoch_key<C: Case>() {
    let mut simulation = simulate(C::world(1), network());
    one_key(&mut simulation, &[]);
    let node = simulation.machine(prefinal_sim::Seat::new(0)).unwrap();
    let key = node.keygen.as_ref().unwrap().key().unwrap();
    let bytes = key.to_bytes();
    let (parties, shares) = (key.shape().access().len(), key.shape().access().total());
    let shares = usize::try_from(shares).unwrap();
    assert_eq!(bytes.len(), 223 + 36 * parties + 96 * shares * 2);
    let read = EpochKey::<C::Element>::from_bytes(&bytes).unwrap();
    assert_eq!(read, **key);
    assert_eq!(read.digest(), key.digest());
    for short in 0..bytes.len() {
        assert!(EpochKey::<C::Element>::from_bytes(&bytes[..short]).is_err(), "{short}");
    }
    assert!(EpochKey::<C::Element>::from_bytes(&[bytes.as_slice(), &[0]].concat()).is_err());
    // The kind, the purpose, then the number of parties: nothing is allocated for those who are not there.
    for (place, value) in [(1, 3), (2, 0), (2, 4), (67, 0xff)] {
        let mut other = bytes.clone();
        other[place] = value;
        assert!(EpochKey::<C::Element>::from_bytes(&other).is_err(), "{place}");
    }
}
