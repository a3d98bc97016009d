//! Errors of dealings, of keys made from them, and of their evidence.
use prefinal_pvss_dkg::field::{
    self, AddError, HandoverError, LargeChunkError, StoredSharesError, TooLarge,
};
use prefinal_pvss_dkg::protocol::{
    EpochKeyError, EvidenceError, Fault, Misdeed, NotCounted, RecordError, RecoverError,
};
use prefinal_pvss_dkg::{
    AggregateError, ConfigError, DealError, DealingError, DecodeError, DecryptError, DkgError,
    KeyError, NotOpened, OtherPurpose, ProofError, PurposeError, ShapeError, SharingError,
};

use crate::detail::{Coded, Detail, code};

impl Coded for ShapeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Weights(error) => error.detail(),
            Self::Threshold { error, .. } => error.detail(),
            Self::Order { fast, slow } => code("threshold-order").need(slow).got(fast),
            Self::NoSlowPair { .. } => code("no-slow-pair").need(&1_u32).got(&0_u32),
            Self::OtherPair { index, pairs } => code("pair-of-no-path").index(index).got(pairs),
            Self::Stake { party, stake, most } => {
                code("too-many-shares").party(*party).need(most).got(stake)
            }
        }
    }
}

impl Coded for ConfigError {
    fn detail(&self) -> Detail {
        match self {
            Self::Stake { party, got, expected } => {
                code("stake-mismatch").party(*party).need(expected).got(got)
            }
            Self::Members { members, weights } => code("wrong-count").need(members).got(weights),
            Self::StakeOverflow { party } => code("stake-overflow").party(*party).index(party),
            Self::NoQualification { .. } => code("qualification-range").need(&1_u32).got(&0_u32),
            Self::Unreachable { qualify, total } => {
                code("qualification-range").need(qualify).got(total)
            }
            Self::DuplicateKey { first, second, .. } => {
                code("duplicate-key").party(*second).index(first)
            }
        }
    }
}

impl Coded for KeyError {
    fn detail(&self) -> Detail {
        match self {
            Self::Identity => code("identity"),
            Self::Halves => code("key-halves"),
            Self::Possession => code("possession-mismatch"),
            Self::Signature => code("signature-mismatch"),
        }
    }
}

impl Coded for DealError {
    fn detail(&self) -> Detail {
        match self {
            Self::Dealer { dealer, members } => code("not-a-member").index(dealer).need(members),
            Self::Signer { dealer } => code("other-signing-key").party(*dealer),
            Self::Randomness(error) => error.detail(),
        }
    }
}

impl Coded for ProofError {
    fn detail(&self) -> Detail {
        match self {
            Self::Dealer { dealer, members } => code("not-a-member").index(dealer).need(members),
            Self::Signature => code("signature-mismatch"),
            Self::Knowledge => code("knowledge-proof"),
        }
    }
}

impl Coded for SharingError {
    fn detail(&self) -> Detail {
        match self {
            Self::Size { got, expected, .. } => code("wrong-count").need(expected).got(got),
            Self::Commitment => code("commitment-mismatch"),
            Self::Degree { threshold, .. } => code("degree-too-high").need(threshold),
            Self::Ciphertext { party } => code("ciphertext-mismatch").party(*party),
            Self::Product => code("pairing-mismatch"),
        }
    }
}

impl Coded for DealingError {
    fn detail(&self) -> Detail {
        match self {
            Self::Proof(error) => error.detail(),
            Self::Opening => code("knowledge-proof"),
            Self::Identity { .. } => code("identity"),
            Self::Sharing(error) => error.detail(),
        }
    }
}

impl Coded for field::DealingError {
    fn detail(&self) -> Detail {
        match self {
            Self::Proof(error) => error.detail(),
            Self::Source => code("wrong-kind"),
            Self::Holder { dealer, share } => code("not-the-holder").party(*dealer).index(share),
            Self::Share { share } => code("share-mismatch").index(share),
            Self::Size { got, expected, .. } => code("wrong-count").need(expected).got(got),
            Self::Identity { .. } => code("identity"),
            Self::Commitment => code("commitment-mismatch"),
            Self::Degree { threshold, .. } => code("degree-too-high").need(threshold),
            Self::Range { sum, got, most } => {
                code("chunk-too-large").index(sum).need(most).got(got)
            }
            Self::Chunking => code("range-proof"),
            Self::Sharing => code("sharing-proof"),
        }
    }
}

impl Coded for DecodeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Length { got, expected } => code("wrong-length").need(expected).got(got),
            Self::Version { got } => code("wrong-version").got(got),
            Self::Dealer { got, members } => code("not-a-member").index(got).need(members),
            Self::Dealers { got, members } => code("too-many-parties").need(members).got(got),
            Self::Order { first, second } => code("dealer-order").party(*second).index(first),
            Self::Element { at, .. } => code("invalid-element").index(at),
        }
    }
}

impl Coded for DkgError {
    fn detail(&self) -> Detail {
        match self {
            Self::Foreign { dealer } => code("other-session").party(*dealer),
            Self::Duplicate { dealer } => code("dealt-twice").party(*dealer),
            Self::Complete { dealer } => code("key-complete").party(*dealer),
            Self::Cancels { dealer } => code("secrets-cancel").party(*dealer),
        }
    }
}

