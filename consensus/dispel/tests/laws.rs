//! What every engine must keep.
use prefinal_dispel::Dispel;
use prefinal_engine_suite::{MessageOf, Sample, Statement};
use prefinal_protocol::Party;

/// Nothing is signed. A vote says what it is for only together with the votes on all other proposers.
struct Unsigned;

impl Sample for Unsigned {
    type Engine = Dispel;

    /// Each proposer's bit may be decided by another quorum.
    const FINAL_BY_ONE_VOTE: bool = false;

    fn public_key(&self, _: Party) {}

    fn secret_key(&self, _: Party) {}

    fn statement(&self, _: &MessageOf<Self>) -> Option<Statement> {
        None
    }
}

prefinal_engine_suite::laws!(Unsigned);
