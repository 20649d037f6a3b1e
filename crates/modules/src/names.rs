//! Names of modules: kebab-case in directories, camelCase in values.

use std::{fmt, str::FromStr};

/// The section of values that all modules see.
pub const GLOBAL: &str = "global";

/// The longest name. Helm allows a release's name 53 characters.
const MAX_NAME: usize = 53;

/// A text that is not the name of a module.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is not a valid module name: {why}")]
pub struct InvalidName {
    name: String,
    why: &'static str,
}

/// The name of a module: `simple-module`. Its key in values is `simpleModule`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleName {
    name: String,
    key: String,
}

impl ModuleName {
    /// The module of a directory's name, which may have a number: `010-name`.
    ///
    /// # Errors
    /// It is not the name of a module.
    pub fn of_directory(directory: &str) -> Result<Self, InvalidName> {
        numbered(directory).1.parse()
    }

    /// The name, in kebab-case.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// The name's form in values, in camelCase.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The module of a key in values.
    ///
    /// # Errors
    /// The key is not camelCase.
    pub fn of_key(key: &str) -> Result<Self, InvalidName> {
        let wrong = |why| InvalidName { name: key.chars().take(80).collect(), why };
        let camel = key.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !camel {
            return Err(wrong("write the key in camelCase, with letters and digits only"));
        }
        let mut name = String::with_capacity(key.len() + 8);
        for c in key.chars() {
            if c.is_ascii_uppercase() {
                name.push('-');
            }
            name.push(c.to_ascii_lowercase());
        }
        name.parse()
    }
}

impl FromStr for ModuleName {
    type Err = InvalidName;

    fn from_str(name: &str) -> Result<Self, InvalidName> {
        let wrong = |why| Err(InvalidName { name: name.chars().take(80).collect(), why });
        if name.len() > MAX_NAME {
            return wrong("use at most 53 characters");
        }
        let mut key = String::with_capacity(name.len());
        for (index, part) in name.split('-').enumerate() {
            let plain = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            if part.is_empty() || !plain {
                return wrong("use kebab-case: lower-case letters, digits and single '-' between them");
            }
            let mut chars = part.chars();
            match chars.next() {
                // `a-1` would come back from its key `a1` as `a1`.
                Some(first) if index > 0 && !first.is_ascii_lowercase() => {
                    return wrong("begin each part behind a '-' with a letter");
                }
                Some(first) if index > 0 => key.push(first.to_ascii_uppercase()),
                Some(first) => key.push(first),
                None => {}
            }
            key.push_str(chars.as_str());
        }
        if key == GLOBAL {
            return wrong("`global` is the section that all modules see; choose another name");
        }
        if flag(&key).is_some() {
            return wrong("a key that ends in Enabled or Maintenance is a module's flag; choose another name");
        }
        Ok(Self { name: name.to_owned(), key })
    }
}

impl fmt::Display for ModuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// What a key of a module says about it, without the module's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    Enabled,
    Maintenance,
}

/// The flag and the module's own key, if `key` is a flag.
pub fn flag(key: &str) -> Option<(&str, Flag)> {
    let of = |suffix, flag| key.strip_suffix(suffix).filter(|rest| !rest.is_empty()).map(|rest| (rest, flag));
    of("Enabled", Flag::Enabled).or_else(|| of("Maintenance", Flag::Maintenance))
}

/// The number and the name in the name of a module's directory: `010-name`.
pub fn numbered(directory: &str) -> (Option<&str>, &str) {
    let digits = directory.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = directory.split_at(digits);
    match rest.strip_prefix('-').filter(|name| !name.is_empty()) {
        Some(name) if digits > 0 => (Some(number), name),
        _ => (None, directory),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_survive_the_way_to_values_and_back() {
        for (name, key) in [
            ("simple-module", "simpleModule"),
            ("module", "module"),
            ("l2-load-balancer", "l2LoadBalancer"),
            ("a-b-c", "aBC"),
            ("2fa", "2fa"),
        ] {
            let module: ModuleName = name.parse().unwrap();
            assert_eq!(module.key(), key);
            assert_eq!(ModuleName::of_key(key).unwrap(), module);
        }
        let long = "a".repeat(54);
        for name in
            ["", "-a", "a-", "a--b", "A", "a_b", "a-1", "module-2", "global", "x-enabled", "x-maintenance", &long]
        {
            assert!(name.parse::<ModuleName>().is_err(), "{name}");
        }
        for key in ["", "Simple", "simple-module", "a.b", "é"] {
            assert!(ModuleName::of_key(key).is_err(), "{key}");
        }
    }

    #[test]
    fn a_directory_has_a_number_or_not() {
        for (directory, number, name) in [
            ("010-web", Some("010"), "web"),
            ("web", None, "web"),
            ("1-2-web", Some("1"), "2-web"),
            ("001-", None, "001-"),
            ("001", None, "001"),
            ("-web", None, "-web"),
        ] {
            assert_eq!(numbered(directory), (number, name), "{directory}");
        }
    }

    proptest! {
        #[test]
        fn every_name_has_a_key_of_its_own(name in "[a-z0-9]{1,5}(-[a-z0-9]{1,4}){0,3}") {
            if let Ok(module) = name.parse::<ModuleName>() {
                prop_assert_eq!(ModuleName::of_key(module.key()).unwrap(), module);
            }
        }
    }
}
