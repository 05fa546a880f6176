//! Many retrofits of generated tables: `generated [HISTORIES] [FIRST SEED]`, for each of the three protocols.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for a terminal")]

use std::process::ExitCode;
use std::time::Instant;

use keyfold_testkit::generated::{Counts, Shape, play};

/// How many histories are played between two lines of output.
const CHUNK: u64 = 20_000;

fn main() -> ExitCode {
    let number = |at: usize, default: u64| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (histories, first) = (number(1, 100_000), number(2, 0));
    for shape in Shape::ALL {
        let started = Instant::now();
        let mut counts = Counts::default();
        let mut played = 0;
        while played < histories {
            let chunk = CHUNK.min(histories - played);
            match play(shape, first + played, chunk, None) {
                Ok(more) => counts = counts.plus(more),
                Err((seed, fault)) => {
                    eprintln!("{shape:?}, seed {seed}: {fault}\nonce more: generated 1 {seed}");
                    return ExitCode::FAILURE;
                }
            }
            played += chunk;
            println!("{shape:?}: {played} histories in {} s: {counts:?}", started.elapsed().as_secs());
        }
    }
    ExitCode::SUCCESS
}
