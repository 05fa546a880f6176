//! Where a history's choices come from: drawn from a seed, or told one by one by a walk that takes each of them once.

use crate::generate::Random;

/// Who chooses.
#[derive(Debug, Clone)]
pub(super) enum Choices {
    /// A seed.
    Drawn(Random),
    /// A walk.
    Told(Told),
}

/// The choices of one step of a walk. Beyond those that were told, the first of all is taken.
#[derive(Debug, Clone, Default)]
pub(super) struct Told {
    /// What was chosen, and out of how many.
    chosen: Vec<(usize, usize)>,
    /// How many choices there were so far.
    made: usize,
}

impl Told {
    /// The step that comes after one with these choices: the same up to the last that can be another one. `None` after the last.
    pub(super) fn next(&self) -> Option<Told> {
        let mut chosen = self.chosen[..self.made].to_vec();
        while let Some((choice, of)) = chosen.pop() {
            if choice + 1 < of {
                chosen.push((choice + 1, of));
                return Some(Told { chosen, made: 0 });
            }
        }
        None
    }

    /// What was chosen.
    pub(super) fn taken(&self) -> Vec<usize> {
        self.chosen[..self.made].iter().map(|(choice, _)| *choice).collect()
    }

    fn below(&mut self, end: usize) -> usize {
        if end <= 1 {
            return 0;
        }
        if self.made == self.chosen.len() {
            self.chosen.push((0, end));
        }
        self.made += 1;
        self.chosen[self.made - 1].0
    }
}

impl Choices {
    /// The choices of this seed.
    pub(super) fn of(seed: u64) -> Choices {
        Choices::Drawn(Random::new(seed))
    }

    /// A number below `end`; 0 if that is 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        match self {
            Choices::Drawn(random) => random.below(end),
            Choices::Told(told) => told.below(end),
        }
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in so many of a hundred cases. A walk takes both ways, unless one of them cannot be.
    pub(super) fn chance(&mut self, percent: usize) -> bool {
        match self {
            Choices::Drawn(random) => random.chance(percent),
            Choices::Told(_) if percent == 0 => false,
            Choices::Told(told) => told.below(2) == 1,
        }
    }

    /// How far a sequence number rises. A walk needs no gaps.
    pub(super) fn rise(&mut self) -> u64 {
        match self {
            Choices::Drawn(random) => random.between(1, 4) as u64,
            Choices::Told(_) => 1,
        }
    }

    /// One of these. Panics if there is none.
    pub(super) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// One of these, if there is one.
    pub(super) fn any<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Choices, Told};

    #[test]
    fn every_way_through_a_step_is_told_once() {
        let mut ways = Vec::new();
        let mut next = Some(Told::default());
        while let Some(told) = next {
            let mut choices = Choices::Told(told);
            let first = choices.below(3);
            let way = if first == 1 { (first, choices.chance(50)) } else { (first, choices.chance(0)) };
            ways.push(way);
            let Choices::Told(told) = choices else { unreachable!("it is told") };
            next = told.next();
        }
        assert_eq!(ways, [(0, false), (1, false), (1, true), (2, false)]);
    }
}
