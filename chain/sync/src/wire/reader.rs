//! Reads lists whose lengths are checked before memory is taken.
use borsh::BorshDeserialize;

use super::{MAX_ITEMS, WireError};

/// What is left of a payload, and how many items its lists may have yet.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    items_left: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, items_left: MAX_ITEMS }
    }

    /// A value without lists, or with small ones.
    pub(super) fn value<T: BorshDeserialize>(&mut self) -> Result<T, WireError> {
        T::deserialize(&mut self.bytes).map_err(|error| WireError::malformed(&error))
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, WireError> {
        let length = self.length()?;
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            return Err(WireError::TooLong { got: length, most: self.bytes.len() });
        };
        self.bytes = rest;
        Ok(taken.to_vec())
    }

    pub(super) fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let got = self.length()?;
        // No item is shorter than a byte.
        let most = self.items_left.min(self.bytes.len());
        self.items_left = match self.items_left.checked_sub(got) {
            Some(left) if got <= most => left,
            _ => return Err(WireError::TooMany { got, most }),
        };
        let mut items = Vec::with_capacity(got);
        for _ in 0..got {
            items.push(item(self)?);
        }
        Ok(items)
    }

    pub(super) fn option<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        match self.value::<bool>()? {
            true => item(self).map(Some),
            false => Ok(None),
        }
    }

    pub(super) fn end(self) -> Result<(), WireError> {
        match self.bytes.len() {
            0 => Ok(()),
            got => Err(WireError::Malformed { why: format!("{got} bytes behind the end") }),
        }
    }

    fn length(&mut self) -> Result<usize, WireError> {
        let length: u32 = self.value()?;
        Ok(usize::try_from(length).unwrap_or(usize::MAX))
    }
}
