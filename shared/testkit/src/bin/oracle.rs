//! Replays cases of the oracle: `cargo run -p keyfold-testkit --bin oracle -- SEED…`, or `FROM..TO`.

#![expect(clippy::print_stdout, reason = "this is a program for a terminal")]

use std::process::ExitCode;

use keyfold_testkit::case::{Case, judge, report, seeds, shrunk};

fn main() -> ExitCode {
    let mut failed = false;
    for argument in std::env::args().skip(1) {
        let Some(seeds) = seeds(&argument) else {
            println!("`{argument}` is neither a seed nor a range of seeds, `FROM..TO`");
            return ExitCode::from(2);
        };
        let single = seeds.end - seeds.start == 1;
        for seed in seeds {
            let case = Case::new(seed);
            match judge(&case) {
                Ok(judge) if single => {
                    println!("{}\n{:?}\nseed {seed}: {judge:?}", case.manifest, case.asking.request);
                }
                Ok(_) => {}
                Err(failure) => {
                    failed = true;
                    let (case, failure) = shrunk(&case, failure);
                    println!("{}", report(&case, &failure));
                }
            }
        }
    }
    ExitCode::from(u8::from(failed))
}
