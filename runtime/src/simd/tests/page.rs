//! A readable and writable page with a forbidden one right after it.

use std::ffi::{c_int, c_void};

const PAGE: usize = 4096;
const PROT_NONE: c_int = 0;
const PROT_READ_WRITE: c_int = 3;
const MAP_PRIVATE_ANONYMOUS: c_int = 0x22;

unsafe extern "C" {
    fn mmap(
        addr: *mut c_void,
        len: usize,
        prot: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn mprotect(addr: *mut c_void, len: usize, prot: c_int) -> c_int;
    fn munmap(addr: *mut c_void, len: usize) -> c_int;
}

pub struct Page(*mut u8);

impl Page {
    pub fn new() -> Page {
        // SAFETY: a new private mapping of two pages, wherever there is room.
        let start = unsafe {
            mmap(
                std::ptr::null_mut(),
                2 * PAGE,
                PROT_READ_WRITE,
                MAP_PRIVATE_ANONYMOUS,
                -1,
                0,
            )
        };
        assert_ne!(start.addr(), usize::MAX, "no memory");
        let page = Page(start.cast());
        // SAFETY: the second page of that mapping, which nobody uses.
        let status = unsafe { mprotect(page.end().cast(), PAGE, PROT_NONE) };
        assert_eq!(status, 0, "the page can be protected");
        page
    }

    /// The first byte that may not be touched.
    pub fn end(&self) -> *mut u8 {
        self.0.wrapping_add(PAGE)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, to which no reference is left.
        unsafe { munmap(self.0.cast(), 2 * PAGE) };
    }
}
