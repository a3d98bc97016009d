//! The kinds of objects: the second byte of an encoding.
use core::fmt;

macro_rules! kinds {
    ($($name:ident = $byte:literal, $text:literal;)*) => {
        /// The kind of an object.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind {$(
            #[doc = concat!("A ", $text, ".")]
            $name,
        )*}

        impl Kind {
            /// All kinds of objects that have a wire format.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The byte that stands for the kind.
            #[must_use]
            pub const fn byte(self) -> u8 {
                match self {$(Self::$name => $byte,)*}
            }

            /// The kind that this byte stands for. `None` if there is none.
            #[must_use]
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$name),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for Kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {$(Self::$name => $text,)*})
            }
        }
    };
}

kinds! {
    MinSigPublicKey = 0x01, "min-sig public key";
    MinSigSignature = 0x02, "min-sig signature";
    MinSigPossession = 0x03, "min-sig proof of possession";
    MinPkPublicKey = 0x04, "min-pk public key";
    MinPkSignature = 0x05, "min-pk signature";
    MinPkPossession = 0x06, "min-pk proof of possession";
    CommitmentG1 = 0x08, "commitment in 𝔾₁";
    CommitmentG2 = 0x09, "commitment in 𝔾₂";
    MinSigPartial = 0x10, "min-sig partial of a threshold signature";
    MinPkPartial = 0x11, "min-pk partial of a threshold signature";
    BlindedKey = 0x20, "blinded key of the weighted VUF";
    WvufPartial = 0x21, "partial of the weighted VUF";
    WvufProof = 0x22, "proof of an output of the weighted VUF";
    MinSigCertificate = 0x30, "min-sig certificate";
    MinPkCertificate = 0x31, "min-pk certificate";
    TimelockMinSig = 0x40, "ciphertext to a min-sig signature";
    ElgamalCiphertext = 0x41, "ElGamal ciphertext";
    ElgamalShare = 0x42, "ElGamal decryption share";
    ElgamalKey = 0x43, "ElGamal public key";
    TimelockMinPk = 0x44, "ciphertext to a min-pk signature";
}
