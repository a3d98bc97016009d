//! One committee makes two keys in one epoch: nothing of one run means anything in the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use ::prefinal_protocol::{Instant, Machine};
use prefinal_crypto_core::access::Party;

use super::faults::envelopes;
use super::kinds::{Case, Kind, LARGE};
use crate::protocol::envelope::{seal, split};
use crate::protocol::{
    Claim, ClaimVerdict, Effect, Evidence, EvidenceError, Input, Keygen, Misdeed, Output, Position,
    Role,
};

/// All stretches of that many bytes, about a point.
fn stretches(bytes: &[u8]) -> BTreeSet<&[u8]> {
    bytes.windows(48).collect()
}

pub(super) fn kept_apart<C: Case>(_: Kind<C>) {
    let world = C::world(1);
    let (one, other, large) = (&world.blank, world.blank.other_purpose(), &world.seats[2]);
    let party = Party::new(LARGE);
    let place = one.owed(party)[0];
    assert_ne!(one.config().digest(), other.config().digest());
    assert_ne!(one.session(), other.session());
    assert_eq!(one.config().committee(), other.config().committee());

    // An honest dealer deals in both, with one state of its generator.
    let [here, there] = [one, &other].map(|blank| envelopes(blank, LARGE, large, 1));
    let ((said, dealing), (elsewhere, _)) = (split(&here[0]).unwrap(), split(&there[0]).unwrap());
    let common = stretches(&here[0]).intersection(&stretches(&there[0])).count();
    // `F` and `V̂₀` of a share that is dealt on, the former behind nine bytes.
    assert_eq!(common, if place.share.is_some() { 10 + 49 } else { 0 });

    // It contradicts itself in neither.
    for (first, second) in [(&said, &elsewhere), (&elsewhere, &said)] {
        for blank in [one, &other] {
            let evidence = Evidence::contradiction(first.clone(), second.clone());
            assert_eq!(evidence.verify(blank), Err(EvidenceError::Session));
        }
    }

    // Its dealing counts in one: as it is, nobody looks at it in the other, nor is it accused.
    let mut keygen = Keygen::new(other.clone(), Role::default(), vec![]).unwrap();
    keygen.handle(Instant::START, Input::Start);
    let message = Arc::from(here[0].as_slice());
    keygen.handle(Instant::START, Input::Ordered { position: Position::new(0), message });
    let mut outputs = std::iter::from_fn(|| keygen.poll());
    assert!(outputs.all(|output| matches!(output, Output::Do(Effect::Ignored(_)))));

    // Nor does it count if its dealer itself puts it into the other run, which is a fault then.
    let resealed = seal(other.session(), place, dealing, &large.signer);
    let (statement, _) = split(&resealed).unwrap();
    let claim = Claim { statement, envelope: Some(Arc::from(resealed.as_slice())), known: false };
    let refused = matches!(claim.judge(&other), ClaimVerdict::Faulty(Misdeed::Foreign));
    assert!(refused, "a dealing of another purpose counts");
}