impl Coded for AggregateError {
    fn detail(&self) -> Detail {
        match self {
            Self::Foreign { dealer } => code("other-session").party(*dealer),
            Self::Duplicate { dealer } => code("dealt-twice").party(*dealer),
            Self::BelowQualification { got, need } => {
                code("below-qualification").need(need).got(got)
            }
            Self::Shares { missing } => code("below-threshold").need(missing),
            Self::Predecessor => code("other-key"),
            Self::Cancelled => code("secrets-cancel"),
            Self::Proof(error) => error.detail(),
            Self::Sharing(error) => error.detail(),
        }
    }
}

impl Coded for DecryptError {
    fn detail(&self) -> Detail {
        match self {
            Self::Foreign => code("other-session"),
            Self::Key { party } => code("other-decryption-key").party(*party),
        }
    }
}

impl Coded for field::DecryptError {
    fn detail(&self) -> Detail {
        match self {
            Self::Recipient(error) => error.detail(),
            Self::Share { share, .. } => code("cannot-decrypt").index(share),
            Self::UsedUp => code("key-used-up"),
        }
    }
}

impl Coded for StoredSharesError {
    fn detail(&self) -> Detail {
        match self {
            Self::NotMember { party } => code("not-a-member").party(*party),
            Self::Decode(error) => error.detail(),
            Self::Mismatch { share, .. } => code("share-mismatch").index(share),
        }
    }
}

impl<E: Coded> Coded for NotOpened<E> {
    fn detail(&self) -> Detail {
        self.error.detail()
    }
}

impl Coded for PurposeError {
    fn detail(&self) -> Detail {
        match self {
            Self::Foreign => code("other-session"),
            Self::Other(error) => error.detail(),
            Self::Evaluation(error) => error.detail(),
            Self::Signing(error) => error.detail(),
            Self::Decryption(error) => error.detail(),
        }
    }
}

impl Coded for OtherPurpose {
    fn detail(&self) -> Detail {
        code("wrong-purpose")
    }
}

impl Coded for HandoverError {
    fn detail(&self) -> Detail {
        match self {
            Self::Purpose(error) => error.detail(),
            Self::Dealers { got, expected } => code("wrong-count").need(expected).got(got),
            Self::Holder { dealer, share } => code("not-the-holder").party(*dealer).index(share),
            Self::NoShares { dealer } => code("not-the-holder").party(*dealer),
            Self::Share { share } => code("share-mismatch").index(share),
            Self::EncryptionKey { party } => code("key-used-up").party(*party),
            Self::Deal(error) => error.detail(),
        }
    }
}

impl Coded for AddError {
    fn detail(&self) -> Detail {
        match self {
            Self::Foreign { dealer } => code("other-session").party(*dealer),
            Self::Duplicate { share } => code("dealt-twice").index(share),
            Self::Complete { share } => code("key-complete").index(share),
        }
    }
}

impl Coded for EpochKeyError {
    fn detail(&self) -> Detail {
        match self {
            Self::Decode(error) => error.detail(),
            Self::Element { got, expected } => code("wrong-kind").need(expected).got(got),
            Self::Shape(error) => error.detail(),
        }
    }
}

impl Coded for RecordError {
    fn detail(&self) -> Detail {
        match self {
            Self::Decode(error) => error.detail(),
            Self::Key(error) => error.detail(),
            Self::Session => code("other-session"),
            Self::Unreadable => code("unreadable-record"),
        }
    }
}

impl Coded for Misdeed {
    fn detail(&self) -> Detail {
        match self {
            Self::Contradiction => code("contradiction"),
            Self::Length { got, expected } => code("wrong-length").need(expected).got(got),
            Self::Place { share } => code("not-the-holder").index(share),
            Self::Undecodable(error) => error.detail(),
            Self::Misplaced { .. } => code("misplaced-dealing"),
            Self::Foreign => code("other-session"),
            Self::Group(error) => error.detail(),
            Self::Field(error) => error.detail(),
            Self::LargeChunk(large) => large.detail(),
        }
    }
}

impl Coded for TooLarge {
    fn detail(&self) -> Detail {
        code("chunk-too-large").index(&self.chunk)
    }
}

impl Coded for LargeChunkError {
    fn detail(&self) -> Detail {
        match self {
            Self::Place { item, .. } => code("invalid-value").index(item),
            Self::Mask => code("payload-mismatch"),
            Self::Honest => code("no-fault"),
        }
    }
}

impl Coded for Fault {
    fn detail(&self) -> Detail {
        self.misdeed.detail().party(self.party)
    }
}

impl Coded for EvidenceError {
    fn detail(&self) -> Detail {
        match self {
            Self::Session => code("other-session"),
            Self::Signature(party) => code("signature-mismatch").party(*party),
            Self::Payload(party) => code("payload-mismatch").party(*party),
            Self::Consistent(party) | Self::NoFault(party) => code("no-fault").party(*party),
            Self::Chunk(error) => error.detail(),
        }
    }
}

impl Coded for NotCounted {
    fn detail(&self) -> Detail {
        match self {
            Self::Fresh(error) => error.detail(),
            Self::Share(error) => error.detail(),
        }
    }
}

impl Coded for RecoverError {
    fn detail(&self) -> Detail {
        match self {
            Self::Decode(error) => error.detail(),
            Self::Dealing(error) => error.detail(),
            Self::NotCounted(error) => error.detail(),
            Self::Sum(error) => error.detail(),
            Self::OtherKey => code("other-key"),
        }
    }
}
