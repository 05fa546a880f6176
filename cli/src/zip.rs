//! Zips whose bytes depend only on their content: no times, sorted files. They are uncompressed; Lambda unpacks a zip
//! when a function is created, not when it starts. The uploaded files' names contain a digest of their content.

use keyfold_core::value::Hex;
use keyfold_edge::MANIFEST_FILE;
use sha2::{Digest, Sha256};

/// How much of a digest is in the name of a file.
const NAME_DIGITS: usize = 12;

/// 1980-01-01, the first day that a zip can name.
const DAY: u16 = 0x21;
const UNIX: u16 = 3 << 8;
const VERSION: u16 = 20;
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// A zip of one file with these permissions.
pub(crate) fn of_file(name: &str, bytes: &[u8], mode: u16) -> Vec<u8> {
    // Version, flags, method, time, day, checksum, both sizes, the name's length, no extra field.
    let mut entry = Vec::new();
    let size = u32::try_from(bytes.len()).unwrap_or_else(|_| unreachable!("Lambda takes no file of 4 GB"));
    let length = u16::try_from(name.len()).unwrap_or_else(|_| unreachable!("the names are ours"));
    [VERSION, 0, 0, 0, DAY].iter().for_each(|part| entry.extend(part.to_le_bytes()));
    [crc32fast::hash(bytes), size, size].iter().for_each(|part| entry.extend(part.to_le_bytes()));
    [length, 0].iter().for_each(|part| entry.extend(part.to_le_bytes()));

    let mut zip = LOCAL.to_le_bytes().to_vec();
    zip.extend(&entry);
    zip.extend(name.as_bytes());
    zip.extend(bytes);
    let directory = zip.len();
    zip.extend(CENTRAL.to_le_bytes());
    zip.extend((VERSION | UNIX).to_le_bytes());
    zip.extend(&entry);
    // No comment, the first disk, no attributes of DOS.
    zip.extend([0; 6]);
    zip.extend((u32::from(0o100_000 | mode) << 16).to_le_bytes());
    zip.extend([0; 4]);
    zip.extend(name.as_bytes());
    let length = zip.len() - directory;
    zip.extend(END.to_le_bytes());
    [0_u16, 0, 1, 1].iter().for_each(|part| zip.extend(part.to_le_bytes()));
    for part in [length, directory] {
        zip.extend(u32::try_from(part).unwrap_or(u32::MAX).to_le_bytes());
    }
    zip.extend([0; 2]);
    zip
}

/// The first file of a zip: its name, and its bytes, with what follows them, if they are not compressed.
pub(crate) fn first(zip: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let part = |at: usize| Some(u16::from_le_bytes(zip.get(at..at + 2)?.try_into().ok()?));
    if !zip.starts_with(&LOCAL.to_le_bytes()) {
        return None;
    }
    let (method, name) = (part(8)?, zip.get(30..30 + usize::from(part(26)?))?);
    let bytes = zip.get(30 + name.len() + usize::from(part(28)?)..)?;
    Some((name, (method == 0).then_some(bytes)))
}

/// The SHA-256 of a text or a file, in hexadecimal.
pub(crate) fn digest(bytes: impl AsRef<[u8]>) -> String {
    Hex(&Sha256::digest(bytes)).to_string()
}

/// The zip of the manifest's layer.
pub(crate) fn layer(text: &str) -> Vec<u8> {
    of_file(MANIFEST_FILE, text.as_bytes(), 0o644)
}

/// The name of a file with its digest.
pub(crate) fn key(name: &str, end: &str, bytes: &[u8]) -> String {
    format!("{name}-{}.{end}", &digest(bytes)[..NAME_DIGITS])
}
