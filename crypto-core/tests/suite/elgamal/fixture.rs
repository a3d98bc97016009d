//! A dealer that everybody trusts, for tests only.
use std::collections::BTreeMap;

use prefinal_crypto_core::access::{Access, Party, Threshold};
use prefinal_crypto_core::commitment::Commitment;
use prefinal_crypto_core::context::{ChainId, Context, EpochId, Slot};
use prefinal_crypto_core::curve::{G1Affine, Scalar};
use prefinal_crypto_core::elgamal::{
    Ciphertext, DecryptionCommittee, DecryptionKey, DecryptionShare, EncryptionKey, Label,
    ValidCiphertext,
};
use prefinal_crypto_core::polynomial::{Placement, Points, Polynomial};
use prefinal_crypto_core::secret::Secret;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;

/// Party 1 holds nothing, parties 0 and 3 hold the same.
pub(crate) const WEIGHTS: [u32; 6] = [3, 0, 1, 3, 5, 2];
pub(crate) const T: u32 = 7;
pub(crate) const PLACEMENTS: [Placement; 2] = [Placement::Consecutive, Placement::RootsOfUnity];
pub(crate) const PLAINTEXT: &[u8] = b"buy at any price";

pub(crate) fn rng(seed: u64) -> ChaCha20Rng {
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

pub(crate) fn party(position: u32) -> Party {
    Party::new(position)
}

pub(crate) fn label(slot: u64) -> Label {
    let context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(3) };
    Label::slot(&context, Slot::new(slot))
}

pub(crate) fn access() -> Access {
    Access::new(&WEIGHTS).unwrap()
}

/// Bytes of the parts of an encoding, to be put together in other ways.
pub(crate) struct Parts {
    pub(crate) u: [u8; 48],
    pub(crate) u_bar: [u8; 48],
    pub(crate) proof: [u8; 64],
    pub(crate) body: Vec<u8>,
}

impl Parts {
    pub(crate) fn of(ciphertext: &Ciphertext) -> Self {
        borsh::from_slice::<([u8; 48], [u8; 48], [u8; 64], Vec<u8>)>(
            &borsh::to_vec(ciphertext).unwrap(),
        )
        .map(|(u, u_bar, proof, body)| Self { u, u_bar, proof, body })
        .unwrap()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        borsh::to_vec(&(self.u, self.u_bar, self.proof, &self.body)).unwrap()
    }

    pub(crate) fn join(&self) -> Ciphertext {
        borsh::from_slice(&self.bytes()).unwrap()
    }
}

pub(crate) fn share(points: &[G1Affine]) -> DecryptionShare {
    borsh::from_slice(&borsh::to_vec(&points.to_vec()).unwrap()).unwrap()
}

pub(crate) fn points(share: &DecryptionShare) -> Vec<G1Affine> {
    borsh::from_slice(&borsh::to_vec(share).unwrap()).unwrap()
}

/// One sharing, with all its secrets.
pub(crate) struct Dealt {
    pub(crate) committee: DecryptionCommittee,
    pub(crate) secrets: BTreeMap<Party, Vec<Scalar>>,
    pub(crate) keys: BTreeMap<Party, DecryptionKey>,
}

impl Dealt {
    pub(crate) fn new(placement: Placement, rng: &mut ChaCha20Rng) -> Self {
        let access = access();
        let secret = Secret::new(Scalar::random(rng));
        let t = Threshold::new(T, access.total()).unwrap().t();
        let f = Polynomial::random(t, &secret, rng);
        let y = (G1Affine::generator() * secret.expose()).to_affine();
        let commitment = Commitment::commit(&f);
        let committee =
            DecryptionCommittee::new(y, &commitment, access.clone(), placement).unwrap();
        let shares = f.shares(&Points::of(&access, placement));
        let (mut secrets, mut keys) = (BTreeMap::new(), BTreeMap::new());
        for party in access.parties().filter(|party| access.weight(*party) > 0) {
            let own = shares.expose()[access.range(party)].to_vec();
            let key = DecryptionKey::new(&committee, party, Secret::new(own.clone())).unwrap();
            secrets.insert(party, own);
            keys.insert(party, key);
        }
        Self { committee, secrets, keys }
    }

    pub(crate) fn key(&self) -> &EncryptionKey {
        self.committee.key()
    }

    /// Of [`PLAINTEXT`], for slot 7.
    pub(crate) fn encrypt(&self, rng: &mut ChaCha20Rng) -> Ciphertext {
        self.key().encrypt(&label(7), PLAINTEXT, rng).unwrap()
    }

    pub(crate) fn valid(&self, rng: &mut ChaCha20Rng) -> ValidCiphertext {
        self.encrypt(rng).validate(self.key(), &label(7)).unwrap()
    }

    pub(crate) fn shares(
        &self,
        ciphertext: &ValidCiphertext,
        parties: &[u32],
    ) -> BTreeMap<Party, DecryptionShare> {
        let share = |&i: &u32| (party(i), self.keys[&party(i)].decrypt_share(ciphertext).unwrap());
        parties.iter().map(share).collect()
    }
}
