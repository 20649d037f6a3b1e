//! The config of a single component's artifact, in the layout of the CNCF, and what it says of the component.

use serde::{Deserialize, Serialize};
use wasmparser::{BinaryReaderError, Encoding, Parser, Payload};

use crate::{ContentsError, Descriptor, WASM_TYPE};

/// Why a file is not a component.
#[derive(Debug, thiserror::Error)]
pub enum InvalidComponent {
    #[error("it is a module, which is only a part of a component")]
    Module,
    #[error("it is damaged")]
    Damaged(#[from] BinaryReaderError),
}

const ARCHITECTURE: &str = "wasm";
/// The system of components; that of plain modules is `wasip1`.
const OS: &str = "wasip2";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WasmConfig {
    #[serde(default)]
    pub created: Option<String>,
    #[serde(default)]
    architecture: Option<String>,
    #[serde(default)]
    os: Option<String>,
    #[serde(default)]
    layer_digests: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    component: Option<Interface>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Interface {
    #[serde(default)]
    exports: Vec<String>,
    #[serde(default)]
    imports: Vec<String>,
}

impl WasmConfig {
    /// The config for a component. Fails for what is not a component.
    pub fn of(created: String, layer: &Descriptor, component: &[u8]) -> Result<Self, InvalidComponent> {
        Ok(Self {
            created: Some(created),
            architecture: Some(ARCHITECTURE.to_owned()),
            os: Some(OS.to_owned()),
            layer_digests: vec![layer.digest.to_string()],
            component: Some(interface(component)?),
        })
    }

    /// Checks that the config is for this layer, which is a component. What other tools leave out is not missed.
    pub fn check(&self, layer: &Descriptor) -> Result<(), ContentsError> {
        if layer.media_type != WASM_TYPE {
            return Err(ContentsError::NoComponent(format!("its layer is {:?}, not {WASM_TYPE:?}", layer.media_type)));
        }
        if let Some(os) = self.os.as_deref().filter(|os| *os != OS) {
            return Err(ContentsError::NoComponent(format!("it is for {os:?}, and components are for {OS:?}")));
        }
        if self.layer_digests.iter().any(|digest| digest != layer.digest.as_str()) {
            return Err(ContentsError::NoComponent("its config describes another layer".to_owned()));
        }
        Ok(())
    }
}

/// The names that the outermost component imports and exports.
fn interface(bytes: &[u8]) -> Result<Interface, InvalidComponent> {
    let (mut found, mut depth) = (Interface::default(), 0_u32);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(InvalidComponent::Module);
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    found.imports.push(import?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    found.exports.push(export?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(found)
}
