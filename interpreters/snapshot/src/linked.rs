//! Reads how the core modules of a component are linked with each other: which one defines what another one imports.
//!
//! Only what `merge.rs` needs of it. Never changes anything.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail, ensure};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentAlias, ConstExpr, Encoding, ExternalKind, FunctionBody, Instance,
    Operator, Parser, Payload, TypeRef,
};

/// The core part of a component.
pub struct Linked<'a> {
    pub modules: Vec<Module<'a>>,
    instances: Vec<Core<'a>>,
    /// What the component calls by number. Each kind has numbers of its own.
    named: Vec<(ExternalKind, Named<'a>)>,
    /// For each function that the component exports: that function, and those that its values need.
    lifted: Vec<Vec<u32>>,
}

#[derive(Default)]
pub struct Module<'a> {
    pub bytes: &'a [u8],
    pub imports: Vec<Import<'a>>,
    pub exports: BTreeMap<&'a str, (ExternalKind, u32)>,
    pub bodies: Vec<FunctionBody<'a>>,
    /// What the defined globals begin with.
    pub globals: Vec<ConstExpr<'a>>,
    pub types: u32,
    pub memories: u32,
    pub tables: u32,
}

pub struct Import<'a> {
    pub module: &'a str,
    pub name: &'a str,
    pub kind: ExternalKind,
    /// The type of a function.
    pub ty: u32,
}

/// A core instance.
enum Core<'a> {
    Of { module: usize, given: BTreeMap<&'a str, u32> },
    Bag(BTreeMap<&'a str, (ExternalKind, u32)>),
}

enum Named<'a> {
    Export {
        instance: u32,
        name: &'a str,
    },
    /// A function of the host.
    Host,
}

/// A thing by its module and its number there.
pub type Place = (usize, u32);

impl<'a> Linked<'a> {
    pub fn of(component: &'a [u8]) -> Result<Self> {
        let mut linked = Self { modules: Vec::new(), instances: Vec::new(), named: Vec::new(), lifted: Vec::new() };
        let mut inside = Vec::new();
        for payload in Parser::new(0).parse_all(component) {
            let payload = payload?;
            match &payload {
                Payload::Version { encoding, .. } => inside.push(*encoding),
                Payload::End(_) => {
                    inside.pop();
                }
                _ => {}
            }
            match inside.as_slice() {
                [Encoding::Component] => linked.component(payload, component)?,
                [Encoding::Component, Encoding::Module] => {
                    linked.modules.last_mut().context("a module without its section")?.add(payload)?;
                }
                _ => {}
            }
        }
        Ok(linked)
    }

