//! Malachite's types: heights, blocks, votes, proposals, validators.
//!
//! A block's name covers its height and its transactions, not its proposer or round. So a block that is
//! proposed again is the same block, and the beacon's value never depends on a view.
//!
//! | name of a block | `SHA-256(tag ‖ height ‖ Σ (length ‖ transaction))` |
//!
//! Validators take turns: the proposer of round r at height h is number h + r of those with stake. What
//! is signed of these types is in `sign`. Fields travel in Borsh, in the order in which they are declared.
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::sync::Arc;

use borsh::{BorshDeserialize, BorshSerialize};
use malachitebft_core_types::{
    self as malachite, LinearTimeouts, NilOrVal, Round, SignedExtension, ValueId, VoteType,
    VotingPower,
};
use prefinal_protocol::Party;
use sha2::{Digest, Sha256};

use crate::sign::{Ed25519, PublicKey};

const BLOCK: &[u8] = b"prefinal/malachite/v1/block";

/// The types of the Tendermint that Malachite runs here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tendermint;

/// A block's place in the chain. The first height is 1.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    BorshSerialize,
    BorshDeserialize,
)]
pub struct Height(u64);

/// A validator's name in votes: its place in the committee.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct Address(Party);

/// The hash that names a block.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, BorshSerialize, BorshDeserialize,
)]
pub struct BlockId([u8; 32]);

/// A block: the value that a height decides.
#[derive(Clone)]
pub struct Block {
    id: BlockId,
    height: Height,
    transactions: Arc<[Arc<[u8]>]>,
}

/// A prevote or precommit. Its signature does not cover the extension, which has a separate signature.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Vote {
    /// Prevote or precommit.
    pub kind: VoteType,
    /// The height.
    pub height: Height,
    /// The round.
    pub round: Round,
    /// The block that the vote is for, or nil.
    pub value: NilOrVal<BlockId>,
    /// The voter.
    pub voter: Address,
    /// The extension that a precommit carries.
    pub extension: Option<SignedExtension<Tendermint>>,
}

/// A proposal of a block.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Proposal {
    /// The height.
    pub height: Height,
    /// The round.
    pub round: Round,
    /// The earlier round with a polka for the block, if it is proposed again.
    pub pol_round: Round,
    /// The proposer.
    pub proposer: Address,
    /// The block.
    pub block: Block,
}

/// A member, as Malachite counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validator {
    pub(crate) address: Address,
    pub(crate) key: PublicKey,
    pub(crate) power: VotingPower,
}

/// All members. The position in the list is the party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValidatorSet {
    members: Arc<[Validator]>,
    /// The members with stake, in turn. The first is kept apart, so that there always is one.
    first: Validator,
    proposers: Arc<[Validator]>,
    total: VotingPower,
}

impl Height {
    /// The height with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of the height.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The height that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Address {
    /// The address of a party.
    #[must_use]
    pub const fn new(party: Party) -> Self {
        Self(party)
    }

    /// The party with this address.
    #[must_use]
    pub const fn party(self) -> Party {
        self.0
    }
}

impl BlockId {
    /// The name with this hash.
    #[must_use]
    pub const fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// The bytes of the hash.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 32] {
        self.0
    }
}

impl Block {
    /// A block of these transactions at that height.
    #[must_use]
    pub fn new(height: Height, transactions: Vec<Arc<[u8]>>) -> Self {
        let mut hash = Sha256::new_with_prefix(BLOCK);
        hash.update(height.0.to_be_bytes());
        for transaction in &transactions {
            hash.update(u64::try_from(transaction.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(transaction);
        }
        Self { id: BlockId(hash.finalize().into()), height, transactions: transactions.into() }
    }

    /// The block's name.
    #[must_use]
    pub const fn id(&self) -> BlockId {
        self.id
    }

    /// The block's height.
    #[must_use]
    pub const fn height(&self) -> Height {
        self.height
    }

    /// The block's transactions, in their order.
    #[must_use]
    pub fn transactions(&self) -> &[Arc<[u8]>] {
        &self.transactions
    }

    /// Total length of its transactions in bytes.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.transactions.iter().map(|one| one.len()).sum()
    }
}

/// The name covers everything else, so it is enough to compare names.
impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Block {}

impl PartialOrd for Block {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Block {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.id.cmp(&other.id)
    }
}

impl BorshSerialize for Block {
    fn serialize<W: io::Write>(&self, writer: &mut W) -> io::Result<()> {
        self.height.serialize(writer)?;
        let transactions: Vec<&[u8]> = self.transactions.iter().map(|one| &**one).collect();
        transactions.serialize(writer)
    }
}

impl BorshDeserialize for Block {
    fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
        let height = Height::deserialize_reader(reader)?;
        let transactions = Vec::<Vec<u8>>::deserialize_reader(reader)?;
        Ok(Self::new(height, transactions.into_iter().map(Arc::from).collect()))
    }
}

