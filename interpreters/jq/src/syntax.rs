//! Bounds on the shape of a jq program, checked before jaq's recursive parser sees it.
//!
//! The check does not decide whether a program is valid jq, only whether parsing it can overflow the stack.

use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};

/// The largest program, in bytes.
pub const MAX_PROGRAM: usize = 64 * 1024;
/// The deepest nesting of brackets and of interpolated strings.
pub const MAX_NESTING: usize = 100;
/// The longest chain of operators and keywords. Each of them is parsed to one level.
pub const MAX_CHAIN: usize = 1_000;

/// Why a program is not passed to the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// More than [`MAX_PROGRAM`] bytes.
    Size,
    /// More than [`MAX_NESTING`] levels, exceeded at this byte.
    Nesting(usize),
    /// More than [`MAX_CHAIN`] operators.
    Chain,
}

/// Checks size and nesting, then the chains of operators.
pub fn check(program: &str) -> Result<(), Refusal> {
    if program.len() > MAX_PROGRAM {
        return Err(Refusal::Size);
    }
    check_nesting(program.as_bytes())?;
    match Lexer::new(program).lex() {
        Ok(tokens) if chain(&tokens, false) > MAX_CHAIN => Err(Refusal::Chain),
        // The loader reports errors of the lexer, with their place.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Follows the lexer's rules for strings and comments, so that no bracket is hidden in them.
fn check_nesting(program: &[u8]) -> Result<(), Refusal> {
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = program.get(at) {
        let in_string = open.last() == Some(&b'"');
        match byte {
            b'\\' if in_string => {
                at += 1;
                if program.get(at) == Some(&b'(') {
                    open.push(b'(');
                }
            }
            b'"' if in_string => {
                open.pop();
            }
            _ if in_string => {}
            b'#' => at += comment(program.get(at..).unwrap_or_default()),
            b'(' | b'[' | b'{' | b'"' => open.push(byte),
            b')' | b']' | b'}' => {
                open.pop();
            }
            _ => {}
        }
        if open.len() > MAX_NESTING {
            return Err(Refusal::Nesting(at));
        }
        at += 1;
    }
    Ok(())
}

/// How many bytes after the `#` belong to the comment. An odd number of backslashes before the end of the line
/// continues the comment on the next line.
fn comment(text: &[u8]) -> usize {
    let mut end = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        end += line.len();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.iter().rev().take_while(|b| **b == b'\\').count() % 2 == 0 {
            break;
        }
    }
    end.saturating_sub(1)
}

/// The maximum depth of the parse tree of these tokens.
fn chain(tokens: &[Token<&str>], entries: bool) -> usize {
    let mut own = 0;
    let mut below = 0;
    for Token(text, kind) in tokens {
        match kind {
            Tok::Block(inner) => below = below.max(chain(inner, text.starts_with('{'))),
            Tok::Str(parts) => {
                for part in parts {
                    if let StrPart::Term(Token(_, Tok::Block(inner))) = part {
                        below = below.max(chain(inner, false));
                    }
                }
            }
            Tok::Sym | Tok::Word if deepens(text, entries) => own += 1,
            _ => {}
        }
    }
    own + below + 1
}

fn deepens(token: &str, entries: bool) -> bool {
    match token {
        "," => !entries,
        ":" | ";" | "?" => false,
        "as" | "and" | "or" | "def" | "if" | "elif" | "try" | "catch" | "label" | "reduce" | "foreach" => true,
        _ => !token.starts_with(|c: char| c == '.' || c.is_ascii_alphanumeric() || c == '_'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_bounded_before_parsing() {
        assert_eq!(check(&".".repeat(MAX_PROGRAM + 1)), Err(Refusal::Size));
        assert_eq!(check(&"[".repeat(101)), Err(Refusal::Nesting(100)));
        assert_eq!(check(&"\"\\(".repeat(60)), Err(Refusal::Nesting(150)));
        assert_eq!(check(&"1+".repeat(1_001)), Err(Refusal::Chain));
        assert_eq!(check(&"try ".repeat(1_001)), Err(Refusal::Chain));
        assert_eq!(check(&". as $x | ".repeat(501)), Err(Refusal::Chain));
        assert_eq!(check(&format!("{}.", "- ".repeat(1_001))), Err(Refusal::Chain));
    }

    #[test]
    fn brackets_can_not_be_hidden() {
        assert!(matches!(check(&"(\")\"".repeat(101)), Err(Refusal::Nesting(_))));
        assert!(matches!(check(&"[#]\n".repeat(101)), Err(Refusal::Nesting(_))));
        assert!(matches!(check(&"[#\\\\\n".repeat(101)), Err(Refusal::Nesting(_))));
        assert!(matches!(check(&"[\"\\\"]\"".repeat(101)), Err(Refusal::Nesting(_))));
    }

    #[test]
    fn ordinary_programs_pass() {
        for program in [
            ".metadata.labels",
            "\"((((\" + \"[[[[\"",
            "# [[[[[ \\\n [[[[\n.a",
            "{a: .b, c: [.d[] | select(.e == \"f\") | \"\\(.g)\"]}",
        ] {
            assert_eq!(check(program), Ok(()), "{program}");
        }
        let wide: Vec<_> = (0..5_000).map(|n| format!("k{n}: .v")).collect();
        assert_eq!(check(&format!("{{{}}}", wide.join(","))), Ok(()));
    }
}
