//! Random bytes of the system, for what nobody may guess.

use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

/// Where the bytes come from, opened once: who greets a thousand clients a second asks often.
static DEVICE: OnceLock<File> = OnceLock::new();

/// Returns bytes that nobody can know.
///
/// # Errors
/// When the system gives none.
pub fn bytes<const N: usize>() -> std::io::Result<[u8; N]> {
    let mut bytes = [0u8; N];
    let mut device = match DEVICE.get() {
        Some(device) => device,
        None => {
            let opened = File::open("/dev/urandom")?;
            DEVICE.get_or_init(|| opened)
        }
    };
    device.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Returns bytes as lower-case hexadecimal digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
