//! One party: an engine's part of a chain, with Prefinal in it. Everything that embedding takes is here.
use std::fs;
use std::io::{stdin, stdout};
use std::path::Path;
use std::thread;
use std::time::Duration;

use prefinal::beacon::stack::OneOf;
use prefinal::chain::fixed::FixedCommittees;
use prefinal::crypto::entropy::system_seed;
use prefinal::{
    Algorithm, Bls, ChainId, Effect, EpochId, Event, Failure, Host, Identity, Message, Party, Plan,
    Quorum, Ratio, Recipient, Secret, Setup, Stake, View,
};

use crate::wire::{self, FromParty, Keys, ToParty};
use crate::{SECOND_COMMITTEE, STAKES};

pub fn run(me: Party, folder: &Path, cheats: bool) -> Result<(), Failure> {
    // The party's secret is made once; everything else follows from it.
    let (seed, journal) = (folder.join("seed"), folder.join("journal.redb"));
    let is_new = !seed.exists();
    if is_new {
        fs::write(&seed, system_seed()?.expose())?;
    }
    let drawn = fs::read(&seed)?.try_into().map_err(|_| "the seed has not 32 bytes")?;
    let identity = Identity::from_seed(me, Secret::new(drawn));
    let keys = (identity.registration(), identity.register(EpochId::new(1)));
    say(&FromParty::Keys(Box::new(keys)))?;
    let ToParty::Genesis(members) = hear()? else { return Err("no genesis".into()) };

    let host = Host::new(Quorum::BYZANTINE, Some(0));
    let (driver, effects) = if is_new {
        prefinal::create::<Bls>(journal, genesis(members)?, identity, host)?
    } else {
        prefinal::open::<Bls>(journal, genesis(members)?, identity, host)?
    };
    thread::spawn(move || {
        while let Ok(effect) = effects.recv_blocking() {
            carry_out(effect)?;
        }
        Ok::<(), Failure>(())
    });
    let clock = driver.clone();
    thread::spawn(move || clock.run_clock(Duration::from_millis(20)));

    say(&FromParty::Ready(driver.figures()?.last_final))?;
    let mut kept = None;
    loop {
        match hear()? {
            ToParty::Proposal(slot, block) => {
                // What is released is on disk before the vote leaves, and leaves with it.
                let partial = driver.on_prefinalize(slot, View::new(slot, 0), block.value)?;
                let partial =
                    partial.map(|sent| if cheats { spoil(sent, &mut kept) } else { sent });
                say(&FromParty::Vote(slot, partial))?;
            }
            ToParty::Final(slot, block) => driver.on_finalize(slot, Some(block))?,
            ToParty::Message(from, message) => driver.on_message(from, message).or_else(tell)?,
            ToParty::Genesis(_) => return Err("a second genesis".into()),
        }
    }
}

/// The same in every party: stakes become weights, and registrations a committee, which another follows.
fn genesis(members: Vec<Keys>) -> Result<Setup, Failure> {
    let (first, second): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    let [plan, next] = STAKES.map(|stakes| {
        let stakes = stakes.map(Stake::new).to_vec();
        Plan::new(stakes, Algorithm::Fast, Ratio::FIVE_SIXTHS)
    });
    let setup = Setup::new(ChainId::new(*b"prefinal's example: seven seats."), &plan?, &first)?;
    Ok(FixedCommittees::of(setup, [(next?, second)], SECOND_COMMITTEE)?)
}

fn carry_out(effect: Effect<Bls>) -> Result<(), Failure> {
    match effect {
        Effect::Send { to: Recipient::All, envelope } => say(&FromParty::Send(None, envelope)),
        Effect::Send { to: Recipient::One(to), envelope } => {
            say(&FromParty::Send(Some(to), envelope))
        }
        Effect::Submit { transaction, .. } => say(&FromParty::Submit(transaction)),
        Effect::Prepare { setup, first } => {
            let stakes = setup.members.iter().map(|member| member.stake.get()).collect();
            say(&FromParty::Committee(first, stakes))
        }
        Effect::Tell(Event::Ready { first_slot, committees, .. }) => {
            say(&FromParty::Key(first_slot, committees.slow.group_key().to_bytes().to_vec()))
        }
        Effect::Tell(Event::Revealed(value)) => say(&FromParty::Value(
            value.slot,
            value.path.to_string(),
            value.output.to_bytes().to_vec(),
        )),
        Effect::Tell(Event::Accused { party, fault }) => {
            say(&FromParty::Say(format!("accuses {party}: {fault}")))
        }
        Effect::Tell(Event::Halted(why)) => Err(why.into()),
        _ => Ok(()),
    }
}

/// A cheat sends its first partial again and again.
fn spoil(sent: Message<Bls>, kept: &mut Option<Message<Bls>>) -> Message<Bls> {
    use prefinal::beacon::Message::Partial;
    let first = kept.get_or_insert_with(|| sent.clone()).messages()[0].clone();
    let epoch = sent.epoch();
    match (sent.messages(), first) {
        (
            [OneOf::First(Partial { path, slot, value, .. })],
            OneOf::First(Partial { partial, .. }),
        ) => {
            let (path, slot, value) = (*path, *slot, *value);
            Message::one(epoch, OneOf::First(Partial { path, slot, value, partial }))
        }
        _ => sent,
    }
}

fn tell(why: impl ToString) -> Result<(), Failure> {
    say(&FromParty::Say(why.to_string()))
}

fn say(frame: &FromParty) -> Result<(), Failure> {
    Ok(wire::write(&mut stdout().lock(), frame)?)
}

fn hear() -> Result<ToParty, Failure> {
    Ok(wire::read(&mut stdin().lock())?)
}
