//! A memex of any size that is the same in every run: headings of about 1 kB with Latin, Chinese, Japanese and Thai text,
//! whose words are as unevenly spread as those of a language; and 200 questions for it.

/// Headings in one file.
pub const HEADINGS_A_FILE: usize = 50;
/// How many different Latin words there are.
const VOCABULARY: u64 = 200_000;
/// Bytes of a heading, about.
const HEADING_BYTES: usize = 1000;

struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Dice {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..4 {
            dice.throw();
        }
        dice
    }

    fn throw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `most`; low ones come often, each tenfold as often as ten times it.
    fn zipf(&mut self, most: u64) -> u64 {
        let part = (self.throw() >> 11) as f64 / (1u64 << 53) as f64;
        (((most as f64).powf(part)) as u64).saturating_sub(1).min(most - 1)
    }
}

/// The word of a rank; frequent words are short.
fn word(rank: u64) -> String {
    const BEGIN: [&str; 20] =
        ["b", "br", "c", "d", "f", "g", "gr", "h", "j", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v", "w"];
    const MIDDLE: [&str; 10] = ["a", "e", "i", "o", "u", "ai", "ea", "oa", "ou", "y"];
    let (mut text, mut left) = (String::new(), rank + 3);
    while left > 0 {
        text.push_str(BEGIN[(left % 20) as usize]);
        left /= 20;
        text.push_str(MIDDLE[(left % 10) as usize]);
        left /= 10;
    }
    text.push_str(["n", "r", "l", "t", "m"][(rank % 5) as usize]);
    text
}

fn sign(from: char, rank: u64) -> char {
    char::from_u32(from as u32 + rank as u32).unwrap_or(from)
}

fn unspaced(dice: &mut Dice, script: u64, signs: usize) -> String {
    let one = |dice: &mut Dice| match script {
        0 => sign('\u{4e00}', dice.zipf(3_000)),
        1 if dice.throw().is_multiple_of(2) => sign('\u{3042}', dice.zipf(80)),
        1 => sign('\u{5000}', dice.zipf(2_000)),
        _ => sign('\u{0e01}', dice.zipf(46)),
    };
    (0..signs).map(|_| one(dice)).collect()
}

/// The title and the body of a heading.
pub fn heading(number: u64) -> (String, String) {
    let dice = &mut Dice::new(number + 1);
    let mut title = format!("{} {}", word(dice.zipf(VOCABULARY)), word(dice.zipf(VOCABULARY)));
    let mut body = String::with_capacity(HEADING_BYTES + 80);
    // One heading in eight is Chinese, Japanese or Thai.
    if number % 8 == 7 {
        let script = number / 8 % 3;
        title.push_str(&unspaced(dice, script, 6));
        while body.len() < HEADING_BYTES {
            let signs = 8 + (dice.throw() % 20) as usize;
            body.push_str(&unspaced(dice, script, signs));
            body.push_str(if script == 2 { " " } else { "。" });
        }
    } else {
        title.push(' ');
        title.push_str(&word(dice.zipf(VOCABULARY)));
        while body.len() < HEADING_BYTES {
            body.push_str(&word(dice.zipf(VOCABULARY)));
            body.push_str(if dice.throw().is_multiple_of(12) { ".\n" } else { " " });
        }
        // A word that stands nowhere else.
        body.push_str(&format!("key{number}"));
    }
    body.push('\n');
    (title, body)
}

/// The text of a file.
pub fn file(number: usize) -> String {
    let mut text = format!("#+TITLE: File {number}\n");
    for at in 0..HEADINGS_A_FILE {
        let (title, body) = heading((number * HEADINGS_A_FILE + at) as u64);
        let stars = if at % 5 == 0 { "*" } else { "**" };
        text.push_str(&format!("{stars} {title}\n{body}"));
    }
    text
}

/// Two hundred questions: one to four words, frequent and rare, Latin and not.
pub fn questions() -> Vec<String> {
    let dice = &mut Dice::new(4_711);
    let one = |dice: &mut Dice, kind: u64| match kind {
        0 => word(dice.throw() % 20),
        1 => word(100 + dice.throw() % 2_000),
        2 => word(20_000 + dice.throw() % 100_000),
        3 => format!("key{}", dice.throw() % 10_000),
        4 => unspaced(dice, 0, 2),
        5 => unspaced(dice, 1, 3),
        6 => unspaced(dice, 2, 4),
        _ => word(dice.zipf(VOCABULARY)),
    };
    let mut ask = |number: u64| {
        let words = 1 + number % 4;
        let kinds = number / 4;
        let words: Vec<String> = (0..words).map(|at| one(dice, (kinds + at * 3) % 8)).collect();
        words.join(" ")
    };
    (0..200).map(&mut ask).collect()
}
