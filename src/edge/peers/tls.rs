//! TLS for connections that leave this machine: each end has a key of its own, and knows the other one's by its
//! fingerprint. No authority vouches for anybody.
//!
//! TLS 1.3 alone, a full handshake each time: nothing of an earlier connection lets anybody in.

use crate::edge::peers::allowed::Allowed;
use crate::edge::peers::private::{self, Unread};
use crate::edge::random;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

/// The name of the key's file in the store's folder.
const NAME: &str = "key.pem";
/// A longer file is none.
const LONGEST: u64 = 16 * 1024;
/// What the proof of the cookie is bound to is derived from a connection under this label.
const LABEL: &[u8] = b"EXPORTER-passepartout-cookie";
/// The name in each certificate; it says nothing of anybody.
const NOBODY: &str = "passepartout";

/// The fingerprint of a key: the SHA-256 of its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &CertificateDer<'_>) -> Fingerprint {
        Fingerprint(Sha256::digest(certificate).into())
    }

    /// Reads 64 hexadecimal digits, as they are shown, also in capitals and with colons, as other programs write them.
    pub fn read(text: &str) -> Option<Fingerprint> {
        let digits: String = text.trim().chars().filter(|c| *c != ':').collect();
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let mut bytes = [0u8; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Fingerprint(bytes))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&random::hex(&self.0))
    }
}

/// The key of a user on this machine, with its certificate. It has no `Debug` and no `Display`.
pub struct Key {
    certificate: CertificateDer<'static>,
    secret: PrivateKeyDer<'static>,
}

impl Key {
    /// Reads the key in a store's folder; where there is none yet, one is made.
    ///
    /// # Errors
    /// In words, when it is not its user's alone, is no key, or cannot be made.
    pub fn kept(store: &Path) -> Result<Key, String> {
        let path = place(store);
        match Key::read(&path) {
            Ok(key) => Ok(key),
            Err(Unread::Refused(why)) => Err(why),
            Err(Unread::Missing) => {
                let text = fresh().map_err(|error| format!("{}: {error}", path.display()))?;
                // Whoever was faster, the one that lies there counts.
                private::make(&path, &text)?;
                Key::read(&path).map_err(|unread| match unread {
                    Unread::Missing => format!("{}: it was removed meanwhile", path.display()),
                    Unread::Refused(why) => why,
                })
            }
        }
    }

    fn read(path: &Path) -> Result<Key, Unread> {
        let told = "a key is a file of its user's alone, with mode 0600; remove it, and another is made";
        let text = private::read(path, LONGEST, told)?;
        let none = |what: &str| Unread::Refused(format!("{}: there is no {what} in it", path.display()));
        let certificate = CertificateDer::from_pem_slice(text.as_bytes()).map_err(|_| none("certificate"))?;
        let secret = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| none("private key"))?;
        Ok(Key { certificate, secret })
    }

    /// Returns its fingerprint.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.certificate)
    }

    /// Returns what takes connections of clients that are let in, as they are at that moment.
    ///
    /// # Errors
    /// In words, when the key does not fit its certificate.
    pub fn acceptor(&self, allowed: watch::Receiver<Arc<Allowed>>) -> Result<TlsAcceptor, String> {
        let verifier = Arc::new(Clients { allowed, provider: provider() });
        let builder = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| error.to_string())?
            .with_client_cert_verifier(verifier);
        let made = builder.with_single_cert(vec![self.certificate.clone()], self.secret.clone_key());
        let mut config = made.map_err(|error| format!("the key cannot be used: {error}; remove {NAME}"))?;
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// Connects to the core that has this fingerprint, and to no other.
    ///
    /// # Errors
    /// In words, when another one answers, or it does not let this key in.
    pub async fn connect<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
        core: Fingerprint,
    ) -> Result<client::TlsStream<S>, String> {
        let verifier = Arc::new(Core { pinned: core, provider: provider() });
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let made = builder.with_client_auth_cert(vec![self.certificate.clone()], self.secret.clone_key());
        let mut config = made.map_err(|error| format!("the key cannot be used: {error}; remove {NAME}"))?;
        config.enable_sni = false;
        config.resumption = rustls::client::Resumption::disabled();
        let name = ServerName::try_from(NOBODY).map_err(|error| error.to_string())?;
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        connecting.map_err(|error| match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(Error::InvalidCertificate(_)) => {
                "what answers has another key than that core, so it is not the core: something else has taken its place"
                    .to_string()
            }
            _ => format!("no connection by TLS came about: {error}"),
        })
    }
}

