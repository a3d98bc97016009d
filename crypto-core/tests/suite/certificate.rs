//! Certificates in both variants, and what must not pass for one.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail as tests do"
)]

use std::collections::{BTreeMap, BTreeSet};

use prefinal_crypto_core::access::{Access, Party};
use prefinal_crypto_core::bls::{
    Domain, MinPk, MinSig, PublicKey, SecretKey, Signature, SignatureError, Variant, aggregate,
};
use prefinal_crypto_core::certificate::{
    AssembleError, Certificate, CertificateError, Elector, Electorate, ElectorateError, Signers,
    Statement, Stranger, Vote, VotesError,
};
use prefinal_crypto_core::curve::Scalar;
use prefinal_crypto_core::secret::Secret;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: u64 = 483;
const VOTE: Domain = Domain::new("test vote");
const TIMEOUT: Domain = Domain::new("test timeout");
const MISMATCH: CertificateError = CertificateError::Signature(SignatureError::Mismatch);

struct Committee<V: Variant> {
    secrets: Vec<SecretKey>,
    electorate: Electorate<V>,
}

type Votes<V> = BTreeMap<Party, Signature<V>>;

fn elector<V: Variant>(secret: &SecretKey, stake: u128) -> Elector<V> {
    let key = secret.public_key::<V>().verify_possession(&secret.prove_possession()).unwrap();
    Elector { key, stake }
}

fn secrets(count: usize) -> Vec<SecretKey> {
    println!("seed {SEED}");
    let mut rng = ChaCha20Rng::seed_from_u64(SEED);
    (0..count).map(|_| SecretKey::random(&mut rng)).collect()
}

fn secret(scalar: Scalar) -> SecretKey {
    SecretKey::from_secret_bytes(&Secret::new(scalar.to_bytes())).unwrap()
}

impl<V: Variant> Committee<V> {
    fn new(stakes: &[u128]) -> Self {
        Self::of(secrets(stakes.len()), stakes)
    }

    fn of(secrets: Vec<SecretKey>, stakes: &[u128]) -> Self {
        let electors = secrets.iter().zip(stakes).map(|(key, stake)| elector(key, *stake));
        let electorate = Electorate::more_than_two_thirds(electors.collect()).unwrap();
        Self { secrets, electorate }
    }

    fn sign(&self, party: usize, domain: Domain, message: &[u8]) -> Signature<V> {
        self.secrets[party].sign(domain, message)
    }

    fn votes(&self, parties: &[u32], message: &[u8]) -> Votes<V> {
        let vote =
            |&party: &u32| (Party::new(party), self.sign(Party::new(party).index(), VOTE, message));
        parties.iter().map(vote).collect()
    }

    fn assemble(&self, votes: &Votes<V>) -> Result<Certificate<V>, AssembleError> {
        let certificate = Certificate::assemble(&self.electorate, VOTE, b"m", votes)?;
        Ok(certificate.into_inner())
    }

    fn certificate(&self, parties: &[u32]) -> Certificate<V> {
        self.assemble(&self.votes(parties, b"m")).unwrap()
    }

    fn verify(&self, certificate: &Certificate<V>) -> Result<(), CertificateError> {
        certificate.verify(&self.electorate, VOTE, b"m").map(|_| ())
    }

    fn signers(&self, parties: &[u32]) -> Signers {
        Signers::new(self.secrets.len(), parties.iter().copied().map(Party::new)).unwrap()
    }
}

fn parties(signers: &Signers) -> Vec<u32> {
    signers.iter().map(Party::get).collect()
}

fn culprits(numbers: &[u32]) -> AssembleError {
    let culprits = numbers.iter().copied().map(Party::new).collect();
    VotesError::Faulty { culprits }.into()
}

/// Bits as they are, whatever they mean.
fn bitmap(bytes: &[u8]) -> Signers {
    borsh::from_slice(&borsh::to_vec(bytes).unwrap()).unwrap()
}

