//! One line on standard error that changes while work is in progress: on a terminal in place, elsewhere as plain lines.

use std::io::IsTerminal;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::output::Output;

/// How often the line is redrawn on a terminal. The first time is at once.
const REDRAW_PERIOD: Duration = Duration::from_millis(100);
/// When the first plain line is printed. Shorter work prints none.
const FIRST_LINE: Duration = Duration::from_millis(400);
/// How often a plain line is printed in the first minute, and later: a backfill of days must not fill a log.
const LINE_PERIODS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(30)];
const FIRST_MINUTE: Duration = Duration::from_secs(60);
/// Moves to the beginning of the line and erases it.
const ERASE: &str = "\r\x1b[K";
/// The widest line: a terminal of 80 columns may break one that fills it.
pub(crate) const COLUMNS_MAX: usize = 79;

/// A line that changes.
#[derive(Debug)]
pub(crate) struct Line {
    out: Output,
    terminal: bool,
    started: Instant,
    /// When it was drawn last.
    drawn: Mutex<Option<Instant>>,
}

impl Line {
    pub(crate) fn new(out: &Output) -> Line {
        let terminal = std::io::stderr().is_terminal() && out.draws();
        Line { out: out.clone(), terminal, started: Instant::now(), drawn: Mutex::default() }
    }

    /// Waits for the work, and shows the line meanwhile. Afterwards nothing of it is left on a terminal.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>, text: impl Fn() -> String) -> T {
        let mut work = pin!(work);
        loop {
            if let Ok(done) = tokio::time::timeout(self.pause(), work.as_mut()).await {
                self.erase();
                return done;
            }
            self.draw(&text());
        }
    }

    /// How long until the line is drawn.
    fn pause(&self) -> Duration {
        let drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let past = self.started.elapsed();
        period(self.terminal, past, drawn.is_some())
            .saturating_sub(drawn.map_or(past, |drawn| drawn.elapsed()))
    }

    /// Prints a line that stays.
    pub(crate) fn note(&self, text: &str) {
        self.erase();
        self.out.note(format!("{text}\n"));
    }

    fn draw(&self, text: &str) {
        *self.drawn.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        match self.terminal {
            true => self.out.styled_note(format!("{ERASE}{}", cut(text))),
            false => self.out.note(format!("{text}\n")),
        }
    }

    fn erase(&self) {
        if self.terminal {
            self.out.styled_note(ERASE);
        }
    }
}

/// The time from the beginning to the first line, or from one line to the next.
fn period(terminal: bool, past: Duration, drawn: bool) -> Duration {
    match (terminal, drawn) {
        (true, false) => Duration::ZERO,
        (true, true) => REDRAW_PERIOD,
        (false, false) => FIRST_LINE,
        (false, true) => LINE_PERIODS[usize::from(past >= FIRST_MINUTE)],
    }
}

/// The part of a text that fits one row of a terminal.
fn cut(text: &str) -> String {
    text.chars().take(COLUMNS_MAX).collect()
}

/// Seconds as `40 s`, `3 min` or `5 h`.
pub(crate) fn duration(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7199 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests;
