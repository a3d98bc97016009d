//! Encryption to a committee: labelled threshold ElGamal, secure against chosen ciphertexts.
//!
//! `f` shares the secret `x = f(0)`; `Sᵢ` are the indices party `i` holds. A label, for example a
//! slot, is not encrypted and says when to decrypt. The message `m` may have any length up to 1 MiB.
//!
//! | step     | equation                                                                     | by whom   |
//! |----------|------------------------------------------------------------------------------|-----------|
//! | keys     | `Y = g₁^x`, `Ŷ = g₂^x`, `Ŷⱼ = g₂^f(j)`; `e(Y, g₂) = e(g₁, Ŷ)`, `Y ≠ 1`        | anyone    |
//! | draw     | `(r, s) = H(Y, label, m, fresh)`                                             | sender    |
//! | encrypt  | `U = g₁^r`, `Ū = ḡ^r`, `body = AEAD_K(m; label)` with `K = KDF(U, Y^r)`       | sender    |
//! |          | `c = H(Y, label, U, Ū, body, g₁^s, ḡ^s)`, `z = s + c·r`                       |           |
//! | validate | `c = H(Y, label, U, Ū, body, g₁^z/U^c, ḡ^z/Ū^c)`, `U, Ū ≠ 1`                  | anyone    |
//! | share    | `Dⱼ = U^f(j)`, `j ∈ Sᵢ`                                                       | party `i` |
//! | verify   | `e(∏ Dⱼ^τⱼ, g₂) = e(U, ∏ Ŷⱼ^τⱼ)`, `τⱼ` 128-bit challenges                     | anyone    |
//! | combine  | `D = ∏ Dⱼ^λⱼ`, `e(D, g₂) = e(U, Ŷ)`, `m` from `KDF(U, D)`                     | anyone    |
//! | open     | the last two checks, by a verifier that received `D`                         | anyone    |
//!
//! TDH2 of Shoup and Gennaro, "Securing threshold cryptosystems against chosen ciphertext attack" (J.
//! Cryptology 2002), with two changes: pairings replace the parties' proofs, and ChaCha20-Poly1305
//! encrypts the plaintext instead of a pad. `KDF` is SHA-256, `H` a [transcript](crate::challenge).
//!
//! Why it is secure, in the random oracle model, against an attacker that holds fewer than `t` shares
//! from the start and may ask for the other parties' decryption shares of any other valid (label,
//! ciphertext):
//! 1. The proof in the challenge `(U*, Ū*, …)` is simulated by choosing `c`. Any other valid ciphertext
//!    has its own query to `H`, so its proof is sound: `U = g₁^r` and `Ū = ḡ^r` for one `r`.
//! 2. Replace `Ū*` by a random point. An attacker that notices decides Diffie–Hellman for
//!    `(g₁, ḡ, U*, Ū*)` while knowing `x`. That is hard in `𝔾₁`, because neither `ḡ` nor `U*` has a
//!    counterpart in `𝔾₂` in this game.
//! 3. Now `ḡ = Y^w` may have a known `w`, since ḡ is hashed to the curve. Shares are answered without
//!    `x`: `U^x = Ū^(1/w)`, and the missing `U^f(j)` follow from it and the known shares.
//! 4. `K*` is random until `KDF` is asked for `(U*, U*^x)`. Relative to `Y` everybody can decide
//!    Diffie–Hellman by pairing with `Ŷ`, so the game recognizes this query, and the query solves the
//!    computational problem: `g₁^(xr)` from `g₁, g₁^x, g₁^r, g₂, g₂^x`.
//!
//! TDH2's own proof stops at step 2 with Diffie–Hellman for `(g₁, Y, U*, Y^r)`, which pairings break.
//! A wrong decryption share fails its equation, so everybody gets `D = U^x`. If a body does not open,
//! the sender made it so, and everybody sees the same failure.
//!
//! **One secret, one purpose.** Any sender chooses `U`, so `f` must not share a signing key.
//!
//! See also: the crate `prefinal_beacon` for when a party may send a decryption share, the crate
//! `prefinal_pvss_dkg` for dealing the key shares, and [`crate::timelock`] for encryption to a signature.
mod ciphertext;
mod committee;
mod key;
mod label;
mod quorum;
mod share;

pub use self::ciphertext::{
    Ciphertext, EncryptError, InvalidCiphertext, PlaintextError, Unopenable, ValidCiphertext,
};
pub use self::committee::{
    CommitteeError, DecryptionCommittee, DecryptionKey, KeySharesError, OtherKey, StoredKeyError,
};
pub use self::key::{EncryptionKey, KeyError};
pub use self::label::{Label, LabelError};
pub use self::quorum::{
    CombineError, OpenedCiphertext, Opening, Quorum, QuorumError, ShareError, WrongOpening,
};
pub use self::share::DecryptionShare;
