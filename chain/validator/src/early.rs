//! Holds messages that arrive before their receiver has begun. The number for each peer is bounded, so
//! a peer that floods does not take other peers' places.
use std::collections::BTreeMap;

use borsh::BorshSerialize;
use prefinal_crypto_core::access::Party;

/// Messages of one peer that may wait: two votes, or two paths, of as many slots as a beacon looks ahead.
pub(crate) const MESSAGES: usize = 128;
/// Number of bytes that the waiting messages of one peer may have.
pub(crate) const BYTES: usize = 1 << 20;

/// The waiting messages, by peer.
pub(crate) struct Early<T>(BTreeMap<Party, Waiting<T>>);

struct Waiting<T> {
    messages: Vec<T>,
    bytes: usize,
}

impl<T> Default for Early<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: BorshSerialize> Early<T> {
    /// Keeps a message, if the peer has room for it.
    pub(crate) fn keep(&mut self, from: Party, message: T) {
        let new = || Waiting { messages: Vec::new(), bytes: 0 };
        let waiting = self.0.entry(from).or_insert_with(new);
        if waiting.messages.len() >= MESSAGES {
            return;
        }
        let bytes = borsh::object_length(&message).unwrap_or(BYTES);
        let bytes = waiting.bytes.saturating_add(bytes);
        if bytes <= BYTES {
            waiting.bytes = bytes;
            waiting.messages.push(message);
        }
    }

    /// All messages, peer by peer, each peer's in order of arrival.
    pub(crate) fn into_messages(self) -> impl Iterator<Item = (Party, T)> {
        let of = |(from, Waiting { messages, .. })| {
            messages.into_iter().map(move |message| (from, message))
        };
        self.0.into_iter().flat_map(of)
    }

    /// The number of waiting messages of each peer that has sent anything.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> Vec<usize> {
        self.0.values().map(|waiting| waiting.messages.len()).collect()
    }
}
