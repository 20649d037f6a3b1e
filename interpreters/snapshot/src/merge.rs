//! Makes one core module of those that a component links at every start: an instance has nothing to link then, its table
//! is filled as it is used, and a call from library to library is a call.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use wasm_encoder::{ConstExpr, Elements, EntityType, ExportKind};
use wasmparser::{ElementItems, ElementKind, ExternalKind, Operator, Parser, Payload};
use wit_component::{DecodedWasm, StringEncoding};

use crate::{
    linked::{Linked, Module, Place},
    renumber::{Renumbered, Sections},
};

/// The export by which componentize-py has run the start; it is not to run again.
const INITIALIZER: &str = "exports";

/// The module of a component that can be encoded as one again.
pub fn merged(component: &[u8]) -> Result<Vec<u8>> {
    let linked = Linked::of(component)?;
    let mut module = Merged::of(&linked)?.encoded()?;
    let DecodedWasm::Component(mut resolve, world) = wit_component::decode(component)? else {
        bail!("it is no component");
    };
    let exports = resolve.worlds.get(world).context("no world")?.exports.keys();
    let initializer = exports.clone().find(|key| resolve.name_world_key(key) == INITIALIZER).cloned();
    if let (Some(key), Some(world)) = (initializer, resolve.worlds.get_mut(world)) {
        world.exports.shift_remove(&key);
    }
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    Ok(module)
}

/// Several modules as one.
pub struct Merged<'a> {
    linked: &'a Linked<'a>,
    /// The modules that become one, by number.
    parts: BTreeMap<usize, Part>,
    /// Functions of the host, in the order of their numbers.
    imports: Vec<Imported<'a>>,
    /// Functions in the table, where they are known.
    table: BTreeMap<i32, Place>,
    /// Globals that a function sets.
    set: BTreeSet<Place>,
}

struct Imported<'a> {
    module: &'a str,
    name: &'a str,
    ty: u32,
}

/// The numbers, in the one module, of the first that it defines.
#[derive(Default)]
struct Part {
    types: u32,
    functions: u32,
    globals: u32,
    /// Whether others can call its functions. What nobody can has run the start.
    called: bool,
}

impl<'a> Merged<'a> {
    fn of(linked: &'a Linked<'a>) -> Result<Self> {
        let mut merged =
            Self { linked, parts: BTreeMap::new(), imports: Vec::new(), table: BTreeMap::new(), set: BTreeSet::new() };
        merged.choose()?;
        merged.import()?;
        merged.number()?;
        merged.look()?;
        Ok(merged)
    }

