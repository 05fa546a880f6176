//! The page of figures and its plots, written into a folder.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::render::{markdown, svg};
use crate::report::{Report, Table};

/// The page's name, and that of the folder of its plots, which stands beside it.
const PAGE: &str = "figures.md";
const PLOTS: &str = "figures";

const HEAD: &str = "# Figures

What Keyfold costs, compared with what people use today. One command measures everything in one run and writes this page:

```sh
cargo run --release -p keyfold-bench
```

Things that are compared are measured in turns, round by round, so that other work of the machine affects all of them alike. A figure is a
median; the brackets after it are the quartiles. A ratio is computed within each round, then its median is taken. **Absolute times are
those of one machine** on which client and server share the cores; the ratios carry over to others. Where a peer is ahead, the section says so
and why. Where a ratio has a goal, the table has a column that says whether its median meets the goal.
";

/// Writes the page and its plots, and says where the page is.
pub fn write(folder: &Path, machine: &Table, reports: &[Report]) -> anyhow::Result<PathBuf> {
    let plots = folder.join(PLOTS);
    std::fs::create_dir_all(&plots).with_context(|| format!("the folder `{}`", plots.display()))?;
    for plot in reports.iter().flat_map(|report| &report.plots) {
        let path = plots.join(format!("{}.svg", plot.file()));
        std::fs::write(&path, svg::plot(plot)).with_context(|| format!("`{}`", path.display()))?;
    }
    let path = folder.join(PAGE);
    std::fs::write(&path, text(machine, reports)).with_context(|| format!("`{}`", path.display()))?;
    Ok(path)
}

fn text(machine: &Table, reports: &[Report]) -> String {
    let mut out = format!("{HEAD}\n{}", markdown::table(machine));
    for report in reports {
        out.push('\n');
        out += &markdown::report(report, PLOTS);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spread;
    use crate::report::{Bars, Plot};

    #[test]
    fn every_plot_that_the_page_shows_is_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut bars = Bars::new("keys", "Folding", "ns");
        bars.ours("fold", Spread::exact(1.0));
        let report = Report { plots: vec![Plot::Bars(bars)], ..Report::new("1. Keys", "Keys.") };
        let path = write(folder.path(), &Table::new("", ["", "measured on"]), &[report]).unwrap();
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.contains("](figures/keys.svg)") && page.contains("## 1. Keys"));
        let drawn = std::fs::read_to_string(folder.path().join("figures/keys.svg")).unwrap();
        assert!(drawn.contains("<title>Folding</title>"));
    }
}
