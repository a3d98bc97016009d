//! Noise: the messages of a faulty party without a plan.

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_protocol::Party;
use prefinal_sim::Seat;
use prefinal_sim::rule::{Letter, Rule, Scene};

use crate::host::Overheard;

/// A third of the messages that leave have some bits changed. A third are accompanied by a message that
/// another party sent before. Some go to the wrong party.
pub(crate) struct Noise<M> {
    overheard: Overheard<M>,
}

impl<M> Noise<M> {
    pub(crate) const fn new(overheard: Overheard<M>) -> Self {
        Self { overheard }
    }
}

impl<M: Clone + BorshSerialize + BorshDeserialize> Rule<M> for Noise<M> {
    fn outgoing(
        &mut self,
        scene: &mut Scene<'_>,
        mut letter: Letter<M>,
        leaves: &mut Vec<Letter<M>>,
    ) {
        match scene.dice.below(6) {
            0 | 1 => {
                let Some(message) = changed(scene, &letter.message) else { return };
                letter.message = message;
            }
            2 | 3 => {
                let overheard = self.overheard.borrow();
                let count = u64::try_from(overheard.len()).unwrap_or(0);
                let at = usize::try_from(scene.dice.below(count)).unwrap_or(0);
                let said: Option<&(Party, M)> = overheard.get(at);
                if let Some((_, message)) = said {
                    leaves.push(Letter { message: message.clone(), ..letter.clone() });
                }
            }
            4 => {
                letter.to =
                    Seat::new(u32::try_from(scene.dice.below(scene.seats.into())).unwrap_or(0))
            }
            _ => {}
        }
        leaves.push(letter);
    }
}

/// The message with one to three bits flipped; `None` if it cannot be decoded then.
fn changed<M: BorshSerialize + BorshDeserialize>(scene: &mut Scene<'_>, message: &M) -> Option<M> {
    let mut bytes = borsh::to_vec(message).ok()?;
    for _ in 0..=scene.dice.below(3) {
        let count = u64::try_from(bytes.len()).ok()?;
        let at = usize::try_from(scene.dice.below(count)).ok()?;
        let bit = scene.dice.below(8);
        *bytes.get_mut(at)? ^= 1 << bit;
    }
    borsh::from_slice(&bytes).ok()
}