suite! {
    every_quorum_certifies_and_no_other_set
    a_certificate_is_for_one_message_domain_and_set
    bitmaps_that_do_not_fit_are_refused
    stake_is_counted_exactly_up_to_128_bits
    electorates_that_cannot_count_are_refused
    culprits_are_named
    votes_whose_errors_cancel_are_all_named_or_all_good_in_sum
    keys_that_cancel_name_their_owners
    several_statements_make_one_certificate
    votes_for_several_statements_add_up
    a_certificate_has_one_encoding
    an_electorates_digest_tells_keys_stakes_and_quorums_apart
    a_certificate_of_another_electorate_is_none
}

fn every_quorum_certifies_and_no_other_set<V: Variant>() {
    let stakes = [5, 1, 0, 7, 3];
    let committee = Committee::<V>::new(&stakes);
    let (total, quorum) = (committee.electorate.total(), committee.electorate.quorum());
    assert_eq!((total, quorum), (16, 11));
    for set in 0..32_u32 {
        let members: Vec<u32> = (0..5).filter(|i| set >> i & 1 == 1).collect();
        let got: u128 = (0..5).filter(|i| set >> i & 1 == 1).map(|i| stakes[i]).sum();
        match committee.assemble(&committee.votes(&members, b"m")) {
            Ok(certificate) => {
                assert!(got >= quorum);
                assert_eq!(parties(&certificate.signers), members);
                assert_eq!(committee.verify(&certificate), Ok(()));
            }
            Err(error) => {
                assert!(got < quorum);
                assert_eq!(error, AssembleError::BelowQuorum { got, need: quorum });
            }
        }
    }
}

fn a_certificate_is_for_one_message_domain_and_set<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 9]);
    let good = committee.certificate(&[0, 1, 2, 4, 5, 7, 8]);
    let verify = |domain, message| good.verify(&committee.electorate, domain, message).map(|_| ());
    assert_eq!(verify(VOTE, b"m"), Ok(()));
    assert_eq!(verify(VOTE, b"n"), Err(MISMATCH));
    assert_eq!(verify(TIMEOUT, b"m"), Err(MISMATCH));
    for claimed in [&[0, 1, 2, 3, 4, 5, 7, 8][..], &[0, 1, 2, 3, 4, 5, 7], &[1, 2, 3, 4, 5, 7, 8]] {
        let signers = committee.signers(claimed);
        assert_eq!(committee.verify(&Certificate { signers, ..good.clone() }), Err(MISMATCH));
    }
    let few = Certificate { signers: committee.signers(&[0, 1, 2, 4, 5, 7]), ..good.clone() };
    let below = CertificateError::BelowQuorum { got: 6, need: 7 };
    assert_eq!(committee.verify(&few), Err(below));
    let signature = committee.sign(0, VOTE, b"m");
    assert_eq!(committee.verify(&Certificate { signature, ..good }), Err(MISMATCH));
}

fn bitmaps_that_do_not_fit_are_refused<V: Variant>() {
    for size in [1_usize, 4, 7, 8, 9, 16, 17] {
        let committee = Committee::<V>::new(&vec![1; size]);
        let all: Vec<u32> = (0..17).take(size).collect();
        let good = committee.certificate(&all);
        assert_eq!(good.signers.as_bytes().len(), size.div_ceil(8));
        assert_eq!((good.signers.len(), good.signers.is_empty()), (size, false));
        let bytes = good.signers.as_bytes().to_vec();
        let mut wrong = vec![bytes[1..].to_vec(), [&bytes[..], &[0]].concat(), vec![]];
        if size % 8 != 0 {
            let mut beyond = bytes.clone();
            *beyond.last_mut().unwrap() |= 1 << (size % 8);
            wrong.push(beyond);
        }
        for bytes in wrong {
            let error = CertificateError::Bitmap { got: bytes.len(), parties: size };
            let forged = Certificate { signers: bitmap(&bytes), ..good.clone() };
            assert_eq!(committee.verify(&forged), Err(error), "{size} {bytes:?}");
        }
        let none = Certificate { signers: bitmap(&vec![0; size.div_ceil(8)]), ..good };
        let error = CertificateError::Signature(SignatureError::NoSigners);
        assert_eq!(committee.verify(&none), Err(error));
        let stranger = Stranger { party: Party::new(17), parties: size };
        assert_eq!(Signers::new(size, [Party::new(0), Party::new(17)]), Err(stranger));
    }
}

