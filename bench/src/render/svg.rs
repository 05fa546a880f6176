//! Plots as SVG, by hand: a frame, an axis or two, bars or lines. Colours follow the reader's scheme, dark or light;
//! the ground stays transparent.

mod axis;
mod bars;
mod document;
mod lines;

use crate::report::Plot;

/// A plot as a document of its own.
pub fn plot(plot: &Plot) -> String {
    match plot {
        Plot::Bars(shown) => bars::draw(shown),
        Plot::Lines(shown) => lines::draw(shown),
    }
}
