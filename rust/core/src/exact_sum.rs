//! Exact sums of float64 values: the same in every order, and however the values are split into parts.

/// Exponent of the unit: every finite float64 is a multiple of 2^-1074.
pub const UNIT: u32 = 1074;
const BITS: u32 = 32;
/// The largest finite value ends below 2^2098 units; the rest is room for 2^63 of them.
const LIMBS: usize = 68;
/// Additions after which carries are passed on: each changes a limb of 64 bits by less than 2^32.
const ROOM: u32 = 1 << 30;
const MANTISSA: u32 = 52;

/// A sum of float64 values without any rounding.
///
/// Limb `i` counts multiples of 2^(32 i) units. Adding takes constant time and touches three limbs.
#[derive(Clone)]
pub struct ExactSum {
    limbs: [i64; LIMBS],
    added: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], added: 0 }
    }
}

impl ExactSum {
    /// Adds a value. Returns false, and adds nothing, where it is not finite.
    pub fn add(&mut self, value: f64) -> bool {
        if !value.is_finite() {
            return false;
        }
        let bits = value.to_bits();
        let exponent = (bits >> MANTISSA) as u32 & 0x7ff;
        let fraction = bits & ((1 << MANTISSA) - 1);
        // Subnormal numbers have the exponent of the smallest others, and no hidden bit.
        let (shift, mantissa) = if exponent == 0 { (0, fraction) } else { (exponent - 1, fraction | 1 << MANTISSA) };
        let wide = u128::from(mantissa) << (shift % BITS);
        let sign = if value.is_sign_negative() { -1 } else { 1 };
        let first = (shift / BITS) as usize;
        for (limb, at) in self.limbs[first..first + 3].iter_mut().zip([0, BITS, 2 * BITS]) {
            *limb += sign * i64::from((wide >> at) as u32);
        }
        self.added += 1;
        if self.added == ROOM {
            self.pass_on();
        }
        true
    }

    /// Adds the square of a value: exactly, unless it has digits below the unit.
    ///
    /// Returns false, and adds nothing, where it is not finite.
    pub fn add_square(&mut self, value: f64) -> bool {
        let square = value * value;
        self.add(square) && self.add(value.mul_add(value, -square))
    }

    /// Passes carries on, so that all limbs but the last are from 0 to 2^32 - 1.
    fn pass_on(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs[..LIMBS - 1] {
            let value = *limb + carry;
            carry = value >> BITS;
            *limb = value & i64::from(u32::MAX);
        }
        self.limbs[LIMBS - 1] += carry;
        self.added = 0;
    }

    /// The sum in units of 2^-1074, as `(words, bytes)`: an integer in two's complement, little-endian, to be shifted left by
    /// `words` times 32 bits. Neither has more than is needed.
    pub fn integer(&mut self) -> (usize, Vec<u8>) {
        self.pass_on();
        let words = self.limbs.iter().position(|&limb| limb != 0).unwrap_or(LIMBS - 1);
        let below = &self.limbs[words..LIMBS - 1];
        let mut bytes: Vec<u8> = below.iter().flat_map(|&limb| (limb as u32).to_le_bytes()).collect();
        bytes.extend(self.limbs[LIMBS - 1].to_le_bytes());
        while let [.., below, top] = bytes[..] {
            if top != if below >> 7 == 1 { 0xff } else { 0 } {
                break;
            }
            bytes.pop();
        }
        (words, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> (usize, Vec<u8>) {
        let mut sum = ExactSum::default();
        for &value in values {
            sum.add(value);
        }
        sum.integer()
    }

    /// The integer as float64, for integers of at most 53 bits.
    fn small((words, bytes): (usize, Vec<u8>)) -> f64 {
        assert!(bytes.len() <= 8, "{bytes:?}");
        let fill = if bytes.last().is_some_and(|top| top >> 7 == 1) { 0xff } else { 0 };
        let mut whole = [fill; 8];
        whole[..bytes.len()].copy_from_slice(&bytes);
        let value = i64::from_le_bytes(whole);
        // In two steps, since no power below 2^-1022 has all of its digits.
        value as f64 * 2f64.powi(32 * words as i32 - UNIT as i32 + 600) * 2f64.powi(-600)
    }

    #[test]
    fn large_and_small_values_lose_nothing() {
        assert_eq!(small(sum(&[1e300, 3.0, -1e300])).to_bits(), 3f64.to_bits());
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX]), (LIMBS - 1, vec![0]));
        assert_eq!(sum(&[5e-324, 5e-324, 5e-324]), (0, vec![3]));
        assert_eq!(sum(&[]), (LIMBS - 1, vec![0]));
    }

    #[test]
    fn negative_sums_are_in_twos_complement() {
        assert_eq!(sum(&[-5e-324]), (0, vec![0xff]));
        assert_eq!(sum(&[-5e-324; 129]), (0, vec![0x7f, 0xff]));
        assert_eq!(small(sum(&[-1.5, -2.25])).to_bits(), (-3.75f64).to_bits());
    }

    #[test]
    fn carries_are_passed_on_in_time() {
        let mut whole = ExactSum { added: ROOM - 2, ..ExactSum::default() };
        for _ in 0..4 {
            whole.add(-0.3);
        }
        assert!(whole.added < ROOM);
        assert_eq!(whole.integer(), sum(&[-0.3; 4]));
    }

    #[test]
    fn squares_are_exact_or_refused() {
        let mut squares = ExactSum::default();
        assert!(squares.add_square(1.0 + f64::EPSILON));
        assert!(squares.add_square(-3.0));
        assert!(!squares.add_square(1e200) && !squares.add(f64::INFINITY) && !squares.add(f64::NAN));
        // 1 + 2ε + ε² + 9
        assert_eq!(squares.integer(), sum(&[10.0, 2.0 * f64::EPSILON, f64::EPSILON * f64::EPSILON]));
    }

    proptest! {
        #[test]
        fn equals_integers(values in prop::collection::vec(-(1i64 << 52)..1 << 52, 0..40)) {
            // Integers times a common power of two, against integers.
            for power in [-300, 0, 300] {
                let scale = 2f64.powi(power);
                let floats: Vec<_> = values.iter().map(|&value| value as f64 * scale).collect();
                let total: i128 = values.iter().map(|&value| i128::from(value)).sum();
                let mut parts = ExactSum::default();
                let high = total >> 40 << 40;
                parts.add(high as f64 * scale);
                parts.add((total - high) as f64 * scale);
                prop_assert_eq!(sum(&floats), parts.integer());
            }
        }

        #[test]
        fn depends_on_no_order(values in prop::collection::vec(any::<f64>(), 0..60), seed in any::<u64>()) {
            let values: Vec<_> = values.into_iter().filter(|value| value.is_finite()).collect();
            let mut other = values.clone();
            other.sort_by_key(|value| value.to_bits().wrapping_mul(seed | 1));
            prop_assert_eq!(sum(&values), sum(&other));
        }

        #[test]
        fn what_is_added_can_be_taken_away(values in prop::collection::vec(any::<f64>(), 0..60)) {
            let values: Vec<_> = values.into_iter().filter(|value| value.is_finite()).collect();
            let both: Vec<_> = values.iter().copied().chain(values.iter().rev().map(|value| -value)).collect();
            prop_assert_eq!(sum(&both), (LIMBS - 1, vec![0]));
        }
    }
}
