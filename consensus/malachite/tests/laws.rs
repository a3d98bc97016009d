//! What every engine must keep.

use prefinal_engine::Launch;
use prefinal_engine_suite::{MessageOf, Sample, Statement};
use prefinal_malachite::{
    Height, Malachite, Message, NilOrVal, PublicKey, Round, SecretKey, VoteType,
};
use prefinal_protocol::{Party, Slot, Value, View};

struct Tendermint;

impl Sample for Tendermint {
    type Engine = Malachite;

    fn public_key(&self, member: Party) -> PublicKey {
        self.secret_key(member).public_key()
    }

    fn secret_key(&self, member: Party) -> <Malachite as Launch>::SecretKey {
        SecretKey::from_seed([u8::try_from(member.get()).unwrap_or(0) + 1; 32])
    }

    fn statement(&self, message: &MessageOf<Self>) -> Option<Statement> {
        match message {
            Message::Proposal(proposal) => {
                let proposal = &proposal.message;
                let value = Value::new(proposal.block.id().to_bytes());
                Some(Statement::Proposes { view: view(proposal.height, proposal.round), value })
            }
            Message::Vote(vote) => {
                let vote = &vote.message;
                let view = view(vote.height, vote.round);
                let value = match vote.value {
                    NilOrVal::Nil => None,
                    NilOrVal::Val(block) => Some(Value::new(block.to_bytes())),
                };
                Some(match (vote.kind, value) {
                    (VoteType::Prevote, value) => Statement::Votes { view, value },
                    (VoteType::Precommit, Some(value)) => Statement::Prefinalizes { view, value },
                    (VoteType::Precommit, None) => Statement::GivesUp { view },
                })
            }
            _ => None,
        }
    }
}

fn view(height: Height, round: Round) -> View {
    View::new(Slot::new(height.get()), round.as_u32().unwrap_or(0))
}

prefinal_engine_suite::laws!(Tendermint);
