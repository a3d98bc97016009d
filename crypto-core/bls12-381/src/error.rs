//! Why bytes are refused.

/// Why bytes are not a scalar or a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Too short or too long.
    #[error("encoding has {got} bytes, expected {expected}")]
    Length {
        /// Bytes the type has.
        expected: usize,
        /// Bytes that were given.
        got: usize,
    },
    /// Flags that do not go together, or a number not below its modulus.
    #[error("encoding is not canonical")]
    NotCanonical,
    /// No point has this coordinate.
    #[error("point is not on the curve")]
    NotOnCurve,
    /// On the curve, but of the wrong order.
    #[error("point is not in the subgroup of prime order")]
    NotInSubgroup,
    /// Where the identity makes no sense.
    #[error("point is the identity")]
    Identity,
    /// Where zero makes no sense.
    #[error("scalar is zero")]
    Zero,
}

/// Which of many points could not be read, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("point {index}: {error}")]
pub struct PointError {
    /// Its place, from zero.
    pub index: usize,
    /// What is wrong with it.
    pub error: DecodeError,
}
