//! Joins the data segments of a module that are near each other. Go makes some ten thousand of them, and an empty one would
//! stay for each in the snapshot.

use anyhow::{Context as _, Result, bail};
use wasm_encoder::{ConstExpr, DataSection, Module, RawSection};
use wasmparser::{DataKind, Operator, Parser, Payload};

/// Segments are joined over so many bytes, which are zero.
const GAP: usize = 4096;

/// The module with fewer segments.
pub fn joined(module: &[u8]) -> Result<Vec<u8>> {
    let mut out = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::DataSection(section) => {
                let mut data = DataSection::new();
                for (address, bytes) in near(section)? {
                    data.active(0, &ConstExpr::i32_const(address.cast_signed()), bytes);
                }
                out.section(&data);
            }
            // It holds the number of segments, and only instructions that Go does not use need it.
            Payload::DataCountSection { .. } => {}
            // The section of the code has it whole.
            Payload::CodeSectionEntry(_) => {}
            other => {
                if let Some((id, range)) = other.as_section() {
                    let data = module.get(range.start as usize..range.end as usize).context("a section is cut off")?;
                    out.section(&RawSection { id, data });
                }
            }
        }
    }
    Ok(out.finish())
}

/// Addresses and bytes, in order.
fn near(section: wasmparser::DataSectionReader<'_>) -> Result<Vec<(u32, Vec<u8>)>> {
    let mut segments = Vec::new();
    for data in section {
        let data = data?;
        let DataKind::Active { memory_index: 0, offset_expr } = data.kind else {
            bail!("a data segment has no place in the first memory")
        };
        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
            bail!("the place of a data segment is not a number")
        };
        segments.push((value.cast_unsigned(), data.data));
    }
    segments.sort_by_key(|(address, _)| *address);
    let mut joined: Vec<(u32, Vec<u8>)> = Vec::new();
    for (address, bytes) in segments {
        match joined.last_mut() {
            Some((start, last)) if (address as usize) < *start as usize + last.len() + GAP => {
                last.resize((address - *start) as usize, 0);
                last.extend_from_slice(bytes);
            }
            _ => joined.push((address, bytes.to_vec())),
        }
    }
    Ok(joined)
}
