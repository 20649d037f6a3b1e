//! Public keys as `authorized_keys` has them, and the part of such a file that this hook writes. Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The types of keys that sshd knows and that are not broken.
const TYPES: [&str; 7] = [
    "ssh-ed25519",
    "sk-ssh-ed25519@openssh.com",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
];

/// The lines around what the hook writes.
const BEGIN: &str = "# BEGIN boathook authorized-key: changes between these lines are lost";
const END: &str = "# END boathook authorized-key";

/// What is wrong with a line for a key. Options before the key are refused: they can run commands.
pub fn problem(line: &str) -> Option<&'static str> {
    if line.chars().any(char::is_control) {
        return Some("has a control character, such as a line break: write one key in each item");
    }
    let mut words = line.split(' ');
    let (kind, data) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !TYPES.contains(&kind) {
        return Some(
            "does not begin with the type of a key, such as ssh-ed25519: write TYPE DATA COMMENT, without options",
        );
    }
    let Ok(bytes) = STANDARD.decode(data) else { return Some("has no key in base64 after its type") };
    // The key itself begins with its type, and the length of that.
    let named = bytes.split_first_chunk().and_then(|(length, rest)| {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        rest.get(..length).zip(rest.get(length..))
    });
    match named {
        Some((name, rest)) if name == kind.as_bytes() && !rest.is_empty() => None,
        _ => Some("has a key of another type than it says, or a part of one"),
    }
}

/// The file with these keys as the hook's part, or without it. All other lines stay as they are. `None`: the file has the
/// beginning of the part and not its end, or several of them.
pub fn with_keys(file: &str, keys: &[String]) -> Option<String> {
    let mut others = String::new();
    let mut inside = false;
    let mut seen = false;
    for line in file.split_inclusive('\n') {
        match (line.trim_end(), inside) {
            (BEGIN, true) => return None,
            (BEGIN, false) if seen => return None,
            (BEGIN, false) => (inside, seen) = (true, true),
            (END, true) => inside = false,
            (END, false) => return None,
            (_, true) => {}
            (_, false) => others.push_str(line),
        }
    }
    if inside {
        return None;
    }
    if keys.is_empty() {
        return Some(others);
    }
    if !others.is_empty() && !others.ends_with('\n') {
        others.push('\n');
    }
    Some(format!("{others}{BEGIN}\n{}\n{END}\n", keys.join("\n")))
}

/// Whether the hook has a part in the file.
pub fn has_part(file: &str) -> bool {
    file.lines().any(|line| line.trim_end() == BEGIN)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const KEY: &str =
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHLuK0Crx3SYIFIjnx7HCs5uKDT0ZKgbmxSdmcMw2Eub alice@example.com";

    #[test]
    fn a_key_is_what_it_says() {
        assert_eq!(problem(KEY), None);
        assert_eq!(problem(KEY.strip_suffix(" alice@example.com").unwrap()), None);
        for (line, part) in [
            (String::new(), "does not begin with the type"),
            (format!("command=\"id\" {KEY}"), "without options"),
            (KEY.replace("ssh-ed25519", "ssh-rsa"), "another type"),
            (KEY.replace("ssh-ed25519", "ssh-dss"), "does not begin with the type"),
            ("ssh-ed25519 AAAA".to_owned(), "a part of one"),
            ("ssh-ed25519 no!".to_owned(), "no key in base64"),
            ("ssh-ed25519".to_owned(), "a part of one"),
            (format!("{KEY}\nssh-rsa evil"), "a control character"),
        ] {
            assert!(problem(&line).is_some_and(|problem| problem.contains(part)), "{line}: {:?}", problem(&line));
        }
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        let keys = [KEY.to_owned()];
        let part = format!("{BEGIN}\n{KEY}\n{END}\n");
        for (file, with) in [
            ("", part.clone()),
            ("theirs\n", format!("theirs\n{part}")),
            ("theirs", format!("theirs\n{part}")),
            ("# a\n\ntheirs\n", format!("# a\n\ntheirs\n{part}")),
        ] {
            let written = with_keys(file, &keys).unwrap();
            assert_eq!(written, with);
            assert_eq!(with_keys(&written, &keys), Some(with), "it is the same again");
            let without = with_keys(&written, &[]).unwrap();
            assert_eq!(without.trim_end(), file.trim_end());
            assert!(has_part(&written) && !has_part(&without));
        }
        let moved = format!("a\n{part}b\n");
        assert_eq!(with_keys(&moved, &[]), Some("a\nb\n".to_owned()));
    }

    #[test]
    fn a_part_without_an_end_is_nobodys() {
        for file in [format!("{BEGIN}\ntheirs\n"), format!("{END}\n"), format!("{BEGIN}\n{BEGIN}\n{END}\n")] {
            assert_eq!(with_keys(&file, &[]), None, "{file}");
        }
        let twice = format!("{BEGIN}\n{END}\n{BEGIN}\n{END}\n");
        assert_eq!(with_keys(&twice, &[]), None);
    }
}
