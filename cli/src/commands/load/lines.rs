//! A file of lines, read part by part.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, bail};
use keyfold_core::value::Hex;
use sha2::{Digest, Sha256};

/// Maximum lines in one part: written before the next mark.
const PART_LINES_MAX: u64 = 500;
/// The size at which a part is full.
const PART_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The longest line: DynamoDB's 400 KB, with room for the JSON notation.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// A file of lines, and how far it is read.
pub(super) struct Lines {
    file: BufReader<File>,
    /// The digest of everything that was read.
    digest: Sha256,
    /// The number of lines that were read.
    count: u64,
}

/// The lines that are written before the next mark.
pub(super) struct Part {
    /// Lines that are not empty, by their numbers.
    pub(super) lines: Vec<(u64, String)>,
    /// All lines, empty ones too.
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> anyhow::Result<Lines> {
        let file = File::open(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        Ok(Lines { file: BufReader::new(file), digest: Sha256::new(), count: 0 })
    }

    /// Goes to the position of a mark. False if the bytes before it have changed since.
    pub(super) fn skip(&mut self, bytes: u64, lines: u64, digest: &str) -> anyhow::Result<bool> {
        let mut before = Read::by_ref(&mut self.file).take(bytes);
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = before.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            self.digest.update(&buffer[..read]);
        }
        self.count = lines;
        Ok(bytes == 0 || self.digest() == digest)
    }

    /// The next lines; `None` at the end.
    pub(super) fn next_part(&mut self) -> anyhow::Result<Option<Part>> {
        let mut part = Part { lines: Vec::new(), count: 0, bytes: 0 };
        while part.count < PART_LINES_MAX && part.bytes < PART_BYTES_MAX {
            let mut line = Vec::new();
            let read = Read::by_ref(&mut self.file).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
            if read == 0 {
                break;
            }
            self.digest.update(&line);
            (self.count, part.count, part.bytes) = (self.count + 1, part.count + 1, part.bytes + read);
            if read == LINE_BYTES_MAX && line.last() != Some(&b'\n') {
                bail!(
                    "line {} is longer than {LINE_BYTES_MAX} bytes; write one JSON object on each line",
                    self.count
                );
            }
            let text =
                str::from_utf8(&line).with_context(|| format!("line {} is not UTF-8", self.count))?.trim();
            if !text.is_empty() {
                part.lines.push((self.count, text.to_owned()));
            }
        }
        Ok((part.count > 0).then_some(part))
    }

    /// A digest of all bytes before.
    pub(super) fn digest(&self) -> String {
        Hex(&self.digest.clone().finalize()).to_string()
    }
}
