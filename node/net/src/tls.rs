//! TLS 1.3 in which both ends show a raw Ed25519 key, and each end knows which keys it accepts.
//!
//! No early data and no resumption: each connection proves both keys again. TLS signs 64 spaces and a
//! fixed text before the transcript, so its signatures are none of any other protocol's.
use std::sync::Arc;

use quinn::crypto::rustls::{NoInitialCipherSuite, QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    PeerIncompatible, ServerConfig, SignatureScheme,
};

use crate::directory::Directory;
use crate::key::{LinkKey, PeerKey};

/// Others that speak QUIC on this port do not get as far as a key.
const PROTOCOL: &[u8] = b"prefinal-links";

/// No name is looked up or compared: the key is what counts.
pub(crate) const NAME: &str = "prefinal";

/// Why TLS could not be set up. It is the same on each start of this build.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error(transparent)]
    Rustls(#[from] Error),
    #[error(transparent)]
    Cipher(Arc<NoInitialCipherSuite>),
}

impl From<NoInitialCipherSuite> for TlsError {
    fn from(error: NoInitialCipherSuite) -> Self {
        Self::Cipher(Arc::new(error))
    }
}

/// The configuration with which everybody in the directory may connect.
pub(crate) fn server(key: &LinkKey, directory: &Directory) -> Result<QuicServerConfig, TlsError> {
    let provider = provider();
    let verifier = Accepted {
        algorithms: provider.signature_verification_algorithms,
        keys: Keys::Members(directory.clone()),
    };
    let shown = Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(&key.certified)));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(shown);
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(QuicServerConfig::try_from(config)?)
}

/// The configuration with which one peer is dialled.
pub(crate) fn client(key: &LinkKey, peer: PeerKey) -> Result<QuicClientConfig, TlsError> {
    let provider = provider();
    let verifier =
        Accepted { algorithms: provider.signature_verification_algorithms, keys: Keys::One(peer) };
    let shown = Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(&key.certified)));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_cert_resolver(shown);
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(QuicClientConfig::try_from(config)?)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Accepts the keys of the other end that are expected.
#[derive(Debug)]
struct Accepted {
    algorithms: WebPkiSupportedAlgorithms,
    keys: Keys,
}

#[derive(Debug)]
enum Keys {
    One(PeerKey),
    Members(Directory),
}

impl Accepted {
    fn check(&self, shown: &[u8], more: &[CertificateDer<'_>]) -> Result<(), Error> {
        let key = PeerKey::from_spki(shown).filter(|_| more.is_empty());
        let is_expected = key.is_some_and(|key| match &self.keys {
            Keys::One(peer) => key == *peer,
            Keys::Members(directory) => directory.party(key).is_some(),
        });
        if is_expected {
            Ok(())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn check_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        rustls::crypto::verify_tls13_signature_with_raw_key(
            message,
            &key,
            signature,
            &self.algorithms,
        )
    }
}

impl ServerCertVerifier for Accepted {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        more: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(shown, more).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Accepted {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        more: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(shown, more).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
