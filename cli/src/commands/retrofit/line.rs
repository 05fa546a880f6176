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
pub(super) const COLUMNS_MAX: usize = 79;

/// A line that changes.
#[derive(Debug)]
pub(super) struct Line {
    out: Output,
    terminal: bool,
    started: Instant,
    /// When it was drawn last.
    drawn: Mutex<Option<Instant>>,
}

impl Line {
    pub(super) fn new(out: &Output) -> Line {
        let terminal = std::io::stderr().is_terminal() && out.draws();
        Line { out: out.clone(), terminal, started: Instant::now(), drawn: Mutex::default() }
    }

    /// Is the line drawn in place?
    pub(super) fn is_drawn(&self) -> bool {
        self.terminal
    }

    /// Waits for the work, and shows the line meanwhile. Afterwards nothing of it is left on a terminal.
    pub(super) async fn during<T>(&self, work: impl Future<Output = T>, text: impl Fn() -> String) -> T {
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
    pub(super) fn note(&self, text: &str) {
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

/// Waits for this long, or until `stopped`. Did the whole time pass?
pub(super) async fn wait(line: &Line, seconds: u64, what: &str, stopped: impl Fn() -> bool) -> bool {
    const LOOK: Duration = Duration::from_millis(200);
    let (started, most) = (Instant::now(), Duration::from_secs(seconds));
    let waiting = async {
        while started.elapsed() < most {
            if stopped() {
                return false;
            }
            tokio::time::sleep(LOOK.min(most.saturating_sub(started.elapsed()))).await;
        }
        true
    };
    line.during(waiting, || waited(started.elapsed(), most, what)).await
}

fn waited(elapsed: Duration, most: Duration, what: &str) -> String {
    format!("{}, {what}", time_left(most.saturating_sub(elapsed).as_secs_f64().ceil() as u64))
}

/// Seconds as `40 s left`.
pub(super) fn time_left(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s left"),
        120..=7199 => format!("{} min left", seconds / 60),
        _ => format!("{} h left", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_shows_how_much_of_it_is_left_and_no_line_is_wider_than_a_terminal() {
        let shown = waited(Duration::from_secs(300), Duration::from_secs(900), "until functions have ended");
        assert_eq!(shown, "10 min left, until functions have ended");
        assert_eq!(waited(Duration::from_secs(9), Duration::ZERO, "x"), "0 s left, x");
        assert_eq!(cut(&"x".repeat(200)).len(), COLUMNS_MAX);
    }

    #[test]
    fn a_line_appears_within_half_a_second_and_plain_lines_become_rare() {
        for terminal in [true, false] {
            assert!(period(terminal, Duration::ZERO, false) < Duration::from_millis(500));
        }
        assert_eq!(period(false, Duration::from_secs(59), true), Duration::from_secs(2));
        assert_eq!(period(false, Duration::from_secs(60), true), Duration::from_secs(30));
        assert_eq!(period(true, Duration::from_secs(60), true), REDRAW_PERIOD);
    }

    #[tokio::test]
    async fn the_line_ends_with_the_work() {
        let line = Line::new(&Output::new(true));
        assert_eq!(line.during(async { 7 }, || unreachable!("it is over before")).await, 7);
    }
}
