//! Step 2: parties have stake, and stake becomes a small number of shares.
use std::collections::BTreeMap;

use prefinal::crypto::bls::{Domain, MinSig};
use prefinal::crypto::commitment::Commitment;
use prefinal::crypto::curve::Scalar;
use prefinal::crypto::drand::RoundNumber;
use prefinal::crypto::entropy;
use prefinal::crypto::polynomial::{Placement, Points, Polynomial};
use prefinal::crypto::threshold::{KeyShares, Message, Purpose, Setup, SigningCommittee};
use prefinal::dkg::SharePath;
use prefinal::{Algorithm, Failure, Plan, Ratio, Secret, Stake};

/// The stake of each party, as consensus counts it.
const STAKES: [u128; 5] = [30_000, 30_000, 20_000, 10_000, 10_000];

/// The same value as before, by parties that hold more or less.
pub fn main() -> Result<(), Failure> {
    // Stakes become weights, and a threshold that is right for every set of parties.
    let stakes = STAKES.map(Stake::new).to_vec();
    let plan = Plan::new(stakes, Algorithm::Slow, Ratio::FIVE_SIXTHS)?;
    let access = plan.shape.access().clone();
    let threshold = plan.shape.threshold(SharePath::Slow).ok_or("no slow path")?;
    println!("weights: {:?}, threshold: {threshold} shares", access.weights());
    let slow = plan.rounding.as_ref().and_then(|rounding| rounding.slow()).ok_or("no rounding")?;
    println!("a stake below {} learns nothing", slow.least_leaking());
    println!("a stake of {} is always enough", slow.least_sufficient());

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

    // Each party checks its shares and signs the message. The two largest parties are enough.
    let round = RoundNumber::new(1).ok_or("rounds begin with 1")?;
    let message = Message::round(round);
    let mut partials = BTreeMap::new();
    for party in access.parties().take(2) {
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
