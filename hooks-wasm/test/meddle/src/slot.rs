//! The place for what a version does in place of what it is asked for, in the component's bytes.

use std::hint::black_box;

const SIZE: usize = 256;
const BEGINS: &[u8] = b"# deeds of the guest meddle:";

/// Nothing of it may be folded into the code: what counts is what it holds when it runs.
#[used]
static SLOT: [u8; SIZE] = empty();

const fn empty() -> [u8; SIZE] {
    let mut slot = [b' '; SIZE];
    let (begins, rest) = (BEGINS, slot.as_mut_slice());
    let (head, _) = rest.split_at_mut(begins.len());
    head.copy_from_slice(begins);
    slot
}

/// What this version does when it is asked for a deed.
pub fn instead(asked: &str) -> String {
    let text = String::from_utf8_lossy(black_box(&SLOT)).into_owned();
    let mut pairs = text.split_whitespace().filter_map(|word| word.split_once('='));
    pairs.find(|(word, _)| *word == asked).map_or_else(|| asked.to_owned(), |(_, deed)| deed.to_owned())
}
