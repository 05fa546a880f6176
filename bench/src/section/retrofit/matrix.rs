//! What all programs took for all sizes.

use super::Where;
use super::program::Program;
use crate::Spread;
use crate::retrofit::Done;

/// One run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cell {
    /// The program's place in the list.
    pub(super) program: usize,
    pub(super) items: u64,
    pub(super) round: usize,
    pub(super) done: Done,
}

/// All runs into a new table, or in place.
#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) place: Where,
    pub(super) programs: Vec<Program>,
    pub(super) cells: Vec<Cell>,
}

impl Matrix {
    pub(super) fn new(place: Where, programs: Vec<Program>) -> Matrix {
        Matrix { place, programs, cells: Vec::new() }
    }

    /// All sizes, smallest first.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.cells.iter().map(|cell| cell.items).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Where ours is in the list.
    pub(super) fn ours(&self) -> Option<usize> {
        self.programs.iter().position(Program::is_ours)
    }

    /// A figure of a program at a size, round by round; nothing if it did not take part.
    pub(super) fn of(&self, program: usize, items: u64, figure: fn(&Done) -> f64) -> Vec<f64> {
        let mut cells: Vec<&Cell> =
            self.cells.iter().filter(|cell| cell.program == program && cell.items == items).collect();
        cells.sort_by_key(|cell| cell.round);
        cells.into_iter().map(|cell| figure(&cell.done)).collect()
    }

    /// The same as one spread.
    pub(super) fn spread(&self, program: usize, items: u64, figure: fn(&Done) -> f64) -> Spread {
        Spread::of(&self.of(program, items, figure))
    }

    /// How many times another program's figure, round by round.
    pub(super) fn beside(
        &self,
        program: usize,
        other: usize,
        items: u64,
        figure: fn(&Done) -> f64,
    ) -> Spread {
        Spread::of_ratios(&self.of(program, items, figure), &self.of(other, items, figure))
    }

    /// A figure at the largest size, in times of that at the smallest.
    pub(super) fn growth(&self, program: usize, figure: fn(&Done) -> f64) -> Option<f64> {
        let sizes = self.sizes();
        let at = |items: &u64| self.spread(program, *items, figure).median;
        let growth = at(sizes.last()?) / at(sizes.first()?);
        (sizes.len() > 1 && growth.is_finite()).then_some(growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(program: usize, items: u64, round: usize, cpu_seconds: f64) -> Cell {
        Cell { program, items, round, done: Done { items, seconds: 1.0, cpu_seconds, peak_kb: 1024 } }
    }

    #[test]
    fn programs_are_compared_within_a_round_whatever_their_order() {
        let mut matrix = Matrix::new(Where::NewTable, Vec::new());
        // The second round met something; programs take turns at being first.
        matrix.cells =
            vec![cell(0, 10, 1, 10.0), cell(1, 10, 0, 2.0), cell(1, 10, 1, 20.0), cell(0, 10, 0, 1.0)];
        assert_eq!(matrix.beside(1, 0, 10, Done::cpu_microseconds), Spread::exact(2.0));
        assert!(matrix.beside(2, 0, 10, Done::cpu_microseconds).median.is_nan());
    }

    #[test]
    fn growth_is_from_the_smallest_to_the_largest() {
        let mut matrix = Matrix::new(Where::NewTable, Vec::new());
        matrix.cells = vec![cell(0, 1000, 0, 1.5), cell(0, 10, 0, 0.01)];
        let growth = matrix.growth(0, Done::cpu_microseconds).unwrap();
        assert!((growth - 1.5).abs() < 1e-9, "{growth}");
        assert_eq!((matrix.sizes(), matrix.growth(1, Done::cpu_microseconds)), (vec![10, 1000], None));
    }
}
