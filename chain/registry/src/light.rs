//! What light clients begin with, of a chain whose set-up is known.
//!
//! The node that answers is not trusted: an operator shows the waypoint, in the genesis or on a page, and clients
//! compare.
use prefinal_light::{EpochRow, Member, MemberList, Waypoint};
use prefinal_protocol::Slot;
use prefinal_validator::setup::{CertificateKey, Setup};

/// The committee of this set-up, with the keys that certify states and the stakes that they count.
#[must_use]
pub fn members(setup: &Setup) -> MemberList {
    members_of(&setup.certifiers, setup.members.iter().map(|member| member.stake.get()))
}

/// The parties with these keys and stakes, both in the order of their numbers.
#[must_use]
pub fn members_of(certifiers: &[CertificateKey], stakes: impl Iterator<Item = u128>) -> MemberList {
    let member = certifiers.iter().zip(stakes).map(|(certifier, stake)| Member {
        key: *certifier.key.get(),
        possession: certifier.possession,
        stake,
    });
    MemberList { members: member.collect() }
}

/// The epoch of this set-up as a client may trust it, from the first slot whose state its committee certifies.
#[must_use]
pub fn waypoint(setup: &Setup, first: Slot) -> Waypoint {
    let epoch = EpochRow::new(setup.context.epoch, first, &members(setup));
    Waypoint { chain: setup.context.chain, epoch }
}
