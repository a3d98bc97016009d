//! The vectors of a traced process, as the processor saves them (XSAVE, standard format).
use std::arch::x86_64::__cpuid_count;

use iced_x86::Register;
use nix::libc::{PTRACE_GETREGSET, c_void, iovec, ptrace};
use nix::unistd::Pid;

/// Linux' number of what is saved.
const NT_X86_XSTATE: i32 = 0x202;

/// More than any processor saves.
const MOST: usize = 1 << 14;

/// Parts of what is saved, by the processor's numbers.
const UPPER_YMM: u32 = 2;
const MASKS: u32 = 5;
const UPPER_ZMM: u32 = 6;
const LATER_ZMM: u32 = 7;

/// The extended registers of the processor, as the system saves them.
pub struct Vectors(Vec<u8>);

/// Of a process that is stopped.
#[expect(unsafe_code, reason = "no crate reads these")]
pub fn vectors(pid: Pid) -> Result<Vectors, String> {
    let mut saved = vec![0_u8; MOST];
    let mut buffer = iovec { iov_base: saved.as_mut_ptr().cast(), iov_len: saved.len() };
    let place: *mut iovec = &raw mut buffer;
    // SAFETY: the kernel writes to the buffer, at most its length, and to its length.
    let result =
        unsafe { ptrace(PTRACE_GETREGSET, pid.as_raw(), NT_X86_XSTATE, place.cast::<c_void>()) };
    if result != 0 {
        return Err("the vectors of a process cannot be read".to_owned());
    }
    saved.truncate(buffer.iov_len);
    Ok(Vectors(saved))
}

impl Vectors {
    /// A vector or a mask; `None` if it is not among what is saved.
    pub fn get(&self, register: Register) -> Option<Vec<u8>> {
        let number = register.number();
        let part = |which, size: usize, number: usize| {
            let at = usize::try_from(__cpuid_count(0xd, which).ebx).ok()? + size * number;
            self.0.get(at..at + size)
        };
        let bytes = match number {
            _ if register.is_k() => part(MASKS, 8, number)?.to_vec(),
            // The first part has no number; its vectors begin at 160.
            ..16 => {
                let lower = self.0.get(160 + 16 * number..176 + 16 * number)?;
                [lower, part(UPPER_YMM, 16, number)?, part(UPPER_ZMM, 32, number)?].concat()
            }
            _ => part(LATER_ZMM, 64, number - 16)?.to_vec(),
        };
        Some(bytes.into_iter().take(register.size()).collect())
    }
}
