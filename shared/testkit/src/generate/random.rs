//! Random numbers from a seed (SplitMix64), the same on every machine and in every version: a printed seed must replay.

/// A source of random choices.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The source with this seed.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Any number.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// An independent source, so that the draws of one part do not affect another.
    #[must_use]
    pub fn fork(&mut self) -> Random {
        Random::new(self.draw())
    }

    /// A number below `end`; 0 if that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { usize::try_from(self.draw() % end as u64).unwrap_or(0) }
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True with this probability, in percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these. Panics if there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// One of these; `None` if there are none.
    pub fn any<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }

    /// This many of them, in their order.
    pub fn some<T: Clone>(&mut self, choices: &[T], count: usize) -> Vec<T> {
        let mut left = count.min(choices.len());
        let mut kept = Vec::with_capacity(left);
        for (at, choice) in choices.iter().enumerate() {
            if self.below(choices.len() - at) < left {
                kept.push(choice.clone());
                left -= 1;
            }
        }
        kept
    }

    /// These in another order.
    pub fn shuffled<T: Clone>(&mut self, choices: &[T]) -> Vec<T> {
        let mut all = choices.to_vec();
        for at in (1..all.len()).rev() {
            all.swap(at, self.below(at + 1));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn a_seed_replays() {
        let drawn = |seed| {
            let mut random = Random::new(seed);
            (random.draw(), random.below(10), random.shuffled(&[1, 2, 3, 4]), random.some(&[1, 2, 3], 2))
        };
        assert_eq!(drawn(7), drawn(7));
        assert_eq!(Random::new(7).draw(), 0x63CB_E1E4_5932_0DD7);
    }

    #[test]
    fn some_has_as_many_as_wanted() {
        let mut random = Random::new(1);
        for count in 0..6 {
            assert_eq!(random.some(&[1, 2, 3, 4], count).len(), count.min(4));
        }
    }
}
