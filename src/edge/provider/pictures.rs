//! Pictures as providers take them: which models do, how one stands in a request, and what stands in its place where a
//! request is shown or kept.

use crate::domain::picture::Picture;
use crate::domain::port::Prompt;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use genai::chat::{Binary, ContentPart};

/// How names of models begin of which their makers say whether they take pictures, as of November 2026. The longest that
/// fits counts; of others nobody says it.
const MODELS: &[(&str, bool)] = &[
    ("claude", true),
    ("claude-2", false),
    ("claude-instant", false),
    ("gpt-3.5", false),
    ("gpt-4-turbo", true),
    ("gpt-4o", true),
    ("gpt-4o-audio", false),
    ("gpt-4o-mini-audio", false),
    ("gpt-4.1", true),
    ("gpt-5", true),
    ("o1", true),
    ("o1-mini", false),
    ("o1-preview", false),
    ("o3", true),
    ("o3-mini", false),
    ("o4-mini", true),
    ("gemini", true),
    ("gemma3", true),
    ("gemma3:1b", false),
    ("grok-4", true),
    ("grok-2-vision", true),
    ("mistral-medium", true),
    ("mistral-small", true),
    ("pixtral", true),
    ("codestral", false),
    ("llava", true),
    ("bakllava", true),
    ("moondream", true),
    ("minicpm-v", true),
    ("llama3.1", false),
    ("llama-3.1", false),
    ("llama3.2-vision", true),
    ("llama-3.3", false),
    ("llama3.3", false),
    ("llama4", true),
    ("llama-4", true),
    ("qwen2.5vl", true),
    ("qwen2.5-vl", true),
    ("qwen3-vl", true),
    ("deepseek-chat", false),
    ("deepseek-reasoner", false),
];

/// Returns whether a model takes pictures: as the user says, who names those that do, or else as its maker does; `None`
/// where nobody says it. What stands before a slash is who serves it.
pub(crate) fn takes(model: &str, named: &[String]) -> Option<bool> {
    let model = model.trim();
    if named.iter().any(|name| name.trim().eq_ignore_ascii_case(model)) {
        return Some(true);
    }
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    let begins = |(begin, _): &&(&str, bool)| {
        let rest = name.strip_prefix(begin);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    MODELS.iter().filter(begins).max_by_key(|(begin, _)| begin.len()).map(|(_, takes)| *takes)
}

/// Returns a picture as parts of a message: what is told of it, and itself.
pub(super) fn parts(picture: &Picture) -> [ContentPart; 2] {
    let own = Binary::from_base64(picture.kind().mime(), encoded(picture), None);
    [ContentPart::Text(picture.told()), ContentPart::Binary(own)]
}

fn encoded(picture: &Picture) -> String {
    STANDARD.encode(picture.bytes())
}

/// Returns a request with a hash in the place of each picture: a cassette, a plan and an eye need no more of it.
pub(super) fn hashed(mut request: String, prompt: &Prompt) -> String {
    for picture in prompt.pictures() {
        let (mime, bytes, hash) = (picture.kind().mime(), picture.bytes().len(), picture.hash());
        request = request.replace(&encoded(picture), &format!("⟨{mime} of {bytes} bytes, BLAKE3 {hash}⟩"));
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_models_take_pictures() {
        let named = ["my-own/eye".to_string()];
        for (model, takes_) in [
            ("claude-sonnet-4-5", Some(true)),
            ("anthropic/claude-3.5-haiku", Some(true)),
            ("claude-2.1", Some(false)),
            ("gpt-4o", Some(true)),
            ("GPT-4o-mini", Some(true)),
            ("gpt-4o-audio-preview", Some(false)),
            ("gpt-4.1-mini", Some(true)),
            ("gpt-4", None),
            ("o3", Some(true)),
            ("o3-mini-high", Some(false)),
            ("gemini-2.5-flash", Some(true)),
            ("google/gemini-2.5-flash", Some(true)),
            ("gemma3:27b", Some(true)),
            ("gemma3:1b", Some(false)),
            ("llama3.1", Some(false)),
            ("llama3.2-vision:11b", Some(true)),
            ("meta/llama-3.3-70b-instruct", Some(false)),
            ("my-own/eye", Some(true)),
            ("MY-OWN/EYE", Some(true)),
            ("eye", None),
            ("o30", None),
            ("default", None),
            ("openrouter/auto", None),
            ("", None),
        ] {
            assert_eq!(takes(model, &named), takes_, "{model}");
        }
    }
}
