//! What reads in one spelling and does more in another, and what takes a parser long to see.

use super::{World, check};

fn passes(cases: &[&str]) {
    check(&World::new(), "shell", "command", "pass", cases);
}

fn stops(cases: &[&str]) {
    check(&World::new(), "shell", "command", "ask|deny", cases);
}

#[test]
fn small_programs_hide_nothing_behind_lines_labels_or_brackets() {
    stops(&[
        "sed -n ':x w copy' README.md",
        "sed 'tx w copy\n:x' README.md",
        "sed -nl 5p '1e id' README.md",
        "sed 'a x\\\\\nw copy' README.md",
        "sed 'i x\\\\\n1e id' README.md",
        "sed -e 'a x\\\\' -e 'w copy' README.md",
        "awk 'BEGIN {print \"a\",\n\"b\" > \"copy\"}'",
        "awk 'BEGIN {print \"a\" ||\n\"b\" > \"copy\"}'",
        "awk '/[]/\"]|h/ {system(\"id\")} /\"/' README.md",
        "gawk 'BEGIN {x = 1; y = x++ / system(\"id\") / 1}'",
        "awk '{if (x) /\"/; print > \"copy\"; z = /\"/}' README.md",
    ]);
    passes(&[
        "sed ':a;N;$!ba;s/\\n/ /g' README.md",
        "sed -e :a -e 's/^.\\{1,10\\}$/ &/;ta' README.md",
        "sed '1a one\\\ntwo' README.md",
        "awk '/[^/]+$/ {n += $1 / 2} END {print n}' README.md",
        "awk '{print $1,\n  $2}' README.md",
    ]);
}

#[test]
fn a_tangle_is_not_parsed_to_its_end() {
    let world = World::new();
    let pieces =
        ["()", ")(", "|!", "<<<", "<", "|", "|&", "(a)", "a<<b ", "a|&&", ">>$", "x=||", "$=;", "||esac>", " &$"];
    for piece in pieces {
        let text = piece.repeat(16 * 1024 / piece.len());
        let shell = passepartout::edge::survey::read_shell(&text, &world.scope);
        let why = shell.scripts.iter().flat_map(|script| &script.unknown).cloned().collect::<Vec<_>>().join(" ");
        assert!(why.contains("too tangled") || why.contains("nested too deeply"), "{piece}: {why}");
        assert!(shell.scripts.iter().all(|script| script.commands.is_empty()), "{piece}");
    }
    // Long, and clear.
    let clear = "echo 'one two three four five six seven eight nine ten'\n".repeat(80);
    check(&world, "shell", "command", "pass", &[&clear, "((1 + 2 > 2)) && (ls | wc -l) || ! (echo a; (echo b))"]);
}
