//! Step 3: no dealer. The parties make the key together, and nobody ever knows the secret.
use std::collections::BTreeMap;
use std::sync::Arc;

use prefinal::crypto::bls::Domain;
use prefinal::crypto::drand::RoundNumber;
use prefinal::crypto::entropy;
use prefinal::crypto::threshold::{Message, Purpose};
use prefinal::dkg::{Dkg, Progress, field};
use prefinal::{Algorithm, ChainId, EpochId, Failure, Identity, Plan, Ratio, Setup, Stake};

/// The stake of each party, as consensus counts it.
const STAKES: [u128; 5] = [30_000, 30_000, 20_000, 10_000, 10_000];

/// The same value as before, under a key that no dealer knows.
pub fn main() -> Result<(), Failure> {
    // Stakes become weights, and a threshold that is right for every set of parties.
    let stakes = STAKES.map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Slow, Ratio::FIVE_SIXTHS)?;

    // Each party draws a seed, once, and publishes a registration. From these follows the set-up.
    let mut identities = Vec::new();
    for party in plan.shape.access().parties() {
        identities.push(Identity::from_seed(party, entropy::system_seed()?));
    }
    let registrations: Vec<_> = identities.iter().map(Identity::registration).collect();
    let setup =
        Setup::new(ChainId::new(*b"the tutorial's chain: 32 letters"), &plan, &registrations)?;

    // Each party deals a secret; the dealings are public. Everybody checks them, in one order, and
    // adds them up until enough stake has dealt.
    let config = &setup.keygen;
    let mut dkg = Dkg::new(Arc::clone(config));
    for identity in &identities {
        let mut rng = entropy::system()?;
        let bytes = field::deal(config, identity.me, &identity.signer, &mut rng)?.to_bytes();
        let dealing = field::verify(config, field::Dealing::from_bytes(config, &bytes)?)?;
        let progress = dkg.add(Arc::new(dealing))?;
        println!("{} deals, bytes: {}", identity.me, bytes.len());
        if progress == Progress::Qualified {
            break;
        }
    }
    let key = dkg.key()?;
    let committees = key.signing(config, Purpose::Rounds)?;
    let committee = &committees.slow;

    // Each party decrypts its shares and signs the message. The two largest parties are enough.
    let round = RoundNumber::new(1).ok_or("rounds begin with 1")?;
    let message = Message::round(round);
    let mut partials = BTreeMap::new();
    for identity in identities.iter().take(2) {
        let party = identity.me;
        let opened = key.decrypt(config, party, identity.decryption(EpochId::new(0)))?;
        let signer = opened.shares.signing(party, &committees)?.slow;
        partials.insert(party, signer.partial(&message)?);
        println!("{party} signs, shares: {}", signer.share_keys().len());
    }

    // Anybody combines the partials. Anybody who has the group key verifies the value.
    let value = committee.optimistic(&message, partials)?.combine()?;
    value.verify(&committee.group_key(), Domain::BASIC, &round.message())?;
    println!("round {}: {}, verified", round.get(), short(&value.to_bytes()));
    Ok(())
}

/// The first bytes in hexadecimal.
fn short(bytes: &[u8]) -> String {
    bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
