//! What a party can do wrong, and the evidence that shows it to everybody.
//!
//! | misdeed         | what is shown                               | bytes of evidence      |
//! |-----------------|---------------------------------------------|------------------------|
//! | contradiction   | two signed statements for one place         | 2 + 2 · 128            |
//! | wrong length    | one signed statement                        | 2 + 128                |
//! | no such place   | one signed statement                        | 2 + 128                |
//! | all others      | one signed statement and its payload        | 2 + 128 + a dealing    |
//! | large chunk     | the dealing, and the mask of one of its chunks | 2 + 8 + 56 + a dealing |
//!
//! All evidence is signed by the accused party, for the one session, so nobody else can produce it. An
//! honest party signs one dealing for each place, and a valid one. If another party puts an honest
//! party's dealing into its own envelope, the evidence accuses that other party. A message that is not
//! signed by the party it names accuses nobody.
//!
//! Only the recipient sees a large chunk, and only when the key is already fixed. It shows the chunk by
//! [revealing](field::LargeChunk) the mask that hides it. This needs no envelope: the dealing holds its
//! dealer's signature, which names the same session.
//!
//! Evidence holds everything that a judge needs except the public set-up, which is a collector without
//! dealings. The function that judges dealings also judges evidence.
use prefinal_crypto_core::access::Party;
use thiserror::Error;

use super::collect::{Collect, Place};
use super::envelope::Statement;
use crate::accepted::Accepted;
use crate::field::large::RevealedMask;
use crate::field::{self, LargeChunk, LargeChunkError, TooLarge};
use crate::proof::ProofError;
use crate::verify::DealingError;
use crate::wire::{DecodeError, Reader, VERSION};

/// A party and its misdeed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{party}: {misdeed}")]
pub struct Fault {
    /// The party that did wrong.
    pub party: Party,
    /// What the party did, with what shows it.
    pub misdeed: Misdeed,
}

impl Fault {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.misdeed.code()
    }
}

