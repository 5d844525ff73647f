//! Makes one program of all rules about system calls, in which the kernel finds a call's rule by halving.
//!
//! The kernel reads, checks and translates a filter at each start of a command, and runs it for each number there is to
//! learn what it allows whatever the arguments are. A chain of comparisons costs it the most of a start; this does not.

use seccompiler::{BpfProgram, sock_filter};
use std::collections::BTreeMap;

/// What one argument of a call must be, in its lower 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// This.
    Is(u32),
    /// Anything else.
    Not(u32),
    /// Something with any of these bits set.
    Has(u32),
    /// Something whose bits under the first are not the second.
    OtherUnder(u32, u32),
}

/// A test and the number of the argument.
pub type Condition = (u8, Test);

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is answered with this error.
    Error(i32),
    /// It is answered with this error when all conditions of one of the lists hold.
    ErrorWhen(i32, Vec<Vec<Condition>>),
}

/// What becomes of calls by their number. What is not in it is left.
pub type Fates = BTreeMap<i64, Fate>;

/// Where a filter finds the number, the kind of machine, and the first argument; arguments have eight bytes each.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// The kind of machine that calls are numbered for. Calls of another end the process.
#[cfg(target_arch = "x86_64")]
const OURS: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OURS: u32 = 0xc000_00b7;
#[cfg(target_arch = "riscv64")]
const OURS: u32 = 0xc000_00f3;

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const AND: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_LEAST: u32 = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
const IF_BITS: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Makes a program. Calls with a higher number than the last one known are answered with this error.
pub fn program(fates: &Fates, last_known: u32, beyond: i32) -> BpfProgram {
    let mut program = vec![
        step(LOAD, MACHINE),
        branch(IF_EQUAL, OURS, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER),
    ];
    program.extend(halves(&ranges(fates, last_known, beyond)));
    program
}

/// A first number, and what becomes of all calls from it to the next range.
type Range = (u32, Option<Fate>);

fn ranges(fates: &Fates, last_known: u32, beyond: i32) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for number in 0..=last_known {
        let fate = fates.get(&i64::from(number)).cloned();
        if ranges.last().is_none_or(|(_, before)| *before != fate) {
            ranges.push((number, fate));
        }
    }
    ranges.push((last_known.saturating_add(1), Some(Fate::Error(beyond))));
    ranges
}

/// Finds the range of the number that was loaded. Each level halves what is left, so there are few.
fn halves(ranges: &[Range]) -> BpfProgram {
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    let Some((first, fate)) = upper.first() else { return vec![answer(libc::EPERM)] };
    if lower.is_empty() {
        return outcome(fate.as_ref());
    }
    let (below, above) = (halves(lower), halves(upper));
    let mut program = match u8::try_from(below.len()) {
        Ok(length) => vec![branch(IF_LEAST, *first, length, 0)],
        // Only jumps without a condition reach so far.
        Err(_) => vec![branch(IF_LEAST, *first, 0, 1), step(JUMP, below.len() as u32)],
    };
    program.extend(below);
    program.extend(above);
    program
}

fn outcome(fate: Option<&Fate>) -> BpfProgram {
    let allow = step(RETURN, libc::SECCOMP_RET_ALLOW);
    match fate {
        None => vec![allow],
        Some(Fate::Error(error)) => vec![answer(*error)],
        Some(Fate::ErrorWhen(error, any)) => {
            let mut program: BpfProgram = any.iter().flat_map(|all| rule(all, *error)).collect();
            program.push(allow);
            program
        }
    }
}

/// Answers with an error when all conditions hold, and goes on behind itself when one does not.
fn rule(conditions: &[Condition], error: i32) -> BpfProgram {
    let mut program = vec![answer(error)];
    // From the last to the first, so that each knows how far the end of the rule is.
    for (argument, test) in conditions.iter().rev() {
        // Rules have a handful of conditions; one that were too long for its jumps would always hold, and refuse.
        let out = u8::try_from(program.len()).unwrap_or(0);
        let mut one = vec![step(LOAD, ARGUMENTS + 8 * u32::from(*argument))];
        one.extend(match *test {
            Test::Is(value) => vec![branch(IF_EQUAL, value, 0, out)],
            Test::Not(value) => vec![branch(IF_EQUAL, value, out, 0)],
            Test::Has(bit) => vec![branch(IF_BITS, bit, 0, out)],
            Test::OtherUnder(mask, value) => vec![step(AND, mask), branch(IF_EQUAL, value, out, 0)],
        });
        one.extend(program);
        program = one;
    }
    program
}

