//! The module's allocator: one list of free blocks for each size, because a plan takes and returns hundreds of small
//! blocks. The default one searches and joins free blocks, which takes several times as long. Large blocks are its.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr;

/// Sizes differ by this, and every block is aligned to it.
const STEP_BYTES: usize = 16;
const SIZES: usize = 64;
/// How much is taken from the default allocator at once.
const CHUNK_BYTES: usize = 1 << 14;

/// A free block begins with the address of the next one.
type Block = *mut u8;

pub(crate) struct Blocks {
    free: [Cell<Block>; SIZES],
    /// The unused part of the last chunk.
    chunk: Cell<Block>,
    chunk_bytes: Cell<usize>,
}

// SAFETY: the module is compiled without threads, so nothing is shared.
unsafe impl Sync for Blocks {}

impl Blocks {
    pub(crate) const fn new() -> Blocks {
        Blocks {
            free: [const { Cell::new(ptr::null_mut()) }; SIZES],
            chunk: Cell::new(ptr::null_mut()),
            chunk_bytes: Cell::new(0),
        }
    }

    /// The list of blocks for this layout; `None`: it is large.
    #[inline]
    fn list(&self, layout: Layout) -> Option<(&Cell<Block>, usize)> {
        let number = layout.size().wrapping_sub(1) / STEP_BYTES;
        if layout.align() > STEP_BYTES {
            return None;
        }
        Some((self.free.get(number)?, (number + 1) * STEP_BYTES))
    }

    /// A block that was never used.
    #[cold]
    fn fresh(&self, bytes: usize) -> Block {
        if self.chunk_bytes.get() < bytes {
            // SAFETY: the layout is not empty, and its alignment is a power of two.
            let chunk = unsafe { System.alloc(Layout::from_size_align_unchecked(CHUNK_BYTES, STEP_BYTES)) };
            if chunk.is_null() {
                return chunk;
            }
            self.chunk.set(chunk);
            self.chunk_bytes.set(CHUNK_BYTES);
        }
        let block = self.chunk.get();
        self.chunk.set(block.wrapping_add(bytes));
        self.chunk_bytes.set(self.chunk_bytes.get() - bytes);
        block
    }
}

// SAFETY: a block is in one list at most, is at least as large as every layout of that list, and leaves the list before
// it is returned. Large blocks are those of `System`, also when they are resized.
unsafe impl GlobalAlloc for Blocks {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((list, bytes)) = self.list(layout) else { return unsafe { System.alloc(layout) } };
        let block = list.get();
        if block.is_null() {
            return self.fresh(bytes);
        }
        list.set(unsafe { block.cast::<Block>().read() });
        block
    }

    #[inline(never)]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some((list, _)) = self.list(layout) else { return unsafe { System.dealloc(block, layout) } };
        unsafe { block.cast::<Block>().write(list.get()) };
        list.set(block);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (self.list(layout), self.list(new)) {
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (Some((_, before)), Some((_, after))) if before == after => block,
            _ => unsafe {
                let moved = self.alloc(new);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                moved
            },
        }
    }
}
