//! One message for everything that all channels send because of one event.
use std::collections::BTreeMap;

use borsh::io::{Error, ErrorKind, Read, Result as IoResult, Write};
use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::EpochId;
use prefinal_protocol::{Recipient, Slot};

use super::channels::{Channel, Channels};
use super::{Effect, Output};

/// Messages that leave together. All are about slots of one epoch.
///
/// ```
/// use prefinal_beacon::stack::{Envelope, OneOf};
/// use prefinal_beacon::{Bls, Message, Slot};
/// use prefinal_crypto_core::context::EpochId;
///
/// type Ours = (Bls, ());
/// let request = OneOf::First(Message::Request { slot: Slot::new(7) });
/// let bytes = borsh::to_vec(&Envelope::<Ours>::one(EpochId::new(1), request.clone()))?;
/// let received: Envelope<Ours> = borsh::from_slice(&bytes)?;
/// assert_eq!(received.messages(), [request]);
/// assert!(borsh::from_slice::<Envelope<Ours>>(&bytes[1..]).is_err());
/// // At least one message.
/// assert!(Envelope::<Ours>::new(EpochId::new(1), vec![]).is_none());
/// # Ok::<(), borsh::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope<L: Channels> {
    epoch: EpochId,
    messages: Vec<L::Message>,
}

impl<L: Channels> Envelope<L> {
    /// The most messages of one envelope.
    pub const MOST: usize = 16;

    /// The epoch of the messages. Sender and recipients have their numbers in it.
    #[must_use]
    pub const fn epoch(&self) -> EpochId {
        self.epoch
    }

    /// The messages, at least one.
    #[must_use]
    pub fn messages(&self) -> &[L::Message] {
        &self.messages
    }

    /// Whether the envelope has a partial that leaves with the vote for this slot.
    #[must_use]
    pub fn is_early(&self, slot: Slot) -> bool {
        self.messages.iter().any(|message| L::is_early(message, slot))
    }

    /// Puts messages about one epoch together; `None` if there are none, or more than [`Self::MOST`].
    #[must_use]
    pub fn new(epoch: EpochId, messages: Vec<L::Message>) -> Option<Self> {
        (1..=Self::MOST).contains(&messages.len()).then_some(Self { epoch, messages })
    }

    /// The length in bytes of the longest envelope, if no message in it is longer than `message`.
    pub(super) const fn bytes_of(message: usize) -> usize {
        let each = message.saturating_add(1);
        each.saturating_mul(Self::MOST).saturating_add(8 + 4)
    }

    /// An envelope with one message.
    #[must_use]
    pub fn one(epoch: EpochId, message: L::Message) -> Self {
        Self { epoch, messages: vec![message] }
    }

    /// Takes the messages out, in the order in which they are to be handled.
    #[must_use]
    pub fn into_messages(self) -> Vec<L::Message> {
        self.messages
    }
}

impl<L: Channels> BorshSerialize for Envelope<L> {
    fn serialize<W: Write>(&self, writer: &mut W) -> IoResult<()> {
        self.epoch.serialize(writer)?;
        // The count is never more than `MOST`.
        u32::try_from(self.messages.len()).unwrap_or(u32::MAX).serialize(writer)?;
        self.messages.iter().try_for_each(|message| L::write(message, Channel::new(0), writer))
    }
}

impl<L: Channels> BorshDeserialize for Envelope<L> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> IoResult<Self> {
        let epoch = EpochId::deserialize_reader(reader)?;
        let count = u32::deserialize_reader(reader)?;
        if !(1..=Self::MOST).contains(&usize::try_from(count).unwrap_or(usize::MAX)) {
            return Err(Error::new(ErrorKind::InvalidData, "no envelope has so many messages"));
        }
        let messages = (0..count).map(|_| L::read(u8::deserialize_reader(reader)?, reader));
        Ok(Self { epoch, messages: messages.collect::<IoResult<_>>()? })
    }
}

/// Moves each message back to the last one for the same parties. So no message comes before a record that
/// it must follow.
pub(super) fn enveloped<L: Channels>(outputs: Vec<Output<L>>) -> impl Iterator<Item = Output<L>> {
    let mut backwards: Vec<Output<L>> = Vec::with_capacity(outputs.len());
    let mut open = BTreeMap::new();
    for output in outputs.into_iter().rev() {
        if let Output::Do(Effect::Send { to, envelope: Envelope { epoch, messages } }) = &output {
            let last =
                open.get(&(*epoch, place(*to))).and_then(|at: &usize| backwards.get_mut(*at));
            if let Some(Output::Do(Effect::Send { envelope, .. })) = last
                && envelope.messages.len() < Envelope::<L>::MOST
            {
                envelope.messages.extend(messages.iter().cloned());
                continue;
            }
            open.insert((*epoch, place(*to)), backwards.len());
        }
        backwards.push(output);
    }
    backwards.into_iter().rev().map(|output| match output {
        Output::Do(Effect::Send { to, mut envelope }) => {
            envelope.messages.reverse();
            Output::Do(Effect::Send { to, envelope })
        }
        other => other,
    })
}

const fn place(to: Recipient<Party>) -> Option<Party> {
    match to {
        Recipient::All => None,
        Recipient::One(party) => Some(party),
    }
}
