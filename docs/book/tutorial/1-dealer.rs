//! Step 1: a dealer shares a secret among five parties, and three of them sign.
use std::collections::BTreeMap;

use prefinal::crypto::access::{Access, Threshold};
use prefinal::crypto::bls::{Domain, MinSig};
use prefinal::crypto::commitment::Commitment;
use prefinal::crypto::curve::Scalar;
use prefinal::crypto::drand::RoundNumber;
use prefinal::crypto::entropy;
use prefinal::crypto::polynomial::{Placement, Points, Polynomial};
use prefinal::crypto::threshold::{KeyShares, Message, Purpose, Setup, SigningCommittee};
use prefinal::{Failure, Secret};

/// One value, from the secret to the signature that anybody can verify.
pub fn main() -> Result<(), Failure> {
    // Each of five parties gets one share, and three shares make a value.
    let access = Access::new(&[1, 1, 1, 1, 1])?;
    let threshold = Threshold::new(3, access.total())?;
    println!("threshold: {threshold} shares");

    // The dealer draws a secret, and a polynomial that has the secret at zero. Shares are its values.
    let mut rng = entropy::system()?;
    let secret = Secret::new(Scalar::random(&mut rng));
    let polynomial = Polynomial::random(threshold.t(), &secret, &mut rng);
    let placement = Placement::Consecutive;
    let shares = polynomial.shares(&Points::of(&access, placement));

    // Everybody makes the public part from the dealer's commitment: the group key and the share keys.
    let commitment = Commitment::commit(&polynomial);
    let setup = Setup { access: access.clone(), threshold, placement, purpose: Purpose::Rounds };
    let committee = SigningCommittee::<MinSig>::from_commitment(setup, &commitment)?;

    // Each party checks its share and signs the message. Two parties are away.
    let round = RoundNumber::new(1).ok_or("rounds begin with 1")?;
    let message = Message::round(round);
    let mut partials = BTreeMap::new();
    for party in access.parties().take(3) {
        let own = shares.expose().get(access.range(party)).ok_or("no shares")?;
        let signer = KeyShares::new(party, Secret::new(own.to_vec())).check(&committee)?;
        partials.insert(party, signer.partial(&message)?);
        println!("{party} signs, shares: {}", own.len());
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
