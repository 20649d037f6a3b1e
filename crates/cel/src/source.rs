//! Source text: parses it, and shows the place of an error as the real API server does.

use kube_cel::cel::{
    common::ast::{EntryExpr, Expr, IdedExpr},
    parser::{Expression, Parser},
};

/// Longer expressions are rejected.
const MAX_LENGTH: usize = 10_000;
/// Expressions that are nested deeper are rejected, because evaluation is recursive.
const MAX_DEPTH: usize = 120;
/// The parser is recursive over long chains of operators.
const PARSER_STACK: usize = 64 << 20;

/// Parses an expression in a thread with a stack of its own, so that neither deep nesting nor a panic of the parser
/// ends the server.
pub(super) fn parse(source: &str) -> Result<Expression, String> {
    if source.len() > MAX_LENGTH {
        return Err(format!("the expression has more than {MAX_LENGTH} bytes"));
    }
    let text = source.to_owned();
    let work = move || Parser::new().enable_optional_syntax(true).parse(&text).map_err(shown_of);
    let thread = std::thread::Builder::new().stack_size(PARSER_STACK).spawn(work);
    let parsed = thread.ok().and_then(|thread| thread.join().ok());
    let places = parsed.ok_or_else(|| "the expression cannot be parsed".to_owned())?;
    let expression = places.map_err(|errors| {
        let lines = errors.into_iter().map(|(line, column, why)| error(source, line, column, &why));
        lines.collect::<Vec<_>>().join("\n")
    })?;
    if !fits(&expression, MAX_DEPTH) {
        return Err(format!("the expression nests deeper than {MAX_DEPTH} levels"));
    }
    Ok(expression)
}

/// The line, the column and the text of each error.
fn shown_of(errors: kube_cel::cel::ParseErrors) -> Vec<(usize, usize, String)> {
    let number = |n: isize| usize::try_from(n).unwrap_or(1);
    errors.errors.into_iter().map(|e| (number(e.pos.0), number(e.pos.1), e.msg)).collect()
}

/// Formats an error at a line and a column, both counted from 1.
pub(super) fn error(source: &str, line: usize, column: usize, why: &str) -> String {
    let text = source.lines().nth(line.saturating_sub(1)).unwrap_or_default();
    let dots = ".".repeat(column.saturating_sub(1));
    format!("ERROR: <input>:{line}:{column}: {why}\n | {text}\n | {dots}^")
}

/// The words and operators of a source, with the byte at which each starts. The parser does not report the places of an
/// expression's parts, but they are in the same order.
pub(super) struct Tokens<'s> {
    source: &'s str,
    tokens: Vec<(usize, &'s str)>,
}

impl<'s> Tokens<'s> {
    pub(super) fn of(source: &'s str) -> Self {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(first) = source.get(at..).and_then(|rest| rest.chars().next()) {
            let rest = source.get(at..).unwrap_or_default();
            let length = length(rest, first);
            if !first.is_whitespace() {
                tokens.push((at, rest.get(..length).unwrap_or_default()));
            }
            at += length;
        }
        Self { source, tokens }
    }

    /// Takes the first token that is equal to `text`. The tokens before it stay for other parts.
    pub(super) fn take(&mut self, text: &str) -> Option<usize> {
        let index = self.tokens.iter().position(|(_, token)| *token == text)?;
        Some(self.tokens.remove(index).0)
    }

    /// Formats an error at a byte.
    pub(super) fn error(&self, at: Option<usize>, why: &str) -> String {
        let before = self.source.get(..at.unwrap_or_default()).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        error(self.source, line, column, why)
    }
}

/// How many bytes the token at the start of `rest` has.
fn length(rest: &str, first: char) -> usize {
    if first.is_alphabetic() || first == '_' {
        return rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    }
    if matches!(first, '\'' | '"') {
        let mut escaped = false;
        let end = rest.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == first && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        return end.map_or(rest.len(), |(at, c)| at + c.len_utf8());
    }
    let pair = ["==", "!=", "<=", ">=", "&&", "||"].iter().any(|pair| rest.starts_with(pair));
    if pair { 2 } else { first.len_utf8() }
}

/// The direct parts of an expression, in the order of the source.
pub(super) fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(c) => vec![&c.iter_range, &c.accu_init, &c.loop_cond, &c.loop_step, &c.result],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(map) => map.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Struct(value) => value.entries.iter().flat_map(|entry| entry_parts(&entry.expr)).collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    }
}

/// Whether any part of the expression is the variable.
pub(super) fn uses(expression: &IdedExpr, variable: &str) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if name == variable)
        || parts(expression).into_iter().any(|part| uses(part, variable))
}

/// Whether no part is nested deeper than `levels`.
pub(super) fn fits(expression: &IdedExpr, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else {
        return false;
    };
    parts(expression).into_iter().all(|part| fits(part, below))
}
