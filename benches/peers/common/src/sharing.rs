//! Our verifiable sharing of a group element, for those that share as well.
use std::hint::black_box;
use std::time::Duration;

use crypto_core::access::{Access, Party, Threshold};
use crypto_core::bls::min_sig::SecretKey;
use crypto_core::context::{ChainId, Context, EpochId};
use pvss_dkg::{Config, Dealing, DecryptionKey, Member, Session, Shape, deal, verify};
use weighted_rounding::Stake;

use crate::contest::Contest;
use crate::dealt::rng;

/// What sharing costs us.
#[derive(Clone, Copy, Debug)]
pub struct Ours {
    /// Making one dealing.
    pub deal: Duration,
    /// Checking it, once it is read.
    pub verify: Duration,
    /// Reading it: every point decoded, and in its subgroup.
    pub decode: Duration,
    /// On the wire.
    pub bytes: usize,
}

/// Among `n` parties with one share each, `t` of which suffice.
#[must_use]
pub fn ours(contest: &Contest, t: u32, n: u32) -> Ours {
    let (config, signer) = config(t, n);
    let dealing = || deal(&config, Party::new(0), &signer, &mut rng()).unwrap();
    let time = contest.time(dealing);
    let bytes = dealing().to_bytes();
    let decode = contest.time(|| Dealing::from_bytes(&config, black_box(&bytes)).unwrap());
    let dealing = dealing();
    let verify = contest.time_each(|| dealing.clone(), |dealing| verify(&config, dealing).unwrap());
    Ours { deal: time, verify, decode, bytes: bytes.len() }
}

fn config(t: u32, n: u32) -> (Config, SecretKey) {
    let mut rng = rng();
    let access = Access::new(&vec![1; usize::try_from(n).unwrap()]).unwrap();
    let shape = Shape::new(access, Threshold::new(t, n).unwrap(), None).unwrap();
    let mut members = Vec::new();
    let mut first = None;
    for _ in 0..n {
        let (signer, key) = (SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
        let public = signer.public_key();
        members.push(Member {
            stake: Stake::new(1),
            encryption: key.register(&signer, &mut rng).verify(&public).unwrap(),
            signer: public.verify_possession(&signer.prove_possession()).unwrap(),
        });
        first.get_or_insert(signer);
    }
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(3) };
    let session = Session { context, attempt: 0 };
    (Config::new(session, shape, members, Stake::new(0)).unwrap(), first.unwrap())
}