fn answer(error: i32) -> sock_filter {
    step(RETURN, libc::SECCOMP_RET_ERRNO | error as u32)
}

fn step(code: u32, k: u32) -> sock_filter {
    branch(code, k, 0, 0)
}

fn branch(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Runs a program as the kernel does, on a call of this machine or another.
    fn ran(program: &[sock_filter], machine: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let (mut at, mut a) = (0usize, 0u32);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            let jump = |yes: bool| usize::from(if yes { jt } else { jf });
            match u32::from(code) {
                LOAD => {
                    a = match k {
                        NUMBER => number,
                        MACHINE => machine,
                        k => {
                            let argument = arguments[((k - ARGUMENTS) / 8) as usize];
                            if (k - ARGUMENTS).is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
                        }
                    }
                }
                AND => a &= k,
                IF_EQUAL => at += jump(a == k),
                IF_LEAST => at += jump(a >= k),
                IF_BITS => at += jump(a & k != 0),
                JUMP => at += k as usize,
                RETURN => return k,
                other => panic!("no such step: {other:#x}"),
            }
        }
    }

    /// Says the same of a call in the plainest way.
    fn meant(fates: &Fates, last_known: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let error = |error: i32| libc::SECCOMP_RET_ERRNO | error as u32;
        if number > last_known {
            return error(libc::ENOSYS);
        }
        let holds = |(argument, test): &Condition| {
            let value = arguments[usize::from(*argument)] as u32;
            match *test {
                Test::Is(other) => value == other,
                Test::Not(other) => value != other,
                Test::Has(bits) => value & bits != 0,
                Test::OtherUnder(mask, other) => value & mask != other,
            }
        };
        match fates.get(&i64::from(number)) {
            None => libc::SECCOMP_RET_ALLOW,
            Some(Fate::Error(known)) => error(*known),
            Some(Fate::ErrorWhen(known, any)) if any.iter().any(|all| all.iter().all(holds)) => error(*known),
            Some(Fate::ErrorWhen(..)) => libc::SECCOMP_RET_ALLOW,
        }
    }

    /// Compares a program with what its rules say, on every call and on arguments at the edges of every rule.
    pub fn check(fates: &Fates, last_known: u32) {
        let program = program(fates, last_known, libc::ENOSYS);
        let mut edges = vec![0u32, 1, u32::MAX];
        for fate in fates.values() {
            if let Fate::ErrorWhen(_, any) = fate {
                for (_, test) in any.iter().flatten() {
                    match *test {
                        Test::Is(value) | Test::Not(value) | Test::Has(value) => {
                            edges.extend([value, value ^ 1, !value])
                        }
                        Test::OtherUnder(mask, value) => edges.extend([value, mask, mask ^ value, !mask | value]),
                    }
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        for number in (0..last_known + 9).chain([0x4000_0000, 0x4000_0029, u32::MAX]) {
            for first in &edges {
                for second in &edges {
                    // The upper halves count for nothing.
                    let [a, b] = [u64::from(*first) | 1 << 40, u64::from(*second)];
                    for arguments in [[a, b, a, b, a, b], [b, b, a, a, b, b]] {
                        let said = ran(&program, OURS, number, arguments);
                        assert_eq!(said, meant(fates, last_known, number, arguments), "{number} {arguments:x?}");
                    }
                }
            }
        }
        let foreign = ran(&program, 0x4000_0003, 1, [0; 6]);
        assert_eq!(foreign, libc::SECCOMP_RET_KILL_PROCESS, "calls of another machine");
    }

    #[test]
    fn rules_of_every_shape_hold() {
        use Test::{Has, Is, Not, OtherUnder};
        let when = |any: &[&[Condition]]| Fate::ErrorWhen(libc::EPERM, any.iter().map(|all| all.to_vec()).collect());
        let fates = Fates::from([
            (0, Fate::Error(libc::EPERM)),
            (3, when(&[&[(0, Is(7))], &[(1, Not(9)), (2, Has(0x30))]])),
            (4, when(&[&[(5, OtherUnder(0xf, 1))]])),
            (40, when(&[&[(0, Not(1)), (1, Not(2)), (2, Not(3)), (3, Not(4)), (4, Not(5)), (5, Not(6))]])),
            (41, Fate::Error(libc::ENOSYS)),
            (42, Fate::Error(libc::ENOSYS)),
            (60, when(&[])),
        ]);
        check(&fates, 60);
        check(&Fates::new(), 5);
        // Far enough apart that no short jump reaches.
        check(&(0..200).map(|n| (2 * n, Fate::Error(libc::EPERM))).collect(), 450);
    }
}
