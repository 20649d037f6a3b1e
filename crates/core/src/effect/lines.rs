//! Compares two texts line by line, in bounded time: texts that differ in too many lines are shown whole.

use super::style::Sign;

/// Unchanged lines that are shown around a difference.
const CONTEXT: usize = 2;
/// The most pairs of lines that are compared.
const MAX_PAIRS: usize = 250_000;

/// The lines that differ, with some lines around them. `None` stands for lines that are left out.
pub(super) fn diff<'t>(before: &'t str, after: &'t str) -> Vec<Option<(Sign, &'t str)>> {
    let (before, after): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let head = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let middle = |lines: &[&'t str]| lines.get(head..lines.len() - tail).unwrap_or_default().to_vec();
    let mut all: Vec<(Sign, &str)> = before.iter().take(head).map(|line| (Sign::Same, *line)).collect();
    all.extend(aligned(&middle(&before), &middle(&after)));
    all.extend(before.iter().skip(before.len() - tail).map(|line| (Sign::Same, *line)));
    shortened(&all)
}

/// Aligns the lines by their longest common subsequence.
fn aligned<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<(Sign, &'t str)> {
    let mut out = Vec::with_capacity(before.len() + after.len());
    let lengths =
        if before.len().saturating_mul(after.len()) <= MAX_PAIRS { lengths(before, after) } else { Vec::new() };
    let length = |i: usize, j: usize| lengths.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0);
    let (mut i, mut j) = (0, 0);
    loop {
        match (before.get(i), after.get(j)) {
            (None, None) => return out,
            (Some(a), Some(b)) if a == b && !lengths.is_empty() => {
                out.push((Sign::Same, *a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || length(i + 1, j) >= length(i, j + 1) => {
                out.push((Sign::Removed, *a));
                i += 1;
            }
            (_, Some(b)) => {
                out.push((Sign::Added, *b));
                j += 1;
            }
            (Some(_), None) => return out,
        }
    }
}

/// For each pair of remainders of the two texts, how many lines they have in common.
fn lengths(before: &[&str], after: &[&str]) -> Vec<Vec<usize>> {
    let mut rows = vec![vec![0; after.len() + 1]];
    for a in before.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; after.len() + 1];
        let mut right = 0;
        for (j, b) in after.iter().enumerate().rev() {
            let at = |j: usize| below.get(j).copied().unwrap_or(0);
            right = if a == b { at(j + 1) + 1 } else { right.max(at(j)) };
            if let Some(cell) = row.get_mut(j) {
                *cell = right;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

fn shortened<'t>(all: &[(Sign, &'t str)]) -> Vec<Option<(Sign, &'t str)>> {
    let mut near = vec![false; all.len()];
    for (at, _) in all.iter().enumerate().filter(|(_, (sign, _))| *sign != Sign::Same) {
        near.iter_mut().take(at + CONTEXT + 1).skip(at.saturating_sub(CONTEXT)).for_each(|near| *near = true);
    }
    let mut out: Vec<Option<(Sign, &str)>> = Vec::new();
    for (line, near) in all.iter().zip(near) {
        match near {
            true => out.push(Some(*line)),
            false if out.last().is_none_or(Option::is_some) => out.push(None),
            false => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(before: &str, after: &str) -> String {
        let line = |line: &Option<(Sign, &str)>| match line {
            Some((sign, text)) => format!("{}{text}", sign.char()),
            None => "..".to_owned(),
        };
        diff(before, after).iter().map(line).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn only_what_differs_and_its_neighbours_are_shown() {
        assert_eq!(printed("1\n2\n3\n4\n5\n6\n7", "1\n2\n3\nx\n5\n6\n7"), "..| 2| 3|-4|+x| 5| 6|..");
        assert_eq!(printed("a\nb", "a\nb\nc"), " a| b|+c");
        assert_eq!(printed("a\nb\nc\nd", "b\nc\nd\na"), "-a| b| c|..|+a".replace("|..|", "| d|"));
        assert_eq!(printed("", "a"), "+a");
        assert_eq!(printed("a\na", "a"), " a|-a");
    }

    #[test]
    fn long_texts_are_not_aligned() {
        let text = |from: usize| (from..from + 600).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
        let all = diff(&text(0), &text(1)).len();
        assert_eq!(all, 1200, "each line of both");
    }
}