fn stake_is_counted_exactly_up_to_128_bits<V: Variant>() {
    let half = u128::MAX / 2;
    let committee = Committee::<V>::new(&[half, half, 1]);
    assert_eq!(committee.electorate.total(), u128::MAX);
    let need = committee.electorate.quorum();
    assert_eq!(need, u128::MAX / 3 * 2 + 1);
    let error = committee.assemble(&committee.votes(&[0, 2], b"m")).unwrap_err();
    assert_eq!(error, AssembleError::BelowQuorum { got: half + 1, need });
    assert_eq!(committee.verify(&committee.certificate(&[0, 1])), Ok(()));

    let electors: Vec<Elector<V>> = secrets(3)
        .iter()
        .zip([u128::MAX - 1, 1, 1])
        .map(|(key, stake)| elector(key, stake))
        .collect();
    let overflow = ElectorateError::Overflow { at: Party::new(2) };
    assert_eq!(Electorate::more_than_two_thirds(electors).unwrap_err(), overflow);
}

fn electorates_that_cannot_count_are_refused<V: Variant>() {
    let keys = secrets(3);
    let electors = |stakes: [u128; 3]| -> Vec<Elector<V>> {
        keys.iter().zip(stakes).map(|(key, stake)| elector(key, stake)).collect()
    };
    let refused = |electors| Electorate::more_than_two_thirds(electors).unwrap_err();
    assert_eq!(refused(vec![]), ElectorateError::Size { got: 0, max: Access::MAX });
    assert_eq!(refused(electors([0, 0, 0])), ElectorateError::NoStake);
    let mut twins = electors([1, 2, 3]);
    twins[2].key = twins[0].key;
    let repeated = ElectorateError::RepeatedKey { at: Party::new(2), earlier: Party::new(0) };
    assert_eq!(refused(twins), repeated);
    for quorum in [0, 7, u128::MAX] {
        let error = Electorate::with_quorum(electors([1, 2, 3]), quorum).unwrap_err();
        assert_eq!(error, ElectorateError::Quorum { quorum, total: 6 });
    }
    for quorum in [1, 6] {
        let electorate = Electorate::with_quorum(electors([1, 2, 3]), quorum).unwrap();
        assert_eq!(electorate.quorum(), quorum);
    }
}

fn culprits_are_named<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 10]);
    let all: Vec<u32> = (0..10).collect();
    let sound = committee.votes(&all, b"m");
    for faults in [&[0][..], &[9], &[3, 4], &[0, 4, 9], &all] {
        let mut votes = sound.clone();
        votes.extend(committee.votes(faults, b"other"));
        assert_eq!(committee.assemble(&votes), Err(culprits(faults)));
    }
    // Another's vote is no vote.
    let mut votes = sound.clone();
    votes.insert(Party::new(3), sound[&Party::new(4)]);
    assert_eq!(committee.assemble(&votes), Err(culprits(&[3])));
    // Nor is a proof of possession.
    let key: PublicKey<V> = committee.secrets[3].public_key();
    let proof = committee.secrets[3].prove_possession::<V>();
    let replayed = Signature::from_bytes(proof.to_bytes().as_ref()).unwrap();
    let votes = BTreeMap::from([(Party::new(3), replayed)]);
    let message = key.to_bytes();
    let vote = |(&party, &signature)| (party, Vote { message: message.as_ref(), signature });
    let votes = votes.iter().map(vote).collect();
    let found = committee.electorate.culprits(VOTE, &votes);
    assert_eq!(found, Ok(BTreeSet::from([Party::new(3)])));

    let mut votes = sound;
    votes.insert(Party::new(10), committee.sign(0, VOTE, b"m"));
    let stranger = Stranger { party: Party::new(10), parties: 10 };
    let error = AssembleError::Votes(VotesError::Stranger(stranger));
    assert_eq!(committee.assemble(&votes), Err(error));
}

