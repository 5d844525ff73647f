//! The skills that are part of this program, as they were when it was built.

/// Each with its name and its text.
const SHIPPED: &[(&str, &str)] = &[
    ("archivist", include_str!("../../../skills/archivist.org")),
    ("config", include_str!("../../../skills/config.org")),
    ("context-manager", include_str!("../../../skills/context-manager.org")),
    ("dispatcher", include_str!("../../../skills/dispatcher.org")),
    ("event-orchestrator", include_str!("../../../skills/event-orchestrator.org")),
    ("help", include_str!("../../../skills/help.org")),
    ("inbox", include_str!("../../../skills/inbox.org")),
    ("memory", include_str!("../../../skills/memory.org")),
    ("organize-subtree", include_str!("../../../skills/organize-subtree.org")),
    ("permissions", include_str!("../../../skills/permissions.org")),
    ("policy", include_str!("../../../skills/policy.org")),
    ("programming", include_str!("../../../skills/programming.org")),
    ("providers", include_str!("../../../skills/providers.org")),
    ("reflection", include_str!("../../../skills/reflection.org")),
    ("self-improve", include_str!("../../../skills/self-improve.org")),
    ("setup", include_str!("../../../skills/setup.org")),
    ("standards", include_str!("../../../skills/standards.org")),
    ("task-integrity", include_str!("../../../skills/task-integrity.org")),
    ("validator", include_str!("../../../skills/validator.org")),
    ("vault", include_str!("../../../skills/vault.org")),
    ("weekly-review", include_str!("../../../skills/weekly-review.org")),
];

/// Skills that cannot be absent.
pub(super) const MANDATORY: [&str; 2] = ["policy", "dispatcher"];

/// Returns the text of a shipped skill.
pub(super) fn text(name: &str) -> Option<&'static str> {
    SHIPPED.iter().find(|(shipped, _)| *shipped == name).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_skill_of_the_folder_is_built_in_as_it_stands_there() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
        let mut names: Vec<String> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".org") && name != "README.org")
            .collect();
        names.sort();
        assert_eq!(names, SHIPPED.iter().map(|(name, _)| format!("{name}.org")).collect::<Vec<_>>());
        assert!(MANDATORY.iter().all(|name| text(name).is_some()));
    }
}
