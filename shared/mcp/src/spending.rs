//! The read units that agents have consumed: in this run of the server, and in this day over all servers with one state
//! folder.
//!
//! A call first reserves its maximum consumption: its cap, and the page by which it can exceed the cap. Afterwards the
//! actual consumption replaces the reservation. If less is left, a call may still run alone, with the rest as its cap.
//! So the day's budget is exceeded by one page at most, with any number of servers. The rule is that of the query API's
//! callers; the count is in a file, because the server has no right to write to DynamoDB.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use keyfold_core::format::{StoredFormat, UnknownFormat};
use keyfold_core::value::Hex;
use serde::{Deserialize, Serialize};

use crate::limits::Limits;

/// The form of the state file.
pub const SPENDING_FORMAT: StoredFormat =
    StoredFormat { name: "the count of agents' read units", version: 1 };
/// The state file.
const FILE: &str = "mcp-units.json";
/// Locked while the state file is read and replaced.
const LOCK: &str = "mcp-units.lock";
/// Maximum bytes of the state file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How long a call can be in flight, with a margin. The reservation of a server that was killed is counted after it.
const IN_FLIGHT_SECONDS_MAX: u64 = 60;
/// The minimum consumption of a read; with less left the budget is exhausted.
const UNITS_LEAST: f64 = 0.5;
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// Why a call may not run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are the names that the messages show")]
pub enum SpendingError {
    /// The session's units are consumed.
    #[error("the {most} read units of this session are consumed")]
    Session { most: f64 },
    /// The day's units are consumed.
    #[error("the {most} read units of this day are consumed")]
    Day { most: f64 },
    /// Calls in flight have reserved the rest of the day's units.
    #[error("calls of other servers have reserved what is left of this day's {most} read units")]
    Reserved { most: f64 },
    /// The state file cannot be read or written, so nothing is asked.
    #[error("the count of read units in `{}` cannot be read or written: {source}", .path.display())]
    File { path: PathBuf, source: io::Error },
    /// Another version of Keyfold wrote the state file.
    #[error(transparent)]
    Format(#[from] UnknownFormat),
    /// No random bytes are available.
    #[error("the system gives no random bytes")]
    NoRandom,
}

impl SpendingError {
    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            SpendingError::Session { .. } | SpendingError::Day { .. } => "budget-exhausted",
            SpendingError::Reserved { .. } => "budget-reserved",
            SpendingError::File { .. } => "budget-unreadable",
            SpendingError::Format(error) => error.code(),
            SpendingError::NoRandom => "no-random",
        }
    }

    /// What to do.
    pub fn hint(&self) -> &'static str {
        match self {
            SpendingError::Session { .. } => "the person who started this server can raise `--session-max`",
            SpendingError::Day { .. } => "ask tomorrow (UTC), or raise `--day-max`",
            SpendingError::Reserved { .. } => "repeat the call in a moment",
            SpendingError::File { .. } => {
                "give a writable folder with `--state`; a damaged file can be deleted"
            }
            SpendingError::Format(error) => error.hint(),
            SpendingError::NoRandom => "restart the server",
        }
    }
}

/// The consumption of one server and of its state folder.
#[derive(Debug)]
pub struct Spending {
    folder: PathBuf,
    session_units: f64,
}

/// The units of one day, as the state file holds them.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Day {
    #[serde(rename = "v")]
    version: u32,
    /// Days since 1970.
    day: u64,
    units: f64,
    reserved: Vec<Reservation>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Reservation {
    id: String,
    units: f64,
    until_seconds: u64,
}

/// Units reserved for a call.
#[derive(Debug)]
pub(crate) struct Reserved {
    id: String,
    /// Its maximum consumption.
    most: f64,
    /// The cap of its reads.
    pub(crate) cap: f64,
}

impl Spending {
    /// With this state folder, which is created if it does not exist.
    pub fn open(folder: &Path) -> Result<Spending, SpendingError> {
        let error = |source| SpendingError::File { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(error)?;
        let spending = Spending { folder: folder.to_owned(), session_units: 0.0 };
        spending.change(0, |_| ())?;
        Ok(spending)
    }

    /// The units of this session.
    pub(crate) fn session_units(&self) -> f64 {
        self.session_units
    }

    /// The units of this day, with those in flight.
    pub(crate) fn day_units(&self, now_seconds: u64) -> Result<f64, SpendingError> {
        self.change(now_seconds, |day| day.units + day.reserved.iter().map(|one| one.units).sum::<f64>())
    }

    /// Reserves units for a call that wants at most `wanted` and can exceed its cap by `overrun`.
    pub(crate) fn reserve(
        &mut self,
        limits: &Limits,
        wanted: f64,
        overrun: f64,
        now_seconds: u64,
    ) -> Result<Reserved, SpendingError> {
        let session_left = limits.session_units_max - self.session_units;
        if session_left < UNITS_LEAST {
            return Err(SpendingError::Session { most: limits.session_units_max });
        }
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| SpendingError::NoRandom)?;
        let id = Hex(&random).to_string();
        let (wanted, most) = (wanted.min(session_left), limits.day_units_max);
        let reserved = self.change(now_seconds, |day| {
            let in_flight: f64 = day.reserved.iter().map(|one| one.units).sum();
            let left = most - day.units;
            if left < UNITS_LEAST {
                return Err(SpendingError::Day { most });
            }
            let cap = if wanted + overrun + in_flight <= left {
                wanted
            } else if day.reserved.is_empty() {
                wanted.min(left)
            } else {
                return Err(SpendingError::Reserved { most });
            };
            let until_seconds = now_seconds + IN_FLIGHT_SECONDS_MAX;
            day.reserved.push(Reservation { id: id.clone(), units: cap + overrun, until_seconds });
            Ok(Reserved { id, most: cap + overrun, cap })
        })??;
        // A call that is dropped before its end counts with its maximum.
        self.session_units += reserved.most;
        Ok(reserved)
    }

