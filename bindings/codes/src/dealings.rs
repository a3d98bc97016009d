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

use crate::detail::{Coded, Detail};

impl Coded for ShapeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Weights(error) => error.detail(),
            Self::Threshold { error, .. } => error.detail(),
            Self::Order { fast, slow } => plain.need(slow).got(fast),
            Self::NoSlowPair { .. } => plain.need(&1_u32).got(&0_u32),
            Self::OtherPair { index, pairs } => plain.index(index).got(pairs),
            Self::Stake { party, stake, most } => plain.party(*party).need(most).got(stake),
            _ => plain,
        }
    }
}

impl Coded for ConfigError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Stake { party, got, expected } => plain.party(*party).need(expected).got(got),
            Self::Members { members, weights } => plain.need(members).got(weights),
            Self::StakeOverflow { party } => plain.party(*party).index(party),
            Self::NoQualification { .. } => plain.need(&1_u32).got(&0_u32),
            Self::Unreachable { qualify, total } => plain.need(qualify).got(total),
            Self::DuplicateKey { first, second, .. } => plain.party(*second).index(first),
            _ => plain,
        }
    }
}

impl Coded for KeyError {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for DealError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Dealer { dealer, members } => plain.index(dealer).need(members),
            Self::Signer { dealer } => plain.party(*dealer),
            Self::Randomness(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for ProofError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Dealer { dealer, members } => plain.index(dealer).need(members),
            _ => plain,
        }
    }
}

impl Coded for SharingError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Size { got, expected, .. } => plain.need(expected).got(got),
            Self::Degree { threshold, .. } => plain.need(threshold),
            Self::Ciphertext { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for DealingError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Proof(error) => error.detail(),
            Self::Sharing(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for field::DealingError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Proof(error) => error.detail(),
            Self::Holder { dealer, share } => plain.party(*dealer).index(share),
            Self::Share { share } => plain.index(share),
            Self::Size { got, expected, .. } => plain.need(expected).got(got),
            Self::Degree { threshold, .. } => plain.need(threshold),
            Self::Range { sum, got, most } => plain.index(sum).need(most).got(got),
            _ => plain,
        }
    }
}

impl Coded for DecodeError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Length { got, expected } => plain.need(expected).got(got),
            Self::Version { got } => plain.got(got),
            Self::Dealer { got, members } => plain.index(got).need(members),
            Self::Dealers { got, members } => plain.need(members).got(got),
            Self::Order { first, second } => plain.party(*second).index(first),
            Self::Element { at, .. } => plain.index(at),
            _ => plain,
        }
    }
}

impl Coded for DkgError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Foreign { dealer } => plain.party(*dealer),
            Self::Duplicate { dealer } => plain.party(*dealer),
            Self::Complete { dealer } => plain.party(*dealer),
            Self::Cancels { dealer } => plain.party(*dealer),
            _ => plain,
        }
    }
}

impl Coded for AggregateError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Foreign { dealer } => plain.party(*dealer),
            Self::Duplicate { dealer } => plain.party(*dealer),
            Self::BelowQualification { got, need } => plain.need(need).got(got),
            Self::Shares { missing } => plain.need(missing),
            Self::Proof(error) => error.detail(),
            Self::Sharing(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for DecryptError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Key { party } => plain.party(*party),
            _ => plain,
        }
    }
}

impl Coded for field::DecryptError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Recipient(error) => error.detail(),
            Self::Share { share, .. } => plain.index(share),
            _ => plain,
        }
    }
}

impl Coded for StoredSharesError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::NotMember { party } => plain.party(*party),
            Self::Decode(error) => error.detail(),
            Self::Mismatch { share, .. } => plain.index(share),
            _ => plain,
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
        let plain = Detail::of(self.code());
        match self {
            Self::Other(error) => error.detail(),
            Self::Evaluation(error) => error.detail(),
            Self::Signing(error) => error.detail(),
            Self::Decryption(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for OtherPurpose {
    fn detail(&self) -> Detail {
        Detail::of(self.code())
    }
}

impl Coded for HandoverError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Purpose(error) => error.detail(),
            Self::Dealers { got, expected } => plain.need(expected).got(got),
            Self::Holder { dealer, share } => plain.party(*dealer).index(share),
            Self::NoShares { dealer } => plain.party(*dealer),
            Self::Share { share } => plain.index(share),
            Self::EncryptionKey { party } => plain.party(*party),
            Self::Deal(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for AddError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Foreign { dealer } => plain.party(*dealer),
            Self::Duplicate { share } => plain.index(share),
            Self::Complete { share } => plain.index(share),
            _ => plain,
        }
    }
}

impl Coded for EpochKeyError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Decode(error) => error.detail(),
            Self::Element { got, expected } => plain.need(expected).got(got),
            Self::Shape(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for RecordError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Decode(error) => error.detail(),
            Self::Key(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for Misdeed {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Length { got, expected } => plain.need(expected).got(got),
            Self::Place { share } => plain.index(share),
            Self::Undecodable(error) => error.detail(),
            Self::Group(error) => error.detail(),
            Self::Field(error) => error.detail(),
            Self::LargeChunk(large) => large.detail(),
            _ => plain,
        }
    }
}

impl Coded for TooLarge {
    fn detail(&self) -> Detail {
        Detail::of(self.code()).index(&self.chunk)
    }
}

impl Coded for LargeChunkError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Place { item, .. } => plain.index(item),
            _ => plain,
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
        let plain = Detail::of(self.code());
        match self {
            Self::Signature(party) => plain.party(*party),
            Self::Payload(party) => plain.party(*party),
            Self::Consistent(party) | Self::NoFault(party) => plain.party(*party),
            Self::Chunk(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for NotCounted {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Fresh(error) => error.detail(),
            Self::Share(error) => error.detail(),
            _ => plain,
        }
    }
}

impl Coded for RecoverError {
    fn detail(&self) -> Detail {
        let plain = Detail::of(self.code());
        match self {
            Self::Decode(error) => error.detail(),
            Self::Dealing(error) => error.detail(),
            Self::NotCounted(error) => error.detail(),
            Self::Sum(error) => error.detail(),
            _ => plain,
        }
    }
}
