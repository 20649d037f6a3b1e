//! A compiled program, with the slot for its worker.

use std::{fmt, sync::Arc};

use super::slot::Slot;
use crate::{
    fair::Tenant,
    filter::{
        jq::{self, CompileError, Compiled, Cost, FilterError, Outputs},
        project,
    },
};

/// A compiled jq program. It is cheap to clone. Clones share one worker and one back-off, so compile it once for each
/// binding.
#[derive(Clone)]
pub struct Program(Arc<Inner>);

struct Inner {
    text: Box<str>,
    /// Kept only for linear programs.
    linear: Option<(Compiled, Cost)>,
    reads_only_metadata: bool,
    tenant: Tenant,
    slot: Arc<Slot>,
}

/// Compiles a program of no tenant. The error says where the program is wrong. A large program takes a while, so a task
/// of the runtime uses [`Evaluator::compile`](super::Evaluator::compile).
pub fn compile(program: &str) -> Result<Program, CompileError> {
    compile_for(&Tenant::hook(""), program)
}

/// Compiles a tenant's program. Its worker counts as the tenant's.
pub fn compile_for(tenant: &Tenant, program: &str) -> Result<Program, CompileError> {
    let (compiled, cost) = jq::compile(program)?;
    let reads_only_metadata = compiled.reads_only(&project::METADATA);
    let linear = cost.map(|cost| (compiled, cost));
    Ok(Program(Arc::new(Inner {
        text: program.into(),
        linear,
        reads_only_metadata,
        tenant: tenant.clone(),
        slot: Arc::default(),
    })))
}

impl Program {
    /// The program as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the program provably ends soon, so that it runs in this process on all but very large objects.
    pub fn is_native(&self) -> bool {
        self.0.linear.is_some()
    }

    /// Whether the program provably gives the same result for an object that has only `apiVersion`, `kind` and
    /// `metadata`.
    pub fn reads_only_metadata(&self) -> bool {
        self.0.reads_only_metadata
    }

    /// Runs the program in this process, if it provably ends soon on an object of this size.
    pub(super) fn run_here(&self, json: &str) -> Option<Result<Outputs, FilterError>> {
        let (compiled, cost) = self.0.linear.as_ref()?;
        cost.fits(json.len()).then(|| jq::run(compiled, json))
    }

    pub(super) fn tenant(&self) -> &Tenant {
        &self.0.tenant
    }

    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.0.slot
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("text", &self.text()).field("native", &self.is_native()).finish()
    }
}
