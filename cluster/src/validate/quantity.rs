//! Quantities: their syntax, their size, and their canonical form. A quantity that is too large for computations keeps
//! its text.

/// The decoder's error for invalid quantities.
pub(crate) const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// A number in thousandths, which is the finest unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity(i128);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Exponent(char),
    Binary,
}

const DECIMAL: &[(&str, i32)] =
    &[("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: &[(&str, u32)] = &[("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    /// None if it is not a quantity, or too large.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        read(text)?.map(|(quantity, _)| quantity)
    }

    pub(crate) fn is_negative(self) -> bool {
        self.0 < 0
    }
}

/// The form in which the server writes a quantity. None if the text is not a quantity.
pub(crate) fn canonical(text: &str) -> Option<String> {
    let kept = || Some(text.to_owned());
    let Some((Quantity(thousandths), form)) = read(text)? else { return kept() };
    // The real server also keeps such spellings.
    if text.starts_with('+') || text.contains(".") && text.split_once('.').is_some_and(|(_, rest)| rest.is_empty()) {
        return kept();
    }
    Some(match form {
        Form::Binary if thousandths.abs() >= 1_024_000 && thousandths % 1000 == 0 => binary(thousandths / 1000),
        Form::Exponent(sign) => exponent(thousandths, sign),
        Form::Binary | Form::Decimal => decimal(thousandths),
    })
}

/// The outer None means: not a quantity. The inner None means: too large.
fn read(text: &str) -> Option<Option<(Quantity, Form)>> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let (power, shift, form) = suffix_of(suffix)?;
    let Ok(digits) = format!("{whole}{fraction}").parse::<i128>() else { return Some(None) };
    // The value is in thousandths, so it has three more places.
    let places = power + 3 - i32::try_from(fraction.len()).ok()?;
    let scaled = digits.checked_mul(1i128 << shift).and_then(|value| scale(value, places));
    Some(scaled.map(|value| (Quantity(if negative { -value } else { value }), form)))
}

/// Multiplies by a power of ten, rounded up.
fn scale(value: i128, places: i32) -> Option<i128> {
    let factor = 10i128.checked_pow(places.unsigned_abs())?;
    if places >= 0 { value.checked_mul(factor) } else { Some(value / factor + i128::from(value % factor != 0)) }
}

/// Power of ten, power of two, and form.
fn suffix_of(suffix: &str) -> Option<(i32, u32, Form)> {
    if let Some((_, power)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some((*power, 0, Form::Decimal));
    }
    if let Some((_, shift)) = BINARY.iter().find(|(name, _)| *name == suffix) {
        return Some((0, *shift, Form::Binary));
    }
    let sign = suffix.chars().next().filter(|c| matches!(c, 'e' | 'E'))?;
    let power: i32 = suffix.get(1..)?.parse().ok()?;
    (-30..=30).contains(&power).then_some((power, 0, Form::Exponent(sign)))
}

fn binary(value: i128) -> String {
    let fits = BINARY.iter().rev().find(|(_, shift)| value % (1i128 << shift) == 0);
    match fits {
        Some((name, shift)) => format!("{}{name}", value >> shift),
        None => value.to_string(),
    }
}

fn decimal(thousandths: i128) -> String {
    let (mantissa, power) = reduced(thousandths);
    let name = DECIMAL.iter().find(|(_, p)| *p == power).map_or("", |(name, _)| name);
    format!("{mantissa}{name}")
}

fn exponent(thousandths: i128, sign: char) -> String {
    match reduced(thousandths) {
        (mantissa, 0) => mantissa.to_string(),
        (mantissa, power) => format!("{mantissa}{sign}{power}"),
    }
}

/// The shortest whole number and its power of ten, in steps of three.
fn reduced(thousandths: i128) -> (i128, i32) {
    let (mut mantissa, mut power) = (thousandths, -3);
    if mantissa == 0 {
        return (0, 0);
    }
    while mantissa % 1000 == 0 && power < 18 {
        mantissa /= 1000;
        power += 3;
    }
    (mantissa, power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_a_kube_apiserver_writes_them() {
        let cases = [
            ("0.5Gi", "512Mi"),
            ("1500m", "1500m"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("2048Ki", "2Mi"),
            ("0.1", "100m"),
            ("100n", "1m"),
            ("1E3", "1E3"),
            ("1.5e3", "1500"),
            ("1023Ki", "1023Ki"),
            ("0", "0"),
            ("-1", "-1"),
            (".5", "500m"),
            ("1.", "1."),
            ("+1", "+1"),
            ("5Ei", "5Ei"),
            ("1.5Ki", "1536"),
            ("2.5Gi", "2560Mi"),
            ("3000000000", "3G"),
            ("12345678901234567890", "12345678901234567890"),
        ];
        for (written, shown) in cases {
            assert_eq!(canonical(written).as_deref(), Some(shown), "{written}");
        }
        for bad in ["", "1_", "x", "1.2.3", "1KI", "-", "1e", "1ee3", "."] {
            assert_eq!(canonical(bad), None, "{bad}");
        }
        assert!(Quantity::parse("2") > Quantity::parse("1500m"));
        let long = "9".repeat(60);
        assert_eq!(canonical(&long), Some(long));
    }
}
