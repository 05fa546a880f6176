//! `keyfold load`: the items of a file, each with its folded keys. It can be stopped or killed at any point, and goes on.
//!
//! The file is read twice. First every line is folded, so that a file with mistakes writes nothing. Then it is written part by
//! part, and after each part a mark notes how far that is. A part that was written and not noted is written again: items that
//! are there already, the same ones, are no conflict.

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
use keyfold_dynamo::{
    Client, PutNew, PutNewOptions, WriteError, client, load as load_all, put_new_all, table_id,
};
use serde_json::json;

use self::lines::{Lines, Part};
use self::mark::Mark;
use super::retrofit::interrupt;
use super::{explained, on_this_thread, settings};
use crate::args::LoadArgs;
use crate::manifest_file::{counted, model, table};
use crate::output::{INTERRUPTED, Output, grouped};
use crate::refusal::refuse;

/// How many lines with mistakes, or with keys that are taken, are listed.
const LINES_SHOWN_MAX: usize = 20;
/// How often the progress is shown.
const SHOWN_EVERY: Duration = Duration::from_secs(2);

pub(super) fn run(path: &Path, args: &LoadArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let model = model(path, out)?;
    let table = table(&model, &args.table)?;
    on_this_thread(load(table, args, out))
}

async fn load(table: &Table, args: &LoadArgs, out: &Output) -> anyhow::Result<ExitCode> {
    let client = client(&settings(args.endpoint.as_deref())?).await;
    let id = table_id(&client, table).await.map_err(|error| failed(error.into()))?;
    let what = json!({ "table": table.name, "id": id, "entity": args.entity, "replace": args.replace });
    let place = args.progress.clone().unwrap_or_else(|| beside(&args.file));
    let mark = match args.again {
        true => Mark::new(what),
        false => Mark::read(&place, what)?,
    };
    let mut lines = Lines::open(&args.file)?;
    if !lines.skip(mark.bytes, mark.lines, &mark.digest)? {
        refuse!(
            "other-file",
            "`{}` is not the file whose load was stopped: its first {} lines are others\n\
             hint: `--again` loads it from the beginning",
            args.file.display(),
            mark.lines
        );
    }
    let total = checked(table, args, &mark)?;
    if mark.lines > 0 {
        out.note(format!("goes on after line {}\n", grouped(mark.lines)));
    }
    let mut load = Load { client, table, args, place, mark, shown: Instant::now(), total, out };
    let stop = interrupt::watched(out);
    let ended = load.write(&mut lines, &stop).await?;
    load.said(ended)
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
    let item = super::write::of_entity(table, item_of_json(table, text)?, args.entity.as_deref())?;
    Ok(table.written(item)?)
}

struct Load<'l> {
    client: Client,
    table: &'l Table,
    args: &'l LoadArgs,
    /// Where the mark is kept.
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
            let told =
                format!("what was written is noted in `{}`; the same command goes on", self.place.display());
            self.part(&part).await.context(told)?;
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
        if self.args.replace {
            let loaded = load_all(&self.client, self.table, futures_util::stream::iter(items)).await;
            let loaded = loaded.map_err(|error| failed(error.source))?;
            self.mark.written += loaded.written;
            self.mark.units += loaded.consumed.units;
            return Ok(());
        }
        let given = items.clone();
        let inserted = put_new_all(&self.client, self.table, items, &PutNewOptions::default()).await;
        self.mark.units += inserted.consumed.units;
        for ((line, item), outcome) in numbers.into_iter().zip(&given).zip(inserted.outcomes) {
            match outcome.map_err(failed)? {
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

    fn said(&self, ended: bool) -> anyhow::Result<ExitCode> {
        let mark = &self.mark;
        if self.out.json {
            self.out.value(&json!({
                "table": self.table.name, "finished": ended, "items": mark.items(), "written": mark.written,
                "there": mark.there, "taken": mark.taken, "takenLines": mark.taken_lines, "units": mark.units,
            }))?;
        } else {
            self.out.text(format!(
                "table `{}`: {} written, {} were there already, {} left as they are because their key is taken ({:.0} units)\n",
                self.table.name,
                counted(usize::try_from(mark.written).unwrap_or(usize::MAX), "item"),
                grouped(mark.there),
                grouped(mark.taken),
                mark.units
            ));
            if mark.taken > 0 {
                let lines: Vec<String> = mark.taken_lines.iter().map(u64::to_string).collect();
                let more = if mark.taken > lines.len() as u64 { ", ..." } else { "" };
                let lines = lines.join(", ");
                self.out.text(format!("their lines: {lines}{more}; `--replace` writes over what is there\n"));
            }
        }
        if !ended {
            self.out.note("stopped; the same command goes on\n");
            return Ok(ExitCode::from(INTERRUPTED));
        }
        Ok(ExitCode::from(u8::from(mark.taken > 0)))
    }
}

/// Is what has the key this very item? What a retrofit keeps on it does not count.
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

fn failed(error: WriteError) -> anyhow::Error {
    let (code, hint) = (error.code(), error.hint());
    explained(error, code, hint)
}
