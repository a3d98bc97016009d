//! An age file's header, read within bounds before anything parses it.
//!
//! ```text
//! age-encryption.org/v1
//! -> tlock 1000 52db9b…          a stanza for each recipient, and its body in lines of base64
//! VmF3…
//! --- nyA0…                      the last line: a code over all before
//! ```
//!
//! age's parser starts from the beginning whenever it needs more, so its work grows with the square of
//! the header, which whoever sends a file chooses. Here lines are counted and kept as they come, each
//! byte once, and reading ends at a bound. What is within it is age's to judge.

use std::io::{self, BufRead, Read};

use crate::OpenError;

/// The most bytes of a header. One stanza of drand's takes some 280; age's largest, to keys that resist
/// quantum computers, some 1 600.
pub const MAX_HEADER: usize = 32 * 1024;
/// The most recipients that a header names.
pub const MAX_STANZAS: usize = 64;
/// The most lines of a header: what its bytes make in full lines, and three for each recipient.
pub const MAX_LINES: usize = MAX_HEADER / 64 + 3 * MAX_STANZAS;
/// Bytes of the last line: dashes, a space, 32 bytes in base64, its end.
const LAST_LINE: usize = 3 + 1 + 43 + 1;
/// How every version of the format begins.
const MAGIC: &[u8] = b"age-encryption.org/";

/// The header, up to and with its last line; all there is if the file ends earlier. What follows stays
/// in `input`.
pub(crate) fn read(input: &mut impl BufRead) -> Result<Vec<u8>, OpenError> {
    let mut header = Vec::new();
    let mut stanzas = 0_usize;
    for _ in 0..MAX_LINES {
        let start = header.len();
        let room = MAX_HEADER.saturating_sub(start);
        let room = u64::try_from(room).unwrap_or(u64::MAX);
        if input.take(room).read_until(b'\n', &mut header)? == 0 && room > 0 {
            return Ok(header);
        }
        let line = header.get(start..).unwrap_or_default();
        if !header.starts_with(MAGIC) {
            return Ok(header);
        }
        stanzas += usize::from(line.starts_with(b"->"));
        if stanzas > MAX_STANZAS {
            return Err(OpenError::Stanzas { most: MAX_STANZAS });
        }
        if !line.ends_with(b"\n") {
            return ended(input, header);
        }
        if line.starts_with(b"---") {
            // With a shorter one, age would look for the rest of it in what follows.
            let length = line.len();
            let whole = length == LAST_LINE;
            let why = || format!("last line of the header has {length} bytes, not {LAST_LINE}");
            return if whole { Ok(header) } else { Err(OpenError::Header(why())) };
        }
    }
    Err(OpenError::HeaderLines { most: MAX_LINES })
}

/// A line without an end: the file's, or too long a header's.
fn ended(input: &mut impl BufRead, header: Vec<u8>) -> Result<Vec<u8>, OpenError> {
    if header.len() < MAX_HEADER || rest_is_empty(input)? {
        return Ok(header);
    }
    Err(OpenError::HeaderBytes { most: MAX_HEADER })
}

fn rest_is_empty(input: &mut impl BufRead) -> io::Result<bool> {
    Ok(input.fill_buf()?.is_empty())
}
