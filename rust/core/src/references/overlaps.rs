//! How many n-grams texts share.
//!
//! The squared counts of a choice of texts are the sum of the overlaps of all its pairs, so that what a text would add
//! to a choice follows from its overlaps with the chosen ones. A row of them, one text with all others, is computed in
//! two ways: classes of few texts are lists; those of many are sets of bits, one bit a text, which are added for all
//! texts side by side as an adder does: *planes* hold the binary digits of the sums, and of three bits of a digit one
//! stays and one is carried to the next (the carry-save counters of Harley and Seal; Warren, "Hacker's Delight", 2013).

use super::classes::Classes;

/// Words of a block, which are added together: the compiler makes vectors of them.
const WORDS: usize = 8;
/// Texts of a block.
const TEXTS: usize = WORDS * u64::BITS as usize;
/// Classes of more than one text in this many are kept as bits: they take no more room than as lists.
const FEW: usize = 32;
/// Binary digits of an overlap.
const DIGITS: usize = u16::BITS as usize;

/// One bit for each text of a block.
type Block = [u64; WORDS];

/// Overlaps of the texts of a pool.
///
/// A row takes `O(K c / 64 + s)` time for `K` texts, `c` common classes of the text and `s` texts in its others.
/// Memory: at most 4 bytes for each class of each text.
#[derive(Debug)]
pub(crate) struct Overlaps {
    blocks: usize,
    /// Number of common classes; they are the first ones.
    common: usize,
    /// For each block of texts the bits of each common class.
    bits: Vec<Block>,
    /// Texts of the other classes: first of each, and all.
    starts: Vec<usize>,
    texts: Vec<u32>,
    weights: Vec<u16>,
}

/// Buffers for computing rows.
#[derive(Debug, Default, Clone)]
pub(crate) struct Adder {
    /// Common classes of the text by the binary digits of their weights.
    of_digit: [Vec<u32>; DIGITS],
    /// What is carried to the current digit, and to the next.
    carried: Vec<Block>,
    carry: Vec<Block>,
}

impl Overlaps {
    /// Texts must have fewer than 2^16 n-grams each.
    pub(crate) fn new(classes: &Classes) -> Self {
        let texts = classes.texts();
        let common = (0..classes.len()).take_while(|&class| classes.size(class) * FEW > texts).count();
        let mut bits = vec![[0; WORDS]; common * texts.div_ceil(TEXTS)];
        let mut starts = vec![0];
        for class in common..classes.len() {
            starts.push(starts[class - common] + classes.size(class));
        }
        let (mut next, mut lists) = (starts.clone(), vec![0; starts[starts.len() - 1]]);
        for text in 0..texts {
            for class in classes.of(text).iter().map(|&class| class as usize) {
                if class < common {
                    bits[text / TEXTS * common + class][text % TEXTS / 64] |= 1 << (text % 64);
                } else {
                    lists[next[class - common]] = text as u32;
                    next[class - common] += 1;
                }
            }
        }
        let weights = classes.weights.iter().map(|&weight| weight as u16).collect();
        Self { blocks: texts.div_ceil(TEXTS), common, bits, starts, texts: lists, weights }
    }

    /// Overlaps with every text of a text that has these classes, ascending. What it shares with itself lacks the
    /// n-grams that no other text has.
    pub(crate) fn row(&self, classes: &[u32], adder: &mut Adder) -> Vec<u16> {
        let mut row = vec![0; self.blocks * TEXTS];
        let (common, others) = classes.split_at(classes.partition_point(|&class| (class as usize) < self.common));
        adder.sort(common, &self.weights);
        let (blocks_of_row, _) = row.as_chunks_mut::<TEXTS>();
        for (into, bits) in blocks_of_row.iter_mut().zip(self.bits.chunks_exact(self.common.max(1))) {
            adder.add(bits, into);
        }
        for class in others.iter().map(|&class| class as usize) {
            let list = class - self.common;
            for &text in &self.texts[self.starts[list]..self.starts[list + 1]] {
                row[text as usize] += self.weights[class];
            }
        }
        row
    }
}

