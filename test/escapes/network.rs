//! Everybody who could be spoken to: on the network, on this machine's sockets, through the kernel.

use crate::inside::Bare::{Open, Varies};
use crate::inside::{Table, Tried, done, failed};
use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixDatagram, UnixStream};
use std::path::Path;

/// Attempts to speak to somebody.
pub const TABLE: Table = &[
    ("speak over TCP", Open, |t| tcp("127.0.0.1", t.number("tcp"))),
    ("speak over TCP to an address of IPv6", Varies, |t| tcp("[::1]", t.number("tcp6"))),
    ("listen on TCP", Open, |_| std::net::TcpListener::bind("127.0.0.1:0").map(drop)),
    ("send a packet over UDP", Open, |t| udp(t.number("udp"), b"escaped")),
    ("ask a name server", Open, |t| {
        udp(t.number("udp"), b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x02hi\x00\x00\x01\x00\x01")
    }),
    ("resolve a name", Open, |_| {
        use std::net::ToSocketAddrs;
        // Only a resolver that was reached, or that reads the file of hosts, answers; the file is allowed to be read.
        ("localhost.localdomain.passepartout.invalid", 1)
            .to_socket_addrs()
            .map(drop)
            .or_else(|_| domain(libc::AF_INET, libc::SOCK_DGRAM))
    }),
    ("send raw packets", Varies, |_| domain(libc::AF_INET, libc::SOCK_RAW)),
    ("send raw frames", Varies, |_| domain(libc::AF_PACKET, libc::SOCK_RAW)),
    ("speak to the kernel over netlink", Open, |_| domain(libc::AF_NETLINK, libc::SOCK_RAW)),
    ("speak to the machine's host over vsock", Varies, |_| domain(libc::AF_VSOCK, libc::SOCK_STREAM)),
    ("use the kernel's ciphers", Varies, |_| domain(libc::AF_ALG, libc::SOCK_SEQPACKET)),
    ("speak to Emacs", Open, |t| unix(&t.at("run/emacs/server"))),
    ("start a unit of systemd", Open, |t| unix(&t.at("run/systemd/private"))),
    ("speak on the session's bus", Open, |t| unix(&t.at("run/bus"))),
    ("speak to the agent of keys", Open, |t| unix(&t.at("run/ssh-agent"))),
    ("speak to docker", Open, |t| unix(&t.at("run/docker.sock"))),
    ("speak to our own socket", Open, |t| unix(&t.at("home/store/socket"))),
    ("speak to a socket of the project", Open, |t| unix(&t.project("socket"))),
    ("speak to an abstract socket", Open, |t| {
        let address = UnixAddr::from_abstract_name(t.text("abstract"))?;
        UnixStream::connect_addr(&address)?.write_all(b"escaped")
    }),
    ("send to a socket of the project", Open, |t| {
        UnixDatagram::unbound()?.send_to(b"escaped", t.project("datagrams")).map(drop)
    }),
    ("send to a socket from a pair", Open, |t| {
        // Half a pair is a socket that nobody had to be asked for.
        let (one, _other) = UnixDatagram::pair()?;
        one.send_to(b"escaped", t.project("datagrams")).map(drop)
    }),
    ("send to a socket from a stream pair", Varies, |t| pair_to(&t.project("datagrams"), libc::SOCK_STREAM)),
    ("send to a socket from a pair of records", Varies, |t| pair_to(&t.project("datagrams"), libc::SOCK_SEQPACKET)),
    ("connect half a pair", Varies, |t| {
        let (one, _other) = UnixStream::pair()?;
        let address = path_address(&t.project("socket"))?;
        let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        // SAFETY: the address is valid and its size is given.
        done(unsafe { libc::connect(std::os::fd::AsRawFd::as_raw_fd(&one), (&raw const address).cast(), length) })
    }),
    ("listen on a Unix socket", Open, |t| std::os::unix::net::UnixListener::bind(t.project("heard")).map(drop)),
    ("make a socket through the ring of the kernel", Varies, |_| {
        crate::inside::entered(libc::SYS_io_uring_setup, &[1, 0])
    }),
    ("make a socket by the calls of 32 bits", Varies, |_| old_socket()),
    ("make a socket by the calls of x32", Varies, |_| {
        // SAFETY: plain numbers; on a processor without these calls it is no call.
        done(unsafe { libc::syscall(0x4000_0000 | libc::SYS_socket, libc::AF_UNIX, libc::SOCK_STREAM, 0) })
    }),
];

fn tcp(host: &str, port: i64) -> Tried {
    let address: SocketAddr = format!("{host}:{port}").parse().unwrap();
    TcpStream::connect(address)?.write_all(b"escaped")
}

fn udp(port: i64, bytes: &[u8]) -> Tried {
    UdpSocket::bind("127.0.0.1:0")?.send_to(bytes, ("127.0.0.1", port as u16)).map(drop)
}

fn unix(path: &Path) -> Tried {
    UnixStream::connect(path)?.write_all(b"escaped")
}

fn domain(domain: i32, kind: i32) -> Tried {
    // SAFETY: plain numbers; the process ends after its attempt.
    done(unsafe { libc::socket(domain, kind, 0) })
}

fn path_address(path: &Path) -> std::io::Result<libc::sockaddr_un> {
    // SAFETY: zero is a valid value of every field.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str());
    if bytes.len() >= address.sun_path.len() {
        return Err(std::io::Error::other("the path is too long"));
    }
    for (place, byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = *byte as libc::c_char;
    }
    Ok(address)
}

fn pair_to(path: &Path, kind: i32) -> Tried {
    let mut ends = [0; 2];
    let address = path_address(path)?;
    let length = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: the call fills both ends; the address is valid and its size is given.
    unsafe {
        done(libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()))?;
        // What is sent over a stream goes to the other end, whoever is named.
        done(libc::sendto(ends[0], b"escaped".as_ptr().cast(), 7, 0, (&raw const address).cast(), length) as i64)?;
        let mut there = [0u8; 7];
        match libc::recv(ends[1], there.as_mut_ptr().cast(), 7, libc::MSG_DONTWAIT) {
            7 => failed("it went to the other end"),
            _ => Ok(()),
        }
    }
}

/// Asks for a socket as a program of 32 bits does.
#[cfg(target_arch = "x86_64")]
fn old_socket() -> Tried {
    let answer: i64;
    // SAFETY: `int 0x80` with plain numbers; all registers that the kernel may change are given as such.
    unsafe {
        std::arch::asm!(
            "push rbx", "mov ebx, 1", "int 0x80", "pop rbx",
            inout("rax") 359i64 => answer, in("rcx") 1i64, in("rdx") 0i64,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _,
        );
    }
    let answer = answer as i32;
    if answer < 0 { Err(std::io::Error::from_raw_os_error(-answer)) } else { Ok(()) }
}

#[cfg(not(target_arch = "x86_64"))]
fn old_socket() -> Tried {
    failed("this processor has none")
}