impl ValidatorSet {
    /// `None` if no member has stake.
    pub(crate) fn new(members: Vec<Validator>, total: VotingPower) -> Option<Self> {
        let proposers: Arc<[Validator]> =
            members.iter().filter(|member| member.power > 0).cloned().collect();
        let first = proposers.first()?.clone();
        Some(Self { members: members.into(), first, proposers, total })
    }

    pub(crate) fn proposer(&self, height: Height, round: Round) -> &Validator {
        let turn = height.0.wrapping_add(u64::from(round.as_u32().unwrap_or(0)));
        let turns = u64::try_from(self.proposers.len()).unwrap_or(u64::MAX);
        let turn = turn.checked_rem(turns).and_then(|turn| usize::try_from(turn).ok());
        turn.and_then(|turn| self.proposers.get(turn)).unwrap_or(&self.first)
    }
}

impl malachite::Context for Tendermint {
    type Address = Address;
    type Height = Height;
    type ProposalPart = Infallible;
    type Proposal = Proposal;
    type Validator = Validator;
    type ValidatorSet = ValidatorSet;
    type Timeouts = LinearTimeouts;
    type Value = Block;
    type Vote = Vote;
    type Extension = Vec<u8>;
    type SigningScheme = Ed25519;

    fn select_proposer<'a>(
        &self,
        validators: &'a ValidatorSet,
        height: Height,
        round: Round,
    ) -> &'a Validator {
        validators.proposer(height, round)
    }

    fn new_proposal(
        &self,
        height: Height,
        round: Round,
        block: Block,
        pol_round: Round,
        proposer: Address,
    ) -> Proposal {
        Proposal { height, round, pol_round, proposer, block }
    }

    fn new_prevote(
        &self,
        height: Height,
        round: Round,
        value: NilOrVal<ValueId<Self>>,
        voter: Address,
    ) -> Vote {
        Vote { kind: VoteType::Prevote, height, round, value, voter, extension: None }
    }

    fn new_precommit(
        &self,
        height: Height,
        round: Round,
        value: NilOrVal<ValueId<Self>>,
        voter: Address,
    ) -> Vote {
        Vote { kind: VoteType::Precommit, height, round, value, voter, extension: None }
    }
}

impl malachite::Height for Height {
    const ZERO: Self = Self(0);
    const INITIAL: Self = Self(1);

    fn increment_by(&self, n: u64) -> Self {
        Self(self.0.saturating_add(n))
    }

    fn decrement_by(&self, n: u64) -> Option<Self> {
        self.0.checked_sub(n).map(Self)
    }

    fn as_u64(&self) -> u64 {
        self.0
    }
}

impl malachite::Address for Address {}

impl malachite::Value for Block {
    type Id = BlockId;

    fn id(&self) -> BlockId {
        self.id
    }
}

impl malachite::ProposalPart<Tendermint> for Infallible {
    fn is_first(&self) -> bool {
        match *self {}
    }

    fn is_last(&self) -> bool {
        match *self {}
    }
}

impl malachite::Validator<Tendermint> for Validator {
    fn address(&self) -> &Address {
        &self.address
    }

    fn public_key(&self) -> &PublicKey {
        &self.key
    }

    fn voting_power(&self) -> VotingPower {
        self.power
    }
}

impl malachite::ValidatorSet<Tendermint> for ValidatorSet {
    fn count(&self) -> usize {
        self.members.len()
    }

    fn total_voting_power(&self) -> VotingPower {
        self.total
    }

    fn get_by_address(&self, address: &Address) -> Option<&Validator> {
        self.members.get(address.0.index())
    }

    fn get_by_index(&self, index: usize) -> Option<&Validator> {
        self.members.get(index)
    }
}

impl malachite::Vote<Tendermint> for Vote {
    fn height(&self) -> Height {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &NilOrVal<BlockId> {
        &self.value
    }

    fn take_value(self) -> NilOrVal<BlockId> {
        self.value
    }

    fn vote_type(&self) -> VoteType {
        self.kind
    }

    fn validator_address(&self) -> &Address {
        &self.voter
    }

    fn extension(&self) -> Option<&SignedExtension<Tendermint>> {
        self.extension.as_ref()
    }

    fn take_extension(&mut self) -> Option<SignedExtension<Tendermint>> {
        self.extension.take()
    }

    fn extend(self, extension: SignedExtension<Tendermint>) -> Self {
        Self { extension: Some(extension), ..self }
    }
}

impl malachite::Proposal<Tendermint> for Proposal {
    fn height(&self) -> Height {
        self.height
    }

    fn round(&self) -> Round {
        self.round
    }

    fn value(&self) -> &Block {
        &self.block
    }

    fn take_value(self) -> Block {
        self.block
    }

    fn pol_round(&self) -> Round {
        self.pol_round
    }

    fn validator_address(&self) -> &Address {
        &self.proposer
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "height {}", self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Malachite prints proposals in its log. The transactions would fill it.
impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, height, transactions) = (self.id, self.height, self.transactions.len());
        write!(f, "Block({id}.., {height}, {transactions} transactions)")
    }
}

/// The first eight bytes are enough to tell blocks apart in a log.
impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
