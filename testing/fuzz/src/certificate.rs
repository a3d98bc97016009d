//! Certificates, from bytes to a statement of a quorum: what verifies is the sum of honest votes, and
//! exactly those whose vote is wrong are named.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::{Domain, MinSig, SecretKey, Signature, aggregate};
use prefinal_crypto_core::certificate::{
    AssembleError, Certificate, Elector, Electorate, Signers, VotesError,
};
use prefinal_crypto_core::curve::G1;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

use crate::partials::{Encodings, Forgery, wrong};

const STAKES: [u128; 9] = [5, 0, 1, 3, 2, 2, 4, 1, 7];
const DOMAIN: Domain = Domain::new("fuzz");
const MESSAGE: &[u8] = b"message";

struct World {
    electorate: Electorate<MinSig>,
    honest: Encodings,
    votes: BTreeMap<Party, Signature<MinSig>>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let keys: Vec<SecretKey> = STAKES.iter().map(|_| SecretKey::random(&mut rng)).collect();
    let electors = keys.iter().zip(STAKES).map(|(key, stake)| {
        let proof = key.prove_possession::<MinSig>();
        Elector { key: key.public_key().verify_possession(&proof).unwrap(), stake }
    });
    let electorate = Electorate::more_than_two_thirds(electors.collect()).unwrap();
    let sign = |message: &[u8]| -> BTreeMap<Party, Signature<MinSig>> {
        let votes = keys.iter().map(|key| key.sign(DOMAIN, message));
        (0..).map(Party::new).zip(votes).collect()
    };
    let encode = |votes: BTreeMap<Party, Signature<MinSig>>| {
        votes.into_iter().map(|(party, vote)| (party, vote.to_bytes().to_vec())).collect()
    };
    let honest =
        Encodings { right: encode(sign(MESSAGE)), elsewhere: encode(sign(b"other")), header: 0 };
    World { electorate, honest, votes: sign(MESSAGE) }
});

pub(crate) fn run(input: (Vec<(u8, Forgery)>, Vec<u8>, Option<u8>)) {
    let (sent, bitmap, vote) = input;
    assemble(&sent);
    verify(bitmap, vote);
}

fn assemble(sent: &[(u8, Forgery)]) {
    let World { electorate, honest, votes: right } = &*WORLD;
    let votes: BTreeMap<Party, Signature<MinSig>> = honest.received::<G1, _>(sent);
    let strangers = votes.keys().any(|party| !right.contains_key(party));
    let stake: u128 =
        votes.keys().filter_map(|party| electorate.elector(*party)).map(|one| one.stake).sum();
    let wrong = wrong(honest, &votes);
    match Certificate::assemble(electorate, DOMAIN, MESSAGE, &votes) {
        Ok(certificate) => {
            // Errors may cancel; then the sum is that of honest votes all the same.
            assert!(!strangers && stake >= electorate.quorum());
            let sum = aggregate(votes.keys().map(|party| &right[party])).unwrap();
            assert!(certificate.signature == sum);
            certificate.verify(electorate, DOMAIN, MESSAGE).unwrap();
        }
        Err(AssembleError::BelowQuorum { got, .. }) => {
            assert!(got == stake && stake < electorate.quorum());
        }
        Err(AssembleError::Votes(VotesError::Stranger(_))) => assert!(strangers),
        Err(AssembleError::Votes(VotesError::Faulty { culprits })) => assert_eq!(culprits, wrong),
        Err(other) => panic!("{other}"),
    }
}

/// A bitmap of any bytes with a sum that is right for its members, or for one more or less.
fn verify(bitmap: Vec<u8>, vote: Option<u8>) {
    let World { electorate, votes, .. } = &*WORLD;
    let mut bytes = borsh::to_vec(&bitmap).unwrap();
    let Ok(signers) = borsh::from_slice::<Signers>(&bytes) else { return };
    let mut members: Vec<Party> = signers.iter().collect();
    if let Some(vote) = vote {
        members.push(Party::new((vote % 9).into()));
    }
    let Ok(sum) = aggregate(members.iter().filter_map(|party| votes.get(party))) else { return };
    bytes.extend(sum.to_bytes());
    let certificate: Certificate<MinSig> = borsh::from_slice(&bytes).unwrap();
    assert_eq!(borsh::to_vec(&certificate).unwrap(), bytes);
    let fits = bitmap.len() == 2 && members.iter().all(|party| votes.contains_key(party));
    let enough = electorate.stake_of(&signers) >= electorate.quorum();
    let verdict = certificate.verify(electorate, DOMAIN, MESSAGE);
    assert_eq!(verdict.is_ok(), fits && enough && vote.is_none(), "{verdict:?}");
}
