//! Reads what a client asks into a question for the engine: its words, the chat so far, and what goes along.

use crate::domain::label::Privacy;
use crate::domain::picture::{MOST, MOST_BYTES};
use crate::domain::sexp::reader::Sexp;
use crate::domain::signal::{Origin, Role, Said};
use crate::domain::turn::earlier::Older;
use crate::edge::engine::presets::Wishes;
use crate::edge::engine::record::read_role;
use crate::edge::engine::turns::{Ask, Attached, PictureSource};
use crate::edge::runtime::lanes::EACH;
use std::path::PathBuf;

/// Reads the user's words with the chat so far.
pub(in crate::edge::runtime) fn asked(origin: Origin, payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Ask {
    let text = payload.text_at("text").unwrap_or("").to_string();
    let folder = folder_in(&origin, payload);
    let (attached, wishes) = (attached_in(payload, blotted), wishes_in(payload));
    let (history, older) = (said_in(payload, blotted), older_in(payload, blotted));
    let pictures = pictures_in(payload);
    Ask { origin, text, history, older, folder, attached, pictures, wishes }
}

/// Returns what a question says of itself. What is no text is no word of it either, and so nothing that can be read.
fn wishes_in(payload: &Sexp) -> Wishes {
    let settings = payload.get("settings");
    let word = |key: &str| settings.and_then(|all| all.get(key)).map(|one| one.as_text().unwrap_or("").to_string());
    Wishes {
        preset: word("preset"),
        model: word("model"),
        tools: word("tools"),
        tokens: word("tokens"),
        dollars: word("usd"),
    }
}

/// So many texts that came along are taken at once.
const MOST_ATTACHED: usize = 64;

/// Returns what came along with the user's words, as a client tells it.
fn attached_in(payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Vec<Attached> {
    let one = |text: &Sexp| {
        let name = text.text_at("name").unwrap_or("a text without a name").to_string();
        let file = text.text_at("file").map(str::to_string);
        Some(Attached { name, file, text: blotted(text.text_at("text")?) })
    };
    payload.list_at("attached").iter().filter_map(one).take(MOST_ATTACHED).collect()
}

/// Returns the pictures that go along with the user's words, as a client names them: one more than may, so that too many are
/// not taken for enough.
fn pictures_in(payload: &Sexp) -> Vec<PictureSource> {
    let text = |picture: &Sexp, key: &str| picture.text_at(key).map(str::to_string);
    let one = |picture: &Sexp| match text(picture, "data") {
        Some(data) => {
            let (name, file) = (text(picture, "name"), text(picture, "file"));
            PictureSource::Inline { name: name.unwrap_or("a picture".to_string()), file, data }
        }
        None => PictureSource::File(text(picture, "file").unwrap_or_default()),
    };
    payload.list_at("pictures").iter().map(one).take(MOST + 1).collect()
}

/// Returns where something was typed: the folder of the project that a client names, or that of its file, where it may name
/// one.
pub(super) fn folder_in(origin: &Origin, payload: &Sexp) -> Option<PathBuf> {
    let of_file = || payload.text_at("file").and_then(|file| PathBuf::from(file).parent().map(PathBuf::from));
    let named = || payload.text_at("project").map(PathBuf::from).or_else(of_file);
    origin.rights.may_name_the_project().then(named).flatten()
}

/// Returns what was said in a chat, as a client tells it.
pub(in crate::edge::runtime) fn said_in(payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Vec<Said> {
    let said = payload.list_at("history").iter().filter_map(|said| {
        let role = match read_role(said.name_at("role")?) {
            // Whatever a chat file claims, a tool's answer does not come from there.
            Role::Tool | Role::Assistant => Role::Assistant,
            Role::User => Role::User,
        };
        let (privacy, aside) = (privacy_at(said), said.flag_at("aside"));
        Some(Said { role, text: blotted(said.text_at("text")?), privacy, aside })
    });
    said.collect()
}

/// So many turns that lie further back are taken at once.
const MOST_OLDER: usize = 500;

/// Returns what lies further back in a chat, as a client names it.
pub(in crate::edge::runtime) fn older_in(payload: &Sexp, blotted: &dyn Fn(&str) -> String) -> Older {
    let turn = |turn: &Sexp| Some((turn.text_at("name")?.to_string(), blotted(turn.text_at("title")?)));
    let turns = payload.list_at("older").iter().filter_map(turn).take(MOST_OLDER).collect();
    Older { turns, more: payload.flag_at("more") }
}

/// Returns how private a chat says that something of it is. What it says otherwise than we would is the strictest.
pub(in crate::edge::runtime) fn privacy_at(payload: &Sexp) -> Privacy {
    match payload.get("private").and_then(Sexp::as_name).map(Privacy::tier) {
        Some(Some(tier)) => tier,
        Some(None) | None if payload.flag_at("private") => Privacy::Private,
        Some(None) | None => Privacy::Open,
    }
}

/// Returns about how many bytes a question holds.
pub(super) fn bytes_of(ask: &Ask) -> usize {
    let said = ask.history.iter().map(|said| said.text.len());
    let older = ask.older.turns.iter().map(|(name, title)| name.len() + title.len());
    let along =
        ask.attached.iter().map(|one| one.name.len() + one.file.as_ref().map_or(0, String::len) + one.text.len());
    let Wishes { preset, model, tools, tokens, dollars } = &ask.wishes;
    let wishes = [preset, model, tools, tokens, dollars].into_iter().flatten().map(String::len);
    let folder = ask.folder.as_ref().map_or(0, |folder| folder.as_os_str().len());
    let pictures = ask.pictures.iter().map(|picture| match picture {
        // It is read when its turn begins, and may have as many.
        PictureSource::File(_) => MOST_BYTES,
        PictureSource::Inline { data, .. } => data.len(),
    });
    let parts = said.chain(older).chain(along).chain(pictures).chain(wishes).map(|bytes| bytes + EACH);
    ask.text.len() + folder + parts.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_question_says_of_itself_is_read_as_words() {
        let wish = |text: &str| Some(text.to_string());
        for (payload, wishes) in [
            ("(:text \"a\")", Wishes::default()),
            ("(:text \"a\" :settings nil)", Wishes::default()),
            (
                "(:text \"a\" :settings (:model \"near\" :usd \"0.5\"))",
                Wishes { model: wish("near"), dollars: wish("0.5"), ..Wishes::default() },
            ),
            // A number is no text: what is not understood must not be as if nothing were said.
            (
                "(:text \"a\" :settings (:preset \"p\" :tools none :tokens 9))",
                Wishes { preset: wish("p"), tools: wish(""), tokens: wish(""), ..Wishes::default() },
            ),
        ] {
            assert_eq!(wishes_in(&Sexp::read(payload).expect("a payload")), wishes, "{payload}");
        }
    }
}