fn votes_whose_errors_cancel_are_all_named_or_all_good_in_sum<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 4]);
    let sound = committee.votes(&[0, 1, 2, 3], b"m");
    let expected = committee.assemble(&sound).unwrap();
    // Two parties shift their votes by H(n)^x and H(n)^-x: the sum is that of good votes, so the
    // certificate is good as well.
    let x = Scalar::from_u64(7);
    let mut votes = sound;
    for (party, shift) in [(1, secret(x)), (2, secret(-x))] {
        let vote = votes.get_mut(&Party::new(party)).unwrap();
        *vote = aggregate([&*vote, &shift.sign(VOTE, b"n")]).unwrap();
    }
    assert_eq!(committee.assemble(&votes).unwrap(), expected);
    // But with a third fault both are found.
    votes.insert(Party::new(3), committee.sign(3, TIMEOUT, b"m"));
    assert_eq!(committee.assemble(&votes), Err(culprits(&[1, 2, 3])));
}

fn keys_that_cancel_name_their_owners<V: Variant>() {
    let x = Scalar::from_u64(0xbad);
    let mut keys = secrets(3);
    keys.push(secret(x));
    keys.push(secret(-x));
    let committee = Committee::<V>::of(keys, &[1, 1, 1, 5, 5]);
    let error = committee.assemble(&committee.votes(&[3, 4], b"m")).unwrap_err();
    assert_eq!(error, culprits(&[3, 4]));
    let forged = Certificate {
        signers: committee.signers(&[3, 4]),
        signature: committee.sign(3, VOTE, b"m"),
    };
    let cancel = CertificateError::Signature(SignatureError::KeysCancel);
    assert_eq!(committee.verify(&forged), Err(cancel));
    // Together with anybody else they do not cancel.
    assert_eq!(committee.verify(&committee.certificate(&[0, 3, 4])), Ok(()));
}

fn several_statements_make_one_certificate<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 7]);
    let messages: [&[u8]; 2] = [b"my certificate is of 3", b"my certificate is of 4"];
    let sides = [committee.signers(&[0, 2, 3]), committee.signers(&[1, 6])];
    let signed = (0..7).filter(|party| ![4, 5].contains(party)).map(|party| {
        let side = usize::from([1, 6].contains(&party));
        committee.sign(party, TIMEOUT, messages[side])
    });
    let signature = aggregate(&signed.collect::<Vec<_>>()).unwrap();
    let verify = |statements: &[(usize, &Signers)]| {
        let statement =
            |&(message, signers): &(usize, _)| Statement { message: messages[message], signers };
        let statements: Vec<_> = statements.iter().map(statement).collect();
        committee.electorate.verify(TIMEOUT, &statements, &signature)
    };
    let below = |got| Err(CertificateError::BelowQuorum { got, need: 5 });
    assert_eq!(verify(&[(0, &sides[0]), (1, &sides[1])]), Ok(()));
    assert_eq!(verify(&[(1, &sides[1]), (0, &sides[0])]), Ok(()));
    assert_eq!(verify(&[(0, &sides[1]), (1, &sides[0])]), Err(MISMATCH));
    assert_eq!(verify(&[(0, &sides[0])]), below(3));
    assert_eq!(verify(&[]), below(0));
    let twice = CertificateError::SignedTwice { party: Party::new(2) };
    let overlap = committee.signers(&[1, 2, 6]);
    assert_eq!(verify(&[(0, &sides[0]), (1, &overlap)]), Err(twice));
    let empty = committee.signers(&[]);
    let nobody = CertificateError::Signature(SignatureError::NoSigners);
    assert_eq!(verify(&[(0, &sides[0]), (1, &sides[1]), (1, &empty)]), Err(nobody));
}

