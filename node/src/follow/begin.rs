//! What a node that follows begins with: a waypoint that it trusts, and what follows from it.
//!
//! | what | from | verified |
//! |------|------|----------|
//! | waypoint | `--waypoint`, else the first peer that answers | not at all: it is what is trusted |
//! | members | any peer | by the hash in the waypoint |
//! | the first block | any peer | by its certificate, of these members |
//! | rows of the genesis | the same peer | by the name of the first block's parent, which is a hash of them |
//! | what executes, and the beacon's key | the same peer | not at all: if they are false, nothing passes what is certified |
//!
//! A peer that shows something else is said, and left alone. One that does not answer yet is asked again.
use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::Duration;

use borsh::{BorshDeserialize, BorshSerialize};
use prefinal_execution::Height;
use prefinal_lab::Failure;
use prefinal_light::{CertifiedBlock, LightObject, MemberList, StakeVerifier, Waypoint};
use prefinal_protocol::Value;
use prefinal_state::Genesis;
use prefinal_sync::{BlockNames, CertifiedPlaces};
use serde::Deserialize;
use tokio::time::sleep;

use super::client::{Client, ClientError};
use super::home::Home;
use crate::execution::Beginning;

/// Most bytes of what a peer says of its waypoint, and of its genesis.
const WAYPOINT_BYTES: usize = 16 << 20;
const GENESIS_BYTES: usize = 64 << 20;

/// Between two rounds of questions, and how often nobody may answer.
const PAUSE: Duration = Duration::from_millis(500);
const ROUNDS: u32 = 40;

/// What a node that follows trusts, and what it has verified of how the chain begins.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Trusted {
    pub(super) waypoint: Waypoint,
    pub(super) members: MemberList,
    pub(super) beginning: Beginning,
}

/// What a peer says to `GET /waypoint`.
#[derive(Deserialize)]
struct Told {
    waypoint: String,
    members: String,
}

/// Why a peer is of no use to begin with.
enum Obstacle {
    /// It does not answer, or has no block yet.
    NotYet(String),
    /// What it says is not what the waypoint stands for.
    False(String),
}

impl Trusted {
    pub(super) fn verifier(&self) -> Result<StakeVerifier, Failure> {
        StakeVerifier::new(&self.waypoint, &self.members).map_err(Failure::bad_input)
    }

    pub(super) fn genesis(&self) -> Genesis {
        genesis(&self.beginning)
    }

    /// In the digits that `--waypoint` takes.
    fn shown(&self) -> String {
        hex::encode(self.waypoint.to_wire())
    }
}

fn genesis(beginning: &Beginning) -> Genesis {
    let rows = beginning.rows.iter().map(|row| (row.key, row.value.as_slice().into()));
    Genesis::of(rows.collect::<BTreeMap<_, _>>())
}

/// From the home, if it has something, else from peers.
pub(super) async fn begin(
    home: &Home,
    clients: &[Client],
    waypoint: Option<Waypoint>,
) -> Result<Trusted, Failure> {
    if let Some(trusted) = home.trusted()? {
        if waypoint.is_some_and(|waypoint| waypoint != trusted.waypoint) {
            return Err(Failure::bad_input(format_args!(
                "{}: follows the chain of waypoint {}; name another --home",
                home.path().display(),
                trusted.shown()
            )));
        }
        same_chain(home, clients, &trusted).await?;
        return Ok(trusted);
    }
    let trusted = ask(clients, waypoint).await?;
    if waypoint.is_none() {
        say!("the peer's waypoint is trusted, for there is no --waypoint: {}", trusted.shown());
    }
    home.trust(&trusted)?;
    Ok(trusted)
}

/// A devnet that is started again without its journals has the same committee, and certifies other blocks. The first
/// peer that answers says so.
async fn same_chain(home: &Home, clients: &[Client], trusted: &Trusted) -> Result<(), Failure> {
    let verifier = trusted.verifier()?;
    for client in clients {
        let Ok(bytes) = client.get("/genesis", GENESIS_BYTES).await else { continue };
        let Ok(beginning) = Beginning::try_from_slice(&bytes) else { continue };
        if verify(&verifier, &beginning).is_err() {
            continue;
        }
        if beginning.first.header != trusted.beginning.first.header {
            return Err(Failure::bad_input(format_args!(
                "{}: the committee has begun again, as a devnet without --journal does, and certifies other blocks; \
                 name another --home",
                home.path().display()
            )));
        }
        return Ok(());
    }
    Ok(())
}

