//! One instance of jq's module: its store, its bounds, and the texts that go in and come out.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use boathook_core::{
    fair::Share,
    filter::{FilterError, FilterLimit, Outputs},
};
use wasmtime::{
    Caller, Engine, Extern, InstancePre, Linker, Memory, Module, ResourceLimiter, Store, Trap, TypedFunc,
    UpdateDeadline,
};

use crate::turns::Turn;

/// The bytes of a text that need no request for room. The module has the same number.
const ROOM: usize = 64 * 1024;
/// An instance is not kept if filters made its memory grow by more than this.
const GROWTH: usize = 1024 * 1024;
/// Nor if the programs in it take more than this.
const PROGRAMS: usize = 8 * 1024 * 1024;
/// The longest text of a panic.
const PANIC: usize = 400;
/// The largest result of an evaluation, in bytes of JSON, for the message. The module has the same number.
const MAX_RESULT: usize = 1024 * 1024;

/// The terms of one call.
pub(super) struct Terms {
    pub(super) turn: Turn,
    pub(super) share: Share,
    pub(super) until: Instant,
    pub(super) values: u64,
    pub(super) cpu_time: Duration,
}

/// What one call gave.
pub(super) enum Answer {
    /// The fields of an object that the program sees.
    Compiled(Option<Arc<[String]>>),
    /// The program does not compile.
    Refused(String),
    Outputs(Outputs),
}

/// What imported functions and bounds work on.
#[derive(Default)]
struct State {
    terms: Option<Terms>,
    /// The bytes by which the memory has grown in this call.
    grown: u64,
    panic: Option<String>,
}

/// The reasons of the host's own to end a call.
#[derive(Debug, Clone, Copy, thiserror::Error)]
enum Ended {
    #[error("its CPU time is used up")]
    Time,
    #[error("it needs too much memory")]
    Memory,
    #[error("other filters have the memory")]
    Crowded(u64),
    #[error("it had no turn")]
    Late,
}

pub(super) struct Instance {
    store: Store<State>,
    memory: Memory,
    reserve: TypedFunc<u32, u32>,
    compile: TypedFunc<u32, u64>,
    run: TypedFunc<(u32, u32), u64>,
    /// Where short texts go.
    room: usize,
    programs: HashMap<Arc<str>, Compiled>,
    /// The size of the memory at the start, with the programs that were compiled since.
    born: usize,
    /// How much of that is for programs.
    compiled: usize,
}

#[derive(Clone)]
struct Compiled {
    number: u32,
    fields: Option<Arc<[String]>>,
}

/// The module with what it imports.
pub(super) fn link(engine: &Engine, module: &Module) -> wasmtime::Result<Code> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("boathook", "now", || {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
    })?;
    linker.func_wrap("boathook", "panicked", |mut caller: Caller<'_, State>, place: u32, length: u32| {
        let memory = caller.get_export("memory").and_then(Extern::into_memory);
        let range = place as usize..(place as usize).saturating_add((length as usize).min(PANIC));
        let text = memory.and_then(|memory| memory.data(&caller).get(range).map(String::from_utf8_lossy));
        let text = text.map(|text| text.into_owned());
        caller.data_mut().panic = text;
    })?;
    linker.instantiate_pre(module).map(Code)
}

/// The linked module. Cheap to clone.
#[derive(Clone)]
pub(super) struct Code(InstancePre<State>);

impl Instance {
    pub(super) async fn new(code: &Code) -> Result<Self, FilterError> {
        Self::start(code).await.map_err(|error| FilterError::Engine(error.into()))
    }

