//! What a party did wrong, so that everybody can see it.
//!
//! | misdeed         | what is shown                               | bytes of evidence      |
//! |-----------------|---------------------------------------------|------------------------|
//! | contradiction   | two signed statements for one place         | 2 + 2 · 128            |
//! | wrong length    | one signed statement                        | 2 + 128                |
//! | no such place   | one signed statement                        | 2 + 128                |
//! | all others      | one signed statement and its payload        | 2 + 128 + a dealing    |
//!
//! Everything is signed by who is accused, for the one session, so that nobody else can bring it about:
//! an honest party signs one dealing for each place, and a good one. A dealing of an honest party in
//! another's envelope accuses the other. What is not signed by the party it names accuses nobody.
//!
//! Evidence holds all that is needed but the public set-up, which is a collector without dealings, and
//! is judged by the function that judges dealings.
use crypto_core::access::Party;
use thiserror::Error;

use super::collect::{Collect, Place};
use super::envelope::Statement;
use crate::field;
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
pub struct Evidence {
    statement: Statement,
    proof: Proof,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Proof {
    /// The statement alone.
    Statement,
    /// With another for the same place.
    Other(Statement),
    /// With what it is about.
    Payload(Vec<u8>),
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
}

impl Evidence {
    pub(super) const fn statement(statement: Statement) -> Self {
        Self { statement, proof: Proof::Statement }
    }

    pub(super) const fn contradiction(statement: Statement, other: Statement) -> Self {
        Self { statement, proof: Proof::Other(other) }
    }

    pub(super) const fn payload(statement: Statement, payload: Vec<u8>) -> Self {
        Self { statement, proof: Proof::Payload(payload) }
    }

    pub(super) const fn said(&self) -> &Statement {
        &self.statement
    }

    /// Who is accused.
    #[must_use]
    pub const fn party(&self) -> Party {
        self.statement.place.dealer
    }

    /// What the party did. `set_up` is a collector of the session, for example one without dealings.
    /// Costs what it costs to judge a dealing.
    ///
    /// # Errors
    /// If it shows no fault of that party in this session.
    pub fn verify<C: Collect>(&self, set_up: &C) -> Result<Fault, EvidenceError> {
        let party = self.party();
        self.check_signed(set_up, &self.statement)?;
        let misdeed = match &self.proof {
            Proof::Statement => misdeed_of(set_up, &self.statement),
            Proof::Other(other) => {
                self.check_signed(set_up, other)?;
                let same = other.place == self.statement.place;
                if !same || other.payload == self.statement.payload {
                    return Err(EvidenceError::Consistent(party));
                }
                Some(Misdeed::Contradiction)
            }
            Proof::Payload(payload) => {
                if !self.statement.is_about(payload) {
                    return Err(EvidenceError::Payload(party));
                }
                let dealing = set_up.decode(self.statement.place, payload);
                match dealing.map(|dealing| set_up.check(vec![dealing])) {
                    Err(misdeed) => Some(misdeed),
                    Ok(verdicts) => verdicts.into_iter().find_map(Result::err),
                }
            }
        };
        let misdeed = misdeed.ok_or(EvidenceError::NoFault(party))?;
        Ok(Fault { party, misdeed })
    }

    fn check_signed<C: Collect>(
        &self,
        set_up: &C,
        statement: &Statement,
    ) -> Result<(), EvidenceError> {
        if statement.session != set_up.session() {
            return Err(EvidenceError::Session);
        }
        if statement.is_signed(set_up.config()) {
            return Ok(());
        }
        Err(EvidenceError::Signature(statement.place.dealer))
    }

    /// Version, kind, statement and what belongs to it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, rest) = match &self.proof {
            Proof::Statement => (0, Vec::new()),
            Proof::Other(other) => (1, other.to_bytes()),
            Proof::Payload(payload) => (2, payload.clone()),
        };
        [vec![VERSION, kind], self.statement.to_bytes(), rest].concat()
    }

    /// Reads evidence about dealings of `dealing_bytes` bytes, see [`Collect::dealing_bytes`].
    ///
    /// # Errors
    /// If there is no such kind, or the length is not exactly the kind's.
    pub fn from_bytes(dealing_bytes: usize, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        reader.version()?;
        let [kind] = *reader.take()?;
        let rest = match kind {
            0 => 0,
            1 => Statement::BYTES,
            2 => dealing_bytes,
            _ => return Err(DecodeError::Element { what: "kind of evidence", at: 1 }),
        };
        let (got, expected) = (bytes.len(), 2 + Statement::BYTES + rest);
        if got != expected {
            return Err(DecodeError::Length { got, expected });
        }
        let statement = Statement::read(&mut reader)?;
        let proof = match kind {
            0 => Proof::Statement,
            1 => Proof::Other(Statement::read(&mut reader)?),
            _ => Proof::Payload(bytes.get(2 + Statement::BYTES..).unwrap_or_default().to_vec()),
        };
        Ok(Self { statement, proof })
    }
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
