//! Floating-point numbers as decimal text, digit for digit as Python writes them.

use std::fmt::Write;

/// Published numbers are rounded to so many decimals.
const DECIMALS: usize = 5;
const SCALE: f64 = 1e5;
/// Numbers below this have at most 15 digits when they are multiplied by [`SCALE`].
const FEW_DIGITS: f64 = 1e15;
/// The smallest number that is written without an exponent, multiplied by [`SCALE`].
const NO_EXPONENT: f64 = 10.0;

/// Appends `repr(value)` of a finite number: the shortest decimal that is read as the same number.
pub fn push_repr(into: &mut String, value: f64) {
    let scaled = (value * SCALE).round();
    // At most one decimal of up to 15 digits is read as a certain number, so this one is the shortest.
    if (NO_EXPONENT..FEW_DIGITS).contains(&scaled.abs()) && scaled / SCALE == value {
        push_scaled(into, scaled as i64);
    } else {
        push_shortest(into, value);
    }
}

/// Appends `value` with a fixed number of decimals: correctly rounded on the exact binary value, ties to even.
pub fn push_fixed(into: &mut String, value: f64, decimals: usize) {
    let _ = write!(into, "{value:.decimals$}");
}

/// Appends a number that is given as a multiple of 10^-[`DECIMALS`].
fn push_scaled(into: &mut String, scaled: i64) {
    let (whole, mut rest) = (scaled.unsigned_abs() / SCALE as u64, scaled.unsigned_abs() % SCALE as u64);
    let mut width = DECIMALS;
    while width > 1 && rest.is_multiple_of(10) {
        rest /= 10;
        width -= 1;
    }
    let _ = write!(into, "{}{whole}.{rest:0width$}", if scaled < 0 { "-" } else { "" });
}

fn push_shortest(into: &mut String, value: f64) {
    let text = shortest(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits = mantissa.trim_start_matches('-').replace('.', "");
    if mantissa.starts_with('-') {
        into.push('-');
    }
    if !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let mantissa = mantissa.trim_start_matches('-');
        let _ = write!(into, "{mantissa}e{sign}{:02}", exponent.unsigned_abs());
    } else if exponent < 0 {
        let _ = write!(into, "0.{}{digits}", "0".repeat((-1 - exponent) as usize));
    } else {
        let whole = exponent as usize + 1;
        let _ = match digits.get(whole..).filter(|rest| !rest.is_empty()) {
            Some(rest) => write!(into, "{}.{rest}", &digits[..whole]),
            None => write!(into, "{digits}{}.0", "0".repeat(whole - digits.len())),
        };
    }
}

/// The shortest decimal, with an exponent. Where two are equally near, Python takes the one that ends in an even digit.
fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    let digits = text.bytes().take_while(|&byte| byte != b'e').filter(u8::is_ascii_digit).count();
    let even = format!("{value:.*e}", digits - 1);
    if even.parse() == Ok(value) { even } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn repr(value: f64) -> String {
        let mut text = String::new();
        push_repr(&mut text, value);
        text
    }

    #[test]
    fn numbers_are_written_as_in_python() {
        let written = [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-0.5, "-0.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.0001, "0.0001"),
            (0.00012, "0.00012"),
            (0.000_123, "0.000123"),
            (0.00001, "1e-05"),
            (-1.5e-7, "-1.5e-07"),
            (123_456.789_01, "123456.78901"),
            (9_999_999_999.999_99, "9999999999.99999"),
            (1e15, "1000000000000000.0"),
            (9_999_999_999_999_998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (11_358_073_829_780_946.0 / 8.0, "1419759228722618.2"),
            (2_f64.powi(-25), "2.9802322387695312e-08"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
        ];
        for (value, text) in written {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn decimals_are_rounded_as_in_python() {
        for (value, decimals, text) in
            [(0.125, 2, "0.12"), (2.675, 2, "2.67"), (-0.0001, 3, "-0.000"), (2.0, 4, "2.0000")]
        {
            let mut found = String::new();
            push_fixed(&mut found, value, decimals);
            assert_eq!(found, text);
        }
    }

    proptest! {
        #[test]
        fn both_ways_agree(scaled in -1_000_000_000i64..1_000_000_000, steps in -1i32..=1) {
            let value = scaled as f64 / SCALE;
            let value = f64::from_bits(value.to_bits().saturating_add_signed(i64::from(steps)));
            let mut text = String::new();
            push_shortest(&mut text, value);
            prop_assert_eq!(repr(value), text);
        }

        #[test]
        fn what_is_written_is_read_as_the_same_number(value in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            prop_assert_eq!(repr(value).parse::<f64>().map(f64::to_bits), Ok(value.to_bits()));
        }
    }
}
