//! Buffers between guard pages.
//!
//! Owns mapping and protecting memory for the arguments of a call, in the worker only. An access one element outside
//! of a buffer, or a write to a shared argument, kills the worker; smaller strays on the far side are found by canaries.

use std::io;
use std::ptr::NonNull;

use super::protocol::Layout;

/// Buffers from this size on may use huge pages when they are not timed: touching them is most of what they cost.
const HUGE: usize = 4 << 20;

/// Fills the bytes of a buffer's pages that are not its elements.
const CANARY: u8 = 0xc3;

/// A buffer with an inaccessible page on either side.
pub struct Region {
    /// Start of the mapping, which is `guard | inner | guard`.
    base: NonNull<u8>,
    /// Bytes of one guard.
    page: usize,
    /// Bytes between the guards, whole pages.
    inner: usize,
    /// Where the elements start, relative to `base`.
    offset: usize,
    /// Bytes of the elements.
    bytes: usize,
}

fn page_size() -> usize {
    // SAFETY: sysconf only reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096).max(4096)
}

impl Region {
    /// Maps a buffer of `bytes` bytes made of elements of `elem` bytes. `stagger` moves it further from the start of
    /// its page (in `Left` and `Odd` only).
    ///
    /// # Errors
    /// If the system has no memory left, or the limit of this process is reached.
    pub fn new(bytes: usize, elem: usize, layout: Layout, stagger: usize) -> io::Result<Self> {
        let page = page_size();
        let lead = match layout {
            Layout::Right => 0,
            Layout::Left => stagger,
            Layout::Odd => stagger + elem,
        };
        let inner = (bytes + lead).max(1).next_multiple_of(page);
        let total = inner + 2 * page;
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                total,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let Some(base) = NonNull::new(base.cast::<u8>()) else {
            return Err(io::Error::other("the system mapped memory at address zero"));
        };
        let offset = match layout {
            Layout::Right => page + inner - bytes,
            Layout::Left | Layout::Odd => page + lead,
        };
        let mut region = Region {
            base,
            page,
            inner,
            offset,
            bytes,
        };
        region.set_writable(true)?;
        region.draw_canaries();
        Ok(region)
    }

    /// Makes the elements writable or read-only.
    ///
    /// # Errors
    /// If the system refuses, which it does only when out of memory.
    pub fn set_writable(&mut self, writable: bool) -> io::Result<()> {
        let access = if writable {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        // SAFETY: the range lies inside the mapping that this value owns, and `&mut self` proves that no slice of it
        // is alive.
        let status =
            unsafe { libc::mprotect(self.base.as_ptr().add(self.page).cast(), self.inner, access) };
        if status == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Asks for huge pages, which programs do not usually have: not for buffers that are timed.
    pub fn prefer_huge_pages(&mut self) {
        if self.inner >= HUGE {
            // SAFETY: advice about pages of this value's own mapping; whether it is taken changes no content.
            unsafe {
                libc::madvise(
                    self.base.as_ptr().add(self.page).cast(),
                    self.inner,
                    libc::MADV_HUGEPAGE,
                )
            };
        }
    }

    /// The elements. Only while writable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `offset..offset + bytes` lies in the inner pages, initialised by the system, and borrowed from
        // `self` exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.ptr(), self.bytes) }
    }

    /// The elements.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as for `bytes_mut`, shared.
        unsafe { std::slice::from_raw_parts(self.ptr(), self.bytes) }
    }

    /// Bytes of all elements.
    pub fn size(&self) -> usize {
        self.bytes
    }

    /// The address of the first element; valid for the region's bytes.
    pub fn ptr(&self) -> *mut u8 {
        // SAFETY: `offset` is at most the size of the mapping.
        unsafe { self.base.as_ptr().add(self.offset) }
    }

    /// Fills everything between the guards that is not an element. Only while writable.
    pub fn draw_canaries(&mut self) {
        let (before, after) = self.slack();
        // SAFETY: both ranges lie in the inner pages, which are writable, and `&mut self` is exclusive.
        unsafe {
            std::ptr::write_bytes(self.base.as_ptr().add(self.page), CANARY, before);
            std::ptr::write_bytes(self.ptr().add(self.bytes), CANARY, after);
        }
    }

    /// Whether everything between the guards that is not an element is still as [`Region::draw_canaries`] left it.
    pub fn canaries_intact(&self) -> bool {
        let (before, after) = self.slack();
        // SAFETY: both ranges lie in the inner pages, which are readable and initialised.
        let (before, after) = unsafe {
            (
                std::slice::from_raw_parts(self.base.as_ptr().add(self.page), before),
                std::slice::from_raw_parts(self.ptr().add(self.bytes), after),
            )
        };
        before.iter().chain(after).all(|&byte| byte == CANARY)
    }

    /// Bytes between the guards before and after the elements.
    fn slack(&self) -> (usize, usize) {
        let before = self.offset - self.page;
        (before, self.inner - before - self.bytes)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.inner + 2 * self.page) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_lie_where_they_should() {
        for bytes in [0usize, 4, 4092, 4096, 5000] {
            let right = Region::new(bytes, 4, Layout::Right, 64).expect("maps");
            assert_eq!((right.ptr() as usize + bytes) % page_size(), 0);
            let left = Region::new(bytes, 4, Layout::Left, 0).expect("maps");
            assert_eq!(left.ptr() as usize % page_size(), 0);
            let odd = Region::new(bytes, 4, Layout::Odd, 0).expect("maps");
            assert_eq!(odd.ptr() as usize % page_size(), 4);
            assert!(right.canaries_intact() && left.canaries_intact() && odd.canaries_intact());
        }
    }

    #[test]
    fn a_stray_write_is_seen() {
        let mut region = Region::new(100, 4, Layout::Right, 0).expect("maps");
        region.bytes_mut().fill(1);
        assert!(region.canaries_intact());
        // SAFETY: the byte before the elements is slack inside the same mapping.
        unsafe { *region.ptr().sub(1) = 0 };
        assert!(!region.canaries_intact());
        region.draw_canaries();
        assert!(region.canaries_intact());
        assert!(region.bytes().iter().all(|&b| b == 1));
    }
}
