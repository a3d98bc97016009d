//! The reasons why bytes are refused.

/// Why bytes are not a scalar or a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The input is too short or too long.
    #[error("encoding has {got} bytes, expected {expected}")]
    Length {
        /// Length of an encoding of this type in bytes.
        expected: usize,
        /// Length of the given input in bytes.
        got: usize,
    },
    /// The flags contradict each other, or a number is not below its modulus.
    #[error("encoding is not canonical")]
    NotCanonical,
    /// No point of the curve has this coordinate.
    #[error("point is not on the curve")]
    NotOnCurve,
    /// The point is on the curve, but not in the subgroup of order `r`.
    #[error("point is not in the subgroup of prime order")]
    NotInSubgroup,
    /// The point is the identity, which is not allowed here.
    #[error("point is the identity")]
    Identity,
    /// The scalar is zero, which is not allowed here.
    #[error("scalar is zero")]
    Zero,
}

impl DecodeError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Length { .. } => "wrong-length",
            Self::NotCanonical => "not-canonical",
            Self::NotOnCurve => "not-on-curve",
            Self::NotInSubgroup => "not-in-subgroup",
            Self::Identity => "identity",
            Self::Zero => "zero-scalar",
        }
    }
}

/// Which of many points could not be read, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {index}: {error}")]
pub struct PointError {
    /// The position of the point, counted from zero.
    pub index: usize,
    /// The reason why it could not be read.
    pub error: DecodeError,
}

impl PointError {
    /// The error's code: stable, for programs; the text is for people and may change.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.error.code()
    }
}
