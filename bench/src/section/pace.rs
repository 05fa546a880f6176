//! How fast something went, round by round: items per second, and the CPU of the client's thread for one.

use std::time::Instant;

use cpu_time::ThreadTime;

use crate::Spread;

/// Measurements, one for each round.
#[derive(Debug, Default)]
pub(super) struct Paces {
    rates: Vec<f64>,
    cpus: Vec<f64>,
}

impl Paces {
    /// Measures one round of so many items.
    pub(super) async fn round(
        &mut self,
        items: usize,
        work: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<()> {
        let (begun, cpu) = (Instant::now(), ThreadTime::now());
        work.await?;
        let (seconds, cpu) = (begun.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
        self.rates.push(items as f64 / seconds);
        self.cpus.push(cpu * 1e6 / items as f64);
        Ok(())
    }

    /// Forgets what a round that warmed up has left.
    pub(super) fn forget(&mut self) {
        self.rates.clear();
        self.cpus.clear();
    }

    /// Items in a second.
    pub(super) fn rate(&self) -> Spread {
        Spread::of(&self.rates)
    }

    /// Microseconds of CPU for an item.
    pub(super) fn cpu(&self) -> Spread {
        Spread::of(&self.cpus)
    }

    pub(super) fn rate_beside(&self, other: &Paces) -> Spread {
        Spread::of_ratios(&self.rates, &other.rates)
    }

    pub(super) fn cpu_beside(&self, other: &Paces) -> Spread {
        Spread::of_ratios(&self.cpus, &other.cpus)
    }

    /// How many times the other's time it takes.
    pub(super) fn time_beside(&self, other: &Paces) -> Spread {
        Spread::of_ratios(&other.rates, &self.rates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn twice_the_rate_is_half_the_time() {
        let of = |rates: [f64; 2]| Paces { rates: rates.into(), cpus: Vec::new() };
        let (slow, fast) = (of([100.0, 10.0]), of([200.0, 20.0]));
        assert_eq!(fast.rate_beside(&slow), Spread::exact(2.0));
        assert_eq!(fast.time_beside(&slow), Spread::exact(0.5));
    }

    #[tokio::test]
    async fn a_round_that_fails_is_no_measurement() {
        let mut paces = Paces::default();
        assert!(paces.round(1, async { anyhow::bail!("refused") }).await.is_err());
        paces.round(1, async { Ok(()) }).await.unwrap();
        assert_eq!((paces.rates.len(), paces.cpus.len()), (1, 1));
        paces.forget();
        assert!(paces.rate().median.is_nan());
    }
}
