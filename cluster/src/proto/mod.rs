//! Decodes Kubernetes' protobuf encoding of built-in objects, with the type table. Responses are always JSON. Lengths,
//! numbers and depths are checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::kinds::schema::{Field, Schema, Ty, Type};

/// The prefix of every Kubernetes protobuf body.
const MAGIC: &[u8] = b"k8s\0";
/// Maximum nesting of messages.
const MAX_DEPTH: usize = 64;

/// Why a body could not be decoded.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Error {
    #[error("provided data does not appear to be a protobuf message, expected prefix 6b 38 73 00")]
    Prefix,
    #[error("proto: the message is truncated or malformed")]
    Malformed,
    #[error("proto: the message is nested too deeply")]
    Depth,
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\"")]
    UnknownKind { api_version: String, kind: String },
}

/// Decodes a whole body into JSON.
pub(crate) fn decode(schema: &Schema, body: &[u8]) -> Result<Value, Error> {
    let unknown = body.strip_prefix(MAGIC).ok_or(Error::Prefix)?;
    let mut reader = Reader::new(unknown);
    let (mut api_version, mut kind, mut raw): (String, String, &[u8]) = Default::default();
    while let Some((number, value)) = reader.next()? {
        match (number, value) {
            (1, Wire::Bytes(bytes)) => {
                let mut inner = Reader::new(bytes);
                while let Some((number, value)) = inner.next()? {
                    match number {
                        1 => api_version = value.text()?,
                        2 => kind = value.text()?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let found = schema.of_kind(group, version, &kind).or_else(|| schema.find(&format!("meta.{kind}")));
    let Some(ty) = found.and_then(|index| schema.get(index)) else {
        return Err(Error::UnknownKind { api_version, kind });
    };
    let mut object = Map::new();
    object.insert("kind".into(), kind.into());
    object.insert("apiVersion".into(), api_version.into());
    message(schema, ty, raw, MAX_DEPTH, &mut object)?;
    Ok(Value::Object(object))
}

fn message(schema: &Schema, ty: &Type, bytes: &[u8], depth: usize, into: &mut Map<String, Value>) -> Result<(), Error> {
    let depth = depth.checked_sub(1).ok_or(Error::Depth)?;
    let mut reader = Reader::new(bytes);
    while let Some((number, value)) = reader.next()? {
        if let Some((_, inner)) = ty.embedded.iter().find(|(n, _)| *n == number) {
            if let Some(inner) = schema.get(*inner) {
                message(schema, inner, value.bytes()?, depth, into)?;
            }
        } else if let Some(field) = ty.by_number(number).filter(|_| number > 0) {
            place(schema, field, value, depth, into)?;
        }
    }
    Ok(())
}

fn place(
    schema: &Schema,
    field: &Field,
    value: Wire<'_>,
    depth: usize,
    into: &mut Map<String, Value>,
) -> Result<(), Error> {
    match &field.ty {
        Ty::List(item) => {
            let slot = into.entry(field.name.as_str()).or_insert_with(|| Value::Array(Vec::new()));
            if let Value::Array(list) = slot {
                list.push(single(schema, item, value, depth)?);
            }
        }
        Ty::Map(item) => {
            let (mut key, mut entry) = (String::new(), None);
            let mut reader = Reader::new(value.bytes()?);
            while let Some((number, value)) = reader.next()? {
                match number {
                    1 => key = value.text()?,
                    2 => entry = Some(single(schema, item, value, depth)?),
                    _ => {}
                }
            }
            let slot = into.entry(field.name.as_str()).or_insert_with(|| Value::Object(Map::new()));
            crate::json::object(slot).insert(key, entry.unwrap_or_else(|| zero(item)));
        }
        ty => {
            let value = single(schema, ty, value, depth)?;
            let empty = match &value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Number(number) => number.as_f64() == Some(0.0) && *ty != Ty::IntOrString,
                Value::Bool(on) => !on,
                _ => false,
            };
            // Go's encoder writes zero values, but Go's JSON would leave them out.
            let left_out = empty && !field.pointer && field.optional;
            if !left_out && !value.is_null() {
                into.insert(field.name.clone(), value);
            }
        }
    }
    Ok(())
}

fn zero(ty: &Ty) -> Value {
    match ty {
        Ty::Int | Ty::Float => 0.into(),
        Ty::Bool => false.into(),
        Ty::String | Ty::Bytes | Ty::Quantity => "".into(),
        _ => Value::Null,
    }
}

fn single(schema: &Schema, ty: &Ty, value: Wire<'_>, depth: usize) -> Result<Value, Error> {
    Ok(match ty {
        Ty::String => value.text()?.into(),
        Ty::Bool => (value.number()? != 0).into(),
        Ty::Int => value.number()?.cast_signed().into(),
        Ty::Float => f64::from_bits(value.number()?).into(),
        Ty::Bytes => STANDARD.encode(value.bytes()?).into(),
        Ty::Quantity => first(value)?.map_or(Ok("0".to_owned()), |v| v.text())?.into(),
        Ty::IntOrString => int_or_string(value)?,
        Ty::Time | Ty::MicroTime => time(value, *ty == Ty::MicroTime)?,
        Ty::Duration => duration(value)?,
        Ty::Raw | Ty::Any | Ty::Fields => {
            let raw = first(value)?.map_or(Ok(&[] as &[u8]), |v| v.bytes())?;
            serde_json::from_slice(raw).unwrap_or_default()
        }
        Ty::Message(index) => {
            let mut map = Map::new();
            if let Some(inner) = schema.get(*index) {
                message(schema, inner, value.bytes()?, depth, &mut map)?;
            }
            Value::Object(map)
        }
        // A list in a map is a separate message.
        Ty::List(item) => {
            let mut items = Vec::new();
            let mut reader = Reader::new(value.bytes()?);
            while let Some((number, value)) = reader.next()? {
                if number == 1 {
                    items.push(single(schema, item, value, depth)?);
                }
            }
            Value::Array(items)
        }
        Ty::Map(_) => return Err(Error::Malformed),
    })
}

/// Field 1 of a message.
fn first(value: Wire<'_>) -> Result<Option<Wire<'_>>, Error> {
    let mut reader = Reader::new(value.bytes()?);
    while let Some((number, value)) = reader.next()? {
        if number == 1 {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn int_or_string(value: Wire<'_>) -> Result<Value, Error> {
    let (mut is_string, mut int, mut text) = (false, 0, String::new());
    let mut reader = Reader::new(value.bytes()?);
    while let Some((number, value)) = reader.next()? {
        match number {
            1 => is_string = value.number()? == 1,
            2 => int = value.number()?.cast_signed(),
            3 => text = value.text()?,
            _ => {}
        }
    }
    Ok(if is_string { text.into() } else { int.into() })
}

fn time(value: Wire<'_>, micro: bool) -> Result<Value, Error> {
    let (mut seconds, mut nanos, mut any) = (0, 0, false);
    let mut reader = Reader::new(value.bytes()?);
    while let Some((number, value)) = reader.next()? {
        any = true;
        match number {
            1 => seconds = value.number()?.cast_signed(),
            2 => nanos = i32::try_from(value.number()?).unwrap_or_default(),
            _ => {}
        }
    }
    if !any {
        return Ok(Value::Null);
    }
    let at = jiff::Timestamp::new(seconds, nanos).map_err(|_| Error::Malformed)?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(at.strftime(format).to_string().into())
}

fn duration(value: Wire<'_>) -> Result<Value, Error> {
    let nanos = first(value)?.map_or(Ok(0), |v| v.number())?.cast_signed();
    Ok(format!("{}s", nanos as f64 / 1e9).into())
}

/// One value on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    pub(crate) fn number(self) -> Result<u64, Error> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(Error::Malformed),
        }
    }

    pub(crate) fn bytes(self) -> Result<&'a [u8], Error> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(Error::Malformed),
        }
    }

    pub(crate) fn text(self) -> Result<String, Error> {
        String::from_utf8(self.bytes()?.to_vec()).map_err(|_| Error::Malformed)
    }
}

pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next field's number and value.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Wire<'a>)>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Number(self.fixed::<8>().map(u64::from_le_bytes)?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Error::Malformed)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Number(self.fixed::<4>().map(|b| u64::from(u32::from_le_bytes(b)))?),
            _ => return Err(Error::Malformed),
        };
        Ok(Some((tag >> 3, value)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (head, rest) = self.0.split_at_checked(length).ok_or(Error::Malformed)?;
        self.0 = rest;
        Ok(head)
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        self.take(N)?.try_into().map_err(|_| Error::Malformed)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first().ok_or(Error::Malformed)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::Malformed)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        out.extend(bytes);
        out
    }

    fn body(kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, b"v1"), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    #[test]
    fn a_secret_is_decoded_with_its_zero_values_left_out() {
        let metadata = [field(1, b"s"), field(2, b"")].concat();
        let data = field(2, &[field(1, b"k"), field(2, b"v")].concat());
        let raw = [field(1, &metadata), data, field(3, b"Opaque")].concat();
        let secret = decode(&Schema::builtin(), &body("Secret", &raw)).unwrap();
        assert_eq!(
            secret,
            serde_json::json!({
                "kind": "Secret", "apiVersion": "v1", "metadata": { "name": "s" }, "data": { "k": "dg==" }, "type": "Opaque",
            })
        );
    }

    #[test]
    fn hostile_bytes_are_errors() {
        let schema = Schema::builtin();
        assert_eq!(decode(&schema, b"{}"), Err(Error::Prefix));
        assert!(matches!(decode(&schema, &body("Nope", b"")), Err(Error::UnknownKind { .. })));
        for raw in [&[0x0a, 0xff][..], &[0xff; 20], &[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f], &[0x0b]] {
            assert!(decode(&schema, &body("Secret", raw)).is_err(), "{raw:?}");
        }
    }
}