/// Asks one peer after the other until one shows how the chain begins.
async fn ask(clients: &[Client], waypoint: Option<Waypoint>) -> Result<Trusted, Failure> {
    let mut refused = BTreeMap::new();
    let mut said = String::new();
    for _ in 0..ROUNDS {
        for (number, client) in clients.iter().enumerate() {
            if refused.contains_key(&number) {
                continue;
            }
            match ask_one(client, waypoint).await {
                Ok(trusted) => return Ok(trusted),
                Err(Obstacle::NotYet(why)) => {
                    let line = format!("{}: {why}", client.url());
                    if line != said {
                        say!("{line}");
                        said = line;
                    }
                }
                Err(Obstacle::False(why)) => {
                    let line = format!("{}: {why}", client.url());
                    say!("{line}");
                    refused.insert(number, line);
                }
            }
        }
        if refused.len() == clients.len() {
            let why: Vec<String> = refused.into_values().collect();
            let why = why.join("; ");
            return Err(Failure::Disagreement(format!(
                "no peer shows the waypoint's chain: {why}"
            )));
        }
        sleep(PAUSE).await;
    }
    Err(Failure::bad_input(format_args!("no peer shows how the chain begins: {said}")))
}

async fn ask_one(client: &Client, waypoint: Option<Waypoint>) -> Result<Trusted, Obstacle> {
    let told = client.get("/waypoint", WAYPOINT_BYTES).await.map_err(not_yet)?;
    let told: Told = serde_json::from_slice(&told).map_err(false_of("waypoint"))?;
    let members = hex::decode(&told.members).map_err(false_of("members"))?;
    let members = MemberList::from_wire(&members).map_err(false_of("members"))?;
    let waypoint = match waypoint {
        Some(waypoint) => waypoint,
        None => {
            let bytes = hex::decode(&told.waypoint).map_err(false_of("waypoint"))?;
            Waypoint::from_wire(&bytes).map_err(false_of("waypoint"))?
        }
    };
    // Before anything large is fetched.
    let verifier = StakeVerifier::new(&waypoint, &members).map_err(false_of("members"))?;
    let bytes = client.get("/genesis", GENESIS_BYTES).await.map_err(not_yet)?;
    let beginning = Beginning::try_from_slice(&bytes).map_err(false_of("genesis"))?;
    verify(&verifier, &beginning)?;
    Ok(Trusted { waypoint, members, beginning })
}

/// The first block is certified, and leads back to the genesis.
fn verify(verifier: &StakeVerifier, beginning: &Beginning) -> Result<(), Obstacle> {
    let first = &beginning.first;
    let (header, roots, shown) = (&first.header, &first.roots, &first.certificate);
    CertifiedPlaces
        .verify(header, roots, &shown.content, shown.place.as_ref())
        .map_err(false_of("first block"))?;
    let certified = CertifiedBlock {
        epoch: shown.epoch,
        slot: header.slot,
        value: Value::new(header.id.to_bytes()),
        roots: *roots,
        certificate: shown.certificate.clone(),
    };
    verifier.verify(&certified).map_err(false_of("first block"))?;
    let genesis = genesis(beginning);
    if header.height != Height::GENESIS.next() || header.parent != genesis.block {
        return Err(Obstacle::False(
            "genesis refused: it is not the one that is certified".to_owned(),
        ));
    }
    if !beginning.rows.is_sorted_by(|one, next| one.key < next.key) {
        return Err(Obstacle::False("genesis refused: its rows are in disorder".to_owned()));
    }
    Ok(())
}

fn not_yet(error: ClientError) -> Obstacle {
    match error {
        ClientError::Status(status) if status == hyper::StatusCode::SERVICE_UNAVAILABLE => {
            Obstacle::NotYet("has no certified block yet".to_owned())
        }
        ClientError::Status(status) if status.is_client_error() => {
            Obstacle::False(format!("answers {status}: it executes no blocks, or is no such node"))
        }
        error => Obstacle::NotYet(error.to_string()),
    }
}

fn false_of<E: Display>(what: &'static str) -> impl Fn(E) -> Obstacle {
    move |error| Obstacle::False(format!("{what} refused: {error}"))
}
