//! What a party did wrong, so that everybody can see it.
//!
//! | misdeed         | what is shown                               | bytes of evidence      |
//! |-----------------|---------------------------------------------|------------------------|
//! | contradiction   | two signed statements for one place         | 2 + 2 · 128            |
//! | wrong length    | one signed statement                        | 2 + 128                |
//! | no such place   | one signed statement                        | 2 + 128                |
//! | all others      | one signed statement and its payload        | 2 + 128 + a dealing    |
//! | large chunk     | the dealing, and what hides one of its chunks | 2 + 8 + 56 + a dealing |
//!
//! Everything is signed by who is accused, for the one session, so that nobody else can bring it about:
//! an honest party signs one dealing for each place, and a good one. A dealing of an honest party in
//! another's envelope accuses the other. What is not signed by the party it names accuses nobody.
//!
//! A large chunk is seen by its recipient alone, when the key is fixed already, and shown by
//! [revealing](field::LargeChunk) what hides it. The dealing needs no envelope for that: its dealer's
//! signature is in it, and names the same session.
//!
//! Evidence holds all that is needed but the public set-up, which is a collector without dealings, and
//! is judged by the function that judges dealings.
use crypto_core::access::Party;
use thiserror::Error;

use super::collect::{Collect, Place};
use super::envelope::Statement;
use crate::accepted::Accepted;
use crate::field::large::RevealedMask;
use crate::field::{self, LargeChunk, LargeChunkError, TooLarge};
use crate::proof::ProofError;
use crate::verify::DealingError;
use crate::wire::{DecodeError, Reader, VERSION};

/// A party and what it did.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{party}: {misdeed}")]
pub struct Fault {
    /// Who.
    pub party: Party,
    /// What.
    pub misdeed: Misdeed,
}

