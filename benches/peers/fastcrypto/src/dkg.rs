//! Its interactive key generation beside our public one.
//!
//! A dealer there encrypts to each party what that party alone can check; who got a bad share complains
//! in a further round. Ours are checked by anyone from the dealing itself, which ends the protocol after
//! one message of each dealer. What the two take is therefore not the same work: it is what one dealing
//! costs a party, on either way to a key.
use std::hint::black_box;

use fastcrypto::groups::{bls12381, ristretto255};
use fastcrypto_tbls::dkg::Party;
use fastcrypto_tbls::ecies::{PrivateKey, PublicKey};
use fastcrypto_tbls::nodes::{Node, Nodes};
use fastcrypto_tbls::random_oracle::RandomOracle;
use prefinal_peers::{Contest, Times, sharing};
use rand::SeedableRng;
use rand::rngs::StdRng;

type Keys = bls12381::G2Element;
type Encryption = ristretto255::RistrettoPoint;

pub fn compare(contest: &mut Contest, n: u16) {
    // The most that it allows.
    let t = n / 2;
    let mut rng = StdRng::seed_from_u64(1);
    let secret: Vec<_> = (0..n).map(|_| PrivateKey::<Encryption>::new(&mut rng)).collect();
    let node = |(id, key)| Node { id, pk: PublicKey::from_private_key(key), weight: 1 };
    let nodes = Nodes::new((0..n).zip(&secret).map(node).collect()).unwrap();
    let oracle = || RandomOracle::new("peers");
    let mut party = |at: usize| {
        let key = secret[at].clone();
        Party::<Keys, Encryption>::new(key, nodes.clone(), t, oracle(), &mut rng).unwrap()
    };
    let (dealer, receiver) = (party(0), party(1));
    let message = dealer.create_message_v1(&mut rng).unwrap();

    let ours = sharing::ours(contest, t.into(), n.into());
    let deal = contest.time(|| dealer.create_message_v1(&mut rng).unwrap());
    let case = format!("t={t} of {n}, interactive peer");
    contest.row(("dkg::deal", &case), Times { ours: ours.deal, theirs: deal, limit: None });
    let verify = contest.time_each(
        || message.clone(),
        |message| receiver.process_message_v1(black_box(message), &mut rng).unwrap(),
    );
    contest.row(("dkg::verify", &case), Times { ours: ours.verify, theirs: verify, limit: None });
}
