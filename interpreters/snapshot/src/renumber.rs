//! Writes the parts of a merged module one after the other: what each of them calls by its own numbers is called by those of
//! the whole.
//!
//! Never decides which number that is.

use std::collections::BTreeMap;

use wasm_encoder::{
    CodeSection, ConstExpr, DataSection, ElementSection, ExportSection, FunctionSection, GlobalSection, ImportSection,
    MemorySection, NameMap, NameSection, TableSection, TypeSection,
    reencode::{self, Reencode},
};
use wasmparser::{KnownCustom, Name, Parser, Payload};

use crate::{linked::Module, merge::Merged};

/// The module as it is written.
#[derive(Default)]
pub struct Sections {
    pub types: TypeSection,
    pub imports: ImportSection,
    pub functions: FunctionSection,
    pub tables: TableSection,
    pub memories: MemorySection,
    pub globals: GlobalSection,
    pub exports: ExportSection,
    pub elements: ElementSection,
    pub code: CodeSection,
    pub data: DataSection,
    pub names: BTreeMap<u32, String>,
}

impl Sections {
    pub fn module(&self) -> Vec<u8> {
        let mut module = wasm_encoder::Module::new();
        module.section(&self.types).section(&self.imports).section(&self.functions).section(&self.tables);
        module.section(&self.memories).section(&self.globals).section(&self.exports).section(&self.elements);
        let mut functions = NameMap::new();
        self.names.iter().for_each(|(number, name)| functions.append(*number, name));
        let mut names = NameSection::new();
        names.functions(&functions);
        module.section(&self.code).section(&self.data).section(&names);
        module.finish()
    }
}

/// A part's own numbers as those of the one module.
pub struct Renumbered<'a> {
    merged: &'a Merged<'a>,
    number: usize,
}

type Renumbering<T> = Result<T, reencode::Error<anyhow::Error>>;

impl<'a> Renumbered<'a> {
    pub fn of(merged: &'a Merged<'a>, number: usize) -> Self {
        Self { merged, number }
    }

    pub fn add(&mut self, module: &Module<'_>, out: &mut Sections) -> Renumbering<()> {
        let called = self.merged.called(self.number);
        for payload in Parser::new(0).parse_all(module.bytes) {
            match payload? {
                Payload::TypeSection(section) => self.parse_type_section(&mut out.types, section)?,
                Payload::FunctionSection(section) if called => {
                    self.parse_function_section(&mut out.functions, section)?
                }
                Payload::TableSection(section) => self.parse_table_section(&mut out.tables, section)?,
                Payload::MemorySection(section) => self.parse_memory_section(&mut out.memories, section)?,
                Payload::GlobalSection(section) => {
                    for (index, global) in section.into_iter().enumerate() {
                        self.global(index as u32, global?, &mut out.globals)?;
                    }
                }
                Payload::CodeSectionEntry(body) if called => self.parse_function_body(&mut out.code, body)?,
                Payload::DataSection(section) => self.parse_data_section(&mut out.data, section)?,
                Payload::CustomSection(section) if called => self.names(&section, &mut out.names)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The names of functions that it defines, which traces tell.
    fn names(
        &mut self,
        section: &wasmparser::CustomSectionReader<'_>,
        out: &mut BTreeMap<u32, String>,
    ) -> Renumbering<()> {
        let KnownCustom::Name(subsections) = section.as_known() else { return Ok(()) };
        for subsection in subsections {
            let Name::Function(names) = subsection? else { continue };
            for named in names {
                let named = named?;
                let number = self.merged.own_function(self.number, named.index);
                if let Some(number) = number.map_err(reencode::Error::UserError)? {
                    out.insert(number, named.name.to_owned());
                }
            }
        }
        Ok(())
    }

    /// One that nothing sets is a constant, which the compiler then knows.
    fn global(&mut self, index: u32, global: wasmparser::Global<'_>, out: &mut GlobalSection) -> Renumbering<()> {
        let mut ty = self.global_type(global.ty)?;
        ty.mutable &= self.merged.is_set((self.number, index));
        out.global(ty, &self.const_expr(global.init_expr)?);
        Ok(())
    }
}

impl Reencode for Renumbered<'_> {
    type Error = anyhow::Error;

    fn type_index(&mut self, ty: u32) -> Renumbering<u32> {
        self.merged.ty(self.number, ty).map_err(reencode::Error::UserError)
    }

    fn function_index(&mut self, function: u32) -> Renumbering<u32> {
        self.merged.function(self.number, function).map_err(reencode::Error::UserError)
    }

    fn global_index(&mut self, global: u32) -> Renumbering<u32> {
        self.merged.global(self.number, global).map_err(reencode::Error::UserError)
    }

    fn memory_index(&mut self, _: u32) -> Renumbering<u32> {
        Ok(0)
    }

    fn table_index(&mut self, _: u32) -> Renumbering<u32> {
        Ok(0)
    }

    fn const_expr(&mut self, expression: wasmparser::ConstExpr<'_>) -> Renumbering<ConstExpr> {
        match self.merged.value(self.number, &expression).map_err(reencode::Error::UserError)? {
            Some(value) => Ok(ConstExpr::i32_const(value)),
            None => reencode::utils::const_expr(self, expression),
        }
    }
}
