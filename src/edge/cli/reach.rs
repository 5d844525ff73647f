//! `passepartout reach`: a connection by TLS to a core on another machine, on standard input and output.
//!
//! It makes sure of the core by its fingerprint and shows its own key. What travels is not understood here: the program
//! at the other end of the pipe knows the cookie, and this one does not.

use crate::edge::cli::clients::folder;
use crate::edge::cli::run::{DONE, Failure};
use crate::edge::cli::session::block_on;
use crate::edge::peers::greeting::PATIENCE;
use crate::edge::peers::lineage::not_started_by_us;
use crate::edge::peers::tls::{Fingerprint, Key, bound_client};
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// Bytes that are handed on at a time.
const PIECE: usize = 64 * 1024;
/// So many pieces wait at most.
const WAITING: usize = 4;
/// The stack of the thread that reads.
const STACK: usize = 256 * 1024;

/// Connects; the first line that is printed is what proofs over this connection are bound to.
///
/// # Errors
/// When nobody listens there, another key answers, or this one is not let in.
pub(super) fn run_reach(
    (address, core): (&str, &str),
    store: Option<PathBuf>,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    not_started_by_us(std::process::id()).map_err(|why| format!("nothing is reached from here: {why}"))?;
    let core = Fingerprint::read(core);
    let core = core.ok_or("--core takes 64 hexadecimal digits; on that machine, passepartout clients shows them")?;
    let key = Key::kept(&folder(store)?)?;
    block_on(async {
        let late = |_| format!("{address} did not answer within 5 seconds");
        let connecting = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await.map_err(late)?;
        let stream = connecting.map_err(|why| format!("{address}: {why}"))?;
        // Small messages go at once.
        let _ = stream.set_nodelay(true);
        let secured = tokio::time::timeout(PATIENCE, key.connect(stream, core)).await.map_err(late)?;
        let stream = secured.map_err(|why| format!("{address}: {why}"))?;
        let bound = bound_client(&stream).ok_or("TLS gives nothing that a proof can be bound to")?;
        writeln!(out, "{bound}")?;
        out.flush()?;
        let (mut from, mut to) = tokio::io::split(stream);
        let mut typed = typed()?;
        let left = Arc::new(AtomicBool::new(false));
        let leaving = left.clone();
        let going = tokio::spawn(async move {
            while let Some(piece) = typed.recv().await {
                to.write_all(&piece).await?;
                to.flush().await?;
            }
            leaving.store(true, Ordering::Release);
            to.shutdown().await
        });
        let mut piece = vec![0; PIECE];
        let coming = async {
            loop {
                match from.read(&mut piece).await {
                    Ok(0) => return Ok(DONE),
                    // Whether a message was cut off is seen by who reads them; and who has said that it goes wants no more.
                    Err(why) if why.kind() == ErrorKind::UnexpectedEof => return Ok(DONE),
                    Err(_) if left.load(Ordering::Acquire) => return Ok(DONE),
                    Ok(count) => tokio::task::block_in_place(|| {
                        out.write_all(piece.get(..count).unwrap_or(&[]))?;
                        out.flush()
                    })?,
                    Err(why) if refused(&why) => {
                        let own = key.fingerprint();
                        let text =
                            format!("{address} does not let this key in; there: passepartout clients allow {own} NAME");
                        return Err(text.into());
                    }
                    Err(why) => return Err(format!("{address}: {why}").into()),
                }
            }
        };
        tokio::pin!(coming);
        let sent = tokio::select! {
            ended = &mut coming => return ended,
            sent = going => sent,
        };
        match sent {
            // Nobody is there any more to hear the rest.
            Ok(Ok(())) => Ok(DONE),
            // It broke, and the other end may have said why.
            Ok(Err(_)) | Err(_) => coming.await,
        }
    })
}

/// Returns whether the other end has said no.
fn refused(why: &std::io::Error) -> bool {
    let inner = why.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::AlertReceived(_)))
}

/// Reads standard input in a thread of its own, which nothing waits for: it may be stuck in reading at the end.
fn typed() -> Result<mpsc::Receiver<Vec<u8>>, Failure> {
    let (send, typed) = mpsc::channel(WAITING);
    crate::edge::thread::spawn("reach", STACK, move || {
        let mut input = std::io::stdin().lock();
        loop {
            let mut piece = vec![0; PIECE];
            match input.read(&mut piece) {
                Ok(0) | Err(_) => return,
                Ok(count) => piece.truncate(count),
            }
            if send.blocking_send(piece).is_err() {
                return;
            }
        }
    })?;
    Ok(typed)
}
