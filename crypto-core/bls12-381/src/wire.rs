//! Borsh for scalars and points. It uses their fixed-size encodings, with the same checks as in
//! `from_bytes`.
//!
//! Reading copies only the fixed number of bytes. So a short input fails before any algebra, and no
//! length comes from a peer.
use alloc::string::ToString;

use borsh::io::{Error, ErrorKind, Read, Result, Write};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::error::DecodeError;
use crate::group::Group;
use crate::points::Affine;
use crate::scalar::Scalar;

impl From<DecodeError> for Error {
    fn from(error: DecodeError) -> Self {
        Self::new(ErrorKind::InvalidData, error.to_string())
    }
}

impl BorshSerialize for Scalar {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        writer.write_all(&self.to_bytes())
    }
}

impl BorshDeserialize for Scalar {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        let mut bytes = [0; Self::BYTES];
        reader.read_exact(&mut bytes)?;
        Ok(Self::from_bytes(&bytes)?)
    }
}

impl<G: Group> BorshSerialize for Affine<G> {
    fn serialize<W: Write>(&self, writer: &mut W) -> Result<()> {
        writer.write_all(self.to_bytes().as_ref())
    }
}

impl<G: Group> BorshDeserialize for Affine<G> {
    fn deserialize_reader<R: Read>(reader: &mut R) -> Result<Self> {
        let mut bytes = G::EMPTY;
        reader.read_exact(bytes.as_mut())?;
        Ok(Self::from_bytes(bytes.as_ref())?)
    }
}
