//! Adds a scheme from outside of the beacon, and lets four validators certify a value with it.
//!
//! Run it with `cargo run -p prefinal-beacon --example ed25519`. The whole scheme is in `scheme.rs`. This
//! file has a committee that runs it, and the test that checks the laws on it.
mod scheme;

use std::error::Error;

use ed25519_consensus::SigningKey;
use prefinal_beacon::laws::{DealtCommittee, Sample};
use prefinal_beacon::{
    Beacon, Binding, Config, Effect, Finality, Input, Life, Limits, Output, Path, Paths, Quorum,
    Sharing, Slot, Value, View,
};
use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::context::{ChainId, Context, EpochId};
use prefinal_protocol::{Instant, Machine};
use prefinal_weighted_rounding::Stake;

use self::scheme::{Ed25519, Key, Voters};

const STAKES: [u128; 4] = [40, 30, 20, 10];
const CONTEXT: Context = Context { chain: ChainId::new([1; 32]), epoch: EpochId::new(1) };
const SLOT: Slot = Slot::new(1);
const VALUE: Value = Value::new([7; 32]);

/// Keys for the example. They are not secret at all.
struct Dealer;

impl Sample for Dealer {
    type Scheme = Ed25519;

    fn deal(&self, number: u8, _: Path) -> DealtCommittee<Ed25519> {
        let keys = [0, 1, 2, 3].map(|party| SigningKey::from([16 * number + party; 32]));
        let voters = keys.iter().map(SigningKey::verification_key).zip(STAKES).collect();
        let secrets = (0..).map(Party::new).zip(keys.map(Key)).collect();
        // More than two thirds of the stake.
        DealtCommittee { committee: Voters(voters, 67), secrets, late_keys: Vec::new() }
    }
}

fn beacon(me: Party) -> Result<Beacon<Ed25519>, Box<dyn Error>> {
    let DealtCommittee { committee, mut secrets, .. } = Dealer.deal(0, Path::Tight);
    let config = Config {
        context: CONTEXT,
        me,
        // Exact stake is counted, so the certificate is there when the value is final.
        paths: Paths::Tight(Sharing { committee, secret: secrets.remove(&me) }),
        binding: Binding::Value,
        fast_attempt: Some(0),
        finality: Finality::exact(&STAKES.map(Stake::new), Quorum::BYZANTINE)?,
        first: SLOT,
        life: Life::First,
        limits: Limits::default(),
    };
    Ok(Beacon::new(config, &[])?)
}

/// Gives the beacon one input, and collects everything that it wants done.
fn drive(beacon: &mut Beacon<Ed25519>, input: Input<Ed25519>) -> Vec<Effect<Ed25519>> {
    beacon.handle(Instant::START, input);
    let mut effects = Vec::new();
    while let Some(output) = beacon.poll() {
        match output {
            Output::Do(Effect::Check(job)) => {
                beacon.handle(Instant::START, Input::Checked(job.run()));
            }
            Output::Do(effect) => effects.push(effect),
            // A validator makes these records durable before it continues.
            Output::Keep(_) | Output::Note(_) => {}
        }
    }
    effects
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut mine = beacon(Party::new(0))?;
    let vote = || Input::Prefinalized { slot: SLOT, view: View::new(SLOT, 0), value: VALUE };
    drive(&mut mine, vote());
    for from in [1, 2].map(Party::new) {
        for effect in drive(&mut beacon(from)?, vote()) {
            if let Effect::Send { message, .. } = effect {
                drive(&mut mine, Input::Received { from, message });
            }
        }
    }
    let effects = drive(&mut mine, Input::Finalized { slot: SLOT, value: Some(VALUE) });
    let reveal = effects.into_iter().find_map(|effect| match effect {
        Effect::Reveal(reveal) => Some(reveal),
        _ => None,
    });
    let reveal = reveal.ok_or("final, and without a certificate")?;
    println!("{} is certified by {:?}", reveal.slot, reveal.proof.keys().collect::<Vec<_>>());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Dealer, main};

    #[test]
    fn it_keeps_the_laws() {
        assert_eq!(prefinal_beacon::laws::check(&Dealer), Ok(()));
    }

    #[test]
    fn a_certificate_is_there_with_finality() {
        assert!(main().is_ok());
    }
}
