//! Pictures that go along with a question: read where the user names them, never what is secret, and as private as the
//! headings that link to them or have them attached.
//!
//! What lies in the memex without any heading's having it counts as private, as such texts do. Each look and each reading
//! is the work of a thread that may hang with its file system.

use crate::domain::gate::facts::{FileKind, PathForm};
use crate::domain::gate::place::secret;
use crate::domain::id::{NodeId, SessionId};
use crate::domain::label::Privacy;
use crate::domain::memory::query::{files_with, linking};
use crate::domain::memory::view::{NodeRef, View};
use crate::domain::outside::source_name;
use crate::domain::picture::{MOST, MOST_BYTES, MOST_IN_ALL, Picture, size_in_words, too_large};
use crate::domain::scope::Scope;
use crate::domain::signal::{Origin, Rights, Source};
use crate::edge::engine::Engine;
use crate::edge::engine::record::PictureNamed;
use crate::edge::engine::turns::{Ask, PictureSource};
use crate::edge::survey::Roads;
use crate::edge::survey::open::{self, identity};
use crate::edge::survey::path::{lexical, look};
use crate::edge::thread::{LOOKS, aside};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// A name of so many bytes or more is none that the system could open (`PATH_MAX`).
const LONGEST: usize = 4096;

/// A picture that was read, and how private it is.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The picture.
    pub picture: Picture,
    /// How private it is.
    pub privacy: Privacy,
    /// Why, for people; empty where it is open.
    pub why: String,
}

impl Engine {
    /// Reads the pictures that go along with a question.
    ///
    /// # Errors
    /// In words that name the file and the way out, when one of them may not go along or cannot be read.
    pub(super) async fn pictures_of(self: &Arc<Self>, ask: &Ask) -> Result<Vec<Seen>, String> {
        if ask.pictures.len() > MOST {
            return Err(format!("at most {MOST} pictures go along with a question; ask about the others behind it"));
        }
        let mut all = Vec::new();
        for source in &ask.pictures {
            all.push(match source {
                PictureSource::File(file) => self.picture(&ask.origin, ask.folder.as_deref(), file).await?,
                PictureSource::Inline { name, file, data } => {
                    let (name, data) = (source_name(name), data.clone());
                    let picture = aside(move || inline(&name, &data)).await?;
                    let (privacy, why) = self.privacy_of_named(file.as_deref(), ask.folder.as_deref()).await?;
                    Seen { picture, privacy, why }
                }
            });
        }
        let bytes: usize = all.iter().map(|seen| seen.picture.bytes().len()).sum();
        if bytes > MOST_IN_ALL {
            let (bytes, most) = (size_in_words(bytes), size_in_words(MOST_IN_ALL));
            return Err(format!(
                "the pictures have {bytes} together, and those of a question have {most} at most; send fewer, or smaller ones"
            ));
        }
        Ok(all)
    }

    /// Reads one picture, and finds out how private it is.
    ///
    /// # Errors
    /// In words that name the file and the way out.
    pub async fn picture(self: &Arc<Self>, origin: &Origin, folder: Option<&Path>, file: &str) -> Result<Seen, String> {
        let name = name_of(file);
        let (engine, origin, folder) = (self.clone(), origin.clone(), folder.map(Path::to_path_buf));
        let file = file.to_string();
        let read = move || {
            let scope = engine.scope(&origin.session, folder.as_deref(), origin.rights.see_private);
            engine.picture_at(&file, &scope, origin.rights.see_private)
        };
        LOOKS.run(read).await.map_err(|why| format!("{name} cannot be read: {why}"))?
    }

    /// Reads pictures again that were read before, by their files and hashes; how private the most private of them is now.
    ///
    /// # Errors
    /// In words, when one is not there any more, or another one by now.
    pub(super) async fn pictures_again(
        self: &Arc<Self>,
        session: &SessionId,
        named: Vec<PictureNamed>,
    ) -> Result<(Vec<Picture>, Privacy), String> {
        // They were read for who may see them; it is for whoever goes on that it is looked at again.
        let origin = Origin { source: Source::System, session: session.clone(), rights: Rights::HUMAN };
        let (mut all, mut privacy) = (Vec::new(), Privacy::Open);
        for PictureNamed { name, file, hash } in named {
            if file.is_empty() {
                return Err(format!("the picture {name} was sent without a file, and is not kept"));
            }
            let seen = self.picture(&origin, None, &file).await?;
            if seen.picture.hash() != hash {
                return Err(format!("the picture {} has changed since it was to be sent", seen.picture.name()));
            }
            privacy = privacy.max(seen.privacy);
            all.push(seen.picture);
        }
        Ok((all, privacy))
    }

