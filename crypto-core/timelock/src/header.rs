//! Reads an age file's header within limits, before anything parses it.
//!
//! ```text
//! age-encryption.org/v1
//! -> tlock 1000 52db9b…          a stanza for each recipient, and its body in lines of base64
//! VmF3…
//! --- nyA0…                      the last line: a code over all before
//! ```
//!
//! age's parser starts again from the beginning whenever it needs more bytes, so its work grows with
//! the square of the header's length, and the sender of a file chooses this length. Here each byte is
//! read once, lines are counted as they come, and reading stops at a limit. age checks the contents
//! within the limit.

use std::io::{self, BufRead, Read};

use crate::OpenError;

/// Greatest length of a header in bytes. A stanza of drand's takes about 280 bytes; age's largest
/// stanza, to keys that resist quantum computers, about 1 600.
pub const MAX_HEADER: usize = 32 * 1024;
/// Greatest number of recipients in a header.
pub const MAX_STANZAS: usize = 64;
/// Greatest number of lines of a header: the full lines that its bytes make, and three for each
/// recipient.
pub const MAX_LINES: usize = MAX_HEADER / 64 + 3 * MAX_STANZAS;
/// Length of the last line in bytes: dashes, a space, 32 bytes in base64, and the line end.
const LAST_LINE: usize = 3 + 1 + 43 + 1;
/// How every version of the format begins.
const MAGIC: &[u8] = b"age-encryption.org/";

/// Reads the header up to and including its last line, or up to the end of the file if it ends
/// earlier. The rest of the file stays in `input`.
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
            // If this line is shorter, age would look for the rest of it in the data that follows.
            let length = line.len();
            let whole = length == LAST_LINE;
            let why = || format!("last line of the header has {length} bytes, not {LAST_LINE}");
            return if whole { Ok(header) } else { Err(OpenError::Header(why())) };
        }
    }
    Err(OpenError::HeaderLines { most: MAX_LINES })
}

/// Handles a line without an end: either the file ends here, or the header is too long.
fn ended(input: &mut impl BufRead, header: Vec<u8>) -> Result<Vec<u8>, OpenError> {
    if header.len() < MAX_HEADER || rest_is_empty(input)? {
        return Ok(header);
    }
    Err(OpenError::HeaderBytes { most: MAX_HEADER })
}

fn rest_is_empty(input: &mut impl BufRead) -> io::Result<bool> {
    Ok(input.fill_buf()?.is_empty())
}
