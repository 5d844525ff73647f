//! Which properties hold below the heading that has them, and clocks.

use super::outline;
use passepartout::domain::org::property::Inheritance;

#[test]
fn patterns_of_emacs_are_read() {
    let check = |pattern: &str, yes: &[&str], no: &[&str]| {
        let inheritance = Inheritance::matching(pattern).unwrap();
        for key in yes {
            assert!(inheritance.inherits(key), "{pattern} {key}");
        }
        for key in no {
            assert!(!inheritance.inherits(key), "{pattern} {key}");
        }
    };
    check("^area", &["AREA", "area_of"], &["MY_AREA"]);
    check("\\`\\(a\\|b\\)\\'", &["A", "B"], &["AB", "C"]);
    check("\\(?:x\\)\\{2\\}", &["XX"], &["X"]);
    check("(a)", &["(A)"], &["A"]);
    check("[]a]z", &["AZ", "]Z"], &["BZ"]);
    check("[[:alpha:]]-[0-9]+", &["A-12"], &["A-"]);
    check("*a", &["*A"], &["A"]);
    for bad in ["\\(", "a\\", "[a", "\\1", "\\_<a"] {
        assert!(Inheritance::matching(bad).is_err(), "{bad}");
    }
}

#[test]
fn what_is_inherited_is_as_the_user_says() {
    let outline =
        outline("#+PROPERTY: AREA file\n* a\n:PROPERTIES:\n:AREA: home\n:X: 1\n:ARCHIVE: there\n:END:\n** b\n* c\n");
    let value = |index, key, inheritance: &Inheritance| outline.effective_value(index, key, inheritance);
    let never = Inheritance::Never;
    assert_eq!(value(2, "AREA", &never), None);
    assert_eq!(value(2, "ARCHIVE", &never).as_deref(), Some("there"));
    assert_eq!(value(2, "AREA", &Inheritance::Always).as_deref(), Some("home"));
    assert_eq!(value(3, "AREA", &Inheritance::Always).as_deref(), Some("file"));
    let named = Inheritance::Named(vec!["area".into()]);
    assert_eq!(value(2, "AREA", &named).as_deref(), Some("home"));
    assert_eq!(value(2, "X", &named), None);
}
