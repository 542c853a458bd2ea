//! Device buffers between guard regions.
//!
//! Owns where a buffer lies in its allocation and finding out what was written around it. The device has no guard
//! pages: a stray write shows as a changed pattern, a stray read does not show here (compute-sanitizer finds it).

use std::rc::Rc;

use super::driver::{DriverError, Gpu, Memory};
use crate::inputs::Rng;
use crate::worker::protocol::Layout;

/// Bytes on either side of a buffer: what a block that is off by a tile reaches.
const GUARD: usize = 16 << 10;

/// A buffer.
pub struct DeviceBuffer {
    memory: Memory,
    offset: usize,
    len: usize,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl DeviceBuffer {
    /// A buffer of `len` bytes with elements of `elem` bytes.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        gpu: &Rc<Gpu>,
        len: usize,
        elem: usize,
        layout: Layout,
    ) -> Result<Self, DriverError> {
        // Allocations are aligned to 256 bytes and more.
        let offset = match layout {
            Layout::Left => GUARD,
            Layout::Right => GUARD + 256,
            Layout::Odd => GUARD + elem,
        };
        let memory = gpu.alloc(offset + len + GUARD)?;
        Ok(DeviceBuffer {
            offset,
            len,
            before: vec![0; offset],
            after: vec![0; GUARD],
            memory,
        })
    }

    /// The device address of the first element.
    pub fn address(&self) -> u64 {
        self.memory.address() + self.offset as u64
    }

    /// Draws new guard patterns and puts them in place.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn guard(&mut self, rng: &mut Rng) -> Result<(), DriverError> {
        for part in [&mut self.before, &mut self.after] {
            for chunk in part.chunks_mut(8) {
                let bits = rng.next_u64().to_ne_bytes();
                chunk.copy_from_slice(&bits[..chunk.len()]);
            }
        }
        self.memory.write(0, &self.before)?;
        self.memory.write(self.offset + self.len, &self.after)
    }

    /// Whether the guard patterns are as they were.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn intact(&self) -> Result<bool, DriverError> {
        Ok(self.memory.read(0, self.offset)? == self.before
            && self.memory.read(self.offset + self.len, self.after.len())? == self.after)
    }

    /// Sets the content.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn write(&mut self, data: &[u8]) -> Result<(), DriverError> {
        self.memory.write(self.offset, data)
    }

    /// The content.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn read(&self) -> Result<Vec<u8>, DriverError> {
        self.memory.read(self.offset, self.len)
    }
}