/// What a party did that no honest party does.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Misdeed {
    /// Two different dealings for one place. A party that sees only one of them would count another
    /// dealing than the rest.
    #[error("two different dealings for one place")]
    Contradiction,
    /// The dealing has the wrong length.
    #[error("dealing of {got} bytes, expected {expected}")]
    Length {
        /// The length that was signed, in bytes.
        got: u64,
        /// The length that the configuration asks for, in bytes.
        expected: usize,
    },
    /// The place does not exist: a share that the dealer does not hold, or a share where fresh secrets
    /// are dealt.
    #[error("dealing where the dealer has none to make, share {share}")]
    Place {
        /// The share index that was signed; 0 for a fresh secret.
        share: u32,
    },
    /// The dealing cannot be decoded: an element is invalid or not canonical.
    #[error("undecodable dealing: {0}")]
    Undecodable(#[from] DecodeError),
    /// The sender's envelope holds another party's dealing, or a dealing for another share.
    #[error("envelope for {signed} holds a dealing for {dealt}")]
    Misplaced {
        /// The place that the envelope names.
        signed: Place,
        /// The place that the dealing names.
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
    /// A dealing that passes all checks, but takes a recipient long to open.
    #[error("slow dealing: {0}")]
    LargeChunk(#[from] TooLarge),
}

impl Misdeed {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Contradiction => "contradiction",
            Self::Length { .. } => "wrong-length",
            Self::Place { .. } => "not-the-holder",
            Self::Undecodable(error) => error.code(),
            Self::Misplaced { .. } => "misplaced-dealing",
            Self::Foreign => "other-session",
            Self::Group(error) => error.code(),
            Self::Field(error) => error.code(),
            Self::LargeChunk(large) => large.code(),
        }
    }
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

/// Proof of a fault for parties that were not there.
///
/// A party that deals twice in one session, and a third party that is convinced:
/// ```
/// # use std::sync::Arc;
/// # use prefinal_crypto_core::{access::Party, bls::min_sig};
/// # use prefinal_crypto_core::context::{ChainId, Context, EpochId};
/// # use prefinal_pvss_dkg::{Config, DecryptionKey, Member, Purpose, Session, Shape};
/// # use prefinal_weighted_rounding::{Ratio, Stake};
/// # let mut rng = <rand_chacha::ChaCha20Rng as rand_core::SeedableRng>::seed_from_u64(1);
/// # let stakes = [4, 3, 2, 1].map(Stake::new);
/// # let shape = Shape::tight(&stakes, Ratio::HALF)?;
/// # let (mut signers, mut keys, mut members) = (Vec::new(), Vec::new(), Vec::new());
/// # for stake in stakes {
/// #     let (signer, key) = (min_sig::SecretKey::random(&mut rng), DecryptionKey::random(&mut rng));
/// #     let public = signer.public_key();
/// #     let encryption = key.register(&signer, &mut rng).verify(&public)?;
/// #     let signer_key = public.verify_possession(&signer.prove_possession())?;
/// #     members.push(Member { stake, encryption, signer: signer_key });
/// #     signers.push(signer);
/// #     keys.push(key);
/// # }
/// # let context = Context { chain: ChainId::new([7; 32]), epoch: EpochId::new(1) };
/// # let session = Session { context, attempt: 0, purpose: Purpose::Randomness };
/// # let qualify = Config::more_than(Ratio::ONE_THIRD, stakes)?;
/// # let config = std::sync::Arc::new(Config::new(session, shape, members, qualify)?);
/// # use prefinal_protocol::{Instant, Machine, Output};
/// # use prefinal_pvss_dkg::protocol::{Effect, Input, Keygen, Keys, Position, Role};
/// # use prefinal_pvss_dkg::{Dealing, Dkg};
/// use prefinal_pvss_dkg::protocol::{Evidence, Misdeed};
/// # let blank = Dkg::<Dealing>::new(config.clone());
/// # let keygen = |dealer| Keygen::new(blank.clone(), Role { dealer, recipient: None }, vec![]);
/// # let mut keys = Keys { signer: &signers[3], decryption: &mut None, held: &() };
/// # let now = Instant::START;
/// # let mut drive = |keygen: &mut Keygen<Dkg<Dealing>>| {
/// #     let mut effects = Vec::new();
/// #     while let Some(output) = keygen.poll() {
/// #         match output {
/// #             Output::Do(Effect::Run(job)) => {
/// #                 let verdict = job.run(&mut keys, &mut rng);
/// #                 keygen.handle(now, Input::Checked(verdict));
/// #             }
/// #             Output::Do(effect) => effects.push(effect),
/// #             Output::Keep(_) | Output::Note(_) => {}
/// #         }
/// #     }
/// #     effects
/// # };
/// # let mut observer = keygen(None)?;
/// # let mut accused = None;
/// # for position in [1, 2].map(Position::new) {
/// #     let mut cheat = keygen(Some(Party::new(3)))?;
/// #     cheat.handle(now, Input::Start);
/// #     for effect in drive(&mut cheat) {
/// #         let Effect::Submit(message) = effect else { continue };
/// #         observer.handle(now, Input::Ordered { position, message });
/// #     }
/// #     for effect in drive(&mut observer) {
/// #         if let Effect::Accuse { evidence, .. } = effect {
/// #             accused = Some(evidence);
/// #         }
/// #     }
/// # }
/// # let evidence = accused.ok_or("nobody is accused")?;
///
/// // `evidence` came with an `Effect::Accuse`; `blank` is the session, a `Dkg` without dealings.
/// let bytes = evidence.to_bytes();
/// let received = Evidence::from_bytes(config.dealing_bytes(), &bytes)?;
/// let fault = received.verify(&blank)?;
/// assert_eq!((fault.party, fault.misdeed), (Party::new(3), Misdeed::Contradiction));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence(Proof);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Proof {
    /// The statement alone shows the fault.
    Statement(Statement),
    /// Two statements for the same place.
    Contradiction(Statement, Statement),
    /// A statement and the payload that it is about.
    Payload(Statement, Vec<u8>),
    /// A dealing without its envelope; the dealing itself is signed by its dealer.
    LargeChunk(Box<ShownChunk>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ShownChunk {
    place: Place,
    dealing: Vec<u8>,
    mask: RevealedMask,
}

/// Why evidence does not show a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The evidence is from another chain, epoch, attempt or committee, or about another kind of key.
    #[error("evidence is of another session")]
    Session,
    /// The party did not sign the statement: somebody else may have made it up.
    #[error("statement is not signed by {0}")]
    Signature(Party),
    /// The payload is not the one that the party signed.
    #[error("payload is not the one that {0} signed")]
    Payload(Party),
    /// The two statements do not contradict each other.
    #[error("statements of {0} do not contradict each other")]
    Consistent(Party),
    /// The statement or dealing is valid.
    #[error("{0} did nothing wrong")]
    NoFault(Party),
    /// No chunk of the dealing is shown to be too large.
    #[error("no large chunk is shown: {0}")]
    Chunk(#[from] LargeChunkError),
}

impl EvidenceError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Session => "other-session",
            Self::Signature(_) => "signature-mismatch",
            Self::Payload(_) => "payload-mismatch",
            Self::Consistent(_) | Self::NoFault(_) => "no-fault",
            Self::Chunk(error) => error.code(),
        }
    }
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

    /// Evidence against the dealer of a chunk that is too large.
    #[must_use]
    pub fn of_chunk(large: &LargeChunk) -> Self {
        let dealing = large.dealing();
        let place = Place { dealer: dealing.dealer(), share: dealing.share };
        let (dealing, mask) = (dealing.to_bytes(), large.mask().clone());
        Self(Proof::LargeChunk(Box::new(ShownChunk { place, dealing, mask })))
    }

    /// The statement of the envelope, if the evidence is about an envelope.
    pub(super) const fn said(&self) -> Option<&Statement> {
        match &self.0 {
            Proof::Statement(said) | Proof::Contradiction(said, _) | Proof::Payload(said, _) => {
                Some(said)
            }
            Proof::LargeChunk(_) => None,
        }
    }

    /// The party that the evidence accuses.
    #[must_use]
    pub fn party(&self) -> Party {
        match &self.0 {
            Proof::Statement(said) | Proof::Contradiction(said, _) | Proof::Payload(said, _) => {
                said.place.dealer
            }
            Proof::LargeChunk(shown) => shown.place.dealer,
        }
    }

    /// Checks the evidence and returns the fault. `set_up` is a collector of the session, for example
    /// one without dealings. The cost is that of judging a dealing.
    ///
    /// # Errors
    /// If the evidence shows no fault of that party in this session.
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

    /// The encoding: version, kind, statement, and the data of the kind.
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

    /// Reads evidence about dealings of `dealing_bytes` bytes (see [`Collect::dealing_bytes`]).
    ///
    /// # Errors
    /// If the kind is unknown, or the length is not exactly that of the kind.
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
        // An invalid dealing must be shown with its envelope, whose signature covers all of it.
        let dealing =
            judge(set_up, self.place, &self.dealing).map_err(|misdeed| match misdeed {
                Misdeed::Foreign => EvidenceError::Signature(party),
                _ => EvidenceError::Payload(party),
            })?;
        Ok(set_up.check_mask(&dealing, &self.mask)?)
    }
}

/// Returns the dealing, if nothing is wrong with it.
fn judge<C: Collect>(
    set_up: &C,
    place: Place,
    payload: &[u8],
) -> Result<Accepted<C::Dealing>, Misdeed> {
    let dealing = set_up.decode(place, payload)?;
    let mut verdicts = set_up.check(vec![dealing]);
    // `check` returns as many verdicts as there were dealings.
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

/// What is wrong with a statement, whatever its payload is. `None` if nothing is.
pub(super) fn misdeed_of<C: Collect>(set_up: &C, statement: &Statement) -> Option<Misdeed> {
    let (got, expected) = (statement.length, set_up.dealing_bytes());
    if u64::try_from(expected) != Ok(got) {
        return Some(Misdeed::Length { got, expected });
    }
    let Place { dealer, share } = statement.place;
    let owed = set_up.owed(dealer).contains(&statement.place);
    (!owed).then(|| Misdeed::Place { share: share.map_or(0, |share| share.get()) })
}
