//! The explorer in WebAssembly, for pages without a server. `reader.js` is its other half.
//!
//! The host calls [`input`] for a buffer, writes a request in JSON and the bytes that belong to it, and calls
//! [`call`]. [`output`] has the answer. A file of the host is never read here: if bytes of it are missing, the
//! answer lists them (`request::NEEDS`), and the host gives them and repeats its request.
#![cfg(target_family = "wasm")]

mod files;
mod host;
mod open;
mod request;
#[cfg(feature = "tally")]
mod tally;

use std::cell::RefCell;
use std::panic;

use request::State;

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a request of `len` bytes, and returns its place.
#[allow(unsafe_code)]
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn input(len: u32) -> *mut u8 {
    panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the text lives until the host returns.
        unsafe { host::panicked(text.as_ptr(), text.len() as u32) };
    }));
    INPUT.with_borrow_mut(|input| {
        *input = vec![0; len as usize];
        input.as_mut_ptr()
    })
}

/// Answers the request in the input: `text_len` bytes of JSON, then other bytes. Returns the status.
#[allow(unsafe_code)]
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn call(text_len: u32) -> u32 {
    let mut text = INPUT.take();
    let bytes = text.split_off(text.len().min(text_len as usize));
    // Else the memory of a file would be taken twice.
    text.shrink_to_fit();
    let answer = STATE.with_borrow_mut(|state| state.answer(&text, bytes));
    OUTPUT.set(answer.body);
    answer.status
}

/// The place of the answer of the last call.
#[allow(unsafe_code)]
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    OUTPUT.with_borrow(|output| output.as_ptr())
}

/// Length in bytes of the answer of the last call.
#[allow(unsafe_code)]
// SAFETY: no other function of the module has this name.
#[unsafe(no_mangle)]
pub extern "C" fn output_len() -> u32 {
    OUTPUT.with_borrow(|output| output.len() as u32)
}