    /// Replaces a reservation by the consumption.
    pub(crate) fn settle(
        &mut self,
        reserved: &Reserved,
        consumed: f64,
        now_seconds: u64,
    ) -> Result<(), SpendingError> {
        self.session_units += consumed - reserved.most;
        self.change(now_seconds, |day| {
            let before = day.reserved.len();
            day.reserved.retain(|one| one.id != reserved.id);
            // An expired reservation is counted already, and one of the day before went with that day.
            if day.reserved.len() < before {
                day.units += consumed;
            }
        })
    }

    /// Changes the day's row under a lock. The file is replaced as a whole.
    fn change<T>(&self, now_seconds: u64, change: impl FnOnce(&mut Day) -> T) -> Result<T, SpendingError> {
        let error = |source| SpendingError::File { path: self.folder.clone(), source };
        let lock = File::options().create(true).truncate(false).write(true).open(self.folder.join(LOCK));
        let lock = lock.map_err(error)?;
        lock.lock().map_err(error)?;
        let mut day = self.read(now_seconds)?;
        let result = change(&mut day);
        let text = serde_json::to_vec(&day).map_err(|source| error(source.into()))?;
        let beside = self.folder.join(format!("{FILE}.new"));
        fs::write(&beside, text).and_then(|()| fs::rename(&beside, self.folder.join(FILE))).map_err(error)?;
        Ok(result)
    }

    /// This day's units. A file that cannot be read is an error: an empty count would forget what was consumed.
    fn read(&self, now_seconds: u64) -> Result<Day, SpendingError> {
        let path = self.folder.join(FILE);
        let error = |source| SpendingError::File { path: path.clone(), source };
        let today = now_seconds / DAY_SECONDS;
        let new = || Day { version: SPENDING_FORMAT.version, day: today, ..Day::default() };
        let bytes = match fs::metadata(&path) {
            Ok(found) if found.len() > FILE_BYTES_MAX => {
                return Err(error(io::ErrorKind::FileTooLarge.into()));
            }
            Ok(_) => fs::read(&path).map_err(error)?,
            Err(missing) if missing.kind() == io::ErrorKind::NotFound => return Ok(new()),
            Err(other) => return Err(error(other)),
        };
        SPENDING_FORMAT.check_json(&bytes)?;
        let mut day: Day = serde_json::from_slice(&bytes).map_err(|source| error(source.into()))?;
        if day.day < today {
            return Ok(new());
        }
        let expired = |one: &Reservation| one.until_seconds < now_seconds;
        day.units += day.reserved.iter().filter(|one| expired(one)).map(|one| one.units).sum::<f64>();
        day.reserved.retain(|one| !expired(one));
        Ok(day)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 20_000 * DAY_SECONDS + DAY_SECONDS / 2;
    const PAGE: f64 = 128.0;

    fn limits(session: f64, day: f64) -> Limits {
        Limits { session_units_max: session, day_units_max: day, ..Limits::default() }
    }

    fn code<T>(result: Result<T, SpendingError>) -> &'static str {
        result.err().map_or("", |error| error.code())
    }

    #[test]
    fn a_restart_starts_a_session_and_keeps_the_day() {
        let folder = tempfile::tempdir().unwrap();
        let limits = limits(10.0, 15.0);
        let mut first = Spending::open(folder.path()).unwrap();
        let reserved = first.reserve(&limits, 100.0, PAGE, NOON).unwrap();
        assert_eq!(reserved.cap, 10.0, "the session's rest");
        first.settle(&reserved, 10.0, NOON).unwrap();
        assert_eq!(code(first.reserve(&limits, 1.0, PAGE, NOON)), "budget-exhausted");
        let mut second = Spending::open(folder.path()).unwrap();
        assert_eq!(second.day_units(NOON).unwrap(), 10.0);
        let reserved = second.reserve(&limits, 100.0, PAGE, NOON).unwrap();
        assert_eq!(reserved.cap, 5.0, "the day's rest");
        second.settle(&reserved, 5.0, NOON).unwrap();
        assert_eq!(code(second.reserve(&limits, 1.0, PAGE, NOON)), "budget-exhausted");
        assert_eq!(second.reserve(&limits, 1.0, PAGE, NOON + DAY_SECONDS).unwrap().cap, 1.0, "the next day");
    }

    #[test]
    fn servers_reserve_before_they_read_and_a_killed_one_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let limits = limits(1e6, 300.0);
        let [mut one, mut other] = [(); 2].map(|()| Spending::open(folder.path()).unwrap());
        one.reserve(&limits, 100.0, PAGE, NOON).unwrap();
        assert_eq!(code(other.reserve(&limits, 100.0, PAGE, NOON)), "budget-reserved");
        let later = NOON + IN_FLIGHT_SECONDS_MAX + 1;
        assert_eq!(other.reserve(&limits, 100.0, PAGE, later).unwrap().cap, 72.0);
    }

    #[test]
    fn a_damaged_or_newer_count_stops_every_call() {
        let folder = tempfile::tempdir().unwrap();
        let mut spending = Spending::open(folder.path()).unwrap();
        let file = folder.path().join(FILE);
        for (text, expected) in [
            ("", "budget-unreadable"),
            ("{\"v\":1", "budget-unreadable"),
            (r#"{"v":2,"day":1,"units":0,"reserved":[]}"#, "unknown-format"),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(code(spending.reserve(&Limits::default(), 1.0, PAGE, NOON)), expected, "{text}");
        }
    }
}
