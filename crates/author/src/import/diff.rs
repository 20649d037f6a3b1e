//! The difference of two short texts, line by line.

/// More lines than this are not compared one by one.
const MOST: usize = 2000;

/// Lines with `-` are only in the old text, those with `+` only in the new one. Empty if the texts are equal.
pub fn diff(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let lines = |mark: char, lines: &[&str]| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
    if old.len().max(new.len()) > MOST {
        return lines('-', &old) + &lines('+', &new);
    }
    // How many lines the rests of both texts have in common, from each pair of places on.
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or_default();
    for (i, left) in old.iter().enumerate().rev() {
        for (j, right) in new.iter().enumerate().rev() {
            let longest = if left == right {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(place) = common.get_mut(i * width + j) {
                *place = longest;
            }
        }
    }
    let (mut out, mut i, mut j) = (String::new(), 0, 0);
    loop {
        match (old.get(i), new.get(j)) {
            (Some(left), Some(right)) if left == right => {
                out.push_str(&lines(' ', &[left]));
                (i, j) = (i + 1, j + 1);
            }
            (Some(left), right) if right.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                out.push_str(&lines('-', &[left]));
                i += 1;
            }
            (_, Some(right)) => {
                out.push_str(&lines('+', &[right]));
                j += 1;
            }
            _ => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_stay_are_shown_once() {
        assert_eq!(diff("a\nb\nc\n", "a\nb\nc\n"), "");
        assert_eq!(diff("a\nb\nc\n", "a\nx\nc\nd\n"), " a\n-b\n+x\n c\n+d\n");
        assert_eq!(diff("", "a\n"), "+a\n");
        assert_eq!(diff("a\nb\n", "b\n"), "-a\n b\n");
    }
}