    fn component(&mut self, payload: Payload<'a>, component: &'a [u8]) -> Result<()> {
        match payload {
            Payload::ModuleSection { unchecked_range: range, .. } => {
                let bytes = component.get(range.start as usize..range.end as usize).context("a module is cut off")?;
                self.modules.push(Module { bytes, ..Module::default() });
            }
            Payload::InstanceSection(instances) => {
                for instance in instances {
                    self.instances.push(Core::of(instance?)?);
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases {
                    if let ComponentAlias::CoreInstanceExport { kind, instance_index: instance, name } = alias? {
                        self.named.push((kind, Named::Export { instance, name }));
                    }
                }
            }
            Payload::ComponentCanonicalSection(functions) => {
                for function in functions {
                    match function? {
                        CanonicalFunction::Lift { core_func_index, options, .. } => {
                            let needed = options.iter().filter_map(|option| match option {
                                CanonicalOption::PostReturn(function) | CanonicalOption::Realloc(function) => {
                                    Some(*function)
                                }
                                _ => None,
                            });
                            self.lifted.push([core_func_index].into_iter().chain(needed).collect());
                        }
                        _ => self.named.push((ExternalKind::Func, Named::Host)),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What an import of a module is, if another module of the component defines it.
    pub fn resolved(&self, module: usize, import: &Import<'_>) -> Result<Option<Place>> {
        let given = self.instances.iter().find_map(|core| match core {
            Core::Of { module: of, given } if *of == module => Some(given),
            _ => None,
        });
        let instance = given.and_then(|given| given.get(import.module));
        let instance = *instance.with_context(|| format!("nothing is given as {}", import.module))?;
        self.exported(instance, import.name, import.kind)
    }

    fn exported(&self, instance: u32, name: &str, kind: ExternalKind) -> Result<Option<Place>> {
        match self.instances.get(instance as usize).context("no such instance")? {
            Core::Bag(bag) => {
                let (_, index) = bag.get(name).with_context(|| format!("nothing is called {name}"))?;
                self.named(kind, *index)
            }
            Core::Of { module, .. } => {
                let of = self.modules.get(*module).context("no such module")?;
                let (kind, index) = of.exports.get(name).with_context(|| format!("nothing is exported as {name}"))?;
                self.place(*module, *kind, *index)
            }
        }
    }

    fn nth(&self, kind: ExternalKind, index: u32) -> Option<&Named<'a>> {
        self.named.iter().filter(|(of, _)| *of == kind).map(|(_, named)| named).nth(index as usize)
    }

    fn named(&self, kind: ExternalKind, index: u32) -> Result<Option<Place>> {
        match self.nth(kind, index).with_context(|| format!("no {kind:?} {index}"))? {
            Named::Export { instance, name } => self.exported(*instance, name, kind),
            Named::Host => Ok(None),
        }
    }

    /// Where a thing is defined that a module knows by this number.
    pub fn place(&self, module: usize, kind: ExternalKind, index: u32) -> Result<Option<Place>> {
        let of = self.modules.get(module).context("no such module")?;
        let mut imports = of.imports.iter().filter(|import| import.kind == kind);
        match imports.clone().nth(index as usize) {
            Some(import) => self.resolved(module, import),
            None => Ok(Some((module, index - imports.by_ref().count() as u32))),
        }
    }

    /// The number that an expression of a module is, if it is one of 32 bits.
    pub fn value(&self, module: usize, expression: &ConstExpr<'_>) -> Result<Option<i32>> {
        let mut values = Vec::new();
        for operator in expression.get_operators_reader() {
            let value = match operator? {
                Operator::I32Const { value } => value,
                Operator::GlobalGet { global_index } => {
                    let place =
                        self.place(module, ExternalKind::Global, global_index)?.context("a global of the host")?;
                    let of = self.modules.get(place.0).and_then(|of| of.globals.get(place.1 as usize));
                    let Some(value) = self.value(place.0, of.context("no such global")?)? else { return Ok(None) };
                    value
                }
                Operator::I32Add => match (values.pop(), values.pop()) {
                    (Some(a), Some(b)) => i32::wrapping_add(a, b),
                    _ => return Ok(None),
                },
                Operator::End => break,
                _ => return Ok(None),
            };
            values.push(value);
        }
        Ok(values.pop())
    }

    /// The functions that the component exports, but for those of one interface, and what they need, by their names in
    /// their modules.
    pub fn lifted(&self, but: &str) -> Result<BTreeMap<&'a str, Place>> {
        let mut lifted = BTreeMap::new();
        for functions in &self.lifted {
            let functions = functions.iter().map(|function| self.exporting(*function)).collect::<Result<Vec<_>>>()?;
            if functions.first().is_some_and(|(name, _)| name.split_once('#').is_some_and(|(from, _)| from == but)) {
                continue;
            }
            for (name, place) in functions {
                let before = lifted.insert(name, place);
                ensure!(before.is_none_or(|before| before == place), "two functions are called {name}");
            }
        }
        Ok(lifted)
    }

    fn exporting(&self, function: u32) -> Result<(&'a str, Place)> {
        let Some(Named::Export { name, .. }) = self.nth(ExternalKind::Func, function) else {
            bail!("an export is a function of the host")
        };
        Ok((*name, self.named(ExternalKind::Func, function)?.with_context(|| format!("{name} is not defined"))?))
    }
}

impl<'a> Module<'a> {
    fn add(&mut self, payload: Payload<'a>) -> Result<()> {
        match payload {
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    let (kind, ty) = match import.ty {
                        TypeRef::Func(ty) => (ExternalKind::Func, ty),
                        TypeRef::Global(_) => (ExternalKind::Global, 0),
                        TypeRef::Memory(_) => (ExternalKind::Memory, 0),
                        TypeRef::Table(_) => (ExternalKind::Table, 0),
                        other => bail!("an import of {other:?}"),
                    };
                    self.imports.push(Import { module: import.module, name: import.name, kind, ty });
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    self.exports.insert(export.name, (export.kind, export.index));
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    self.globals.push(global?.init_expr);
                }
            }
            Payload::TypeSection(types) => self.types = types.count(),
            Payload::MemorySection(memories) => self.memories = memories.count(),
            Payload::TableSection(tables) => self.tables = tables.count(),
            Payload::CodeSectionEntry(body) => self.bodies.push(body),
            Payload::StartSection { .. } => bail!("a module has a start, which a snapshot has run"),
            Payload::TagSection(_) => bail!("a module has tags"),
            _ => {}
        }
        Ok(())
    }

    pub fn count(&self, kind: ExternalKind) -> u32 {
        self.imports.iter().filter(|import| import.kind == kind).count() as u32
    }
}

impl<'a> Core<'a> {
    fn of(instance: Instance<'a>) -> Result<Self> {
        Ok(match instance {
            Instance::Instantiate { module_index, args } => Self::Of {
                module: module_index as usize,
                given: args.iter().map(|arg| (arg.name, arg.index)).collect(),
            },
            Instance::FromExports(exports) => {
                let entry = |export: &wasmparser::Export<'a>| Ok((export.name, (export.kind, export.index)));
                Self::Bag(exports.iter().map(entry).collect::<Result<_>>()?)
            }
        })
    }
}
