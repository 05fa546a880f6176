//! A function's standard output, read while it runs: a full pipe would block the writer.

use std::io::Read;
use std::process::Child;
use std::thread::{self, JoinHandle};

use serde_json::Value;

/// The log of a process.
pub struct Log(JoinHandle<String>);

impl Log {
    /// Reads the piped standard output of this process from now on.
    ///
    /// # Panics
    /// If it is not piped.
    pub fn of(process: &mut Child) -> Log {
        let mut output = process.stdout.take().unwrap();
        Log(thread::spawn(move || {
            let mut bytes = Vec::new();
            // The output before the end is kept, however the process ended.
            let _ = output.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        }))
    }

    /// Its lines, once the process has ended.
    ///
    /// # Panics
    /// If a line is no JSON.
    pub fn lines(self) -> Vec<Value> {
        let text = self.0.join().unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
            .collect()
    }
}
