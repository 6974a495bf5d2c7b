//! Text in UTF-16, read as UTF-8.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};

const BUFFER: usize = 16 * 1024;

/// The encoding of a text that is in UTF-16: by its byte order mark, or because its first
/// characters are all ASCII with a zero byte at the same side, as no other text is.
pub(super) fn of_bytes(start: &[u8]) -> Option<&'static Encoding> {
    let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let pairs = || start.chunks_exact(2);
    match start {
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xff, 0xfe, ..] => Some(UTF_16LE),
        [0xfe, 0xff, ..] => Some(UTF_16BE),
        _ if start.len() < 8 => None,
        _ if pairs().all(|pair| is_text(pair[0]) && pair[1] == 0) => Some(UTF_16LE),
        _ if pairs().all(|pair| is_text(pair[1]) && pair[0] == 0) => Some(UTF_16BE),
        _ => None,
    }
}

/// Gives the text of an input in UTF-8, without its byte order mark.
pub(super) struct Transcoder<R> {
    input: R,
    decoder: Decoder,
    /// Bytes of the input that are not decoded yet: `bytes[start..filled]`.
    bytes: Box<[u8]>,
    start: usize,
    filled: usize,
    at_end: bool,
    is_done: bool,
    /// Bytes of the input that were decoded.
    offset: u64,
    /// Text that is not given out yet: `text[given..written]`.
    text: Box<[u8]>,
    given: usize,
    written: usize,
}

impl<R: Read> Transcoder<R> {
    pub(super) fn new(input: R, encoding: &'static Encoding) -> Transcoder<R> {
        Transcoder {
            input,
            decoder: encoding.new_decoder_with_bom_removal(),
            bytes: vec![0; BUFFER].into(),
            start: 0,
            filled: 0,
            at_end: false,
            is_done: false,
            offset: 0,
            text: vec![0; BUFFER].into(),
            given: 0,
            written: 0,
        }
    }

    fn decode(&mut self) -> io::Result<()> {
        if self.start == self.filled && !self.at_end {
            self.filled = self.input.read(&mut self.bytes)?;
            self.start = 0;
            self.at_end = self.filled == 0;
        }
        let bytes = &self.bytes[self.start..self.filled];
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.text, self.at_end);
        self.start += read;
        self.offset += read as u64;
        (self.given, self.written) = (0, written);
        match result {
            DecoderResult::InputEmpty => self.is_done = self.at_end,
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                let message = format!("byte {}: not UTF-16, as what stands before it", self.offset);
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.given == self.written && !self.is_done && !out.is_empty() {
            self.decode()?;
        }
        let count = out.len().min(self.written - self.given);
        out[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn utf16(text: &str, little: bool) -> Vec<u8> {
        let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    /// C-D11: both byte orders, with and without a mark; characters outside the basic plane.
    #[test]
    fn utf16_is_recognised_and_read() {
        let text =
            format!("8/8/8/4k3/8/1K6/8/8 b - - c0 \"{}\u{1d11e}é\";\r\n", "x".repeat(40_000));
        for little in [true, false] {
            for mark in ["", "\u{feff}"] {
                let bytes = utf16(&format!("{mark}{text}"), little);
                let encoding = of_bytes(&bytes[..16]).unwrap();
                let mut read = String::new();
                Transcoder::new(&bytes[..], encoding).read_to_string(&mut read).unwrap();
                assert_eq!(read, text);
            }
        }
        for other in [&b"8/8/8/4k3/8/1K6/8"[..], b"\xff\xfe\0\0", b"8\0", b"\xef\xbb\xbf8/8/8", b""]
        {
            assert_eq!(of_bytes(other), None);
        }
    }

    #[test]
    fn half_a_character_is_an_error() {
        for bytes in [&b"8\0/\0\0\xd8x\0"[..], b"8\0/"] {
            let error = Transcoder::new(bytes, UTF_16LE).read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
