//! Dealings and their sum.
use prefinal_crypto_core::bls::min_sig::{ProofOfPossession, PublicKey};
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_pvss_dkg::{
    Accepted, Aggregate, Config, Dealing, EncryptionKey, KeyRegistration, Member, Paths, Purpose,
    Session, Shape, SharePath,
};
use prefinal_weighted_rounding::{Stake, Weight};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::error::{raise, raise_code};
use crate::fields::Fields;

/// What one run of the key generation is about.
#[wasm_bindgen]
pub struct RawConfig(pub(crate) Config);

#[wasm_bindgen]
impl RawConfig {
    /// `session` is the chain, the epoch, the attempt and the purpose, `numbers` are both thresholds, the fast one zero
    /// if there is none, and all weights. Of each party comes its stake, its signing key with the proof
    /// that it has it, and the registration of its encryption key. Last of `members` is the stake that
    /// dealers must exceed.
    ///
    /// # Errors
    /// If a key or proof is none, or the parts do not fit together.
    #[wasm_bindgen(constructor)]
    pub fn new(session: &[u8], numbers: &[u32], members: &[u8]) -> Result<Self, JsValue> {
        let mut fields = Fields::new(session);
        let chain = ChainId::new(fields.array()?);
        let epoch = EpochId::new(u64::from_le_bytes(fields.array()?));
        let (context, attempt, [tag]) = (Context { chain, epoch }, fields.u32()?, fields.array()?);
        let purpose = Purpose::from_tag(tag);
        let purpose = purpose.ok_or_else(|| raise_code("invalid-value", "no such purpose"))?;
        let session = Session { context, attempt, purpose };
        let [slow, fast, weights @ ..] = numbers else {
            return Err(raise_code("truncated", "thresholds are missing"));
        };
        let weights: Vec<Weight> = weights.iter().copied().map(Weight::new).collect();
        let fast = (*fast > 0).then_some(Weight::new(*fast));
        let shape = Shape::new(&weights, Paths { slow: Weight::new(*slow), fast });
        let shape = shape.map_err(raise)?;
        let (mut rest, mut list) = (Fields::new(members), Vec::new());
        let qualify = Stake::new(rest.u128()?);
        while !rest.is_empty() {
            list.push(member(&mut rest)?);
        }
        Config::new(session, shape, list, qualify).map(Self).map_err(raise)
    }

    /// What names the configuration.
    pub fn digest(&self) -> Vec<u8> {
        self.0.digest().to_vec()
    }

    /// Checks the sum of dealings, no matter who added it up: its digest, its public key, and how many dealers
    /// there are, with their numbers; then the public keys of the shares of both paths.
    ///
    /// # Errors
    /// Says which check fails first.
    pub fn verify_aggregate(&self, bytes: &[u8]) -> Result<Vec<u8>, JsValue> {
        let aggregate = Aggregate::from_bytes(&self.0, bytes).map_err(raise)?;
        let dealers: Vec<u32> = aggregate.dealers().map(|party| party.get()).collect();
        let sum = aggregate.verify(&self.0).map_err(raise)?;
        Ok(public_parts(&sum, &dealers))
    }

    /// Checks one dealing: who dealt.
    ///
    /// # Errors
    /// Says which check fails first.
    pub fn verify_dealing(&self, bytes: &[u8]) -> Result<u32, JsValue> {
        let dealing = Dealing::from_bytes(&self.0, bytes).map_err(raise)?;
        let dealing = prefinal_pvss_dkg::verify(&self.0, dealing).map_err(raise)?;
        Ok(prefinal_pvss_dkg::AnyDealing::dealer(&*dealing).get())
    }
}

fn member(rest: &mut Fields<'_>) -> Result<Member, JsValue> {
    let stake = Stake::new(rest.u128()?);
    let signer = PublicKey::from_bytes(rest.take(96)?).map_err(raise)?;
    let proof = ProofOfPossession::from_bytes(rest.take(48)?).map_err(raise)?;
    let signer = signer.verify_possession(&proof).map_err(raise)?;
    let encryption = registered(rest.take(272)?, signer.get())?;
    Ok(Member { stake, signer, encryption })
}

fn registered(bytes: &[u8], signer: &PublicKey) -> Result<EncryptionKey, JsValue> {
    let registration: KeyRegistration = borsh::from_slice(bytes)
        .map_err(|_| raise_code("invalid-element", "not the registration of an encryption key"))?;
    registration.verify(signer).map_err(raise)
}

/// See `verify_aggregate`.
fn public_parts(sum: &Accepted<Aggregate>, dealers: &[u32]) -> Vec<u8> {
    let mut parts = sum.digest().to_vec();
    parts.extend_from_slice(&sum.public_key().to_bytes());
    parts.extend_from_slice(&u32::try_from(dealers.len()).unwrap_or(u32::MAX).to_le_bytes());
    dealers.iter().for_each(|dealer| parts.extend_from_slice(&dealer.to_le_bytes()));
    for path in [SharePath::Slow, SharePath::Fast] {
        let shares = sum.public_shares(path).unwrap_or_default();
        shares.iter().for_each(|share| parts.extend_from_slice(&share.to_bytes()));
    }
    parts
}
