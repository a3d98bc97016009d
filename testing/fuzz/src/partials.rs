//! What parties send, from honest to arbitrary: shared by the targets that verify and combine.
use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use borsh::BorshDeserialize;
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::curve::{Affine, Group, Scalar};

/// What one party sends instead of what it should.
#[derive(Arbitrary, Debug)]
pub(crate) enum Forgery {
    Honest,
    /// Right, but for something else.
    Elsewhere,
    /// Right, but for another party.
    Another(u8),
    /// One of its points off by this multiple of the generator: two such errors may cancel.
    Off {
        point: u8,
        by: i8,
    },
    Bytes(Vec<u8>),
}

/// Honest encodings by party.
pub(crate) struct Encodings {
    /// For what is asked.
    pub(crate) right: BTreeMap<Party, Vec<u8>>,
    /// For something else.
    pub(crate) elsewhere: BTreeMap<Party, Vec<u8>>,
    /// Bytes before the first point.
    pub(crate) header: usize,
}

impl Encodings {
    /// What arrives and decodes, by party; two of the parties are strangers.
    pub(crate) fn received<G: Group, T: BorshDeserialize>(
        &self,
        sent: &[(u8, Forgery)],
    ) -> BTreeMap<Party, T> {
        let parties = u8::try_from(self.right.len()).unwrap() + 2;
        sent.iter()
            .take(parties.into())
            .map(|(party, sent)| (Party::new((party % parties).into()), sent))
            .filter_map(|(party, sent)| Some((party, self.encoding::<G>(party, sent)?)))
            .filter_map(|(party, bytes)| Some((party, borsh::from_slice(&bytes).ok()?)))
            .collect()
    }

    fn encoding<G: Group>(&self, party: Party, sent: &Forgery) -> Option<Vec<u8>> {
        let right = |party| self.right.get(party).cloned();
        match sent {
            Forgery::Honest => right(&party),
            Forgery::Elsewhere => self.elsewhere.get(&party).cloned(),
            Forgery::Another(other) => right(&Party::new((*other).into())),
            Forgery::Off { point, by } => {
                let mut bytes = right(&party)?;
                let size = Affine::<G>::identity().to_bytes().as_ref().len();
                let count = (bytes.len() - self.header) / size;
                let at = self.header + usize::from(*point) % count * size;
                let place = &mut bytes[at..at + size];
                let shifted = Affine::from_bytes(place).unwrap() + multiple::<G>(*by);
                place.copy_from_slice(shifted.to_affine().to_bytes().as_ref());
                Some(bytes)
            }
            Forgery::Bytes(bytes) => Some(bytes.clone()),
        }
    }
}

fn multiple<G: Group>(by: i8) -> Affine<G> {
    let point = Affine::<G>::generator() * Scalar::from_u64(by.unsigned_abs().into());
    if by < 0 { (-point).to_affine() } else { point.to_affine() }
}

/// Whose message is not the right one; strangers are none of these.
pub(crate) fn wrong<T: BorshDeserialize + PartialEq>(
    encodings: &Encodings,
    received: &BTreeMap<Party, T>,
) -> std::collections::BTreeSet<Party> {
    let is_right = |party, got: &T| {
        let right = encodings.right.get(party).map(|bytes| borsh::from_slice(bytes).unwrap());
        right.is_none_or(|right: T| right == *got)
    };
    received.iter().filter(|(party, got)| !is_right(party, got)).map(|(party, _)| *party).collect()
}

/// Bytes with some of them changed.
pub(crate) fn altered(bytes: &[u8], changes: &[(u16, u8)]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for (at, by) in changes {
        let at = usize::from(*at) % bytes.len();
        bytes[at] ^= by;
    }
    bytes
}