    /// Returns how private a picture is that came in a message, and why, by each file that its address may name.
    async fn privacy_of_named(
        self: &Arc<Self>,
        file: Option<&str>,
        folder: Option<&Path>,
    ) -> Result<(Privacy, String), String> {
        let Some(file) = file.map(str::to_string) else { return Ok((Privacy::Open, String::new())) };
        let (engine, folder) = (self.clone(), folder.map(Path::to_path_buf));
        let look = move || {
            let unknown = || (Privacy::Private, "its address may name anything".to_string());
            let files = engine.files_named(&file, folder.as_deref()).filter(|_| file.len() < LONGEST);
            let each = |files: BTreeSet<String>| {
                let each = files.into_iter().map(|file| engine.privacy_of_picture(&file, &file));
                each.max().unwrap_or((Privacy::Open, String::new()))
            };
            files.map_or_else(unknown, each)
        };
        LOOKS.run(look).await
    }

    /// Looks at a file and reads it, on this thread.
    fn picture_at(&self, file: &str, scope: &Scope, sees_private: bool) -> Result<Seen, String> {
        let name = name_of(file);
        // Whatever it says its project is: it does not have files of this machine read.
        if !sees_private {
            return Err(format!("this channel names no files of this machine; send {name} itself with the question"));
        }
        if file.len() >= LONGEST || !Path::new(file).is_absolute() {
            return Err(format!("a picture is named by its whole path, and “{name}” is none"));
        }
        let fact = look(&Roads::default(), "picture", file, scope, &|_| false);
        if !matches!(fact.form, PathForm::Plain | PathForm::Expands) {
            return Err(format!("{name} has a name that may mean another file than it seems to; give it a plain one"));
        }
        if let Some(why) = secret(file, scope).or_else(|| secret(&fact.resolved, scope)) {
            return Err(format!("{name} is not read, as {why}; if it is a picture all the same, copy it elsewhere"));
        }
        match fact.kind {
            FileKind::File => {}
            FileKind::Missing => return Err(format!("there is no file {}", source_name(file))),
            FileKind::Folder | FileKind::Special | FileKind::Unknown => {
                return Err(format!("{name} is no file that can be read"));
            }
        }
        if fact.size > MOST_BYTES as u64 {
            return Err(too_large(&name, fact.size));
        }
        let told = |why: std::io::Error| format!("{name} cannot be read: {why}");
        let opened = open::file(Path::new(&fact.resolved)).map_err(told)?;
        let about = opened.metadata().map_err(told)?;
        if Some(identity(&about)) != fact.identity {
            return Err(format!("{name} changed while it was looked at; try again"));
        }
        let mut bytes = Vec::new();
        opened.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(told)?;
        let picture = Picture::read(&name, &fact.resolved, bytes)?;
        let (privacy, why) = self.privacy_of_picture(&fact.resolved, file);
        Ok(Seen { picture, privacy, why })
    }

    /// Returns how private a picture is, and why. `file` is its canonical name, `asked` the one that it was asked for by.
    fn privacy_of_picture(&self, file: &str, asked: &str) -> (Privacy, String) {
        if self.reading().is_some() {
            return (Privacy::Private, "the notes are still being read, and one of them may have it".to_string());
        }
        let view = self.view();
        let spelt = lexical(Path::new(asked)).to_string_lossy().into_owned();
        let mut owners: Vec<NodeRef> = linking(&view, file).collect();
        if spelt != file {
            owners.extend(linking(&view, &spelt));
        }
        owners.extend(attached(&view, file, &self.config.home));
        let inside = self.places.iter().any(|place| Path::new(file).starts_with(place));
        match owners.into_iter().max_by_key(NodeRef::privacy) {
            Some(node) => {
                let why = format!("the heading “{}” has it", source_name(node.title()));
                (node.privacy(), if node.privacy() == Privacy::Open { String::new() } else { why })
            }
            None if inside => {
                let why = "it lies among your notes, and none of them has it: link to it from one that is open";
                (Privacy::Private, why.to_string())
            }
            None => (Privacy::Open, String::new()),
        }
    }
}

/// Reads a picture that came in a message.
fn inline(name: &str, data: &str) -> Result<Picture, String> {
    // Base64 of no more bytes than a picture may have.
    let longest = MOST_BYTES / 3 * 4;
    if data.len() > longest {
        return Err(too_large(name, (data.len() / 4 * 3) as u64));
    }
    let bytes = STANDARD.decode(data).map_err(|_| format!("{name} is not in base64; send it anew"))?;
    Picture::read(name, "", bytes)
}

/// Returns what people call a file.
fn name_of(file: &str) -> String {
    source_name(file.rsplit('/').next().unwrap_or(file))
}