    async fn start(Code(pre): &Code) -> wasmtime::Result<Self> {
        let mut store = Store::new(pre.module().engine(), State::default());
        store.limiter(|state| state);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context| context.data().tick());
        let instance = pre.instantiate_async(&mut store).await?;
        let missing = || wasmtime::Error::msg("the module has no memory");
        let memory = instance.get_memory(&mut store, "memory").ok_or_else(missing)?;
        let reserve = instance.get_typed_func(&mut store, "reserve")?;
        let compile = instance.get_typed_func(&mut store, "compile_program")?;
        let run = instance.get_typed_func(&mut store, "run_program")?;
        let room = reserve.call_async(&mut store, 0).await? as usize;
        let born = memory.data_size(&store);
        Ok(Self { store, memory, reserve, compile, run, room, programs: HashMap::new(), born, compiled: 0 })
    }

    /// Compiles the program, where that is still to do, and runs it on the object, if one is given. After an error, the
    /// instance must not be used any more.
    pub(super) async fn call(
        &mut self,
        terms: Terms,
        text: &Arc<str>,
        object: Option<&str>,
    ) -> Result<Answer, FilterError> {
        let (turn, until) = (terms.turn.clone(), terms.until);
        let (values, cpu_time) = (terms.values, terms.cpu_time);
        *self.store.data_mut() = State { terms: Some(terms), ..State::default() };
        self.store.set_epoch_deadline(1);
        let answer = turn.around(until, self.answer(text, object)).await;
        let state = std::mem::take(self.store.data_mut());
        match answer {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Err(classify(&error, state.panic, values, cpu_time)),
            // The caller names the time.
            Err(_) => Err(FilterError::Late(Duration::ZERO)),
        }
    }

    async fn answer(&mut self, text: &Arc<str>, object: Option<&str>) -> wasmtime::Result<Result<Answer, FilterError>> {
        let known = self.programs.get(text).cloned();
        let program = match known {
            Some(program) => program,
            None => match self.compile(text).await? {
                Ok(program) => program,
                Err(why) => return Ok(Ok(Answer::Refused(why))),
            },
        };
        let Some(object) = object else { return Ok(Ok(Answer::Compiled(program.fields))) };
        self.write(object).await?;
        let length = u32::try_from(object.len())?;
        let place = self.run.call_async(&mut self.store, (program.number, length)).await?;
        let (tag, text) = self.read(place)?;
        let text = || String::from_utf8_lossy(text).into_owned();
        Ok(match tag {
            0 => Ok(Answer::Outputs(Outputs::from_lines(text()))),
            1 => Err(FilterError::Program(text())),
            2 => Err(FilterError::Input(text())),
            3 => Err(FilterError::TooLarge(MAX_RESULT)),
            _ => Err(FilterError::NotJson(text())),
        })
    }

    async fn compile(&mut self, program: &Arc<str>) -> wasmtime::Result<Result<Compiled, String>> {
        let before = self.memory.data_size(&self.store);
        self.write(program).await?;
        let place = self.compile.call_async(&mut self.store, u32::try_from(program.len())?).await?;
        let grown = self.memory.data_size(&self.store).saturating_sub(before);
        self.born += grown;
        self.compiled += grown;
        let (tag, answer) = self.read(place)?;
        let Some((number, fields)) = answer.split_first_chunk().filter(|_| tag == 0) else {
            return Ok(Err(String::from_utf8_lossy(answer).into_owned()));
        };
        let fields: Option<Vec<String>> = serde_json::from_slice(fields)?;
        let compiled = Compiled { number: u32::from_le_bytes(*number), fields: fields.map(Arc::from) };
        self.programs.insert(program.clone(), compiled.clone());
        Ok(Ok(compiled))
    }

    async fn write(&mut self, text: &str) -> wasmtime::Result<()> {
        let place = match text.len() {
            0..=ROOM => self.room,
            length => self.reserve.call_async(&mut self.store, u32::try_from(length)?).await? as usize,
        };
        self.memory.write(&mut self.store, place, text.as_bytes())?;
        Ok(())
    }

    /// The first byte of an answer, and the others.
    fn read(&self, place: u64) -> wasmtime::Result<(u8, &[u8])> {
        let (start, length) = ((place >> 32) as usize, (place & u64::from(u32::MAX)) as usize);
        let answer = self.memory.data(&self.store).get(start..start.saturating_add(length));
        let (tag, text) = answer.and_then(<[u8]>::split_first).ok_or_else(|| wasmtime::Error::msg("no answer"))?;
        Ok((*tag, text))
    }

    /// Whether the next call may have this instance.
    pub(super) fn is_small(&self) -> bool {
        self.memory.data_size(&self.store) <= self.born + GROWTH && self.compiled <= PROGRAMS
    }
}

impl State {
    /// Called when a tick comes while a filter computes.
    fn tick(&self) -> wasmtime::Result<UpdateDeadline> {
        let Some(terms) = &self.terms else { return Ok(UpdateDeadline::Continue(1)) };
        if terms.turn.cpu_time() >= terms.cpu_time {
            return Err(Ended::Time.into());
        }
        if Instant::now() >= terms.until {
            return Err(Ended::Late.into());
        }
        Ok(UpdateDeadline::YieldCustom(1, Box::pin(terms.turn.clone().next(terms.until))))
    }
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        // What an instance starts with is in the share already.
        let Some(terms) = self.terms.as_mut() else { return Ok(true) };
        let growth = desired.saturating_sub(current) as u64;
        self.grown += growth;
        if self.grown > terms.values {
            return Err(Ended::Memory.into());
        }
        if terms.share.grow(growth) {
            return Ok(true);
        }
        if terms.share.units().saturating_add(growth) > terms.share.most() {
            return Err(Ended::Memory.into());
        }
        Err(Ended::Crowded(terms.share.units() / (1024 * 1024)).into())
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

/// Why the call ended. The module is safe Rust, so it leaves its memory only where its stack does, which is below
/// everything else.
fn classify(error: &wasmtime::Error, panic: Option<String>, values: u64, cpu_time: Duration) -> FilterError {
    let limit = |limit| FilterError::Limit(limit);
    if let Some(ended) = error.downcast_ref::<Ended>() {
        return match ended {
            Ended::Time => limit(FilterLimit::Time(cpu_time)),
            Ended::Memory => limit(FilterLimit::Memory(values)),
            Ended::Crowded(has) => FilterError::Crowded(*has),
            Ended::Late => FilterError::Late(Duration::ZERO),
        };
    }
    match (error.downcast_ref::<Trap>(), panic) {
        (Some(Trap::StackOverflow | Trap::MemoryOutOfBounds), _) => limit(FilterLimit::Stack),
        // A text or list of more bytes than a module can address.
        (Some(_), Some(panic)) if panic == "capacity overflow" => limit(FilterLimit::Memory(values)),
        (Some(_), Some(panic)) => FilterError::Crashed(format!("jq panicked: {panic}")),
        (Some(trap), None) => FilterError::Crashed(trap.to_string()),
        (None, _) => FilterError::Crashed(error.root_cause().to_string()),
    }
}
