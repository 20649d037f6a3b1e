//! The protobuf wire format: tags, varints, lengths. It never reads past the end of its bytes.

use super::Error;

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
