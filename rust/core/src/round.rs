//! Decimal rounding with the result of Python's `round(x, digits)`: correctly rounded on the exact binary value,
//! ties to even.

/// Distance from a tie (in units of the last digit) below which the scaled value decides nothing.
const NEAR_TIE: f64 = 1e-4;
/// Below this the scaled value's error (one rounding, at most 2^-21) stays far from [`NEAR_TIE`].
const LARGEST_SCALED: f64 = 4_294_967_296.0;

/// Powers of ten, all of them exact.
const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// `value` rounded to `digits` (0…15) decimals.
///
/// Multiplies, rounds and divides where that is provably the same; only values near a tie or large ones
/// take the exact way through decimal text.
pub fn round_half_even(value: f64, digits: u32) -> f64 {
    let scale = POWERS[digits as usize];
    let scaled = value.abs() * scale;
    // Numbers this small are cut off by an instruction; rounding needs a call where the processor may be any.
    let below = scaled as i64 as f64;
    let fraction = scaled - below;
    if scaled < LARGEST_SCALED && (fraction - 0.5).abs() > NEAR_TIE {
        // The nearest integer is certain, and one division of two exact numbers rounds correctly.
        let nearest = if fraction > 0.5 { below + 1.0 } else { below };
        (nearest / scale).copysign(value)
    } else {
        exact(value, digits)
    }
}

fn exact(value: f64, digits: u32) -> f64 {
    if !value.is_finite() {
        return value;
    }
    format!("{value:.*}", digits as usize).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_even() {
        assert_eq!(round_half_even(1.0 / 128.0, 6).to_bits(), 0.007_812_f64.to_bits());
        assert_eq!(round_half_even(3.0 / 128.0, 6).to_bits(), 0.023_438_f64.to_bits());
        assert_eq!(round_half_even(0.125, 2).to_bits(), 0.12_f64.to_bits());
        assert_eq!(round_half_even(0.375, 2).to_bits(), 0.38_f64.to_bits());
        assert_eq!(round_half_even(2.675, 2).to_bits(), 2.67_f64.to_bits());
        assert_eq!(round_half_even(-0.4, 0).to_bits(), (-0.0_f64).to_bits());
        assert!(round_half_even(f64::NAN, 3).is_nan());
    }

    proptest! {
        #[test]
        fn equals_the_exact_way(value in -2.0f64..2.0, digits in 0u32..7) {
            prop_assert_eq!(round_half_even(value, digits).to_bits(), exact(value, digits).to_bits());
        }

        #[test]
        fn equals_the_exact_way_near_ties(half in 0u64..4_000_000, steps in -3i32..=3, digits in 0u32..7) {
            let tie = (half as f64 + 0.5) / 10f64.powi(digits as i32);
            let value = f64::from_bits(tie.to_bits().wrapping_add_signed(i64::from(steps)));
            prop_assert_eq!(round_half_even(value, digits).to_bits(), exact(value, digits).to_bits());
        }
    }
}