/// Returns the headings in whose folder of attachments a file lies, with all below them, which may share it.
///
/// Such a folder is called after the heading's id, whole or in two parts, wherever it lies; or a property names it.
fn attached(view: &View, file: &str, home: &Path) -> Vec<NodeRef> {
    let folders: Vec<&str> = file.split('/').filter(|part| !part.is_empty()).collect();
    let folders = folders.split_last().map_or(&[][..], |(_, folders)| folders);
    let whole = folders.iter().map(|folder| folder.to_string());
    let split = folders.windows(2).map(<[&str]>::concat);
    let by_id = whole.chain(split).filter_map(|id| view.get(&NodeId::new(id)));
    let mut found: Vec<NodeRef> = by_id.collect();
    for key in ["DIR", "ATTACH_DIR"] {
        for of in files_with(view, key) {
            let Some(card) = view.card(of) else { continue };
            let all = card.file_property(key).map(|folder| (0, folder));
            let own = (0..card.len()).filter_map(|index| Some((index, card.property(index, key)?)));
            let theirs = all.into_iter().chain(own).filter(|(_, folder)| lies_in(file, folder, of, home));
            found.extend(theirs.filter_map(|(index, _)| view.node(of, index)));
        }
    }
    found.iter().flat_map(NodeRef::with_descendants).collect()
}