impl Adder {
    fn sort(&mut self, classes: &[u32], weights: &[u16]) {
        for (digit, of_digit) in self.of_digit.iter_mut().enumerate() {
            of_digit.clear();
            of_digit.extend(classes.iter().filter(|&&class| weights[class as usize] >> digit & 1 == 1));
        }
    }

    /// Adds the classes' weights for the texts of a block.
    fn add(&mut self, bits: &[Block], sums: &mut [u16; TEXTS]) {
        self.carried.clear();
        for (digit, classes) in self.of_digit.iter().enumerate() {
            self.carry.clear();
            let mut plane = [0; WORDS];
            let (pairs, last) = classes.as_chunks::<2>();
            for [a, b] in pairs {
                self.carry.push(add_two(&mut plane, &bits[*a as usize], &bits[*b as usize]));
            }
            let odd = last.first().map(|&class| &bits[class as usize]);
            let (pairs, last) = self.carried.as_chunks::<2>();
            for [a, b] in pairs {
                self.carry.push(add_two(&mut plane, a, b));
            }
            for block in odd.into_iter().chain(last) {
                self.carry.push(add_two(&mut plane, block, &[0; WORDS]));
            }
            spread(&plane, digit, sums);
            std::mem::swap(&mut self.carried, &mut self.carry);
        }
    }
}

/// Adds two bits to each bit of `plane`; what is carried.
fn add_two(plane: &mut Block, a: &Block, b: &Block) -> Block {
    let mut carry = [0; WORDS];
    for ((carry, plane), (a, b)) in carry.iter_mut().zip(plane).zip(a.iter().zip(b)) {
        let either = *plane ^ a;
        *carry = (*plane & a) | (either & b);
        *plane = either ^ b;
    }
    carry
}

/// Adds digit `digit` of the sums of a block.
fn spread(plane: &Block, digit: usize, sums: &mut [u16; TEXTS]) {
    if *plane == [0; WORDS] {
        return;
    }
    let (lanes, _) = sums.as_chunks_mut::<16>();
    for (at, lanes) in lanes.iter_mut().enumerate() {
        let bits = (plane[at / 4] >> (at % 4 * 16)) as u16;
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum |= if bits & (1 << lane) == 0 { 0 } else { 1 << digit };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::random::Random;

    /// Texts of two kinds, so that there are classes of many texts and of few; more than one block of them.
    fn texts(count: usize) -> Vec<String> {
        let mut random = Random::new(1, 2);
        let words = ["りんご", "みかんとりんご", "ぶどう", "なし", "もも", "かき", "いちご", "すいか"];
        let mut text = |_| {
            let picked = (0..6).map(|_| words[random.below(8)]).collect::<String>();
            format!("{picked}{}", char::from_u32(0x4e00 + random.below(200) as u32).unwrap_or('一'))
        };
        (0..count).map(&mut text).collect()
    }

    #[test]
    fn rows_count_common_ngrams() {
        for count in [1, 3, 40, TEXTS, 2 * TEXTS + 5] {
            let texts = texts(count);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let classes = Classes::find(&texts, &(1..=10)).unwrap();
            let (overlaps, mut adder) = (Overlaps::new(&classes), Adder::default());
            for text in (0..count).step_by(count.div_ceil(7)) {
                let row = overlaps.row(classes.of(text), &mut adder);
                let of_text = classes.of(text);
                let common = |other: usize| -> u32 {
                    let shared = classes.of(other).iter().filter(|class| of_text.binary_search(class).is_ok());
                    shared.map(|&class| classes.weights[class as usize]).sum()
                };
                let expected: Vec<u32> = (0..count).map(common).collect();
                let found: Vec<u32> = row.iter().copied().map(u32::from).collect();
                assert_eq!(found[..count], expected);
            }
        }
    }
}
