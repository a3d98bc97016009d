//! Encrypting to a committee: labelled threshold ElGamal, secure against chosen ciphertexts.
//!
//! `f` shares the secret `x = f(0)`; `Sᵢ` are the indices party `i` holds. A label, a slot for example,
//! stays readable and says when to decrypt; `m` is of any length up to 1 MiB.
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
//! | open     | the last two, for who is shown `D`                                           | anyone    |
//!
//! TDH2 of Shoup and Gennaro, "Securing threshold cryptosystems against chosen ciphertext attack" (J.
//! Cryptology 2002), with two changes: pairings stand in for the parties' proofs, and the plaintext is
//! under ChaCha20-Poly1305 instead of a pad. `KDF` is SHA-256, `H` a [transcript](crate::challenge).
//!
//! Why it is secure, in the random oracle model, against who holds fewer than `t` shares from the
//! start and asks for the others' shares of any other valid (label, ciphertext):
//! 1. The proof in the challenge `(U*, Ū*, …)` is simulated by choosing `c`. Any other valid ciphertext
//!    has its own query to `H`, so its proof is sound: `U = g₁^r` and `Ū = ḡ^r` for one `r`.
//! 2. `Ū*` becomes random. Who notices decides Diffie–Hellman for `(g₁, ḡ, U*, Ū*)` while knowing `x`;
//!    that is hard in `𝔾₁`, since the game has neither `ḡ`'s nor `U*`'s counterpart in `𝔾₂`.
//! 3. Now `ḡ = Y^w` may have a known `w`, since ḡ is hashed to the curve. Shares are answered without
//!    `x`: `U^x = Ū^(1/w)`, and the missing `U^f(j)` follow from it and the known shares.
//! 4. `K*` is random until `KDF` is asked for `(U*, U*^x)`. Relative to `Y` everybody can decide
//!    Diffie–Hellman by pairing with `Ŷ`, so this query is recognized, and it solves the computational
//!    problem: `g₁^(xr)` from `g₁, g₁^x, g₁^r, g₂, g₂^x`.
//!
//! TDH2 itself stops at step 2 with Diffie–Hellman for `(g₁, Y, U*, Y^r)`, which pairings break. A wrong
//! share fails its equation, so `D` is `U^x` for everybody, and a body that does not open is its
//! maker's doing: all see the same failure.
//!
//! **One secret, one purpose.** `U` is anybody's choice, so `f` must not share a key that signs.
//!
//! Elsewhere: when a share may leave (`beacon`), dealing the shares (`pvss_dkg`), encrypting to a
//! signature instead ([`crate::timelock`]).
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
    CombineError, Opened, Opening, Quorum, QuorumError, ShareError, WrongOpening,
};
pub use self::share::DecryptionShare;
