//! Warnings in the form that the API server accepts: it truncates warnings that are too long, and drops those that a
//! header cannot contain.

/// The maximum length of all warnings of one request in characters. If there are more, each is truncated.
const TOTAL: usize = 4096;
/// The length in characters that each warning is then truncated to.
const EACH: usize = 256;

/// The warnings that can be shown: each on one line, and all together within the API server's limit.
pub(super) fn showable(warnings: &[String]) -> Vec<String> {
    let clean: Vec<_> = warnings.iter().map(|text| one_line(text)).filter(|text| !text.is_empty()).collect();
    if clean.iter().map(|text| text.chars().count()).sum::<usize>() <= TOTAL {
        return clean;
    }
    let mut left = TOTAL;
    let cut = clean.iter().map(|text| text.chars().take(EACH).collect::<String>());
    cut.take_while(|text| {
        let length = text.chars().count();
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    })
    .collect()
}

fn one_line(text: &str) -> String {
    let text: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn short_ones_stay_and_become_one_line() {
        let warnings = ["a\nb", "", " \r\n", "ü\u{1b}[1m"].map(str::to_owned);
        assert_eq!(showable(&warnings), ["a b", "ü [1m"]);
        let long = vec!["x".repeat(4096)];
        assert_eq!(showable(&long), long);
    }

    #[test]
    fn too_much_is_cut_and_bounded() {
        assert_eq!(showable(&["ü".repeat(4097)]), ["ü".repeat(256)]);
        let many = showable(&vec!["y".repeat(300); 100]);
        assert_eq!((many.len(), many[0].len()), (16, 256));
    }
}
