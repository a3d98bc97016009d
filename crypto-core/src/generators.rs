//! The generators `h, ḡ ∈ 𝔾₁` and `ĝ ∈ 𝔾₂`.
//!
//! Secrets are `h^f(0)`, commitments are `ĝ^f(j)` and `g^f(j)`. Nobody may know how `h` and `ĝ`
//! relate to the standard generators; otherwise shares could be computed from commitments. Encryption
//! uses a second base `ḡ` for the proof in a ciphertext, which must also be unrelated to the first.
//! So all three are hashed to the curve:
//!
//! | generator | message                      | tag                                                             |
//! |-----------|------------------------------|-----------------------------------------------------------------|
//! | `h`       | `"h"`                        | `PREFINAL-V1-GENERATORS_BLS12381G1_XMD:SHA-256_SSWU_RO_`        |
//! | `ĝ`       | `"g_hat"`                    | `PREFINAL-V1-GENERATORS_BLS12381G2_XMD:SHA-256_SSWU_RO_`        |
//! | `ḡ`       | `"elgamal second generator"` | `PREFINAL-V1-ELGAMAL-GENERATOR_BLS12381G1_XMD:SHA-256_SSWU_RO_` |
//!
//! They are needed for every partial and ciphertext, so the results are constants here, as
//! coordinates in Montgomery form. A test computes the hashes and compares them.
use crate::curve::hazmat::{g1_from_limbs, g2_from_limbs};
use crate::curve::{G1Affine, G2Affine};

/// `h`, the base of shares.
///
/// ```
/// use prefinal_crypto_core::{curve::G1Affine, generators};
/// assert!(generators::h() != G1Affine::generator());
/// assert!(generators::h() != generators::g_bar());
/// ```
#[must_use]
pub const fn h() -> G1Affine {
    H
}

/// `ĝ`, the base of commitments in `𝔾₂`.
#[must_use]
pub const fn g_hat() -> G2Affine {
    G_HAT
}

/// `ḡ`, the second base of a ciphertext.
#[must_use]
pub const fn g_bar() -> G1Affine {
    G_BAR
}

const H: G1Affine = g1_from_limbs(
    [
        0x7fdd_83b6_41b9_5f9e,
        0x2b39_88a0_49ee_6d4a,
        0x023e_bd2f_6c71_210a,
        0x9d89_faa4_7c82_27cc,
        0xb063_97bb_532a_64a7,
        0x044d_0cfa_5218_b530,
    ],
    [
        0xce69_c7f6_cddb_e4e0,
        0xd40a_0256_45b9_622c,
        0x0da5_67fa_0a56_7717,
        0x1d30_d036_cbeb_85c9,
        0xc74e_9569_32a2_1730,
        0x1722_adfb_01ee_1932,
    ],
);

const G_HAT: G2Affine = g2_from_limbs(
    [
        [
            0x50ac_2132_8e6c_e139,
            0xe4ba_c5fb_b9d1_2591,
            0x5fae_38cb_c060_1078,
            0xb072_69c1_c3f0_1716,
            0xde24_e9c0_7ee7_2ded,
            0x0f1d_51df_611b_1d05,
        ],
        [
            0xc232_778b_b4e2_6945,
            0x5da8_b6de_c4b9_ca57,
            0xf390_f5ef_2d21_807a,
            0xb227_f631_eee8_bec3,
            0x2b86_9efb_177d_52dc,
            0x185e_17dc_f48c_b1a0,
        ],
    ],
    [
        [
            0x174e_20e2_9321_c5ea,
            0xc4a6_6742_5a0f_98c5,
            0x8799_0653_8152_b47f,
            0xced1_dda2_e867_6f2a,
            0x4b1a_70eb_2911_2c3d,
            0x11df_aba3_f385_e3a7,
        ],
        [
            0x44ca_a3f8_d64b_75b3,
            0x911b_6afc_16a6_2974,
            0x699c_2961_943c_234c,
            0x51b5_7887_7e26_d503,
            0x1d35_69ff_be80_f679,
            0x10c1_5e66_ee25_da94,
        ],
    ],
);

const G_BAR: G1Affine = g1_from_limbs(
    [
        0x9abc_451b_1f32_aceb,
        0x3c1d_add1_54d8_e62a,
        0x848c_862a_8dac_09fc,
        0x1744_51a5_14c6_f594,
        0x2aba_7659_db94_241f,
        0x087c_d7fb_baca_b426,
    ],
    [
        0x4634_ebca_ee06_dc26,
        0x373b_460a_16f5_a9d2,
        0x7ed0_0e1f_1397_c17e,
        0x0359_04e0_9863_7840,
        0x87b0_062f_e06c_c422,
        0x0572_79ad_aeaf_b736,
    ],
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Tag;
    use crate::curve::hazmat::{hash_to_g1, hash_to_g2};

    #[test]
    fn generators_are_what_their_names_hash_to() {
        let tag = Tag::new(b"PREFINAL-V1-GENERATORS_BLS12381G1_XMD:SHA-256_SSWU_RO_");
        assert_eq!(h(), hash_to_g1(b"h", tag));
        let tag = Tag::new(b"PREFINAL-V1-GENERATORS_BLS12381G2_XMD:SHA-256_SSWU_RO_");
        assert_eq!(g_hat(), hash_to_g2(b"g_hat", tag));
        let tag = Tag::new(b"PREFINAL-V1-ELGAMAL-GENERATOR_BLS12381G1_XMD:SHA-256_SSWU_RO_");
        assert_eq!(g_bar(), hash_to_g1(b"elgamal second generator", tag));
    }
}
