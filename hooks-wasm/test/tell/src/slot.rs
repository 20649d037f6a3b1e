//! The place for the document in the component's bytes. Never holds a default that a hook could use.

use std::hint::black_box;

const SIZE: usize = 16 * 1024;
const BEGINS: &[u8] = b"# document of the guest tell";

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

pub fn document() -> String {
    String::from_utf8_lossy(black_box(&SLOT)).trim_end().to_owned()
}
