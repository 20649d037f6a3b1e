//! The frames that host and worker exchange: length, tag, payload.
//!
//! A payload that is longer than allowed is not read.

use std::io::{self, Read, Write};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use crate::filter::jq::{FilterError, MAX_RESULT, Outputs};

/// The longest payload: a result and its error texts, or an object. etcd limits an object to 1.5 MiB unless it is
/// configured otherwise.
const MAX_PAYLOAD: usize = 16 * 1024 * 1024;

/// The type of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// Host → worker, first: the limits and the program.
    Program = 1,
    /// Host → worker: an object.
    Object = 2,
    /// Worker → host: the program is compiled.
    Ready = 3,
    /// Worker → host: a result, one value on each line.
    Outputs = 4,
    /// Worker → host: the program raised an error.
    ProgramError = 5,
    /// Worker → host: the object cannot be read.
    InputError = 6,
    /// Worker → host: the result is too large.
    TooLarge = 7,
    /// Worker → host: the result is not JSON.
    NotJson = 8,
    /// Worker → host: jaq panicked.
    Crashed = 9,
}

impl Tag {
    fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Program,
            Self::Object,
            Self::Ready,
            Self::Outputs,
            Self::ProgramError,
            Self::InputError,
            Self::TooLarge,
            Self::NotJson,
            Self::Crashed,
        ]
        .into_iter()
        .find(|tag| *tag as u8 == byte)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub tag: Tag,
    pub payload: Vec<u8>,
}

const HEAD: usize = 5;

impl Frame {
    pub fn text(tag: Tag, text: &str) -> Self {
        Self { tag, payload: text.as_bytes().to_vec() }
    }

    pub fn into_text(self) -> io::Result<String> {
        String::from_utf8(self.payload).map_err(|_| malformed("text that is not UTF-8"))
    }

    fn head(&self) -> io::Result<[u8; HEAD]> {
        let length = u32::try_from(self.payload.len()).map_err(|_| malformed("a payload over 4 GiB"))?;
        let [a, b, c, d] = length.to_le_bytes();
        Ok([a, b, c, d, self.tag as u8])
    }

    fn parse_head(head: [u8; HEAD]) -> io::Result<(Tag, usize)> {
        let [a, b, c, d, tag] = head;
        let tag = Tag::from_byte(tag).ok_or_else(|| malformed("an unknown tag"))?;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        if length > MAX_PAYLOAD {
            return Err(malformed("a payload that is too long"));
        }
        Ok((tag, length))
    }

    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.head()?)?;
        to.write_all(&self.payload)?;
        to.flush()
    }

    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head)?;
        let (tag, length) = Self::parse_head(head)?;
        let mut payload = vec![0; length];
        from.read_exact(&mut payload)?;
        Ok(Self { tag, payload })
    }

    pub async fn send(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEAD + self.payload.len());
        bytes.extend(self.head()?);
        bytes.extend(&self.payload);
        to.write_all(&bytes).await?;
        to.flush().await
    }

    pub async fn receive(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut head = [0; HEAD];
        from.read_exact(&mut head).await?;
        let (tag, length) = Self::parse_head(head)?;
        let mut payload = vec![0; length];
        from.read_exact(&mut payload).await?;
        Ok(Self { tag, payload })
    }

    /// The answer to an object.
    pub fn from_result(result: Result<Outputs, FilterError>) -> Self {
        match result {
            Ok(outputs) => Self::text(Tag::Outputs, &outputs.to_lines()),
            Err(FilterError::Program(text)) => Self::text(Tag::ProgramError, &text),
            Err(FilterError::Input(text)) => Self::text(Tag::InputError, &text),
            Err(FilterError::TooLarge(_)) => Self::text(Tag::TooLarge, ""),
            Err(FilterError::NotJson(text)) => Self::text(Tag::NotJson, &text),
            Err(FilterError::Crashed(text)) => Self::text(Tag::Crashed, &text),
            Err(other) => Self::text(Tag::Crashed, &other.to_string()),
        }
    }

    /// The result that the answer stands for.
    pub fn into_result(self) -> Result<Outputs, FilterError> {
        let tag = self.tag;
        let text = self.into_text().map_err(FilterError::Worker)?;
        Err(match tag {
            Tag::Outputs => return Ok(Outputs::from_lines(&text)),
            Tag::ProgramError => FilterError::Program(text),
            Tag::InputError => FilterError::Input(text),
            Tag::TooLarge => FilterError::TooLarge(MAX_RESULT),
            Tag::NotJson => FilterError::NotJson(text),
            Tag::Crashed => FilterError::Crashed(text),
            Tag::Program | Tag::Object | Tag::Ready => FilterError::Worker(malformed("an answer that is none")),
        })
    }
}

/// An error for a frame that breaks the rules.
pub fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the filter worker's stream has {what}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[tokio::test]
    async fn frames_travel_both_ways() {
        let frame = Frame::text(Tag::Object, "{}");
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        assert_eq!(Frame::receive(&mut bytes.as_slice()).await.unwrap(), frame);
        let mut sent = Vec::new();
        frame.send(&mut sent).await.unwrap();
        assert_eq!(sent, bytes);
        assert_eq!(Frame::read(&mut bytes.as_slice()).unwrap(), frame);
        for end in 0..bytes.len() {
            assert!(Frame::read(&mut bytes.get(..end).unwrap()).is_err());
        }
    }

    #[test]
    fn long_and_unknown_frames_are_refused_before_reading_on() {
        assert!(Frame::read(&mut [0xff, 0xff, 0xff, 0xff, 2].as_slice()).is_err());
        assert!(Frame::read(&mut [0, 0, 0, 0, 77].as_slice()).is_err());
    }

    #[test]
    fn every_answer_comes_back_as_it_was() {
        let lines = Outputs::from_lines("1\n{\"a\":2}");
        assert_eq!(Frame::from_result(Ok(lines.clone())).into_result().unwrap(), lines);
        assert_eq!(Frame::from_result(Ok(Outputs::default())).into_result().unwrap(), Outputs::default());
        for error in [
            FilterError::Program("p".into()),
            FilterError::Input("i".into()),
            FilterError::TooLarge(MAX_RESULT),
            FilterError::NotJson("n".into()),
            FilterError::Crashed("c".into()),
        ] {
            let text = error.to_string();
            assert_eq!(Frame::from_result(Err(error)).into_result().unwrap_err().to_string(), text);
        }
    }
}
