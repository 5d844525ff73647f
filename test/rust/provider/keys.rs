//! Keys: never shown, masked in texts, and refused from a file that others may read.

use super::*;
use passepartout::edge::provider::known::{Declared, Place, places};

/// Tells whether a type has a trait, without needing it.
macro_rules! has {
    ($kind:ty, $bound:path) => {{
        struct Probe<T>(std::marker::PhantomData<T>);
        #[allow(dead_code)]
        trait Fallback {
            const HAS: bool = false;
        }
        impl<T> Fallback for Probe<T> {}
        #[allow(dead_code)]
        impl<T: $bound> Probe<T> {
            const HAS: bool = true;
        }
        let _ = Probe::<$kind>(std::marker::PhantomData);
        Probe::<$kind>::HAS
    }};
}

#[test]
fn a_secret_cannot_be_shown() {
    assert!(has!(String, std::fmt::Debug));
    assert!(!has!(Secret, std::fmt::Debug));
    assert!(!has!(Secret, std::fmt::Display));
    assert!(!has!(Secret, serde::Serialize));
    assert!(!has!(Secret, AsRef<str>));
    let shown = format!("{:?} {:?}", config(Dialect::OpenAi, "http://x"), vault());
    assert!(!shown.contains(KEY), "{shown}");
}

#[test]
fn the_vault_names_keys_in_a_text_and_masks_them() {
    let key = |value: &str| Secret::new(value.into());
    let vault = Vault::new([
        ("a".to_string(), key("abcdef")),
        ("b".to_string(), key("cdefgh\n")),
        ("short".to_string(), key("abcde")),
        ("empty".to_string(), key(" ")),
        ("a".to_string(), key("another-value")),
    ]);
    assert_eq!(vault.scan("x abcdefgh y"), ["a", "b"]);
    assert_eq!(vault.scan("abcde another-value"), Vec::<String>::new());
    assert_eq!(vault.mask("x abcdef cdefgh abcde"), format!("x {MASK} {MASK} abcde"));
    assert_eq!(Vault::empty().scan("anything"), Vec::<String>::new());
    assert_eq!(Vault::empty().mask("anything"), "anything");
    let anywhere = "http://127.0.0.1:1/";
    assert!(vault.key("a", anywhere).is_some() && vault.key("c", anywhere).is_none());
}

#[test]
fn a_key_for_one_host_is_given_to_no_other() {
    let key = |host: &str| Secret::new("the-key-of-desk".into()).only_for(host);
    let vault =
        Vault::new([("desk".to_string(), key("LLM.example")), ("OPENAI_API_KEY".to_string(), key("x.example"))]);
    for (name, url, given) in [
        ("desk", "https://llm.example/v1", true),
        ("desk", "https://llm.example:8443/", true),
        ("desk", "https://llm.example.org/v1", false),
        ("desk", "https://other.example/v1", false),
        ("desk", "unix:/run/llm.sock", false),
        ("desk", "not an address", false),
        ("work", "https://llm.example/v1", false),
        ("openai", "https://api.openai.com/v1/", false),
        ("openai", "https://x.example/v1/", true),
    ] {
        assert_eq!(vault.key(name, url).is_some(), given, "{name} {url}");
    }
    // A name of ours with another's key, or at another's address: without a key it is not asked.
    let vault = Vault::new([("groq".to_string(), key("api.openai.com"))]);
    let declared = [Declared { name: "groq".into(), model: Some("m".into()), ..Declared::default() }];
    let places = places(&["groq".to_string()], &declared, &vault);
    assert!(matches!(&places[..], [Place::Left { why, .. }] if why.contains("api.groq.com")), "{places:?}");
    assert!(!vault.scan("the-key-of-desk").is_empty(), "it is a secret all the same");
}

#[test]
fn keys_that_were_replaced_are_masked_for_long() {
    let vault = Vault::empty();
    let add = |n: usize| vault.add([("desk".to_string(), Secret::new(format!("the-key-{n:03}-of-desk")))]);
    // Each is given again and again, as with every change of the settings.
    (0..12).flat_map(|n| [n, n, n]).for_each(add);
    for n in 0..12 {
        assert_eq!(vault.mask(&format!("x the-key-{n:03}-of-desk")), format!("x {MASK}"), "{n}");
    }
    // Of very many the oldest is let go.
    (12..40).for_each(add);
    assert_eq!(
        vault.mask("the-key-039-of-desk the-key-023-of-desk the-key-000-of-desk"),
        format!("{MASK} {MASK} the-key-000-of-desk")
    );
}

#[test]
fn an_env_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join(".env");
    assert!(read_env_file(&path).expect("absent is empty").is_empty());
    std::fs::write(&path, "OPENAI_API_KEY=sk-secret-value\n").expect("written");
    let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
    for bad in [0o644, 0o640, 0o604, 0o620] {
        mode(bad);
        let error = read_env_file(&path).expect_err("refused");
        assert!(matches!(error, EnvFileError::Open { .. }));
        assert!(error.to_string().contains("chmod 600") && !error.to_string().contains("sk-"), "{error}");
    }
    mode(0o600);
    assert_eq!(read_env_file(&path).expect("read"), [("OPENAI_API_KEY".to_string(), "sk-secret-value".to_string())]);
    std::fs::write(&path, "A=1\nsk-secret-value\n").expect("written");
    let error = read_env_file(&path).expect_err("refused");
    assert!(error.to_string().contains("line 2") && !error.to_string().contains("sk-"), "{error}");
    assert!(read_env_file(folder.path()).is_err());
}
