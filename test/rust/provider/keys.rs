//! Keys: never shown, masked in texts, and refused from a file that others may read.

use super::*;

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
    assert!(vault.key("a").is_some() && vault.key("c").is_none());
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