fn votes_for_several_statements_add_up<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 6]);
    let messages: [&[u8]; 2] = [b"3", b"4"];
    let vote = |party: usize| Vote {
        message: messages[party % 2],
        signature: committee.sign(party, TIMEOUT, messages[party % 2]),
    };
    let mut votes: BTreeMap<Party, Vote<'_, V>> =
        (0_u32..).map(Party::new).zip((0..6).map(vote)).collect();
    let sum = committee.electorate.add_up(TIMEOUT, &votes).unwrap();
    let sides = [committee.signers(&[0, 2, 4]), committee.signers(&[1, 3, 5])];
    let statements: Vec<_> = messages
        .iter()
        .zip(&sides)
        .map(|(message, signers)| Statement { message, signers })
        .collect();
    assert_eq!(committee.electorate.verify(TIMEOUT, &statements, &sum), Ok(()));
    // A party that says one thing and signs another.
    votes.get_mut(&Party::new(5)).unwrap().message = messages[0];
    let faulty = VotesError::Faulty { culprits: BTreeSet::from([Party::new(5)]) };
    assert_eq!(committee.electorate.add_up(TIMEOUT, &votes), Err(faulty));
    let none = committee.electorate.add_up(TIMEOUT, &BTreeMap::new());
    assert_eq!(none, Err(VotesError::NoVotes));
}

fn a_certificate_has_one_encoding<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 9]);
    let certificate = committee.certificate(&[0, 1, 2, 3, 4, 5, 8]);
    let bytes = borsh::to_vec(&certificate).unwrap();
    assert_eq!(bytes[..6], [2, 0, 0, 0, 0b11_1111, 1]);
    assert_eq!(bytes[6..], *certificate.signature.to_bytes().as_ref());
    assert_eq!(borsh::from_slice::<Certificate<V>>(&bytes).unwrap(), certificate);
    for cut in 0..bytes.len() {
        assert!(borsh::from_slice::<Certificate<V>>(&bytes[..cut]).is_err(), "{cut}");
    }
    assert!(borsh::from_slice::<Certificate<V>>(&[&bytes[..], &[0]].concat()).is_err());
    let mut huge = bytes.clone();
    huge[..4].fill(0xff);
    assert!(borsh::from_slice::<Certificate<V>>(&huge).is_err());
    let longest = usize::try_from(Access::MAX).unwrap() / 8;
    assert!(borsh::from_slice::<Signers>(&borsh::to_vec(&vec![1_u8; longest]).unwrap()).is_ok());
    let longer = borsh::to_vec(&vec![1_u8; longest + 1]).unwrap();
    assert!(borsh::from_slice::<Signers>(&longer).is_err());
    let mut infinity = bytes;
    infinity[6..].fill(0);
    infinity[6] = 0xc0;
    assert!(borsh::from_slice::<Certificate<V>>(&infinity).is_err());
}

fn an_electorates_digest_tells_keys_stakes_and_quorums_apart<V: Variant>() {
    let keys = secrets(3);
    let id = |order: [usize; 3], stakes: [u128; 3], quorum: u128| {
        let electors = order.iter().zip(stakes).map(|(at, stake)| elector::<V>(&keys[*at], stake));
        Electorate::with_quorum(electors.collect(), quorum).unwrap().id()
    };
    let ids = [
        id([0, 1, 2], [1, 2, 3], 5),
        id([0, 1, 2], [1, 2, 3], 6),
        id([0, 1, 2], [1, 3, 2], 5),
        id([1, 0, 2], [1, 2, 3], 5),
    ];
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
    assert_eq!(id([0, 1, 2], [1, 2, 3], 5), ids[0]);
}

fn a_certificate_of_another_electorate_is_none<V: Variant>() {
    let committee = Committee::<V>::new(&[1; 4]);
    let good = committee.certificate(&[0, 1, 2]);
    let mut reordered = secrets(4);
    reordered.swap(0, 3);
    let other = Committee::<V>::of(reordered, &[1; 4]);
    assert_eq!(other.verify(&good), Err(MISMATCH));
    let larger = Committee::<V>::new(&[1; 5]);
    let below = CertificateError::BelowQuorum { got: 3, need: 4 };
    assert_eq!(larger.verify(&good), Err(below));
}

#[test]
fn a_certificate_of_one_variant_does_not_decode_as_the_other() {
    let small = borsh::to_vec(&Committee::<MinSig>::new(&[1; 4]).certificate(&[0, 1, 2])).unwrap();
    let large = borsh::to_vec(&Committee::<MinPk>::new(&[1; 4]).certificate(&[0, 1, 2])).unwrap();
    assert!(borsh::from_slice::<Certificate<MinPk>>(&small).is_err());
    assert!(borsh::from_slice::<Certificate<MinSig>>(&large).is_err());
}
