//! Decompression of the members of a gzip file, and the bytes after the last member.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::notes::Notes;
use epdb_chess::error::At;
use epdb_chess::text::{Diagnostic, codes};

/// The first bytes of a member.
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// The compressed bytes, of which the first can be given back.
struct Input {
    returned: Vec<u8>,
    bytes: BufReader<Box<dyn Read + Send>>,
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = self.fill_buf()?.read(out)?;
        self.consume(len);
        Ok(len)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.returned.is_empty() { self.bytes.fill_buf() } else { Ok(&self.returned) }
    }

    fn consume(&mut self, len: usize) {
        if self.returned.is_empty() {
            self.bytes.consume(len)
        } else {
            drop(self.returned.drain(..len))
        }
    }
}

/// The decompressed members of a gzip file.
///
/// Padding of zeros may follow each member, as tapes and disk images have it. Other bytes after the
/// last member are left out with a warning, but only if they are certainly not a damaged member. A
/// damaged member must not be left out, so all bytes that resemble a member are an error.
pub(super) struct GzipMembers {
    state: State,
    notes: Notes,
}

enum State {
    Member(Box<GzDecoder<Input>>),
    /// After a member.
    Between(Input),
    End,
}

impl GzipMembers {
    /// Reads members; if `is_after_member`, the input begins after a member.
    pub(super) fn new(input: Box<dyn Read + Send>, is_after_member: bool, notes: Notes) -> Self {
        let input = Input { returned: Vec::new(), bytes: BufReader::with_capacity(1 << 15, input) };
        let state = if is_after_member {
            State::Between(input)
        } else {
            State::Member(Box::new(GzDecoder::new(input)))
        };
        GzipMembers { state, notes }
    }

    fn next(&self, mut input: Input) -> io::Result<State> {
        let zeros = skip_zeros(&mut input)?;
        let mut start = Vec::new();
        input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start)?;
        if start.is_empty() {
            return Ok(State::End);
        }
        if start == MAGIC {
            input.returned = start;
            return Ok(State::Member(Box::new(GzDecoder::new(input))));
        }
        let resembles_member = start[0] == MAGIC[0] || start.get(1) == Some(&MAGIC[1]);
        let mut trailing = Trailing { count: 0, tail: Vec::new(), has_member: false };
        trailing.add(&start);
        io::copy(&mut input, &mut trailing)?;
        if resembles_member || zeros > 0 || trailing.has_member {
            let what = "the bytes after a member are not a member";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let message = match trailing.count {
            1 => "1 byte after the gzip data is not gzip data: it is left out".to_string(),
            count => {
                format!("{count} bytes after the gzip data are not gzip data: they are left out")
            }
        };
        self.notes.add(At::Whole, Diagnostic::warning(codes::W_SOURCE_TRAILING, 1, message));
        Ok(State::End)
    }
}

impl Read for GzipMembers {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                State::Member(decoder) => {
                    let len = decoder.read(out)?;
                    if len > 0 || out.is_empty() {
                        return Ok(len);
                    }
                }
                State::Between(_) => {}
                State::End => return Ok(0),
            }
            self.state = match std::mem::replace(&mut self.state, State::End) {
                State::Member(decoder) => State::Between(decoder.into_inner()),
                State::Between(input) => self.next(input)?,
                State::End => State::End,
            };
        }
    }
}

/// Skips bytes that are zero, and returns their number.
fn skip_zeros(input: &mut Input) -> io::Result<u64> {
    let mut count = 0;
    loop {
        let bytes = input.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let is_over = zeros < bytes.len() || bytes.is_empty();
        input.consume(zeros);
        count += zeros as u64;
        if is_over {
            return Ok(count);
        }
    }
}

/// Bytes that are left out.
struct Trailing {
    count: u64,
    /// The last bytes, which may begin a member.
    tail: Vec<u8>,
    has_member: bool,
}

impl Trailing {
    fn add(&mut self, bytes: &[u8]) {
        self.count += bytes.len() as u64;
        self.tail.extend_from_slice(bytes);
        self.has_member |= memchr::memmem::find(&self.tail, &MAGIC).is_some();
        self.tail.drain(..self.tail.len().saturating_sub(MAGIC.len() - 1));
    }
}

impl io::Write for Trailing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
