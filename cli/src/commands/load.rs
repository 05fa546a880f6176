//! `keyfold load`: writes the items of a file, each with its folded keys. It can be stopped or killed at any point, and
//! continues.
//!
//! The file is read twice. First every line is folded, so that a file with mistakes writes nothing. Then it is written
//! in parts, and a mark records the position after each part. A part written without its mark is written again:
//! identical existing items are no conflict.

mod lines;
mod mark;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use keyfold_core::attribute::OWN_ATTRIBUTE_PREFIX;
use keyfold_core::model::Table;
use keyfold_core::value::{Item, equal};
use keyfold_core::write::item_of_json;
use keyfold_dynamo::{Client, PutNew, PutNewOptions, WriteError, load as load_all, put_new_all, table_id};
use serde_json::json;

use self::lines::{Lines, Part};
use self::mark::Mark;
use super::write::PutOptions;
use crate::globals::Globals;
use crate::items::of_entity;
use crate::manifest_file::{model, table};
use crate::output::{Output, counted, grouped};
use crate::refusal::{explained, refuse};
use crate::support::{INTERRUPTED, block_on, exit_code, stop_flag};

/// How many lines with mistakes, or with keys of other items, are listed.
const LINES_SHOWN_MAX: usize = 20;
/// How often the progress is shown.
const SHOWN_EVERY: Duration = Duration::from_secs(2);

#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// The table's name in the manifest or in DynamoDB.
    pub(crate) table: String,
    /// The file: one item on each line, as plain JSON or in DynamoDB's JSON notation.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) how: PutOptions,
    /// The file that notes the progress [default: FILE.progress]. It is deleted at the end.
    #[arg(long, value_name = "FILE")]
    pub(crate) progress: Option<PathBuf>,
    /// Start again from the beginning.
    #[arg(long)]
    pub(crate) again: bool,
}

pub(super) fn run(globals: &Globals, args: &LoadArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(&globals.manifest, out)?;
    let table = table(&model, &args.table)?;
    block_on(load(globals, table, args, out))
}

async fn load(globals: &Globals, table: &Table, args: &LoadArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let client = globals.client().await?;
    let id = table_id(&client, table).await.map_err(|error| explained(WriteError::from(error)))?;
    let what =
        json!({ "table": table.name, "id": id, "entity": args.how.entity, "replace": args.how.replace });
    let place = args.progress.clone().unwrap_or_else(|| beside(&args.file));
    let mark = match args.again {
        true => Mark::new(what),
        false => Mark::read(&place, what)?,
    };
    let mut lines = Lines::open(&args.file)?;
    if !lines.skip(mark.bytes, mark.lines, &mark.digest)? {
        refuse!(
            "other-file",
            "`{}` is not the file whose load was stopped: its first {} lines differ\n\
             hint: `--again` loads it from the beginning",
            args.file.display(),
            mark.lines
        );
    }
    let total = checked(table, args, &mark)?;
    if mark.lines > 0 {
        out.note(format!("continues after line {}\n", grouped(mark.lines)));
    }
    let mut load = Load { client, table, args, place, mark, shown: Instant::now(), total, out };
    let stop = stop_flag(out);
    let ended = load.write(&mut lines, &stop).await?;
    load.report(ended)
}

/// Folds every line that is still to be written, and returns how many items the file has.
fn checked(table: &Table, args: &LoadArgs, mark: &Mark) -> anyhow::Result<u64> {
    let mut lines = Lines::open(&args.file)?;
    lines.skip(mark.bytes, mark.lines, &mark.digest)?;
    let (mut bad, mut count, mut items) = (Vec::new(), 0_usize, mark.items());
    while let Some(part) = lines.next_part()? {
        for (line, text) in &part.lines {
            match folded(table, args, text) {
                Ok(_) => items += 1,
                Err(error) => {
                    count += 1;
                    if bad.len() < LINES_SHOWN_MAX {
                        bad.push(format!("\n  line {line}: {error:#}"));
                    }
                }
            }
        }
    }
    match count {
        0 => Ok(items),
        _ => refuse!(
            "item-invalid",
            "{} of `{}` cannot be items of table `{}`; nothing was written{}",
            counted(count, "line"),
            args.file.display(),
            table.id,
            bad.concat()
        ),
    }
}

