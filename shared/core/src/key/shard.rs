//! The shard of a value: FNV-1a over its canonical text, finished by MurmurHash3's mixer, modulo the number of shards.
//!
//! Both are public and unkeyed on purpose: every writer, in any language and version, must compute the same shard.

use super::codec::Codec;

/// The shard of a text, out of `shards`.
pub(super) fn shard_of(text: &[u8], shards: u32) -> u32 {
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let shard = mix(hash) % u64::from(shards);
    u32::try_from(shard).unwrap_or(0)
}

/// The low bits of FNV-1a depend mostly on the last byte. After mixing, every bit depends on the whole text.
fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// The number of digits in a shard number.
pub(super) fn digits(shards: u32) -> u32 {
    (shards - 1).checked_ilog10().map_or(1, |log| log + 1)
}

/// Maximum digits of a shard number.
const DIGITS_MAX: usize = 10;

/// A zero-padded shard number, without an allocation: a plan can read many shards.
pub(super) struct Padded {
    digits: [u8; DIGITS_MAX],
    width: usize,
}

impl Padded {
    fn of(mut number: u32, width: u32) -> Padded {
        let width = width as usize;
        let mut digits = [b'0'; DIGITS_MAX];
        for digit in digits.iter_mut().take(width).rev() {
            *digit += u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
        }
        Padded { digits, width }
    }
}

impl AsRef<str> for Padded {
    fn as_ref(&self) -> &str {
        std::str::from_utf8(&self.digits[..self.width]).unwrap_or_default()
    }
}

/// All shards of a codec.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shards {
    count: u32,
    /// Are all numbers padded to the same width?
    padded: bool,
}

impl Shards {
    /// `None` if the codec has no shards.
    pub(super) fn of(codec: &Codec) -> Option<Shards> {
        Some(Shards { count: codec.shards()?, padded: matches!(codec, Codec::Shard(_)) })
    }

    pub(crate) fn count(self) -> usize {
        self.count as usize
    }

    /// Maximum bytes of a shard number.
    pub(super) fn bytes_max(self) -> usize {
        digits(self.count) as usize
    }

    /// The texts of the shards, in numeric order.
    pub(super) fn texts(self) -> impl Iterator<Item = Padded> {
        let width = self.padded.then(|| digits(self.count));
        (0..self.count).map(move |shard| Padded::of(shard, width.unwrap_or_else(|| digits(shard + 1))))
    }

    /// The keys made of this text and each shard, ascending.
    pub(crate) fn keys(self, stem: &str) -> Vec<String> {
        let mut keys: Vec<String> = self.texts().map(|text| [stem, text.as_ref()].concat()).collect();
        keys.sort_unstable();
        keys
    }
}
