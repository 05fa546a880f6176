//! Counts what one thread allocates while it is asked to. Otherwise it costs a look at a flag, so that times are measured
//! in the same program.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNTING: Cell<bool> = const { Cell::new(false) };
    static COUNTED: Cell<Allocations> = const { Cell::new(Allocations { count: 0, bytes: 0 }) };
}

/// What was allocated. Growing something counts once, with the bytes that it grew to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allocations {
    /// How often.
    pub count: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What this thread allocates while `work` runs. What `work` gives back is dropped before the count ends.
///
/// ```
/// let boxed = keyfold_bench::allocations::during(|| Box::new(7_u64));
/// assert_eq!((boxed.count, boxed.bytes), (1, 8));
/// ```
pub fn during<T>(work: impl FnOnce() -> T) -> Allocations {
    COUNTED.set(Allocations::default());
    COUNTING.set(true);
    let made = work();
    COUNTING.set(false);
    drop(made);
    COUNTED.get()
}

/// The system's allocator, which counts on demand.
#[derive(Debug)]
pub struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn note(bytes: usize) {
    if COUNTING.get() {
        let Allocations { count, bytes: before } = COUNTED.get();
        COUNTED.set(Allocations { count: count + 1, bytes: before + bytes as u64 });
    }
}

// SAFETY: every call goes to the system's allocator as it came. `note` allocates nothing, and its thread-locals have no
// destructor, so that they can be used at any time of a thread's life.
#[expect(unsafe_code, reason = "an allocator cannot be written without it")]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_is_counted() {
        let before = vec![1_u8; 1000];
        let counted = during(|| vec![2_u8; 100]);
        assert_eq!(counted, Allocations { count: 1, bytes: 100 });
        drop(vec![3_u8; 50]);
        assert_eq!(COUNTED.get(), counted, "it goes on counting");
        assert_eq!(during(|| before.len()), Allocations::default());
    }

    #[test]
    fn another_thread_is_not_counted() {
        let (go, wait) = std::sync::mpsc::sync_channel::<()>(0);
        let (done, is_done) = std::sync::mpsc::sync_channel::<()>(0);
        let other = std::thread::spawn(move || {
            wait.recv().unwrap();
            let made = vec![3_u8; 4096];
            done.send(()).unwrap();
            made.len()
        });
        let counted = during(|| {
            go.send(()).unwrap();
            is_done.recv().unwrap();
        });
        assert_eq!(other.join().unwrap(), 4096);
        assert!(counted.bytes < 4096, "{counted:?}");
    }
}
