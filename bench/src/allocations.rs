//! Counts the allocations of one thread on demand. Otherwise it costs one check of a flag, so that times can be measured in the same
//! program: crates that always count slow down the code that is measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNTED: Cell<Option<Allocations>> = const { Cell::new(None) };
}

/// How often, and how many bytes. A reallocation counts once, with its new size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Allocations {
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// The allocations of this thread while `work` runs and its result is dropped.
pub(crate) fn during<T>(work: impl FnOnce() -> T) -> Allocations {
    COUNTED.set(Some(Allocations::default()));
    drop(work());
    COUNTED.take().unwrap_or_default()
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count(bytes: usize) {
    if let Some(Allocations { count, bytes: before }) = COUNTED.get() {
        COUNTED.set(Some(Allocations { count: count + 1, bytes: before + bytes as u64 }));
    }
}

// SAFETY: every call goes to the system's allocator unchanged. `count` allocates nothing, and its thread-local has no
// destructor, so that it can be used at any time of a thread's life.
#[expect(unsafe_code, reason = "an allocator cannot be written without it")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}
