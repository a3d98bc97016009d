//! Who is at the other end of a connection.
//!
//! ```text
//! dialler  ─► "prefinal" ‖ dialler ‖ acceptor ‖ nonce            48 bytes
//! acceptor ─► nonce ‖ signature of the acceptor                  80 bytes
//! dialler  ─► signature of the dialler                           48 bytes
//! ```
//! Each signs chain and epoch, both names, both nonces and its own role with the key that the set-up
//! knows it by. So a hello cannot be replayed, turned around or carried to another committee, and both
//! know whom they talk to before the first frame. What this does not give: frames are neither encrypted
//! nor signed, so an attacker *on* the path can change them after the hello. On a loopback nobody does;
//! a chain puts the same parties behind TLS or Noise.
//!
//! `link` uses the connection that results.

use std::time::Duration;

use prefinal_crypto_core::access::Party;
use prefinal_crypto_core::bls::min_sig;
use prefinal_crypto_core::context::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::link::LinkError;
use prefinal_validator::setup::{Identity, Setup};

const HELLO: min_sig::Domain = min_sig::Domain::new("node link");
const MAGIC: [u8; 8] = *b"prefinal";
const NONCE: usize = 32;
const SIGNATURE: usize = 48;

/// How long the other end may take.
const PATIENCE: Duration = Duration::from_secs(5);

type Nonce = [u8; NONCE];

#[derive(Clone, Copy)]
enum Role {
    Dialler,
    Acceptor,
}

struct Hello {
    context: Context,
    dialler: Party,
    acceptor: Party,
    nonces: (Nonce, Nonce),
}

impl Hello {
    fn statement(&self, role: Role) -> Vec<u8> {
        let role = match role {
            Role::Dialler => 0_u8,
            Role::Acceptor => 1,
        };
        let parties = (self.dialler, self.acceptor);
        let parts = (self.context.to_bytes(), parties, self.nonces, role);
        // Writing into memory does not fail.
        borsh::to_vec(&parts).unwrap_or_default()
    }

    fn sign(&self, identity: &Identity, role: Role) -> [u8; SIGNATURE] {
        identity.signer.sign(HELLO, &self.statement(role)).to_bytes()
    }

    fn verify(&self, setup: &Setup, role: Role, signature: &[u8]) -> Result<(), LinkError> {
        let peer = match role {
            Role::Dialler => self.dialler,
            Role::Acceptor => self.acceptor,
        };
        let wrong = || LinkError::Signature { claimed: peer };
        let member = setup.members.get(peer.index()).ok_or_else(wrong)?;
        let signature = min_sig::Signature::from_bytes(signature).map_err(|_| wrong())?;
        let verified = signature.verify(member.key.get(), HELLO, &self.statement(role));
        verified.map_err(|_| wrong())
    }
}

/// The dialler's side.
pub(super) async fn dial(
    stream: &mut TcpStream,
    setup: &Setup,
    identity: &Identity,
    peer: Party,
) -> Result<(), LinkError> {
    within(async {
        let mut hello = Hello {
            context: setup.context,
            dialler: identity.me,
            acceptor: peer,
            nonces: (nonce()?, [0; NONCE]),
        };
        stream.write_all(&MAGIC).await?;
        stream.write_all(&identity.me.get().to_be_bytes()).await?;
        stream.write_all(&peer.get().to_be_bytes()).await?;
        stream.write_all(&hello.nonces.0).await?;
        stream.read_exact(&mut hello.nonces.1).await?;
        let mut signature = [0; SIGNATURE];
        stream.read_exact(&mut signature).await?;
        hello.verify(setup, Role::Acceptor, &signature)?;
        stream.write_all(&hello.sign(identity, Role::Dialler)).await?;
        Ok(())
    })
    .await
}

/// The acceptor's side; who has dialled.
pub(super) async fn accept(
    stream: &mut TcpStream,
    setup: &Setup,
    identity: &Identity,
) -> Result<Party, LinkError> {
    within(async {
        let mut magic = [0; MAGIC.len()];
        stream.read_exact(&mut magic).await?;
        if magic != MAGIC {
            return Err(LinkError::Magic);
        }
        let dialler = Party::new(stream.read_u32().await?);
        let acceptor = Party::new(stream.read_u32().await?);
        let mut nonces = ([0; NONCE], nonce()?);
        stream.read_exact(&mut nonces.0).await?;
        if acceptor != identity.me {
            return Err(LinkError::NotForMe { meant: acceptor, me: identity.me });
        }
        // Of two parties the one with the smaller number dials: there is one link for each pair.
        if dialler >= identity.me {
            return Err(LinkError::Signature { claimed: dialler });
        }
        let hello = Hello { context: setup.context, dialler, acceptor, nonces };
        stream.write_all(&hello.nonces.1).await?;
        stream.write_all(&hello.sign(identity, Role::Acceptor)).await?;
        let mut signature = [0; SIGNATURE];
        stream.read_exact(&mut signature).await?;
        hello.verify(setup, Role::Dialler, &signature)?;
        Ok(dialler)
    })
    .await
}

async fn within<T>(steps: impl Future<Output = Result<T, LinkError>>) -> Result<T, LinkError> {
    tokio::time::timeout(PATIENCE, steps).await.unwrap_or(Err(LinkError::Silent(PATIENCE)))
}

fn nonce() -> Result<Nonce, LinkError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce)
        .map_err(|error| LinkError::Io(std::io::Error::other(error.to_string())))?;
    Ok(nonce)
}
