//! Frames of HTTP/2 as no library writes them: for clients that keep no rule of theirs.
//!
//! Never reads one.

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
/// The largest frame that nobody has to agree to.
const LARGEST: usize = 16_384;

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// What a connection begins with.
pub fn preface() -> Vec<u8> {
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), settings()].concat()
}

/// The fields of a POST of JSON, in HPACK: of its static table, and texts as they are.
pub fn head(path: &str) -> Vec<u8> {
    let text = |text: &str| [&[u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    // :method POST, :scheme https, :path, :authority, content-type
    [vec![0x83, 0x87, 0x04], text(path), vec![0x01], text("localhost"), vec![0x0f, 0x10], text("application/json")]
        .concat()
}

/// A request whose body is still to come.
pub fn headers(stream: u32, head: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, head)
}

/// A request whose head goes on.
pub fn open_headers(stream: u32, head: &[u8]) -> Vec<u8> {
    frame(HEADERS, 0, stream, head)
}

/// More of a head, and not the last: fields that are called `x` and have long values.
pub fn continuation(stream: u32) -> Vec<u8> {
    // Without a place in the table, a new name of one byte; a length of 127 and as much as these bytes add.
    let value = LARGEST - 6;
    let rest = value - 127;
    let length = [0x7f, (rest % 128) as u8 | 0x80, (rest / 128) as u8];
    let payload = [&[0x00, 0x01, b'x'][..], &length, &vec![b'v'; value]].concat();
    frame(CONTINUATION, 0, stream, &payload)
}

/// Some of a body.
pub fn data(stream: u32) -> Vec<u8> {
    frame(DATA, 0, stream, &[b' '; 4096])
}

/// The request is taken back.
pub fn reset(stream: u32) -> Vec<u8> {
    const CANCEL: [u8; 4] = [0, 0, 0, 8];
    frame(RST_STREAM, 0, stream, &CANCEL)
}

/// Asks for a sign of life.
pub fn ping() -> Vec<u8> {
    frame(PING, 0, 0, b"hostile!")
}

/// No wishes, to be acknowledged.
pub fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}