/// Returns whether a file lies in the folder that a note names.
fn lies_in(file: &str, folder: &str, note: &str, home: &Path) -> bool {
    let beside = Path::new(note).parent().unwrap_or(Path::new("/"));
    let folder = match folder.trim().strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => beside.join(folder.trim()),
    };
    let real = folder.canonicalize().ok();
    let ways = [Some(lexical(&folder)), real];
    ways.into_iter().flatten().any(|folder| folder.components().count() > 1 && Path::new(file).starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::picture::Kind;
    use crate::domain::picture::tests::header;
    use crate::edge::engine::fresh::tests::Place;

    const NOTES: &str = "* Open\n[[file:pics/open.png]] [[file:pics/both.png]]\n\
        * Diary :private:\n[[file:pics/both.png]]\n\
        ** Walk\n:PROPERTIES:\n:ID: 12345678-aaaa\n:END:\n\
        * House\n:PROPERTIES:\n:ID: 87654321-bbbb\n:END:\n\
        * Deck\n:PROPERTIES:\n:DIR: deck\n:END:\n\
        * Therapy :private:\n:PROPERTIES:\n:DIR: talks\n:END:\n\
        * Plot :private:\n[[file:../else/linked.png]]\n";

    fn origin(see_private: bool) -> Origin {
        let rights = Rights { see_private, ..Rights::HUMAN };
        Origin { source: Source::Emacs, session: SessionId("s".to_string()), rights }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_picture_is_as_private_as_the_headings_that_have_it() {
        let place = Place::new(NOTES).await;
        let memex = Path::new(&place.file).parent().expect("a folder").to_path_buf();
        let other = memex.parent().expect("a folder").join("else");
        let png = header(Kind::Png, 4, 3);
        let put = |path: &Path| {
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, &png).expect("a file");
        };
        let link = memex.parent().expect("a folder").join("link.png");
        std::os::unix::fs::symlink(memex.join("pics/both.png"), &link).expect("a link");
        for (file, privacy) in [
            (memex.join("pics/open.png"), Privacy::Open),
            (memex.join("pics/both.png"), Privacy::Private),
            (link, Privacy::Private),
            // Below the private heading.
            (memex.join("data/12/345678-aaaa/walk.png"), Privacy::Private),
            (memex.join("data/87/654321-bbbb/house.png"), Privacy::Open),
            (other.join("12345678-aaaa/walk.png"), Privacy::Private),
            (memex.join("deck/plan.png"), Privacy::Open),
            (memex.join("talks/one.png"), Privacy::Private),
            (memex.join("nobodys.png"), Privacy::Private),
            (other.join("linked.png"), Privacy::Private),
            (other.join("free.png"), Privacy::Open),
        ] {
            if !file.is_symlink() {
                put(&file);
            }
            let file = file.to_str().expect("UTF-8");
            let seen = place.engine.picture(&origin(true), None, file).await.expect(file);
            assert_eq!(seen.privacy, privacy, "{file}: {}", seen.why);
            assert_eq!(seen.why.is_empty(), privacy == Privacy::Open, "{file}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_may_not_be_read_is_refused_by_name() {
        let place = Place::new("* Open\n").await;
        let base = Path::new(&place.file).parent().and_then(Path::parent).expect("a folder").to_path_buf();
        let other = base.join("else");
        let at = |name: &str| base.join(name);
        for folder in ["else/.ssh", "else/folder.png", "store"] {
            std::fs::create_dir_all(at(folder)).expect("a folder");
        }
        let png = header(Kind::Png, 4, 3);
        std::fs::write(at("else/.ssh/id_rsa"), &png).expect("a file");
        std::fs::write(at("else/credentials.json"), &png).expect("a file");
        std::fs::write(at("store/x.png"), &png).expect("a file");
        std::os::unix::fs::symlink(at("store/x.png"), at("else/link.png")).expect("a link");
        std::fs::write(at("else/text.png"), "no picture").expect("a file");
        std::fs::write(at("else/large.png"), vec![0; MOST_BYTES + 1]).expect("a file");
        for (file, words) in [
            (other.join(".ssh/id_rsa"), "id_rsa is not read, as "),
            (other.join("credentials.json"), "credentials.json is not read, as "),
            (base.join("store/x.png"), "belongs to Passepartout itself"),
            (other.join("link.png"), "belongs to Passepartout itself"),
            (other.join("folder.png"), "folder.png is no file that can be read"),
            (other.join("gone.png"), "there is no file "),
            (other.join("text.png"), "text.png begins as none of PNG"),
            (other.join("large.png"), "large.png has 3.9 MB, and a picture has 3.9 MB at most"),
            ("relative.png".into(), "a picture is named by its whole path"),
            (format!("/{}", "x".repeat(LONGEST)).into(), "a picture is named by its whole path"),
            ("/ssh:host:/x.png".into(), "x.png has a name that may mean another file"),
        ] {
            let file = file.to_str().expect("UTF-8");
            let why = place.engine.picture(&origin(true), None, file).await.expect_err(words);
            assert!(why.contains(words), "{file}: {why}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_channel_that_may_not_see_private_notes_names_no_file() {
        let place = Place::new(NOTES).await;
        let pics = Path::new(&place.file).parent().expect("a folder").join("pics");
        std::fs::create_dir_all(&pics).expect("a folder");
        for name in ["open.png", "both.png"] {
            std::fs::write(pics.join(name), header(Kind::Png, 4, 3)).expect("a file");
        }
        // The same words whatever there is, and whatever it says its project is.
        for name in ["open.png", "both.png", "gone.png"] {
            let file = pics.join(name).to_string_lossy().into_owned();
            let why = place.engine.picture(&origin(false), Some(&pics), &file).await.expect_err(name);
            let words = format!("this channel names no files of this machine; send {name} itself with the question");
            assert_eq!(why, words);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_picture_that_changed_is_not_sent_in_the_place_of_another() {
        let place = Place::new("* Open\n").await;
        let file = Path::new(&place.file).parent().and_then(Path::parent).expect("a folder").join("a.png");
        let name = file.to_str().expect("UTF-8").to_string();
        std::fs::write(&file, header(Kind::Png, 4, 3)).expect("a file");
        let seen = place.engine.picture(&origin(true), None, &name).await.expect("a picture");
        let session = origin(true).session;
        let again = || {
            place.engine.pictures_again(
                &session,
                vec![PictureNamed { name: "a.png".to_string(), file: name.clone(), hash: seen.picture.hash() }],
            )
        };
        assert_eq!(again().await, Ok((vec![seen.picture.clone()], Privacy::Open)));
        std::fs::write(&file, header(Kind::Png, 4, 4)).expect("a file");
        assert_eq!(again().await, Err("the picture a.png has changed since it was to be sent".to_string()));
        std::fs::remove_file(&file).expect("it is gone");
        assert!(again().await.is_err_and(|why| why.starts_with("there is no file ")));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_picture_in_a_message_is_as_private_as_where_it_is_from() {
        let place = Place::new(NOTES).await;
        let memex = Path::new(&place.file).parent().expect("a folder").to_path_buf();
        let at = |name: &str| Some(memex.join(name).to_string_lossy().into_owned());
        for (file, privacy) in [
            (None, Privacy::Open),
            (Some("https://example.org/a.png".to_string()), Privacy::Open),
            (Some("/no/such.png".to_string()), Privacy::Open),
            (at("pics/open.png"), Privacy::Open),
            (at("pics/both.png"), Privacy::Private),
            (at("nobodys.png"), Privacy::Private),
            (Some("x".repeat(LONGEST)), Privacy::Private),
        ] {
            let found = place.engine.privacy_of_named(file.as_deref(), None).await.expect("it can be found out");
            assert_eq!(found.0, privacy, "{file:?}: {}", found.1);
        }
    }

    #[test]
    fn a_picture_in_a_message_is_read_within_its_bounds() {
        let png = header(Kind::Png, 4, 3);
        let read = inline("shot", &STANDARD.encode(&png)).expect("a picture");
        assert_eq!((read.bytes(), read.file()), (&png[..], ""));
        for (data, words) in [
            ("no base64!".to_string(), "shot is not in base64"),
            (STANDARD.encode("text"), "shot begins as none of PNG"),
            ("A".repeat(MOST_BYTES / 3 * 4 + 4), "shot has 3.9 MB, and a picture has 3.9 MB at most"),
        ] {
            let why = inline("shot", &data).expect_err(words);
            assert!(why.contains(words), "{why}");
        }
    }
}
