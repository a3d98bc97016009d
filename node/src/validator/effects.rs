//! Carries out what the participant wants done, in its order.
use std::sync::Arc;

use prefinal_beacon::{Bls, Reveal};
use prefinal_driver::Receiver;
use prefinal_protocol::Recipient;
use prefinal_sidecar::Feed;
use prefinal_validator::Event;
use prefinal_validator::participant::Effect;
use prefinal_validator::setup::FIRST;
use tokio::time::timeout;

use super::execution::{ASK, Beside, Judging};
use super::links;
use super::state::Validator;
use crate::http::{PathWaits, SlotReport};

/// Carries out effects until the driver has stopped. A value is durable before the next effect, so that after
/// a crash the participant shows again what was not.
pub(super) async fn carry_out(
    validator: Arc<Validator>,
    effects: Receiver<Effect<Bls, Beside>>,
    feed: Option<Feed>,
) {
    let mut judging = Judging::default();
    loop {
        let effect = match timeout(ASK, effects.recv()).await {
            Ok(Ok(effect)) => Some(effect),
            Ok(Err(_)) => return,
            Err(_) => None,
        };
        let carried = effect.is_some();
        if let Some(effect) = effect
            && let Err(why) = act(&validator, effect, feed.as_ref())
        {
            return validator.end(why);
        }
        judging.tell(&validator, carried, || effects.len());
    }
}

/// Carries out one effect.
///
/// # Errors
/// Why the validator cannot go on.
fn act(
    validator: &Validator,
    effect: Effect<Bls, Beside>,
    feed: Option<&Feed>,
) -> Result<(), String> {
    if let Some(Err(why)) = feed.map(|feed| feed.effect(&effect)) {
        tracing::error!(%why, "the engine is not told");
    }
    if let Some(execution) = &validator.execution {
        execution.take(&effect);
    }
    match effect {
        Effect::Send { to, envelope } => validator.send(to, envelope),
        Effect::Submit { epoch, transaction } => {
            let transaction = Arc::from(transaction);
            let submitted = validator.mempool.submit(validator.me, Arc::clone(&transaction));
            if let Err(why) = submitted {
                tracing::error!(epoch = epoch.get(), %why, "transaction of the key generation left out");
            }
            // Peers may have room for it.
            links::spread(&validator.links, &transaction);
        }
        Effect::Prepare { setup, first } => {
            tracing::info!(
                epoch = setup.context.epoch.get(),
                first = first.get(),
                "next committee"
            );
            validator.prepare(setup, first);
        }
        Effect::Enter { setup, .. } => {
            tracing::info!(epoch = setup.context.epoch.get(), "epoch begins");
        }
        Effect::Lookup { epoch, to, slots } => {
            for message in validator.archived(epoch, &slots) {
                links::send(&validator.links, Recipient::One(to), &message);
            }
        }
        Effect::Tell(event) => tell(validator, event)?,
        Effect::Ordered { slot, .. } => validator.open_gate(slot),
        // The driver's pool runs jobs, and the pipeline hears of certificates above.
        Effect::Run(_) | Effect::Beside(_) => {}
    }
    Ok(())
}

/// Takes note of an event.
///
/// # Errors
/// Why the validator cannot go on.
fn tell(validator: &Validator, event: Event<Bls>) -> Result<(), String> {
    match event {
        Event::Dealing { epoch, dealings, progress } => {
            tracing::info!(epoch = epoch.get(), dealings, ?progress, "dealing counts");
        }
        Event::Ready { epoch, first_slot, committees } => {
            tracing::info!(epoch = epoch.get(), first = first_slot.get(), "keys are there");
            if epoch == FIRST {
                validator.open(&committees.slow.group_key(), first_slot);
            }
        }
        Event::Revealed(reveal) => revealed(validator, &reveal)?,
        Event::Named { epoch, slot } => {
            tracing::info!(
                epoch = epoch.get(),
                slot = slot.get(),
                "a block names the next committee"
            );
        }
        Event::ChangeRefused { slot, change } => {
            let (position, why) = (change.position, change.error);
            tracing::warn!(slot = slot.get(), position, %why, "change of the committee does not count");
        }
        Event::Skipped(slot) => {
            validator.metrics.skipped.inc();
            tracing::info!(slot = slot.get(), "no value");
        }
        Event::Accused { party, fault } => {
            validator.metrics.accused(validator.name_of(party));
            tracing::warn!(party = party.get(), name = validator.name_of(party), fault, "accused");
        }
        Event::Refused(why) => {
            validator.metrics.refusals.inc();
            tracing::info!(why, "nothing released");
        }
        Event::Halted(why) => return Err(format!("halted for good ({}): {why}", why.code())),
        Event::Admitted(..) | Event::Finalized { .. } => {}
    }
    Ok(())
}

fn revealed(validator: &Validator, reveal: &Reveal<Bls>) -> Result<(), String> {
    let kept = validator.archive.keep(reveal.slot, reveal.output);
    kept.map_err(|error| error.to_string())?;
    let wait = validator.is_revealed(reveal.slot, reveal.path);
    validator.weigh(reveal.slot, reveal.path);
    validator.board.reveal(reveal.slot, reveal.output);
    let way = PathWaits { parties: 1, waits: wait.into_iter().collect() };
    let ways = [(reveal.path, way)].into();
    validator.board.show(&SlotReport { slot: reveal.slot, block: reveal.value, ways });
    let wait = wait.map(|wait| wait.as_secs_f64());
    tracing::debug!(slot = reveal.slot.get(), path = %reveal.path, wait, "value");
    Ok(())
}
