//! Functions of the host.
#![allow(unsafe_code)]

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    /// Takes the text of a panic, after which this instance must not be called again.
    pub(crate) fn panicked(text: *const u8, len: u32);
    /// Takes the done part of a request that takes long, from 0 to 1.
    pub(crate) safe fn progress(part: f64);
}
