//! Characters that two texts have in common, in order.

/// Characters of a pattern that are compared at once.
const BLOCK: usize = 64;
/// At least half of them stay free.
const SLOTS: usize = 2 * BLOCK;

/// Room for the places of a block's characters, as bits by a hash of the character; slots without a bit are free.
#[derive(Debug)]
pub(crate) struct Places {
    characters: [u32; SLOTS],
    bits: [u64; SLOTS],
    /// What the blocks before carry over, by the text's characters.
    carries: Vec<bool>,
}

impl Default for Places {
    fn default() -> Self {
        Self { characters: [0; SLOTS], bits: [0; SLOTS], carries: Vec::new() }
    }
}

impl Places {
    fn fill(&mut self, block: &[u32]) {
        self.bits = [0; SLOTS];
        for (place, &c) in block.iter().enumerate() {
            let slot = self.slot(c);
            self.characters[slot] = c;
            self.bits[slot] |= 1 << place;
        }
    }

    /// The slot of a character, or where it would be.
    #[inline]
    fn slot(&self, c: u32) -> usize {
        let mut slot = (c.wrapping_mul(0x9e37_79b1) >> 25) as usize;
        while self.bits[slot] != 0 && self.characters[slot] != c {
            slot = (slot + 1) % SLOTS;
        }
        slot
    }

    /// Length of the longest common subsequence, bit-parallel after H. Hyyrö, "Bit-parallel LCS-length computation
    /// revisited" (2004).
    fn common(&mut self, pattern: &[u32], text: &[u32]) -> usize {
        if pattern.is_empty() {
            return 0;
        }
        if pattern.len() <= BLOCK {
            self.fill(pattern);
            let rest = text.iter().fold(u64::MAX, |rest, &c| self.step(rest, c, false).0);
            return count(rest, pattern);
        }
        let mut carries = std::mem::take(&mut self.carries);
        carries.clear();
        carries.resize(text.len(), false);
        let mut common = 0;
        for block in pattern.chunks(BLOCK) {
            self.fill(block);
            let mut rest = u64::MAX;
            for (&c, carry) in text.iter().zip(&mut carries) {
                (rest, *carry) = self.step(rest, c, *carry);
            }
            common += count(rest, block);
        }
        self.carries = carries;
        common
    }

    /// A block's places that the subsequence does not have after a character of the text, and whether that carries over.
    #[inline]
    fn step(&self, rest: u64, c: u32, carry: bool) -> (u64, bool) {
        let found = rest & self.bits[self.slot(c)];
        let (sum, over) = rest.overflowing_add(found);
        let (sum, over_by_carry) = sum.overflowing_add(u64::from(carry));
        (sum | (rest - found), over | over_by_carry)
    }
}

/// How many characters of a block the subsequence has.
fn count(rest: u64, block: &[u32]) -> usize {
    (!rest & (u64::MAX >> (BLOCK - block.len()))).count_ones() as usize
}

/// The smallest number of characters to insert and delete that makes one text the other.
///
/// Takes time in proportion to the product of the lengths, divided by 64, without equal beginnings and ends.
pub(crate) fn distance(mut one: &[u32], mut other: &[u32], room: &mut Places) -> usize {
    let alike = one.iter().zip(other).take_while(|(c, d)| c == d).count();
    (one, other) = (&one[alike..], &other[alike..]);
    let alike = one.iter().rev().zip(other.iter().rev()).take_while(|(c, d)| c == d).count();
    (one, other) = (&one[..one.len() - alike], &other[..other.len() - alike]);
    let (pattern, text) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    pattern.len() + text.len() - 2 * room.common(pattern, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn common_by_table(one: &[u32], other: &[u32]) -> usize {
        let mut above = vec![0; other.len() + 1];
        for c in one {
            let mut row = vec![0];
            for (place, d) in other.iter().enumerate() {
                row.push(if c == d { above[place] + 1 } else { row[place].max(above[place + 1]) });
            }
            above = row;
        }
        above[other.len()]
    }

    fn texts(most: usize) -> impl Strategy<Value = Vec<u32>> {
        let few = prop::sample::select(vec![97u32, 98, 0xe9, 0x3042, 0x2_0bb7, 0x3842, 0xd800]);
        let many = prop::sample::select((0x3041u32..0x3096).collect::<Vec<_>>());
        prop_oneof![prop::collection::vec(few, 0..most), prop::collection::vec(many, 0..most)]
    }

    proptest! {
        #[test]
        fn distances_are_those_of_a_table(one in prop_oneof![texts(70), texts(300)], other in texts(300)) {
            let expected = one.len() + other.len() - 2 * common_by_table(&one, &other);
            let mut room = Places::default();
            prop_assert_eq!(distance(&one, &other, &mut room), expected);
            prop_assert_eq!(distance(&other, &one, &mut room), expected);
        }
    }

    #[test]
    fn all_slots_that_may_be_taken_are_found() {
        // All begin at the same slot, and so do characters that the pattern does not have.
        let alike: Vec<u32> = (0..u32::MAX).filter(|c| c.wrapping_mul(0x9e37_79b1) >> 25 == 127).take(70).collect();
        let (pattern, others) = alike.split_at(64);
        let text: Vec<u32> = others.iter().chain(pattern).chain(others).copied().collect();
        assert_eq!(Places::default().common(pattern, &text), 64);
    }
}
