//! What the host calls, and what is asked of the host. One call compiles or runs one program; the host writes the text
//! before it, and copies the answer after it. The instance keeps the programs that it has compiled.
//!
//! An answer is an address and a length in one number. Its first byte says what the rest is: see [`Tag`].

// Exports, imports and the shared memory are not safe Rust's.
#![allow(unsafe_code)]

use std::{
    cell::RefCell,
    panic::{self, PanicHookInfo},
    sync::Once,
};

use super::{Compiled, Failure, compile, run};

#[link(wasm_import_module = "boathook")]
unsafe extern "C" {
    /// The seconds since 1970.
    safe fn now() -> f64;
    /// The text of a panic, after which the instance is not called again.
    fn panicked(text: *const u8, length: usize);
}

/// The first byte of an answer.
#[repr(u8)]
enum Tag {
    /// A program: four bytes of number, then the fields that it sees as JSON, `null` for all. Or the results: one in each
    /// line.
    Done = 0,
    /// The program is wrong, or it raised an error.
    Program = 1,
    /// The object cannot be read.
    Input = 2,
    TooLarge = 3,
    NotJson = 4,
}

/// The room for texts that stays where it is, so that the host need not ask for it again. A longer text has its own,
/// and is dropped after its call.
const ROOM: usize = 64 * 1024;

#[derive(Default)]
struct State {
    room: Vec<u8>,
    long: Vec<u8>,
    answer: Vec<u8>,
    programs: Vec<Compiled>,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// The time for jq's `now`.
pub(super) fn time() -> f64 {
    now()
}

/// Where the host writes a text of this length. It is the same place for all texts of up to [`ROOM`] bytes.
#[unsafe(no_mangle)]
extern "C" fn reserve(length: usize) -> *mut u8 {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| panic::set_hook(Box::new(report)));
    STATE.with_borrow_mut(|state| {
        if length <= ROOM {
            state.room.resize(ROOM, 0);
            return state.room.as_mut_ptr();
        }
        state.long = vec![0; length];
        state.long.as_mut_ptr()
    })
}

/// Compiles the program that the host wrote.
#[unsafe(no_mangle)]
extern "C" fn compile_program(length: usize) -> u64 {
    answer(length, |state, text| match compile(text) {
        Ok(compiled) => {
            let seen = compiled.roots_as_json();
            state.answer.push(Tag::Done as u8);
            state.answer.extend((state.programs.len() as u32).to_le_bytes());
            state.answer.extend(seen.as_bytes());
            state.programs.push(compiled);
        }
        Err(error) => put(state, Tag::Program, &error.to_string()),
    })
}

/// Runs a program on the object that the host wrote.
#[unsafe(no_mangle)]
extern "C" fn run_program(program: usize, length: usize) -> u64 {
    answer(length, |state, text| {
        let Some(compiled) = state.programs.get(program) else {
            return put(state, Tag::Program, "there is no such program");
        };
        match run(compiled, text) {
            Ok(results) => put(state, Tag::Done, &results),
            Err(Failure::Program(text)) => put(state, Tag::Program, &text),
            Err(Failure::Input(text)) => put(state, Tag::Input, &text),
            Err(Failure::TooLarge) => put(state, Tag::TooLarge, ""),
            Err(Failure::NotJson(text)) => put(state, Tag::NotJson, &text),
        }
    })
}

fn answer(length: usize, work: impl FnOnce(&mut State, &str)) -> u64 {
    STATE.with_borrow_mut(|state| {
        let long = std::mem::take(&mut state.long);
        let room = std::mem::take(&mut state.room);
        let input = if length <= ROOM { &room } else { &long };
        // The host has read the last answer.
        state.answer.clear();
        state.answer.shrink_to(ROOM);
        match input.get(..length).map(std::str::from_utf8) {
            Some(Ok(text)) => work(state, text),
            _ => put(state, Tag::Input, "it is not UTF-8"),
        }
        state.room = room;
        (state.answer.as_ptr() as u64) << 32 | state.answer.len() as u64
    })
}

fn put(state: &mut State, tag: Tag, text: &str) {
    state.answer.push(tag as u8);
    state.answer.extend(text.as_bytes());
}

fn report(info: &PanicHookInfo<'_>) {
    let text = info.payload_as_str().unwrap_or("?");
    // SAFETY: the text outlives the call.
    unsafe { panicked(text.as_ptr(), text.len()) };
}