/// What no honest party does.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Misdeed {
    /// Whoever sees only one of them sees another dealer.
    #[error("two different dealings for one place")]
    Contradiction,
    /// Too much, or too little.
    #[error("dealing of {got} bytes, expected {expected}")]
    Length {
        /// What was signed.
        got: u64,
        /// What the configuration asks for.
        expected: usize,
    },
    /// A share that the dealer does not hold, or a share where fresh secrets are dealt.
    #[error("dealing where the dealer has none to make, share {share}")]
    Place {
        /// What was signed; 0 for a fresh secret.
        share: u32,
    },
    /// No points, or not canonical.
    #[error("undecodable dealing: {0}")]
    Undecodable(#[from] DecodeError),
    /// Another's dealing, or one for another share, in the sender's envelope.
    #[error("envelope for {signed:?} holds a dealing for {dealt:?}")]
    Misplaced {
        /// What the envelope says.
        signed: Place,
        /// What the dealing says.
        dealt: Place,
    },
    /// A dealing for another chain, epoch, attempt or committee in an envelope of this session.
    #[error("dealing is not signed for this session")]
    Foreign,
    /// A dealing of group elements fails a check.
    #[error("false dealing: {0}")]
    Group(DealingError),
    /// A dealing of field elements fails a check.
    #[error("false dealing: {0}")]
    Field(field::DealingError),
    /// A dealing that passes, and takes a recipient long to open.
    #[error("slow dealing: {0}")]
    LargeChunk(#[from] TooLarge),
}

impl From<DealingError> for Misdeed {
    fn from(error: DealingError) -> Self {
        match error {
            DealingError::Proof(ProofError::Signature) => Self::Foreign,
            error => Self::Group(error),
        }
    }
}

impl From<field::DealingError> for Misdeed {
    fn from(error: field::DealingError) -> Self {
        match error {
            field::DealingError::Proof(ProofError::Signature) => Self::Foreign,
            error => Self::Field(error),
        }
    }
}

/// Shows a fault to who was not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence(Proof);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Proof {
    /// The statement alone.
    Statement(Statement),
    /// Two for the same place.
    Contradiction(Statement, Statement),
    /// With what it is about.
    Payload(Statement, Vec<u8>),
    /// A dealing without its envelope: its dealer has signed it as well.
    LargeChunk(Box<ShownChunk>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ShownChunk {
    place: Place,
    dealing: Vec<u8>,
    mask: RevealedMask,
}

/// Why evidence shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EvidenceError {
    /// From another chain, epoch, attempt or committee, or about another kind of key.
    #[error("evidence is of another session")]
    Session,
    /// Somebody else may have made it up.
    #[error("statement is not signed by {0}")]
    Signature(Party),
    /// What was signed was something else.
    #[error("payload is not the one that {0} signed")]
    Payload(Party),
    /// Two statements that may both be made.
    #[error("statements of {0} do not contradict each other")]
    Consistent(Party),
    /// Nothing is wrong with it.
    #[error("{0} did nothing wrong")]
    NoFault(Party),
    /// Nothing is shown to be wrong with the dealing.
    #[error("no large chunk is shown: {0}")]
    Chunk(#[from] LargeChunkError),
}

impl Evidence {
    pub(super) const fn statement(statement: Statement) -> Self {
        Self(Proof::Statement(statement))
    }

    pub(super) const fn contradiction(statement: Statement, other: Statement) -> Self {
        Self(Proof::Contradiction(statement, other))
    }

    pub(super) const fn payload(statement: Statement, payload: Vec<u8>) -> Self {
        Self(Proof::Payload(statement, payload))
    }

    /// Against the dealer of a chunk that is too large.
    #[must_use]
    pub fn of_chunk(large: &LargeChunk) -> Self {
        let dealing = large.dealing();
        let place = Place { dealer: dealing.dealer(), share: dealing.share };
        let (dealing, mask) = (dealing.to_bytes(), large.mask().clone());
        Self(Proof::LargeChunk(Box::new(ShownChunk { place, dealing, mask })))
    }

    /// What was said in an envelope, if that is what it is about.
    pub(super) const fn said(&self) -> Option<&Statement> {
        match &self.0 {
            Proof::Statement(said) | Proof::Contradiction(said, _) | Proof::Payload(said, _) => {
                Some(said)
            }
            Proof::LargeChunk(_) => None,
        }
    }

    /// Who is accused.
    #[must_use]
    pub fn party(&self) -> Party {
        match &self.0 {
            Proof::Statement(said) | Proof::Contradiction(said, _) | Proof::Payload(said, _) => {
                said.place.dealer
            }
            Proof::LargeChunk(shown) => shown.place.dealer,
        }
    }

    /// What the party did. `set_up` is a collector of the session, for example one without dealings.
    /// Costs what it costs to judge a dealing.
    ///
    /// # Errors
    /// If it shows no fault of that party in this session.
    pub fn verify<C: Collect>(&self, set_up: &C) -> Result<Fault, EvidenceError> {
        let party = self.party();
        if let Some(said) = self.said() {
            check_signed(set_up, said)?;
        }
        let misdeed = match &self.0 {
            Proof::Statement(said) => misdeed_of(set_up, said),
            Proof::Contradiction(said, other) => {
                check_signed(set_up, other)?;
                if other.place != said.place || other.payload == said.payload {
                    return Err(EvidenceError::Consistent(party));
                }
                Some(Misdeed::Contradiction)
            }
            Proof::Payload(said, payload) => {
                if !said.is_about(payload) {
                    return Err(EvidenceError::Payload(party));
                }
                judge(set_up, said.place, payload).err()
            }
            Proof::LargeChunk(shown) => Some(shown.verify(set_up)?.into()),
        };
        let misdeed = misdeed.ok_or(EvidenceError::NoFault(party))?;
        Ok(Fault { party, misdeed })
    }

    /// Version, kind, statement and what belongs to it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, parts) = match &self.0 {
            Proof::Statement(said) => (0, vec![said.to_bytes()]),
            Proof::Contradiction(said, other) => (1, vec![said.to_bytes(), other.to_bytes()]),
            Proof::Payload(said, payload) => (2, vec![said.to_bytes(), payload.clone()]),
            Proof::LargeChunk(shown) => {
                let ShownChunk { place, dealing, mask } = shown.as_ref();
                (3, vec![place.to_bytes().to_vec(), mask.to_bytes(), dealing.clone()])
            }
        };
        [vec![VERSION, kind], parts.concat()].concat()
    }

    /// Reads evidence about dealings of `dealing_bytes` bytes, see [`Collect::dealing_bytes`].
    ///
    /// # Errors
    /// If there is no such kind, or the length is not exactly the kind's.
    pub fn from_bytes(dealing_bytes: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let [kind] = reader.array()?;
        let (before, dealing) = match kind {
            0 => (Statement::BYTES, 0),
            1 => (2 * Statement::BYTES, 0),
            2 => (Statement::BYTES, dealing_bytes),
            3 => (Place::BYTES + RevealedMask::BYTES, dealing_bytes),
            _ => return Err(DecodeError::Element { what: "kind of evidence", at: 1 }),
        };
        let (got, expected) = (bytes.len(), 2 + before + dealing);
        if got != expected {
            return Err(DecodeError::Length { got, expected });
        }
        let dealing = bytes.get(2 + before..).unwrap_or_default().to_vec();
        if kind == 3 {
            let (place, mask) = (Place::read(&mut reader)?, RevealedMask::read(&mut reader)?);
            return Ok(Self(Proof::LargeChunk(Box::new(ShownChunk { place, dealing, mask }))));
        }
        let said = Statement::read(&mut reader)?;
        Ok(Self(match kind {
            0 => Proof::Statement(said),
            1 => Proof::Contradiction(said, Statement::read(&mut reader)?),
            _ => Proof::Payload(said, dealing),
        }))
    }
}

