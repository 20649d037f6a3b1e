//! Parses text into a tree of values with positions. The work is bounded: nesting, length, and expanded aliases have
//! limits.

use std::{cell::RefCell, collections::HashMap, fmt, ops::Range};

use boathook_core::hooks::plain_scalar;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::Value;

/// Maximum length of a file.
const MAX_BYTES: usize = 1024 * 1024;
/// Maximum nesting of values.
const MAX_DEPTH: usize = 64;
/// Maximum number of values, including those of expanded aliases.
const MAX_VALUES: usize = 100_000;

/// A value and its position.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub kind: Kind,
    pub place: Place,
    /// In characters of the file. For an alias, the position of the alias.
    pub span: Range<usize>,
    /// A block text. Its span does not include its `|` or `>`.
    pub block_text: bool,
    values: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub key: String,
    pub place: Place,
    pub node: Node,
}

impl Node {
    /// Without positions.
    pub fn value(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(Self::value).collect(),
            Kind::Map(entries) => entries.iter().map(|entry| (entry.key.clone(), entry.node.value())).collect(),
        }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        let Kind::Map(entries) = &self.kind else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub fn item(&self, index: usize) -> Option<&Self> {
        let Kind::List(items) = &self.kind else { return None };
        items.get(index)
    }
}

/// Reads a file with a single document.
pub(super) fn read(text: &str) -> Result<Node, Problem> {
    let start = Place { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        return Err(Problem::new(start, "", format!("is {} bytes long; at most {MAX_BYTES} are read", text.len())));
    }
    let mut loader = Loader { parser: Parser::new_from_str(text), anchors: HashMap::new(), values: 0, depth: 0 };
    let node = loader.document()?;
    node.ok_or_else(|| Problem::new(start, "", "is empty; a scenario has at least `name` and `steps`"))
}

struct Loader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: HashMap<usize, Node>,
    values: usize,
    depth: usize,
}

