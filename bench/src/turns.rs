//! Two ways to do the same, measured in turns: by the SDK alone, and by Keyfold.

use std::time::Instant;

use cpu_time::ThreadTime;
use futures_util::future::LocalBoxFuture;

use crate::report::Table;
use crate::spread::Spread;

/// A runtime whose one thread is the client's.
pub(crate) fn one_thread() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// A way to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By the SDK alone.
    Sdk,
    /// By Keyfold.
    Ours,
}

/// Microseconds for one item, in each round.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub(crate) wall: Vec<f64>,
    /// Of the client's thread: the server has its own.
    pub(crate) cpu: Vec<f64>,
}

/// Both ways, in the same rounds.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    pub(crate) sdk: Times,
    pub(crate) ours: Times,
}

/// The work of one round, ready to run.
pub(crate) type Work<'w> = LocalBoxFuture<'w, anyhow::Result<()>>;

/// How many rounds are measured, after how many that warm up, and how many items each has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    pub(crate) warm_up: usize,
    pub(crate) measured: usize,
    pub(crate) items: usize,
}

impl Rounds {
    /// Measures both ways. `prepare` returns the work of one way in one round; preparing it is not measured.
    pub(crate) async fn measure<'w>(
        self,
        mut prepare: impl AsyncFnMut(Way, usize) -> anyhow::Result<Work<'w>>,
    ) -> anyhow::Result<Compared> {
        let mut compared = Compared::default();
        for round in 0..self.warm_up + self.measured {
            // Each is first equally often.
            let turns = if round % 2 == 0 { [Way::Sdk, Way::Ours] } else { [Way::Ours, Way::Sdk] };
            for way in turns {
                let work = prepare(way, round).await?;
                let (started, cpu) = (Instant::now(), ThreadTime::now());
                work.await?;
                let (wall, cpu) = (started.elapsed(), cpu.elapsed());
                if round >= self.warm_up {
                    let times = if way == Way::Sdk { &mut compared.sdk } else { &mut compared.ours };
                    times.wall.push(wall.as_secs_f64() * 1e6 / self.items as f64);
                    times.cpu.push(cpu.as_secs_f64() * 1e6 / self.items as f64);
                }
            }
        }
        Ok(compared)
    }
}

impl Times {
    /// Items in a second.
    pub(crate) fn rate(&self) -> Spread {
        Spread::of(&self.wall.iter().map(|microseconds| 1e6 / microseconds).collect::<Vec<_>>())
    }
}

impl Compared {
    /// Our CPU, relative to the SDK's.
    pub(crate) fn cpu(&self) -> Spread {
        Spread::of_ratios(&self.ours.cpu, &self.sdk.cpu)
    }

    /// Our rate, relative to the SDK's.
    pub(crate) fn rate(&self) -> Spread {
        Spread::of_ratios(&self.sdk.wall, &self.ours.wall)
    }
}

/// A table of rates and CPU.
pub(crate) fn rates(caption: &str) -> Table {
    Table::new(caption, ["", "SDK", "ours", "rate", "SDK, CPU µs", "ours, CPU µs", "CPU"])
}

/// A row of it.
pub(crate) fn rates_row(name: &str, compared: &Compared) -> [String; 7] {
    let Compared { sdk, ours } = compared;
    [
        name.to_owned(),
        sdk.rate().figure(),
        ours.rate().figure(),
        compared.rate().ratio(),
        Spread::of(&sdk.cpu).figure(),
        Spread::of(&ours.cpu).figure(),
        compared.cpu().ratio(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn both_ways_are_in_every_round_and_take_turns_at_going_first() {
        let mut started = Vec::new();
        let rounds = Rounds { warm_up: 1, measured: 3, items: 10 };
        let work = async |way, round| {
            started.push((way, round));
            Ok(Box::pin(async { Ok(()) }) as Work<'_>)
        };
        let compared = rounds.measure(work).await.unwrap();
        assert_eq!((compared.sdk.wall.len(), compared.ours.cpu.len(), started.len()), (3, 3, 8));
        assert_eq!(started[..4], [(Way::Sdk, 0), (Way::Ours, 0), (Way::Ours, 1), (Way::Sdk, 1)]);
    }

    #[test]
    fn half_the_time_is_twice_the_rate() {
        let of = |wall| Times { wall: vec![wall], cpu: vec![wall] };
        let compared = Compared { sdk: of(20.0), ours: of(10.0) };
        assert_eq!((compared.rate().median, compared.cpu().median), (2.0, 0.5));
        assert_eq!(compared.ours.rate().median, 100_000.0);
    }
}
