//! The length of the longest common subsequence.

const NONE: u32 = u32::MAX; // no code point

/// Room for [`Common::length`], for texts of any lengths.
///
/// Bit-parallel (H. Hyyrö, "Bit-parallel LCS-length computation revisited", 2004), like the `rapidfuzz` crate, which
/// takes twice as long: it keeps a table of its own for every 64 characters, and looks characters up in each.
#[derive(Debug, Default)]
pub(crate) struct Common {
    /// Characters of the shorter text, and where their masks begin: open addressing.
    table: Vec<(u32, u32)>,
    shift: u32,
    /// Where each character occurs: as many words as the shorter text takes.
    masks: Vec<u64>,
    row: Vec<u64>,
}

impl Common {
    /// The number of characters in the longest common subsequence.
    pub(crate) fn length(&mut self, one: &[u32], other: &[u32]) -> usize {
        let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let (one, other) = (&one[start..], &other[start..]);
        let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
        let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
        let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
        start + end + if short.is_empty() { 0 } else { self.within(short, long) }
    }

    fn within(&mut self, short: &[u32], long: &[u32]) -> usize {
        let words = short.len().div_ceil(64);
        self.find_places(short, words);
        match words {
            1 => self.unrolled::<1>(long),
            2 => self.unrolled::<2>(long),
            3 => self.unrolled::<3>(long),
            4 => self.unrolled::<4>(long),
            _ => self.blockwise(long, words),
        }
    }

    /// With a row that fits into registers.
    fn unrolled<const WORDS: usize>(&self, long: &[u32]) -> usize {
        let mut row = [u64::MAX; WORDS];
        let (masks, _) = self.masks.as_chunks::<WORDS>();
        for &c in long {
            if let Some(start) = self.masks_of(c) {
                step(&mut row, &masks[start / WORDS]);
            }
        }
        row.iter().map(|word| word.count_zeros() as usize).sum()
    }

    fn blockwise(&mut self, long: &[u32], words: usize) -> usize {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.resize(words, u64::MAX);
        for &c in long {
            if let Some(start) = self.masks_of(c) {
                step(&mut row, &self.masks[start..start + words]);
            }
        }
        self.row = row;
        self.row.iter().map(|word| word.count_zeros() as usize).sum()
    }

    fn find_places(&mut self, short: &[u32], words: usize) {
        let size = (2 * short.len()).next_power_of_two();
        self.shift = 64 - size.trailing_zeros();
        self.table.clear();
        self.table.resize(size, (NONE, 0));
        self.masks.clear();
        for (place, &c) in short.iter().enumerate() {
            let slot = self.slot(c);
            if self.table[slot].0 == NONE {
                self.table[slot] = (c, self.masks.len() as u32);
                self.masks.resize(self.masks.len() + words, 0);
            }
            self.masks[self.table[slot].1 as usize + place / 64] |= 1 << (place % 64);
        }
    }

    #[inline]
    fn masks_of(&self, c: u32) -> Option<usize> {
        let (found, start) = self.table[self.slot(c)];
        (found == c).then_some(start as usize)
    }

    /// Where a character is, or would be.
    #[inline]
    fn slot(&self, c: u32) -> usize {
        let mut slot = (u64::from(c).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while self.table[slot].0 != c && self.table[slot].0 != NONE {
            slot = (slot + 1) & (self.table.len() - 1);
        }
        slot
    }
}

#[inline(always)]
fn step(row: &mut [u64], masks: &[u64]) {
    let mut carry = false;
    for (word, mask) in row.iter_mut().zip(masks) {
        let found = *word & mask;
        let (sum, over) = word.overflowing_add(found);
        let (sum, over_again) = sum.overflowing_add(u64::from(carry));
        carry = over | over_again;
        *word = sum | (*word - found);
    }
}
