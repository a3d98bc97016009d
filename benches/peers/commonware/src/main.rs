//! commonware-cryptography: threshold BLS with signatures in 𝔾₁, at consecutive points and at roots of
//! unity; the same points, the same bytes.
//!
//! Messages have a namespace with its length before them, and the tag of the standard with proofs of
//! possession; ours hashes the same bytes under the same tag. Its combination takes the partials in
//! whatever order, ours by party. Each share key is a separate sum of products.
use std::cell::Cell;
use std::num::NonZeroU32;

use commonware_codec::{Copying, Decode, DecodeExt, Encode};
use commonware_cryptography::bls12381::primitives::group::{G1, G2, Private, Share};
use commonware_cryptography::bls12381::primitives::ops;
use commonware_cryptography::bls12381::primitives::ops::threshold;
use commonware_cryptography::bls12381::primitives::sharing::{ModeVersion, Sharing};
use commonware_cryptography::bls12381::primitives::variant::{MinSig, PartialSignature};
use commonware_parallel::Sequential;
use commonware_utils::{Participant, iter::NonEmpty};
use prefinal_crypto_core::bls::{self, Domain};
use prefinal_crypto_core::polynomial::Placement;
use prefinal_peers::Contest;
use prefinal_peers::dealt::{Case, DealtSecrets};
use prefinal_peers::signatures::{InvalidSignature, Scheme, compare};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

const NAMESPACE: &[u8] = b"peers";
const MESSAGE: &[u8] = b"message";
/// What the two become before they are hashed.
const HASHED: &[u8] = b"\x05peersmessage";

struct Commonware {
    shares: Vec<Share>,
    /// Keeps the share keys that were computed on any of its clones.
    sharing: Sharing<MinSig>,
    bytes: Vec<u8>,
    /// Whether a clone was given out.
    used: Cell<bool>,
}

fn main() {
    let lock = include_str!("../Cargo.lock");
    let mut contest = Contest::new("commonware", "commonware-cryptography", lock);
    for &(t, n) in contest.committees() {
        let both = [Placement::Consecutive, Placement::RootsOfUnity];
        // Where the points are is compared once, where there are many.
        let placements = if n < 1000 { &both[..1] } else { &both };
        for &placement in placements {
            let case = Case { n, t, placement, domain: Domain::POP, message: HASHED };
            let dealt = DealtSecrets::new(case);
            compare(&mut contest, &dealt, &Commonware::new(&dealt));
        }
    }
    contest.finish();
}

impl Commonware {
    fn new(dealt: &DealtSecrets<bls::MinSig>) -> Self {
        let private = |bytes: &[u8; 32]| Private::decode(Copying(bytes)).unwrap();
        let shares = dealt.shares.iter().zip(0..);
        let shares = shares.map(|(it, at)| Share::new(Participant::new(at), private(it))).collect();
        let mode = u8::from(dealt.case.placement == Placement::RootsOfUnity);
        let points = dealt.commitment.len().encode().to_vec();
        let parts = [vec![mode], dealt.case.n.encode().to_vec(), points, dealt.commitment.concat()];
        let n = NonZeroU32::new(dealt.case.n).unwrap();
        let bytes = parts.concat();
        let sharing = read(&bytes, n);
        Self { shares, sharing, bytes, used: Cell::new(false) }
    }
}

fn read(bytes: &[u8], n: NonZeroU32) -> Sharing<MinSig> {
    Sharing::decode_cfg(Copying(bytes), &(n, ModeVersion::v1())).unwrap()
}

impl Scheme for Commonware {
    type Partial = PartialSignature<MinSig>;
    type Batch = Vec<PartialSignature<MinSig>>;
    type Quorum<'a> = Vec<PartialSignature<MinSig>>;
    type Signature = G1;
    type Commitment = Sharing<MinSig>;
    type Key = G2;

    fn partial(&self, share: usize) -> Self::Partial {
        threshold::sign_message::<MinSig>(&self.shares[share], NAMESPACE, MESSAGE)
    }

    fn verify(&self, share: usize, partial: &Self::Partial) -> Result<(), InvalidSignature> {
        let index = self.shares[share].index;
        let partial = PartialSignature { index, value: partial.value };
        threshold::verify_message(&self.sharing, NAMESPACE, MESSAGE, &partial)
            .map_err(|_| InvalidSignature)
    }

    fn batch(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Batch {
        let named = |(share, it): (usize, Self::Partial)| PartialSignature {
            index: self.shares[share].index,
            value: it.value,
        };
        partials.into_iter().map(named).collect()
    }

    fn culprits(&self, batch: &Self::Batch) -> Vec<usize> {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let partials = NonEmpty::try_new(batch.iter()).unwrap();
        let checked = threshold::batch_verify_same_message(
            &mut rng,
            &self.sharing,
            NAMESPACE,
            MESSAGE,
            partials,
            &Sequential,
        );
        checked.err().into_iter().flatten().map(|it| usize::from(it.index)).collect()
    }

    fn quorum(&self, partials: Vec<(usize, Self::Partial)>) -> Self::Quorum<'_> {
        self.batch(partials)
    }

    fn combine(&self, quorum: &Self::Quorum<'_>) -> G1 {
        threshold::recover::<MinSig, _>(&self.sharing, quorum, &Sequential).unwrap()
    }

    fn verify_result(&self, signature: &G1) -> Result<(), InvalidSignature> {
        ops::verify_message::<MinSig>(self.sharing.public(), NAMESPACE, MESSAGE, signature)
            .map_err(|_| InvalidSignature)
    }

    /// The first is the one that the other rows work with: at n = 1000 its keys take half a minute.
    fn commitment(&self) -> Sharing<MinSig> {
        if self.used.replace(true) {
            read(&self.bytes, self.sharing.total())
        } else {
            self.sharing.clone()
        }
    }

    fn share_keys(&self, commitment: Sharing<MinSig>) -> Vec<G2> {
        commitment.precompute_partial_publics();
        self.shares.iter().map(|share| commitment.partial_public(share.index).unwrap()).collect()
    }

    fn partial_bytes(partial: &Self::Partial) -> Vec<u8> {
        partial.value.encode().to_vec()
    }

    fn signature_bytes(signature: &G1) -> Vec<u8> {
        signature.encode().to_vec()
    }

    fn key_bytes(key: &G2) -> Vec<u8> {
        key.encode().to_vec()
    }
}
