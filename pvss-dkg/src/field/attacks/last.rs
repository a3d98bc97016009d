//! A last dealer who has decrypted its shares of all other dealings.

use std::sync::Arc;

use prefinal_crypto_core::bls::{Domain, MinSig, PublicKey};
use prefinal_crypto_core::curve::{G2Affine, Scalar};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_crypto_core::secret::Secret;
use prefinal_crypto_core::threshold::{
    KeyShares, Message, Purpose, Setup, SigningCommittee as Signers,
};

use super::{Cheat, dealt, decrypted};
use crate::field::chunk::split;
use crate::field::{Key, verify};
use crate::fixture::party;
use crate::shape::SharePath;

const DOMAIN: Domain = Domain::new("pvss test");
/// Who deals last; it holds four of eleven shares, where the slow path takes six.
const LAST: u32 = 5;

/// It can make one of its shares zero, in the sum: its own loss, and nobody else's.
#[test]
fn a_share_cancelled_by_its_owner_does_not_stop_the_epoch() {
    let mut cheat = Cheat::new();
    let config = cheat.committee.config.clone();
    let first = verify(&config, dealt(&mut cheat.committee, 3)).unwrap();
    let place = config.span(party(LAST)).start;
    let known = decrypted(&cheat.committee, &first, LAST).slow.expose()[0];
    // The whole polynomial moves by a constant.
    let by = -(known + cheat.witness.values.expose()[place]);
    cheat.witness.constant = Secret::new(*cheat.witness.constant.expose() + by);
    let values: Vec<Scalar> = cheat.witness.values.expose().iter().map(|one| *one + by).collect();
    let chunks = values.iter().flat_map(|value| *split(value).expose()).collect();
    (cheat.witness.values, cheat.witness.chunks) = (Secret::new(values), Secret::new(chunks));
    let last = cheat.publish();
    let last = cheat.verify(last).unwrap();
    let key = Key::sum(&config, &[Arc::new(first), Arc::new(last)]).unwrap();
    let public = key.public_shares(SharePath::Slow).unwrap();
    assert_eq!(public[place], G2Affine::identity(), "the attack is real");

    let (access, threshold) = (config.shape().access().clone(), config.shape().slow());
    let placement = Placement::RootsOfUnity;
    let setup = Setup { access, threshold, placement, purpose: Purpose::Messages(DOMAIN) };
    let group = PublicKey::from_bytes(&key.public_key().to_bytes()).unwrap();
    let signers = Signers::<MinSig>::from_share_keys(setup, &group, public.to_vec()).unwrap();
    let message = Message::new(DOMAIN, b"message");
    let partial = |to: u32| {
        let decryption = cheat.committee.keys[party(to).index()].copy();
        let opened = key.decrypt(&config, party(to), decryption).unwrap();
        let own = KeyShares::new(party(to), opened.shares.slow);
        (party(to), own.check(&signers).unwrap().partial(&message).unwrap())
    };
    let partials = [0, 2, 3].map(partial).into_iter().collect();
    let signature = signers.verify_all(&message, partials).unwrap().combine();
    assert_eq!(signature.verify(&group, DOMAIN, b"message"), Ok(()));
}
