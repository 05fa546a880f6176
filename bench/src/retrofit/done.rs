//! What a process says when it is done: one line of JSON, the same from every program.

use serde::{Deserialize, Serialize};

/// What a retrofit took.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The items that it wrote.
    pub items: u64,
    /// How long it took.
    pub seconds: f64,
    /// The CPU of the whole process.
    pub cpu_seconds: f64,
    /// The most memory that the process ever had, in kB; 0 if the system does not tell.
    pub peak_kb: u64,
}

impl Done {
    /// Items in a second.
    pub fn rate(&self) -> f64 {
        self.items as f64 / self.seconds
    }

    /// Microseconds of CPU for an item.
    pub fn cpu_microseconds(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.items as f64
    }

    /// The most memory, in MB.
    pub fn peak_mb(&self) -> f64 {
        if self.peak_kb == 0 { f64::NAN } else { self.peak_kb as f64 / 1024.0 }
    }

    /// From the last line that a program wrote.
    pub fn read(output: &str) -> Option<Done> {
        serde_json::from_str(output.lines().last()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let line = r#"{"items": 1000, "seconds": 0.5, "cpu_seconds": 0.1, "peak_kb": 2048}"#;
        let done = Done::read(&format!("a warning\n{line}\n")).unwrap();
        assert_eq!((done.rate(), done.cpu_microseconds().round(), done.peak_mb()), (2000.0, 100.0, 2.0));
        assert_eq!((Done::read(""), Done::read("Traceback")), (None, None));
    }

    #[test]
    fn memory_that_nobody_told_is_no_number() {
        let done = Done { items: 1, seconds: 1.0, cpu_seconds: 1.0, peak_kb: 0 };
        assert!(done.peak_mb().is_nan());
    }
}