/// Returns where the key of a store's user lies.
pub fn place(store: &Path) -> PathBuf {
    store.join(NAME)
}

/// Returns a new key and its certificate, as text.
fn fresh() -> Result<String, rcgen::Error> {
    let pair = rcgen::KeyPair::generate()?;
    let mut about = rcgen::CertificateParams::new(vec![NOBODY.to_string()])?;
    about.distinguished_name = rcgen::DistinguishedName::new();
    about.distinguished_name.push(rcgen::DnType::CommonName, NOBODY);
    let certificate = about.self_signed(&pair)?;
    Ok(format!("{}{}", pair.serialize_pem(), certificate.pem()))
}

/// Returns what a proof over this connection is bound to, as 64 hexadecimal digits: both ends of it know the same, and
/// nobody else does. `None` when the handshake is not done.
pub fn bound_client<S>(stream: &client::TlsStream<S>) -> Option<String> {
    let bytes = stream.get_ref().1.export_keying_material([0u8; 32], LABEL, None);
    bytes.ok().map(|bytes| random::hex(&bytes))
}

/// As [`bound_client`], at the other end; with the fingerprint of who is there.
pub fn bound_server<S>(stream: &server::TlsStream<S>) -> Option<(String, Fingerprint)> {
    let connection = stream.get_ref().1;
    let bytes = connection.export_keying_material([0u8; 32], LABEL, None).ok()?;
    let certificate = connection.peer_certificates()?.first()?;
    Some((random::hex(&bytes), Fingerprint::of(certificate)))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// Lets those in whose keys the user has let in.
#[derive(Debug)]
struct Clients {
    allowed: watch::Receiver<Arc<Allowed>>,
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for Clients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match self.allowed.borrow().name_of(Fingerprint::of(certificate)) {
            Some(_) => Ok(ClientCertVerified::assertion()),
            None => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.3 is wanted".to_string()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Takes one core for what it says it is, and no other.
#[derive(Debug)]
struct Core {
    pinned: Fingerprint,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Core {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match Fingerprint::of(certificate) == self.pinned {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.3 is wanted".to_string()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_key_is_made_once_and_is_its_users_alone() {
        let store = tempfile::tempdir().expect("a folder");
        let first = Key::kept(store.path()).unwrap_or_else(|why| panic!("{why}"));
        let path = place(store.path());
        assert_eq!(std::fs::metadata(&path).expect("it is there").mode() & 0o777, 0o600);
        assert!(Key::kept(store.path()).is_ok_and(|again| again.fingerprint() == first.fingerprint()));
        assert_eq!(std::fs::read_dir(store.path()).expect("a folder").count(), 1, "nothing else is left");
        let other = tempfile::tempdir().expect("a folder");
        assert!(Key::kept(other.path()).is_ok_and(|other| other.fingerprint() != first.fingerprint()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("its mode");
        assert!(Key::kept(store.path()).is_err_and(|why| why.contains("mode 0600")), "others may read it");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
        std::fs::write(&path, "no key").expect("it is written");
        assert!(Key::kept(store.path()).is_err_and(|why| why.contains("no certificate")), "it is left as it is");
    }

    #[test]
    fn a_fingerprint_is_read_as_programs_write_it_and_in_no_other_way() {
        let digits = "ab".repeat(32);
        let same = Fingerprint::read(&digits).expect("it is one");
        assert_eq!(same.to_string(), digits);
        let colons = vec!["AB"; 32].join(":");
        for text in [digits.to_uppercase(), colons, format!(" {digits}\n")] {
            assert_eq!(Fingerprint::read(&text), Some(same), "{text}");
        }
        for text in ["", "ab", &digits[1..], &format!("{digits}a"), &"+a".repeat(32), &"é".repeat(32)] {
            assert_eq!(Fingerprint::read(text), None, "{text}");
        }
    }
}