/// The item of a line, checked as it will be when it is written.
fn folded(table: &Table, args: &LoadArgs, text: &str) -> anyhow::Result<Item> {
    let item = of_entity(table, item_of_json(table, text)?, args.how.entity.as_deref())?;
    Ok(table.written(item)?)
}

struct Load<'l> {
    client: Client,
    table: &'l Table,
    args: &'l LoadArgs,
    /// The file of the mark.
    place: PathBuf,
    mark: Mark,
    shown: Instant,
    /// How many items the file has.
    total: u64,
    out: &'l Output,
}

impl Load<'_> {
    /// Writes part after part. Is everything written?
    async fn write(&mut self, lines: &mut Lines, stop: &AtomicBool) -> anyhow::Result<bool> {
        self.mark.write(&self.place)?;
        while let Some(part) = lines.next_part()? {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let noted = format!("`{}` notes the progress; the same command continues", self.place.display());
            self.part(&part).await.context(noted)?;
            self.mark.bytes += part.bytes;
            self.mark.lines += part.count;
            self.mark.digest = lines.digest();
            self.mark.write(&self.place)?;
            self.progress();
        }
        self.mark.remove(&self.place)?;
        Ok(true)
    }

    async fn part(&mut self, part: &Part) -> anyhow::Result<()> {
        let (numbers, items): (Vec<u64>, Vec<Item>) = part
            .lines
            .iter()
            .map(|(line, text)| Ok((*line, folded(self.table, self.args, text)?)))
            .collect::<anyhow::Result<Vec<_>>>()?
            .into_iter()
            .unzip();
        if self.args.how.replace {
            let loaded = load_all(&self.client, self.table, futures_util::stream::iter(items)).await;
            let loaded = loaded.map_err(|error| explained(error.source))?;
            self.mark.written += loaded.written;
            self.mark.units += loaded.consumed.units;
            return Ok(());
        }
        let given = items.clone();
        let inserted = put_new_all(&self.client, self.table, items, &PutNewOptions::default()).await;
        self.mark.units += inserted.consumed.units;
        for ((line, item), outcome) in numbers.into_iter().zip(&given).zip(inserted.outcomes) {
            match outcome.map_err(explained)? {
                PutNew::Written => self.mark.written += 1,
                PutNew::Exists(there) if is_same(item, there.reveal()) => self.mark.there += 1,
                PutNew::Exists(_) => {
                    self.mark.taken += 1;
                    if self.mark.taken_lines.len() < LINES_SHOWN_MAX {
                        self.mark.taken_lines.push(line);
                    }
                }
            }
        }
        Ok(())
    }

    fn progress(&mut self) {
        if self.shown.elapsed() >= SHOWN_EVERY {
            self.shown = Instant::now();
            let (items, total) = (grouped(self.mark.items()), grouped(self.total));
            self.out.note(format!("{items} of {total} items, {:.0} units\n", self.mark.units));
        }
    }

    fn report(&self, ended: bool) -> anyhow::Result<ExitCode> {
        let mark = &self.mark;
        let value = json!({
            "table": self.table.name, "finished": ended, "items": mark.items(), "written": mark.written,
            "there": mark.there, "taken": mark.taken, "takenLines": mark.taken_lines, "units": mark.units,
        });
        let mut text = format!(
            "table `{}`: {} written, {} existed already, {} left as they are because another item has their key ({:.0} units)\n",
            self.table.name,
            counted(usize::try_from(mark.written).unwrap_or(usize::MAX), "item"),
            grouped(mark.there),
            grouped(mark.taken),
            mark.units
        );
        if mark.taken > 0 {
            let lines: Vec<String> = mark.taken_lines.iter().map(u64::to_string).collect();
            let more = if mark.taken > lines.len() as u64 { ", ..." } else { "" };
            text += &format!(
                "their lines: {}{more}; `--replace` overwrites the existing items\n",
                lines.join(", ")
            );
        }
        self.out.show(&value, text)?;
        if !ended {
            self.out.note("stopped; the same command continues\n");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Ok(exit_code(mark.taken == 0))
    }
}

/// Is the existing item identical? The attributes that a retrofit adds do not count.
fn is_same(item: &Item, there: &Item) -> bool {
    let count = there.keys().filter(|name| !name.starts_with(OWN_ATTRIBUTE_PREFIX)).count();
    count == item.len()
        && item.iter().all(|(name, value)| there.get(name).is_some_and(|there| equal(there, value)))
}

/// `items.jsonl.progress`
fn beside(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".progress");
    PathBuf::from(name)
}
