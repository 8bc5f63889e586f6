//! How much of what ends at each character of a response also ended earlier in it.

/// For each end in `symbols` the length, up to `max_n`, of the longest n-gram ending there that also ends earlier.
///
/// "Seen before" is closed under suffixes, so this one number replaces a set of n-grams. Quadratic in the length, which
/// the settings bound: how far the texts before `end` and before `earlier` agree is one more than one character before,
/// where the characters agree. A row is one loop without dependencies over 16-bit numbers, which the compiler turns into
/// vector instructions; narrow symbols double their number in one.
#[inline(always)]
pub(super) fn seen_before<S: Copy + PartialEq>(symbols: &[S], max_n: usize, buffers: &mut Seen) {
    let Seen { lengths, row, previous } = buffers;
    for buffer in [&mut *lengths, &mut *row, &mut *previous] {
        buffer.clear();
        buffer.resize(symbols.len() + 1, 0);
    }
    for (end, &symbol) in symbols.iter().enumerate() {
        let mut longest = 0i16;
        for ((common, &before), &earlier) in row[1..].iter_mut().zip(&*previous).zip(&symbols[..end]) {
            *common = if earlier == symbol { before.saturating_add(1) } else { 0 };
            longest = longest.max(*common);
        }
        lengths[end] = longest.min(max_n as i16);
        std::mem::swap(row, previous);
    }
}

/// Buffers of [`seen_before`]; `lengths` holds its result.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) lengths: Vec<i16>,
    row: Vec<i16>,
    previous: Vec<i16>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(symbols: &[i32], max_n: usize) -> Vec<i16> {
        let longest = |end: usize| {
            (1..=max_n.min(end))
                .rfind(|&n| (n..end).any(|earlier| symbols[earlier - n..earlier] == symbols[end - n..end]))
        };
        (1..=symbols.len()).map(|end| longest(end).unwrap_or(0) as i16).collect()
    }

    proptest! {
        #[test]
        fn seen_before_equals_the_obvious_way(symbols in prop::collection::vec(0i32..3, 0..40), max_n in 1usize..12) {
            let mut seen = Seen::default();
            // What an earlier response left in the buffers must not matter.
            seen_before(&[1i16; 30], max_n, &mut seen);
            seen_before(&symbols, max_n, &mut seen);
            prop_assert_eq!(&seen.lengths[..symbols.len()], naive(&symbols, max_n));
        }
    }
}
