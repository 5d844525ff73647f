//! The one peer of a command that may reach hosts: a listener on the loopback of its own network namespace.
//!
//! It is handed to the host, which accepts there and decides what is reached. Nothing else is in that namespace.

use crate::status::Status;
use crate::sys;
use std::net::{Ipv4Addr, TcpListener};

/// The port on which the host listens; nobody else is there to have taken it.
pub const PORT: u16 = 3128;

/// What programs look for when they want a proxy.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("http_proxy", "http://127.0.0.1:3128"),
    ("https_proxy", "http://127.0.0.1:3128"),
    ("HTTP_PROXY", "http://127.0.0.1:3128"),
    ("HTTPS_PROXY", "http://127.0.0.1:3128"),
    ("ALL_PROXY", "http://127.0.0.1:3128"),
];

/// Brings up the loopback of this network namespace and hands a listener on it to the host.
pub fn open(status: &Status) -> Result<(), String> {
    sys::bring_up_loopback().map_err(|e| format!("there is no loopback inside ({e})"))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))
        .map_err(|e| format!("nobody can listen on the loopback inside ({e})"))?;
    status.listening(&listener)
}