impl ShownChunk {
    fn verify<C: Collect>(&self, set_up: &C) -> Result<TooLarge, EvidenceError> {
        let party = self.place.dealer;
        // A dealing that fails is shown with its envelope, which says who vouches for all of it.
        let dealing =
            judge(set_up, self.place, &self.dealing).map_err(|misdeed| match misdeed {
                Misdeed::Foreign => EvidenceError::Signature(party),
                _ => EvidenceError::Payload(party),
            })?;
        Ok(set_up.check_mask(&dealing, &self.mask)?)
    }
}

/// The dealing, if nothing is wrong with it.
fn judge<C: Collect>(
    set_up: &C,
    place: Place,
    payload: &[u8],
) -> Result<Accepted<C::Dealing>, Misdeed> {
    let dealing = set_up.decode(place, payload)?;
    let mut verdicts = set_up.check(vec![dealing]);
    // As many as there were dealings.
    verdicts.pop().unwrap_or(Err(Misdeed::Foreign))
}

fn check_signed<C: Collect>(set_up: &C, statement: &Statement) -> Result<(), EvidenceError> {
    if statement.session != set_up.session() {
        return Err(EvidenceError::Session);
    }
    if statement.is_signed(set_up.config()) {
        return Ok(());
    }
    Err(EvidenceError::Signature(statement.place.dealer))
}

/// What is wrong with a statement, whatever its payload is.
pub(super) fn misdeed_of<C: Collect>(set_up: &C, statement: &Statement) -> Option<Misdeed> {
    let (got, expected) = (statement.length, set_up.dealing_bytes());
    if u64::try_from(expected) != Ok(got) {
        return Some(Misdeed::Length { got, expected });
    }
    let Place { dealer, share } = statement.place;
    let owed = set_up.owed(dealer).contains(&statement.place);
    (!owed).then(|| Misdeed::Place { share: share.map_or(0, |share| share.get()) })
}