    /// All but what wit-component has made for the link to the host, and makes again.
    fn choose(&mut self) -> Result<()> {
        for (number, module) in self.linked.modules.iter().enumerate() {
            let made = module.exports.contains_key("$imports")
                || module.imports.iter().any(|import| ["", "__main_module__"].contains(&import.module));
            if !made {
                let called = module.exports.values().any(|(kind, _)| *kind == ExternalKind::Func);
                self.parts.insert(number, Part { called, ..Part::default() });
            }
        }
        let count = |of: fn(&Module<'_>) -> u32| self.parts().map(|(_, module)| of(module)).sum::<u32>();
        ensure!(count(|module| module.memories) == 1, "it has several memories, or none");
        ensure!(count(|module| module.tables) == 1, "it has several tables, or none");
        Ok(())
    }

    fn parts(&self) -> impl Iterator<Item = (usize, &'a Module<'a>)> {
        let linked = self.linked;
        self.parts.keys().filter_map(move |number| Some((*number, linked.modules.get(*number)?)))
    }

    /// Whether the functions of a part are in the one module.
    pub fn called(&self, number: usize) -> bool {
        self.parts.get(&number).is_some_and(|part| part.called)
    }

    fn import(&mut self) -> Result<()> {
        let mut types = 0;
        for (number, module) in self.parts().collect::<Vec<_>>() {
            let called = self.called(number);
            for import in module.imports.iter().filter(|_| called) {
                if self.within(self.linked.resolved(number, import)?).is_none() {
                    ensure!(
                        import.kind == ExternalKind::Func,
                        "the {:?} {} is not among its modules",
                        import.kind,
                        import.name
                    );
                    if self.imported(import.module, import.name).is_none() {
                        self.imports.push(Imported { module: import.module, name: import.name, ty: types + import.ty });
                    }
                }
            }
            types += module.types;
        }
        Ok(())
    }

    fn imported(&self, module: &str, name: &str) -> Option<u32> {
        let at = self.imports.iter().position(|import| import.module == module && import.name == name)?;
        Some(at as u32)
    }

    fn number(&mut self) -> Result<()> {
        let (mut types, mut functions, mut globals) = (0, self.imports.len() as u32, 0);
        for (number, part) in &mut self.parts {
            let module = self.linked.modules.get(*number).context("no such module")?;
            (part.types, part.functions, part.globals) = (types, functions, globals);
            types += module.types;
            functions += if part.called { module.bodies.len() as u32 } else { 0 };
            globals += module.globals.len() as u32;
        }
        Ok(())
    }

    /// What is in the table, and which globals change.
    fn look(&mut self) -> Result<()> {
        for (number, module) in self.parts().collect::<Vec<_>>() {
            for (at, functions) in self.elements(number, module)? {
                for (function, slot) in functions.into_iter().zip(at..) {
                    if let Some(place) = self.within(self.linked.place(number, ExternalKind::Func, function)?) {
                        self.table.insert(slot, place);
                    }
                }
            }
            let called = self.called(number);
            for body in module.bodies.iter().filter(|_| called) {
                for operator in body.get_operators_reader()? {
                    if let Operator::GlobalSet { global_index } = operator? {
                        self.set.extend(self.within(self.linked.place(number, ExternalKind::Global, global_index)?));
                    }
                }
            }
        }
        Ok(())
    }

    /// Segments of the table: where they begin, and their functions by the module's own numbers.
    fn elements(&self, number: usize, module: &Module<'a>) -> Result<Vec<(i32, Vec<u32>)>> {
        let mut segments = Vec::new();
        for payload in Parser::new(0).parse_all(module.bytes) {
            let Payload::ElementSection(section) = payload? else { continue };
            for element in section {
                let element = element?;
                let (ElementKind::Active { offset_expr, .. }, ElementItems::Functions(functions)) =
                    (element.kind, element.items)
                else {
                    bail!("a segment of the table that is not of functions");
                };
                let at = self.linked.value(number, &offset_expr)?.context("a segment of the table has no place")?;
                segments.push((at, functions.into_iter().collect::<Result<_, _>>()?));
            }
        }
        Ok(segments)
    }

    /// A place, if it is in one of the parts.
    fn within(&self, place: Option<Place>) -> Option<Place> {
        place.filter(|(module, _)| self.parts.contains_key(module))
    }

    /// The number of a function that a part knows by another one.
    pub fn function(&self, number: usize, function: u32) -> Result<u32> {
        match self.within(self.linked.place(number, ExternalKind::Func, function)?) {
            Some(place) => self.defined(self.forwarded(place)?),
            None => {
                let module = self.linked.modules.get(number).context("no such module")?;
                let mut imports = module.imports.iter().filter(|import| import.kind == ExternalKind::Func);
                let import = imports.nth(function as usize).context("no such import")?;
                let found = self.imported(import.module, import.name);
                found.with_context(|| format!("{} {} is not imported", import.module, import.name))
            }
        }
    }

    /// The number of a function, if the part defines it.
    pub fn own_function(&self, number: usize, function: u32) -> Result<Option<u32>> {
        let imported = self.linked.modules.get(number).map_or(0, |module| module.count(ExternalKind::Func));
        function.checked_sub(imported).map(|function| self.defined((number, function))).transpose()
    }

    /// The number of a global that a part knows by another one.
    pub fn global(&self, number: usize, global: u32) -> Result<u32> {
        let place =
            self.within(self.linked.place(number, ExternalKind::Global, global)?).context("a global of the host")?;
        Ok(self.parts.get(&place.0).context("no such part")?.globals + place.1)
    }

    /// Whether a function sets the global that a part defines.
    pub fn is_set(&self, place: Place) -> bool {
        self.set.contains(&place)
    }

    /// The number of a type that a part knows by another one.
    pub fn ty(&self, number: usize, ty: u32) -> Result<u32> {
        Ok(self.parts.get(&number).context("no such part")?.types + ty)
    }

    /// The number that an expression of a part is, if it is one.
    pub fn value(&self, number: usize, expression: &wasmparser::ConstExpr<'_>) -> Result<Option<i32>> {
        self.linked.value(number, expression)
    }

    fn defined(&self, (module, function): Place) -> Result<u32> {
        let part = self.parts.get(&module).filter(|part| part.called).context("a function that nobody can call")?;
        Ok(part.functions + function)
    }

    /// Libraries that need each other call some functions by the table; here is what they call.
    fn forwarded(&self, place: Place) -> Result<Place> {
        let body = self.linked.modules.get(place.0).and_then(|module| module.bodies.get(place.1 as usize));
        let operators =
            body.context("no such function")?.get_operators_reader()?.into_iter().collect::<Result<Vec<_>, _>>()?;
        let [given @ .., Operator::I32Const { value }, Operator::CallIndirect { .. }, Operator::End] =
            operators.as_slice()
        else {
            return Ok(place);
        };
        let in_order = |(at, operator): (u32, &Operator<'_>)| matches!(operator, Operator::LocalGet { local_index } if *local_index == at);
        let plain = (0..).zip(given).all(in_order);
        Ok(self.table.get(value).copied().filter(|_| plain).unwrap_or(place))
    }

    fn encoded(&self) -> Result<Vec<u8>> {
        let mut out = Sections::default();
        for Imported { module, name, ty } in &self.imports {
            out.imports.import(module, name, EntityType::Function(*ty));
        }
        for (number, module) in self.parts() {
            Renumbered::of(self, number).add(module, &mut out).map_err(|error| anyhow!("module {number}: {error}"))?;
            for (at, functions) in self.elements(number, module)? {
                let functions = functions.into_iter().map(|function| self.function(number, function));
                let functions = functions.collect::<Result<Vec<_>>>()?;
                let at = ConstExpr::i32_const(at);
                out.elements.active(None, &at, Elements::Functions(functions.into()));
            }
        }
        out.exports.export("memory", ExportKind::Memory, 0);
        for (name, place) in self.linked.lifted(INITIALIZER)? {
            out.exports.export(name, ExportKind::Func, self.defined(self.forwarded(place)?)?);
        }
        Ok(out.module())
    }
}