impl<'t> Loader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Problem> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                Err(Problem::new(place(error.marker()), "", format!("is not valid YAML: {}", error.info())))
            }
            None => Err(Problem::new(Place { line: 1, column: 1 }, "", "ends too early")),
        }
    }

    fn document(&mut self) -> Result<Option<Node>, Problem> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentEnd | Event::Nothing => {}
                Event::DocumentStart(_) if root.is_some() => {
                    return wrong(span, "a second document begins here; a file holds one scenario");
                }
                Event::DocumentStart(_) => {
                    let (event, span) = self.next()?;
                    root = Some(self.node(event, span)?);
                }
                Event::StreamEnd => return Ok(root.filter(|node| !matches!(node.kind, Kind::Scalar(Value::Null)))),
                _ => return wrong(span, "has text after its end"),
            }
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span) -> Result<Node, Problem> {
        let before = self.values;
        let block_text = matches!(event, Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..));
        self.count(1, span)?;
        let (anchor, kind, end) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span),
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tagged(tag.as_deref(), span)? == Some("str") || style != ScalarStyle::Plain;
                let value = if is_text { Value::String(text.into_owned()) } else { plain_scalar(text) };
                (anchor, Kind::Scalar(value), span.end.index())
            }
            Event::SequenceStart(anchor, tag) => {
                tagged(tag.as_deref(), span)?;
                let (items, end) = self.nested(span, Self::list)?;
                (anchor, Kind::List(items), end)
            }
            Event::MappingStart(anchor, tag) => {
                tagged(tag.as_deref(), span)?;
                let (entries, end) = self.nested(span, Self::map)?;
                (anchor, Kind::Map(entries), end)
            }
            _ => return wrong(span, "a value is missing here"),
        };
        let (start, values) = (span.start.index(), self.values - before);
        let node = Node { kind, place: place(&span.start), span: start..end.max(start), block_text, values };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn count(&mut self, values: usize, span: Span) -> Result<(), Problem> {
        self.values += values;
        if self.values <= MAX_VALUES { Ok(()) } else { wrong(span, "stands for too many values (YAML aliases?)") }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Node, Problem> {
        let Some(values) = self.anchors.get(&anchor).map(|node| node.values) else {
            return wrong(span, "an alias stands within what it stands for");
        };
        self.count(values, span)?;
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return wrong(span, "an alias stands for nothing");
        };
        Ok(Node { place: place(&span.start), span: span.start.index()..span.end.index(), ..node })
    }

    fn nested<T>(
        &mut self,
        span: Span,
        read: impl Fn(&mut Self) -> Result<(T, usize), Problem>,
    ) -> Result<(T, usize), Problem> {
        if self.depth == MAX_DEPTH {
            return wrong(span, format!("is nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        let nested = read(self);
        self.depth -= 1;
        nested
    }

    fn list(&mut self) -> Result<(Vec<Node>, usize), Problem> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => {
                    let end = end(span, items.last());
                    return Ok((items, end));
                }
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    fn map(&mut self) -> Result<(Vec<Entry>, usize), Problem> {
        let (mut entries, mut seen) = (Vec::<Entry>::new(), std::collections::HashSet::new());
        loop {
            let (key, plain, start) = match self.next()? {
                (Event::MappingEnd, span) => {
                    let end = end(span, entries.last().map(|entry| &entry.node));
                    return Ok((entries, end));
                }
                (Event::Scalar(key, style, ..), span) => (key.into_owned(), style == ScalarStyle::Plain, span),
                (_, span) => return wrong(span, "a key is not a string"),
            };
            if key == "<<" && plain {
                return wrong(start, "the merge key << is not read here; write the keys out");
            }
            if !seen.insert(key.clone()) {
                return wrong(start, format!("the key {key:?} stands twice in one mapping"));
            }
            let (event, span) = self.next()?;
            let node = self.node(event, span)?;
            entries.push(Entry { key, place: place(&start.start), node });
        }
    }
}

/// The short name of one of YAML's own tags.
fn tagged(tag: Option<&Tag>, span: Span) -> Result<Option<&str>, Problem> {
    match tag {
        None => Ok(None),
        Some(tag) if tag.is_yaml_core_schema() => Ok(Some(tag.suffix.as_str())),
        Some(tag) => wrong(span, format!("the tag {:?} is not known", tag.suffix)),
    }
}

/// The end of a list or mapping: its bracket, or for a block the end of its last value. For a block, the parser returns
/// the beginning of the next element.
fn end(span: Span, last: Option<&Node>) -> usize {
    let is_block = span.start.index() == span.end.index();
    last.filter(|_| is_block).map_or(span.end.index(), |node| node.span.end)
}

fn place(marker: &Marker) -> Place {
    Place { line: marker.line(), column: marker.col() + 1 }
}

fn wrong<T>(span: Span, message: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::new(place(&span.start), "", message))
}

/// Maximum number of problems of a file.
const MAX_PROBLEMS: usize = 100;

/// A position in a file. Both numbers count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// One problem of a scenario file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub place: Place,
    /// For example `steps[0].expect.within`. Empty for the file itself.
    pub path: String,
    /// The problem, and what is allowed.
    pub message: String,
}

impl Problem {
    pub(super) fn new(place: Place, path: &str, message: impl Into<String>) -> Self {
        Self { place, path: path.to_owned(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    /// `3:7: steps[0].wait: is "soon"; …`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() { "the file" } else { &self.path };
        write!(f, "{}:{}: {path}: {}", self.place.line, self.place.column, self.message)
    }
}

/// Collects problems.
#[derive(Default)]
pub(super) struct Problems(RefCell<Vec<Problem>>);

impl Problems {
    pub fn add(&self, place: Place, path: &str, message: impl Into<String>) {
        let mut problems = self.0.borrow_mut();
        if problems.len() < MAX_PROBLEMS {
            problems.push(Problem::new(place, path, message));
        }
    }

    /// In the file's order.
    pub fn finish(self) -> Vec<Problem> {
        let mut problems = self.0.into_inner();
        problems.sort_by_key(|problem| problem.place);
        problems
    }
}
