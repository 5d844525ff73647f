//! What reads in one spelling and does more in another, and what takes a parser long to see.

use super::{World, check};

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
